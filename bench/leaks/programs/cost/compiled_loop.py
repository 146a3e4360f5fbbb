"""A custom loop over a compiled step of about a millisecond, with data from tf.data: a block is so many steps."""

import builtins
import sys
from pathlib import Path

import tensorflow as tf

sys.path.insert(0, str(Path(__file__).resolve().parents[4]))
from bench.leaks.served import serve

profile = getattr(builtins, "profile", lambda function: function)
model = tf.keras.Sequential(
    [tf.keras.Input((64,)), tf.keras.layers.Dense(256, activation="relu"), tf.keras.layers.Dense(1)]
)
optimizer = tf.keras.optimizers.Adam(1e-3)
x = tf.random.normal((8_192, 64), seed=0)
data = iter(tf.data.Dataset.from_tensor_slices((x, x[:, :1])).shuffle(8_192).repeat().batch(128).prefetch(2))


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x, training=True) - y) ** 2)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss


@profile
def steps(count):
    total = 0.0
    for _ in range(count):
        x, y = next(data)
        loss = train_step(x, y)
        total += float(loss)
    return total / count


steps(20)
serve(lambda: steps(int(sys.argv[1])))
