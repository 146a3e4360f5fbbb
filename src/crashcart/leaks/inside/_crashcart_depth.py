"""Closer looks, within what they may cost: which names hold what, and where what survives was allocated.

Covers: when they are due, how much of the program's time they have taken, and when a window that follows allocations is
opened and closed.
Does not cover: the looks themselves (`_crashcart_kept`, `_crashcart_sites`).
"""

from __future__ import annotations

import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:  # `typing` itself costs 5 ms
    from typing import Any

KEPT_FIRST_S, KEPT_EVERY, KEPT_LONGEST_S = 0.02, 0.1, 60.0
"""Names are looked at again after that share of the time since the first step: that a container was full for the last fifth
of a run is seen at two looks at the least."""
KEPT_BUDGET_S, KEPT_LONGEST_PAUSE_S = 0.03, 3.0
KEPT_SHARE, KEPT_CREDIT_S = 0.006, 0.05
"""What looks at names may take: that share of the program's time, and so much at once."""
PRECISE_SHARE, PRECISE_BUDGET_S = 0.1, 0.3
"""The same with `--precise`: our own looks are followed, too, and take many times as long."""
WINDOWS = 3
WINDOW_ALLOWANCE_S, WINDOW_SHARE = 0.25, 0.015
"""What windows may slow a program by: so many seconds, and that share of its time."""
LONGEST_WINDOW_S = 8.0
STACK_BYTES = 256 << 10
"""Of our thread: the usual 8 MiB would be seen in what the program has reserved."""
WINDOW_FIRST = 12
"""So many steps are needed before anything can be said to rise with them."""
EXPLAINED = 0.5
"""Of the growth, by one name."""
OTHERS_HAVE = 0.8
"""A container of which others have so much explains nothing by itself: a list of samples that a data set holds."""
LEAST_LOOKS, MOST_LOOKS = 4, 12
MUCH_SPENT = 4
"""Times what a window may cost: then it ends, also in the middle of a step."""
LEAST_STEPS = 3
"""In a window, between its two pictures."""
PICTURES_FIRST_S, PICTURES_LATER = 0.5, 0.5
"""With `--precise`: when the first picture is taken, and the next ones after that share of the time that was followed, so that a
program that is killed leaves one that is not old."""
_HERE = os.path.dirname(os.path.abspath(__file__))


class Depth:
    """The closer looks of one watch."""

    def __init__(self, watch: Any, precise: bool) -> None:
        leaks: Any = sys.modules["_crashcart_leaks"]
        self.part = leaks._part
        self.watch = watch
        self.precise = precise
        self.bounded: Any = None
        """What is known of lists with slots, from the first look at names on."""
        self.roots: Any = None
        """The names that looks begin with."""
        self.kept_s = 0.0
        self.kept_cost_s = 0.0
        self.kept_every_s = KEPT_FIRST_S
        self.anew_s = 0.0
        """When the present part of the program began."""
        self.kinds = 0
        """How many kinds of steps were known when names were last looked at anew."""
        self.window = self.part("sites").Window(watch.is_own, precise)
        self.windows = 0
        self.opened_s = 0.0
        self.opened_steps = 0
        self.usual_s = 0.0
        """How long a step took before the window."""
        self.extra_s = 0.0
        self.followed_s = 0.0
        self.next_window_steps = WINDOW_FIRST
        self.paces = self.part("paces").Paces(watch.counts)
        self.index = -1
        """The kind of step that the window goes by, and how many of them there were at the last look."""
        self.moved = 0
        self.grown = 0
        """Bytes, in the window's latest picture."""
        self.tensors_counted = False
        self.tensors_s = 0.0
        """When tensors may be counted again, with `--precise`."""
        self.picture_s = 0.0
        """When the next picture is due, with `--precise`."""
        self.suspected = False
        """Whether memory rose when it was last asked: what rises once more, half as many steps later, is followed."""
        self.history: list[tuple[bool, int, dict[tuple[str, str, str], int], int]] = []
        """Of the last looks at names: whether they came to all, private bytes, sizes by name, how many things are alive."""

    def is_awaited(self) -> bool:
        """Whether a step has come that a window goes by: it is looked at, however soon after the last look."""
        return self.window.is_open and not self.precise and self.paces.count(self.index) != self.moved

    def _is_worth_a_window(self) -> bool:
        return self.windows < WINDOWS and self.steps() >= self.next_window_steps and bool(self.watch.is_rising())

    def go(self, now_s: float) -> None:
        """Whatever is due; before the first step, nothing is."""
        if not self.steps():
            return
        self.paces.note(now_s)
        self._begin_anew(now_s)
        if self.precise and not self.windows:  # from the first step on: to follow imports would take minutes
            self._open(now_s)
        if self.window.is_open:
            self._follow(now_s)
        if now_s >= self.kept_s and (self.precise or not self.window.is_open):
            self.keep(now_s)
        if not self.window.is_open and self._is_worth_a_window():
            if self._is_explained() or not self.suspected:
                self.suspected = True
                self.next_window_steps = self.steps() * 3 // 2
            else:
                self._open(now_s)

    def _begin_anew(self, now_s: float) -> None:
        """Steps of a new kind have come: another part of the program has begun, and names are looked at as often as in the
        beginning."""
        if len(self.watch.counts.keys) != self.kinds:
            self.kinds = len(self.watch.counts.keys)
            self.anew_s = self.anew_s or now_s
            over_s = self.kept_cost_s - KEPT_CREDIT_S - KEPT_SHARE * self.watch.ran_s(now_s)
            if over_s <= 0:
                self.kept_every_s, self.anew_s = KEPT_FIRST_S, now_s
                self.kept_s = min(self.kept_s, now_s + KEPT_FIRST_S)

    def steps(self) -> int:
        """How many there were, of whatever kind there are most of."""
        return max(self.watch.counts.counts, default=0)

    def _is_explained(self) -> bool:
        """Whether names that hold more, or things that were made anew, are known for what has been taken lately: then the
        lines that do so can be found without following anything."""
        if len(self.history) < LEAST_LOOKS:
            return False
        whole, before, sizes, made = self.history[len(self.history) // 2 - 1]
        _, after, sizes_after, made_after = self.history[-1]
        known = (name for name in sizes_after if whole or name in sizes)
        grown = max((sizes_after[name] - sizes.get(name, 0) for name in known), default=0)
        return grown >= EXPLAINED * (after - before) or made_after >= made + LEAST_LOOKS

    def keep(self, now_s: float) -> None:
        """Look at what names hold."""
        began_s = time.thread_time()
        frames = self.part("roots").frames_here(_HERE)
        budget_s = PRECISE_BUDGET_S if self.precise else KEPT_BUDGET_S
        watch = self.watch
        self.bounded = self.bounded or self.part("bounded").Bounded(self.part("sizes"))
        self.roots = self.roots or self.part("roots").Roots(watch.is_own)
        look = self.part("kept").look
        entries, whole = look(self.roots, self.bounded, frames, budget_s, watch.counts.is_theirs)
        del frames
        self.watch.write("leak-kept", entries=entries, whole=whole)
        self._remember(entries, whole)
        cost_s = time.thread_time() - began_s
        self.kept_cost_s += cost_s
        share = KEPT_SHARE if not self.precise else PRECISE_SHARE
        over_s = self.kept_cost_s - KEPT_CREDIT_S - share * self.watch.ran_s(now_s)
        longest_s = KEPT_LONGEST_PAUSE_S if cost_s <= 2 * budget_s else KEPT_LONGEST_S  # one object may take long
        self.kept_s = now_s + max(self.kept_every_s, min(over_s / share, longest_s))
        self.kept_every_s = min(KEPT_LONGEST_S, max(KEPT_FIRST_S, KEPT_EVERY * (now_s - self.anew_s)))

    def _remember(self, entries: list[list[Any]], whole: bool) -> None:
        sizes = {(entry[0], entry[1], entry[6]): int(entry[4]) for entry in entries if entry[9] < OTHERS_HAVE}
        counts = self.watch.alive.counts()
        made = sum(counts.get(name, 0) for name in ("models", "traces", "sessions", "operations", "functions"))
        self.history.append((whole, self.watch.looks.memory()[1], sizes, made))
        del self.history[:-MOST_LOOKS]

    def _count_tensors(self, now_s: float) -> None:
        """Write down how many tensors are alive; it is paid from what windows may cost."""
        began_s = time.thread_time()
        found = self.part("tensors").alive()
        cost_s = time.thread_time() - began_s
        self.tensors_s = now_s + max(cost_s / PRECISE_SHARE, PICTURES_FIRST_S)
        if found is not None:
            self.extra_s += cost_s
            self.tensors_counted = True
            self.watch.write("leak-tensors", count=found[0], bytes=found[1], cost_s=round(cost_s, 4))

    def _open(self, now_s: float) -> None:
        self._choose()
        if not self.tensors_counted:  # a tenth of a second; what came since is known at the end
            self._count_tensors(now_s)
        if not self.window.open():
            self.windows = WINDOWS
            self.watch.lack("sites", self.window.refused)
            return
        self.windows += 1
        self.grown = 0
        self.opened_s, self.opened_steps = now_s, self.paces.count(self.index)
        self.picture_s = now_s + PICTURES_FIRST_S
        self.moved = self.opened_steps
        if not self.precise:
            import _thread

            usual = _thread.stack_size(STACK_BYTES)
            try:
                _thread.start_new_thread(self._shut_in_time, (self.windows,))
            finally:
                _thread.stack_size(usual)

    def _shut_in_time(self, number: int) -> None:
        """Close the window if no step comes that would: the loop may have ended, or one step may be a long one."""
        time.sleep(LONGEST_WINDOW_S)
        if self.windows == number and self.window.is_open and os.getpid() == self.watch.pid:
            self.window.close()

    def _choose(self) -> None:
        """The kind of step to go by: slower ones than a window can hold are left out."""
        warm: int = self.part("sites").WARM_STEPS
        self.index = self.paces.best(LONGEST_WINDOW_S / (warm + LEAST_STEPS + 1))
        self.usual_s = self.paces.step_s(self.index)

    def _follow(self, now_s: float) -> None:
        """Take the window's pictures when a step has just begun: what lives within a step is not there, then."""
        if self.precise and self.window.first is None:
            self._choose()  # in the beginning nothing is known of the steps
        count = self.paces.count(self.index)
        moved, self.moved = count != self.moved, count
        steps = count - self.opened_steps
        if not self.precise and self.watch.loops is None:  # loops are read in looks
            self.watch.next_s = 0.0
        spent = self._spent(now_s, steps)
        if self.window.is_too_large():
            self._give_up(now_s, steps)
        elif not moved and (self.precise or spent <= MUCH_SPENT):
            return
        elif self.window.first is None:
            self._begin(now_s, steps, spent)
        elif self.precise:
            self._note_in_time(now_s)
        else:
            self._note_once(now_s, steps, spent)

    def _begin(self, now_s: float, steps: int, spent: float) -> None:
        if steps >= self.part("sites").WARM_STEPS or (steps and spent):
            self.window.begin(self.watch.counts.counts)
        elif spent and not self.precise:
            self._shut(now_s, steps)

    def _note_once(self, now_s: float, steps: int, spent: float) -> None:
        began = self.window.began
        followed = self.moved - (began[self.index] if self.index < len(began) else 0)
        if followed >= self.part("sites").STEPS or (spent and followed >= LEAST_STEPS) or spent > MUCH_SPENT:
            self._note()
            self._shut(now_s, steps)

    def _note_in_time(self, now_s: float) -> None:
        if now_s >= self.tensors_s and self.tensors_counted:
            self._count_tensors(now_s)
        if now_s >= self.picture_s:
            before_s = self.window.cost_s
            self._note()
            cost_s = self.window.cost_s - before_s
            self.picture_s = now_s + max(cost_s / PRECISE_SHARE, PICTURES_LATER * (now_s - self.opened_s))

    def _give_up(self, now_s: float, steps: int) -> None:
        """Too much is alive that was followed. From here on it is as without `--precise`: short windows, if their cost allows."""
        self.watch.lack("sites", f"so much was allocated that following it was given up after {steps} steps")
        self.precise = False
        self._shut(now_s, steps)

    def _spent(self, now_s: float, steps: int) -> float:
        """How much of what windows may cost is used up: 1 is all of it."""
        slowed_s = self.extra_s + max(0.0, now_s - self.opened_s - steps * self.usual_s)
        allowed_s = WINDOW_ALLOWANCE_S + WINDOW_SHARE * self.watch.ran_s(now_s)
        return slowed_s / allowed_s if slowed_s > allowed_s else 0.0

    def _note(self, last: bool = False) -> None:
        """Write a picture down; of the last one only what functions that have ended did not give back with their variables."""
        sites = self.window.grown()
        grown = sum(int(site[3]) for site in sites)
        if last and grown < self.grown:
            return
        self.grown = grown
        cost_s = round(self.window.cost_s, 4)
        self.watch.write("leak-sites", window=self.windows, began=self.window.began, sites=sites, cost_s=cost_s)

    def _shut(self, now_s: float, steps: int) -> None:
        self.extra_s += max(0.0, now_s - self.opened_s - steps * self.usual_s)
        self.followed_s += now_s - self.opened_s
        self.window.close()
        self.next_window_steps = 2 * self.steps() + 50
        if self.extra_s > WINDOW_ALLOWANCE_S + WINDOW_SHARE * self.watch.ran_s(now_s):
            self.windows = WINDOWS

    def end(self) -> None:
        """The last closer look, at the program's end."""
        now_s = time.monotonic()
        if self.tensors_counted:
            self._count_tensors(now_s)
        self.keep(now_s)
        if self.window.is_open:
            if self.window.first is not None and not self.window.is_too_large():
                self._note(last=True)
            self.followed_s += now_s - self.opened_s
            self.window.close()

    def abandon(self) -> None:
        """In a forked child: follow nothing, write nothing."""
        self.window.close()
