"""A Keras model from the user's own file.

Covers: running the file without letting it train, finding the name, calling a builder, telling what is wrong with either.
Does not cover: shapes (`tensorflow_specs`) and tracing (`tensorflow_trace`). Meant for a child process: the file is the
user's, and may print, exit or die.
"""

from __future__ import annotations

import importlib.util
import inspect
import os
import re
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any

from crashcart.errors import CannotCheckError, CrashcartError, UsageError

_OWN_BACKEND = re.compile(r"KERAS_BACKEND|set_backend")
_RUNS = ("fit", "evaluate", "predict", "train_on_batch", "test_on_batch", "predict_on_batch")


class _RanOnImport(BaseException):
    """The file began to train or predict while it was being imported; no `except Exception` of its own may swallow that."""


def load(file: str, name: str) -> tuple[Any, Any]:
    """The model, and what was given with it: a dataset, an example batch or TensorSpecs; None without."""
    module = _module(Path(file))
    if not hasattr(module, name):
        found = [each for each, value in vars(module).items() if not each.startswith("_") and _may_build(value, module)]
        listed = f"; it defines {', '.join(found)}" if found else ""
        raise UsageError(f"{file} has no {name}{listed}", f"Name a model or a function that returns one: {file}:NAME.")
    made = _made(file, name, getattr(module, name))
    model, given = made if isinstance(made, tuple) and len(made) == 2 else (made, None)
    _check(file, name, model)
    return model, given


def _may_build(value: object, module: ModuleType) -> bool:
    return type(value).__name__ in ("Functional", "Sequential") or (
        inspect.isfunction(value) and value.__module__ == module.__name__
    )


def _module(path: Path) -> ModuleType:
    if not path.is_file():
        raise UsageError(f"there is no file {path}", "Write FILE.py:NAME, such as train.py:build_model.")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise UsageError(f"{path} is not a Python file", "Write FILE.py:NAME, such as train.py:build_model.")
    sys.path.insert(0, str(path.resolve().parent))
    if not _OWN_BACKEND.search(path.read_text(encoding="utf-8", errors="replace")):
        _forbid_runs()
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    try:
        spec.loader.exec_module(module)
    except _RanOnImport as ran:
        raise CannotCheckError(
            f"{path} calls {ran} while it is imported{_line(ran, path)}",
            'Move it below `if __name__ == "__main__":`, so that the file can be imported without training.',
        ) from None
    except (Exception, SystemExit) as error:
        raise CannotCheckError(
            f"importing {path} failed: {_told(error)}{_line(error, path)}", "Fix that first."
        ) from error
    _allow_runs()
    return module


_kept: dict[str, Any] = {}


def _forbid_runs() -> None:
    import keras

    for name in _RUNS:
        _kept[name] = getattr(keras.Model, name)

        def stop(*_: Any, _name: str = name, **__: Any) -> None:
            raise _RanOnImport(f"model.{_name}()")

        setattr(keras.Model, name, stop)


def _allow_runs() -> None:
    for name, method in _kept.items():
        import keras

        setattr(keras.Model, name, method)


def _made(file: str, name: str, value: Any) -> Any:
    if isinstance(value, (tuple, list)) or not callable(value) or _is_model(value):
        return value
    needed = [
        each.name
        for each in inspect.signature(value).parameters.values()
        if each.default is each.empty
        and each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)
    ]
    if needed:
        raise UsageError(
            f"{name} in {file} needs {', '.join(needed)}",
            f"Write a function without required arguments that calls it, such as `def to_fit(): return {name}(...)`.",
        )
    try:
        return value()
    except (Exception, SystemExit) as error:
        raise CannotCheckError(
            f"{name}() raised {_told(error)}{_line(error, Path(file))}", "Fix that first."
        ) from error


def _is_model(value: Any) -> bool:
    keras = sys.modules.get("keras")
    return keras is not None and isinstance(value, keras.Model)


def _check(file: str, name: str, model: Any) -> None:
    if not _is_model(model):
        raise UsageError(
            f"{name} in {file} gives {_article(type(model))}, not a Keras model",
            "Return a keras.Model, or a pair of it and a dataset, an example batch or TensorSpecs.",
        )
    import keras

    backend = keras.backend.backend()
    if backend != "tensorflow":
        raise CannotCheckError(
            f"Keras runs on {backend} here, and only steps of TensorFlow can be traced",
            "Set KERAS_BACKEND=tensorflow to see what the model takes there.",
        )


def _article(kind: type) -> str:
    return "None" if kind is type(None) else f"an object of type {kind.__module__}.{kind.__name__}"


def _told(error: BaseException) -> str:
    if isinstance(error, CrashcartError):
        return str(error)
    first = str(error).strip().splitlines()
    return f"{type(error).__name__}: {first[0]}" if first else type(error).__name__


def _line(error: BaseException, path: Path) -> str:
    """Where in the user's own file it happened."""
    own = [each for each in traceback.extract_tb(error.__traceback__) if Path(each.filename).name == path.name]
    return f" ({path.name}:{own[-1].lineno})" if own else ""


def quiet() -> None:
    """TensorFlow's own log lines say nothing about the user's model."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
