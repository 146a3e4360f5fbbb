"""tf.data over TFRecord files, which checks both checksums; with `parse`, each Example is parsed, with `decode` its picture decoded, too."""

import json
import os
import sys
import time
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import tensorflow as tf

began = time.perf_counter()
paths = sorted(map(str, Path(sys.argv[1]).rglob("*.tfrecord")))
records = tf.data.TFRecordDataset(paths, num_parallel_reads=len(os.sched_getaffinity(0)))
if sys.argv[2:]:
    features = {"image": tf.io.FixedLenFeature([], tf.string), "label": tf.io.FixedLenFeature([], tf.int64)}
    records = records.map(lambda each: tf.io.parse_single_example(each, features), num_parallel_calls=tf.data.AUTOTUNE)
if sys.argv[2:] == ["decode"]:
    records = records.map(lambda each: tf.io.decode_jpeg(each["image"]), num_parallel_calls=tf.data.AUTOTUNE)
read = int(records.ignore_errors().reduce(0, lambda count, _: count + 1))
print(json.dumps({"files": len(paths), "records": read, "inner_s": time.perf_counter() - began}))
