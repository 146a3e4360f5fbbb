"""A saliency service that defines its tf.function inside the handler: each request traces it anew."""

import sys

import numpy as np
import tensorflow as tf

model = tf.keras.Sequential(
    [tf.keras.Input((24, 24, 1))]
    + [tf.keras.layers.Conv2D(8, 3, activation="relu") for _ in range(5)]
    + [tf.keras.layers.GlobalAveragePooling2D(), tf.keras.layers.Dense(10)]
)
handlers = []


def saliency(image, label):
    @tf.function  # <-- or here
    def gradient_of(x):  # <-- or here
        with tf.GradientTape() as tape:
            tape.watch(x)
            score = model(x)[:, label]
        return tape.gradient(score, x)

    handlers.append(gradient_of)  # <-- or here
    return gradient_of(image)  # <-- grows here


def main(requests):
    rng = np.random.default_rng(0)
    for request in range(requests):
        image = tf.constant(rng.random((1, 24, 24, 1), dtype=np.float32))
        heat = saliency(image, request % 10)
        if request % 20 == 0:
            print(request, float(tf.reduce_max(heat)), flush=True)


main(int(sys.argv[1]))
