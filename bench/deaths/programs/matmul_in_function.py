"""A hand-written two-layer network in a tf.function."""

import tensorflow as tf


class Network:
    def __init__(self):
        self.first = tf.Variable(tf.random.normal([30, 64]))
        self.second = tf.Variable(tf.random.normal([32, 1]))

    @tf.function
    def forward(self, x):
        hidden = tf.nn.relu(tf.matmul(x, self.first))
        return tf.matmul(hidden, self.second)  # <-- dies here


def main():
    network = Network()
    batch = tf.random.normal([16, 30])
    print(network.forward(batch).shape)


if __name__ == "__main__":
    main()
