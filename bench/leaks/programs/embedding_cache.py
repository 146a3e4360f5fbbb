"""Features of texts behind an unbounded functools cache; the texts hardly ever come twice."""

import functools
import hashlib
import sys

import numpy as np
import tensorflow as tf

VOCABULARY = 20_000


@functools.lru_cache(maxsize=None)  # <-- or here
def embed(text):
    seed = int(hashlib.md5(text.encode()).hexdigest()[:8], 16)
    return np.random.default_rng(seed).normal(size=(64, 128)).astype(np.float32)  # <-- or here


def make_texts(rng, count):
    return [" ".join(f"w{word}" for word in rng.integers(0, VOCABULARY, 12)) for _ in range(count)]


def main():
    rng = np.random.default_rng(0)
    model = tf.keras.Sequential(
        [
            tf.keras.Input((64, 128)),
            tf.keras.layers.GlobalAveragePooling1D(),
            tf.keras.layers.Dense(1, activation="sigmoid"),
        ]
    )
    model.compile("rmsprop", "binary_crossentropy")
    for step in range(int(sys.argv[1])):
        x = np.stack([embed(text) for text in make_texts(rng, 16)])  # <-- grows here
        loss = model.train_on_batch(x, rng.integers(0, 2, (16, 1)))
        if step % 50 == 0:
            print("step", step, "loss", float(loss), embed.cache_info(), flush=True)


main()
