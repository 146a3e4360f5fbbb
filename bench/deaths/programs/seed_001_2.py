import tensorflow as tf

# Incorrect:  Variables declared without explicit scope management
v1 = tf.Variable(tf.random.normal([1000, 1000]))
v2 = tf.Variable(tf.random.normal([1000, 1000]))
# ... more variables created similarly ...

# Correct: Using tf.name_scope and/or tf.variable_scope for better resource control.
with tf.name_scope('my_scope'):
    v3 = tf.Variable(tf.random.normal([1000,1000]), name='variable_3')
    v4 = tf.Variable(tf.random.normal([1000,1000]), name='variable_4')

# Additional cleanup can be achieved with tf.reset_default_graph(), depending on your session management strategy.
