import tensorflow as tf
import numpy as np

tensor_a = tf.constant(np.random.rand(10, 10))
tensor_b = tf.constant(np.random.rand(20, 20))  #Incompatible Shape

try:
    result = tf.add(tensor_a, tensor_b)
    with tf.compat.v1.Session() as sess:
        sess.run(result) #Shape mismatch will not execute
except tf.errors.InvalidArgumentError as e:
    print(f"TensorFlow Error: {e}") #Catches and prints the error message instead of a crash
