import tensorflow as tf
import numpy as np

# Simulating a large model with excessive memory consumption
large_tensor = np.random.rand(10000, 10000, 3).astype(np.float32)
tensor_a = tf.constant(large_tensor)
tensor_b = tf.constant(large_tensor)

# Computation likely to cause memory issues if system resources are insufficient
result = tf.matmul(tensor_a, tensor_b)

# This will likely crash the kernel on systems with limited RAM
with tf.compat.v1.Session() as sess:
    sess.run(result)
