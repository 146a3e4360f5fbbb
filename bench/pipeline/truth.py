"""What one pipeline really holds: run in a process of its own with a slow consumer, until its buffers are full.

    python -m bench.pipeline.truth NAME [--steps N] [--before N]

Covers: growth of the resident memory over the moment before the iterator is made, the most that was seen after each element once it
did not rise any more. The last line of its output is a JSON document, rewritten after each element.
Does not cover: limits (`__main__.py` puts the process into a memory group).
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import time

from bench.processes import resident_bytes

_LOOK_S, _STEADY_S, _LONGEST_S = 0.1, 3.0, 240.0
_STEADY_BYTES = 256 << 10
"""Elements of strings come slowly: a few hundred in a second, of a few hundred bytes each, are still filling a buffer."""


def settled() -> int:
    """What is resident once it has not risen for three seconds."""
    most, since_s, began_s = resident_bytes(os.getpid()), time.monotonic(), time.monotonic()
    while time.monotonic() - since_s < _STEADY_S and time.monotonic() - began_s < _LONGEST_S:
        time.sleep(_LOOK_S)
        now = resident_bytes(os.getpid())
        if now > most + _STEADY_BYTES:
            most, since_s = now, time.monotonic()
    return resident_bytes(os.getpid())


def main() -> None:
    parser = argparse.ArgumentParser("bench.pipeline.truth")
    parser.add_argument("name")
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--before", type=int, default=0, help="elements to take first: a cache is full after an epoch")
    arguments = parser.parse_args()
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
    import tensorflow as tf

    from bench.pipeline import pipelines

    for _ in tf.data.Dataset.range(2).map(lambda each: each + 1).batch(2):
        continue
    start = resident_bytes(os.getpid())
    dataset = getattr(pipelines, arguments.name)()
    gc.collect()
    before, most = resident_bytes(os.getpid()), 0
    elements = iter(dataset)
    for _ in range(arguments.before):
        next(elements)
        time.sleep(_LOOK_S)
    for step in range(arguments.steps):
        element = next(elements)
        most = max(most, settled() - before)
        print(json.dumps({"growth_bytes": most, "built_bytes": before - start, "steps": step + 1}), flush=True)
        del element
    os._exit(0)  # threads that fill buffers need not be waited for


if __name__ == "__main__":
    main()
