"""Lines that look alarming and end nothing: what each of them means. No rule is declared here.

Covers: notices of TensorFlow, XLA, CUDA, Jupyter, Python and pip that stand in the logs of healthy programs.
Does not cover: notices that may support a cause (a missing CUDA library, a retraced function); rules judge those, as
merely possible.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from crashcart.evidence import Log, LogLine
from crashcart.finding import Report

_NOISE = tuple(
    (re.compile(pattern), meaning)
    for pattern, meaning in (
        (
            r"onednn custom operations are on|onednn.{0,40}optimizations",
            "oneDNN is in use: sums may differ in the last digits",
        ),
        (
            r"unable to register (?:cudnn|cufft|cublas) factory",
            "two parts of TensorFlow register the same CUDA plug-in",
        ),
        (r"computation placer already registered", "two parts of TensorFlow register the same CUDA plug-in"),
        (r"numa node", "the kernel does not say which NUMA node the card belongs to; node 0 is taken"),
        (r"tf-trt warning|could not find tensorrt", "TensorRT is not installed; only those who use it need it"),
        (
            r"not compiled to use|wasn't compiled to use|optimized to use available cpu instructions"
            r"|to enable the following instructions"
            r"|optimized with oneapi deep neural|to enable them in other operations|this tensorflow binary is optimized",
            "the processor has instructions that this build does not use: it could be faster, nothing more",
        ),
        (r"canceled future for execute_request", "the browser gave up a cell since the kernel was gone: a consequence"),
        (
            r"deprecat(?:ed|ion)(?!.{0,200}fork\(\))|futurewarning|will be removed in a future"
            r"|instructions for updating|pendingdeprecation",
            "something will change in a later version; today it works",
        ),
        (
            r"the caller indicates that this is not a failure",
            "the allocator tried a larger piece first and took a smaller one",
        ),
        (
            r"executor start aborting|(?:startabort|is aborting).{0,80}end of sequence",
            "the input came to its end: tf.data's normal way to say so",
        ),
        (
            r"successfully opened (?:cuda|dynamic) library|loaded cudnn version(?!.{0,40}but)",
            "a CUDA library was found and loaded",
        ),
        (
            r"mlir (?:optimization passes|graph optimization)|none of the mlir|compiled cluster using xla|xla service 0x",
            "a note about compilation",
        ),
        (
            r"'messagefactory' object has no attribute 'getprototype'",
            "protobuf and TensorFlow disagree at exit; nothing depends on it",
        ),
        (
            r"finalizing generatordataset iterator: ?cancelled",
            "a generator was closed before its end, as at each epoch's end",
        ),
        (
            r"adding visible gpu devices|created (?:tensorflow )?device|cpu frequency|metal device set to",
            "start-up information",
        ),
        (r"could not destroy cu\w+ handle|cupti|profiler session", "the profiler's own; only profiling needs it"),
        (r"libpng warning|iccp: known incorrect", "an image carries an odd colour profile; it was read all the same"),
    )
)
_HINTS = ("onednn", "regist", "numa", "tensorrt", "tf-trt", "compiled", "instructions", "optimiz", "cancel", "deprecat", "future",
          "caller", "aborting", "end of sequence", "library", "cudnn version", "mlir", "xla", "messagefactory", "device",
          "frequency", "cu", "profiler", "libpng", "updating")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Noise:
    """A harmless notice: where it stands first, how often it was met, and what it means."""

    line: LogLine
    count: int
    meaning: str


def noise_in(log: Log | None) -> tuple[Noise, ...]:
    """The harmless notices of a log, each meaning once, in order of appearance."""
    found: dict[str, Noise] = {}
    for line in log.lines if log is not None else ():
        meaning = meaning_of(line.text)
        if meaning:
            known = found.get(meaning)
            found[meaning] = Noise(known.line if known else line, (known.count if known else 0) + 1, meaning)
    return tuple(found.values())


def meaning_of(text: str) -> str | None:
    """What a line means, where it is harmless whatever else happened; None for all other lines."""
    folded = text[:600].lower()
    if not any(hint in folded for hint in _HINTS):
        return None
    return next((meaning for pattern, meaning in _NOISE if pattern.search(folded)), None)


def noise_figures(log: Log | None, report: Report) -> Mapping[str, list[dict[str, object]]]:
    """The notices for the report, without those that a finding rests on."""
    facts = [fact for finding in report.findings for fact in finding.because]
    found = [each for each in noise_in(log) if not any(fact.startswith(f"line {each.line.number}: ") for fact in facts)]
    notices: list[dict[str, object]] = [
        {"line": each.line.number, "count": each.count, "text": each.line.text.strip()[:300], "meaning": each.meaning}
        for each in found
    ]
    return {"noise": notices} if notices else {}
