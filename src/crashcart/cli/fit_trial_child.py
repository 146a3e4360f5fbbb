"""The child process of a trial: enters its hold, builds the user's model, runs a few steps, and says what they took.

    python -m crashcart.cli.fit_trial_child REQUEST HOLD DESCRIPTOR

Covers: everything of a trial that runs the user's code. Each answer is a line of JSON, written at once: what was measured before
a death is not lost with it, and the last `trying` says at which batch it came.
Does not cover: limits (`contained.py`), and what the figures mean (`fit_trial.py`).
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any, TextIO

from crashcart.cli.contained import Hold
from crashcart.errors import CrashcartError
from crashcart.fit.measured import Point, next_size
from crashcart.probe.tensorflow_said import said

Say = Callable[[dict[str, Any]], None]


def main(request: dict[str, Any], hold: Hold, say: Say) -> None:
    """Try the batches that the request names, or as many as are worth it."""
    hold = hold.enter(say)
    from crashcart.probe import tensorflow_trial

    try:
        if request.get("device_limit_bytes") is not None:
            tensorflow_trial.limit_device(request["device_limit_bytes"])
        tensorflow_trial.at_first_layer(lambda: say({"before_bytes": hold.begin()}))
        trial = tensorflow_trial.Trial(request["file"], request["name"], request["phase"], request.get("shapes"))
        _tried(trial, request, hold, say)
    except Exception as error:
        _tell(error, tensorflow_trial.is_exhausted(error) or tensorflow_trial.is_exhausted(error.__cause__), say)


def _tell(error: Exception, exhausted: bool, say: Say) -> None:
    """Memory that ran out is an answer, while the model is built, too; what is wrong with the model is told as ever."""
    if isinstance(error, CrashcartError) and not exhausted:
        say({"error": str(error), "help": error.help, "exit_code": error.exit_code})
        return
    refused = (each for each in str(error).splitlines() if "OOM when allocating" in each)
    oom = next(refused, None)
    name = "" if isinstance(error, CrashcartError) else f"{type(error).__name__}: "
    say({"raised": said(error) if oom is None else f"{name}{oom.strip()[:300]}", "exhausted": exhausted})


def _tried(trial: Any, request: dict[str, Any], hold: Hold, say: Say) -> None:
    points: list[Point] = []
    for batch in _batches(request, hold, points):
        say({"trying": batch})
        found = trial.run(batch, request["steps"], request["plainly"])
        say({"point": found})
        if not points:
            say({"facts": trial.facts(), "assumed": trial.assumed})
        points.append(Point(batch, found["process_bytes"]))
    say({"done": True, "assumed": trial.assumed})


def _batches(request: dict[str, Any], hold: Hold, points: list[Point]) -> Iterator[int]:
    """Those that were named; else the next small one as long as it surely fits, by the points that were found so far."""
    if request["sizes"]:
        yield from request["sizes"]
        return
    while (batch := next_size(points, request["batch"], hold.most_bytes)) is not None:
        yield batch


def _to(stream: TextIO) -> Say:
    def say(answer: dict[str, Any]) -> None:
        stream.write(json.dumps(answer) + "\n")
        stream.flush()

    return say


if __name__ == "__main__":
    answers = os.fdopen(int(sys.argv[3]), "w", encoding="ascii")
    main(json.loads(sys.argv[1]), Hold(**json.loads(sys.argv[2])), _to(answers))
    sys.stdout.flush()
    os._exit(0)  # what the user's code left running is not ours to wait for
