"""A learning rate that is too high, with numeric checks switched on."""

import tensorflow as tf


class Fit:
    def __init__(self, rate):
        self.weight = tf.Variable(tf.ones([8, 8]) * 3.0)
        self.rate = rate

    def step(self, x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.exp(tf.matmul(x, self.weight)))
        gradient = tape.gradient(loss, self.weight)
        checked = tf.debugging.check_numerics(gradient, "gradient of the weight")  # <-- dies here
        self.weight.assign_sub(self.rate * checked)
        return float(loss)


def main():
    fit = Fit(rate=-10.0)
    x = tf.ones([4, 8])
    for step in range(20):
        print(step, fit.step(x), flush=True)


if __name__ == "__main__":
    main()
