"""Self-attention over long documents, with the full score matrix."""

import tensorflow as tf


class FullAttention(tf.keras.layers.Layer):
    def __init__(self, width):
        super().__init__()
        self.query = tf.keras.layers.Dense(width)
        self.key = tf.keras.layers.Dense(width)
        self.value = tf.keras.layers.Dense(width)

    def call(self, tokens):
        scores = tf.matmul(self.query(tokens), self.key(tokens), transpose_b=True)  # <-- dies here
        return tf.matmul(tf.nn.softmax(scores), self.value(tokens))


def main():
    layer = FullAttention(64)
    for length in (512, 2_048, 8_192):
        documents = tf.random.normal([4, length, 64])
        print(length, layer(documents).shape, flush=True)


if __name__ == "__main__":
    main()
