"""Graph-mode training as it was written for TensorFlow 1, with the accuracy built anew in each step."""

import sys

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
steps = int(sys.argv[1])

x = tf.placeholder(tf.float32, [None, 100])
y = tf.placeholder(tf.int64, [None])
weights = tf.get_variable("w", [100, 10])
bias = tf.get_variable("b", [10])
logits = tf.matmul(x, weights) + bias
loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
train_op = tf.train.GradientDescentOptimizer(0.1).minimize(loss)

rng = np.random.RandomState(0)
valid_x, valid_y = rng.rand(500, 100).astype(np.float32), rng.randint(0, 10, 500)

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for step in range(steps):
        batch_x, batch_y = rng.rand(64, 100), rng.randint(0, 10, 64)
        sess.run(train_op, feed_dict={x: batch_x, y: batch_y})
        scores = tf.nn.softmax(tf.matmul(valid_x, weights) + bias)  # <-- grows here
        correct = tf.equal(tf.argmax(scores, 1), valid_y)  # <-- or here
        accuracy = sess.run(tf.reduce_mean(tf.cast(correct, tf.float32)))  # <-- or here
        if step % 25 == 0:
            print("step", step, "accuracy", accuracy, flush=True)
