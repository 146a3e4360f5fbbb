"""The fifteen examples of five articles about dying kernels, kept verbatim with their mistakes.

The articles guess at causes; these are the ends that the examples really come to in a group of 3 GB.
"""

from __future__ import annotations

import signal

from bench.deaths.death import Death
from crashcart.finding import Cause

DEATHS: tuple[Death, ...] = (
    Death(
        "seed_000_1",
        Cause.CONTAINER_MEMORY,
        -9,
        at="large_tensor = np.random.rand(10000, 10000, 3).astype(np.float32)",
        limit_mb=3000,
    ),
    Death(
        "seed_000_2",
        Cause.PYTHON_ERROR,
        1,
        at="    tensor_list.append(tf.constant(np.random.rand(100, 100))) #Appending without explicit release",
        limit_mb=3000,
    ),
    Death("seed_000_3", Cause.CLEAN_EXIT, 0, limit_mb=3000, abnormal=False),
    Death(
        "seed_001_1",
        Cause.HOST_MEMORY,
        1,
        at=" " * 8 + "sess.run(c) # This might cause OOM error if memory is insufficient",
        limit_mb=3000,
        timeout_s=120,
    ),
    Death("seed_001_2", Cause.CLEAN_EXIT, 0, limit_mb=3000, abnormal=False),
    # No line: the empty block begins at one line, and the parser points behind its end.
    Death("seed_001_3", Cause.PYTHON_ERROR, 1, limit_mb=3000),
    Death("seed_002_1", Cause.SHAPE_MISMATCH, 1, at="    image = tf.image.resize(image, [256, 256])", limit_mb=3000),
    Death(
        "seed_002_2",
        Cause.KILLED_FROM_OUTSIDE,
        -15,
        at="for batch in dataset:",
        limit_mb=3000,
        timeout_s=120,
        signal_after_s=60,
        signal=signal.SIGTERM,
    ),
    Death("seed_002_3", Cause.DATA_MISSING, 1, at="for batch in dataset:", limit_mb=3000),
    Death(
        "seed_003_1", Cause.GRAPH_SESSION_MISUSE, 1, at="    output = sess.run(result)", limit_mb=3000, timeout_s=120
    ),
    Death("seed_003_2", Cause.GRAPH_SESSION_MISUSE, 1, at=" " * 12 + "result = sess.run(c)", limit_mb=3000),
    Death("seed_003_3", Cause.GRAPH_SESSION_MISUSE, 1, at="    result = sess.run(c)", limit_mb=3000),
    Death(
        "seed_004_1",
        Cause.PYTHON_ERROR,
        1,
        at="dataset = tf.data.Dataset.from_tensor_slices((x_train, y_train)).batch(batch_size)",
        limit_mb=3000,
    ),
    Death(
        "seed_004_2",
        Cause.PYTHON_ERROR,
        1,
        at="x_batch = np.array(x_train[0:batch_size])  # NumPy array creation consumes memory",
        limit_mb=3000,
    ),
    Death("seed_004_3", Cause.CLEAN_EXIT, 0, limit_mb=3000, abnormal=False),
)
