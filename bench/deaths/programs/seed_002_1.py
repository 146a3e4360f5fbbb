import tensorflow as tf

def load_and_preprocess_image(image_path):
    image = tf.io.read_file(image_path)
    image = tf.io.decode_image(image, channels=3)
    image = tf.image.resize(image, [256, 256])
    image = tf.cast(image, tf.float32) / 255.0
    return image

def create_dataset(image_paths, batch_size):
  dataset = tf.data.Dataset.from_tensor_slices(image_paths)
  dataset = dataset.map(load_and_preprocess_image, num_parallel_calls=tf.data.AUTOTUNE)
  dataset = dataset.batch(batch_size)
  dataset = dataset.prefetch(buffer_size=tf.data.AUTOTUNE) # Problem here
  return dataset


image_paths = [f'image_{i}.jpg' for i in range(100000)]  # Assume these are valid paths
batch_size = 32

# This will likely cause a kernel termination
dataset = create_dataset(image_paths, batch_size)
for batch in dataset:
   pass
