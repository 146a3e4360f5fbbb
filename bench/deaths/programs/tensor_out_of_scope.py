"""Keep an intermediate tensor of a tf.function on the object, use it later."""

import tensorflow as tf


class Encoder(tf.Module):
    def __init__(self):
        super().__init__()
        self.weight = tf.Variable(tf.random.normal([8, 4]))
        self.last_hidden = None

    @tf.function
    def __call__(self, x):
        self.last_hidden = tf.nn.relu(tf.matmul(x, self.weight))
        return tf.reduce_sum(self.last_hidden)

    def sparsity(self):
        return tf.reduce_mean(tf.cast(self.last_hidden > 0, tf.float32))  # <-- dies here


def main():
    encoder = Encoder()
    print(float(encoder(tf.random.normal([2, 8]))))
    print("sparsity", float(encoder.sparsity()))


if __name__ == "__main__":
    main()
