import tensorflow as tf
import time

def complex_transformation(x):
    time.sleep(0.1)  # Simulate a CPU intensive operation
    return tf.random.normal(shape=(1024,1024))

def create_dataset(num_elements):
  dataset = tf.data.Dataset.range(num_elements)
  dataset = dataset.map(complex_transformation, num_parallel_calls=tf.data.AUTOTUNE)
  dataset = dataset.batch(32)
  dataset = dataset.prefetch(tf.data.AUTOTUNE)
  return dataset

num_elements = 10000
dataset = create_dataset(num_elements)

for batch in dataset:
    pass
