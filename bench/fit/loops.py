"""What an operation in the body of a loop costs a process, in times of what it costs outside of one.

    python -m bench.fit.loops

Chains of small operations, plain and in a loop, with and without their gradient, each in a child of its own: tensors of a few bytes,
so that what the process grows by is the graph. The mean and the deviation are constants of the host's estimate
(`crashcart.fit.host`), which has loops of one family alone to be fitted to.
"""

from __future__ import annotations

import statistics
import sys
from pathlib import Path
from typing import Any

from bench.fit.children import answers, say
from bench.fit.host import NO_GPU, status

LENGTHS = {False: (300, 1500), True: (100, 300)}


def main() -> int:
    ratios = []
    for gradient, lengths in LENGTHS.items():
        for length in lengths:
            plain, looped = grown("plain", length, gradient), grown("looped", length, gradient)
            each_bytes = plain["growth_bytes"] / plain["operations"]
            inner_bytes = looped["growth_bytes"] - looped["operations"] * each_bytes
            ratios.append(inner_bytes / looped["in_functions"] / each_bytes)
            words = "with" if gradient else "without"
            print(
                f"{length} operations {words} gradient: {each_bytes / 1e3:.1f} kB each, in a loop {ratios[-1]:.1f} times"
            )
    print(f"mean {statistics.mean(ratios):.2f}, deviation {statistics.stdev(ratios):.2f}")
    return 0


def grown(kind: str, length: int, gradient: bool) -> dict[str, Any]:
    rows, _ = answers("bench.fit.loops", f"child({kind!r}, {length}, {gradient})", variables=NO_GPU)
    return rows[-1]


def child(kind: str, length: int, gradient: bool) -> None:
    """In the child: run the step three times, after a small loop that makes TensorFlow load what loops need."""
    import tensorflow as tf

    def chain(x: Any, count: int = length) -> Any:
        for _ in range(count):
            x = tf.sin(x)
        return x

    def looped(x: Any, count: int = length) -> Any:
        return tf.while_loop(lambda turn, _: turn < 3, lambda turn, y: (turn + 1, chain(y, count)), (0, x))[1]

    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = chain(x) if kind == "plain" else looped(x)
        return tape.gradient(y, x) if gradient else y

    given = tf.constant([1.0, 2.0])
    tf.function(lambda x: looped(x, 1))(given)
    before = status("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")
    function = tf.function(step)
    for _ in range(3):
        function(given)
    growth = status("VmHWM") - before
    graph = function.get_concrete_function(given).graph
    inner = sum(len(each.node_def) for each in graph.as_graph_def().library.function)
    say({"growth_bytes": growth, "operations": len(graph.get_operations()), "in_functions": inner})


if __name__ == "__main__":
    sys.exit(main())
