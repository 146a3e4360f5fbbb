"""The same model, changed so that its step takes less memory, each change with a trace of its own.

Covers: mixed precision, gradient accumulation, rematerialisation, a smaller input, an optimizer with fewer slots,
half the batch where no gradient depends on it, and the sizes of quantised and pruned models. A change is made when
its trace is asked for, on a twin or a rebuilt model without allocated weights; the given model stays as it is. What
does not go with the model is left out, with the reason.
Does not cover: what a changed step takes (`fit/`), or doing it (`remedy/`, whose functions are handed in: tools
import no rooms).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from crashcart.errors import CrashcartError
from crashcart.graph import Graph
from crashcart.probe import tensorflow_rebuilt as rebuilt
from crashcart.probe.tensorflow_passes import Passes, pass_batch, traced
from crashcart.probe.tensorflow_sizes import Size, pruned, tflite, variable_bytes
from crashcart.probe.tensorflow_specs import batch_specs
from crashcart.probe.tensorflow_twin import passes_of, twin
from crashcart.probe.tensorflow_weights import unallocated

PASSES = (2, 4)
# Fewer slots than Adam's two: SGD without momentum has none; Keras' Lion and Adafactor have one of the weights' size each
# (Adafactor's factors come on top of a full accumulator in Keras 3, so that it saves no more than Lion).
OPTIMIZERS = (
    ("SGD", "keras.optimizers.SGD(0.01)", "no slot at all; needs another learning rate, and mostly more epochs"),
    ("Lion", "keras.optimizers.Lion(1e-4)", "one slot; a learning rate about a tenth of Adam's"),
    ("Adafactor", "keras.optimizers.Adafactor()", "one slot in Keras, and small factors"),
)


@dataclass(frozen=True, slots=True)
class Variant:
    """One change. `trace()` gives the changed step at the batch of all passes together."""

    name: str
    how: str
    note: str | None
    make: Callable[[], Any]
    batch: int | None = None
    """That of the changed step, where it is not the step's own."""
    pass_batch: int | None = None
    """That of each pass, where the change makes passes."""
    size_bytes: int | None = None
    """The model's file after the change, where that is what changes."""
    size_before_bytes: int | None = None

    def trace(self) -> Any:
        """The changed step; CannotCheckError and others where the change does not go with the model."""
        return self.make()


class Variants:
    """An iterator over the variants; `left_out` has the names of those that do not go with the model, and why."""

    def __init__(self, found: Iterator[Variant], left_out: list[tuple[str, str]]) -> None:
        self._found, self.left_out = found, left_out

    def __iter__(self) -> Variants:
        return self

    def __next__(self) -> Variant:
        return next(self._found)


def variants(model: Any, given: Any, phase: str, shapes: Any, batch: int, remedies: Any = None) -> Variants:
    """The changes that may help a step of that phase at that batch. `remedies` has `accumulate` and `remat`."""
    left_out: list[tuple[str, str]] = []
    maker = _Maker(model, given, phase, shapes, batch, remedies, left_out)
    found = {"train": maker.of_training, "evaluate": maker.of_evaluation}.get(phase, maker.of_prediction)
    return Variants(found(), left_out)


class _Maker:
    def __init__(
        self,
        model: Any,
        given: Any,
        phase: str,
        shapes: Any,
        batch: int,
        remedies: Any,
        left_out: list[tuple[str, str]],
    ) -> None:
        self.model, self.given, self.phase, self.shapes = model, given, phase, shapes
        self.batch, self.remedies, self.left_out = batch, remedies, left_out
        self._passes = passes_of(model) if phase == "train" else 1
        self._plain: Any = None

    def of_training(self) -> Iterator[Variant]:
        yield from self._precisions()
        yield from self._accumulated()
        yield from self._recomputed()
        yield from self._optimizers()
        yield from self._smaller()

    def of_evaluation(self) -> Iterator[Variant]:
        yield from self._halved("chunked evaluation", "model.evaluate(x, y, batch_size={batch})")
        yield from self._precisions()
        yield from self._smaller()

    def of_prediction(self) -> Iterator[Variant]:
        yield from self._halved("chunked predict", "cc.remedy.chunked_predict(model, x, batch={batch})")
        yield from self._precisions()
        yield from self._smaller()
        yield from self._sizes()

    def _leave(self, name: str, reason: str) -> None:
        self.left_out.append((name, reason))

    def _precisions(self) -> Iterator[Variant]:
        for policy, note in (
            ("mixed_float16", "made for GPUs with tensor cores, faster there; keep the last activation in float32"),
            ("mixed_bfloat16", "for TPUs, newer GPUs and CPUs with AMX; 8 bits of precision, no loss scaling"),
        ):
            if self.model.dtype_policy.name == policy:
                continue
            reason = rebuilt.refused(self.model)
            if reason:
                self._leave(policy, reason)
                continue
            how = f'keras.config.set_dtype_policy("{policy}")  # before the model is built'
            yield Variant(policy, how, note, partial(self._rebuilt_trace, rebuilt.with_policy, policy))

    def _smaller(self) -> Iterator[Variant]:
        name = "smaller input"
        halves = rebuilt.halved_inputs(self.model)
        reason = rebuilt.refused(self.model) or (None if halves else "no input is an image")
        if reason:
            self._leave(name, reason)
            return
        height, width = halves[0]
        yield Variant(
            name,
            f"keras.Input(({height}, {width}, …)) and keras.layers.Resizing({height}, {width}) in the input pipeline",
            "another model: details below two pixels are lost; weights of convolutions stay, those behind Flatten do not",
            partial(self._rebuilt_trace, rebuilt.with_halved_inputs, None),
        )

    def _rebuilt_trace(self, build: Callable[..., Any], argument: Any) -> Any:
        with unallocated():
            changed = build(self.model, argument)
            # What was given describes the old shapes; a rebuilt model tells its own.
            own = self.given if build is rebuilt.with_policy else None
            shapes = self.shapes if build is rebuilt.with_policy else None
            return traced(changed, batch_specs(changed, own, self.phase, shapes), self.phase, self._passes)

    def _accumulated(self) -> Iterator[Variant]:
        refused = self._refused_by("accumulate", lambda: self.remedies.accumulate(twin(self.model), PASSES[0]))
        for steps in PASSES:
            name = f"accumulation in {steps} passes"
            if refused is not None:
                self._leave(name, refused)
            elif self.batch < steps:
                self._leave(name, f"a batch of {self.batch} has no {steps} parts")
            elif steps <= self._passes:
                self._leave(name, f"the model has {self._passes} passes already")
            else:
                yield Variant(
                    name,
                    f"cc.remedy.accumulate(model, {steps})  # the batch in fit() stays {self.batch}",
                    "the same update; a little more time per example. BatchNormalization sees batches of "
                    f"{pass_batch(self.batch, steps)}, Dropout draws for each pass",
                    partial(self._accumulated_trace, steps),
                    pass_batch=pass_batch(self.batch, steps),
                )

    def _refused_by(self, name: str, remedy: Callable[[], Any]) -> str | None:
        """Why a remedy does not go with the model; None where it does."""
        if getattr(self.remedies, name, None) is None:
            return "no remedies were handed in"
        try:
            remedy()
        except Exception as error:  # of the user's own model, too
            return str(error) if isinstance(error, CrashcartError) else f"{type(error).__name__}: {error}"
        return None

    def _accumulated_trace(self, steps: int) -> Passes:
        return Passes(self._same(), self.model, self._specs(self.model), steps)

    def _recomputed(self) -> Iterator[Variant]:
        refused = self._refused_by("remat", lambda: self.remedies.remat(self.model))
        if refused is not None:
            self._leave("remat", refused)
            return
        yield Variant(
            "remat",
            "model = cc.remedy.remat(model)  # then fit() as before",
            "the same update; about one more forward pass, +25 … 35 % time",
            lambda: self._traced(self.remedies.remat(self.model), self._passes),
        )

    def _traced(self, changed: Any, passes: int) -> Any:
        with unallocated():
            return traced(changed, self._specs(changed), self.phase, passes)

    def _specs(self, model: Any) -> Any:
        return batch_specs(model, self.given, self.phase, self.shapes)

    def _optimizers(self) -> Iterator[Variant]:
        import keras

        own = getattr(self.model, "optimizer", None)
        if own is None:
            return
        with unallocated():
            slots_bytes = _slots_bytes(own, self.model)
            others = [(each, _slots_bytes(getattr(keras.optimizers, each[0])(), self.model)) for each in OPTIMIZERS]
        for (name, code, note), other_bytes in others:
            if other_bytes >= slots_bytes * 0.9:
                self._leave(name, "it has no fewer slots than the model's own optimizer")
                continue
            how = f"model.compile({code}, …)  # in place of {type(own).__name__}"
            yield Variant(name, how, note, partial(self._optimized, name))

    def _optimized(self, name: str) -> Any:
        import keras

        with unallocated():
            changed = twin(self.model)
            other = getattr(keras.optimizers, name)()
            if isinstance(self.model.optimizer, keras.optimizers.LossScaleOptimizer):
                other = keras.optimizers.LossScaleOptimizer(other)
            vars(changed)["optimizer"] = other
            return traced(changed, self._specs(changed), self.phase, self._passes)

    def _halved(self, name: str, how: str) -> Iterator[Variant]:
        if self.batch < 2:
            self._leave(name, "the batch is one example")
            return
        half = -(-self.batch // 2)
        yield Variant(name, how.format(batch=half), "the same result", self._same, batch=half)

    def _same(self) -> Any:
        """The step without passes."""
        if self._plain is None:
            self._plain = self._traced(twin(self.model) if self._passes > 1 else self.model, 1)
        return self._plain

    def _sizes(self) -> Iterator[Variant]:
        before = sum(variable_bytes(each) for each in self.model.weights)
        for kind, how, note in (
            (
                "float16",
                "converter.target_spec.supported_types = [tf.float16]",
                "weights are rounded; CPUs unpack them",
            ),
            ("int8", "converter.optimizations = [tf.lite.Optimize.DEFAULT]", "weights of large layers in 8 bits"),
        ):
            found = tflite(self.model.weights, kind)
            yield Variant(
                f"TFLite {kind}",
                f"tf.lite.TFLiteConverter.from_keras_model(model); {how}",
                f"{note}; another runtime, for inference only: activations are taken as TensorFlow's",
                partial(self._resized, found),
                size_bytes=found.bytes,
                size_before_bytes=before,
            )
        yield Variant(
            "pruning to 50 %",
            "set the smaller half of each kernel to zero while training on, save, and compress (gzip)",
            "saves disk and download only: at run time the zeros take as much memory as before",
            self._same,
            size_bytes=pruned(self.model.weights).bytes,
            size_before_bytes=before,
        )

    def _resized(self, size: Size) -> _Resized:
        return _Resized(self._same(), size)


class _Resized:
    """A step whose weights have other sizes."""

    def __init__(self, trace: Any, size: Size) -> None:
        self._trace, self._size = trace, size

    def at(self, batch: int) -> Graph:
        graph: Graph = self._trace.at(batch)
        changed = [
            replace(each, bytes=self._size.of(each.bytes, each.drawn)) if each.kind == "weights" else each
            for each in graph.variables
        ]
        return replace(graph, variables=tuple(changed))


def _slots_bytes(optimizer: Any, model: Any) -> int:
    if not optimizer.built:
        optimizer = type(optimizer).from_config(optimizer.get_config())
        optimizer.build(model.trainable_variables)
    return sum(variable_bytes(each) for each in optimizer.variables)
