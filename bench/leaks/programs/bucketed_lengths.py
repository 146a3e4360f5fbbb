"""Sentences padded to one of three lengths: a tf.function with three traces, whatever comes."""

import sys

import numpy as np
import tensorflow as tf

BUCKETS = (16, 64, 256)
embedding = tf.Variable(tf.random.normal((2_000, 32)))
head = tf.Variable(tf.random.normal((32, 2)))
optimizer = tf.keras.optimizers.SGD(0.01)


@tf.function
def train_step(tokens, labels):
    with tf.GradientTape() as tape:
        pooled = tf.reduce_mean(tf.gather(embedding, tokens), axis=1)
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, tf.matmul(pooled, head)))
    gradients = tape.gradient(loss, [embedding, head])
    optimizer.apply_gradients(zip([tf.convert_to_tensor(each) for each in gradients], [embedding, head]))
    return loss


def pad(tokens):
    width = next(bucket for bucket in BUCKETS if bucket >= tokens.shape[1])
    return np.pad(tokens, ((0, 0), (0, width - tokens.shape[1])))


rng = np.random.default_rng(0)
for step in range(int(sys.argv[1])):
    tokens = pad(rng.integers(0, 2_000, (32, rng.integers(4, 256))))
    loss = train_step(tf.constant(tokens), tf.constant(rng.integers(0, 2, 32)))
    if step % 100 == 0:
        print("step", step, float(loss), flush=True)
