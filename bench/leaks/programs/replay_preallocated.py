"""A replay buffer in one NumPy array: its pages become resident as it is filled, then it wraps around."""

import sys

import numpy as np
import tensorflow as tf


class ReplayBuffer:
    def __init__(self, capacity, shape):
        self.states = np.zeros((capacity, *shape), np.float32)
        self.rewards = np.zeros(capacity, np.float32)
        self.capacity, self.added = capacity, 0

    def add(self, states, rewards):
        for state, reward in zip(states, rewards):
            self.states[self.added % self.capacity] = state
            self.rewards[self.added % self.capacity] = reward
            self.added += 1

    def sample(self, rng, count):
        rows = rng.integers(0, min(self.added, self.capacity), count)
        return self.states[rows], self.rewards[rows]


@tf.function
def train_step(states, rewards):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((critic(states)[:, 0] - rewards) ** 2)
    optimizer.apply_gradients(zip(tape.gradient(loss, critic.trainable_variables), critic.trainable_variables))
    return loss


critic = tf.keras.Sequential(
    [tf.keras.Input((2000,)), tf.keras.layers.Dense(32, activation="relu"), tf.keras.layers.Dense(1)]
)
optimizer = tf.keras.optimizers.Adam()
buffer = ReplayBuffer(capacity=8_000, shape=(2000,))
rng = np.random.default_rng(0)
for step in range(int(sys.argv[1])):
    buffer.add(rng.random((40, 2000), dtype=np.float32), rng.random(40))
    states, rewards = buffer.sample(rng, 32)
    loss = train_step(tf.constant(states), tf.constant(rewards))
    if step % 100 == 0:
        print("step", step, "loss", float(loss), flush=True)
