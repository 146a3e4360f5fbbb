import tensorflow as tf

def load_text_file(filepath):
    content = tf.io.read_file(filepath) # Can fail if file is corrupted
    return content

def create_dataset(filepaths):
    dataset = tf.data.Dataset.from_tensor_slices(filepaths)
    dataset = dataset.map(load_text_file, num_parallel_calls=tf.data.AUTOTUNE)
    dataset = dataset.batch(32)
    dataset = dataset.prefetch(tf.data.AUTOTUNE)
    return dataset


file_paths = [f'file_{i}.txt' for i in range(1000)]
# Imagine one of these files is corrupted (e.g. not a valid text file or zero bytes)
dataset = create_dataset(file_paths)

for batch in dataset:
    pass

