# %%
import numpy as np

rng = np.random.default_rng(0)

# %%
class Agent:
    def __init__(self):
        self.memory = []

    def remember(self, observation, reward):
        self.memory.append((np.tanh(observation / 255.0), reward))  # <-- dies here

# %%
agent = Agent()
for step in range(100_000):
    observation = rng.integers(0, 256, (210, 160, 3), dtype=np.uint8)
    agent.remember(observation, float(step % 4))
    if step % 200 == 0:
        print("step", step, "memory", len(agent.memory), flush=True)
