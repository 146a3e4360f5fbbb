"""Train from generated tiles with a shuffle buffer as large as the dataset."""

import tensorflow as tf
from tensorflow.keras import layers

TILES = 60_000


def tile(index):
    image = tf.random.stateless_normal((192, 192, 3), seed=[index, 7])
    return image, tf.cast(index % 2, tf.float32)


def dataset():
    tiles = tf.data.Dataset.range(TILES).map(tile, num_parallel_calls=tf.data.AUTOTUNE)
    return tiles.shuffle(TILES).batch(16).prefetch(tf.data.AUTOTUNE)  # <-- or here


def build():
    model = tf.keras.Sequential(
        [
            tf.keras.Input((192, 192, 3)),
            layers.Conv2D(8, 5, strides=4, activation="relu"),
            layers.GlobalAveragePooling2D(),
            layers.Dense(1, activation="sigmoid"),
        ]
    )
    model.compile("adam", "binary_crossentropy")
    return model


def main():
    model = build()
    model.fit(dataset(), epochs=3, verbose=2)  # <-- dies here


if __name__ == "__main__":
    main()
