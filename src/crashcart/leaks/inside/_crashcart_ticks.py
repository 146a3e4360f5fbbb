"""Looks at a program in which no framework passes by, for a Python that cannot watch its loops (before 3.12).

Covers: a sleeping thread that wakes some times a second and, by a signal, asks the main thread to look: there the counters
of the loops that run are read, between two instructions of the program, so that nothing is held while it runs on.
Does not cover: anything while frameworks are counted: then the thread sleeps on.
"""

from __future__ import annotations

import os
import sys
import threading
import time

TYPE_CHECKING = False
if TYPE_CHECKING:  # `typing` itself costs 5 ms
    from typing import Any

EARLY_S, LATER_S, BUSY_S, STILL_S = 0.02, 0.08, 0.25, 2.0
LOOK_SIGNAL = 51  # beside the hook's 49 and the guard's 50
_PAUSES = {"x86_64": (b"34", b"130"), "aarch64": (b"73", b"133")}.get(os.uname().machine, ())
"""The numbers of `pause` and `sigsuspend`; on ARM, `ppoll` stands for the first."""

_PROFILER = os.path.join(os.path.dirname(os.__file__), "profile.py")


def start(watch: Any) -> None:
    """Begin to tick; where the signal is taken, or this is not the main thread, loops go uncounted."""
    import _signal  # type: ignore[import-not-found]
    import _thread

    main = threading.main_thread().ident
    handler = _signal.getsignal(LOOK_SIGNAL)
    ours = type(handler).__name__ == _Asked.__name__ and type(handler).__module__ == _Asked.__module__
    taken = handler != _signal.SIG_DFL and not (ours and handler.watch is None)
    if threading.get_ident() != main or taken:
        watch.lack("loops", "the signal that asks for looks is taken, or this is not the main thread")
        return
    # It stays when the watch has ended: a signal that is on its way would end the program without it.
    _signal.signal(LOOK_SIGNAL, _Asked(watch))
    _signal.siginterrupt(LOOK_SIGNAL, False)
    _thread.start_new_thread(_tick, (watch, main))


def stop(watch: Any) -> None:
    """The watch has ended: the handler forgets it."""
    import _signal

    handler = _signal.getsignal(LOOK_SIGNAL)
    if getattr(handler, "watch", None) is watch:
        handler.watch = handler.counters = None


class _Asked:
    """The handler of the signal, in the main thread."""

    def __init__(self, watch: Any) -> None:
        leaks: Any = sys.modules["_crashcart_leaks"]
        self.watch = watch
        self.counters = leaks._part("loops").Counters(watch.counts, watch.is_own, leaks._part("roots").variables)
        self.busy = False
        import dis  # noqa: F401  # for the counters; now, so that no look has to wait for it

    def __call__(self, _number: int, frame: Any) -> None:
        if self.busy or self.watch is None or self.watch.off:
            return
        is_theirs = self.watch.counts.is_theirs
        self.busy = True
        try:
            self._look(frame)
        except Exception as failure:
            if is_theirs(failure):
                raise
            self.watch.lack("loops", f"{type(failure).__name__}: {failure}")
        finally:
            self.busy = False

    def _look(self, frame: Any) -> None:
        watch, now_s = self.watch, time.monotonic()
        if now_s < watch.next_s:
            return
        before, began_s = list(watch.counts.counts), time.thread_time()
        self.counters.look(frame)
        watch.spent_on_loops(time.thread_time() - began_s, now_s)
        if before != watch.counts.counts or now_s - watch.last_s > STILL_S:
            watch.look(True)


def _tick(watch: Any, main: int) -> None:
    import _signal

    sleep_s, checked_s = EARLY_S, 0.0
    while not watch.off and os.getpid() == watch.pid:
        time.sleep(sleep_s)
        now_s = time.monotonic()
        if now_s - watch.beat_s < 4 * EARLY_S:  # frameworks pass by: they are looked at there
            sleep_s = BUSY_S
            continue
        if now_s < watch.next_s:
            continue
        if _is_profiled(main):
            watch.lack("loops", "Python's own profiler runs, which a look between two instructions would disturb")
            return
        sleep_s = EARLY_S if watch.first and watch.taken < 1024 else LATER_S
        try:
            if now_s - checked_s > 1.0:
                checked_s = now_s
                if _is_blocked():
                    continue
            if not _waits_for_a_signal():
                _signal.pthread_kill(main, LOOK_SIGNAL)
        except (OSError, ValueError):  # the main thread has ended
            return


def _is_profiled(main: int) -> bool:
    """Whether Python's own profiler runs the main thread: it takes a handler's call for one of the program's that it knows
    nothing of, and raises. That it is loaded says nothing: cProfile loads it, which many programs have, and does not mind."""
    frame = sys._current_frames().get(main)
    while frame is not None:
        if frame.f_code.co_filename == _PROFILER:
            return True
        frame = frame.f_back
    return False


def _waits_for_a_signal() -> bool:
    """Whether the main thread waits for any signal to come (`signal.pause`): it would take ours for that."""
    try:
        with open(f"/proc/self/task/{os.getpid()}/syscall", "rb") as stream:
            return stream.read(8).split()[0] in _PAUSES
    except (OSError, IndexError):  # a kernel that does not say
        return False


def _is_blocked() -> bool:
    """Whether the main thread keeps the signal waiting: it may be about to become another program, which it would end."""
    with open(f"/proc/self/task/{os.getpid()}/status", "rb") as stream:
        blocked = next(line for line in stream if line.startswith(b"SigBlk"))
    return bool(int(blocked.split()[1], 16) >> (LOOK_SIGNAL - 1) & 1)
