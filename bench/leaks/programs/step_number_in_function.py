"""A compiled train step that is given the step as a Python number, for a schedule: it is traced anew each time."""

import sys

import tensorflow as tf

model = tf.keras.Sequential(
    [tf.keras.Input((32,))]
    + [tf.keras.layers.Dense(64, activation="relu") for _ in range(4)]
    + [tf.keras.layers.Dense(1)]
)
optimizer = tf.keras.optimizers.SGD(0.01)
optimizer.build(model.trainable_variables)


@tf.function
def train_step(x, y, step):  # <-- or here
    warmup = min(1.0, step / 1000)
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(x, training=True) - y)) * warmup
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
    return loss


def train(dataset):
    for step, (x, y) in enumerate(dataset):
        loss = train_step(x, y, step)  # <-- grows here
        if step % 20 == 0:
            print("step", step, "loss", float(loss))


features = tf.random.normal((4096, 32), seed=0)
targets = tf.reduce_sum(features, axis=1, keepdims=True)
data = tf.data.Dataset.from_tensor_slices((features, targets)).shuffle(4096).repeat().batch(32).take(int(sys.argv[1]))
train(data)
