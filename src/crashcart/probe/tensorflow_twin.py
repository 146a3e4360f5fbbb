"""A second Keras model on the same layers and weights, of which single methods can be changed.

Covers: a twin that shares everything with the model it was made of (weights, optimizer, metrics) except its compiled
functions and a step in passes, which runs the model that it was made for; a class of the same name, so that both are
saved alike. Does not cover: what is changed (`remedy/`, `tensorflow_variants`).
"""

from __future__ import annotations

from types import new_class
from typing import Any

FUNCTIONS = ("train_function", "test_function", "predict_function")


def twin(model: Any, **methods: Any) -> Any:
    """A model with the attributes of the given one, whose class has the given methods in front of its own."""
    known = type(model)

    def fill(namespace: dict[str, Any]) -> None:
        namespace |= methods
        # Saved, it is the class that it was made of: what is changed is how it runs, not what it is.
        namespace |= {"__module__": known.__module__, "__qualname__": known.__qualname__, "__doc__": known.__doc__}

    kind = new_class(known.__name__, (known,), exec_body=fill)
    made: Any = object.__new__(kind)
    vars(made).update(vars(model))
    vars(made).update(dict.fromkeys(FUNCTIONS))
    if passes_of(model) > 1:
        del vars(made)["train_step"]
    return made


def passes_of(model: Any) -> int:
    """In how many passes the model's train step takes a batch; 1 where nobody cut it."""
    return int(getattr(vars(model).get("train_step"), "passes", 1))


def flat_layers(layer: Any) -> list[Any]:
    """The layer and all layers within it."""
    return list(layer._flatten_layers())
