"""Cross-validate a Keras model with the wrapper of old Keras."""

import tensorflow as tf
from tensorflow.keras.wrappers.scikit_learn import KerasClassifier  # <-- dies here


def build():
    model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1, activation="sigmoid")])
    model.compile("adam", "binary_crossentropy")
    return model


if __name__ == "__main__":
    print(KerasClassifier(build_fn=build))
