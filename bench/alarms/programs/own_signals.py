"""A program with signal handlers and timers of its own."""

import os
import signal
import time

import numpy as np

seen = []
for number in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM, signal.SIGTERM):
    signal.signal(number, lambda caught, _frame: seen.append(signal.Signals(caught).name))
signal.setitimer(signal.ITIMER_REAL, 0.3)
began = time.monotonic()
time.sleep(1)
slept_whole = time.monotonic() - began >= 1
for number in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGTERM):
    os.kill(os.getpid(), number)
    blocks = [np.ones(2**17) for _ in range(20)]
print("seen", seen, slept_whole, len(blocks))
