"""Children forked from a process that has imported TensorFlow and not begun to use it: the import is paid once.

Covers: starting such a child, its answers, its time, its end. TensorFlow reads the allocator's settings and starts its threads when
it is first used, so a child that sets them before that is like a fresh process on the device (`python -m bench.fit.forked` compares
the two). Does not cover: growth of the process on the host; what was imported is shared with others there, so those children are
started anew.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any

from crashcart.probe.onednn import without_onednn

Say = Callable[[dict[str, Any]], None]

_PRELOADED = ("tensorflow", "keras", "keras.applications", "crashcart.cli.fit_step", "crashcart.cli.fit_trial_child")
_QUIET = {"TF_CPP_MIN_LOG_LEVEL": "2", "CUDA_VISIBLE_DEVICES": "-1", "KERAS_BACKEND": "tensorflow"}
_LOOK_S = 1.0
STEPS = 5


def heard(
    function: Callable[..., None], arguments: tuple[Any, ...], variables: Mapping[str, str], timeout_s: float
) -> tuple[list[dict[str, Any]], str | None]:
    """What `function(say, *arguments)` says in a child with those variables, and how the child failed; None where it did not."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(_PRELOADED))
    ours, theirs = context.Pipe(duplex=False)
    child = context.Process(target=_within, args=(theirs, function, arguments, dict(variables)), daemon=True)
    with _environment(without_onednn() | _QUIET):
        child.start()
    theirs.close()
    answers, until_s = [], time.monotonic() + timeout_s
    try:
        while time.monotonic() < until_s:
            if ours.poll(_LOOK_S):
                answers.append(ours.recv())
            if "end" in (answers[-1] if answers else ()):
                return answers[:-1], answers[-1]["end"]
        child.kill()
        return answers, f"not through after {timeout_s:.0f} s"
    except EOFError:
        child.join()
        return answers, f"ended with {child.exitcode}"
    finally:
        child.join()
        ours.close()


@contextmanager
def _environment(wanted: dict[str, str]) -> Iterator[None]:
    """What the process that is forked from begins with: TensorFlow asks for its kernels when it is imported."""
    was = dict(os.environ)
    os.environ.update(wanted)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(was)


def _within(
    pipe: Connection, function: Callable[..., None], arguments: tuple[Any, ...], variables: dict[str, str]
) -> None:
    """In the child. It does not outlive the one that forked it; what TensorFlow left running is not waited for."""
    from crashcart.cli.child import end_with

    end_with(os.getppid())
    os.environ.update(variables)
    os.dup2(2, 1)
    end = None
    try:
        function(pipe.send, *arguments)
    except Exception as error:
        end = f"{type(error).__name__}: {error}"[:300]
    pipe.send({"end": end})
    os._exit(0)


def main() -> int:
    """Peaks of small models in a forked child, and in a fresh one."""
    from bench.fit.asked import fresh, ran, request

    for name, phase, batch, limit_bytes in (
        ("mlp", "train", 512, 1 << 30),
        ("conv1d", "predict", 16, 1 << 30),
        ("cnn", "train", 32, 1 << 30),
    ):
        asked = request(name, phase, batch, "device")
        print(name, phase, batch, "forked:", ran(asked, batch, limit_bytes, STEPS), flush=True)
        print(name, phase, batch, "fresh: ", fresh(asked, batch, limit_bytes, STEPS), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
