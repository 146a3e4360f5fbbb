"""What a model may be named by, read without running anything.

Covers: `FILE.py:NAME`, `package.module:NAME`, saved models; telling what is wrong with any other; which backend of Keras a
file sets for itself.
Does not cover: loading (`tensorflow_load`). Neither TensorFlow nor the user's code is imported here.
"""

from __future__ import annotations

import ast
import importlib.util
import os
import re
import sys
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from crashcart.errors import UsageError

_SAVED = (".keras", ".h5", ".hdf5")
_MODULE = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*\Z")
_BACKEND = "KERAS_BACKEND"
_EXAMPLE = "Such as train.py:build_model."


class Backend(Enum):
    """What a file says about the backend of Keras."""

    OPEN = "nothing"
    TENSORFLOW = "tensorflow"
    OTHER = "another"
    LATER = "something that only running it can tell"


@dataclass(frozen=True, slots=True)
class Target:
    """What was named. `place` is a file or a dotted module; `name` is empty for a saved model."""

    place: str
    name: str = ""
    is_file: bool = True
    saved: bool = False

    @property
    def file_name(self) -> str:
        """The name by which the user's own lines are known in a traceback."""
        return Path(self.place).name if self.is_file else f"{self.place.rpartition('.')[2]}.py"

    def source(self) -> str:
        """The text of the file or module; empty where there is none."""
        path = Path(self.place) if self.is_file else _origin(self.place)
        return path.read_text(encoding="utf-8", errors="replace") if path is not None else ""


def read_target(text: str) -> Target:
    """What the text names, as far as that can be told from outside. Raises UsageError for what it cannot be."""
    place, colon, name = text.rpartition(":")
    if not colon or not name.isidentifier():
        return _unnamed(text)
    if Path(place).suffix in _SAVED:
        raise UsageError(f"{place} is a saved model, and has no {name}", f"Write {place} alone.")
    if place.endswith(".ipynb"):
        raise _notebook(place)
    if Path(place).is_dir():
        raise UsageError(f"{place} is a directory", f"Write FILE.py:{name}, such as {Path(place) / 'train.py'}:{name}.")
    if place.endswith(".py") or os.sep in place or Path(place).is_file():
        if not Path(place).is_file():
            raise UsageError(f"there is no file {place}", "Write FILE.py:NAME, such as train.py:build_model.")
        return Target(place, name)
    if not _MODULE.match(place):
        raise UsageError(f"received {text!r}; expected FILE.py:NAME, MODULE:NAME or a .keras file", _EXAMPLE)
    if _origin(place) is None:
        raise UsageError(
            f"there is no module {place} here or on Python's path",
            f"Write FILE.py:{name}, or go where {place} can be imported.",
        )
    return Target(place, name, is_file=False)


def _unnamed(text: str) -> Target:
    path = Path(text)
    if text.endswith(".weights.h5"):
        raise UsageError(
            f"{text} has weights alone, and no model", "Name the function that builds the model: FILE.py:NAME."
        )
    if path.suffix == ".ipynb":
        raise _notebook(text)
    if path.is_dir() and ((path / "saved_model.pb").is_file() or (path / "keras_metadata.pb").is_file()):
        raise UsageError(
            f"{text} is a SavedModel, which has no train step", "Save the model as .keras, or name its builder."
        )
    if path.suffix in _SAVED:
        if not path.is_file():
            raise UsageError(f"there is no file {text}", "Write FILE.py:NAME, or the path of a .keras file.")
        return Target(text, saved=True)
    if path.suffix in (".tflite", ".onnx", ".pb", ".pt", ".pth", ".safetensors"):
        raise UsageError(
            f"{text} is not a model that Keras can train", "Name the function that builds it: FILE.py:NAME."
        )
    if path.is_dir():
        raise UsageError(f"{text} is a directory; expected FILE.py:NAME", _EXAMPLE)
    if path.suffix == ".py" and path.is_file():
        found = _defined(path)
        listed = f"; {text} defines {', '.join(found)}" if found else ""
        raise UsageError(
            f"received {text!r}; expected FILE.py:NAME{listed}",
            f"Such as {text}:{found[0] if found else 'build_model'}.",
        )
    raise UsageError(f"received {text!r}; expected FILE.py:NAME, MODULE:NAME or a .keras file", _EXAMPLE)


def _notebook(place: str) -> UsageError:
    return UsageError(
        f"{place} is a notebook, and running all of it may train",
        "In a cell of it, write `import crashcart as cc; cc.fit(model, batch_size=64)`; "
        "or move the function that builds the model to a .py file.",
    )


def _defined(path: Path) -> list[str]:
    """What the file defines at its top level, so far as it may build a model."""
    try:
        body = ast.parse(path.read_text(encoding="utf-8", errors="replace")).body
    except (SyntaxError, ValueError):
        return []
    return [each.name for each in body if isinstance(each, ast.FunctionDef) and not each.name.startswith("_")][:8]


def _origin(module: str) -> Path | None:
    """The file of a module, without importing it (only the packages above it are)."""
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError, AttributeError):
        return None
    return Path(spec.origin) if spec is not None and spec.origin and spec.has_location else None


def backend_named_in(source: str) -> Backend:
    """Which backend the source sets for Keras. Comments and docstrings set none."""
    try:
        found = [each for node in ast.walk(ast.parse(source)) for each in _settings(node)]
    except (SyntaxError, ValueError):  # it will not run either
        return Backend.OPEN
    if not found:
        return Backend.OPEN
    if None in found or len({value for value, _ in filter(None, found)}) > 1:
        return Backend.LATER
    value, unless = found[0] or ("", False)
    if unless and _BACKEND in os.environ:
        return Backend.OPEN
    return Backend.TENSORFLOW if value == "tensorflow" else Backend.OTHER


def _settings(node: ast.AST) -> list[tuple[str, bool] | None]:
    """The backends that this node alone sets, and whether only where none is set yet; None for one that it does not spell out."""
    if isinstance(node, ast.Assign) and any(_is_entry(each) for each in node.targets):
        return [_spelled(node.value, False)]
    if isinstance(node, ast.Dict):
        return [None for key in node.keys if _is_name(key)]
    if not isinstance(node, ast.Call):
        return []
    called = getattr(node.func, "attr", getattr(node.func, "id", ""))
    if called == "setdefault" and len(node.args) == 2 and _is_name(node.args[0]):
        return [_spelled(node.args[1], True)]
    named = any(each.arg == _BACKEND for each in node.keywords) or (
        called == "putenv" and any(map(_is_name, node.args))
    )
    return [None] if named or called == "set_backend" else []


def _is_entry(target: ast.expr) -> bool:
    return isinstance(target, ast.Subscript) and _is_name(target.slice)


def _is_name(value: ast.expr | None) -> bool:
    return isinstance(value, ast.Constant) and value.value == _BACKEND


def _spelled(value: ast.expr, unless: bool) -> tuple[str, bool] | None:
    return (value.value, unless) if isinstance(value, ast.Constant) and isinstance(value.value, str) else None
