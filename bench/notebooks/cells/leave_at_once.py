# %%
import os
import time

time.sleep(0.5)

# %%
def give_up(code):
    os._exit(code)  # <-- dies here

# %%
print("nothing to do")
give_up(3)
