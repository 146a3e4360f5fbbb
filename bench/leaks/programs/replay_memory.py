"""Deep Q-learning on a toy environment; the replay memory is a list that is never trimmed."""

import random
import sys

import numpy as np
import tensorflow as tf


class Environment:
    def __init__(self, seed=0):
        self.rng = np.random.default_rng(seed)

    def reset(self):
        return self.rng.integers(0, 256, (84, 84, 4), dtype=np.uint8)

    def step(self, action):
        return self.reset(), float(self.rng.random() > 0.5), bool(self.rng.random() > 0.98)


class Agent:
    def __init__(self, actions=4):
        self.actions = actions
        self.memory = []
        self.epsilon = 1.0
        self.model = tf.keras.Sequential(
            [
                tf.keras.Input((84, 84, 4)),
                tf.keras.layers.Conv2D(8, 8, strides=8, activation="relu"),
                tf.keras.layers.Flatten(),
                tf.keras.layers.Dense(actions),
            ]
        )
        self.model.compile(optimizer="adam", loss="mse")

    def act(self, state):
        if random.random() < self.epsilon:
            return random.randrange(self.actions)
        return int(np.argmax(self.model(state[None] / 255.0)[0]))

    def remember(self, state, action, reward, next_state, done):
        self.memory.append((state, action, reward, next_state, done))  # <-- grows here

    def replay(self, batch_size=16):
        sample = random.sample(self.memory, batch_size)
        states = np.stack([each[0] for each in sample]) / 255.0
        targets = np.array(self.model(states))
        for row, (_, action, reward, _, _) in enumerate(sample):
            targets[row, action] = reward
        self.model.train_on_batch(states, targets)
        self.epsilon = max(0.05, self.epsilon * 0.995)


def main(steps):
    environment, agent = Environment(), Agent()
    state = environment.reset()
    for step in range(steps):
        action = agent.act(state)
        next_state, reward, done = environment.step(action)
        agent.remember(state, action, reward, next_state, done)
        state = environment.reset() if done else next_state
        if len(agent.memory) >= 16:
            agent.replay()
        if step % 100 == 0:
            print("step", step, "epsilon", round(agent.epsilon, 3), flush=True)


if __name__ == "__main__":
    random.seed(0)
    main(int(sys.argv[1]))
