"""A classifier whose first dense layer sits directly behind a flattened volume."""

import tensorflow as tf
from tensorflow.keras import layers


class VolumeClassifier(tf.keras.Model):
    def __init__(self, classes):
        super().__init__()
        self.flatten = layers.Flatten()
        self.hidden = layers.Dense(65_536, activation="relu")
        self.head = layers.Dense(classes)

    def call(self, volume):
        return self.head(self.hidden(self.flatten(volume)))  # <-- dies here


def main():
    model = VolumeClassifier(classes=4)
    scan = tf.random.normal([1, 256, 256, 256, 1])
    print(model(scan).shape)


if __name__ == "__main__":
    main()
