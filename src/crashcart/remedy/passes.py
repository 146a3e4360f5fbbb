"""Training at a batch in several smaller passes, with one update of the weights.

Covers: Keras' own train step, cut into passes inside the step, so that `fit` and everything around it stays as it is:
the same gradient as with the whole batch (mean over all examples, also where the batch does not divide; sums, sample
weights and masks by `shares.py`), metrics, loss scaling, clipping, any optimizer.
Does not cover: models with a `train_step` or `compute_loss` of their own, sparse and ragged inputs: all are refused.
BatchNormalization takes its statistics from each pass, Dropout draws for each pass: with those, training is as sound as
before but not the same to the last digit.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from crashcart.errors import UsageError
from crashcart.probe.tensorflow_twin import FUNCTIONS
from crashcart.remedy.shares import MaskSeen, Shares, check_reductions, kind


def accumulate(model: Any, steps: int) -> Any:
    """Train in `steps` passes over each batch from now on; the model itself is changed, and returned. `steps=1` undoes it.

    The batch that `fit` is given stays the batch of one update; each pass takes a `steps`-th of it. Compile before or after, and
    train with `fit` as always.
    """
    if not isinstance(steps, int) or isinstance(steps, bool) or steps < 1:
        raise UsageError(f"received steps={steps!r}; expected a whole number of passes, such as 4")
    _check(model)
    vars(model).pop("train_step", None)
    if steps > 1:
        vars(model)["train_step"] = _step(model, steps)
    vars(model).update(dict.fromkeys(FUNCTIONS))
    return model


_OWN = {
    "train_step": "which cannot be cut into passes from outside",
    "compute_loss": "which may be a mean over the examples or a sum: the passes could add up to another gradient",
}


def _is_own(model: Any, method: str, usual: Any) -> bool:
    """Whether a class or the model itself has another method; passes of an earlier call are none."""
    placed = vars(model).get(method)
    return getattr(type(model), method) is not usual or (placed is not None and not hasattr(placed, "passes"))


def _check(model: Any) -> None:
    import keras
    from keras.src.backend.tensorflow.trainer import TensorFlowTrainer

    if not isinstance(model, keras.Model):
        raise UsageError(f"received an object of type {type(model).__name__}; expected a keras.Model")
    for method, reason in _OWN.items():
        if _is_own(model, method, getattr(TensorFlowTrainer, method)):
            raise UsageError(
                f"{type(model).__name__} has a {method} of its own, {reason}",
                "Use the optimizer's own gradient_accumulation_steps=…, and a batch that is as many times smaller.",
            )
    if getattr(getattr(model, "optimizer", None), "gradient_accumulation_steps", None):
        raise UsageError(
            "the optimizer accumulates gradients itself (gradient_accumulation_steps)",
            "Use one of the two: remove that argument, and keep the batch of one update.",
        )


def _check_dense(data: Any) -> None:
    """UsageError for a batch that is not made of plain tensors.

    The gradient of a layer that multiplies a sparse tensor has each row once. Those of several passes have a row several
    times, and Keras' optimizers square them one by one: with Adam, weights differed by 1 % after six updates.
    """
    import keras
    import tensorflow as tf

    for each in keras.tree.flatten(data):
        if isinstance(each, (tf.SparseTensor, tf.RaggedTensor)):
            raise UsageError(
                f"the batch holds a {type(each).__name__}; passes are cut from plain tensors alone",
                "Make it dense in the pipeline: dataset.map(lambda x, y: (tf.sparse.to_dense(x), y)).",
            )


def _step(model: Any, steps: int) -> Any:
    import tensorflow as tf

    known = _Known()

    def train_step(data: Any) -> Any:
        check_reductions(model)
        _check_dense(data)
        _build(model, data)
        while True:
            try:
                return _Passes(model, steps, data, known).train()
            except MaskSeen:
                known.masked = True
            except _SparseSeen as seen:
                known.sparse = seen.types

    made = tf.autograph.experimental.do_not_convert(train_step)
    made.passes = steps  # what `passes_of` reads
    return made


@dataclass(slots=True)
class _Known:
    """What only tracing a pass tells; the step is traced once more with it."""

    masked: bool = False
    """A loss is taken over a mask: the valid entries are counted first."""
    sparse: dict[int, Any] = field(default_factory=dict)
    """Weights whose gradient is rows with their numbers (embeddings), and the type of those numbers. They are kept like that:
    Keras' optimizers square such rows one by one, so that rows that were added up would give another update."""


class _SparseSeen(BaseException):
    """Some gradients are rows with their numbers. Not an Exception, like MaskSeen."""

    def __init__(self, types: dict[int, Any]) -> None:
        super().__init__(types)
        self.types = types


def _build(model: Any, data: Any) -> None:
    """Make what the first step of Keras' own would make on its way: weights, slots, the losses' and metrics' structure."""
    holders = (model._compile_loss, model._compile_metrics)
    if not all(each.built for each in model._flatten_layers()) or any(each and not each.built for each in holders):
        model._symbolic_build(data_batch=data)


class _Passes:
    """One step over one batch."""

    def __init__(self, model: Any, steps: int, data: Any, known: _Known) -> None:
        import keras
        import tensorflow as tf

        self.model, self.known = model, known
        self.data = keras.utils.unpack_x_y_sample_weight(data)
        first = next(each for each in keras.tree.flatten(self.data[0]) if each is not None)
        self.rows = tf.shape(first)[0]
        batch = first.shape[0]
        # A size that is known before the step runs gives fixed shapes in the passes, which XLA needs.
        self.fixed = batch // steps if batch is not None and batch % steps == 0 and batch else None
        self.size = self.fixed or (self.rows + steps - 1) // steps

    def train(self) -> Any:
        import tensorflow as tf
        from keras.src.losses.loss import unscale_loss_for_distribution

        model = self.model
        shares = Shares(model, self.rows, self._totals() if self.known.masked else None, self.data)
        weights = model.trainable_weights
        connected = [False] * len(weights)

        def one(start: Any, sums: Any, loss: Any) -> Any:
            part, gradients = self._one(start, shares, weights)
            for number, each in enumerate(gradients):
                connected[number] |= each is not None
            found = [_added(*pair) for pair in zip(sums, gradients, strict=True)]
            return start + self.size, found, loss + part

        begin = (tf.constant(0), [self._nothing(*each) for each in enumerate(weights)], tf.zeros((), kind()))
        shapes = (tf.TensorShape([]), [self._shape(*each) for each in enumerate(weights)], tf.TensorShape([]))
        _, sums, loss = tf.while_loop(
            lambda start, *_: start < self.rows, one, begin, shape_invariants=shapes, parallel_iterations=1
        )
        model._loss_tracker.update_state(unscale_loss_for_distribution(loss), sample_weight=self.rows)
        gradients = [
            _whole(total, weight) if used else None
            for total, weight, used in zip(sums, weights, connected, strict=True)
        ]
        model.optimizer.apply_gradients(zip(gradients, weights, strict=True))
        return model.get_metrics_result()

    def _nothing(self, number: int, weight: Any) -> Any:
        import tensorflow as tf

        if number not in self.known.sparse:
            # Zeros as a constant would stay in memory between the steps; these are known only when the step runs.
            zero = tf.minimum(tf.convert_to_tensor(self.model.optimizer.iterations), 0)
            return tf.fill(weight.shape, tf.cast(zero, weight.dtype))
        return tf.zeros([0, *weight.shape[1:]], weight.dtype), tf.zeros([0], self.known.sparse[number])

    def _shape(self, number: int, weight: Any) -> Any:
        import tensorflow as tf

        whole = tf.TensorShape(weight.shape)
        if number not in self.known.sparse:
            return whole
        return tf.TensorShape([None, *whole[1:]]), tf.TensorShape([None])

    def _one(self, start: Any, shares: Shares, weights: Any) -> tuple[Any, Any]:
        import tensorflow as tf

        model = self.model
        x, y, sample_weight, rows = self._part(start)
        with tf.GradientTape() as tape:
            y_pred = self._forward(x, training=True)
            with shares.of(rows):
                loss = model._compute_loss(x=x, y=y, y_pred=y_pred, sample_weight=sample_weight, training=True)
            loss = tf.cast(loss, kind()) * (tf.cast(rows, kind()) / tf.cast(self.rows, kind()))
            scaled = model.optimizer.scale_loss(loss)
        gradients = tape.gradient(scaled, weights)
        sparse = {
            number: each.indices.dtype for number, each in enumerate(gradients) if isinstance(each, tf.IndexedSlices)
        }
        if sparse.keys() - self.known.sparse.keys():
            raise _SparseSeen(sparse)
        model.compute_metrics(x, y, y_pred, sample_weight=sample_weight)
        return loss, gradients

    def _forward(self, x: Any, training: bool) -> Any:
        return self.model(x, training=training) if self.model._call_has_training_arg else self.model(x)

    def _part(self, start: Any) -> tuple[Any, Any, Any, Any]:
        import keras
        import tensorflow as tf

        count = self.fixed or tf.minimum(self.size, self.rows - start)

        def rows_of(each: Any) -> Any:
            if each is None:
                return None
            begin = tf.concat([[start], tf.zeros([each.shape.rank - 1], tf.int32)], 0)
            size = tf.concat([[count], tf.fill([each.shape.rank - 1], -1)], 0)
            part = tf.slice(each, begin, size)
            part.set_shape([self.fixed, *each.shape[1:]])
            return part

        x, y, sample_weight = keras.tree.map_structure(rows_of, self.data)
        return x, y, sample_weight, count

    def _totals(self) -> Any:
        """What the whole batch's losses are divided by, where masks say so: counted in passes without gradients, of which
        TensorFlow runs only what the masks depend on."""
        import tensorflow as tf

        def one(start: Any, sums: Any) -> Any:
            x, y, sample_weight, _ = self._part(start)
            counts = Shares.counts(self.model, y, self._forward(x, training=False), sample_weight)
            return start + self.size, [left + right for left, right in zip(sums, counts, strict=True)]

        zeros = [tf.zeros((), kind()) for _ in self.model._compile_loss._flat_losses]
        return tf.while_loop(lambda start, *_: start < self.rows, one, (tf.constant(0), zeros), parallel_iterations=1)[
            1
        ]


def _added(total: Any, gradient: Any) -> Any:
    import tensorflow as tf

    if gradient is None:
        return total
    if isinstance(total, tuple):
        values, indices = total
        return tf.concat([values, gradient.values], 0), tf.concat([indices, gradient.indices], 0)
    return total + tf.ensure_shape(tf.convert_to_tensor(gradient), total.shape)


def _whole(total: Any, weight: Any) -> Any:
    import tensorflow as tf

    return tf.IndexedSlices(*total, tf.constant(list(weight.shape))) if isinstance(total, tuple) else total
