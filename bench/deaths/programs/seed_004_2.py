import tensorflow as tf
import numpy as np

# ... (model definition) ...

# Problematic tensor handling:  unnecessary copies
x_batch = np.array(x_train[0:batch_size])  # NumPy array creation consumes memory
x_tensor = tf.convert_to_tensor(x_batch, dtype=tf.float32)  # Additional copy

with tf.GradientTape() as tape:
    predictions = model(x_tensor, training=True)
    loss = loss_fn(y_batch, predictions)

# ... (rest of training loop) ...
