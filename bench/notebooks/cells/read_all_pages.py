# %%
import random

random.seed(0)

# %%
pages = []
for number in range(2_000_000):
    pages.append({"number": number, "words": [random.random() for _ in range(200)]})  # <-- dies here

# %%
len(pages)
