"""Variables that take no memory: a handle with a shape and a type, and nothing behind it.

Covers: what the weights of a model, the slots of its optimizer and the variables of custom code become while
`unallocated()` holds. First values are not drawn, and what is assigned (pretrained weights) is dropped. A layer that
is called on data, which is how many models are built, is built and gives zeros. Code that looks at a value must not be
told a wrong one: it is stopped by `WeightsReadError`, and whoever loads the model begins again with real weights.
Does not cover: variables of at most `SMALL_BYTES` (counters, seeds, rates), which are real, and distribution strategies.
TensorFlow is imported when used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from math import prod
from typing import Any
from weakref import WeakSet

# Counters, rates, seeds, most biases: code that looks at a value looks at these. A thousand of them take 4 MB.
SMALL_BYTES = 4096


class WeightsReadError(BaseException):
    """Code looked at the value of a variable that has none; no `except Exception` of its own may swallow that."""


@contextmanager
def unallocated() -> Iterator[None]:
    """Variables that are made meanwhile take no memory. Those that were there before stay what they are."""
    from keras.src.backend.tensorflow import core
    from keras.src.layers.layer import Layer
    from tensorflow.python.ops import resource_variable_ops

    changes = (
        (core.Variable, "_initialize_with_initializer", _initialized),
        (core.Variable, "assign", _assigned),
        (Layer, "__call__", _called),
        (resource_variable_ops, "default_variable_creator_v2", _created),
        (resource_variable_ops, "_variable_handle_from_shape_and_dtype", _named_alike),
    )
    with ExitStack() as stack:
        for owner, name, change in changes:
            stack.callback(_replaced(owner, name, change))
        yield


def _replaced(owner: Any, name: str, change: Callable[[Any], Any]) -> Callable[[], None]:
    """Change a function in place; what is returned takes that back."""
    plain, own = getattr(owner, name), name in vars(owner)
    setattr(owner, name, change(plain))
    return lambda: setattr(owner, name, plain) if own else delattr(owner, name)


def is_unallocated(variable: Any) -> bool:
    """Whether a variable of Keras or of TensorFlow has no memory behind it."""
    return isinstance(getattr(variable, "_value", variable), _kind())


def _named_alike(plain: Callable[..., Any]) -> Callable[..., Any]:
    """TensorFlow's own way to make the handle of a variable. Outside of graphs it keeps a kernel for each name that there ever
    was, of 34 kB and a millisecond (measured on 1000 variables); the variable itself keeps its name."""

    def handle(*values: Any, **options: Any) -> Any:
        if "name" in options and options.get("graph_mode") is False:
            options["name"] = "variable"
        return plain(*values, **options)

    return handle


def _initialized(plain: Callable[[Any, Any], None]) -> Callable[[Any, Any], None]:
    """Keras' own way to make a variable from an initializer."""

    def initialize(variable: Any, initializer: Any) -> None:
        import tensorflow as tf

        kind = tf.as_dtype(variable._dtype)
        if prod(variable._shape) * kind.size <= SMALL_BYTES or tf.distribute.has_strategy():
            plain(variable, initializer)
            return
        variable._value = _kind()(
            shape=tf.TensorShape(variable._shape),
            dtype=kind,
            trainable=variable.trainable,
            name=variable.name,
            aggregation=variable._map_aggregation(variable.aggregation),
            synchronization=variable._map_synchronization(variable.synchronization),
        )

    return initialize


def _assigned(plain: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Keras' own assignment. What is dropped is not even read: pretrained weights may lie in a large file."""

    def assign(variable: Any, value: Any) -> Any:
        import tensorflow as tf

        same = tuple(getattr(value, "shape", ())) == tuple(variable.shape)
        if same and tf.executing_eagerly() and is_unallocated(variable):
            return value
        return plain(variable, value)

    return assign


def _called(plain: Callable[..., Any]) -> Callable[..., Any]:
    """Keras' own call of a layer. On data it needs values: where there are none, the layer is built, and gives zeros."""

    def call(layer: Any, *values: Any, **options: Any) -> Any:
        import tensorflow as tf
        from keras.src.backend.common import global_state

        if not tf.executing_eagerly() or global_state.get_global_attribute("current_call_ctx") is not None:
            return plain(layer, *values, **options)
        try:
            return plain(layer, *values, **options)
        except (WeightsReadError, tf.errors.FailedPreconditionError) as error:
            try:
                return _zeros(lambda *these, **those: plain(layer, *these, **those), values, options)
            except Exception:
                raise WeightsReadError(f"the outcome of calling {layer.name}") from error

    return call


def _zeros(function: Callable[..., Any], values: Any, options: Any) -> Any:
    """Zeros in the shapes of what the function would give."""
    import keras
    import tensorflow as tf
    from keras.src.backend import compute_output_spec

    def symbol(value: Any) -> Any:
        known = hasattr(value, "shape") and hasattr(value, "dtype")
        return keras.KerasTensor(value.shape, keras.backend.standardize_dtype(value.dtype)) if known else value

    values, options = keras.tree.map_structure(symbol, (values, options))
    made = compute_output_spec(function, *values, **options)
    return keras.tree.map_structure(
        lambda each: tf.zeros(each.shape, each.dtype) if isinstance(each, keras.KerasTensor) else each, made
    )


def _created(plain: Callable[..., Any]) -> Callable[..., Any]:
    """TensorFlow's own way to make a variable, for code that does without Keras' variables."""

    def create(next_creator: Any = None, **options: Any) -> Any:
        import tensorflow as tf

        value, wanted = options.get("initial_value"), options.get("dtype")
        spec = None if options.get("shape") is not None or tf.distribute.has_strategy() else _spec(value, wanted)
        if spec is None or not spec.shape.is_fully_defined():
            return plain(next_creator, **options)
        if (
            spec.dtype in (tf.string, tf.resource, tf.variant)
            or spec.shape.num_elements() * spec.dtype.size <= SMALL_BYTES
        ):
            return plain(next_creator, **options)
        kept = ("trainable", "name", "constraint", "synchronization", "aggregation")
        given = {each: options[each] for each in kept if options.get(each) is not None}
        return _kind()(shape=spec.shape, dtype=spec.dtype, **{"trainable": True, **given})

    return create


def _spec(value: Any, wanted: Any) -> Any:
    """The shape and type of a first value, which is not computed; None where that cannot be told."""
    import tensorflow as tf

    if callable(value):
        try:
            with tf.__internal__.FuncGraph("first_value").as_default():
                made = tf.convert_to_tensor(value(), dtype=wanted)
                return tf.TensorSpec(made.shape, made.dtype)
        except Exception:  # it is the user's code, and runs outside of a graph only
            return None
    if not hasattr(value, "shape") or not hasattr(value, "dtype"):
        return None
    return tf.TensorSpec(value.shape, tf.as_dtype(wanted or value.dtype))


@cache
def _kind() -> Any:
    """The type of such variables. It is made when TensorFlow is there."""
    import tensorflow as tf
    from tensorflow.python.ops.resource_variable_ops import UninitializedVariable

    class Unallocated(UninitializedVariable):  # type: ignore[misc]
        """In a graph a variable like any other. Outside of one there is nothing to read, and nothing is kept."""

        def _read_variable_op(self, no_copy: bool = False) -> Any:
            return self._stop() if tf.executing_eagerly() else super()._read_variable_op(no_copy)

        def sparse_read(self, indices: Any, name: Any = None) -> Any:
            return self._stop() if tf.executing_eagerly() else super().sparse_read(indices, name)

        def gather_nd(self, indices: Any, name: Any = None) -> Any:
            return self._stop() if tf.executing_eagerly() else super().gather_nd(indices, name)

        def _stop(self) -> None:
            raise WeightsReadError(f"the value of {self.name}, {tuple(self.shape)}")

        def is_initialized(self, name: Any = None) -> Any:
            return tf.constant(True) if tf.executing_eagerly() else super().is_initialized(name)

        def __deepcopy__(self, memo: dict[int, Any]) -> Any:
            return type(self)(shape=self.shape, dtype=self.dtype, trainable=self.trainable, name=self._shared_name)

        def __repr__(self) -> str:
            return f"<variable {self.name} without memory, shape {tuple(self.shape)}, {self.dtype.name}>"

    for name in _WRITES:
        setattr(Unallocated, name, _dropped(name))
    return Unallocated


_WRITES = ("assign", "assign_add", "assign_sub", "scatter_add", "scatter_sub", "scatter_update", "scatter_nd_update")


def _dropped(name: str) -> Callable[..., Any]:
    """A write that is dropped outside of a graph."""

    def write(variable: Any, *values: Any, **options: Any) -> Any:
        import tensorflow as tf

        if tf.executing_eagerly():
            return variable
        return getattr(super(_kind(), variable), name)(*values, **options)

    return write


_without: WeakSet[Any] = WeakSet()


def note_without_weights(model: Any) -> None:
    """The model was loaded to be traced, and will not be run: what is made for it later takes no memory either."""
    _without.add(model)


@contextmanager
def as_loaded(model: Any) -> Iterator[None]:
    """Variables that are made for the model meanwhile take memory where its own do."""
    if model in _without:
        with unallocated():
            yield
    else:
        yield
