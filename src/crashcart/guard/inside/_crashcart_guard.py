"""The guard inside the program: raises MemoryGuardError where the user can see it, and gives memory back.

Covers: the exception in the user's frame on the guard's request (a signal that the guard sends only where this handler
is in place), words for refused allocations, and trimming the heap afterwards.
Does not cover: deciding anything (`guard/policy.py` does, outside), refusing (`airbag`). Standard library only; while
memory is not short, nothing here runs.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # the signal module itself imports enum and more
import os
import sys
import threading
import time
from _functools import partial  # type: ignore[import-not-found,unused-ignore]
from _operator import methodcaller  # type: ignore[import-not-found,unused-ignore]

TYPE_CHECKING = False
if TYPE_CHECKING:  # `typing` itself costs 5 ms
    from typing import Any

GUARD_SIGNAL = 50
REQUEST_FILE = "guard-request"
SHARED_FILE = "guard"
RAISED_OFFSET = 1152
REFUSALS, REFUSAL_BYTES, MOST_REFUSALS = 96, 64, 16
RECENT_NS = 2_000_000_000

_HERE = os.path.dirname(os.path.abspath(__file__))
_PACKAGE = os.path.dirname(os.path.dirname(_HERE))
# Cleaning up is where an exception does the most harm: what it interrupts is never done.
_CLEANUPS = frozenset({"__del__", "__exit__", "__aexit__", "_callback", "_cleanup", "_shutdown", "_run_finalizers"})
_WAITS = ("threading.py", "queue.py", "_base.py", "selectors.py", "connection.py", "subprocess.py", "popen_fork.py")

_directory = ""
_answered = 0
_cpu_ticks: dict[int, int] = {}
_needed: list[object] = []


class MemoryGuardError(MemoryError):
    """Memory would have run out: crashcart raised this in place of the kernel's kill. All variables are as they were."""


MemoryGuardError.__module__ = "crashcart"


def start(directory: str) -> None:
    """Take the guard's requests from now on."""
    global _directory
    _signal.signal(GUARD_SIGNAL, _Handler())
    _directory = directory


class _Handler:
    """The handler of the guard's signal.

    An exception that a Python function raises has a frame of that function at the end of its traceback; this one is to end
    at the user's own line. So the function below only decides: the interpreter calls it to *find* what to call, and what
    it finds, to be called after it has returned, is made of C functions alone.
    """

    @property
    def __call__(self) -> Any:
        try:
            error = _answer(sys._getframe(1))
        except Exception:  # our failure is not the program's: the guard asks again
            error = None
        return _NOTHING if error is None else partial(max, _spent(), key=methodcaller("throw", error))


def _spent() -> Any:
    """A generator that has ended: an exception thrown into it comes straight back."""
    generator: Any = (each for each in "")
    next(generator, None)
    return generator


_NOTHING = partial(max, key=id)


def _answer(frame: Any) -> MemoryGuardError | None:
    """Runs in the main thread, between two of its instructions; returns what is to be raised there."""
    global _answered
    request = _request()
    if request is None or request["number"] <= _answered:
        return None
    if request["ask"] == "raise":
        return _exception(request, frame)
    _answered = request["number"]
    _get_ready() if request["ask"] == "ready" else _trim()
    return None


def _exception(request: dict[str, Any], frame: Any) -> MemoryGuardError | None:
    """The exception for the main thread; none where another thread was told, or where this is no place for it."""
    global _answered
    if _waits(frame) and not _cpu_ticks:
        _busiest_thread()  # who is busy shows from one request to the next
        return None
    ident, frame = _whom(frame)
    if not _may_raise(_outward(frame), rooted=ident is None):
        return None
    words = _words_of_growth(request, frame)
    if ident is not None:
        _raise_in(ident, words)
    _answered = request["number"]
    _count_raised()
    return MemoryGuardError(words) if ident is None else None


def _request() -> dict[str, Any] | None:
    import json

    with open(os.path.join(_directory, f"{REQUEST_FILE}-{os.getpid()}.json"), encoding="utf-8") as stream:
        request = json.load(stream)
    return request if isinstance(request, dict) and request.get("pid") == os.getpid() else None


def _get_ready() -> None:
    """Load now what will be needed when there may be no memory to load it into."""
    import ctypes
    import gc
    import json
    import linecache
    import struct

    _needed.extend((ctypes.pythonapi, gc, json, linecache, struct))
    _holders()


def _whom(frame: Any) -> tuple[int | None, Any]:
    """The thread to raise in, and its frame: None is the main thread, unless it only waits for another that is busy."""
    ident = _busiest_thread() if _waits(frame) else None
    other = sys._current_frames().get(ident) if ident is not None else None
    return (None, frame) if other is None else (ident, other)


def _outward(frame: Any) -> list[Any]:
    frames: list[Any] = []
    while frame is not None and len(frames) < 400:
        frames.append(frame)
        frame = frame.f_back
    return frames


def _may_raise(frames: list[Any], rooted: bool) -> bool:
    """Whether an exception here would interrupt no clean-up, no code of crashcart and no exit handler."""
    if sys.is_finalizing() or not frames:
        return False
    outermost = frames[-1].f_code
    runs_module = outermost.co_name == "<module>" or os.path.basename(outermost.co_filename) == "runpy.py"
    if rooted and not runs_module and len(frames) < 400:
        return False  # exit handlers, callbacks of the C library: nobody would catch it
    return not any(_cleans_up(frame) for frame in frames)


def _cleans_up(frame: Any) -> bool:
    code = frame.f_code
    if code.co_filename.startswith(_PACKAGE) and not code.co_filename.startswith(os.path.join(_PACKAGE, "cli")):
        return True
    return code.co_name in _CLEANUPS or _in_finally(code.co_filename, frame.f_lineno, code.co_firstlineno)


def _in_finally(file: str, line: int | None, first: int) -> bool:
    """Whether the line is in the body of a `finally:`, as far as indentation tells."""
    import linecache

    if not line:
        return False
    depth = None
    for number in range(line, first - 1, -1):
        text = linecache.getline(file, number)
        bare = text.strip()
        if not bare or bare.startswith("#"):
            continue
        indent = len(text) - len(text.lstrip())
        if depth is None or indent < depth:
            if depth is not None and bare.startswith("finally:"):
                return True
            depth = indent
    return False


def _waits(frame: Any) -> bool:
    """Whether the main thread only waits for others: then what grows is in another thread."""
    return os.path.basename(frame.f_code.co_filename) in _WAITS and threading.active_count() > 1


def _busiest_thread() -> int | None:
    """The Python thread other than the main one that used the most processor time since the last request."""
    ticks = {}
    for thread in threading.enumerate():
        if thread is not threading.main_thread() and thread.native_id and thread.ident:
            ticks[thread.ident] = _ticks(thread.native_id)
    spent = {ident: used - _cpu_ticks.get(ident, 0) for ident, used in ticks.items()}
    _cpu_ticks.clear()
    _cpu_ticks.update(ticks)
    busiest = max(spent, key=lambda ident: spent[ident], default=None)
    return busiest if busiest is not None and spent[busiest] > 0 else None


def _ticks(native_id: int) -> int:
    try:
        with open(f"/proc/self/task/{native_id}/schedstat", encoding="ascii") as stream:
            return int(stream.read().split()[0])
    except (OSError, ValueError, IndexError):
        return 0


def _raise_in(ident: int, text: str) -> None:
    """Raise in another thread at its next instruction; the interpreter takes only a class, so the words are put in one."""
    import ctypes

    class ToldError(MemoryGuardError):
        def __init__(self) -> None:
            super().__init__(text)

    ToldError.__name__ = ToldError.__qualname__ = "MemoryGuardError"
    ToldError.__module__ = "crashcart"
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(ident), ctypes.py_object(ToldError))


def _count_raised() -> None:
    handle = os.open(os.path.join(_directory, SHARED_FILE), os.O_RDWR | os.O_CLOEXEC)
    try:
        count = int.from_bytes(os.pread(handle, 8, RAISED_OFFSET), "little")
        os.pwrite(handle, (count + 1).to_bytes(8, "little"), RAISED_OFFSET)
    finally:
        os.close(handle)


def _trim() -> None:
    """Give what was freed back to the system: the C library keeps the free pages between two used ones."""
    import ctypes
    import gc

    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def refused() -> None:
    """Called by the airbag when it has refused NumPy: have NumPy's exception say what happened."""
    for name in ("numpy._core._exceptions", "numpy.core._exceptions"):
        kind = getattr(sys.modules.get(name), "_ArrayMemoryError", None)
        if kind is not None and kind.__new__ is not _new_array_error:
            kind.__new__ = _new_array_error


def _new_array_error(kind: Any, *arguments: Any) -> Any:
    """In place of NumPy's own error, ours, if it was the guard that refused; NumPy raises whatever it gets."""
    try:
        refusal = _refusal_of(threading.get_native_id())
        if refusal is not None:
            return MemoryGuardError(_words_of_refusal(refusal, arguments, sys._getframe().f_back))
    except Exception:  # then the plain error will do
        pass
    return MemoryError.__new__(kind, *arguments)


class RefusedError(MemoryError):
    """Stands in for MemoryError while the interpreter raises what the guard refused; never raised itself."""

    def __new__(cls, *arguments: Any) -> Any:
        try:
            _give_class_back()
            refusal = _refusal_of(threading.get_native_id())
            if refusal is not None:
                return MemoryGuardError(_words_of_refusal(refusal, (), sys._getframe().f_back))
        except Exception:  # then the plain error will do
            pass
        return MemoryError(*arguments)


def _give_class_back() -> None:
    """The interpreter's variable that names the class of its memory errors, as it was."""
    import ctypes

    ctypes.c_void_p.in_dll(ctypes.pythonapi, "PyExc_MemoryError").value = id(MemoryError)


def explain() -> None:
    """Called by the airbag soon after it has refused the interpreter: put words to the exception that is being handled."""
    error = sys.exc_info()[1]
    if type(error) is MemoryError and not error.args:
        refusal = _refusal_of(threading.get_native_id())
        if refusal is not None:
            error.args = (_words_of_refusal(refusal, (), sys._getframe().f_back),)


def _refusal_of(tid: int) -> tuple[int, int] | None:
    """Size asked for and bytes left, of this thread's refusal just now."""
    import struct

    with open(os.path.join(_directory, SHARED_FILE), "rb") as stream:
        stream.seek(REFUSALS)
        table = stream.read(MOST_REFUSALS * REFUSAL_BYTES)
    records = [struct.unpack_from("<Qqqqii", table, index * REFUSAL_BYTES) for index in range(MOST_REFUSALS)]
    number, size, left, at_ns, pid, own = max(records)
    if not number or pid != os.getpid() or own != tid or time.monotonic_ns() - at_ns > RECENT_NS:
        return None
    return size, left


def _words_of_refusal(refusal: tuple[int, int], array: tuple[Any, ...], frame: Any) -> str:
    size, left = refusal
    with open(os.path.join(_directory, "guard-limit.json"), encoding="utf-8") as stream:
        import json

        limit = json.load(stream)
    left = max(0, left + limit["reserve_bytes"])
    lines = [
        f"this line asked for {_size(size)}, {_size(left)} {'is' if left == 1 else 'are'} left of "
        f"{_size(limit['limit_bytes'])} ({limit['source']})"
    ]
    if len(array) == 2:
        lines.append(f"  for an array of shape {tuple(array[0])} and type {array[1]}")
        lines.append("  without the guard, the kernel would have killed the program while it was being filled")
    lines += _held(frame)
    lines.append(f"  try {_advice(array)}")
    return "\n".join(lines)


def _advice(array: tuple[Any, ...]) -> str:
    kind = str(array[1]) if len(array) == 2 else ""
    if kind in ("float64", "int64", "complex128"):
        half = {"float64": "float32", "int64": "int32", "complex128": "complex64"}[kind]
        return f"dtype={half} (half the size), or work in parts that fit"
    return "working in parts that fit, or del what is no longer needed"


def _words_of_growth(request: dict[str, Any], frame: Any) -> str:
    used, limit = _size(request["used_bytes"]), _size(request["limit_bytes"])
    lines = [f"memory ran out at this line: {used} of {limit} ({request['source']}) in use"]
    if request.get("airbag_bytes"):
        lines[0] += f", and {_size(request['airbag_bytes'])} more on disk"
    if request.get("seconds_left") is not None:
        lines.append(
            f"  without the guard, the kernel would have killed the program in about {request['seconds_left']:.1f} s"
        )
    lines += _held(frame)
    lines.append("  try keeping less: work in parts, or write results to disk as they come")
    return "\n".join(lines)


def _held(frame: Any) -> list[str]:
    """The largest named objects, a line of them."""
    try:
        survey = _holders().survey(_outward(frame)[:60])
        largest = [each for each in survey["holders"] if each["bytes"] >= 1 << 20][:3]
    except Exception:
        return []
    if not largest:
        return []
    return ["  held: " + ", ".join(f"{each['name']} {_size(each['bytes'])}" for each in largest)]


def _holders() -> Any:
    hook: Any = sys.modules["_crashcart_hook"]
    return hook._load("_crashcart_holders", os.path.join(_PACKAGE, "record", "inside", "_crashcart_holders.py"))


def _size(count: float) -> str:
    for unit, factor in (("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if abs(count) >= factor:
            value = count / factor
            return f"{value:.{2 if value < 10 else 1 if value < 100 else 0}f} {unit}"
    return f"{count:.0f} B"
