"""The verdict on a kill for memory, which differs only by whose memory ran out.

Covers: the facts, the place, the holders and the advice for a kill by a group's limit or by the whole machine.
Does not cover: why the program needed so much (leaks and buffers have their own rules). No rule is declared here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from crashcart.evidence import ChildEnd, Ending, HolderNote, KernelLog, Machine, Program, Sample, StackDump
from crashcart.finding import Cause, Confidence, Finding
from crashcart.units import size
from crashcart.why import _thrift
from crashcart.why._kill import FULL_FRACTION, Kill, course, fullness, limit_words, own_kill, was_killed
from crashcart.why._place import growth_words, held_words, last_place
from crashcart.why._words import who


@dataclass(frozen=True, slots=True)
class Scene:
    """The sections that tell of a death by memory."""

    ending: Ending
    program: Program | None = None
    machine: Machine | None = None
    kernel_log: KernelLog | None = None
    samples: tuple[Sample, ...] | None = None
    stacks: tuple[StackDump, ...] | None = None
    holders: tuple[HolderNote, ...] | None = None
    children: tuple[ChildEnd, ...] | None = None

    def kill(self) -> Kill | None:
        """The logged kill of the program itself."""
        return own_kill(self.ending, self.program, self.kernel_log, self.children)

    def pid(self) -> int | None:
        """The process that died of it."""
        kill = self.kill()
        if kill is not None:
            return kill.pid
        return self.program.pid if self.program is not None else None

    def counted_kill(self, kind: str) -> tuple[int, float] | None:
        """Without a kernel log: by how much the count of kills rose, and how full the bound was, if both speak for it."""
        limit = self.machine.limit(kind) if self.machine is not None else None
        full = fullness(self.samples, limit)
        rise = self.ending.oom_kills_group if kind == "container" else self.ending.oom_kills_host
        never_hit = kind == "container" and self.ending.limit_hits_group == 0
        if self.kernel_log is not None or not rise or never_hit or full is None or full < FULL_FRACTION:
            return None
        return rise, full

    def evidence_of(self, kind: str) -> tuple[Confidence, str] | None:
        """The fact that shows a kill by this bound, and how strong it is; None where the bound did not kill."""
        if not was_killed(self.ending):
            return None
        kill = self.kill()
        if kill is not None:
            if kill.by_group != (kind == "container"):
                return None
            if self.ending.said is not None:
                return Confidence.LIKELY, kill.line
            rss = f", anon-rss {size(kill.anon_bytes)}" if kill.anon_bytes is not None else ""
            words = "Memory cgroup out of memory" if kill.by_group else "Out of memory"
            return Confidence.CERTAIN, f'the kernel log names pid {kill.pid}: "{words}"{rss}'
        counted = self.counted_kill(kind)
        if counted is None:
            return None
        rise, full = counted
        whose = "the group's" if kind == "container" else "the machine's"
        fact = f"{whose} count of memory kills rose by {rise} during the run, and {full:.0%} of the limit was in use"
        return Confidence.LIKELY, fact

    def shown(self) -> tuple[str, Confidence, str] | None:
        """Which bound killed the program, with its evidence."""
        for kind in ("container", "machine"):
            evidence = self.evidence_of(kind)
            if evidence is not None:
                return kind, *evidence
        return None

    def story(self, kind: str) -> list[str]:
        """The limit, how memory went up to it, and what came while the last line ran."""
        parts = [words for words in (limit_words(self.machine, kind), course(self.samples)) if words]
        return ["; ".join(parts)] * bool(parts) + list(growth_words(self.stacks, self.pid(), self.samples))


def oom_findings(scene: Scene, kind: str) -> Iterator[Finding]:
    """The finding that the container's limit or the machine's memory killed the program, where the evidence shows it."""
    evidence = scene.evidence_of(kind)
    if evidence is None:
        return
    confidence, fact = evidence
    where = last_place(scene.stacks, scene.pid(), scene.ending)
    limit = scene.machine.limit(kind) if scene.machine is not None else None
    of_machine = ("close what else uses memory (`ps aux --sort=-rss | head`), or add swap: slow instead of dead",)
    remedy = (
        *_thrift.for_line(where),
        *(of_machine if kind == "machine" else ()),
        *_thrift.for_limit(scene.ending.peak_rss_bytes, limit.bytes if limit else None, kind),
    )
    yield Finding(
        Cause.CONTAINER_MEMORY if kind == "container" else Cause.HOST_MEMORY,
        f"{who(scene.program)} was killed: {'its container' if kind == 'container' else 'the machine'} ran out of memory",
        (fact, *scene.story(kind)),
        remedy or ("use less memory at the line that was running, or raise the limit",),
        confidence,
        where,
        held_words(scene.holders, scene.ending),
    )
