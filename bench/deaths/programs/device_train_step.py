"""A custom training step in a tf.function with a pairwise loss over the whole batch."""

import tensorflow as tf


class Trainer:
    def __init__(self):
        self.projection = tf.Variable(tf.random.normal([32, 64], stddev=0.02))
        self.optimizer = tf.keras.optimizers.SGD(1e-3)

    def pairwise_loss(self, embedded):
        differences = embedded[:, None, :] - embedded[None, :, :]  # <-- dies here
        return tf.reduce_mean(tf.nn.relu(1.0 - tf.reduce_sum(differences**2, axis=-1)))

    @tf.function(reduce_retracing=True)
    def step(self, x):
        with tf.GradientTape() as tape:
            loss = self.pairwise_loss(tf.matmul(x, self.projection))
        self.optimizer.apply_gradients([(tape.gradient(loss, self.projection), self.projection)])
        return loss


def main():
    trainer = Trainer()
    for batch in (64, 256, 2_048):
        loss = trainer.step(tf.random.normal([batch, 32]))  # <-- or here
        print(batch, float(loss), flush=True)


if __name__ == "__main__":
    main()
