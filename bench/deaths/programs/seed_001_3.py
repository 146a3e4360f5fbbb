import tensorflow as tf

# Incorrect:  Improper session handling can lead to memory leaks
sess = tf.compat.v1.Session()
# ... perform TensorFlow operations ...
# ... forget to close the session ...

# Correct: Ensuring the session is closed explicitly.
with tf.compat.v1.Session() as sess:
    # ... perform TensorFlow operations ...
#Session is closed automatically after leaving the 'with' block

