"""The child process of `crashcart pipeline`: builds the user's dataset, reads it, and looks at a few real elements.

    python -m crashcart.cli.pipeline_child REQUEST HOLD DESCRIPTOR

Covers: everything that runs the user's code or needs TensorFlow. What is being done and what was found goes to the
descriptor, a JSON document on each line. The pipeline is written before its elements are looked at: it is there even if
one of those takes the process with it.
Does not cover: reading options, the estimate, printing (`pipeline.py`).
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Callable
from typing import Any

from crashcart.blackbox.codec import to_plain
from crashcart.cli.child import told, write_line
from crashcart.cli.contained import Hold
from crashcart.errors import CannotCheckError, CrashcartError
from crashcart.probe import tensorflow_load
from crashcart.probe.own_memory import status_bytes

Say = Callable[[dict[str, Any]], None]
LOADING = "building the dataset"
_PATIENCE_S = 15.0


def main(request: dict[str, Any], say: Say) -> None:
    """Answer a request: phases, the pipeline, then the pipeline with what was measured; or the error."""
    try:
        _answer(request, say)
    except CrashcartError as error:
        say(told(error))
    except Exception as error:
        say(told(error))
        if os.environ.get("CRASHCART_DEBUG"):
            raise
    say({"done": True})


def _answer(request: dict[str, Any], say: Say) -> None:
    from crashcart.probe.tensorflow_dataset import read_all
    from crashcart.probe.tensorflow_dataset_load import of_value
    from crashcart.probe.tensorflow_dataset_measure import Limits, measure_all

    say({"phase": "starting TensorFlow"})
    before_bytes = _started()
    say({"phase": LOADING})
    value = tensorflow_load.load_value(request["target"], "a dataset")
    datasets = of_value(value, f"{request['target']} gives")
    say({"built_bytes": max(0, status_bytes("VmRSS") - before_bytes), "phase": "reading the pipeline"})
    pipeline = read_all(datasets)
    say({"pipeline": to_plain(pipeline)})
    limits = Limits(total_s=request["measure_s"])
    _give_up_after(request["measure_s"] + _PATIENCE_S, say)
    measured = measure_all(datasets, pipeline, limits, lambda phase: say({"phase": phase}))
    say({"pipeline": to_plain(measured)})


def _give_up_after(seconds: float, say: Say) -> None:
    """An element that never comes cannot be interrupted, but what was read stands."""

    def give_up() -> None:
        say({"note": f"elements did not come within {seconds:.0f} s: what would have been measured is not known"})
        os._exit(0)

    timer = threading.Timer(seconds, give_up)
    timer.daemon = True
    timer.start()


def _started() -> int:
    """TensorFlow as it is in any program that uses it; what the process holds then."""
    try:
        import tensorflow as tf
    except ImportError as error:
        raise CannotCheckError(f"TensorFlow cannot be imported: {error}", "See `crashcart doctor --import`.") from error
    for _ in tf.data.Dataset.range(2).map(lambda each: each + 1).batch(2):
        continue
    return status_bytes("VmRSS")


def _run(request: dict[str, Any], hold: Hold, descriptor: int) -> None:
    """Its answers are its own alone, and an interrupt is for the one that asked, who ends it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.set_inheritable(descriptor, False)

    def say(message: dict[str, Any]) -> None:
        write_line(descriptor, message)

    hold.enter(say)
    main(request, say)


if __name__ == "__main__":
    tensorflow_load.quiet()
    try:
        _run(json.loads(sys.argv[1]), Hold(**json.loads(sys.argv[2])), int(sys.argv[3]))
    except BaseException:
        import traceback

        traceback.print_exc()
        os._exit(1)
    os._exit(0)  # what the user's code left running is not ours to wait for
