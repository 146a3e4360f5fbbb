# %%
import json
import sys

sys.setrecursionlimit(1_000_000)
comment = {"text": "first"}
for level in range(300_000):
    comment = {"text": f"reply {level}", "replies": [comment]}

# %%
def export(comment):
    return json.dumps(comment)  # <-- dies here

# %%
print(len(export(comment)), "characters")
