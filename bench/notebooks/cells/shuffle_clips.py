# %%
import tensorflow as tf

# %%
def make_clip(index):
    return tf.random.stateless_uniform((16, 112, 112, 3), seed=[index, 1]), index % 5

numbers = tf.data.Dataset.range(100_000)
clips = (
    numbers.map(make_clip, num_parallel_calls=2)
    .shuffle(10_000)  # <-- or here
    .batch(4)
)

# %%
seen = 0
for videos, labels in clips:  # <-- dies here
    seen += int(videos.shape[0])
    if seen >= 40:
        break
