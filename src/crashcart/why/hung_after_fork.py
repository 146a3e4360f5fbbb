"""W213 hung-after-fork."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.evidence import Ending, ErrorRecord, Event, Program, Sample, Stack, StackDump, place
from crashcart.finding import Cause, Confidence, Finding
from crashcart.rule import Rank, rule
from crashcart.units import duration
from crashcart.why._words import who
from crashcart.why.no_progress import LEAST_QUIET_S, quiet_s, was_stopped

_THREADED = frozenset({"tensorflow", "torch", "jax"})


@rule("W213", "hung-after-fork", Rank.ROOT)
def hung_after_fork(
    ending: Ending,
    samples: tuple[Sample, ...],
    stacks: tuple[StackDump, ...],
    events: tuple[Event, ...],
    program: Program | None = None,
    errors: tuple[ErrorRecord, ...] | None = None,
) -> Iterator[Finding]:
    """A child that was forked after TensorFlow, PyTorch or JAX had started threads hangs.

    ## What it means

    fork() copies the memory but only one thread. Locks that the other threads held stay locked for ever in the child, and
    the framework's thread pools are not there: its first operation waits for threads that do not exist.

    ## How we know

    The hook saw the fork with the framework already loaded; nobody used the processor for many seconds; the child's last
    stack is inside the framework.

    ## What to do

    Start processes with `multiprocessing.get_context("spawn")`, or fork before the framework is imported.
    """
    idle_s = quiet_s(samples)
    if not was_stopped(ending, errors) or idle_s < LEAST_QUIET_S:
        return
    for event in events:
        frameworks = _frameworks(event)
        stack = _last_stack(stacks, event.pid) if frameworks else None
        if stack is None or not any(f"/{name}/" in frame.file for name in frameworks for frame in stack.frames):
            continue
        name = sorted(frameworks)[0]
        inner = stack.frames[-1]
        yield Finding(
            Cause.FORK_AFTER_THREADS,
            f"{who(program)} hung: a child that was forked after {name} had started waits in it for ever",
            (
                f"pid {event.pid} was {event.text} when {name} was already loaded",
                f"it waits in {inner.function} ({'/'.join(inner.file.split('/')[-2:])}:{inner.line})",
                f"no processor time was used in the last {duration(idle_s)}",
            ),
            (
                'use `multiprocessing.get_context("spawn")` (or "forkserver") instead of fork',
                f"fork before {name} is imported, and import it inside the child",
            ),
            Confidence.LIKELY,
            place(stack.own_frame()),
        )
        return


def _frameworks(event: Event) -> frozenset[str]:
    """The threaded frameworks that were loaded when the process forked; empty for other events."""
    loaded = event.facts.get("modules") if event.kind == "fork" else None
    return _THREADED.intersection(loaded) if isinstance(loaded, (list, tuple)) else frozenset()


def _last_stack(stacks: tuple[StackDump, ...], pid: int | None) -> Stack | None:
    dumps = [dump for dump in stacks if dump.pid == pid]
    return (dumps[-1].main_stack() or dumps[-1].current_stack()) if dumps else None
