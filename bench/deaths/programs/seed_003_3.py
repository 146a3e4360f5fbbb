import tensorflow as tf
import sys

print("TensorFlow Version:", tf.__version__)
print("Python Version:", sys.version)

# This is merely a placeholder operation
a = tf.constant([1,2,3])
b = tf.constant([4,5,6])
c = a + b

with tf.compat.v1.Session() as sess:
    result = sess.run(c)
    print("Result:", result)
