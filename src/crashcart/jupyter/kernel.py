"""Runs a kernel under the watcher; `start.py` calls `main`, and has seen to it that our modules are those of this package.

Covers: starting the kernel's own command watched and guarded, and after an abnormal death telling its clients why, in the cell
that ran. Whatever fails before the start, the kernel is started plainly.
Does not cover: kernelspecs (`specs.py`).
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from crashcart.record.session import Manner

SESSION_VARIABLE = "JPY_SESSION_NAME"
PARENT_VARIABLE = "JPY_PARENT_PID"


def main(arguments: Sequence[str]) -> int:
    """Run the kernel; returns its exit code."""
    split = arguments.index("--") if "--" in arguments else 0
    command = list(arguments[split + 1 :])
    try:
        return _run(Options(arguments[:split]), command)
    except Exception as error:
        print(f"crashcart: the kernel runs unwatched: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
        return _run_plainly(command)


def _run_plainly(command: list[str]) -> int:
    """Become the kernel; or, where it has been started already, wait for it: Jupyter's signals reach it by themselves."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    try:
        _, status = os.wait()
    except ChildProcessError:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.execvp(command[0], command)
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


class Options:
    """What kernel.json asks for. Read by hand: argparse takes as long to load as all of the hook inside the kernel."""

    def __init__(self, arguments: Sequence[str]) -> None:
        self.connection = arguments[arguments.index("--connection") + 1]
        self.no_guard = "--no-guard" in arguments
        limits = [each.partition("=")[2] for each in arguments if each.startswith("--limit=")]
        self.limit_bytes = int(limits[-1]) if limits else None


def _run(options: Options, command: list[str]) -> int:
    from crashcart.guard.apply import Guard, Settings
    from crashcart.record import session

    notices = _Notices()
    guard = None if options.no_guard else Guard(Settings(options.limit_bytes), notices.add)
    done = session.run(command, hold_signals=True, attendant=guard, manner=_manner(options.connection, notices))
    if done.unrecorded is not None:
        print(f"crashcart: the kernel was not recorded: {done.unrecorded}", file=sys.stderr, flush=True)
    if done.folder is not None:
        try:
            _tell(done.folder, Path(options.connection))
        except Exception as error:  # the kernel has ended; its exit code must get through
            print(f"crashcart: no last words: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
    return done.exit_code


class _Notices:
    """Words for the person at the notebook, which the kernel prints after the cell."""

    def __init__(self) -> None:
        self.folder: Path | None = None

    def add(self, text: str) -> None:
        """Leave a line."""
        from crashcart.record.inside._crashcart_cells import NOTICE_FILE

        if self.folder is not None:
            with (self.folder / NOTICE_FILE).open("a", encoding="utf-8") as stream:
                stream.write(f"{text}\n")


def _manner(connection: str, notices: _Notices) -> Manner:
    """A kernel shares our process group, which Jupyter made for it, and does not outlive who started it."""
    from crashcart.blackbox.kernels import KERNEL_VARIABLE, introduce
    from crashcart.cli.commands import COMMANDS
    from crashcart.jupyter.connection import kernel_id
    from crashcart.record import spawn
    from crashcart.record.inside._crashcart_cells import MAGICS_VARIABLE, PYTHON_VARIABLE
    from crashcart.record.session import Manner

    name = os.environ.get(SESSION_VARIABLE) or None
    identity = kernel_id(connection)

    def opened(folder: Path) -> None:
        notices.folder = folder
        introduce(folder, identity, connection, name)

    variables = {
        spawn.INSIDE_VARIABLE: str(spawn.CELLS),
        PYTHON_VARIABLE: sys.executable,
        KERNEL_VARIABLE: identity,
        MAGICS_VARIABLE: " ".join([*COMMANDS, "crashcart"]),
    }
    with_parent = PARENT_VARIABLE in os.environ
    if with_parent:  # the kernel ends when its parent does: that is us
        variables[PARENT_VARIABLE] = str(os.getpid())
    called = f"the kernel of {Path(name).name}" if name else "the notebook's kernel"
    parent = os.getppid() if with_parent else None
    return Manner(tied=True, parent=parent, variables=variables, name=called, opened=opened)


def _tell(folder: Path, connection_file: Path) -> None:
    """Say the verdict where the cell is, if a cell was running and this was not asked for."""
    from crashcart.blackbox.cells import last_request
    from crashcart.blackbox.kernels import read_information
    from crashcart.jupyter import last_words
    from crashcart.jupyter.connection import read_connection
    from crashcart.report.text import one_line, render_text
    from crashcart.why import ended_unasked, explain
    from crashcart.why.collect import collect

    evidence = collect(folder)
    asked = last_request(folder)
    if asked is None or not ended_unasked(evidence):
        return
    report = explain(evidence, folder.name)
    headline = one_line(report.verdict) if report.verdict is not None else "the kernel died"
    text = render_text(report, evidence, 100, colour=True)
    idents = tuple(bytes.fromhex(each) for each in asked["idents"])
    request = last_words.Request(asked["header"], idents, asked.get("number"))
    words = last_words.Words("KernelDied", headline, [text], read_information(folder))
    last_words.deliver(read_connection(connection_file), request, words)
