"""An eager loop with preprocessing in Python that keeps each step's loss as a tensor, as many do: a block is so many steps."""

import builtins
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).resolve().parents[4]))
from bench.leaks.served import serve

profile = getattr(builtins, "profile", lambda function: function)
rng = np.random.default_rng(0)
words = [f"word{number}" for number in range(5_000)]
index = {word: number for number, word in enumerate(words)}
table = tf.Variable(tf.random.normal((5_000, 32)))
head = tf.Variable(tf.random.normal((32, 2)))
optimizer = tf.keras.optimizers.SGD(0.1)
history = []


def batch(size=32, length=40):
    texts = [" ".join(words[number] for number in rng.integers(0, 5_000, length)) for _ in range(size)]
    return tf.constant([[index[word] for word in text.split()] for text in texts]), tf.constant(
        rng.integers(0, 2, size)
    )


@profile
def steps(count):
    for _ in range(count):
        tokens, labels = batch()
        with tf.GradientTape() as tape:
            pooled = tf.reduce_mean(tf.gather(table, tokens), axis=1)
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, tf.matmul(pooled, head))
            loss = tf.reduce_mean(losses)
        gradients = [tf.convert_to_tensor(each) for each in tape.gradient(loss, [table, head])]
        optimizer.apply_gradients(zip(gradients, [table, head]))
        history.append((loss, losses))


steps(20)
serve(lambda: steps(int(sys.argv[1])))
