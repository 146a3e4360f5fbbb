"""A replay buffer that is never trimmed."""

import numpy as np


class Environment:
    def __init__(self):
        self.rng = np.random.default_rng(0)

    def step(self, action):
        return self.rng.integers(0, 256, (210, 160, 3), dtype=np.uint8), float(action), False


class Agent:
    def __init__(self):
        self.memory = []

    def remember(self, observation, reward):
        self.memory.append((np.tanh(observation / 255.0), reward))  # <-- dies here

    def play(self, environment, steps):
        for step in range(steps):
            observation, reward, _done = environment.step(step % 4)
            self.remember(observation, reward)
            if step % 200 == 0:
                print("step", step, "memory", len(self.memory), flush=True)


if __name__ == "__main__":
    Agent().play(Environment(), steps=100_000)
