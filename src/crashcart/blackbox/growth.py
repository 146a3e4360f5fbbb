"""What the watch over a program's growth wrote, read back as `Growth`.

Covers: the rings `leaks-<pid>.ring` and `leaks-<pid>-recent.ring` of a recording, or the same records of a watch in this process,
as facts. Does not cover: which of the counted kinds of steps is the step of this program (`growth_steps.py`), series of
measurements (`growth_series.py`), other processes of the run (`growth_processes.py`); whether anything leaks (`leaks/`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from crashcart.blackbox.growth_places import Places
from crashcart.blackbox.growth_processes import limit_bytes, unwatched, watched
from crashcart.blackbox.growth_series import after_of, looks_of, series_of
from crashcart.blackbox.growth_steps import Chosen, Phases, is_too_fast, phases
from crashcart.growth import Filling, Growth, Kept, Made, Retraced, Site, Steps
from crashcart.units import duration, plural

Record = dict[str, Any]
_NO_STEPS = (
    "nothing was seen that repeats: no batch of Keras, no call of a tf.function, no optimizer, session, dataset or "
    "loop with a counter; mark the steps with cc.step()"
)
_TOO_FAST = (
    "the only loops that were counted turn more than 30,000 times a second, as those that parse or add up do, and not the "
    "steps of a training; mark the steps with cc.step()"
)
_ALL = ("leak-start", "leak-keys", "leak-end", "leak-lack")
"""Kinds of records that belong to the whole run."""
MOST_KEPT = 40
MOST_SITES = 24
LEAST_SITE_STEPS = 3
"""A window in which fewer steps were taken says nothing of what a step leaves behind."""


def read_growth(folder: Path) -> Growth | None:
    """What was measured in a recording; None where no watch over growth was in it. Of several processes that were watched
    one after the other, the one that took most looks, with the others beside it."""
    written = watched(folder)
    if not written:
        return None
    places, most = Places.of_recording(folder), limit_bytes(folder)
    ordered = sorted(written.items(), key=lambda each: -len(each[1]))
    first, *rest = [replace(growth_of(records, places, most), pid=pid) for pid, records in ordered]
    reasons = unwatched(folder, {each.pid for each in (first, *rest)})
    lacking = {**first.lacking, **({"processes": reasons} if reasons else {})}
    return replace(first, others=tuple(rest), lacking=lacking)


@dataclass(frozen=True, slots=True)
class _Book:
    """The records of one process, in order."""

    records: list[Record]
    looks: list[Record]
    keys: list[list[Any]]

    def part(self, chosen: Chosen) -> list[Record]:
        """The records of the time of some steps, with those of the whole run."""
        return [
            each
            for each in self.records
            if each.get("kind") in _ALL or chosen.first_s <= float(each["at"]) <= chosen.last_s
        ]


def growth_of(records: Iterable[Record], places: Places, limit_bytes: int | None) -> Growth:
    """The records of one process as facts."""
    ordered = sorted(records, key=lambda record: float(record["at"]))
    keys: list[list[Any]] = max(
        (each["keys"] for each in ordered if each.get("kind") == "leak-keys"), key=len, default=[]
    )
    book = _Book(ordered, looks_of(ordered), keys)
    found = phases(keys, book.looks)
    growth = _growth(book, ordered, book.looks, found.main, places)
    growth = replace(
        growth,
        limit_bytes=limit_bytes,
        lacking=_lacking(book, found),
        after=after_of(found.main, book.looks, growth.ended_s) if found.main is not None else None,
    )
    return replace(
        growth,
        earlier=_part(book, found.earlier, places, growth),
        later=_part(book, found.later, places, growth),
    )


def _part(book: _Book, chosen: Chosen | None, places: Places, whole: Growth) -> Growth | None:
    """The growth over other steps of the same process."""
    if chosen is None:
        return None
    records = book.part(chosen)
    found = _growth(book, records, looks_of(records), chosen, places)
    after = after_of(chosen, book.looks, whole.ended_s)
    return replace(found, limit_bytes=whole.limit_bytes, ended_s=whole.ended_s, after=after)


def _growth(book: _Book, records: list[Record], looks: list[Record], chosen: Chosen | None, places: Places) -> Growth:
    start = next((each for each in records if each.get("kind") == "leak-start"), {})
    end = next((each for each in reversed(book.records) if each.get("kind") == "leak-end"), {})
    sites = _sites(records, chosen, places)
    began = float(start["unix_s"]) - float(start["at"]) if "unix_s" in start else None
    return Growth(
        pid=int(start.get("pid", 0)),
        steps=_steps(records, chosen, places),
        series=tuple(series_of(looks, records, chosen)),
        kept=tuple(_kept(records, chosen, places, sites)),
        sites=sites,
        retraced=tuple(_retraced(records, chosen, places)),
        made=tuple(_made(records, chosen, places)),
        filling=tuple(_filling(records, chosen, places)),
        precise=bool(start.get("precise")),
        cost_s=end.get("cost_s"),
        ended_s=float(records[-1]["at"]) if records else None,
        began_unix_s=began,
        stepped_s=(chosen.first_s, chosen.last_s) if chosen is not None else None,
    )


def _steps(records: list[Record], chosen: Chosen | None, places: Places) -> Steps | None:
    """The steps, with the user's line that takes them."""
    if chosen is None:
        return None
    noted = [each.get("places") or {} for each in records if each.get("kind") == "leak-keys"]
    known = next(
        (each[key] for each in reversed(noted) for key in (str(chosen.index), chosen.index) if key in each), None
    )
    return chosen.steps if known is None else replace(chosen.steps, frame=places.at(list(known)))


def _lacking(book: _Book, found: Phases) -> Mapping[str, str]:
    records, chosen = book.records, found.main
    lacking = {str(each["what"]): str(each["why"]) for each in records if each.get("kind") == "leak-lack"}
    forks = max((int(each.get("forks", 0)) for each in records if each.get("kind") == "leak-end"), default=0)
    if forks:
        lacking["children"] = f"the program forked {plural(forks, 'time')}; only its first process was watched"
    if chosen is None:
        none = _TOO_FAST if is_too_fast(book.keys, book.looks) else _no_steps(book.looks, lacking)
        lacking["steps"] = (
            f"the work was done by {plural(forks, 'forked child', 'forked children')}, not watched" if forks else none
        )
    elif chosen.steps.count < 3:
        lacking["steps"] = f"the program ended after {chosen.steps.count} steps"
    if not book.looks:
        lacking["series"] = "no look was taken"
    return lacking


def _no_steps(looks: list[Record], lacking: Mapping[str, str]) -> str:
    """Why there are none: what was said of the loops, or that nothing repeats."""
    if "loops" in lacking:
        return f"{_NO_STEPS} (loops: {lacking['loops']})"
    ran_s = float(looks[-1]["at"]) if looks else None
    return f"{_NO_STEPS}; it ran for {duration(ran_s)}" if ran_s is not None and ran_s < 1 else _NO_STEPS


def _kept(records: list[Record], chosen: Chosen | None, places: Places, sites: tuple[Site, ...]) -> Iterator[Kept]:
    """What was looked at at least twice, the largest growth first."""
    found: dict[tuple[str, str, str], list[tuple[int, list[Any]]]] = {}
    for record in records:
        if record.get("kind") == "leak-kept" and chosen is not None:
            for entry in record["entries"]:
                found.setdefault((entry[0], entry[1], entry[6]), []).append((chosen.step(record), entry))
    looked = [each for each in found.values() if len({step for step, _ in each}) >= 2]
    looked.sort(key=lambda each: each[0][1][4] - each[-1][1][4])
    for points in looked[:MOST_KEPT]:
        last = dict(points)
        name, scope, _, _, _, item, file, line, chain, *more = points[-1][1]
        kind = _kind_of([entry[2] for _, entry in points])
        grew = points[-1][1][4] > points[0][1][4]
        filled = places.filling(name, file, line, sites) if grew else None
        yield Kept(
            name, scope, kind, tuple(last), tuple(entry[3] for entry in last.values()),
            tuple(entry[4] for entry in last.values()), item, filled, tuple(chain), *more[:1],
        )  # fmt: skip


def _kind_of(kinds: list[str]) -> str:
    """What it was last. A list with ever more slots has no bound."""
    slots = {each for each in kinds if each.endswith(" slots)")}
    return kinds[-1].partition(" (")[0] if len(slots) > 1 and kinds[-1] in slots else kinds[-1]


def _sites(records: list[Record], chosen: Chosen | None, places: Places) -> tuple[Site, ...]:
    """Of each window its last picture, added up by line."""
    windows = {each["window"]: each for each in records if each.get("kind") == "leak-sites"}
    sums: dict[tuple[str, int], list[int]] = {}
    for record in windows.values():
        steps = chosen.step(record) - chosen.step({"n": record["began"]}) if chosen is not None else 0
        if steps < LEAST_SITE_STEPS:
            continue
        for file, line, count, size in record["sites"]:
            known = sums.setdefault((file, line), [0, 0, 0])
            known[0], known[1], known[2] = known[0] + count, known[1] + size, known[2] + steps
    largest = sorted(sums.items(), key=lambda each: -each[1][1])[:MOST_SITES]
    return tuple(Site(places.frame(file, line), *numbers) for (file, line), numbers in largest)


def _first_and_last(records: list[Record], kind: str, chosen: Chosen | None) -> list[tuple[list[Any], list[Any], int]]:
    """Of each thing in the records of a kind, told apart by its name and place: the first note, the last, and how many
    steps lay between its first note and the last note of all."""
    notes: dict[str, list[tuple[int, list[Any]]]] = {}
    last_step = 0
    for record in records:
        last_step = chosen.step(record) if chosen is not None else 0
        if record.get("kind") == kind:
            for fact in record["facts"]:
                key = json.dumps(fact[:3] if kind == "leak-made" else fact[:2])
                notes.setdefault(key, []).append((last_step, fact))
    return [(each[0][1], each[-1][1], last_step - each[0][0]) for each in notes.values()]


def _retraced(records: list[Record], chosen: Chosen | None, places: Places) -> Iterator[Retraced]:
    for first, last, steps in _first_and_last(records, "leak-retraced", chosen):
        name, place, traces, changed = last
        yield Retraced(name, places.at(place), first[2], traces, steps, tuple(changed))


def _made(records: list[Record], chosen: Chosen | None, places: Places) -> Iterator[Made]:
    for first, last, steps in _first_and_last(records, "leak-made", chosen):
        kind, name, place, count = last
        yield Made(kind, name, places.at(place), first[3], count, steps)


def _filling(records: list[Record], chosen: Chosen | None, places: Places) -> Iterator[Filling]:
    """The caches that were being filled when the last step came: what is noted after it may have been let go since."""
    if chosen is None:
        return
    last: list[list[Any]] = []
    first_steps: dict[int, int] = {}
    for record in records:
        if record.get("kind") == "leak-caches" and float(record["at"]) < chosen.last_s:
            last = record["facts"]
            first_steps = {fact[0]: first_steps.get(fact[0], chosen.step(record)) for fact in last}
    for number, place, each in last:
        yield Filling(places.at(place), int(each), first_steps[number])
