"""Deep Q-learning with a bounded replay memory: it grows until it is full, in the middle of the run."""

import random
import sys
from collections import deque

import numpy as np
import tensorflow as tf

CAPACITY = 600


class Agent:
    def __init__(self):
        self.memory = deque(maxlen=CAPACITY)
        self.model = tf.keras.Sequential(
            [
                tf.keras.Input((64, 64, 4)),
                tf.keras.layers.Conv2D(8, 8, strides=8, activation="relu"),
                tf.keras.layers.Flatten(),
                tf.keras.layers.Dense(4),
            ]
        )
        self.model.compile("adam", "mse")

    def learn(self, batch_size=16):
        batch = random.sample(self.memory, batch_size)
        states = np.stack([state for state, _, _ in batch]) / 255.0
        targets = self.model(states).numpy()
        for row, (_, action, reward) in enumerate(batch):
            targets[row, action] = reward
        return self.model.train_on_batch(states, targets)


def main(steps):
    rng, agent = np.random.default_rng(0), Agent()
    for step in range(steps):
        frame = rng.integers(0, 256, (64, 64, 4), dtype=np.uint8)
        agent.memory.append((frame, step % 4, float(rng.random())))
        if step >= 16:
            loss = agent.learn()
            if step % 200 == 0:
                print("step", step, "loss", float(loss), len(agent.memory), flush=True)


random.seed(0)
main(int(sys.argv[1]))
