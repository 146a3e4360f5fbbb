"""Iterate over shuffled video clips."""

import tensorflow as tf

CLIP = (16, 112, 112, 3)


def make_clip(index):
    return tf.random.stateless_uniform(CLIP, seed=[index, 1]), index % 5


def clips():
    numbers = tf.data.Dataset.range(100_000)
    return (
        numbers.map(make_clip, num_parallel_calls=2)
        .shuffle(10_000)  # <-- or here
        .batch(4)
    )


def main():
    seen = 0
    for videos, _labels in clips():  # <-- dies here
        seen += int(videos.shape[0])
        if seen >= 40:
            break
    print("saw", seen, "clips")


if __name__ == "__main__":
    main()
