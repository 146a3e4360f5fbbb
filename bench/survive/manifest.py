"""All programs of the bench.

Covers: their limits, what they print in the end, and what they need. TensorFlow alone takes 0.5 GB, NumPy 25 MB, pandas 65 MB.
Does not cover: deaths for another reason than memory (`bench.deaths`), programs that must not be disturbed (`bench.alarms`).
"""

from __future__ import annotations

from bench.survive.setups import log_file, pickled_rows
from bench.survive.threat import PROGRAMS, Threat


def _cells(name: str, limit_mb: int, alive: str, eats: str) -> Threat:
    """A session of cells that goes on after a failed one."""
    return Threat(
        f"session_{name}",
        limit_mb,
        alive,
        eats,
        program="session/shell.py",
        args=(str(PROGRAMS / f"session/{name}.py"),),
    )


THREATS: tuple[Threat, ...] = (
    Threat("numpy_one_array", 400, "50923677", "one array of 1 GB"),
    Threat("numpy_concatenate", 400, "125000249995", "`concatenate` of an array with itself"),
    Threat("numpy_list_of_arrays", 400, "705452948", "a list of 7 MB arrays"),
    Threat("numpy_zeros_filled", 400, "39819900000", "zeros that are filled later"),
    Threat("numpy_distances", 500, "2814107", "the temporaries of a broadcast"),
    Threat("numpy_small_arrays", 400, "1306982656", "many arrays of 4 KB"),
    Threat("numpy_sort_copies", 400, "6000952779567", "a copy for each step"),
    Threat("pandas_merge", 500, "80372000", "a merge on a key that is not unique"),
    Threat("pandas_concat_loop", 500, "140000700000", "`concat` in a loop"),
    Threat("pandas_get_dummies", 500, "326351", "a column for each value"),
    Threat("objects_list_of_dicts", 300, "99995003", "a list of dicts"),
    Threat("objects_growing_text", 300, "8718585", "one string that grows"),
    Threat("objects_dict_of_lists", 300, "1799970000", "a dict of lists of tuples"),
    Threat("objects_seen_pairs", 300, "50000", "a set of tuples"),
    Threat("objects_instances", 300, "54990000", "a list of instances"),
    Threat("tensor_list", 1000, "4034016", "a list of tensors"),
    Threat("tensor_matmul", 1000, "336059", "the result of a matmul"),
    Threat("tensor_one_hot", 1000, "1002", "`one_hot` of a corpus"),
    Threat("tensor_concat", 1000, "839988", "`concat` of a tensor with itself"),
    Threat("function_stack", 1000, "1048582", "a `TensorArray` in a tf.function", tries=False),
    Threat("function_intermediate", 1000, "132.33 891000", "a temporary in a tf.function"),
    Threat("fit_large_batch", 1200, "(16, 10) 1440", "Keras `fit`, batch too large", tries=False),
    Threat("fit_embeddings", 1200, "(64, 2) 32", "Keras `fit`, Adam beside a large embedding", tries=False),
    Threat("predict_everything", 1100, "2424285", "Keras `predict`, large outputs"),
    Threat("predict_one_call", 1100, "(8, 32)", "a Keras model called on all data"),
    Threat("data_shuffle_large", 1000, "852", "tf.data `shuffle`, elements of 3 MB", tries=False),
    Threat("data_shuffle_small", 1000, "1000", "tf.data `shuffle`, elements of 48 KB"),
    Threat("data_cache", 1000, "[403, 403]", "tf.data `cache`", tries=False),
    Threat("data_prefetch", 1100, "20476", "tf.data `prefetch` of large batches", tries=False),
    Threat("data_interleave", 1100, "62400", "tf.data `interleave` of buffered shards", tries=False),
    Threat("data_slices", 1100, "479995 37500", "`from_tensor_slices`, copies of arrays"),
    Threat("data_batch_whole", 1000, "36", "the data set as one batch"),
    Threat("data_generator", 1000, "60", "what a generator yields, in a list"),
    Threat("images_decoded", 1000, "300", "decoded images, then `np.stack`"),
    Threat("file_read", 300, "2066000", "a file read whole", setup=log_file("server.log", 500)),
    Threat("file_readlines", 300, "199809400", "the lines of a file in a list", setup=log_file("server.log", 200)),
    Threat("json_loads", 400, "15000000", "`json.loads`"),
    Threat("pickle_load", 300, "1249975003", "`pickle.load`", setup=pickled_rows("results.pickle", 1_500_000)),
    Threat("threads_arrays", 400, "27000000", "arrays in four threads"),
    Threat("threads_rows", 300, "49995006", "dicts in a background thread"),
    Threat("threads_executor", 400, "2000001000276", "results of a ThreadPoolExecutor"),
    Threat("child_pool", 400, "499999500010", "arrays in a forked worker", plain_status=1),
    Threat("child_process", 300, "7890", "dicts in a Python subprocess", plain_status=1),
    _cells("arrays", 400, "1000000000", "cells: arrays"),
    _cells("rows", 300, "4999968780", "cells: rows of dicts"),
    _cells("frames", 500, "4978555 400000", "cells: tables"),
    _cells("training", 1100, "True 9000", "cells: training and scoring"),
)
