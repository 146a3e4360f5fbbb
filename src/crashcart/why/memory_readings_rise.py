"""W118 memory-readings-rise."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from crashcart.evidence import Ending, KernelLog, Log, LogLine, Program
from crashcart.finding import Cause, Confidence, Finding
from crashcart.rule import Rank, rule
from crashcart.units import GIB, KIB, MIB, size
from crashcart.why._kill import was_killed
from crashcart.why._statement import quote_line

_READING = re.compile(
    r"\b(?:rss|vms|ram|mem(?:ory)?(?: usage| used)?|used memory|maxrss"
    r"|uss)\b[ :=]{1,3}(?P<amount>\d{1,12}(?:\.\d{1,6})?) ?(?P<unit>[kmg]i?b?)\b"
    r"|\bmem(?:ory)?[ _]\w{2,8}\s?[:=]\s?(?P<bare>\d{2,12}(?:\.\d{1,6})?)\s*$"
    r"|^\s{0,12}\d{1,6}\s{1,8}(?P<table>\d{1,12}\.\d{1,3}) MiB",
    re.IGNORECASE,
)
_UNITS = {"k": KIB, "m": MIB, "g": GIB}
_WITHOUT_DIGITS = str.maketrans("", "", "0123456789. ")
LEAST_READINGS = 5
RISEN_BY = 1.3
RISING_FRACTION = 0.8
LATER_SHARE = 0.4
"""Memory that settles after a warm-up gains little in the second half; one that is lost gains there as in the first."""


@dataclass(frozen=True, slots=True)
class Series:
    """Readings of memory that lines of one form give, in order."""

    readings: tuple[tuple[LogLine, int], ...]
    in_bytes: bool = True
    """False where the lines name no unit: then only how much they differ is known."""

    def rises(self) -> bool:
        """Whether they go up to the end, step after step."""
        values = [each for _, each in self.readings]
        middle = values[len(values) // 2]
        ups = sum(later > earlier for earlier, later in pairwise(values))
        steady = ups >= RISING_FRACTION * (len(values) - 1)
        return (
            steady and values[-1] >= RISEN_BY * values[0] and values[-1] - middle >= LATER_SHARE * (middle - values[0])
        )


@rule("W118", "memory-readings-rise", Rank.ROOT)
def memory_readings_rise(
    log: Log, ending: Ending | None = None, program: Program | None = None, kernel_log: KernelLog | None = None
) -> Iterator[Finding]:
    """The memory readings that a log prints rise step after step to its end.

    ## What it means

    Each step kept something alive: a model or function built anew, tensors in a list, `model.predict` called in a loop on
    NumPy arrays. A larger machine only dies later.

    ## How we know

    Lines of one form give memory (rss=…, memory: …), at least five times; nearly every one is higher than the one before,
    and the second half gains about as much as the first: memory that settles after a warm-up does not. It is likely where
    the program was killed afterwards, else possible. A recorded run is judged by its own samples instead.

    ## What to do

    Find what each step keeps: `crashcart run` names the object and the line that grow.
    """
    if program is not None:
        return
    rising = [series for series in readings_in(log) if series.rises()]
    if not rising:
        return
    longest = max(rising, key=lambda series: len(series.readings))
    (first, low), (last, high) = longest.readings[0], longest.readings[-1]
    by = f"from {size(low)} to {size(high)}" if longest.in_bytes else f"by {high / low - 1:.0%}"
    killed = ending is not None and ending.said is not None and was_killed(ending)
    yield Finding(
        Cause.MEMORY_LEAK,
        f"memory grew {by}, step after step" + (", until it was killed" if killed else ""),
        (
            quote_line(first),
            quote_line(last),
            f"{len(longest.readings)} readings, rising to the end",
            *([quote_line(ending.said)] if killed and ending is not None else []),
        ),
        (
            "find the leak: what does each pass of the loop keep? Models, functions and datasets are built once, before the loop;"
            " lists hold numbers (`float(loss)`), not tensors",
            "in a loop call `model(x, training=False)` or `model.predict_on_batch(x)` instead of"
            " `model.predict(x)`; in TensorFlow 1"
            " make no new ops after the start (`graph.finalize()` finds them); between models `tf.keras.backend.clear_session()`",
            "`crashcart run -- python your_script.py` names the object that grows and the line that fills it",
        ),
        Confidence.LIKELY if killed or kernel_log is not None else Confidence.POSSIBLE,
    )


def readings_in(log: Log) -> tuple[Series, ...]:
    """The readings of memory that a log gives, one series for each form of line."""
    return tuple(_series(log))


def _series(log: Log) -> Iterator[Series]:
    found: dict[str, list[tuple[LogLine, int]]] = {}
    bare: set[str] = set()
    for line in log.lines:
        match = _READING.search(line.text[:400])
        if match:
            shape = "table" if match["table"] else line.text[:200].translate(_WITHOUT_DIGITS)
            found.setdefault(shape, []).append((line, _bytes(match)))
            bare.update([shape] if match["bare"] else [])
    yield from (Series(tuple(each), shape not in bare) for shape, each in found.items() if len(each) >= LEAST_READINGS)


def _bytes(match: re.Match[str]) -> int:
    if match["table"]:
        return int(float(match["table"]) * MIB)
    if match["bare"]:
        return int(float(match["bare"]) * MIB)
    return int(float(match["amount"]) * _UNITS[match["unit"][0].lower()])
