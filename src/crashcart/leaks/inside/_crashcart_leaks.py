"""The watch over a program's growth, from inside: takes looks at its steps, and writes them where they survive.

Covers: when to look and how closely, within a bound on the cost; one watch per process; the records of `blackbox/growth.py`.
Does not cover: what is a step (`_crashcart_steps`, `_crashcart_loops`), what is looked at (`_crashcart_looks`,
`_crashcart_alive`, `_crashcart_kept`, `_crashcart_sites`), judging (the rules of `leaks/`).

The program is left as it is: nothing of it is kept alive, no setting is changed, nothing is printed, and whatever fails here
is noted and dropped. Only the first Python process of a recording is watched; a forked child watches nothing.
"""

from __future__ import annotations

import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:  # `typing` itself costs 5 ms
    from typing import Any

CLAIM = "leaks.claim"
PRECISE_VARIABLE = "CRASHCART_LEAKS_PRECISE"
RING_BYTES = 8 << 20
RECENT_BYTES = 384 << 10
MOST_PROCESSES = 16
LOWEST_DESCRIPTOR = 700  # as in the start-up hook: far above what programs open
FINE_LOOKS = 1024
"""So many looks are taken as often as they may be, and so many more each time that the distance doubles."""
FIRST_LOOKS = 64
"""The first ones are taken at every step, however fast: a short program may have no more."""
EARLY_S, LATER_S = 0.005, 0.02
"""Between two looks: a look takes some 60 µs."""
AGAIN_S = 120.0
WAITED_SHARE = 0.25
"""Of what the program waited, in what looks may be paid from."""
SLOW_S = 0.2
"""Between two looks at what rarely changes."""
SLOW_SHARE, SLOWEST_S = 0.003, 5.0
"""What those may take of the program's time, and what is the longest between them."""

_HERE = os.path.dirname(os.path.abspath(__file__))
_TOOLS = ("ring", "import_hook")
_watches: list[Any] = []
_forks_seen: list[bool] = []


def _part(name: str) -> Any:
    """Another module of this folder, which the program cannot import; under its own name, as the start-up hook loads ours."""
    module = sys.modules.get(f"_crashcart_{name}")
    if module is None:
        from importlib.machinery import SourceFileLoader

        path = os.path.join(_HERE, f"_crashcart_{name}.py")
        if name in _TOOLS:
            path = os.path.join(os.path.dirname(os.path.dirname(_HERE)), "blackbox", f"{name}.py")
        module = type(sys)(f"_crashcart_{name}")
        module.__file__ = path
        SourceFileLoader(f"_crashcart_{name}", path).exec_module(module)
        sys.modules[f"_crashcart_{name}"] = module
    return module


def start(directory: str) -> None:
    """Watch this process, if it is the first below the watcher; called by the start-up hook."""
    if not _claim(os.path.join(directory, CLAIM)):
        return
    watch = Watch(Paper(directory), os.environ.get(PRECISE_VARIABLE) == "1")
    import atexit

    atexit.register(watch.end)
    try:
        watch.start()
    except Exception as failure:  # what was begun goes on
        watch.lack("looks", f"{type(failure).__name__}: {failure}")


def _claim(path: str) -> bool:
    """Whether this process is the one to watch: the first, or the next after that has ended."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        with open(path, encoding="ascii") as stream:
            owner = stream.read().strip()
        if owner == str(os.getpid()):  # this process has become another program
            return True
        if not owner or os.path.exists(f"/proc/{owner}") or _too_many(os.path.dirname(path)):
            return False
        os.unlink(path)
        return _claim(path)
    os.write(handle, str(os.getpid()).encode("ascii"))
    os.close(handle)
    return True


def _too_many(directory: str) -> bool:
    """Whether so many processes were watched one after the other that the next ones would only fill the disk."""
    return sum(name.startswith("leaks-") for name in os.listdir(directory)) >= 2 * MOST_PROCESSES


def mark() -> None:
    """The program says that a step is done (`cc.step()`)."""
    for watch in list(_watches):
        watch.counts.step("marked", "steps marked by cc.step()")


def _see_forks() -> None:
    """Once in a process: what is registered for forks stays, and must keep no watch that has ended."""
    if not _forks_seen:
        _forks_seen.append(True)
        os.register_at_fork(after_in_child=_in_child, after_in_parent=_in_parent)


def _in_child() -> None:
    for watch in list(_watches):
        watch.in_child()


def _in_parent() -> None:
    for watch in list(_watches):
        watch.in_parent()


class Paper:
    """Where the records go: a ring for the whole run, in which looks grow sparser, and one for the last looks."""

    def __init__(self, directory: str) -> None:
        ring, pid = _part("ring"), os.getpid()
        self.whole = ring.Ring(os.path.join(directory, f"leaks-{pid}.ring"), RING_BYTES, LOWEST_DESCRIPTOR)
        self.recent = ring.Ring(os.path.join(directory, f"leaks-{pid}-recent.ring"), RECENT_BYTES, LOWEST_DESCRIPTOR)
        self.every_s = EARLY_S
        self.next_s = 0.0
        self.since = 0

    def look(self, record: dict[str, Any]) -> None:
        """Write a look."""
        payload = _part("ring").encode(record).encode("ascii")
        self.recent.append_encoded(payload)
        if record["at"] >= self.next_s:
            self.whole.append_encoded(payload)
            self.since += 1
            if self.since >= FINE_LOOKS:
                self.since, self.every_s = 0, 2 * self.every_s
            self.next_s = record["at"] + self.every_s * 0.9

    def append(self, record: dict[str, Any]) -> None:
        """Write anything else."""
        self.whole.append(record)


class Watch:
    """The watch over this process."""

    def __init__(self, paper: Any, precise: bool) -> None:
        steps = _part("steps")
        self.paper = paper
        self.pid = os.getpid()
        self.is_own = steps.is_own
        self.counts = steps.Counts(self.beat)
        self.hooks = steps.Hooks(self.counts)
        self.alive = _part("alive").Alive(steps.is_own)
        self.looks = _part("looks").Looks(LOWEST_DESCRIPTOR, steps.is_theirs)
        self.rising = _part("looks").both_rising()
        self.depth = _part("depth").Depth(self, precise)
        self.loops: Any = None
        self.precise = precise
        self.off = self.last = False
        self.taken = 0
        self.cost_s = 0.0
        self.loops_s = 0.0
        self.budget = _part("budget").Budget(precise)
        self.began_s, self.began_cpu_s = time.monotonic(), time.process_time()
        self.next_s = self.last_s = self.slow_s = self.beat_s = self.again_s = 0.0
        self.forks = 0
        self.first: tuple[int, float] = ()  # type: ignore[assignment]
        self._written: dict[str, Any] = {}
        self._placed: dict[int, int] = {}
        import _thread

        self._lock = _thread.RLock()
        """Entered by `with`, in which no signal handler can come between; `busy` keeps this thread's own signals out."""
        self.busy = False

    def start(self) -> None:
        """Begin to count and to look."""
        _watches.append(self)
        self._introduce(self.began_s)
        self.hooks.add(self.alive.places())
        self.hooks.install()
        _see_forks()
        loops = _part("loops").Monitored(self.counts, self.is_own, time.monotonic)
        if loops.start():
            self.loops = loops
        else:
            _part("ticks").start(self)

    def _introduce(self, now_s: float) -> None:
        """Say what is watched, and again from time to time: in a long run the ring overwrites what is old."""
        self.again_s = now_s + AGAIN_S
        self._written.pop("keys", None)
        self.write("leak-start", python=sys.version.split()[0], precise=self.precise, pid=self.pid, unix_s=time.time())

    def beat(self) -> None:
        """A step was counted; take a look if it is time for one."""
        if time.monotonic() >= self.next_s or self.depth.is_awaited():
            self.look(True)
            self.beat_s = self.last_s

    def look(self, deeply: bool) -> None:
        """Take a look now; deeply where the stack is the one of the program's own thread."""
        if self.off or self.busy:
            return
        with self._lock:
            if not self.busy:
                self._look(deeply)

    def _look(self, deeply: bool) -> None:
        self.busy = True
        try:
            began_s, now_s = time.thread_time(), time.monotonic()
            self._cheap(now_s)
            self.last_s = now_s
            self.next_s = now_s + self._pause_s(time.thread_time() - began_s, now_s)
            if deeply:
                self._note_place()
                self.depth.go(now_s)
            self.cost_s += time.thread_time() - began_s
        except Exception as failure:
            if self.counts.is_theirs(failure):
                raise
            self.lack("looks", f"{type(failure).__name__}: {failure}")
            self.next_s = time.monotonic() + 1.0
        finally:
            self.busy = False

    def _pause_s(self, cost_s: float, now_s: float) -> float:
        """How long not to look after a look that took so long."""
        self.budget.spend(cost_s)
        usual_s = 0.0 if self.taken < FIRST_LOOKS else EARLY_S if self.taken < FINE_LOOKS else LATER_S
        return float(max(usual_s, self.budget.pause_s(self.ran_s(now_s))))

    def spent_on_loops(self, cost_s: float, now_s: float) -> None:
        """Reading the counters of loops is paid from what looks may take."""
        self.loops_s += cost_s
        self.cost_s += cost_s
        self.next_s = now_s + self._pause_s(cost_s, now_s)

    def ran_s(self, now_s: float) -> float:
        """For how long the program has run: by the clock, or by its processor where it had to wait. What it waited counts for a
        quarter: it may have slept, or had to wait for the processor."""
        by_clock_s, by_processor_s = now_s - self.began_s, time.process_time() - self.began_cpu_s
        return min(by_clock_s, by_processor_s + WAITED_SHARE * max(0.0, by_clock_s - by_processor_s))

    def _cheap(self, now_s: float) -> None:
        facts = self.looks.cheap()
        if self.depth.steps():  # before the first step a program only gets ready
            self.budget.begin(self.ran_s(now_s))
            self.first = self.first or (self.depth.steps(), now_s)
            self.rising[0].add(facts["private"])
        if now_s >= self.again_s:
            self._introduce(now_s)
        self.announce()
        if now_s >= self.slow_s:
            began_s = time.thread_time()
            facts.update(self.looks.counted())
            if self.first:
                self.rising[1].add(facts["blocks"])
            facts.update(self.alive.counts())
            self._note_alive()
            cost_s = time.thread_time() - began_s
            self.slow_s = now_s + max(SLOW_S * (1 + self.taken // FINE_LOOKS), min(cost_s / SLOW_SHARE, SLOWEST_S))
        self.taken += 1
        record = {"kind": "leak-look", "at": round(now_s - self.began_s, 4), "n": list(self.counts.counts), **facts}
        if self.last:
            record["last"] = True
        self.paper.look(record)

    def announce(self) -> None:
        """Write down what the counts of steps mean, and where they are taken, when that is new."""
        known = (len(self.counts.keys), len(self.counts.places))
        if self._written.get("keys") != known:
            self._written["keys"] = known
            self.write("leak-keys", keys=self.counts.keys, places=self.counts.places)
        if self.counts.refused is not None and "lack loops" not in self._written:
            self.lack("loops", self.counts.refused)

    def _note_place(self) -> None:
        """Where the step that was just taken is made; the second one stays, since the first may belong to a beginning."""
        latest = self.counts.latest
        if latest >= 0 and self.counts.keys[latest][0] != "loop" and self._placed.get(latest, 0) < 2:
            place = self.alive.place()
            if place:
                self._placed[latest] = self._placed.get(latest, 0) + 1
                self.counts.places[latest] = place
                self._written.pop("keys", None)
        self.counts.latest = -1

    def _note_alive(self) -> None:
        if self._written.get("changes") == self.alive.changes:
            return
        self._written["changes"] = self.alive.changes
        caches = _part("caches").filling(self.alive, self.counts.is_theirs)
        for kind, facts in (
            ("leak-made", self.alive.groups()),
            ("leak-retraced", self.alive.retraced()),
            ("leak-caches", caches),
        ):
            if (facts or kind in self._written) and self._written.get(kind) != facts:
                self._written[kind] = facts
                self.write(kind, facts=facts)

    def write(self, kind: str, **facts: Any) -> None:
        """A record with the time and the counts of steps."""
        at = round(time.monotonic() - self.began_s, 4)
        self.paper.append({"kind": kind, "at": at, "n": list(self.counts.counts), **facts})

    def lack(self, what: str, why: str) -> None:
        """Something could not be looked at."""
        if self._written.get(f"lack {what}") != why:
            self._written[f"lack {what}"] = why
            try:
                self.write("leak-lack", what=what, why=why)
            except Exception as failure:
                if self.counts.is_theirs(failure):
                    raise
                self.off = True

    def step_s(self) -> float:
        """How long a step takes, since the first."""
        steps = self.depth.steps() - self.first[0] if self.first else 0
        return (self.last_s - self.first[1]) / steps if steps > 0 else 0.0

    def is_rising(self) -> bool:
        """Whether the process's memory, or the number of Python's blocks, rises steadily."""
        return any(each.is_rising() for each in self.rising)

    def end(self) -> None:
        """The last look, at the program's orderly end."""
        if self.off or os.getpid() != self.pid:
            return
        self.slow_s, self.last = 0.0, True
        self.look(False)
        with self._lock:
            if not self.busy:
                self._end()

    def _end(self) -> None:
        self.busy = True
        try:
            began_s = time.thread_time()
            self.depth.end()
            for name, why in self.hooks.lacking.items():
                self.lack(f"steps of {name}", why)
            self.cost_s += time.thread_time() - began_s
            self.write("leak-end", cost_s=round(self.cost_s, 4), forks=self.forks, parts_s=self._parts())
        except Exception as failure:
            if self.counts.is_theirs(failure):
                raise
            self.lack("end", f"{type(failure).__name__}: {failure}")
        finally:
            self.busy = False

    def _parts(self) -> dict[str, float]:
        """What the cost was spent on; and for how long allocations were followed, which slows the program itself."""
        return {
            "looks": round(self.budget.spent_s, 4),
            "names": round(self.depth.kept_cost_s, 4),
            "loops": round(self.loops_s, 4),
            "pictures": round(self.depth.window.cost_s, 4),
            "followed": round(self.depth.followed_s, 4),
        }

    def stop(self) -> None:
        """Take all of it out again (`cc.leaks()` has ended)."""
        self.end()
        self.off = True
        self.next_s = float("inf")
        self.hooks.remove()
        if self.loops is not None:
            self.loops.stop()
        _part("ticks").stop(self)
        self.looks.close()
        if self in _watches:
            _watches.remove(self)

    def in_child(self) -> None:
        """A forked child is not watched: its counts would be mixed with its parent's."""
        self.off = True
        self.next_s = float("inf")
        self.depth.abandon()

    def in_parent(self) -> None:
        """A child was forked."""
        self.forks += 1
        if self.forks == 1:
            self.lack("children", "the program forked; only its first process was watched")
