"""A model that Keras saved, with what it was compiled with, and without its weights where those are not needed.

Covers: `.keras` (the configuration in it is all that is read without weights) and the older `.h5`.
Does not cover: SavedModel directories and files of weights alone, which carry no train step (`tensorflow_target` says so).
"""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

from crashcart.errors import CannotCheckError, UsageError


def saved_model(path: Path, weights: bool) -> Any:
    """The model in that file."""
    import keras

    try:
        if path.suffix == ".keras" and not weights:
            return keras.saving.deserialize_keras_object(_configuration(path))
        return keras.saving.load_model(path)
    except (UsageError, CannotCheckError):
        raise
    except Exception as error:
        raise CannotCheckError(f"{path} cannot be loaded: {_first_line(error)}", _help(path, str(error))) from error


def _configuration(path: Path) -> dict[str, Any]:
    try:
        with zipfile.ZipFile(path) as archive:
            found: dict[str, Any] = json.loads(archive.read("config.json"))
    except (zipfile.BadZipFile, KeyError, ValueError) as error:
        raise UsageError(
            f"{path} is not a model saved by Keras 3: {_first_line(error)}", "Save it with `model.save('model.keras')`."
        ) from error
    return found


def _help(path: Path, message: str) -> str:
    load, why = (
        f"keras.saving.load_model({path.name!r})",
        "If it has layers of your own, write a function that imports them and",
    )
    if "ambda" in message and "safe" in message:
        load = f"keras.saving.load_model({path.name!r}, safe_mode=False)"
        why = "It has code of its own in it. Write a function that"
    return f"{why} returns `{load}`, and name that: FILE.py:NAME."


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines() or [""]
    return f"{type(error).__name__}: {lines[0][:300]}"
