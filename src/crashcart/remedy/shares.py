"""What one pass contributes to the loss of the whole batch.

Covers: the reductions of Keras' losses. A mean over examples is divided by the rows, which is what a pass is weighted
with from outside (`passes.py`); a sum, a mean over sample weights and a mean over the valid entries of a mask are
divided by something else, and get a factor here. Losses of layers (`add_loss`, regularizers) are means or do not
depend on the batch: no factor.
Does not cover: `reduction=None`, a `compute_loss` of the model's own (`passes.py` refuses both), and loss functions that compare
examples of one batch with each other or give a sum as one number.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from crashcart.errors import UsageError

_MEANS = ("sum_over_batch_size", "mean")


class MaskSeen(BaseException):
    """A loss is taken over a mask, and the valid entries of the whole batch were not counted yet. Not an Exception: Keras'
    and the user's own `except` clauses have nothing to do with it."""


def check_reductions(model: Any) -> None:
    """UsageError where a loss gives out one value per example."""
    for loss in _losses(model):
        if getattr(loss, "reduction", "mean") in (None, "none"):
            raise UsageError(
                f"the loss {loss.name} has reduction={loss.reduction!r}, so that its value has no share per pass",
                'Say reduction="sum" to train on the same gradient.',
            )


def _losses(model: Any) -> list[Any]:
    """The losses that the model was compiled with, by name where they are not built yet."""
    import keras

    holder = model._compile_loss
    known = getattr(holder, "_flat_losses", None)
    return [each.loss for each in known] if known else keras.tree.flatten(getattr(holder, "_user_loss", None))


class Shares:
    """The factors of one batch's losses, by pass."""

    def __init__(self, model: Any, rows: Any, totals: Any, data: Any) -> None:
        self.model, self.rows, self.totals = model, rows, totals
        self.sample_weight = data[2]

    @contextmanager
    def of(self, rows: Any) -> Iterator[None]:
        """Within, each of the model's losses is multiplied by its factor for a pass of that many rows."""
        holder = self.model._compile_loss
        kept = getattr(holder, "_flat_losses", None)
        if not kept:
            yield
            return
        holder._flat_losses = [
            each._replace(loss=_Share(each.loss, each.path, number, self, rows)) for number, each in enumerate(kept)
        ]
        try:
            yield
        finally:
            holder._flat_losses = kept

    def factor(self, share: _Share, y_true: Any, y_pred: Any, sample_weight: Any) -> Any:
        """By which the loss of a pass has to be multiplied; None where the rows say it all."""
        import tensorflow as tf

        reduction = share.loss.reduction
        part = tf.cast(share.rows, kind()) / tf.cast(self.rows, kind())
        if reduction == "sum":
            return 1.0 / part
        mask = _mask(share.loss, y_true, y_pred)
        if mask is not None:
            if self.totals is None:
                raise MaskSeen
            count = _count(share.loss, y_true, y_pred, sample_weight)
            return tf.math.divide_no_nan(count, self.totals[share.number]) / part
        if reduction in _MEANS or sample_weight is None:
            return None
        whole = _at(self.sample_weight, share.path)
        return tf.math.divide_no_nan(_sum(sample_weight), _sum(whole)) / part

    @staticmethod
    def counts(model: Any, y: Any, y_pred: Any, sample_weight: Any) -> list[Any]:
        """What each loss of a pass is divided by. The losses see their inputs as `CompileLoss` hands them over."""
        import tensorflow as tf

        holder, found = model._compile_loss, []
        kept = holder._flat_losses

        def noting(loss: Any, path: Any) -> Any:
            def call(y_true: Any, predicted: Any, weight: Any) -> Any:
                found.append(_count(loss, y_true, predicted, weight))
                return tf.zeros((), kind())

            return call

        metrics, holder._metrics = holder._metrics, [None] * len(kept)
        holder._flat_losses = [each._replace(loss=noting(each.loss, each.path)) for each in kept]
        try:
            holder(y, y_pred, sample_weight)
        finally:
            holder._flat_losses, holder._metrics = kept, metrics
        return found


class _Share:
    """A loss of one pass, as its share of the whole batch's."""

    def __init__(self, loss: Any, path: Any, number: int, shares: Shares, rows: Any) -> None:
        self.loss, self.path, self.number, self.shares, self.rows = loss, path, number, shares, rows

    def __call__(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
        import tensorflow as tf

        factor = self.shares.factor(self, y_true, y_pred, sample_weight)
        value = self.loss(y_true, y_pred, sample_weight)
        return value if factor is None else value * tf.cast(factor, value.dtype)


def _at(structure: Any, path: Any) -> Any:
    import keras

    if structure is None or not keras.tree.is_nested(structure):
        return structure
    for step in path:
        structure = structure[step]
    return structure


def _sum(weights: Any) -> Any:
    import tensorflow as tf

    return tf.reduce_sum(tf.cast(weights, kind()))


def _mask(loss: Any, y_true: Any, y_pred: Any) -> Any:
    """The mask that Keras would apply: of the predictions, and of the values where the loss leaves out a class."""
    import tensorflow as tf

    own = getattr(y_pred, "_keras_mask", None)
    if getattr(loss, "ignore_class", None) is None:
        return own
    values = loss.call(tf.convert_to_tensor(y_true), tf.convert_to_tensor(y_pred))
    theirs = getattr(values, "_keras_mask", None)
    if own is None or theirs is None:
        return own if theirs is None else theirs
    return tf.cast(own, tf.bool) & tf.cast(theirs, tf.bool)


def _count(loss: Any, y_true: Any, y_pred: Any, sample_weight: Any) -> Any:
    import tensorflow as tf

    mask = _mask(loss, y_true, y_pred)
    if mask is None:
        # Rows of a pass over the rows of the batch, or weights over weights: as without a mask.
        plain = loss.reduction in _MEANS or sample_weight is None
        return tf.cast(tf.shape(y_pred)[0], kind()) if plain else _sum(sample_weight)
    mask = tf.cast(mask, kind())
    if loss.reduction in _MEANS or sample_weight is None:
        return tf.reduce_sum(mask)
    weights = tf.cast(sample_weight, kind())
    while weights.shape.rank < mask.shape.rank:
        weights = weights[..., tf.newaxis]
    return tf.reduce_sum(mask * weights)


def kind() -> Any:
    """The type that losses are added up in: Keras' own for losses."""
    import keras
    import tensorflow as tf

    return tf.as_dtype(keras.config.floatx())
