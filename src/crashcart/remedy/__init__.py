"""Can it live with less? Ways to train and run a model that need less memory and give the same result.

    cc.remedy.accumulate(model, 4)              the batch in four passes, one update
    cc.remedy.remat(model)                      activations are computed again instead of kept
    cc.remedy.chunked_predict(model, x, budget="1GiB")
    cc.remedy.chunked_evaluate(model, x, y, batch=64)
    cc.remedy.chunked_matmul(a, b, budget="1GiB")

Covers: what changes how a step is run, on Keras 3 with TensorFlow. Does not cover: what a step takes (`fit/`), smaller batches,
mixed precision and other optimizers, which are one line of Keras each. Nothing heavy is imported before a function is called.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from crashcart.remedy.matmul import chunked_matmul
    from crashcart.remedy.passes import accumulate
    from crashcart.remedy.predict import chunked_evaluate, chunked_predict
    from crashcart.remedy.rematerialise import remat

__all__ = ["accumulate", "chunked_evaluate", "chunked_matmul", "chunked_predict", "remat"]

_HOMES = {
    "accumulate": "passes",
    "remat": "rematerialise",
    "chunked_predict": "predict",
    "chunked_evaluate": "predict",
    "chunked_matmul": "matmul",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"crashcart.remedy has no {name}; it has {', '.join(__all__)}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
