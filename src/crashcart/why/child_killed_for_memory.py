"""W112 child-killed-for-memory."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.evidence import ChildEnd, Ending, ErrorRecord, KernelLog, Machine, Program, Sample, StackDump
from crashcart.finding import Cause, Confidence, Finding
from crashcart.rule import Rank, rule
from crashcart.units import size
from crashcart.why import _thrift
from crashcart.why._kill import Kill, kills, limit_words, own_kill
from crashcart.why._place import last_place
from crashcart.why._words import failed_by_itself, who


@rule("W112", "child-killed-for-memory", Rank.ROOT)
def child_killed_for_memory(
    ending: Ending,
    program: Program,
    kernel_log: KernelLog,
    children: tuple[ChildEnd, ...],
    machine: Machine | None = None,
    samples: tuple[Sample, ...] | None = None,
    stacks: tuple[StackDump, ...] | None = None,
    errors: tuple[ErrorRecord, ...] | None = None,
) -> Iterator[Finding]:
    """A process that the program had started was killed for lack of memory, while the program itself lived on.

    ## What it means

    A worker of a pool, a data loader or a subprocess died; the parent got a broken pool, a missing result, or waits for
    an answer that will not come.

    ## How we know

    The kernel log names a pid that was seen below the program, with "out of memory"; the program's own end was another.

    ## What to do

    Use fewer workers or smaller work items: each worker holds its own copy. Or raise the limit.
    """
    own = own_kill(ending, program, kernel_log, children)
    known = {child.pid: child for child in children}
    hooked = {dump.pid for dump in stacks or ()}
    dead = [
        kill
        for kill in kills(kernel_log)
        if kill != own and kill.pid != program.pid and kill.pid in known.keys() | hooked
    ]
    if not dead or own is not None:
        return
    kill = dead[0]
    where = last_place(tuple(dump for dump in stacks or () if dump.pid == kill.pid), kill.pid, None) if stacks else None
    kind = "container" if kill.by_group else "machine"
    limit = machine.limit(kind) if machine is not None else None
    yield Finding(
        Cause.CONTAINER_MEMORY if kill.by_group else Cause.HOST_MEMORY,
        f"a child of {who(program)} (pid {kill.pid}, {kill.name}) was killed: "
        f"{'its container' if kill.by_group else 'the machine'} ran out of memory",
        (_named(kill), _lived_on(program, ending), *filter(None, (limit_words(machine, kind),))),
        (
            "use fewer worker processes, or give each less to do at a time",
            *_thrift.for_line(where),
            *_thrift.for_limit(kill.anon_bytes, limit.bytes if limit else None, kind),
        ),
        Confidence.POSSIBLE if failed_by_itself(errors) else Confidence.CERTAIN,
        where,
    )


def _named(kill: Kill) -> str:
    rss = f", anon-rss {size(kill.anon_bytes)}" if kill.anon_bytes is not None else ""
    return f'the kernel log names pid {kill.pid}: "{"Memory cgroup out" if kill.by_group else "Out"} of memory"{rss}'


def _lived_on(program: Program, ending: Ending) -> str:
    how = f"by {ending.signal_name}" if ending.signal else f"with exit code {ending.exit_code}"
    return f"{program.name} itself (pid {program.pid}) lived on and ended {how}"
