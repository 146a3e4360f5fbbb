import tensorflow as tf
import numpy as np

# Define a large tensor
large_tensor = tf.constant(np.random.rand(10000, 10000), dtype=tf.float32)
print("Tensor Defined")

#Perform an intensive operation, a single matrix product with the transpose
result = tf.matmul(large_tensor, tf.transpose(large_tensor))
print("Matrix product defined")

#Run the operation (potentially causing a crash)
with tf.compat.v1.Session() as sess:
    print("Starting Computation")
    output = sess.run(result)
    print("Computation Completed")
