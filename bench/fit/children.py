"""A function of a bench in a child of its own, and the rows that it says.

Covers: starting the child, in a memory group where a limit is given; rows as marked lines of JSON on its stdout, among whatever
TensorFlow prints there; a model of the zoo with what comes with it, and batches for it. Does not cover: what is measured.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

from bench.group import enter, memory_group

MARK = "row "
TIMEOUT_S = 1800.0


def answers(
    module: str, call: str, limit_mb: int | None = None, variables: Mapping[str, str] = {}
) -> tuple[list[dict[str, Any]], int]:
    """What `call`, a function of the module with its arguments, says in a child, and how that ended. `variables` are set in its
    environment."""
    with memory_group(limit_mb) as group:
        done = subprocess.run(
            [sys.executable, "-c", f"import {module} as bench; bench.{call}"],
            env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "2", **variables},
            stdout=subprocess.PIPE,
            text=True,
            preexec_fn=lambda: enter(group),
            timeout=TIMEOUT_S,
        )
    if done.returncode:
        print(f"{call}: the child ended with {done.returncode}", flush=True)
    return [
        json.loads(line.removeprefix(MARK)) for line in done.stdout.splitlines() if line.startswith(MARK)
    ], done.returncode


def say(row: dict[str, Any]) -> None:
    """In the child: one row."""
    print(MARK + json.dumps(row), flush=True)


def made(name: str) -> tuple[Any, Any]:
    """A model of the zoo, and what was given with it."""
    from bench.fit import zoo

    found = getattr(zoo, name)()
    return found if isinstance(found, tuple) else (found, None)


def dataset(specs: Any, batch: int) -> Any:
    """Batches made one at a time, whose first dimension is not known before."""
    import tensorflow as tf

    def filled(count: Any, spec: Any) -> Any:
        shape = tf.concat([[count], tf.constant(spec.shape[1:].as_list(), tf.int32)], 0)
        value = tf.zeros(shape, spec.dtype) if spec.dtype.is_integer else tf.random.uniform(shape, dtype=spec.dtype)
        return tf.ensure_shape(value, spec.shape)

    def made(count: Any) -> Any:
        return _tuples(tf.nest.map_structure(lambda spec: filled(count, spec), specs))

    options = tf.data.Options()
    options.autotune.enabled = False
    return tf.data.Dataset.from_tensors(batch).repeat().map(made).with_options(options)


def _tuples(structure: Any) -> Any:
    """A dataset takes a list for one tensor."""
    return tuple(_tuples(each) for each in structure) if isinstance(structure, (list, tuple)) else structure


def versions() -> str:
    """What a truth holds for."""
    from importlib.metadata import version

    return f"tensorflow {version('tensorflow-cpu')}, keras {version('keras')}"
