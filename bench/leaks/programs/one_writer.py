"""One summary writer for the whole training, with losses and weights, flushed as it goes."""

import sys
import tempfile

import numpy as np
import tensorflow as tf

writer = tf.summary.create_file_writer(tempfile.mkdtemp())
model = tf.keras.Sequential(
    [tf.keras.Input((64,)), tf.keras.layers.Dense(64, activation="relu"), tf.keras.layers.Dense(1)]
)
optimizer = tf.keras.optimizers.SGD(0.01)
rng = np.random.default_rng(0)


@tf.function
def train_step(x, y, step):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    with writer.as_default():
        tf.summary.write("loss", loss, step=step)
        tf.summary.write("kernel", tf.convert_to_tensor(model.trainable_variables[0]), step=step)
    return loss


for step in range(int(sys.argv[1])):
    x = rng.random((64, 64), dtype=np.float32)
    loss = train_step(tf.constant(x), tf.constant(x[:, :1]), tf.constant(step, tf.int64))
    if step % 100 == 0:
        writer.flush()
        print("step", step, float(loss), flush=True)
