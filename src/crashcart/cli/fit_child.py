"""The child process of `crashcart fit`: loads the user's model, traces its step, walks it, and writes what it found.

    python -m crashcart.cli.fit_child REQUEST DESCRIPTOR

Covers: everything that runs the user's code or needs TensorFlow. What that code prints goes to stderr; the answer goes to the
given descriptor as one JSON document, so that neither disturbs the other.
Does not cover: reading options, the memory there is, printing (`fit.py`).
"""

from __future__ import annotations

import json
import os
import sys
import time
from dataclasses import asdict
from typing import Any

from crashcart.errors import CannotCheckError, CrashcartError, UsageError
from crashcart.fit.estimate import estimate, largest_batch
from crashcart.probe import tensorflow_load
from crashcart.probe.tensorflow_specs import SpecsNeededError, batch_specs
from crashcart.probe.tensorflow_trace import Trace


def main(request: dict[str, Any]) -> dict[str, Any]:
    """The answer to a request: the step as plain values, or the error with its help and exit code."""
    try:
        return {"step": _step(request)}
    except CrashcartError as error:
        return {"error": str(error), "help": error.help, "exit_code": error.exit_code}


def _step(request: dict[str, Any]) -> dict[str, Any]:
    model, given = tensorflow_load.load(request["file"], request["name"])
    began_s = time.monotonic()
    phase, batch, cores = request["phase"], request["batch"], os.cpu_count() or 1
    trace = _traced(model, given, phase, request["shapes"])
    found = asdict(estimate(trace.at(batch), phase, batch, cores))
    limit_bytes = request["available_bytes"]
    if limit_bytes is not None:
        known = {batch: found["high_bytes"]}
        found["largest_batch"] = largest_batch(
            lambda each: estimate(trace.at(each), phase, each, cores).high_bytes, known, limit_bytes
        )
    return found | {"seconds": time.monotonic() - began_s}


def _traced(model: Any, given: Any, phase: str, shapes: Any) -> Trace:
    if phase == "train" and not model.compiled:
        raise UsageError(
            "the model is not compiled, so that it has no train step", "Compile it, or say --phase predict."
        )
    if getattr(model, "_jit_compile", None) is True:
        raise CannotCheckError(
            "the model is compiled with jit_compile=True: XLA plans its memory itself, and that plan cannot be traced",
            "Compile it with jit_compile=False to see what it takes without XLA.",
        )
    try:
        specs = batch_specs(model, given, phase, shapes)
    except SpecsNeededError as error:
        raise UsageError(
            str(error), "Give the shape of one example, such as --shape 224,224,3, once for each input."
        ) from None
    try:
        return Trace(model, specs, phase)
    except Exception as error:
        first = (str(error).strip().splitlines() or [""])[0]
        raise CannotCheckError(
            f"the {phase} step cannot be traced: {type(error).__name__}: {first[:300]}",
            "See that `model.fit` runs on one small batch; if it does, return (model, example_batch) from the function.",
        ) from error


if __name__ == "__main__":
    tensorflow_load.quiet()
    answers = os.fdopen(int(sys.argv[2]), "w")
    os.dup2(2, 1)
    answers.write(json.dumps(main(json.loads(sys.argv[1]))))
    answers.close()
    os._exit(0)  # what the user's code left running is not ours to wait for
