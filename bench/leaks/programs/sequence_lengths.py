"""A text scorer as a tf.function: each sentence length is a new shape and a new trace."""

import argparse

import numpy as np
import tensorflow as tf

parser = argparse.ArgumentParser()
parser.add_argument("sentences", type=int)
args = parser.parse_args()


class Scorer(tf.Module):
    def __init__(self, vocabulary=5000, width=48):
        super().__init__()
        self.table = tf.Variable(tf.random.normal((vocabulary, width)))
        self.query = [tf.Variable(tf.random.normal((width, width))) for _ in range(4)]
        self.head = tf.Variable(tf.random.normal((width, 2)))

    @tf.function
    def score(self, tokens):  # <-- or here
        x = tf.gather(self.table, tokens)
        for weights in self.query:
            attention = tf.nn.softmax(tf.matmul(tf.matmul(x, weights), x, transpose_b=True))
            x = tf.nn.relu(tf.matmul(attention, x))
        return tf.nn.softmax(tf.matmul(tf.reduce_mean(x, axis=0, keepdims=True), self.head))


def main():
    rng = np.random.default_rng(3)
    scorer = Scorer()
    lengths = rng.permutation(np.arange(5, 1500))[: args.sentences]
    positive = 0
    for number, length in enumerate(lengths):
        sentence = tf.constant(rng.integers(0, 5000, length))
        probability = scorer.score(sentence)  # <-- grows here
        positive += int(probability[0, 1] > 0.5)
        if number % 50 == 0:
            print(number, "sentences,", positive, "positive", flush=True)


main()
