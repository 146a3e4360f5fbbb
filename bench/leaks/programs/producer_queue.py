"""A thread that prepares batches faster than the training takes them; the queue between them has no bound."""

import queue
import sys
import threading
import time

import numpy as np
import tensorflow as tf

STEPS = int(sys.argv[1])


def produce(batches, finished):
    rng = np.random.default_rng(0)
    while not finished.is_set():
        batches.put(rng.random((64, 64, 64), dtype=np.float32))  # <-- grows here
        time.sleep(0.01)


def main():
    batches, finished = queue.Queue(), threading.Event()
    producer = threading.Thread(target=produce, args=(batches, finished), daemon=True)
    producer.start()
    model = tf.keras.Sequential(
        [tf.keras.Input((64, 64)), tf.keras.layers.Flatten(), tf.keras.layers.Dense(8), tf.keras.layers.Dense(1)]
    )
    model.compile("adam", "mse")
    for step in range(STEPS):
        x = batches.get()
        loss = model.train_on_batch(x, x.mean(axis=(1, 2)))
        time.sleep(0.03)  # a slow accelerator
        if step % 25 == 0:
            print("step", step, "loss", float(loss), "waiting", batches.qsize(), flush=True)
    finished.set()


main()
