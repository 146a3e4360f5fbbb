"""A model over text and image features."""

import tensorflow as tf
from layers import Fusion


class FusionModel(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.fusion = Fusion()
        self.head = tf.keras.layers.Dense(1)

    def call(self, inputs):
        text, image = inputs
        return self.head(self.fusion(text, image))


def main():
    model = FusionModel()
    text = tf.random.normal([16, 50])
    image = tf.random.normal([8, 49, 128])
    print(model((text, image)).shape)


if __name__ == "__main__":
    main()
