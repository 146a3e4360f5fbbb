"""The child process of `crashcart fit`: loads the user's model, traces its step, walks it, and writes what it found.

    python -m crashcart.cli.fit_child REQUEST DESCRIPTOR

Covers: everything that runs the user's code or needs TensorFlow. What that code prints goes to stderr; what is being done and
what was found goes to the given descriptor, a JSON document on each line, so that neither disturbs the other. The estimate is
written before the largest batch is sought and again after that, before remedies are tried: it is there even if one of those takes
the process with it.
Does not cover: reading options, the memory there is, printing (`fit.py`).
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from crashcart.blackbox.codec import to_plain
from crashcart.cli.child import end_with, first_to_go, told, write_line
from crashcart.cli.fit_ask import LOADING
from crashcart.cli.fit_step import Estimator, remedies, wanted
from crashcart.errors import CrashcartError
from crashcart.probe import tensorflow_load

Write = Callable[[dict[str, Any]], None]
_MODULE = "crashcart.cli.fit_child"


def main(request: dict[str, Any], write: Write, again: Callable[[str], None]) -> None:
    """Answer a request: phases, then the step, then the remedies; or the error with its help and exit code."""
    try:
        _answer(request, write)
    except CrashcartError as error:
        if isinstance(error, tensorflow_load.NeedsWeightsError) and not request.get("weights"):
            again(str(error))
        write(told(error))
    except Exception as error:
        write(told(error))
        if os.environ.get("CRASHCART_DEBUG"):
            raise
    write({"done": True})


def _answer(request: dict[str, Any], write: Write) -> None:
    def say(phase: str) -> None:
        write({"phase": phase})

    say(LOADING)
    file, name = request["file"], request["name"]
    model, given = tensorflow_load.load(f"{file}:{name}" if name else file, weights=bool(request.get("weights")))
    estimator = Estimator(model, given, request, say)
    step = estimator.estimated()
    step = replace(
        step,
        assumed=(*step.assumed, *request.get("assumed", ())),
        available_bytes=request["available_bytes"],
    )
    write({"step": to_plain(step)})
    step = estimator.searched(step)
    write({"step": to_plain(step)})
    if wanted(step, request.get("remedies")):
        for each in remedies(model, given, request, step, say, lambda text: write({"note": text})):
            write({"remedy": to_plain(each)})


def _again(request: dict[str, Any], descriptor: int, reason: str) -> None:
    """In place of this process, one that allocates the weights."""
    changed = request | {"weights": True, "assumed": [f"its weights were allocated: {reason}"]}
    os.set_inheritable(descriptor, True)
    os.execv(sys.executable, [sys.executable, "-m", _MODULE, json.dumps(changed), str(descriptor)])


def _run(request: dict[str, Any], descriptor: int) -> None:
    """Its answers are its own alone, and an interrupt is for the one that asked, who ends it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if request.get("parent") is not None:
        end_with(request["parent"])
    first_to_go()
    os.set_inheritable(descriptor, False)
    os.dup2(2, 1)

    def write(message: dict[str, Any]) -> None:
        write_line(descriptor, message)

    main(request, write, lambda reason: _again(request, descriptor, reason))


if __name__ == "__main__":
    tensorflow_load.quiet()
    try:
        _run(json.loads(sys.argv[1]), int(sys.argv[2]))
    except BaseException:
        import traceback

        traceback.print_exc()
        os._exit(1)
    os._exit(0)  # what the user's code left running is not ours to wait for
