"""A training in a process of a given size whose memory goes up and down by some MiB, with or without a leak of a given size.

steady_leak.py STEPS KIB_PER_STEP array|tensor|objects PROCESS_MIB
"""

import os
import sys

import numpy as np
import tensorflow as tf

steps, kib, kind, process_mib = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
kept = []


def resident_mib():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 2**20


def remember():
    if kind == "array":
        kept.append(np.ones(kib * 1024, np.uint8))
    elif kind == "tensor":
        kept.append(tf.ones((kib, 1024), tf.uint8) + 0)
    else:
        kept.append([f"{number:>8}" for number in range(kib * 1024 // 65)])  # 57 bytes of text and 8 of the list


model = tf.keras.Sequential(
    [tf.keras.Input((256,)), tf.keras.layers.Dense(256, activation="relu"), tf.keras.layers.Dense(1)]
)
model.compile("adam", "mse")
rng = np.random.default_rng(int.from_bytes(os.urandom(4), "little"))
data = np.ones((max(1, process_mib - resident_mib()), 2**18), np.float32)
for step in range(steps):
    x = rng.random((128, 256), dtype=np.float32)
    scratch = [np.ones(int(size), np.uint8) for size in rng.integers(2**18, 2**21, rng.integers(1, 5))]
    loss = model.train_on_batch(x, x[:, :1])
    if kib:
        remember()
    if step % 20 == 0:
        print("step", step, float(loss), sum(each[0] for each in scratch), float(data[0, 0]), flush=True)
