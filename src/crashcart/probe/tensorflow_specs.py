"""The shapes and types of one batch of a Keras model, without any data.

Covers: inputs from the model itself or from what the caller gives (TensorSpecs, arrays, a dataset, shapes), targets from
the outputs and the losses the model was compiled with; dimensions that are left open are assumed, and that is said. The
batch dimension is None throughout.
Does not cover: tracing (`tensorflow_trace`). TensorFlow and Keras are imported when a function is called, not before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Number
from typing import Any
from weakref import WeakKeyDictionary

from crashcart.errors import CannotCheckError, UsageError
from crashcart.probe.tensorflow_inputs import (
    built_inputs,
    input_type,
    known_inputs,
    lacking,
    plain_structure,
    symbolic_inputs,
)
from crashcart.probe.tensorflow_said import said
from crashcart.probe.tensorflow_weights import as_loaded

Shapes = Sequence[Sequence[int | None]]

# A text or series of a length that the model leaves open, and an image: what most public models are trained with.
_LENGTH, _SIDE = 128, 224


_LIVE = (
    "Give an example batch, cc.fit(model, data=(x[:2], y[:2])), or the shape of one example for each input, "
    "cc.fit(model, shapes=[(224, 224, 3)])."
)


class SpecsNeededError(UsageError):
    """The shapes of a batch cannot be told from the model; the message says which are missing."""

    help = (
        "Give the shape of one example, such as --shape 224,224,3, once for each input; or return the model with TensorSpecs: "
        "`return model, tf.TensorSpec((None, 224, 224, 3))`."
    )
    live_help = _LIVE
    """The same where the model lives in the caller's own process."""

    def __init__(self, message: str, help: str | None = None, live_help: str = _LIVE) -> None:
        super().__init__(message, help)
        self.live_help = live_help


class NotTakenError(CannotCheckError):
    """The model cannot be called on such a batch."""

    help = "Return the model together with an example batch or TensorSpecs: `return model, (x, y)`."
    live_help = _LIVE


@dataclass(frozen=True, slots=True)
class Batch:
    """One batch as Keras hands it to the step: `(x,)` to predict, `(x, y)` or more to train; x itself to a step of the model's
    own that is given nothing else."""

    specs: Any
    assumed: tuple[str, ...] = ()
    """What had to be assumed, in words."""


def batch_specs(model: Any, given: Any, phase: str, shapes: Shapes | None = None) -> Any:
    """The specs of one batch."""
    return described(model, given, phase, shapes).specs


def described(model: Any, given: Any, phase: str, shapes: Shapes | None = None) -> Batch:
    """The specs of one batch, and what was assumed for them."""
    assumed: list[str] = []
    bare = True
    if given is not None:
        specs, bare = _from_example(model, given)
        specs = (_closed(specs[0], shapes, assumed), *specs[1:])
    else:
        specs = (_input_specs(model, shapes, assumed),)
    if phase == "predict":
        return _batch(specs[:1], assumed)
    own = _has_own_step(model, phase)
    if len(specs) == 1 and (given is None or not own):
        specs = (*specs, *_targets(model, specs[0], own, assumed))
    if own and bare and len(specs) == 1 and not isinstance(specs[0], (list, tuple)):
        return _batch(specs[0], assumed)
    return _batch((specs[0], *(_closed(each, None, assumed, "the target") for each in specs[1:])), assumed)


def _batch(specs: Any, assumed: list[str]) -> Batch:
    import tensorflow as tf

    plain = tf.nest.map_structure(lambda each: tf.TensorSpec(each.shape, each.dtype), specs)
    return Batch(plain, tuple(assumed))


def _targets(model: Any, inputs: Any, own: bool, assumed: list[str]) -> tuple[Any, ...]:
    """The targets of a batch of which the inputs alone are known; none where the model has a step of its own, and cannot be
    called as a whole (a GAN)."""
    try:
        found = _target_specs(model, inputs)
    except CannotCheckError:
        if not own:
            raise
        assumed.append("a batch of inputs without targets: the model has a step of its own, and no outputs as a whole")
        return ()
    if own:
        assumed.append("targets shaped like the outputs")
    return (found,)


def _has_own_step(model: Any, phase: str) -> bool:
    import keras

    name = "train_step" if phase == "train" else "test_step"
    return getattr(type(model), name) is not getattr(keras.Model, name)


def _from_example(model: Any, given: Any) -> tuple[tuple[Any, ...], bool]:
    """The parts of a batch, and whether it is x alone rather than a tuple."""
    import keras
    import tensorflow as tf

    if isinstance(given, (tf.data.Dataset, tf.data.Iterator)):
        found = tf.nest.map_structure(_open_batch, given.element_spec)
        _check_batched(model, _unpacked(model, given.element_spec)[0])
    else:
        one = given[0] if isinstance(given, keras.utils.PyDataset) else given
        found = tf.nest.map_structure(_without_batch, one)
    return _unpacked(model, found), not isinstance(found, (list, tuple))


def _check_batched(model: Any, inputs: Any) -> None:
    """Raise where the dataset gives single examples. Keras itself adds a last dimension of 1 that is missing."""
    import tensorflow as tf

    told = known_inputs(model)
    flat, known = tf.nest.flatten(inputs), [] if told is None else tf.nest.flatten(told)
    if len(flat) != len(known):
        return
    wanted = [tf.TensorShape(each.shape) for each in known]
    if all(
        each.rank and each[-1] != 1 and given.shape.rank == each.rank - 1 and each[1:].is_compatible_with(given.shape)
        for given, each in zip(flat, wanted, strict=True)
    ):
        raise SpecsNeededError(
            f"the dataset gives single examples, of shape {tuple(flat[0].shape)}, and the model takes batches of them",
            "Call .batch(N) on the dataset: `return model, dataset.batch(32)`.",
            "Call .batch(N) on the dataset: cc.fit(model, data=dataset.batch(32)).",
        )


def _unpacked(model: Any, found: Any) -> tuple[Any, ...]:
    """As Keras takes a batch: a tuple is x, y and weights; a list is one x with several inputs."""
    inputs = symbolic_inputs(model)
    if isinstance(found, list) and not (isinstance(inputs, list) and len(inputs) == len(found)):
        found = tuple(found)
    return found if isinstance(found, tuple) else (found,)


def _open_batch(spec: Any) -> Any:
    import tensorflow as tf

    if not isinstance(spec, tf.TensorSpec):
        kind = type(spec).__name__.removesuffix("Spec")
        raise SpecsNeededError(
            f"the dataset gives {kind}s, whose size only the data tells",
            "Return the model with tf.TensorSpecs of dense tensors of that size: `return model, (x_spec, y_spec)`.",
        )
    if spec.shape.rank is None:
        raise SpecsNeededError(
            "the dataset gives tensors without a known shape",
            "Call `set_shape` where the dataset makes them, or return the model with tf.TensorSpecs.",
        )
    return tf.TensorSpec([None, *spec.shape[1:]], spec.dtype)


def _without_batch(example: Any) -> Any:
    import numpy as np
    import tensorflow as tf

    if isinstance(example, tf.TypeSpec) or tf.is_tensor(example):
        spec = example if isinstance(example, tf.TypeSpec) else tf.type_spec_from_value(example)
        return _open_batch(spec)
    array = example if hasattr(example, "shape") and hasattr(example, "dtype") else np.asarray(example)
    if not array.shape:
        what = "number" if isinstance(example, Number) else type(example).__name__
        raise SpecsNeededError(
            f"a {what} came with the model where an array of examples is expected",
            "Return the model alone, or with one dataset, example batch or TensorSpecs: `return model, dataset`.",
            _LIVE,
        )
    kind = tf.as_dtype(array.dtype)
    # Keras turns arrays of floats into its own float type.
    return tf.TensorSpec([None, *array.shape[1:]], tf.float32 if kind is tf.float64 else kind)


def _input_specs(model: Any, shapes: Shapes | None, assumed: list[str]) -> Any:
    import tensorflow as tf

    known = symbolic_inputs(model)
    if known is None and shapes:
        kind = input_type(model, assumed)
        found = [tf.TensorSpec([None, *shape], kind) for shape in shapes]
        return found[0] if len(found) == 1 else found
    known = built_inputs(model, assumed) if known is None else known
    if known is None:
        raise SpecsNeededError(lacking(model))
    specs = tf.nest.map_structure(lambda each: tf.TensorSpec([None, *each.shape[1:]], each.dtype, each.name), known)
    return _closed(specs, shapes, assumed)


def _closed(specs: Any, shapes: Shapes | None, assumed: list[str], what: str = "the input") -> Any:
    """The specs with all dimensions but the batch known: as given, or else assumed."""
    import tensorflow as tf

    flat = tf.nest.flatten(specs)
    if shapes and len(shapes) != len(flat):
        raise SpecsNeededError(
            f"the model has {len(flat)} input{'s' * (len(flat) != 1)}, and {len(shapes)} shapes were given",
            "Give --shape once for each input, in their order: "
            + ", ".join(_name(each, flat, what) for each in flat)
            + ".",
        )
    found = []
    for number, spec in enumerate(flat):
        if shapes:
            found.append(_given(spec, tuple(shapes[number]), _name(spec, flat, what)))
        else:
            found.append(_assumed(spec, _name(spec, flat, what), assumed))
    return tf.nest.pack_sequence_as(specs, found)


def _given(spec: Any, shape: tuple[int | None, ...], name: str) -> Any:
    import tensorflow as tf

    wanted = tf.TensorShape(spec.shape[1:])
    if not wanted.is_compatible_with(shape):
        raise SpecsNeededError(
            f"{name} has the shape {tuple(wanted)}, and {','.join(map(str, shape))} was given",
            "Give the shape of one example, without the batch.",
        )
    return tf.TensorSpec([None, *shape], spec.dtype, spec.name)


def _assumed(spec: Any, name: str, assumed: list[str]) -> Any:
    import tensorflow as tf

    if spec.shape.rank is None:
        raise SpecsNeededError(f"{name} has no known shape")
    opened = list(spec.shape[1:])
    if None not in opened:
        return spec
    size = _SIDE if opened.count(None) > 1 else _LENGTH
    closed = [size if each is None else each for each in opened]
    listed = ", ".join("?" if each is None else str(each) for each in opened)
    words = f"{name} of ({listed}) taken as {','.join(map(str, closed))}; --shape (cc.fit: shapes) gives another"
    assumed.append(words)
    return tf.TensorSpec([None, *closed], spec.dtype, spec.name)


def _name(spec: Any, flat: list[Any], what: str) -> str:
    return f"{what} {spec.name}" if spec.name and len(flat) > 1 else what


_produced: WeakKeyDictionary[Any, tuple[Any, Any]] = WeakKeyDictionary()


def outputs(model: Any, inputs: Any) -> Any:
    """What the model gives for such inputs, as symbols. It is built by that where it is not built yet."""
    import keras

    key = repr(inputs)
    known = _produced.get(model)
    if known is not None and known[0] == key:
        return known[1]
    made = _known_outputs(model, inputs)
    if made is None:
        symbols = keras.tree.map_structure(lambda each: keras.KerasTensor(each.shape, each.dtype.name), inputs)
        was = model.built
        try:
            with as_loaded(model):
                made = keras.src.backend.compute_output_spec(model, symbols, training=False)
        except Exception as error:
            model.built = was  # Keras takes it for built before it is called
            raise NotTakenError(f"the model does not take such a batch: {said(error)}") from error
    _produced[model] = (key, made)
    return made


def _known_outputs(model: Any, inputs: Any) -> Any:
    """The outputs that a functional model was made with, where the inputs are those it was made with too."""
    import keras
    import tensorflow as tf

    inner = getattr(model, "_functional", None) or model
    struct, calls = getattr(inner, "_outputs_struct", None), (keras.Sequential.call, keras.src.models.Functional.call)
    if struct is None or type(model).call not in calls:
        return None
    for given, own in zip(tf.nest.flatten(inputs), tf.nest.flatten(symbolic_inputs(model)), strict=True):
        if tuple(given.shape[1:]) != tuple(own.shape[1:]) or given.dtype.name != own.dtype:
            return None
    return keras.tree.map_structure(lambda each: keras.KerasTensor(each.shape, each.dtype), struct)


def _target_specs(model: Any, inputs: Any) -> Any:
    """What the losses compare the outputs with: class numbers for sparse ones, else the like of the outputs."""
    import tensorflow as tf

    produced, losses = plain_structure(outputs(model, inputs)), _losses(model)
    if isinstance(losses, (list, tuple)) and len(losses) == 1:
        losses = losses[0]
    if isinstance(losses, dict):
        return _by_name(model, produced, losses)
    flat = tf.nest.flatten(produced)
    each_loss = tf.nest.flatten(losses) if isinstance(losses, (list, tuple)) else [losses] * len(flat)
    specs = [_target(output, loss) for output, loss in zip(flat, each_loss, strict=False)]
    return tf.nest.pack_sequence_as(produced, specs)


def _by_name(model: Any, produced: Any, losses: dict[str, Any]) -> Any:
    """Targets for losses that were given by the names of the outputs."""
    import tensorflow as tf

    if isinstance(produced, dict):
        return {name: _target(output, losses.get(name)) for name, output in produced.items()}
    names = list(getattr(model, "output_names", ())) or list(losses)
    specs = [_target(each, losses.get(name)) for each, name in zip(tf.nest.flatten(produced), names, strict=False)]
    return tf.nest.pack_sequence_as(produced, specs)


def _losses(model: Any) -> Any:
    holder = getattr(model, "_compile_loss", None)
    return getattr(holder, "_user_loss", None)


def _target(output: Any, loss: Any) -> Any:
    import tensorflow as tf

    shape = [None, *output.shape[1:]] if output.shape else []
    like, sparse = tf.TensorSpec(shape), tf.TensorSpec(shape[:-1], tf.int32)
    name = loss if isinstance(loss, str) else str(getattr(loss, "name", None) or getattr(loss, "__name__", ""))
    if "sparse" in name:
        return sparse
    mine = callable(loss) and not getattr(loss, "__module__", type(loss).__module__).startswith("keras")
    if mine and not _takes(loss, like, output) and _takes(loss, sparse, output):
        return sparse
    return like


def _takes(loss: Any, target: Any, output: Any) -> bool:
    """Whether the user's own loss can be computed of such a target."""
    import keras

    try:
        symbol = keras.KerasTensor(target.shape, target.dtype.name)
        keras.src.backend.compute_output_spec(loss, symbol, output)
    except Exception:  # it is the user's code, and may raise anything
        return False
    return True
