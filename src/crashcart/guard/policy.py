"""What the guard does and when: pure decisions from figures, tested as a table.

Covers: the budget for large blocks, and the ladder above it with hysteresis: nothing, the airbag for small blocks too
(squeeze), an exception in the user's frame, giving memory back, and, only if asked for, stopping the program.
Does not cover: faster sampling and last words, the first rungs, which `record` takes by itself; acting (`apply.py`).

Two figures lead up the ladder. *Room* is what the limit leaves beyond the use and a small reserve; the budget for large
blocks is the room less what was promised (given out and not yet touched). And the airbag's own count says what came when
there was no room left: bytes for the interpreter's objects (which thrash when they live on a disk, so the exception
follows soon), or for native code (which may well finish there, so the exception waits until the airbag is nearly full).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

from crashcart.units import MIB

RESERVE_SHARE, MOST_RESERVE_SHARE = 0.04, 0.07
SQUEEZE_SHARE, RELEASE_SHARE = 0.06, 0.08
"""Small blocks go to the airbag above 94 % of the limit at the earliest, and no longer below 92 %."""
LEAST_RESERVE_BYTES = 12 * MIB
MOST_RESERVE_BYTES = 512 * MIB
"""Kept free for what cannot be counted beforehand: small blocks between two looks, page tables, the kernel's own."""

LEAST_LIMIT_BYTES = 64 * MIB
"""A smaller limit is hardly meant: an interpreter with NumPy needs as much."""
READY_SHARE = 0.75
READY_AGAIN_S = 30.0
SPARSE_CPU_S, SPARSE_SLOW_CPU_S = 0.3, 3.0
"""Memory that was given out and not touched while the program ran for this long may never be; the promise lapses. A program
that waits for its airbag is slow to touch anything."""
STILL_BYTES = MIB

GROWN_BYTES = 2 * MIB
"""Without an airbag, what the program grew by since there was no room; less may be the growth of others."""
PYTHON_BYTES = 8 * MIB
"""So many bytes of new Python objects without room are growth, not a passing need."""
LEAST_ZERO_BYTES, ZERO_SHARE = 64 * MIB, 0.25
"""So much of what NumPy was given as zeroes, being filled, is an array that should have been refused."""
FULL_SHARE, RELIEF_SHARE = 0.5, 0.3
"""An airbag this full calls for the exception; below the lower share it may do so again."""
ASK_S = 0.02
SHORT_CALM_S, CALM_S = 0.2, 2.0
"""After an exception the program has this long to unwind and to free, before the next."""
TRIM_S = 0.3
LONGEST_LOOK_S = 0.02
STOP_S = 5.0


class Step(Enum):
    """What is to be done now."""

    READY = "ready"
    SQUEEZE = "squeeze"
    RELEASE = "release"
    WARN = "warn"
    RAISE = "raise"
    TRIM = "trim"
    STOP = "stop"


@dataclass(frozen=True, slots=True)
class View:
    """What the guard sees at one moment."""

    at_s: float
    used_bytes: int
    limit_bytes: int
    cpu_s: float = 0.0
    """Processor time of the program so far."""
    net_bytes: int = 0
    """Large blocks given out less those freed, by the system's allocator."""
    airbag_bytes: int = 0
    bound_bytes: int = 0
    """The most that the airbag may hold; 0 where there is none."""
    python_bytes: int = 0
    """Served so far by the airbag to the interpreter itself."""
    refused_count: int = 0
    raised_count: int = 0
    held_bytes: int | None = None
    """Resident memory of the program and its descendants; None where it is not known."""
    rival_bytes: int | None = None
    """The largest process of others under the same limit; None where nobody looked, since there is room."""
    largest_bytes: int | None = None
    """The largest process of the program's own."""
    zero_bytes: int = 0
    """Zeroes of NumPy on the airbag that have been touched: what nobody was sure to need, and does."""
    untouched_bytes: int = 0
    """What processes that have ended had been given and never touched, so far."""

    @property
    def room_bytes(self) -> int:
        """What the limit leaves beyond the use and the reserve; below zero the reserve is being used."""
        return self.limit_bytes - self.used_bytes - reserve_bytes(self.limit_bytes)


@dataclass(frozen=True, slots=True)
class State:
    """What the guard remembers between two moments."""

    view: View | None = None
    promised_bytes: int = 0
    touched_cpu_s: float = 0.0
    """Processor time when use last grew: until then, promised memory was being touched."""
    squeezed: bool = False
    warned: bool = False
    ready_at_s: float | None = None
    """When the program was last told to get ready; None while memory is not short."""
    python_bytes: int = 0
    """The interpreter's airbag bytes when the present shortage began."""
    squeeze_airbag_bytes: int = 0
    """What lay on the airbag then: what is taken and given back again is not growth."""
    short_looks: int = 0
    short_held_bytes: int = 0
    """What the program held when the present shortage began."""
    asked_at_s: float = float("-inf")
    asking_since_s: float | None = None
    raised_at_s: float = float("-inf")
    relieved: bool = True
    """Whether the shortage that the last exception was about is over."""
    trim_at_s: float | None = None
    pressed_at_s: float | None = None
    """When the program was first asked, and since when it has not become smaller."""
    pressed_bytes: int = 0
    """The most that it has held since, on the airbag, too."""
    stopped: bool = False


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do, what to remember, and the budget for large blocks."""

    state: State
    left_bytes: int
    steps: tuple[Step, ...]
    longest_look_s: float | None
    """The next look must come within this; None where the distance from the limit decides."""


def reserve_bytes(limit_bytes: int) -> int:
    """What is kept free of a limit."""
    wished = max(LEAST_RESERVE_BYTES, RESERVE_SHARE * limit_bytes)
    return int(min(MOST_RESERVE_BYTES, MOST_RESERVE_SHARE * limit_bytes, wished))


def cushion_bytes(limit_bytes: int) -> int:
    """What large blocks of native code leave besides: the code itself has to stay in memory, and is page cache to all."""
    return reserve_bytes(limit_bytes) * 3 // 4


def is_innocent(view: View) -> bool:
    """Whether the kernel would take another: it takes the largest process under the limit."""
    return view.rival_bytes is not None and view.largest_bytes is not None and view.largest_bytes < view.rival_bytes


def decide(state: State, view: View, stop: bool = False) -> Decision:
    """One look: from what was and what is to what is to be done."""
    before = state.view
    state = _follow_promise(state, view)
    if is_innocent(view):
        return _leave_alone(state, view)
    state, ready_steps = _get_ready(state, view)
    state, squeeze_steps = _squeeze(state, view)
    state, warn_steps = _warn(state, view)
    state, raise_steps = _raise(state, view)
    state, trim_steps = _trim(state, view)
    state, stop_steps = _stop(state, view, stop)
    steps = (*ready_steps, *squeeze_steps, *warn_steps, *raise_steps, *trim_steps, *stop_steps)
    moved = before is not None and view.airbag_bytes != before.airbag_bytes
    near = state.squeezed or moved or state.trim_at_s is not None
    return Decision(
        replace(state, view=view), view.room_bytes - state.promised_bytes, steps, LONGEST_LOOK_S if near else None
    )


def _leave_alone(state: State, view: View) -> Decision:
    """A program that is not the largest is refused only what would make it so."""
    steps = (Step.RELEASE,) if state.squeezed else ()
    left = max(view.room_bytes - state.promised_bytes, (view.rival_bytes or 0) - (view.largest_bytes or 0))
    calm = replace(state, view=view, squeezed=False, short_looks=0, asking_since_s=None)
    return Decision(calm, left, steps, None)


def _follow_promise(state: State, view: View) -> State:
    """Memory that was given out and not yet touched: it grows by what is given out, and shrinks by what use grows. What is
    freed was touched as far as use falls with it; use that falls by itself (a process that ends) promises nothing."""
    before = state.view
    if before is None:
        return replace(state, touched_cpu_s=view.cpu_s)
    ended = view.untouched_bytes - before.untouched_bytes
    if before.limit_bytes != view.limit_bytes:  # use is counted otherwise now
        return replace(state, touched_cpu_s=view.cpu_s, promised_bytes=max(0, state.promised_bytes - ended))
    given, grown = view.net_bytes - before.net_bytes, view.used_bytes - before.used_bytes
    freed_untouched = max(0, -given - max(0, -grown))
    promised = max(0, state.promised_bytes + max(0, given) - freed_untouched - ended - max(0, grown))
    touched_cpu_s = view.cpu_s if grown >= STILL_BYTES or given > 0 else state.touched_cpu_s
    if view.cpu_s - touched_cpu_s >= (SPARSE_SLOW_CPU_S if view.airbag_bytes else SPARSE_CPU_S):
        promised = 0
    return replace(state, promised_bytes=promised, touched_cpu_s=touched_cpu_s)


def _get_ready(state: State, view: View) -> tuple[State, tuple[Step, ...]]:
    """Once memory runs short, our module inside loads what it may need: later there may be no memory to load it into."""
    share = view.used_bytes / max(1, view.limit_bytes)
    if share < READY_SHARE:
        return replace(state, ready_at_s=None), ()
    if state.ready_at_s is not None and view.at_s - state.ready_at_s < READY_AGAIN_S:
        return state, ()
    return replace(state, ready_at_s=view.at_s), (Step.READY,)


def _squeeze(state: State, view: View) -> tuple[State, tuple[Step, ...]]:
    """Small blocks cannot be counted beforehand, so they go to the airbag while half a reserve more is left."""
    reserve = reserve_bytes(view.limit_bytes)
    short = view.room_bytes < 0
    begun_bytes = state.short_held_bytes if short and state.short_looks else view.held_bytes or 0
    state = replace(state, short_looks=state.short_looks + 1 if short else 0, short_held_bytes=begun_bytes)
    free_bytes = view.limit_bytes - view.used_bytes
    if not state.squeezed and free_bytes < min(1.5 * reserve, SQUEEZE_SHARE * view.limit_bytes):
        state = replace(state, python_bytes=view.python_bytes, squeeze_airbag_bytes=view.airbag_bytes)
        return replace(state, squeezed=True), (Step.SQUEEZE,)
    if state.squeezed and free_bytes > min(2 * reserve, RELEASE_SHARE * view.limit_bytes):
        return replace(state, squeezed=False), (Step.RELEASE,)
    return state, ()


def _warn(state: State, view: View) -> tuple[State, tuple[Step, ...]]:
    """Once, when the first bytes are on the airbag."""
    if state.warned or (view.airbag_bytes < MIB and view.zero_bytes < LEAST_ZERO_BYTES):
        return state, ()
    return replace(state, warned=True), (Step.WARN,)


def wants_exception(state: State, view: View) -> bool:
    """Whether the program must be told, rather than helped."""
    if view.bound_bytes == 0:
        return state.short_looks >= 2 and (view.held_bytes or 0) >= state.short_held_bytes + GROWN_BYTES
    if view.airbag_bytes + view.zero_bytes >= FULL_SHARE * view.bound_bytes:
        return True
    if view.zero_bytes >= max(LEAST_ZERO_BYTES, ZERO_SHARE * view.limit_bytes, view.room_bytes):
        return True
    served, stayed = view.python_bytes - state.python_bytes, view.airbag_bytes - state.squeeze_airbag_bytes
    return state.squeezed and min(served, stayed) >= PYTHON_BYTES


def _raise(state: State, view: View) -> tuple[State, tuple[Step, ...]]:
    before = state.view
    told = before is not None and view.raised_count + view.refused_count > before.raised_count + before.refused_count
    if told:
        state = replace(
            state, raised_at_s=view.at_s, relieved=False, asking_since_s=None, trim_at_s=view.at_s + TRIM_S,
            python_bytes=view.python_bytes, squeeze_airbag_bytes=view.airbag_bytes,
        )  # fmt: skip
    on_disk = view.airbag_bytes + view.zero_bytes
    if not state.relieved and not state.squeezed and on_disk < RELIEF_SHARE * max(1, view.bound_bytes):
        state = replace(state, relieved=True)
    calm = view.at_s - state.raised_at_s < (CALM_S if not state.relieved else SHORT_CALM_S)
    if calm or not wants_exception(state, view):
        return replace(state, asking_since_s=None), ()
    if view.at_s - state.asked_at_s < ASK_S:
        return state, ()
    since_s = state.asking_since_s if state.asking_since_s is not None else view.at_s
    return replace(state, asked_at_s=view.at_s, asking_since_s=since_s), (Step.RAISE,)


def _trim(state: State, view: View) -> tuple[State, tuple[Step, ...]]:
    """Some time after a refusal or an exception, what the failed frames held is given back to the system."""
    if state.view is not None and view.refused_count > state.view.refused_count:
        return replace(state, trim_at_s=view.at_s + TRIM_S), ()
    if state.trim_at_s is not None and view.at_s >= state.trim_at_s:
        return replace(state, trim_at_s=None), (Step.TRIM,)
    return state, ()


def _press(state: State, view: View) -> State:
    """From the first request on, until the program is smaller by a reserve or the shortage is over. Exceptions that it takes
    and goes on from as before change nothing."""
    held_bytes = (view.held_bytes or 0) + view.airbag_bytes + view.zero_bytes
    smaller = held_bytes <= state.pressed_bytes - reserve_bytes(view.limit_bytes)
    if smaller or (state.asking_since_s is None and state.relieved):
        state = replace(state, pressed_at_s=None)
    if state.pressed_at_s is not None:
        return replace(state, pressed_bytes=max(held_bytes, state.pressed_bytes))
    if state.asking_since_s is None:
        return state
    return replace(state, pressed_at_s=view.at_s, pressed_bytes=held_bytes)


def _stop(state: State, view: View, wanted: bool) -> tuple[State, tuple[Step, ...]]:
    """Only where the user asked for it: a program that is being asked, and has not become smaller for five seconds."""
    state = _press(state, view)
    since_s = state.pressed_at_s
    if not wanted or state.stopped or state.asking_since_s is None or since_s is None or view.at_s - since_s < STOP_S:
        return state, ()
    return replace(state, stopped=True), (Step.STOP,)
