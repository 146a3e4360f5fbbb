import tensorflow as tf

# Inefficient: Creating large tensors without proper disposal
with tf.Graph().as_default():
    a = tf.random.normal([10000, 10000, 10000], dtype=tf.float32) #Massive tensor
    b = tf.random.normal([10000, 10000, 10000], dtype=tf.float32) #Another massive tensor
    c = tf.matmul(a, b) #Potentially catastrophically memory-consuming operation

    with tf.compat.v1.Session() as sess:
        sess.run(c) # This might cause OOM error if memory is insufficient

# Correct approach: Using tf.constant and explicit deallocation, where appropriate.  In this specific case, rewriting the operation for efficiency is necessary.
