"""Real models of many families, each by a function that returns it compiled, as a user would write it.

Covers: what `make bench-fit` measures; sizes are chosen so that a step takes seconds on two cores.
Does not cover: the batches; `bench.fit.manifest` says which are measured.
"""

from __future__ import annotations

from typing import Any

import keras
import tensorflow as tf
from keras import layers


def _classifier(model: Any, optimizer: Any = "adam") -> Any:
    model.compile(optimizer, "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model


def mlp() -> Any:
    return _classifier(
        keras.Sequential(
            [
                keras.Input((784,)),
                layers.Dense(1024, activation="relu"),
                layers.Dropout(0.3),
                layers.Dense(1024, activation="relu"),
                layers.Dense(10, activation="softmax"),
            ]
        )
    )


def mlp_deep() -> Any:
    model = keras.Sequential([keras.Input((256,))])
    for _ in range(8):
        model.add(layers.Dense(512, use_bias=False))
        model.add(layers.BatchNormalization())
        model.add(layers.Activation("gelu"))
    model.add(layers.Dense(1))
    model.compile(keras.optimizers.SGD(0.1, momentum=0.9), "mse")
    return model


def cnn() -> Any:
    return _classifier(
        keras.Sequential(
            [
                keras.Input((64, 64, 3)),
                layers.Conv2D(32, 3, activation="relu"),
                layers.MaxPooling2D(),
                layers.Conv2D(64, 3, activation="relu"),
                layers.MaxPooling2D(),
                layers.Conv2D(128, 3, activation="relu"),
                layers.Flatten(),
                layers.Dense(128, activation="relu"),
                layers.Dense(10, activation="softmax"),
            ]
        )
    )


def cnn_wide() -> Any:
    inputs = keras.Input((128, 128, 3))
    x = inputs
    for filters in (32, 64, 96):
        x = layers.SeparableConv2D(filters, 5, padding="same")(x)
        x = layers.BatchNormalization()(x)
        x = layers.LeakyReLU()(x)
        x = layers.AveragePooling2D(2)(x)
    x = layers.GlobalMaxPooling2D()(x)
    return _classifier(keras.Model(inputs, layers.Dense(20, activation="softmax")(x)), "rmsprop")


def _application(name: str, size: int, optimizer: Any = "adam", **options: Any) -> Any:
    build = getattr(keras.applications, name)
    return _classifier(build(weights=None, input_shape=(size, size, 3), classes=10, **options), optimizer)


def vgg16() -> Any:
    return _application("VGG16", 96, keras.optimizers.SGD(0.01, momentum=0.9))


def resnet50() -> Any:
    return _application("ResNet50", 128)


def resnet50v2() -> Any:
    return _application("ResNet50V2", 96, "sgd")


def mobilenetv2() -> Any:
    return _application("MobileNetV2", 128)


def mobilenetv3() -> Any:
    return _application("MobileNetV3Small", 128)


def efficientnetb0() -> Any:
    return _application("EfficientNetB0", 96)


def densenet121() -> Any:
    return _application("DenseNet121", 96)


def xception() -> Any:
    return _application("Xception", 128)


def lstm() -> Any:
    return _classifier(
        keras.Sequential(
            [
                keras.Input((100, 32)),
                layers.LSTM(128, return_sequences=True),
                layers.LSTM(64),
                layers.Dense(5, activation="softmax"),
            ]
        )
    )


def lstm_text() -> Any:
    model = keras.Sequential(
        [
            keras.Input((80,), dtype="int32"),
            layers.Embedding(20000, 128),
            layers.Bidirectional(layers.LSTM(64)),
            layers.Dense(1, activation="sigmoid"),
        ]
    )
    model.compile("adam", "binary_crossentropy", metrics=["accuracy"])
    return model


def gru() -> Any:
    model = keras.Sequential([keras.Input((60, 16)), layers.GRU(256), layers.Dense(1)])
    model.compile("adam", "mae")
    return model


def transformer() -> Any:
    inputs = keras.Input((128,), dtype="int32")
    x = layers.Embedding(8000, 128)(inputs)
    for _ in range(2):
        attended = layers.MultiHeadAttention(4, 32, dropout=0.1)(x, x)
        x = layers.LayerNormalization()(x + attended)
        hidden = layers.Dense(512, activation="relu")(x)
        x = layers.LayerNormalization()(x + layers.Dense(128)(hidden))
    x = layers.GlobalAveragePooling1D()(x)
    return _classifier(keras.Model(inputs, layers.Dense(2, activation="softmax")(x)))


def decoder() -> Any:
    inputs = keras.Input((96,), dtype="int32")
    x = layers.Embedding(5000, 192)(inputs) + layers.Embedding(96, 192)(keras.ops.arange(96))
    for _ in range(3):
        normed = layers.LayerNormalization()(x)
        x = x + layers.MultiHeadAttention(6, 32)(normed, normed, use_causal_mask=True)
        normed = layers.LayerNormalization()(x)
        x = x + layers.Dense(192)(layers.Dense(768, activation="gelu")(normed))
    model = keras.Model(inputs, layers.Dense(5000)(layers.LayerNormalization()(x)))
    model.compile(keras.optimizers.AdamW(1e-4), keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return model


def unet() -> Any:
    inputs = keras.Input((96, 96, 3))
    x, skips = inputs, []
    for filters in (32, 64, 128):
        x = layers.Conv2D(filters, 3, padding="same", activation="relu")(x)
        x = layers.Conv2D(filters, 3, padding="same", activation="relu")(x)
        skips.append(x)
        x = layers.MaxPooling2D()(x)
    x = layers.Conv2D(256, 3, padding="same", activation="relu")(x)
    for filters, skip in zip((128, 64, 32), reversed(skips), strict=True):
        x = layers.Conv2DTranspose(filters, 2, strides=2, padding="same")(x)
        x = layers.Concatenate()([x, skip])
        x = layers.Conv2D(filters, 3, padding="same", activation="relu")(x)
    model = keras.Model(inputs, layers.Conv2D(1, 1, activation="sigmoid")(x))
    model.compile("adam", "binary_crossentropy")
    return model


def autoencoder() -> Any:
    inputs = keras.Input((64, 64, 3))
    x = layers.Conv2D(32, 3, strides=2, padding="same", activation="relu")(inputs)
    x = layers.Conv2D(64, 3, strides=2, padding="same", activation="relu")(x)
    x = layers.Dense(64)(layers.Flatten()(x))
    x = layers.Reshape((16, 16, 64))(layers.Dense(16 * 16 * 64, activation="relu")(x))
    x = layers.Conv2DTranspose(32, 3, strides=2, padding="same", activation="relu")(x)
    model = keras.Model(inputs, layers.Conv2DTranspose(3, 3, strides=2, padding="same", activation="sigmoid")(x))
    model.compile("adam", "mse")
    return model


def multi_input() -> Any:
    image, table = keras.Input((64, 64, 3), name="image"), keras.Input((40,), name="table")
    x = layers.GlobalAveragePooling2D()(layers.Conv2D(64, 5, strides=2, activation="relu")(image))
    joined = layers.Concatenate()([x, layers.Dense(64, activation="tanh")(table)])
    price = layers.Dense(1, name="price")(layers.Dense(128, activation="relu")(joined))
    kind = layers.Dense(6, activation="softmax", name="kind")(joined)
    model = keras.Model([image, table], [price, kind])
    model.compile("adam", ["mse", "sparse_categorical_crossentropy"])
    return model


def conv1d() -> Any:
    inputs = keras.Input((2000, 4))
    x = inputs
    for rate in (1, 2, 4, 8):
        x = layers.Conv1D(48, 5, dilation_rate=rate, padding="causal", activation="relu")(x)
    model = keras.Model(inputs, layers.Dense(1)(layers.GlobalAveragePooling1D()(x)))
    model.compile(keras.optimizers.Adagrad(0.01), "mse")
    return model


def conv3d() -> Any:
    return _classifier(
        keras.Sequential(
            [
                keras.Input((16, 32, 32, 1)),
                layers.Conv3D(16, 3, activation="relu"),
                layers.MaxPooling3D(),
                layers.Conv3D(32, 3, activation="relu"),
                layers.GlobalAveragePooling3D(),
                layers.Dense(4, activation="softmax"),
            ]
        )
    )


class Penalised(keras.Model):  # type: ignore[misc]
    """A model with its own training step: two losses, clipped gradients."""

    def __init__(self) -> None:
        super().__init__()
        self.encode = keras.Sequential([layers.Dense(512, activation="relu"), layers.Dense(64)])
        self.decode = keras.Sequential([layers.Dense(512, activation="relu"), layers.Dense(1024)])

    def call(self, x: Any, training: bool = False) -> Any:
        return self.decode(self.encode(x))

    def train_step(self, data: Any) -> dict[str, Any]:
        x, _ = data
        with tf.GradientTape() as tape:
            code = self.encode(x)
            loss = tf.reduce_mean(tf.square(self.decode(code) - x)) + 1e-3 * tf.reduce_mean(tf.square(code))
        gradients = tape.gradient(loss, self.trainable_variables)
        gradients, _ = tf.clip_by_global_norm(gradients, 1.0)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables, strict=True))
        return {"loss": loss}


def custom_step() -> Any:
    model = Penalised()
    model.compile("adam")
    specs = tf.TensorSpec((None, 1024), tf.float32), tf.TensorSpec((None, 1024), tf.float32)
    return model, specs
