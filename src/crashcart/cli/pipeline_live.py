"""`crashcart pipeline` in the user's own process, on a dataset that is there already: `cc.pipeline`, `%pipeline dataset`.

Covers: reading a live dataset and looking at a few of its elements, one at a time and without its buffers; every
failure is a CrashcartError. Does not cover: what a call of a function takes besides its result, which only a child can
see (`pipeline_child.py`).
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

from crashcart.cli.pipeline import BEFORE, check_counts, estimated, judged
from crashcart.errors import CannotCheckError, CrashcartError, UsageError
from crashcart.evidence import Evidence
from crashcart.finding import Report
from crashcart.probe.host_room import room
from crashcart.stages import PipelineMemory


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of a dataset."""

    memory: str | int | None = None
    cores: int | None = None
    steps: int | None = None
    epochs: int | None = None
    measure_s: float = 20.0


def examined_live(dataset: Any, question: Question, name: str | None = None) -> tuple[Report, Evidence]:
    """The report on a live dataset, and the evidence it rests on; `name` is what the user calls it."""
    check_counts(question.cores, question.steps, question.epochs)
    if isinstance(dataset, str):
        raise UsageError(
            f"received the name {dataset!r}; expected a tf.data.Dataset, or a function that returns one",
            f"For a file, on the command line: crashcart pipeline {dataset}",
        )
    try:
        memory = _measured(dataset, question, name)
    except CrashcartError:
        raise
    except ImportError as error:
        raise CannotCheckError(f"TensorFlow cannot be imported: {error}", "See `crashcart doctor --import`.") from error
    except Exception as error:
        first = (str(error).strip().splitlines() or [""])[0]
        raise CannotCheckError(
            f"the dataset cannot be read: {type(error).__name__}: {first[:300]}",
            "See that it gives an element: next(iter(dataset)).",
        ) from error
    return judged(memory, name or str(getattr(dataset, "__name__", "the dataset")))


def _measured(dataset: Any, question: Question, name: str | None) -> PipelineMemory:
    from crashcart.probe.tensorflow_dataset import is_dataset, read_all
    from crashcart.probe.tensorflow_dataset_load import of_value
    from crashcart.probe.tensorflow_dataset_measure import Limits, measure_all

    began_s = time.monotonic()
    what = f"{name} is" if name else "received"
    if callable(dataset) and not is_dataset(dataset):
        from crashcart.probe.tensorflow_load import check_arguments

        called = name or str(getattr(dataset, "__name__", "make"))
        check_arguments(dataset, called, called)
        dataset, what = dataset(), f"{called}() gives"
    datasets = of_value(dataset, what)
    pipeline = measure_all(datasets, read_all(datasets), Limits(total_s=question.measure_s, scratch=False))
    there = room(question.memory, BEFORE, own_process=True)
    memory = estimated(pipeline, there, question.cores, None)
    note = "what calls of functions take besides their results was not measured in your own process"
    has_calls = any(stage.functions and stage.name.endswith("map") for stage in pipeline.root.walk())
    return replace(
        memory,
        steps=question.steps,
        epochs=question.epochs,
        seconds=time.monotonic() - began_s,
        assumed=(*memory.assumed, note) if has_calls else memory.assumed,
    )
