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
from _functools import partial  # type: ignore[import-not-found,unused-ignore]
from _operator import methodcaller  # type: ignore[import-not-found,unused-ignore]

TYPE_CHECKING = False
if TYPE_CHECKING:  # `typing` itself costs 5 ms
    from typing import Any

GUARD_SIGNAL = 50
FILE_NAME = "guard"
# Where in the shared file: see guard/shared.py.
RAISED, SEEN, CEILING = 1152, 1184, 1192
REQUESTS, MOST_REQUESTS, FACTS_BYTES = 16384, 16, 1024
_CDECL, _WITH_GIL = 1, 4  # how ctypes calls a function

_HERE = os.path.dirname(os.path.abspath(__file__))

shared_file = ""
_answered = 0
_answering = False
_needed: list[object] = []


class MemoryGuardError(MemoryError):
    """Memory would have run out: crashcart raised this in place of the kernel's kill.

    The process lives on with all its objects. The statement that failed may have been done in part, as with any exception:
    a list may be half filled.
    """


MemoryGuardError.__module__ = "crashcart"


def start(directory: str) -> None:
    """Take the guard's requests from now on."""
    global shared_file
    _signal.signal(GUARD_SIGNAL, _Handler())
    shared_file = os.path.realpath(os.path.join(directory, FILE_NAME))


def _part(name: str) -> Any:
    """Another module of this folder, which the program cannot import; under its own name, as the start-up hook loads ours."""
    hook: Any = sys.modules["_crashcart_hook"]
    return hook._load(f"_crashcart_{name}", os.path.join(_HERE, f"_crashcart_{name}.py"))


def _refusal(tid: int | None) -> Any:
    return _part("words").refusal_of(shared_file, tid)


class _Handler:
    """The handler of the guard's signal.

    An exception that a Python function raises has a frame of that function at the end of its traceback; this one is to end
    at the user's own line. So the function below only decides: the interpreter calls it to *find* what to call, and what
    it finds, to be called after it has returned, is made of C functions alone.
    """

    @property
    def __call__(self) -> Any:
        global _answering
        if _answering:  # a request on top of one that is being answered
            return _NOTHING
        _answering = True
        try:
            error = _answer(sys._getframe(1))
        except Exception as failure:  # our failure is not the program's: the guard asks again
            _note_failure(failure)
            error = None
        finally:
            _answering = False
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
    try:
        if request["ask"] == "raise":
            return _exception(request, frame)
        _answered = request["number"]
        _get_ready() if request["ask"] == "ready" else _trim()
        return None
    finally:
        write_word(SEEN, request["number"])


def _exception(request: dict[str, Any], frame: Any) -> MemoryGuardError | None:
    """The exception for the main thread; none where another thread was told, or where this is no place for it."""
    global _answered
    if _raised_count() != request["raised_count"]:  # the program was told after the guard looked, and before it asked
        _answered = request["number"]
        return None
    chosen = _part("places").choose(frame)
    if chosen is None or _refusal(None) is not None:  # who was refused just now has been told
        return None
    ident, frame = chosen
    words = _part("words").of_growth(request, _part("places").outward(frame))
    _answered = request["number"]
    write_word(RAISED, request["raised_count"] + 1)
    if ident is not None:
        _raise_in(ident, words)
    return MemoryGuardError(words) if ident is None else None


def _request() -> dict[str, Any] | None:
    """The last one to this process."""
    words, last = _part("words"), None
    table = words.read_part(shared_file, REQUESTS, MOST_REQUESTS * FACTS_BYTES)
    for at in range(0, len(table), FACTS_BYTES):
        facts = words.facts_of(table[at : at + FACTS_BYTES])
        if facts.get("pid") == os.getpid() and (last is None or facts["number"] > last["number"]):
            last = facts
    return last


def _get_ready() -> None:
    """Load now what will be needed when there may be no memory to load it into. None of it imports much: `ctypes`, `json`
    and `linecache` would bring a dozen modules each."""
    import _ctypes
    import gc

    _needed.extend((_ctypes, gc, _part("places"), _part("words").holders()))
    _explain_tensorflow()


def _address(name: str) -> int:
    """Of a function or variable of the interpreter or the C library; 0 where there is none."""
    import _ctypes

    try:
        whole: Any = None
        return int(_ctypes.dlsym(_ctypes.dlopen(whole, 2), name))
    except OSError:
        return 0


def _raise_in(ident: int, text: str) -> None:
    """Raise in another thread at its next instruction; the interpreter takes only a class, so the words are put in one."""
    import _ctypes

    class ToldError(MemoryGuardError):
        def __init__(self) -> None:
            super().__init__(text)

    ToldError.__name__ = ToldError.__qualname__ = "MemoryGuardError"
    ToldError.__module__ = "crashcart"
    word, reference = _simple(_ctypes, "L"), _simple(_ctypes, "O")
    address = _address("PyThreadState_SetAsyncExc")
    if not address:
        return
    kind = type("Function", (_ctypes.CFuncPtr,), {"_flags_": _CDECL | _WITH_GIL})
    kind(address)(word(ident), reference(ToldError))


def _simple(ctypes: Any, code: str) -> Any:
    return type("Value", (ctypes._SimpleCData,), {"_type_": code})


def _raised_count() -> int:
    return int.from_bytes(_part("words").read_part(shared_file, RAISED, 8), "little")


def write_word(offset: int, value: int) -> None:
    """Store a word in the shared file."""
    handle = os.open(shared_file, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.pwrite(handle, value.to_bytes(8, "little"), offset)
    finally:
        os.close(handle)


def _trim() -> None:
    """Give what was freed back to the system: the C library keeps the free pages between two used ones."""
    import _ctypes
    import gc

    gc.collect()
    if _address("malloc_trim"):
        _ctypes.call_cdeclfunction(_address("malloc_trim"), (0,))


def _explanation(tid: int | None, array: tuple[Any, ...], frame: Any) -> str | None:
    """The words for what this thread, or any, was refused just now; None where it was not, or where they cannot be found:
    then the plain error will do, and the recording says why."""
    try:
        refusal = _refusal(tid)
        if refusal is None:
            return None
        frames = _part("places").outward(frame)
        return str(_part("words").of_refusal(shared_file, refusal, array, frames))
    except Exception as failure:
        _note_failure(failure)
        return None


def _note_failure(failure: Exception) -> None:
    state = sys.modules["_crashcart_hook"]._state
    if state is not None:
        state.append("hook-failure", text=f"guard: {type(failure).__name__}: {failure}")


def refused() -> None:
    """Called by the airbag when it has refused NumPy: have NumPy's exception say what happened."""
    for name in ("numpy._core._exceptions", "numpy.core._exceptions"):
        kind = getattr(sys.modules.get(name), "_ArrayMemoryError", None)
        if kind is not None and kind.__new__ is not _new_array_error:
            kind.__new__ = _new_array_error
            if sys.version_info < (3, 11):  # which look for the class that NumPy asked for, not for the one they got
                kind.__bases__ = (MemoryGuardError,)


def _new_array_error(kind: Any, *arguments: Any) -> Any:
    """In place of NumPy's own error, ours, if it was the guard that refused; NumPy raises whatever it gets."""
    words = _explanation(threading.get_native_id(), arguments, sys._getframe().f_back)
    return MemoryGuardError(words) if words is not None else MemoryError.__new__(kind, *arguments)


class RefusedError(MemoryGuardError):
    """Stands in for MemoryError while the interpreter raises what the guard refused. Python 3.10 and before take an
    exception for one of the class that was asked for, so what is made is of this class, under the other's name."""

    def __new__(cls, *arguments: Any) -> Any:
        _give_class_back()
        words = _explanation(threading.get_native_id(), (), sys._getframe().f_back)
        return MemoryError.__new__(cls, words) if words is not None else MemoryError(*arguments)

    def __init__(self, *_: Any) -> None:
        return  # the words were given when it was made


RefusedError.__name__ = RefusedError.__qualname__ = "MemoryGuardError"
RefusedError.__module__ = "crashcart"


def _give_class_back() -> None:
    """The interpreter's variable that names the class of its memory errors, as it was."""
    try:
        import _ctypes
    except ImportError:  # an interpreter built without it: the lent class stays, and makes plain errors
        return
    address = _address("PyExc_MemoryError")
    if address:
        _simple(_ctypes, "P").from_address(address).value = id(MemoryError)


def collect() -> None:
    """Called by the airbag before it refuses NumPy: what a failed step held may be held by cycles of references."""
    import gc

    gc.collect()


def explain() -> None:
    """Called by the airbag soon after it has refused the interpreter: put words to the exception that is being handled."""
    error = sys.exc_info()[1]
    if type(error) is MemoryError and not error.args:
        words = _explanation(threading.get_native_id(), (), sys._getframe().f_back)
        error.args = (words,) if words is not None else ()


def _explain_tensorflow() -> None:
    """Have TensorFlow's own exception say that it was the guard that refused, if it was."""
    module = sys.modules.get("tensorflow.python.framework.errors_impl")
    kind = getattr(module, "ResourceExhaustedError", None)
    if kind is None or getattr(kind.__init__, "crashcart", False):
        return
    plain = kind.__init__

    def explained(self: Any, node_def: Any, op: Any, message: Any, *arguments: Any) -> None:
        words = _explanation(None, (), None)
        if words is not None and isinstance(message, str):
            message = f"{message}\ncrashcart: {words}"
        plain(self, node_def, op, message, *arguments)

    explained.crashcart = True  # type: ignore[attr-defined]
    kind.__init__ = explained
