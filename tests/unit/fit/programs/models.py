"""Models and builders that `crashcart fit` is pointed at, good and bad."""

import keras
import tensorflow as tf
from keras import layers


def build():
    model = keras.Sequential([keras.Input((32,)), layers.Dense(64, activation="relu"), layers.Dense(3)])
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return model


def not_compiled():
    return keras.Sequential([keras.Input((32,)), layers.Dense(3)])


def not_built():
    model = keras.Sequential([layers.Dense(64), layers.Dense(3)])
    model.compile("sgd", "mse")
    return model


def with_specs():
    return not_built(), (tf.TensorSpec((None, 16)), tf.TensorSpec((None, 3)))


def with_xla():
    model = build()
    model.compile("sgd", "mse", jit_compile=True)
    return model


def needs_width(width):
    return keras.Sequential([keras.Input((width,)), layers.Dense(3)])


def raises():
    raise KeyError("vocabulary")


def gives_a_number():
    return 7
