"""The deaths: which notebook, under which client, of what cause.

Causes and lines were written down before the first run. Changed after it: `leave_at_once` and `kills_itself` ask for the cell alone,
since nothing sees their line; `count_ages` calls a function, since IPython compiles statement by statement and met the damaged heap
in between; a notebook with too few threads for TensorFlow was dropped, since its kernel did not die of that.
"""

from __future__ import annotations

import signal

from bench.deaths import setups
from bench.deaths.death import TOOLS
from bench.notebooks.death import Death
from crashcart.finding import Cause

_RESAMPLE = setups.compiled("resample/resample.c", "libresample.so")
_SMALL_SHM = (str(TOOLS / "with_tmpfs.sh"), "16m", "/dev/shm")

DEATHS: tuple[Death, ...] = (
    Death("scale_features", "nbclient", Cause.CONTAINER_MEMORY, limit_mb=900),
    Death("join_events", "papermill", Cause.CONTAINER_MEMORY, limit_mb=1000),
    Death("one_hot_timed", "nbclient", Cause.CONTAINER_MEMORY, limit_mb=800),
    Death("fit_large_batch", "papermill", Cause.CONTAINER_MEMORY, limit_mb=1500),
    Death("shuffle_clips", "nbclient", Cause.PIPELINE_MEMORY, limit_mb=1400),
    Death("cache_frames", "papermill", Cause.PIPELINE_MEMORY, limit_mb=1400),
    Death("replay_buffer", "nbclient", Cause.MEMORY_LEAK, limit_mb=900),
    Death("read_all_pages", "papermill", Cause.MEMORY_LEAK, also_ok=(Cause.CONTAINER_MEMORY,), limit_mb=600),
    Death("clear_frame", "papermill", Cause.NATIVE_CRASH, program="image_from_pointer.py"),
    Death("read_sensor_thread", "nbclient", Cause.NATIVE_CRASH),
    Death("free_twice", "papermill", Cause.NATIVE_CRASH),
    Death(
        "count_ages",
        "nbclient",
        Cause.NATIVE_CRASH,
        program="histogram/count.py",
        setup=setups.compiled("histogram/histogram.c", "libhistogram.so"),
    ),
    Death("downsample_assert", "papermill", Cause.NATIVE_CRASH, setup=_RESAMPLE),
    Death("group_sizes", "nbclient", Cause.NATIVE_CRASH, setup=_RESAMPLE),
    Death("add_axes", "papermill", Cause.NATIVE_CRASH),
    Death("fused_lstm", "nbclient", Cause.NATIVE_CRASH),
    Death("map_rewritten_file", "papermill", Cause.NATIVE_CRASH),
    Death("pickle_events", "nbclient", Cause.STACK_OVERFLOW),
    Death("export_thread", "papermill", Cause.STACK_OVERFLOW),
    Death(
        "similarity_avx512",
        "nbclient",
        Cause.CPU_INSTRUCTIONS,
        setup=setups.compiled("vector/dot512.c", "libdot.so", "-O2", "-mavx512f"),
    ),
    Death("share_frames", "papermill", Cause.SHARED_MEMORY, wrapper=_SMALL_SHM),
    Death(
        "all_neighbours",
        "nbclient",
        Cause.HOST_MEMORY,
        setup=setups.compiled("neighbours/neighbours.cpp", "libneighbours.so"),
    ),
    Death("relax_grid", "papermill", Cause.PROCESS_LIMIT),
    Death("killed_training", "papermill", Cause.KILLED_FROM_OUTSIDE, signal=signal.SIGKILL),
    Death("terminated_training", "nbclient", Cause.KILLED_FROM_OUTSIDE, "killed_training", signal=signal.SIGTERM),
    Death("kills_itself", "papermill", Cause.KILLED_FROM_OUTSIDE),
    Death("leave_at_once", "nbclient", Cause.CLEAN_EXIT),
    Death("pool_worker_killed", "papermill", None, error="BrokenProcessPool"),
    Death("ordinary_error", "nbclient", None, error="ValueError"),
)
