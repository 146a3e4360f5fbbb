"""A few real steps of a Keras model at a batch size, and what they held at their peak.

Covers: the moment before the model is built; batches made from specs, or from what the user gave where made ones will not do;
Keras' own steps (eager, compiled by XLA, or of the user's own); the allocator's own peak on a GPU, or on a CPU on the allocator
that GPUs use; the peak of the process in `fit`, `evaluate` and `predict`.
Does not cover: limits, and what to do with the figures. Meant for a contained child process: the model is the user's, and is run.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from typing import Any

from crashcart.errors import UsageError
from crashcart.probe import tensorflow_load
from crashcart.probe.own_memory import forget_peak, status_bytes
from crashcart.probe.tensorflow_sizes import variable_bytes
from crashcart.probe.tensorflow_specs import SpecsNeededError, described

# The rows that are kept of an example batch; they are repeated to make a batch of any size.
_ROWS = 8
# TensorFlow's own first tensor opens it.
_FIRST_PIECE_BYTES = 2 << 20
_SHAPE_HELP = "Give the shape of one example, such as --shape 224,224,3, once for each input."


def at_first_layer(then: Callable[[], None]) -> None:
    """Call that at the moment before the first layer is made: everything is imported by then, nothing of a model is there."""
    import keras

    kind = keras.layers.Layer
    kept = kind.__dict__["__new__"]

    def first(cls: Any, *arguments: Any, **options: Any) -> Any:
        kind.__new__ = kept
        then()
        forget_peak()
        return kind.__new__(cls, *arguments, **options)

    kind.__new__ = staticmethod(first)


def limit_device(limit_bytes: int) -> None:
    """Let TensorFlow take no more than that of the first GPU; on a CPU, let its allocator, which was given that limit by the
    environment, take it as TensorFlow does on a GPU: in one piece and at once, so that nothing is lost between pieces."""
    import tensorflow as tf

    gpus = tf.config.list_physical_devices("GPU")
    if gpus:
        options = tf.config.LogicalDeviceConfiguration(memory_limit=limit_bytes >> 20)
        tf.config.set_logical_device_configuration(gpus[0], [options])
        return
    # It is not touched, and given back to the allocator at once. Less might leave a second piece: they are powers of two.
    rest_bytes = ((limit_bytes >> 20) << 20) - _FIRST_PIECE_BYTES
    with contextlib.suppress(tf.errors.ResourceExhaustedError):
        tf.raw_ops.Empty(shape=[max(0, rest_bytes)], dtype=tf.uint8, init=False)


def is_exhausted(error: BaseException | None) -> bool:
    """Whether it says that memory ran out."""
    import tensorflow as tf

    return isinstance(error, (MemoryError, tf.errors.ResourceExhaustedError))


class Trial:
    """A model that is run."""

    def __init__(self, file: str, name: str, phase: str, shapes: Any) -> None:
        self._model, self._given = tensorflow_load.load(file, name)
        self._phase = phase
        self._example: Any = None
        self._building_bytes: int | None = None
        if phase != "predict" and not self._model.compiled:
            raise UsageError(
                f"the model is not compiled, so that it has no {phase} step", "Compile it, or say --phase predict."
            )
        try:
            batch = described(self._model, self._given, phase, shapes)
        except SpecsNeededError as error:
            raise UsageError(str(error), _SHAPE_HELP) from None
        self._specs, self.assumed = batch.specs, list(batch.assumed)
        if not _are_whole(self._specs) and not self._use_example():
            raise UsageError("the shape of one example is not known in full", _SHAPE_HELP)

    def facts(self) -> dict[str, int]:
        """After a run: what stays between steps, by kind, and what one example of the input takes."""
        import tensorflow as tf

        slots = getattr(getattr(self._model, "optimizer", None), "variables", ())
        return {
            "weights": sum(variable_bytes(each) for each in self._model.weights),
            "optimizer": sum(variable_bytes(each) for each in slots),
            "input": sum(_example_bytes(each) for each in tf.nest.flatten(self._specs)),
            "gpus": len(tf.config.list_logical_devices("GPU")),
        }

    def run(self, batch: int, steps: int, plainly: bool) -> dict[str, Any]:
        """The peaks of that many steps after a first one, which builds things. `plainly` runs them by `fit`, `evaluate` or
        `predict`, as a user would; else by the function below those, one at a time, as the device's truths are measured."""
        try:
            return self._run(batch, steps, plainly)
        except Exception as error:
            if is_exhausted(error) or self._example is not None or not self._use_example():
                raise
            self.assumed = ["the step refused a batch that was made up; rows of the given data were used"]
            return self._run(batch, steps, plainly)

    def _run(self, batch: int, steps: int, plainly: bool) -> dict[str, Any]:
        data = _batches(self._specs, self._example, batch)
        self._model.predict_function = None  # it is traced for one batch; one for several holds more
        run = self._plain_runner(data) if plainly else self._single_runner(iter(data))
        run(1)
        if self._building_bytes is None:
            self._building_bytes = status_bytes("VmHWM")
        began_s = time.monotonic()
        peaks = run(steps)
        return {
            "batch": batch,
            "device_bytes": max(peaks, default=0) or None,
            "held_bytes": _device_memory().get("current"),
            "process_bytes": status_bytes("VmHWM"),
            "building_bytes": self._building_bytes,
            "seconds": (time.monotonic() - began_s) / steps,
        }

    def _plain_runner(self, data: Any) -> Callable[[int], list[int]]:
        model = self._model

        def run(steps: int) -> list[int]:
            _forget_device_peak()
            if self._phase == "train":
                model.fit(data, steps_per_epoch=steps, verbose=0)
            elif self._phase == "evaluate":
                model.evaluate(data, steps=steps, verbose=0)
            else:
                model.predict(data, steps=steps, verbose=0)
            return [_device_memory().get("peak", 0)]

        return run

    def _single_runner(self, iterator: Any) -> Callable[[int], list[int]]:
        step = self._function()

        def run(steps: int) -> list[int]:
            peaks = []
            for _ in range(steps):
                _forget_device_peak()
                step(iterator)
                peaks.append(_device_memory().get("peak", 0))
            return peaks

        return run

    def _function(self) -> Callable[[Any], Any]:
        model = self._model
        if self._phase == "train":
            model.make_train_function()
            return lambda iterator: model.train_function(iterator)
        if self._phase == "evaluate":
            model.make_test_function()
            return lambda iterator: model.test_function(iterator)
        model.make_predict_function()
        return lambda iterator: model.predict_function([next(iterator)])

    def _use_example(self) -> bool:
        """Rows of the user's own data; False where there is none."""
        self._example = _rows(self._given, self._phase)
        return self._example is not None


def _device() -> str:
    import tensorflow as tf

    return "GPU:0" if tf.config.list_logical_devices("GPU") else "CPU:0"


def _device_memory() -> dict[str, int]:
    """Empty where the device's allocator does not count."""
    import tensorflow as tf

    try:
        found: dict[str, int] = tf.config.experimental.get_memory_info(_device())
    except ValueError:
        return {}
    return found


def _forget_device_peak() -> None:
    import tensorflow as tf

    try:
        tf.config.experimental.reset_memory_stats(_device())
    except ValueError:
        return


def _example_bytes(spec: Any) -> int:
    return int((spec.shape[1:].num_elements() or 0) * spec.dtype.size)


def _are_whole(specs: Any) -> bool:
    """Whether batches can be made from the specs alone."""
    import tensorflow as tf

    flat = tf.nest.flatten(specs)
    return all(type(each) is tf.TensorSpec and each.shape[1:].is_fully_defined() for each in flat)


def _rows(given: Any, phase: str) -> Any:
    """The first rows of what the user gave: of an example batch, or of the first batch of a dataset; None without data."""
    import numpy as np
    import tensorflow as tf

    if isinstance(given, tf.data.Dataset):
        given = next(iter(given.take(1)), None)
    flat = tf.nest.flatten(given)
    if any(each is None or isinstance(each, tf.TypeSpec) for each in flat):
        return None
    found = tf.nest.map_structure(lambda each: np.asarray(each)[:_ROWS], given)
    found = tuple(found) if isinstance(found, (tuple, list)) else (found,)
    return found[:1] if phase == "predict" else found


def _batches(specs: Any, example: Any, batch: int) -> Any:
    """Batches made one at a time, whose first dimension is not known before: no step is traced again for another size."""
    import tensorflow as tf

    def make(count: Any) -> Any:
        if example is not None:
            return _tuples(tf.nest.map_structure(lambda rows: _repeated(count, rows), example))
        return _tuples(tf.nest.map_structure(lambda spec: _made(count, spec), specs))

    options = tf.data.Options()
    options.autotune.enabled = False
    return tf.data.Dataset.from_tensors(batch).repeat().map(make).with_options(options)


def _tuples(structure: Any) -> Any:
    """A dataset takes a list for one tensor."""
    if isinstance(structure, dict):
        return {name: _tuples(each) for name, each in structure.items()}
    if isinstance(structure, (list, tuple)):
        return tuple(_tuples(each) for each in structure)
    return structure


def _repeated(count: Any, rows: Any) -> Any:
    import tensorflow as tf

    value = tf.gather(rows, tf.range(count) % rows.shape[0])
    return tf.ensure_shape(value, [None, *rows.shape[1:]])


def _made(count: Any, spec: Any) -> Any:
    import tensorflow as tf

    shape = tf.concat([[count], tf.constant(spec.shape[1:].as_list(), tf.int32)], 0)
    if spec.dtype.is_floating:
        value = tf.cast(tf.random.uniform(shape), spec.dtype)
    else:
        value = tf.fill(shape, "") if spec.dtype == tf.string else tf.zeros(shape, spec.dtype)
    return tf.ensure_shape(value, [None, *spec.shape[1:]])
