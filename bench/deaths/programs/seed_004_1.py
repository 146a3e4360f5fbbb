import tensorflow as tf

# ... (model definition) ...

# Problematic batch size
batch_size = 1024  # Too large for available memory

dataset = tf.data.Dataset.from_tensor_slices((x_train, y_train)).batch(batch_size)

# ... (training loop) ...

with tf.GradientTape() as tape:
    predictions = model(x_batch, training=True)  # Crash likely here
    loss = loss_fn(y_batch, predictions)

gradients = tape.gradient(loss, model.trainable_variables)
optimizer.apply_gradients(zip(gradients, model.trainable_variables))
