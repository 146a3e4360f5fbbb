"""W115 killed-with-no-reason-given."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.evidence import Ending, KernelLog, Log
from crashcart.finding import Cause, Confidence, Finding
from crashcart.rule import Rank, rule
from crashcart.why._kill import was_killed
from crashcart.why._statement import quote_line
from crashcart.why._told import surroundings

_TELLS = (
    "`dmesg -T | grep -i kill` on that machine tells which: \"Memory cgroup out of memory\" is the container's or job's"
    ' limit, "Out of memory" the machine\'s RAM; neither line: somebody sent the signal'
)
_LESS = (
    "use less RAM until then: a smaller batch, fewer workers, the data in parts (tf.data from files, a generator)"
    " instead of at once, float32"
)
_RAISE = (
    "raise the limit: `docker run --memory=…`, resources.limits.memory, `--mem` of the job (Docker Desktop: Settings →"
    " Resources)"
)


@rule("W115", "killed-with-no-reason-given", Rank.MECHANISM)
def killed_with_no_reason_given(log: Log, ending: Ending, kernel_log: KernelLog | None = None) -> Iterator[Finding]:
    """A log says that the program was killed (SIGKILL), and nothing in it says for what.

    ## What it means

    "Killed", exit code 137 or -9: the program had no chance to say anything. Nearly always the kernel ended it for lack
    of memory, of the whole machine or of the container or job. A person, a scheduler or a service can send the same
    signal.

    ## How we know

    The shell, the container or the launcher says so, and no line of the kernel or of a scheduler names the reason. Which
    memory it was cannot be known from such a text; where it speaks of a container or a job, their limit comes first. The
    graphics card has no part in it: a full GPU is an exception, never a kill.

    ## What to do

    Look into the kernel log, which has the answer; until then use less RAM, or run the program under `crashcart run`.
    """
    if ending.said is None or not was_killed(ending) or kernel_log is not None:
        return
    about = surroundings(log)
    fact = quote_line(ending.said)
    inside = "container" in about
    worker = (
        "a worker process was killed, not the program itself: each worker holds its own copy of the data (`num_workers`)",
    )
    first, second = (
        (Cause.CONTAINER_MEMORY, Cause.HOST_MEMORY) if inside else (Cause.HOST_MEMORY, Cause.CONTAINER_MEMORY)
    )
    yield Finding(
        first,
        f"it was killed (SIGKILL): {_whose(first)} ran out of memory, as far as a kill without a word can be explained",
        (
            fact,
            *(worker if "worker" in about else ()),
            "no exception came before it, and only the kernel or a person sends SIGKILL",
        ),
        (_TELLS, *((_RAISE,) if inside else ()), _LESS),
        Confidence.LIKELY,
    )
    yield Finding(
        second,
        f"{_whose(second)} may have run out of memory instead",
        (fact, "the text does not tell the two apart"),
        (_TELLS, _RAISE if not inside else _LESS),
        Confidence.POSSIBLE,
    )


def _whose(cause: Cause) -> str:
    return "the container or job" if cause is Cause.CONTAINER_MEMORY else "the machine"
