"""model.predict on small batches in a loop, as many do it."""

import sys

import numpy as np
from tensorflow.keras import Input, Model
from tensorflow.keras.layers import Dense

inputs = Input(shape=(10,))
outputs = Dense(2)(Dense(32, activation="relu")(inputs))
model = Model(inputs=inputs, outputs=outputs)
model.compile(optimizer="adam", loss="mse")

for i in range(int(sys.argv[1])):
    batch = np.random.uniform(0, 1, size=(4, 10))
    result = model.predict(batch, verbose=0)
    if i % 25 == 0:
        print(i, result[0], flush=True)
