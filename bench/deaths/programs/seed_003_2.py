import tensorflow as tf

# Check for GPUs
gpus = tf.config.list_physical_devices('GPU')

if gpus:
    try:
        # Attempt to use the first GPU
        tf.config.set_visible_devices(gpus[0], 'GPU')
        logical_gpus = tf.config.list_logical_devices('GPU')
        print(len(gpus), "Physical GPUs,", len(logical_gpus), "Logical GPUs")
        
        with tf.device('/GPU:0'):
            a = tf.constant([1.0, 2.0, 3.0], dtype=tf.float32)
            b = tf.constant([4.0, 5.0, 6.0], dtype=tf.float32)
            c = a + b

            with tf.compat.v1.Session() as sess:
                result = sess.run(c)
                print("Result:", result)
    except RuntimeError as e:
        print("Error: Cannot use GPU:", e)

else:
    print("No GPUs detected, running on CPU")
    with tf.device('/CPU:0'):
        a = tf.constant([1.0, 2.0, 3.0], dtype=tf.float32)
        b = tf.constant([4.0, 5.0, 6.0], dtype=tf.float32)
        c = a + b
        
        with tf.compat.v1.Session() as sess:
            result = sess.run(c)
            print("Result:", result)
