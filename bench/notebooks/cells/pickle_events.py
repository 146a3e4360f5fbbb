# %%
import pickle
import sys

sys.setrecursionlimit(10**6)

class Event:
    def __init__(self, number, following):
        self.number = number
        self.following = following

# %%
event = None
for number in range(200_000):
    event = Event(number, event)

# %%
saved = pickle.dumps(event)  # <-- dies here
len(saved)
