"""Which element failed, and which file it comes from: looked for only after something has failed.

Covers: paths among the inputs of the function that failed, records of TFRecord and text files by their content, the
place in the source of an element that was shuffled since. Does not cover: detecting the failure (`faults_guard`).
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from crashcart.pipeline.bounded_functions import is_generator
from crashcart.pipeline.bounded_stages import Node, words
from crashcart.pipeline.faults_state import ElementError, Fault, Faults
from crashcart.probe.code_place import place_of
from crashcart.probe.tensorflow_dataset_rebuild import kind
from crashcart.probe.tensorflow_dataset_thin import thin

_ABOUT_A_FILE = ("NotFoundError", "PermissionDeniedError")
SEARCH_S = 20.0
"""How long the source is searched for an element that failed."""
_READERS = ("TFRecordDatasetV2", "TextLineDatasetV2", "FixedLengthRecordDatasetV2")
_ORDERED = ("_MapDataset", "_ParallelMapDataset", "_PrefetchDataset", "_OptionsDataset", "CacheDataset")
"""Stages that give one element for each, in the same order."""


@dataclass(frozen=True, slots=True)
class Group:
    """Stages that are guarded together, and what they read."""

    stages: list[Any]
    source: Any
    faults: Faults
    window: int = 1
    told: dict[tuple[int, bytes], int] = field(default_factory=dict)
    """Of windows that are looked at again, by number and outer element: how many of their elements failed again."""
    first_shapes: dict[bytes, tuple[int, list[tuple[int, ...]]]] = field(default_factory=dict)
    """Of the batch that is looked at again, by outer element: its number, and the shapes of its first element."""

    @property
    def original(self) -> Any:
        """What the first of them reads in the dataset as it was written."""
        return self.stages[0]._input_dataset


def retried(group: Group, position: int, count: int, values: list[Any], context: list[Any]) -> bool:
    """Try one of a window's `count` elements again, stage by stage, and tell the fault where it fails. Keeps none: False."""
    number, place = divmod(position, group.window)
    window = (number, _outer(context))
    found = _failing(group, values)
    if found is not None:
        group.told[window] = group.told.get(window, 0) + 1
        stage, error = found
        group.faults.add(fault_of(group, stage, position, values, context, _said(error)), error)
    if place == count - 1 and not group.told.pop(window, 0):
        said = "an element failed, and none did when they were tried again"
        where = f"one of the elements at positions {position - place} to {position}"
        group.faults.add(
            Fault(words(Node(0, group.stages[-1], [])), line_of(group.stages[-1]), None, None, None, None, said, where),
            None,
        )
    return False


def _failing(group: Group, values: list[Any]) -> tuple[Any, Any] | None:
    """The stage that an element fails in, and how."""
    from tensorflow.errors import OpError

    current = values
    for stage in group.stages:
        try:
            current = list(stage._map_func.function(*current))
        except OpError as error:
            return stage, error
    return None


def retried_batch(group: Group, position: int, size: int, values: list[Any], context: list[Any]) -> bool:
    """Whether an element fits to the first one of its batch; tell the fault where it does not."""
    shapes = [tuple(each.shape) for each in values]
    batch, outer = position // size, _outer(context)
    number, first = group.first_shapes.get(outer, (None, shapes))
    if number != batch:
        group.first_shapes[outer] = (batch, shapes)
        return True
    if shapes == first:
        return True
    said = f"its shapes are {_listed(shapes)}, and those of the first element of its batch {_listed(first)}"
    group.faults.add(fault_of(group, group.stages[0], position, values, context, said), None)
    return False


def _outer(context: list[Any]) -> bytes:
    """What tells the datasets apart that one function makes."""
    return b"\0".join(each.numpy() for each in context)


def _listed(shapes: list[tuple[int, ...]]) -> str:
    return ", ".join(str(list(each)) for each in shapes)


def fault_of(group: Group, stage: Any, position: int, values: list[Any], context: list[Any], error: str) -> Fault:
    """All that can be said of an element that failed."""
    index = position if _in_source_order(group.original) else None
    if index is None and not context:
        index = _searched(group.original, values)
    file, record = _file_of(group, values, context, index, position, error.startswith(_ABOUT_A_FILE))
    own = None if context else index  # inside interleave, elements are counted anew for each file
    return Fault(words(Node(0, stage, [])), line_of(stage), position, own, file, record, error, _shown(values))


def line_of(stage: Any) -> str | None:
    """Where the function of a stage is written; for one without a function, nothing is known."""
    return place_of(getattr(getattr(stage, "_map_func", None), "_func", None))


_NOISE = re.compile(r"\{\{[^}]*\}\}|\[\[.*?\]\]|\[Op:[^\]]*\](\s*name:.*)?$")
_FRAMES = ("Graph execution error", "Detected at node", "File ", "<stack traces", "Traceback", "(most recent")


def _said(error: Any) -> str:
    """What TensorFlow says of the matter: the first line that is no frame of a stack, without the names of its own nodes."""
    text = (error.message or str(error)).partition("Traceback (most recent call last)")[0]
    text = re.sub(r"Error in user-defined function passed to .*?: Iterator::\S+: ", "", text)
    for line in text.splitlines():
        said = _NOISE.sub("", line).strip()
        if said and not line.startswith("    ") and not said.startswith(_FRAMES):
            return f"{type(error).__name__}: {said[:500]}"
    return type(error).__name__


def _in_source_order(dataset: Any) -> bool:
    """Whether the n-th element is the source's n-th."""
    while kind(dataset) in _ORDERED:
        dataset = dataset._input_dataset
    return _is_source(dataset)


def _is_source(dataset: Any) -> bool:
    return not dataset._inputs() or kind(dataset) in _READERS or is_generator(dataset)


def _source_of(dataset: Any) -> Any:
    """The one source of a dataset; None where several are joined."""
    while not _is_source(dataset) and len(dataset._inputs()) == 1:
        dataset = dataset._inputs()[0]
    return dataset if _is_source(dataset) else None


def _searched(dataset: Any, values: list[Any]) -> int | None:
    """Where an element is in its source, by its content: the same stages without the shuffle are gone through."""
    from tensorflow.errors import OpError

    until = time.monotonic() + SEARCH_S
    try:
        for index, element in enumerate(thin(dataset)):
            if _same(element, dataset.element_spec, values):
                return index
            if time.monotonic() > until:
                return None
    except OpError:
        return None
    return None


def _same(element: Any, spec: Any, values: list[Any]) -> bool:
    from tensorflow.python.data.util import structure

    flat = structure.to_tensor_list(spec, element)
    for first, second in _both(flat, values):
        if first.dtype != second.dtype or first.shape != second.shape or not (first.numpy() == second.numpy()).all():
            return False
    return True


def _both(flat: list[Any], values: list[Any]) -> Iterator[tuple[Any, Any]]:
    import tensorflow as tf

    for first, second in zip(flat, values, strict=True):
        if first.dtype != tf.variant:
            yield tf.reshape(first, [-1]), tf.reshape(second, [-1])


def _file_of(
    group: Group, values: list[Any], context: list[Any], index: int | None, position: int, missing: bool
) -> tuple[str | None, int | None]:
    """The file that an element comes from, and which record of it the element is. One that is missing is a file, too."""
    texts = list(_texts(values))
    for each in texts:
        if _is_file(each):
            return each, None
    if missing and len(texts) == 1:
        return texts[0], None
    outer = [each for each in _texts(context) if _is_file(each)]
    if outer:
        return outer[-1], position if _in_source_order(group.original) else None
    source = _source_of(group.original)
    if source is None:
        return None, None
    if kind(source) in _READERS:
        return _record_of(source, values if group.original is source else None, index)
    return _path_in(source, index), None


def _texts(values: list[Any]) -> Iterator[str]:
    for each in values:
        if each.dtype.name == "string" and each.shape.rank == 0:
            yield each.numpy().decode("utf-8", "surrogateescape")


def _is_file(text: str) -> bool:
    if not text or len(text) > 4096 or "\0" in text:
        return False
    try:
        return "://" in text[:12] or Path(text).exists()
    except OSError:  # a line of text is longer than any name; a folder that may not be entered
        return False


def _path_in(source: Any, index: int | None) -> str | None:
    """The path among the strings of the source's element, where the stages between have dropped it."""
    if index is None or kind(source) != "_TensorSliceDataset":
        return None
    for element in source.skip(index).take(1):
        from tensorflow import nest

        return next((each for each in _texts(nest.flatten(element)) if _is_file(each)), None)
    return None


def _record_of(source: Any, values: list[Any] | None, index: int | None) -> tuple[str | None, int | None]:
    """File and record by the record's content, or by its number where records were not shuffled."""
    from tensorflow.errors import OpError

    until, before = time.monotonic() + SEARCH_S, 0
    for name in source._filenames:
        count = 0
        try:
            for record in _one_file(source, name):
                if (values is not None and record.numpy() == values[0].numpy()) or (
                    values is None and before + count == index
                ):
                    return name.numpy().decode("utf-8", "surrogateescape"), count
                count += 1
                if time.monotonic() > until:
                    return None, None
        except OpError:
            pass
        before += count
    return None, None


def _one_file(source: Any, name: Any) -> Any:
    import tensorflow as tf

    packed = getattr(source, "_compression_type", None)
    if kind(source) == "TFRecordDatasetV2":
        return tf.data.TFRecordDataset(name, packed)
    if kind(source) == "TextLineDatasetV2":
        return tf.data.TextLineDataset(name, packed)
    return tf.data.FixedLengthRecordDataset(name, source._record_bytes, source._header_bytes, source._footer_bytes)


def _shown(values: list[Any]) -> str:
    """Inputs in short: small values as they are, others by type and shape."""
    shown = []
    for each in values[:4]:
        small = each.dtype.name != "variant" and each.shape.rank == 0
        text = (
            str(each.numpy())
            if small
            else f"{each.dtype.name}{list(each.shape) if each.shape.rank is not None else ''}"
        )
        shown.append(text[:80])
    return "value " + ", ".join(shown) + (", …" if len(values) > 4 else "")


def source_failed(dataset: Any, error: BaseException) -> ElementError | None:
    """The element of a source that cannot be read: each source is read again by itself until it fails. None where none does."""
    from tensorflow.errors import OpError

    until = time.monotonic() + SEARCH_S
    for source in _sources(dataset):
        count = 0
        for part, name in _parts(source):
            count = 0
            try:
                for count, _ in enumerate(part, 1):  # noqa: B007 the count when it fails is the answer
                    if time.monotonic() > until:
                        return None
            except OpError as again:
                fault = Fault(
                    words(Node(0, source, [])), None, count, None if name else count, name, count, _said(again)
                )
                return ElementError(str(fault), fault)
    return None


def _sources(dataset: Any) -> Iterator[Any]:
    todo, seen = [dataset], set()
    while todo:
        stage = todo.pop()
        if id(stage) in seen:
            continue
        seen.add(id(stage))
        before = list(stage._inputs())
        if _is_source(stage):
            yield stage
        else:
            todo += before


def _parts(source: Any) -> Iterator[tuple[Any, str | None]]:
    """A reader file by file; any other source whole."""
    if kind(source) not in _READERS:
        yield source, None
        return
    for name in source._filenames:
        yield _one_file(source, name), name.numpy().decode("utf-8", "surrogateescape")
