import tensorflow as tf

# Simulating a memory leak
tensor_list = []
for i in range(10000):
    tensor_list.append(tf.constant(np.random.rand(100, 100))) #Appending without explicit release

# Kernel crash is likely due to accumulation of unreferenced tensors
with tf.compat.v1.Session() as sess:
    for tensor in tensor_list:
        sess.run(tensor)  # Accessing the tensor to force memory allocation.
