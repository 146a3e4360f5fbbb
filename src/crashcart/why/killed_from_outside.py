"""W503 killed-from-outside."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator

from crashcart.evidence import ChildEnd, Crash, Ending, KernelLog, Machine, Program, Sample, StackDump
from crashcart.finding import Cause, Confidence, Finding
from crashcart.rule import Rank, rule
from crashcart.units import duration, size
from crashcart.why._crash import sent_from_outside
from crashcart.why._kill import FULL_FRACTION
from crashcart.why._oom import Scene
from crashcart.why._place import last_place
from crashcart.why._statement import quote_line
from crashcart.why._words import signal_of, who
from crashcart.why.limit_signal import cpu_limit_reached

_FROM_OTHERS = frozenset({signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2,
                          signal.SIGALRM, signal.SIGPIPE})  # fmt: skip
_TIME = re.compile(r"time ?limit|timeout|wall ?(?:clock ?)?time|runlimit", re.IGNORECASE)
_MORE_TIME = (
    "raise the time limit (`sbatch --time=…`, gunicorn's --timeout, the pipeline's or service's own), or do less in one go: load"
    " the model once at the start, and go on from a checkpoint"
)


@rule("W503", "killed-from-outside", Rank.MECHANISM)
def killed_from_outside(
    ending: Ending,
    program: Program | None = None,
    machine: Machine | None = None,
    kernel_log: KernelLog | None = None,
    samples: tuple[Sample, ...] | None = None,
    stacks: tuple[StackDump, ...] | None = None,
    crash: Crash | None = None,
    children: tuple[ChildEnd, ...] | None = None,
) -> Iterator[Finding]:
    """Somebody or something else ended the program, and not for memory.

    ## What it means

    A scheduler's time limit, a service manager, `timeout`, `kill` by a person or a script, a closed terminal.

    ## How we know

    It ended by a signal that programs do not send themselves (SIGKILL, SIGTERM, SIGHUP…), and neither the kernel log nor
    the counts of memory kills speak of memory. Where those could not be read, a SIGKILL is called so only if memory was
    far from every limit. Certain where the sender was seen; a program can also send such a signal to itself.

    ## What to do

    Ask who sends it: the job's time limit, the service's log, other scripts. Let the program save its state on SIGTERM.
    """
    if ending.exit_code == 124 and program is not None and any(each.endswith("timeout") for each in program.argv[:4]):
        yield _timed_out(program, stacks, ending)
        return
    number = signal_of(ending) or 0
    if not sent_from_outside(crash) and (number not in _FROM_OTHERS or (crash is not None and number == crash.signal)):
        return
    scene = Scene(ending, program, machine, kernel_log, samples, stacks, None, children)
    if number == signal.SIGKILL and (
        scene.shown() is not None or cpu_limit_reached(machine, samples) or not _excluded(scene)
    ):
        return
    certain = ending.said is None and (ending.sent_by is not None or sent_from_outside(crash))
    yield Finding(
        Cause.KILLED_FROM_OUTSIDE,
        f"{who(program)} was ended from outside ({signal.Signals(number).name}), not for memory",
        (*_signal_facts(ending, number, crash), *_not_memory(scene, number)),
        (
            *([_MORE_TIME] if ending.said is not None and _TIME.search(ending.said.text) else []),
            "look for who sends it: a job's time limit, `timeout`, a service manager, another script or person",
            "save checkpoints, and handle SIGTERM to save once more before the end",
        ),
        Confidence.CERTAIN if certain else Confidence.LIKELY,
        last_place(stacks, program.pid if program is not None else None, ending),
    )


def _signal_facts(ending: Ending, number: int, crash: Crash | None) -> list[str]:
    after = f" after {duration(ending.at_s)}" if ending.at_s is not None else ""
    facts = [quote_line(ending.said)] if ending.said is not None else []
    facts.append(f"it ended by {signal.Signals(number).name}{after}")
    if ending.sent_by:
        facts.append(f"the signal came from {ending.sent_by}")
    elif crash is not None and sent_from_outside(crash):
        facts.append(f"the signal was sent by pid {crash.sender}, not caused by the program itself")
    return facts


def _timed_out(program: Program, stacks: tuple[StackDump, ...] | None, ending: Ending) -> Finding:
    return Finding(
        Cause.KILLED_FROM_OUTSIDE,
        f"{program.name} ended the program: its time was up",
        ("the command is `timeout`, and it ended with 124, its code for a time limit that was reached",),
        ("give it more time, or save checkpoints, so that a later run can go on",),
        Confidence.CERTAIN,
        last_place(stacks, None, ending),
    )


def _excluded(scene: Scene) -> bool:
    """Whether memory is out of the question as the reason for a SIGKILL."""
    ending = scene.ending
    if scene.kernel_log is not None:
        return True
    if ending.oom_kills_group == 0 and ending.oom_kills_host in (0, None):
        return True
    if ending.oom_kills_group is None and ending.oom_kills_host == 0:
        return True
    share = _share(scene.samples)
    return not ending.oom_kills_group and not ending.oom_kills_host and share is not None and share < FULL_FRACTION


def _share(samples: tuple[Sample, ...] | None) -> float | None:
    last = samples[-1] if samples else None
    if last is None or last.used_bytes is None or not last.limit_bytes:
        return None
    return last.used_bytes / last.limit_bytes


def _not_memory(scene: Scene, number: int) -> list[str]:
    if number != signal.SIGKILL:
        return []
    facts = []
    if scene.kernel_log is not None:
        facts.append("the kernel log has no memory kill of this process")
    if scene.ending.oom_kills_group == 0:
        facts.append("its group's count of memory kills did not rise")
    last = scene.samples[-1] if scene.samples else None
    if last is not None and last.used_bytes is not None and last.limit_bytes is not None:
        facts.append(f"{size(last.used_bytes)} of {size(last.limit_bytes)} were in use")
    return facts
