"""Token ids that the embedding does not have."""

import numpy as np
import tensorflow as tf
from tensorflow.keras import layers

VOCABULARY = ["the", "a", "cat", "dog", "sat", "ran"]


class TextModel(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.embedding = layers.Embedding(len(VOCABULARY), 8)
        self.head = layers.Dense(1)

    def call(self, tokens):
        vectors = self.embedding(tokens)  # <-- or here
        return self.head(tf.reduce_mean(vectors, axis=1))


def encode(text):
    return [VOCABULARY.index(word) + 1 for word in text.split()]


def main():
    texts = ["the cat sat", "a dog ran"]
    tokens = np.array([encode(text) for text in texts])
    print(TextModel().predict(tokens, verbose=0))  # <-- dies here


if __name__ == "__main__":
    main()
