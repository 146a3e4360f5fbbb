"""Which cell of a notebook runs: its number, id, source and file name, and what it does to the kernel's memory.

Covers: IPython's events before and after each cell, written to a ring of their own; words of the guard for the person at the
notebook, printed after the cell; the magics, which are loaded when they are first used.
Does not cover: what a cell's lines do (the watcher reads stacks from outside). Standard library only; IPython is not
imported here, only met when the program imports it. Whatever fails is noted in the recording, and the kernel goes on.
"""

from __future__ import annotations

import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:  # `typing` itself costs 5 ms
    from typing import Any

RING_BYTES = 512 * 1024
SOURCE_CHARS = 16 * 1024
SHELL_MODULE = "IPython.core.interactiveshell"
NOTICE_FILE = "notice"
"""What the watcher wants to be read at the notebook; it appends lines, we print and remove them."""
INFORMATION_FILE = "kernel-information.json"
"""What a kernel is, in the words of the protocol; `blackbox/kernels.py` reads it when the kernel can no longer answer."""
MAGICS_VARIABLE = "CRASHCART_MAGICS"
"""The names of the magics that the kernel offers."""
PYTHON_VARIABLE = "CRASHCART_PYTHON"
"""The interpreter that watches the kernel: it has a crashcart that works."""
_COMMAND_LINE = "import sys; sys.path[0] = sys.argv.pop(1); from crashcart.cli.main import entry; entry()"
"""`python -m crashcart`, and it is ours: what has that name in the notebook's folder is not looked at."""
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def start(directory: str) -> None:
    """Wait for IPython in this interpreter; where it is never imported, nothing happens."""
    sys.meta_path.insert(0, _Finder(directory))


class _Finder:
    """Sees the import of IPython's shell, lets it happen as ever, and is gone."""

    def __init__(self, directory: str) -> None:
        self.directory = directory

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name != SHELL_MODULE:
            return None
        try:
            sys.meta_path.remove(self)
            hook = sys.modules["_crashcart_hook"]
            return hook._load_import_hook().spec_by_others(self, name, path, target, self._loaded)
        except Exception:  # it is imported as if we had not been there
            return None

    def _loaded(self, module: Any) -> None:
        _quietly(lambda: _meet(module.InteractiveShell, self.directory))


def _meet(kind: Any, directory: str) -> None:
    """Register with the first shell that is made; its class is as it was afterwards."""
    plain = kind.init_events

    def init_events(self: Any) -> None:
        kind.init_events = plain
        plain(self)
        _quietly(_register, self, directory)

    kind.init_events = init_events


def _register(shell: Any, directory: str) -> None:
    _keep_from_children()
    cells = _Cells(shell, directory)
    shell.events.register("pre_run_cell", cells.began)
    shell.events.register("post_run_cell", cells.ended)
    _keep_information(shell, directory)


def _keep_information(shell: Any, directory: str) -> None:
    kernel = getattr(shell, "kernel", None)
    if kernel is None:
        return
    facts = {name: getattr(kernel, name) for name in ("implementation", "implementation_version", "language_info")}
    encode = sys.modules["_crashcart_hook"]._load_ring().encode
    with open(os.path.join(directory, INFORMATION_FILE), "w", encoding="ascii") as stream:
        stream.write(encode({"protocol_version": "5.3", "banner": "", **facts}))


def _keep_from_children() -> None:
    """A kernel that this one starts is another notebook's: its cells do not belong here."""
    inside = os.environ.get("CRASHCART_INSIDE", "").split("//")
    os.environ["CRASHCART_INSIDE"] = "//".join(path for path in inside if path != os.path.abspath(__file__))


def _quietly(call: Any, *arguments: Any) -> None:
    """Call; a failure of ours is noted and nobody else's."""
    try:
        call(*arguments)
    except Exception as failure:
        state = sys.modules["_crashcart_hook"]._state
        if state is not None:
            state.append("hook-failure", text=f"cells: {type(failure).__name__}: {failure}")


class _Cells:
    """The cells of one shell."""

    def __init__(self, shell: Any, directory: str) -> None:
        self.shell = shell
        self.directory = directory
        self.pid = os.getpid()
        hook: Any = sys.modules["_crashcart_hook"]
        path = os.path.join(directory, f"cells-{self.pid}.ring")
        self.ring = hook._load_ring().Ring(path, RING_BYTES, hook.LOWEST_DESCRIPTOR)
        self.highest = 0
        self.with_magics = False
        self.first_number = shell.execution_count
        self.ahead: int | None = None
        """By how much the shell's count is ahead of a cell's number before the cell runs: 0 or, from IPython 9 on, 1."""

    def began(self, info: Any) -> None:
        """IPython's `pre_run_cell`."""
        if os.getpid() == self.pid:
            _quietly(self._began, info)

    def ended(self, result: Any) -> None:
        """IPython's `post_run_cell`."""
        if os.getpid() == self.pid:
            _quietly(self._ended, result)

    def _began(self, info: Any) -> None:
        if not self.with_magics:
            self.with_magics = True
            _offer_magics(self.shell)
        self.highest = _highest_bytes()
        raw = info.raw_cell
        self.ring.append(
            {
                "kind": "began",
                "unix_s": time.time(),
                "pid": self.pid,
                "number": self._number() if info.store_history else None,
                "id": getattr(info, "cell_id", None),
                "file": _code_name(self.shell, info),
                "source": raw if len(raw) <= SOURCE_CHARS else raw[:SOURCE_CHARS],
                "resident_bytes": _resident_bytes(),
                **self._request(),
            }
        )

    def _request(self) -> dict[str, Any]:
        try:
            return _request(self.shell)
        except Exception:  # another kernel than ipykernel's, or a later one: the cell is known all the same
            return {}

    def _number(self) -> int:
        count = int(self.shell.execution_count)
        if self.ahead is None:
            self.ahead = count - self.first_number
        return count - self.ahead

    def _ended(self, result: Any) -> None:
        highest = _highest_bytes()
        error = result.error_before_exec or result.error_in_exec
        self.ring.append(
            {
                "kind": "ended",
                "unix_s": time.time(),
                "pid": self.pid,
                "error": type(error).__name__ if error is not None else None,
                "resident_bytes": _resident_bytes(),
                "peak_bytes": highest if highest > self.highest else None,
            }
        )
        self._print_notice()

    def _print_notice(self) -> None:
        path = os.path.join(self.directory, NOTICE_FILE)
        if os.path.exists(path):
            taken = f"{path}-{self.pid}"  # the watcher may be adding to it
            os.rename(path, taken)
            with open(taken, encoding="utf-8") as stream:
                text = stream.read()
            os.unlink(taken)
            sys.stderr.write(text)


def _code_name(shell: Any, info: Any) -> str:
    """The file name that the cell's frames will have."""
    transformed = getattr(info, "transformed_cell", None) or info.raw_cell
    return str(shell.compile.get_code_name(info.raw_cell, transformed, shell.execution_count))


def _request(shell: Any) -> dict[str, Any]:
    """The message that asked for this cell, and by which way the answer goes back: for last words, if it comes to that."""
    kernel = getattr(shell, "kernel", None)
    if kernel is None:
        return {}
    idents = kernel._parent_ident["shell"]
    idents = idents if isinstance(idents, (list, tuple)) else [idents]
    header = {
        name: _plain(value) for name, value in dict(shell.parent_header.get("header", shell.parent_header)).items()
    }
    return {"header": header, "idents": [bytes(each).hex() for each in idents]}


def _plain(value: Any) -> Any:
    return value.isoformat() if hasattr(value, "isoformat") else value


def _resident_bytes() -> int:
    with open("/proc/self/statm", "rb") as stream:
        return int(stream.read(256).split()[1]) * _PAGE_BYTES


def _highest_bytes() -> int:
    """The most that was ever resident."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _offer_magics(shell: Any) -> None:
    known = shell.magics_manager.magics["line"]
    for name in os.environ.get(MAGICS_VARIABLE, "").split():
        if name not in known:
            shell.register_magic_function(_magic(shell, name), "line", name)


def _magic(shell: Any, name: str) -> Any:
    def magic(line: str) -> Any:
        try:
            shell.extension_manager.load_extension("crashcart")
        except Exception:  # this environment has none, or one that does not work: the watcher's own does
            return _ask_watcher(name, line)
        known = shell.magics_manager.magics["line"].get(name)
        if known is None or getattr(known, "__module__", "") == __name__:  # something else is called crashcart here
            return _ask_watcher(name, line)
        return shell.run_line_magic(name, line)

    magic.__doc__ = f"crashcart: `%{name} --help` says more."
    return magic


def _ask_watcher(name: str, line: str) -> None:
    """Print what the command says, run by the interpreter that watches us."""
    import shlex
    import subprocess

    words = shlex.split(line)
    words = words if name == "crashcart" else [name, *words]
    hidden = ("CRASHCART_RECORDING", "CRASHCART_INSIDE", "LD_PRELOAD")
    environment = {key: value for key, value in os.environ.items() if key not in hidden}
    package = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    command = [os.environ.get(PYTHON_VARIABLE, sys.executable), "-E", "-c", _COMMAND_LINE, package, *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment)
    sys.stdout.write(done.stdout)
    sys.stderr.write(done.stderr)
