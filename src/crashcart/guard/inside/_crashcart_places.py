"""Where the guard may raise, and in which thread.

Covers: telling clean-ups, exit handlers and crashcart's own code, which are not to be interrupted, from the rest; finding
the thread that grows while the main one waits for it.
Does not cover: raising (`_crashcart_guard`). Standard library only.
"""

from __future__ import annotations

import os
import sys
import threading
import time

TYPE_CHECKING = False
if TYPE_CHECKING:  # `typing` itself costs 5 ms
    from typing import Any

_PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# Cleaning up is where an exception does the most harm: what it interrupts is never done.
_CLEANUPS = frozenset({"__del__", "__exit__", "__aexit__", "_callback", "_cleanup", "_shutdown", "_run_finalizers"})
_WAITS = ("threading.py", "queue.py", "_base.py", "selectors.py", "connection.py", "subprocess.py", "popen_fork.py")

_STARTS = frozenset({"<module>", "_run_module_as_main", "_run_code", "run_path", "run_module"})
_LOOKS, _LOOK_S = 20, 0.005
_AT_WORK_NS = 1_000_000
"""So often and so far apart the threads' processor time is looked at until one of them has used so much, which those that only
look after a pool never do; on a machine with no free core a thread waits for its turn."""


def choose(frame: Any) -> tuple[int | None, Any] | None:
    """The thread to raise in, None for the main one, and its frame; nothing where this is no place for it."""
    ident: int | None = None
    if _is_handling():
        return None
    if _waits(frame):
        ident = _busiest_thread()
        if ident is None:
            return None  # nobody here is at work: what grows is elsewhere
    other = sys._current_frames().get(ident) if ident is not None else None
    if other is None:
        return (None, frame) if _may_raise(outward(frame), rooted=True) else None
    return (ident, other) if _may_raise(outward(other), rooted=False) else None


def _is_handling() -> bool:
    """Whether an exception of the guard is being handled just now: a checkpoint may be on its way."""
    error = sys.exc_info()[1]
    while error is not None:
        if type(error).__module__ == "crashcart" and isinstance(error, MemoryError):
            return True
        error = error.__context__
    return False


def outward(frame: Any) -> list[Any]:
    """The frame and those that called it."""
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
    runs_module = outermost.co_name in _STARTS
    if rooted and not runs_module and len(frames) < 400:
        return False  # exit handlers, callbacks of the C library: nobody would catch it
    return not any(_cleans_up(frame) for frame in frames)


def _cleans_up(frame: Any) -> bool:
    code = frame.f_code
    if code.co_filename.startswith(_PACKAGE) and not code.co_filename.startswith(os.path.join(_PACKAGE, "cli")):
        return True
    if code.co_filename.startswith("<frozen importlib"):
        return True  # a module that was half imported cannot always be imported again
    return code.co_name in _CLEANUPS or _in_finally(code.co_filename, frame.f_lineno, code.co_firstlineno)


def _in_finally(file: str, line: int | None, first: int) -> bool:
    """Whether the line is in the body of a `finally:`, as far as indentation tells."""
    lines = _lines(file) if line else []
    if not line or line > len(lines):
        return False
    if lines[line - 1].lstrip().startswith("finally:"):
        return True
    depth = None
    for number in range(line, first - 1, -1):
        text = lines[number - 1]
        bare = text.strip()
        if not bare or bare.startswith("#"):
            continue
        indent = len(text) - len(text.lstrip())
        if depth is None or indent < depth:
            if depth is not None and bare.startswith("finally:"):
                return True
            depth = indent
    return False


def _lines(file: str) -> list[str]:
    """The source, from a cell's cache where it is in one; `linecache` itself would bring a dozen modules."""
    cached = getattr(sys.modules.get("linecache"), "cache", {}).get(file)
    if cached is not None and len(cached) == 4:
        return list(cached[2])
    try:
        with open(file, encoding="utf-8", errors="replace") as stream:
            return stream.readlines()
    except OSError:
        return []


def _waits(frame: Any) -> bool:
    """Whether the main thread only waits for others: then what grows is in another thread."""
    return os.path.basename(frame.f_code.co_filename) in _WAITS and threading.active_count() > 1


def _busiest_thread() -> int | None:
    """The Python thread other than the main one that uses the most processor time just now; None where none does."""
    before = _used_by_thread()
    for _ in range(_LOOKS if before else 0):
        time.sleep(_LOOK_S)
        spent = {ident: used - before.get(ident, used) for ident, used in _used_by_thread().items()}
        busiest = max(spent, key=lambda ident: spent[ident], default=None)
        if busiest is not None and spent[busiest] >= _AT_WORK_NS:
            return busiest
    return None


def _used_by_thread() -> dict[int, int]:
    others = (each for each in threading.enumerate() if each is not threading.main_thread())
    return {each.ident: _used_ns(each.native_id) for each in others if each.native_id and each.ident}


def _used_ns(native_id: int) -> int:
    try:
        with open(f"/proc/self/task/{native_id}/schedstat", encoding="ascii") as stream:
            return int(stream.read().split()[0])
    except (OSError, ValueError, IndexError):
        return 0
