"""A tree search whose nodes know their parents: each step leaves rings of objects that only the collector frees."""

import sys

import numpy as np
import tensorflow as tf


class Node:
    def __init__(self, parent, state):
        self.parent, self.state, self.children = parent, state, []
        if parent is not None:
            parent.children.append(self)


@tf.function
def value(states):
    return network(states)


def search(root_state, rng, expansions=12):
    root = Node(None, root_state)
    frontier = [root]
    for _ in range(expansions):
        node = frontier.pop(0)
        for _ in range(3):
            frontier.append(Node(node, node.state + rng.normal(0, 0.1, node.state.shape).astype(np.float32)))
    values = value(tf.constant(np.stack([each.state for each in frontier])))
    return frontier[int(tf.argmax(values[:, 0]))]


network = tf.keras.Sequential(
    [tf.keras.Input((2_000,)), tf.keras.layers.Dense(16, activation="relu"), tf.keras.layers.Dense(1)]
)
rng = np.random.default_rng(0)
state = np.zeros(2_000, np.float32)
for move in range(int(sys.argv[1])):
    state = search(state, rng).state
    if move % 50 == 0:
        print("move", move, float(np.abs(state).mean()), flush=True)
