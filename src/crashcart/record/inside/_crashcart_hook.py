"""The part of the recorder that lives inside the program: standard library only, nothing of the program changed.

Covers: the Python stack of a fatal signal, the exception that ended the main thread or others, the orderly end, the
largest named objects on request (`_crashcart_holders`), and what the watcher must know to read stacks from outside.
Does not cover: sampling, stacks, limits, endings: the watcher does that from outside. Whatever fails here is dropped: the
program must run as it would without us. Imports are few, since every interpreter below `crashcart run` pays for them.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # the signal module itself imports enum and more
import atexit
import faulthandler
import os
import sys
import threading
import time

TYPE_CHECKING = False
if TYPE_CHECKING:  # `typing` itself costs 5 ms
    from types import TracebackType
    from typing import Any

# A real-time signal that neither glibc, Python nor the frameworks use; the watcher looks at SigCgt before it sends it,
# because its default action would end the process (`native/exec.c` sees to a process that is just being replaced).
HOLDERS_SIGNAL = 49

RING_BYTES = 256 * 1024
MESSAGE_CHARS = 8192
MOST_FRAMES = 60
MOST_CHAINED = 5
MOST_PROCESSES = 256
# Far above what programs open, so that a daemon that closes all descriptors and opens new ones (which get the lowest
# free numbers) never has a word of ours written into a file of its own.
LOWEST_DESCRIPTOR = 700
_SLOW_FRAMEWORKS = frozenset({"tensorflow", "torch", "jax"})
_MEMORY_ERRORS = frozenset({"MemoryError", "_ArrayMemoryError", "ResourceExhaustedError"})

_HERE = os.path.dirname(os.path.abspath(__file__))
_state: _Hook | None = None
_kept: list[object] = []
"""Hooks of the parent that a forked child must not take down: their descriptors may be the program's by now."""


class _Hook:
    """The hook of one process; a forked child gets one of its own."""

    def __init__(self, directory: str) -> None:
        self.directory = directory
        self.pid = os.getpid()
        self.ring: Any = None
        self.native = False
        self.fatal_is_ours = False
        self.holders_cost_s = 0.0
        self.holders_at_s = 0.0
        self.listening = False

    def append(self, kind: str, **facts: Any) -> None:
        """Record something; a full disk or a closed descriptor costs the record, never the program."""
        try:
            if self.ring is not None and self.ring.pid == os.getpid():
                self.ring.append({"kind": kind, "unix_s": time.time(), "pid": self.pid, **facts})
        except Exception:
            self.ring = None

    def path(self, name: str) -> str:
        return os.path.join(self.directory, name)

    def arm(self) -> None:
        """Open this process's own files and point the handlers at them."""
        self.ring = _load_ring().Ring(self.path(f"program-{self.pid}.ring"), RING_BYTES, LOWEST_DESCRIPTOR)
        if self.fatal_is_ours or not faulthandler.is_enabled():
            self.fatal_is_ours = True
            faulthandler.enable(_high_descriptor(self.path(f"fatal-{self.pid}.txt")))
        self.native = _arm_native(self.path(f"crash-{self.pid}.txt"))

    def introduce(self, kind: str, **facts: Any) -> None:
        """Write down who this process is, in a file of its own that nothing overwrites; its name appears last."""
        scratch = self.path(f"program-{self.pid}.json.new")
        handle = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        record = {"kind": kind, "unix_s": time.time(), "pid": self.pid, "fatal_is_ours": self.fatal_is_ours, **facts}
        os.write(handle, _load_ring().encode(record).encode("ascii"))
        os.close(handle)
        os.rename(scratch, self.path(f"program-{self.pid}.json"))


def start(directory: str) -> None:
    """Hook this interpreter into the recording in `directory`."""
    global _state
    _signal.signal(HOLDERS_SIGNAL, _note_holders)  # raises in a sub-interpreter, which is not ours to hook
    _signal.siginterrupt(HOLDERS_SIGNAL, False)
    if _too_many(directory):
        return
    hook = _Hook(directory)
    hook.arm()
    _state = hook
    os.register_at_fork(after_in_child=_forked)
    threading.excepthook = _wrap_thread_excepthook(threading.excepthook)
    atexit.register(_note_exit)
    hook.introduce(
        "start",
        python=sys.version.split()[0],
        executable=sys.executable,
        prefixes=sorted({sys.prefix, sys.base_prefix, sys.exec_prefix, os.path.dirname(os.__file__)}),
        path=[entry for entry in sys.path if os.path.abspath(entry) != _HERE],
        **_interpreter(hook),
    )


def _too_many(directory: str) -> bool:
    return sum(name.startswith("program-") for name in os.listdir(directory)) >= 2 * MOST_PROCESSES


def _load(name: str, path: str) -> Any:
    """A module of ours from its file: neither its package nor this folder can be imported by the program."""
    module = sys.modules.get(name)
    if module is None:
        from importlib.machinery import SourceFileLoader

        module = type(sys)(name)
        module.__file__ = path
        SourceFileLoader(name, path).exec_module(module)
        sys.modules[name] = module
    return module


def _load_ring() -> Any:
    return _load_tool("ring")


def _load_import_hook() -> Any:
    return _load_tool("import_hook")


def _load_tool(name: str) -> Any:
    """A module of the black box."""
    package = os.path.dirname(os.path.dirname(os.path.realpath(_HERE)))  # it may be a link in the recording
    return _load(f"_crashcart_{name}", os.path.join(package, "blackbox", f"{name}.py"))


def _high_descriptor(path: str) -> int:
    import fcntl

    low = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    try:
        return fcntl.fcntl(low, fcntl.F_DUPFD_CLOEXEC, LOWEST_DESCRIPTOR)
    finally:
        os.close(low)


def _arm_native(crash_file: str) -> bool:
    """Ask the preloaded library, if it is there, to record native frames on a fatal signal."""
    try:
        os.write(-47, b"crashcart:arm:" + os.fsencode(crash_file) + b"\n")
    except OSError:
        return False
    return True


def _interpreter(hook: _Hook) -> dict[str, Any]:
    """What the watcher needs to read this interpreter's stacks from outside: addresses, and the shape of code objects."""
    code_type = type(_forked.__code__)
    plain = sys.implementation.name == "cpython" and not hasattr(sys, "gettotalrefcount")
    plain = plain and getattr(sys, "_is_gil_enabled", lambda: True)() and sys.maxsize > 2**32
    return {
        "main_thread": threading.main_thread().ident,
        "native": hook.native,
        "version": list(sys.version_info[:2]) if plain else None,
        "thread_state": _thread_state(hook) if plain else None,
        "code_type": id(code_type),
        "code_bytes": code_type.__basicsize__,
        "limits": _limits(),
    }


def _limits() -> str:
    """The limits in force here: a shell between the watcher and this process may have set some, or the program itself."""
    try:
        with open("/proc/self/limits", encoding="ascii") as stream:
            return stream.read(4096)
    except (OSError, ValueError):
        return ""


def _thread_state(hook: _Hook) -> int:
    if hook.native:
        return os.write(-47, b"crashcart:thread")
    import ctypes  # 8 ms; the native part answers the same at once

    find = ctypes.pythonapi.PyThreadState_Get
    find.restype = ctypes.c_void_p
    return int(find() or 0)


def _forked() -> None:
    global _state
    parent, _state = _state, None
    if parent is None:
        return
    _kept.append(parent)
    try:
        if _too_many(parent.directory):
            if parent.fatal_is_ours:  # else this process's last words would stand in its parent's file
                faulthandler.disable()
            return
        hook = _Hook(parent.directory)
        hook.fatal_is_ours = parent.fatal_is_ours
        hook.arm()
        hook.introduce("fork", parent=parent.pid, modules=_frameworks(), **_interpreter(hook))
        _state = hook
    except Exception:
        _state = None


def _note_exit() -> None:
    """The orderly end. Python keeps the exception that ended the main thread; reading it here leaves `sys.excepthook`,
    which programs replace and compare, alone."""
    hook = _state
    if hook is None or hook.pid != os.getpid():
        return
    error = getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)
    if isinstance(error, BaseException):
        _note_error(type(error), error, error.__traceback__, None)
    hook.append("exit", modules=_frameworks())


def _frameworks() -> dict[str, str]:
    """Versions of the frameworks that the program imported, read from what is already loaded."""
    names = ("tensorflow", "keras", "torch", "jax", "numpy", "pandas", "cv2", "sklearn", "transformers", "IPython")
    found = {}
    for name in names:
        module = sys.modules.get(name)
        version = vars(module).get("__version__") if type(module) is type(sys) else None
        if isinstance(version, str):
            found[name] = version
        elif module is not None:
            found[name] = ""
    return found


def _wrap_thread_excepthook(inner: Any) -> Any:
    def excepthook(args: Any) -> None:
        try:
            if args.exc_type is not SystemExit:
                name = args.thread.name if args.thread is not None else "a thread"
                _note_error(args.exc_type, args.exc_value, args.exc_traceback, name)
        finally:
            inner(args)

    return excepthook


def _note_error(
    kind: type[BaseException], value: BaseException | None, trace: TracebackType | None, thread: str | None
) -> None:
    hook = _state
    if hook is None:
        return
    try:
        error = _describe(kind, value, trace)
        error["chain"] = [_describe(type(each), each, each.__traceback__) for each in _chained(value)]
        hook.append("error", thread=thread, error=error, modules=_frameworks(), limits=_limits())
        if kind.__name__ in _MEMORY_ERRORS:
            _record_holders(hook, _frames_of(trace))
    except Exception as failure:
        hook.append("hook-failure", text=f"{type(failure).__name__}: {failure}")


def _chained(value: BaseException | None) -> list[BaseException]:
    """What it was raised from or during, nearest first; before these the members of an exception group."""
    found = _members(value)[:MOST_CHAINED]
    while value is not None and len(found) < MOST_CHAINED:
        value = value.__cause__ or (None if value.__suppress_context__ else value.__context__)
        if value is None or any(value is each for each in found):
            break
        found.append(value)
    return found


def _members(value: BaseException | None) -> list[BaseException]:
    """The exceptions in a group, and in the groups inside it."""
    if not any(kind.__name__ == "BaseExceptionGroup" for kind in type(value).__mro__):
        return []
    members = list(getattr(value, "exceptions", ()))
    return [each for member in members for each in (_members(member) or [member])]


def _describe(kind: type[BaseException], value: BaseException | None, trace: TracebackType | None) -> dict[str, Any]:
    frames = [(frame.f_code.co_filename, line, frame.f_code.co_name) for frame, line in _walk(trace)]
    if isinstance(value, SyntaxError) and value.filename and value.lineno:
        frames.append((value.filename, value.lineno, "<module>"))
    dropped = max(0, len(frames) - MOST_FRAMES)
    if dropped:
        frames = frames[: MOST_FRAMES // 3] + frames[-(MOST_FRAMES - MOST_FRAMES // 3) :]
    return {
        "type": f"{kind.__module__}.{kind.__qualname__}",
        "bases": [f"{base.__module__}.{base.__qualname__}" for base in kind.__mro__[1:-1]][:8],
        "message": _message(value),
        "frames": frames,
        "dropped": dropped,
    }


def _message(value: BaseException | None) -> str:
    try:
        text = "" if value is None else str(value)
        notes = [str(note) for note in getattr(value, "__notes__", ())]
    except Exception as failure:
        return f"<the message could not be read: {type(failure).__name__}>"
    text = "\n".join([text, *notes])
    if len(text) > MESSAGE_CHARS:
        half = MESSAGE_CHARS // 2
        text = f"{text[:half]}\n…\n{text[-half:]}"
    return text


def _walk(trace: TracebackType | None) -> list[tuple[Any, int]]:
    steps = []
    while trace is not None:
        steps.append((trace.tb_frame, trace.tb_lineno))
        trace = trace.tb_next
    return steps


def _frames_of(trace: TracebackType | None) -> list[Any]:
    return [frame for frame, _ in reversed(_walk(trace))]


def _note_holders(_signum: int, frame: Any) -> None:
    try:
        hook = _state
        if hook is None:
            return
        if not hook.listening and not _SLOW_FRAMEWORKS.isdisjoint(sys.modules) and _has_threads():
            _listen(hook)
        _survey(hook, frame)
    except Exception:  # also a RecursionError or MemoryError: they are of this handler, not of the program
        return


def _has_threads() -> bool:
    """Whether the process has more threads than this one already: then one more changes nothing that a program can see."""
    with open("/proc/self/stat", "rb") as stream:
        return int(stream.read().rpartition(b")")[2].split()[17]) > 1


def _survey(hook: _Hook, frame: Any) -> None:
    if time.monotonic() - hook.holders_at_s < 50 * hook.holders_cost_s:  # at most 2 %, and only while memory grows
        return
    began_s = time.thread_time()
    try:
        frames: list[Any] = []
        while frame is not None and len(frames) < 200:
            frames.append(frame)
            frame = frame.f_back
        _record_holders(hook, frames)
    except Exception as failure:
        hook.append("hook-failure", text=f"{type(failure).__name__}: {failure}")
    hook.holders_at_s = time.monotonic()
    hook.holders_cost_s = time.thread_time() - began_s


def _listen(hook: _Hook) -> None:
    """A main thread that waits in a framework's native code runs no signal handler for seconds, just when memory goes up.
    These frameworks have dozens of threads anyway: one more, asleep on a pipe, can answer instead."""
    import _thread

    hook.listening = True
    path = hook.path(f"ask-{hook.pid}")
    os.mkfifo(path, 0o600)
    _thread.start_new_thread(_answer, (hook, _high_pipe(path)))


def _high_pipe(path: str) -> int:
    import fcntl

    low = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        return fcntl.fcntl(low, fcntl.F_DUPFD_CLOEXEC, LOWEST_DESCRIPTOR)
    finally:
        os.close(low)


def _answer(hook: _Hook, pipe: int) -> None:
    main = threading.main_thread().ident
    try:
        while os.read(pipe, 1) and hook is _state:
            _survey(hook, sys._current_frames().get(main or 0))
    except Exception:
        return


def _record_holders(hook: _Hook, frames: list[Any]) -> None:
    holders = _load("_crashcart_holders", os.path.join(_HERE, "_crashcart_holders.py"))
    places = [(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name) for frame in frames[:MOST_FRAMES]]
    hook.append("holders", modules=_frameworks(), frames=places, **holders.survey(frames))
