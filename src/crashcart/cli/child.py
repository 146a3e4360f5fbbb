"""What every child that runs the user's code does: it goes first where memory runs out, does not stay behind, and answers.

Covers: the kernel's choice of whom to kill, a watch on the parent, answers as lines of JSON, errors
there and back, and the environment that such a child is started with.
Does not cover: limits (`contained.py`).
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from crashcart.errors import CannotCheckError, CrashcartError, UsageError

_LOOK_S = 1.0


def first_to_go() -> None:
    """If the memory runs out, this process is the one to go, and not the one that asked."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")


def end_with(parent: int) -> None:
    """Whoever kills our parent cannot be told; a child that eats memory must not stay behind. The parent says who it is: it
    may be gone before we ask."""
    if os.getppid() != parent:
        os._exit(1)
    threading.Thread(target=_watch, args=(parent,), daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_LOOK_S)
    os._exit(1)


def told(error: Exception) -> dict[str, Any]:
    """An error as a message to the one that asked: with its help and exit code, or as a fault of our own."""
    if isinstance(error, CrashcartError):
        return {"error": str(error), "help": error.help, "exit_code": error.exit_code}
    words = f"a fault of its own: {type(error).__name__}: {error}"
    return {"error": words, "help": CrashcartError.help, "exit_code": CrashcartError.exit_code}


def retold(message: Mapping[str, Any]) -> CrashcartError:
    """The error that a child told, as it was."""
    kinds: dict[int, type[CrashcartError]] = {each.exit_code: each for each in (UsageError, CannotCheckError)}
    return kinds.get(message["exit_code"], CrashcartError)(message["error"], message["help"])


def without_gpu() -> dict[str, str]:
    """The environment of a child that only looks: no GPU is needed for that, and none must be taken."""
    quiet = {"TF_CPP_MIN_LOG_LEVEL": os.environ.get("TF_CPP_MIN_LOG_LEVEL", "2")}
    return {**os.environ, "CUDA_VISIBLE_DEVICES": "-1", **quiet}


def write_line(descriptor: int, message: dict[str, Any]) -> None:
    """A JSON document on a line of its own, whole."""
    data = json.dumps(message).encode() + b"\n"
    while data:
        data = data[os.write(descriptor, data) :]
