"""The light parent: samples the program, takes its last words when memory runs short, and sees how it ends.

Covers: the loop from the start of the program to its end.
Does not cover: starting it (`spawn.py`), the folder on disk (`blackbox`), or what its end means (`why/`). Nothing here
may harm the program: whatever fails is noted, and the wait goes on.
"""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from crashcart.blackbox.recording import Recorder
from crashcart.record import pace, relay
from crashcart.record.ask import Respondent
from crashcart.record.attend import Attendant
from crashcart.record.cell_news import CellNews
from crashcart.record.gauge import Gauge
from crashcart.record.progress import Progress
from crashcart.sample import Sample
from crashcart.units import size

MOST_READ = 9
MOST_SAME = 50
"""A stack that stays the same is written in full again after this many times: the ring overwrites the first."""
STACK_SHARE = 25
"""Reading stacks may take a 25th of a core, and that only while memory runs short."""
RETRY_S = 0.1
WANTED_S = 5.0
"""Holders that an attendant asked for are tried for so long, where the program may not be disturbed."""
LISTING_S = 0.1
PROGRESS_S = 2.0
SPAN_S = 0.4
"""Growth is measured over about this long."""


@dataclass(frozen=True, slots=True)
class Ended:
    """The program's end as the kernel told its parent."""

    status: int
    peak_rss_bytes: int
    passed: relay.Passed | None
    """The last signal that came through us before the end."""

    @property
    def exit_code(self) -> int:
        """What a shell would report: the exit code, or 128 and the signal."""
        code = os.waitstatus_to_exitcode(self.status)
        return code if code >= 0 else 128 - code


class Watch:
    """One program being watched."""

    def __init__(self, pid: int, recorder: Recorder | None, gauge: Gauge, started_s: float) -> None:
        self.pid = pid
        self.recorder = recorder
        self.gauge = gauge
        self.started_s = started_s
        self.passed: relay.Passed | None = None
        self.failure: str | None = None
        """Why the recording stopped early."""
        self._respondents: dict[int, Respondent] = {}
        self._progress = Progress(recorder.folder / "output") if recorder is not None else None
        self._cells = CellNews(recorder.folder) if recorder is not None else None
        self._recent: list[Sample] = []
        self._beat_s = pace.FIRST_BEAT_S
        self._next_beat_s = pace.FIRST_BEAT_S
        self._words_at_s = self._holders_at_s = self._holders_tried_s = float("-inf")
        self._holders_wanted_until_s = float("-inf")
        self._words_bytes = self._holders_bytes = 0
        self._last_stack: dict[int, tuple[list[dict[str, Any]], int]] = {}
        self._stack_cost_s = 0.0
        self._listed_at_s = float("-inf")
        self._next_progress_s = 0.5
        self._hooked: set[int] = set()
        self._active_s = 0.0
        self._active_cpu_s = 0.0
        self._quiet_told = False
        self._short_told = False
        self.attendant: Attendant | None = None
        self.when_settled: Callable[[], object] | None = None
        """Called once the program has had time to start: what can wait is not to slow that down."""
        self.parent: int | None = None
        """Jupyter, where that started us: it signals our whole group, and without it the program is to end."""

    def now_s(self) -> float:
        """Seconds since the program started."""
        return time.monotonic() - self.started_s

    def until_end(self) -> Ended:
        """Watch until the program ends."""
        while True:
            ended = self._reap()
            if ended is not None:
                return ended
            timeout_s = self._look() if self.recorder is not None and self.failure is None else pace.LONGEST_S
            if self.parent is not None and os.getppid() != self.parent:
                self._end_orphan()
            passed = relay.wait(self.pid, timeout_s, self.parent)
            if passed is not None:
                self.passed = passed
                self._note("signal", f"{signal_name(passed.number)} from {passed.sender}")

    def _end_orphan(self) -> None:
        """Whoever started us is gone: the program and its descendants end, as they would without us."""
        self._note("orphaned", f"pid {self.parent}, which had started this, is gone")
        self.parent = None
        for pid in (self.pid, *self.gauge.descendants):
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)

    def until_gone(self) -> None:
        """Watch a process that is not ours, until it is gone; how it ended is for its own parent to know."""
        handle = os.pidfd_open(self.pid)
        try:
            gone = select.poll()
            gone.register(handle, select.POLLIN)
            while not gone.poll(1000 * (self._look() if self.failure is None else pace.LONGEST_S)):
                continue
        finally:
            os.close(handle)

    def _reap(self) -> Ended | None:
        try:
            pid, status, usage = os.wait4(self.pid, os.WNOHANG | os.WUNTRACED)
        except ChildProcessError:  # somebody else took the status; all that is known is that it has ended
            return Ended(255 << 8, 0, self.passed)
        if pid == 0:
            return None
        if os.WIFSTOPPED(status):
            if _at_terminal():
                relay.stop_with(self.pid)
            return None
        return Ended(status, usage.ru_maxrss * 1024, relay.last_pending() or self.passed)

    def _look(self) -> float:
        """Take a sample, ask for what is due, and say how long to wait until the next. A failure stops the recording."""
        try:
            return self._look_once()
        except Exception as error:  # whatever it is, the program goes on, and so does the wait for its end
            self.failure = f"{type(error).__name__}: {error}"
            self.dismiss(self.failure)
            return pace.LONGEST_S

    def _look_once(self) -> float:
        at_s = self.now_s()
        pressure = _pressure(self._recent)
        sample = self.gauge.read(at_s, near=pressure is not None and pace.is_short(pressure))
        if sample is None:
            return pace.SHORTEST_S
        assert self.recorder is not None
        self.recorder.sample(sample)
        self._recent = [each for each in self._recent if at_s - each.at_s <= SPAN_S] + [sample]
        self._note_gone(at_s)
        self._settle(at_s)
        self._find_respondents(at_s)
        self._follow_progress(at_s)
        self._follow_cells(at_s)
        self._take_words(at_s, sample)
        self._ask_for_holders(at_s, sample)
        self._watch_for_quiet(at_s)
        headroom = (
            None if sample.limit_bytes is None or sample.used_bytes is None else sample.limit_bytes - sample.used_bytes
        )
        wanted_s = self._attend(sample)
        return min(pace.interval_s(headroom), wanted_s if wanted_s is not None else pace.LONGEST_S)

    def _attend(self, sample: Sample) -> float | None:
        """Show the sample to whoever acts on it; one that fails is let go, and the recording says so."""
        if self.attendant is None:
            return None
        try:
            wanted_s = self.attendant.look(sample, self.gauge.resident())
            self.gauge.ceiling_bytes = self.attendant.ceiling_bytes
            wants_words, self.attendant.wants_words = self.attendant.wants_words, False
        except Exception as error:
            self.dismiss(f"{type(error).__name__}: {error}")
            return None
        if wants_words:
            self._take_wanted_words(sample)
        return wanted_s

    def _take_wanted_words(self, sample: Sample) -> None:
        """What the attendant asked for: the stacks at once, the holders as soon as the program may be disturbed."""
        for respondent in self._heaviest():
            self._keep_stack(respondent, respondent.all_stacks(), sample.at_s, "gpu")
        self._holders_wanted_until_s = sample.at_s + WANTED_S
        self._ask_for_holders(sample.at_s, sample)

    def dismiss(self, reason: str | None = None) -> None:
        """Let the attendant go: at the end, or because it failed."""
        attendant, self.attendant = self.attendant, None
        if attendant is None:
            return
        if reason is not None:
            self._note("guard", f"off: {reason}", step="off")
        with suppress(Exception):
            attendant.end()

    def _note_gone(self, at_s: float) -> None:
        for pid, name, rss_bytes in self.gauge.gone:
            if self.recorder is not None and (pid in self._respondents or rss_bytes > 0):
                self.recorder.note("child-end", at_s, pid=pid, name=name, rss_bytes=rss_bytes or None)
            gone = self._respondents.pop(pid, None)
            if gone is not None:
                gone.close()
        self.gauge.gone.clear()

    def _find_respondents(self, at_s: float) -> None:
        """The hook makes a ring file in the recording when it starts in a process."""
        if self.recorder is None or at_s - self._listed_at_s < LISTING_S:
            return
        self._listed_at_s = at_s
        names = os.listdir(self.recorder.folder)
        hooked = {int(name[8:-5]) for name in names if name.startswith("program-") and name.endswith(".json")}
        new = hooked - self._hooked
        if not new <= {self.pid, *self.gauge.descendants}:
            self.gauge.refresh_tree()
        for pid in new & {self.pid, *self.gauge.descendants}:
            self._respondents[pid] = Respondent(pid, self.recorder.folder)
        self._hooked |= new

    def _settle(self, at_s: float) -> None:
        if at_s >= pace.SETTLED_S and self.when_settled is not None:
            settled, self.when_settled = self.when_settled, None
            settled()

    def _follow_progress(self, at_s: float) -> None:
        if at_s >= self._next_progress_s and self._progress is not None:
            self._next_progress_s = at_s + PROGRESS_S
            began = self._progress.news()
            if began is not None:
                self._note("epoch", began)

    def _follow_cells(self, at_s: float) -> None:
        """Another cell is another program: its first stack is taken at once, and soon again."""
        if self._cells is not None and self._cells.come(self._respondents):
            self._beat_s, self._next_beat_s = pace.FIRST_BEAT_S, at_s

    def _take_words(self, at_s: float, sample: Sample) -> None:
        """Stacks: of all threads each time more memory is gone when it runs short, of the main thread at a slow beat."""
        pressure = _pressure(self._recent)
        used_bytes = sample.used_bytes or sample.tree_rss_bytes or 0
        since_s = at_s - self._words_at_s
        affordable = since_s >= STACK_SHARE * self._stack_cost_s
        if pressure and affordable and pace.wants_last_words(pressure, used_bytes - self._words_bytes, since_s):
            self._words_at_s, self._words_bytes = at_s, used_bytes
            self._tell_short(pressure)
            began_s = time.thread_time()
            for respondent in self._heaviest():
                self._keep_stack(respondent, respondent.all_stacks(), at_s, "memory")
            self._stack_cost_s = time.thread_time() - began_s
        elif at_s >= self._next_beat_s:
            self._beat_s = pace.next_beat_s(self._beat_s)
            self._next_beat_s = at_s + self._beat_s
            for respondent in self._heaviest():
                self._keep_stack(respondent, respondent.main_stack(), at_s, "beat")
        self._words_bytes = min(self._words_bytes, used_bytes)

    def _ask_for_holders(self, at_s: float, sample: Sample) -> None:
        """Ask when memory has grown markedly; where nobody may be disturbed just now, again at the next sample."""
        tree_bytes = sample.tree_rss_bytes or 0
        grown_bytes = tree_bytes - self._holders_bytes
        wanted = at_s < self._holders_wanted_until_s
        due = wanted or pace.wants_holders(grown_bytes, at_s - self._holders_at_s, sample.limit_bytes)
        if due and at_s - self._holders_tried_s >= RETRY_S:
            self._holders_tried_s = at_s
            asked = [respondent.ask_holders() for respondent in self._heaviest()]
            if any(asked):
                self._holders_at_s, self._holders_bytes = at_s, tree_bytes
                self._holders_wanted_until_s = float("-inf")
        self._holders_bytes = min(self._holders_bytes, tree_bytes)

    def _heaviest(self) -> list[Respondent]:
        """The program itself, and below it the hooked descendants that hold the most; not more than MOST_READ in all."""
        by_weight = sorted(
            self._respondents.values(),
            key=lambda each: (each.pid != self.pid, -self.gauge.descendants.get(each.pid, ("", 0))[1]),
        )
        return by_weight[:MOST_READ]

    def _keep_stack(
        self, respondent: Respondent, threads: list[dict[str, Any]] | None, at_s: float, reason: str
    ) -> None:
        if threads is None or self.recorder is None:
            return
        known, times = self._last_stack.get(respondent.pid, (None, 0))
        same = known == threads and times < MOST_SAME
        self._last_stack[respondent.pid] = (threads, times + 1 if same else 0)
        self.recorder.stack(respondent.pid, round(at_s, 3), reason, None if same else threads)

    def _watch_for_quiet(self, at_s: float) -> None:
        """A program that stopped using the processor is worth one look at all its threads, in case it never wakes."""
        cpu_s = self.gauge.cpu_s
        if cpu_s - self._active_cpu_s > 0.05:
            self._active_s, self._active_cpu_s, self._quiet_told = at_s, cpu_s, False
        elif at_s - self._active_s >= pace.QUIET_S and not self._quiet_told:
            self._quiet_told = True
            for respondent in self._heaviest():
                self._keep_stack(respondent, respondent.all_stacks(), at_s, "hang")

    def _tell_short(self, pressure: pace.Pressure) -> None:
        if not self._short_told:
            self._short_told = True
            self._note("memory-short", f"{size(pressure.used_bytes)} of {size(pressure.limit_bytes)} in use")

    def _note(self, kind: str, text: str, **facts: Any) -> None:
        if self.recorder is not None:
            self.recorder.note(kind, self.now_s(), text=text, facts=facts)

    def attend(self, attendant: Attendant) -> None:
        """From now on the attendant sees every sample."""
        self.attendant = attendant
        try:
            attendant.begin(self.pid, self._note)
        except Exception as error:
            self.dismiss(f"{type(error).__name__}: {error}")

    def close(self) -> None:
        """Give all descriptors back."""
        for respondent in self._respondents.values():
            respondent.close()
        self.gauge.close()

    def last_look(self) -> None:
        """After the end: note the descendants that ended with it, and let the attendant go."""
        self.dismiss()
        if self.recorder is not None:
            self._note_gone(self.now_s())


def signal_name(number: int) -> str:
    """SIGTERM, or `signal 40` for one without a name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _at_terminal() -> bool:
    """Whether we are the foreground job of a terminal, whose shell waits to be told of a stop."""
    try:
        return os.tcgetpgrp(0) == os.getpgrp()
    except OSError:
        return False


def _pressure(recent: list[Sample]) -> pace.Pressure | None:
    if not recent:
        return None
    first, last = recent[0], recent[-1]
    if last.used_bytes is None or last.limit_bytes is None or first.used_bytes is None:
        return None
    span_s = max(last.at_s - first.at_s, 0.01)
    growth = (last.used_bytes - first.used_bytes) / span_s if len(recent) > 1 else 0.0
    return pace.Pressure(last.used_bytes, last.limit_bytes, growth)
