"""Averaged weights for evaluation: every few steps a new set of variables is made, under a new name, and kept."""

import sys

import tensorflow as tf


class Averager:
    def __init__(self, model):
        self.model = model
        self.shadows = {}

    def snapshot(self, step):
        for variable in self.model.trainable_variables:
            name = f"{variable.path}-{step}"
            self.shadows[name] = tf.Variable(variable, trainable=False)  # <-- grows here


@tf.function
def train_step(model, optimizer, x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss


def main():
    model = tf.keras.Sequential(
        [tf.keras.Input((256,)), tf.keras.layers.Dense(512, activation="relu"), tf.keras.layers.Dense(64)]
    )
    optimizer, averager = tf.keras.optimizers.SGD(1e-3), Averager(model)
    data = tf.data.Dataset.random(seed=0).map(lambda n: tf.random.stateless_normal((64, 256), seed=tf.stack([n, 0])))
    for step, x in enumerate(data.take(int(sys.argv[1]))):
        loss = train_step(model, optimizer, x)
        if step % 2 == 0:
            averager.snapshot(step)
        if step % 50 == 0:
            print(step, float(loss))


main()
