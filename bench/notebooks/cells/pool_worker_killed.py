# %%
import os
import signal
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

def work(number):
    if number == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return number

# %%
with ProcessPoolExecutor(2, mp_context=get_context("fork")) as pool:
    list(pool.map(work, range(4)))
