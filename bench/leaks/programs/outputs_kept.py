"""A custom training loop that keeps loss and logits of each step for plots and a confusion matrix at the end."""

import sys

import numpy as np
import tensorflow as tf

STEPS = int(sys.argv[1])
CLASSES = 1_000


def build_model():
    return tf.keras.Sequential(
        [
            tf.keras.Input((128,)),
            tf.keras.layers.Dense(256, activation="relu"),
            tf.keras.layers.Dense(CLASSES),
        ]
    )


def batches(steps, batch_size=128):
    rng = np.random.default_rng(0)
    for _ in range(steps):
        yield rng.random((batch_size, 128), dtype=np.float32), rng.integers(0, CLASSES, batch_size)


def main():
    model = build_model()
    optimizer = tf.keras.optimizers.Adam(1e-3)
    loss_fn = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    history = []
    for step, (x, y) in enumerate(batches(STEPS)):
        with tf.GradientTape() as tape:
            logits = model(x, training=True)
            loss = loss_fn(y, logits)
        grads = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(grads, model.trainable_variables))
        history.append((loss, logits))  # <-- grows here
        if step % 50 == 0:
            print(f"step {step}: loss {float(loss):.4f}")
    print("mean loss", np.mean([float(loss) for loss, _ in history]))


if __name__ == "__main__":
    main()
