"""A training with a misspelled name."""

import numpy as np
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.Input((8,)), tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
for step in range(100):
    loss = model.train_on_batch(np.ones((4, 8)), np.ones((4, 1)))
    if step == 2:
        print(los)  # noqa: F821
