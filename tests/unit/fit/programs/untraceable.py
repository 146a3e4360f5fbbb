"""A model whose step runs only eagerly: it asks a tensor for its value."""

import keras


class Asking(keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = keras.layers.Dense(64)

    def call(self, x):
        found = self.dense(x)
        return found if float(found.numpy().sum()) > -1e9 else -found


def build():
    import numpy as np

    model = Asking()
    model.compile("sgd", "mse", run_eagerly=True)
    return model, (np.zeros((2, 32), "float32"), np.zeros((2, 64), "float32"))
