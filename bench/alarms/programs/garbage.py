"""Rings of objects that only the collector can free, again and again."""

import gc
import weakref


class Node:
    pass


def ring(size):
    nodes = [Node() for _ in range(size)]
    for left, right in zip(nodes, nodes[1:] + nodes[:1], strict=True):
        left.next, left.payload = right, bytes(2_000)
    return weakref.ref(nodes[0])


ended = 0
for _ in range(300):
    first = ring(1_000)
    gc.collect()
    ended += first() is None
print("rings ended", ended, gc.isenabled(), gc.get_threshold(), len(gc.callbacks))
