"""The guard's hand: sets the budget, asks for exceptions, and leaves an event for everything it does.

Covers: one guarded run, from the additions to its environment to the end; what `policy.decide` and `gpu_policy.decide`
say is done here and nowhere else.
Does not cover: sampling (`record/`), deciding (`policy.py`), raising and refusing (inside the program). Whatever fails
here switches the guard off and is noted; the program goes on as it would without.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from crashcart.guard import airbag, place, policy
from crashcart.guard.devices import Devices, find_devices
from crashcart.guard.gpu_policy import GpuStep
from crashcart.guard.limits import DataLimit
from crashcart.guard.request import Requests, listens, may_be_disturbed
from crashcart.guard.shared import Shared
from crashcart.guard.slots import REACHED
from crashcart.guard.sources import MACHINE, Sources
from crashcart.probe._read import ROOT
from crashcart.probe.memory import find_groups, memory_limits
from crashcart.probe.process import largest_other
from crashcart.sample import Sample
from crashcart.units import MIB, duration, size

INSIDE = Path(__file__).parent / "inside" / "_crashcart_guard.py"
INSIDE_VARIABLE, INSIDE_SEPARATOR = "CRASHCART_INSIDE", "//"
"""No path has two slashes in it, whatever else it has."""
CLOSE_LOOK_S = 1.0
MOST_READY = 9
RIVAL_S = 0.5

Note = Callable[..., None]
Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Settings:
    """What the user asked for."""

    ceiling_bytes: int | None = None
    stop: bool = False
    airbag_directory: str | None = None
    attached: bool = False
    """The process ran already: there is no airbag in it."""


class Guard:
    """Guards one program; `record` shows it every sample."""

    def __init__(self, settings: Settings, tell: Tell, root: Path = ROOT) -> None:
        self.settings = settings
        self.ceiling_bytes = settings.ceiling_bytes
        self.wants_words = False
        self._root = root
        """Below which the GPU driver is looked for."""
        self._devices: Devices | None = None
        self._tell = tell
        self._note: Note = lambda *_, **__: None
        self._state = policy.State()
        self._shared: Shared | None = None
        self._requests: Requests | None = None
        self._place = place.Place("", 0, 0, "not looked for")
        self._source = ""
        self._limit_bytes = 0
        self._refused = 0
        self._resident: dict[int, int] = {}
        self._airbags: dict[int, int] = {}
        self._close_look_at_s = CLOSE_LOOK_S
        self._sources = Sources(os.getpid())
        self._data_limit: DataLimit | None = None
        self._rival_at_s = 0.0
        self._rival_bytes: int | None = None
        self._group: Path | None = None

    def environment(self, environment: Mapping[str, str], folder: Path) -> dict[str, str]:
        """The environment with the airbag and our module in it; called once, before the start."""
        guarded = dict(environment)
        self.prepare(environment, folder)
        native = airbag.preloadable()
        if native is not None:
            loaded = guarded.get("LD_PRELOAD", "")
            guarded["LD_PRELOAD"] = f"{native}:{loaded}" if loaded else str(native)
        others = [each for each in guarded.get(INSIDE_VARIABLE, "").split(INSIDE_SEPARATOR) if each]
        guarded[INSIDE_VARIABLE] = INSIDE_SEPARATOR.join(dict.fromkeys([str(INSIDE), *others]))
        return guarded

    def prepare(self, environment: Mapping[str, str], folder: Path) -> None:
        """Make the shared file, with a place for the airbag in it."""
        limit = min((each.bytes for each in memory_limits(os.getpid())), default=None)
        if self.ceiling_bytes is not None:
            limit = min(self.ceiling_bytes, limit or self.ceiling_bytes)
        asked = self.settings.airbag_directory or environment.get(place.VARIABLE)
        self._place = place.find_place(folder, limit, asked)
        if asked and asked != "off" and self._place.reason:
            self._tell(f"crashcart: no airbag: {self._place.reason}")
        self._shared = Shared(folder, self._place.directory, self._place.bound_bytes, self._place.floor_bytes)
        self._requests = Requests(self._shared)

    def begin(self, pid: int, note: Note) -> None:
        """The program runs; events go to `note`."""
        self._note = note
        self._data_limit = DataLimit(pid) if self.settings.attached else None
        groups = find_groups(pid)
        self._group = groups[0].path if groups else None
        self._sources = Sources(pid)
        self._take_ceiling(self.ceiling_bytes)
        self._devices = find_devices(self._root)
        note(
            "guard", f"on: {self.level()}", step="on", airbag=self._place.directory or None, why_none=self._place.reason
        )

    def level(self) -> str:
        """How far this run is protected, in words."""
        if self.settings.attached:
            return "interrupts, and limits while memory is short (the process ran already)"
        if airbag.preloadable() is None:
            return "interrupts only (the airbag was not built, or lies where the loader does not find it)"
        if not self._place.directory:
            return f"refusals and interrupts, no airbag ({self._place.reason})"
        return f"refusals, interrupts and an airbag of up to {size(self._place.bound_bytes)} in {self._place.directory}"

    def _take_ceiling(self, ceiling_bytes: int | None) -> None:
        self.ceiling_bytes = ceiling_bytes
        words = self._sources.ask(ceiling_bytes) if ceiling_bytes is not None else None
        if words is not None:
            self._tell(f"crashcart: {words}")

    def look(self, sample: Sample, resident: Mapping[int, int]) -> float | None:
        """Act on a sample; returns within how many seconds the next one is wanted, where that matters."""
        wanted_s = self._look_at_memory(sample, resident)
        if self._devices is not None:
            self._look_at_devices(self._devices, sample.at_s, resident)
        return wanted_s

    def _look_at_devices(self, devices: Devices, at_s: float, resident: Mapping[int, int]) -> None:
        """A GPU that fills up is told of, and last words are asked for; a failure here ends this part alone."""
        try:
            alarms = devices.look(at_s, resident)
        except Exception as error:
            self._devices = None
            self._note("guard", f"GPUs are not followed any more: {type(error).__name__}: {error}", step="gpu-off")
            return
        for each in alarms:
            self._note("guard", each.text, step=each.step.value, **each.facts)
            if each.step is GpuStep.WARN:
                self._tell(f"crashcart: {each.text} (`nvidia-smi` shows who holds it)")
                self.wants_words = True

    def _look_at_memory(self, sample: Sample, resident: Mapping[int, int]) -> float | None:
        shared = self._shared
        if shared is None or sample.used_bytes is None or sample.limit_bytes is None:
            return None
        closely = sample.at_s >= self._close_look_at_s
        if closely:
            self._close_look_at_s = sample.at_s + CLOSE_LOOK_S
            self._read_ceiling(shared)
        shared.slots.look(resident, closely)
        self._know_limit(shared, sample.limit_bytes)
        view = self._view(shared, sample, resident)
        decision = policy.decide(self._state, view, self.settings.stop)
        growth = _growth(self._state.view, view)
        self._state = decision.state
        shared.set_left(decision.left_bytes, view.net_bytes)
        if self._data_limit is not None:
            self._data_limit.follow(decision.left_bytes, view.limit_bytes)
        self._tell_refusals(shared, view)
        for step in decision.steps:
            self._take(step, shared, view, growth, resident)
        self._resident = dict(resident)
        return decision.longest_look_s

    def _read_ceiling(self, shared: Shared) -> None:
        asked = shared.asked_ceiling_bytes
        if asked is not None and asked != self.ceiling_bytes:
            self._take_ceiling(asked)

    def _view(self, shared: Shared, sample: Sample, resident: Mapping[int, int]) -> policy.View:
        assert sample.used_bytes is not None and sample.limit_bytes is not None
        slots = shared.slots
        return policy.View(
            sample.at_s, sample.used_bytes, sample.limit_bytes, sample.cpu_s or 0.0, slots.net_bytes,
            sum(each.dense_bytes for each in slots.living),
            self._bound_bytes(shared), shared.python_bytes, shared.refused_count, shared.raised_count,
            sample.tree_rss_bytes, *self._rivals(sample, resident), slots.touched_zero_bytes(),
            slots.untouched_bytes, sample.touched_bytes,
        )  # fmt: skip

    def _bound_bytes(self, shared: Shared) -> int:
        """The airbag's size, if some process can reach it; else there is none."""
        if not self._place.directory or not any(each.level & REACHED for each in shared.slots.living):
            return 0
        return self._place.bound_bytes

    def _know_limit(self, shared: Shared, limit_bytes: int) -> None:
        if limit_bytes == self._limit_bytes:
            return
        before, source_before = self._limit_bytes, self._source
        self._limit_bytes, self._source = limit_bytes, self._sources.name(limit_bytes)
        if self._source == source_before:
            self._note("guard", f"{self._source} changed: {size(before)} to {size(limit_bytes)}", step="limit")
        facts = {
            "limit_bytes": limit_bytes,
            "reserve_bytes": policy.reserve_bytes(limit_bytes),
            "source": self._source,
        }
        shared.write_limit(facts)
        shared.set_marks(2 * policy.reserve_bytes(limit_bytes), policy.cushion_bytes(limit_bytes))

    def _tell_refusals(self, shared: Shared, view: policy.View) -> None:
        """An event for each refusal since the last look."""
        if view.refused_count == self._refused:
            return
        for each in shared.refusals():
            if each.number > self._refused:
                self._note(
                    "guard",
                    f"refused {size(each.size_bytes)} to {_library_name(each.who)}: {size(max(0, each.left_bytes))} were left",
                    step="refuse", pid=each.pid, size_bytes=each.size_bytes, left_bytes=each.left_bytes, who=each.who,
                    limit_bytes=view.limit_bytes, source=self._source,
                )  # fmt: skip
        self._refused = view.refused_count

    def _take(
        self, step: policy.Step, shared: Shared, view: policy.View, growth: float, resident: Mapping[int, int]
    ) -> None:
        if step is policy.Step.READY:
            self._get_ready(view.at_s, resident)
        elif step is policy.Step.SQUEEZE:
            shared.squeeze(True)
            what = "small blocks go to the airbag, too" if view.bound_bytes else "the reserve is being used"
            self._note("guard", f"{self._figures(view)}: {what}", step="squeeze")
        elif step is policy.Step.RELEASE:
            shared.squeeze(False)
            self._note("guard", f"{self._figures(view)}: there is room again", step="release")
        elif step is policy.Step.WARN:
            self._warn(view)
        elif step is policy.Step.RAISE:
            self._ask("raise", shared, view, growth, resident)
        elif step is policy.Step.TRIM:
            self._ask("trim", shared, view, growth, resident)
        elif step is policy.Step.STOP:
            self._stop(view, resident)

    def _get_ready(self, at_s: float, resident: Mapping[int, int]) -> None:
        """Every process with our handler loads what it may need; a thread that waits in a call of its own is left alone."""
        assert self._requests is not None
        for pid in list(resident)[:MOST_READY]:
            if listens(pid) and may_be_disturbed(pid):
                self._requests.send("ready", pid, {}, at_s)

    def _figures(self, view: policy.View) -> str:
        return f"{size(view.used_bytes)} of {size(view.limit_bytes)} in use ({self._source})"

    def _warn(self, view: policy.View) -> None:
        full = "memory is full" if view.room_bytes <= 0 else "more memory was asked for than is left"
        text = f"{full}: {self._figures(view)}; what comes now is kept on disk, which is slower"
        self._note("guard", text, step="warn", airbag_bytes=view.airbag_bytes, zero_bytes=view.zero_bytes)
        self._tell(f"crashcart: {text} (up to {size(self._place.bound_bytes)} in {self._place.directory})")

    def _ask(self, what: str, shared: Shared, view: policy.View, growth: float, resident: Mapping[int, int]) -> None:
        """Ask the process that grows; a process without our handler is left alone."""
        assert self._requests is not None
        if self._requests.is_waiting(view.at_s):
            return
        pid = self._grower(shared, resident)
        if pid is None or (what == "trim" and not may_be_disturbed(pid)):
            return
        first = self._state.asking_since_s == view.at_s
        seconds_left = max(0.0, view.limit_bytes - view.used_bytes) / growth if growth > 0 else None
        facts = {
            "used_bytes": view.used_bytes, "limit_bytes": view.limit_bytes, "source": self._source,
            "airbag_bytes": view.airbag_bytes, "zero_bytes": view.zero_bytes, "raised_count": view.raised_count,
            "seconds_left": f"{seconds_left:.1f}" if seconds_left is not None and 0.05 < seconds_left < 60 else "",
        }  # fmt: skip
        self._requests.send(what, pid, facts, view.at_s)
        if what == "raise" and first:
            left = f", {duration(seconds_left)} from the limit" if seconds_left is not None else ""
            self._note("guard", f"{self._figures(view)}{left}: MemoryGuardError was asked for", step="raise", pid=pid)

    def _grower(self, shared: Shared, resident: Mapping[int, int]) -> int | None:
        """The process to tell: the one that took the most since the last look, airbag bytes first, then resident ones; the
        largest where none took much. Only those that listen count."""
        listening = {pid: count for pid, count in resident.items() if pid != os.getpid() and listens(pid)}
        airbags = {each.pid: each.airbag_bytes for each in shared.slots.living if each.pid in listening}
        grown = {pid: count - self._airbags.get(pid, 0) for pid, count in airbags.items()}
        self._airbags = airbags
        risen = {pid: count - self._resident[pid] for pid, count in listening.items() if pid in self._resident}
        for more in (grown, risen):
            most = max(more, key=lambda pid: more[pid], default=None)
            if most is not None and more[most] >= MIB:
                return most
        return max(listening, key=lambda pid: listening[pid], default=None)

    def _rivals(self, sample: Sample, resident: Mapping[int, int]) -> tuple[int | None, int | None]:
        """The largest process of others under the same limit and the largest of our own, if memory is short."""
        assert sample.used_bytes is not None and sample.limit_bytes is not None
        if sample.limit_bytes - sample.used_bytes > 3 * policy.reserve_bytes(sample.limit_bytes):
            return None, None
        if sample.at_s >= self._rival_at_s:
            self._rival_at_s = sample.at_s + RIVAL_S
            ours = {*resident, os.getpid()}
            of_group = self._source != MACHINE
            self._rival_bytes = largest_other(ours, self._group if of_group else None)
        return self._rival_bytes, max(resident.values(), default=None)

    def _stop(self, view: policy.View, resident: Mapping[int, int]) -> None:
        pid = next(iter(resident), None)
        self._note("guard", f"{self._figures(view)}: the program was stopped, as --stop asks", step="stop", pid=pid)
        self._tell("crashcart: memory is full and the program does not give way; stopped, as --stop asks")
        if pid is not None:
            with suppress(OSError):
                os.kill(pid, signal.SIGTERM)

    def end(self) -> dict[str, Any]:
        """The program has ended: the figures of the guard, for the recording."""
        shared, self._shared = self._shared, None
        devices, self._devices = self._devices, None
        if devices is not None:
            devices.close()
        if self._data_limit is not None:
            self._data_limit.restore()
        if shared is None:
            return {}
        if self._state.view is not None:
            self._tell_refusals(shared, replace(self._state.view, refused_count=shared.refused_count))
        facts = {
            "served_bytes": shared.served_bytes,
            "refused_count": shared.refused_count,
            "raised_count": shared.raised_count,
        }
        shared.close()
        if any(facts.values()):
            self._note("guard", "at the end", step="end", **facts)
        return facts


def _growth(before: policy.View | None, view: policy.View) -> float:
    if before is None or view.at_s <= before.at_s:
        return 0.0
    return (view.used_bytes - before.used_bytes) / (view.at_s - before.at_s)


def _library_name(file_name: str) -> str:
    """A library as people call it; the C part keeps only the beginning of its file's name."""
    name = file_name.partition(".")[0]
    return "NumPy" if name.endswith("multiarray_umath") else "the interpreter" if name.startswith("python") else name
