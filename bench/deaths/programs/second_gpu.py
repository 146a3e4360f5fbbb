"""Place the discriminator on the second GPU."""

import tensorflow as tf

tf.config.set_soft_device_placement(False)


class Gan:
    def __init__(self):
        with tf.device("/CPU:0"):
            self.generator = tf.Variable(tf.random.normal([16, 32]))
        with tf.device("/GPU:1"):
            self.discriminator = tf.Variable(tf.random.normal([32, 1]))  # <-- dies here

    def score(self, noise):
        return tf.matmul(tf.matmul(noise, self.generator), self.discriminator)


if __name__ == "__main__":
    print(Gan().score(tf.random.normal([4, 16])))
