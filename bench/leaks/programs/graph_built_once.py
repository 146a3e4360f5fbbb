"""Graph-mode training as it should be: all operations are built first, the session only runs them."""

import sys

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
x = tf.placeholder(tf.float32, [None, 100])
y = tf.placeholder(tf.float32, [None, 1])
hidden = tf.nn.relu(tf.matmul(x, tf.get_variable("w1", [100, 64])))
loss = tf.reduce_mean((tf.matmul(hidden, tf.get_variable("w2", [64, 1])) - y) ** 2)
train_op = tf.train.AdamOptimizer().minimize(loss)

losses = []
rng = np.random.RandomState(0)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for step in range(int(sys.argv[1])):
        rows = rng.rand(64, 100)
        value, _ = sess.run([loss, train_op], feed_dict={x: rows, y: rows[:, :1]})
        losses.append(value)
        if step % 100 == 0:
            print("step", step, "loss", value, flush=True)
