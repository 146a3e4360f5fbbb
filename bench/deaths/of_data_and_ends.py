"""The deaths of data and of plain Python, and the ends that come from outside or in order."""

from __future__ import annotations

import signal

from bench.deaths.death import Death
from crashcart.finding import Cause

DEATHS: tuple[Death, ...] = (
    Death("truncated_records", Cause.DATA_CORRUPT, 1),
    Death("not_a_jpeg", Cause.DATA_CORRUPT, 1),
    Death("truncated_array", Cause.DATA_CORRUPT, 1),
    Death("damaged_gzip", Cause.DATA_CORRUPT, 1),
    Death("truncated_keras_file", Cause.DATA_CORRUPT, 1, also_ok=(Cause.SAVED_MODEL_MISMATCH,)),
    Death("broken_csv_row", Cause.DATA_CORRUPT, 1),
    Death("missing_csv", Cause.DATA_MISSING, 1),
    Death("empty_image_folder", Cause.DATA_MISSING, 1),
    Death("missing_records", Cause.DATA_MISSING, 1),
    Death("next_beyond_end", Cause.DATA_EXHAUSTED, 1),
    Death("session_out_of_range", Cause.DATA_EXHAUSTED, 1),
    Death("generator_used_up", Cause.DATA_EXHAUSTED, 1),
    Death("missing_column", Cause.PYTHON_ERROR, 1),
    Death("callback_division", Cause.PYTHON_ERROR, 1),
    Death("undefined_name", Cause.PYTHON_ERROR, 1),
    Death("thread_fails_main_reports", Cause.PYTHON_ERROR, 1),
    Death(
        "thread_fails_main_waits",
        Cause.PYTHON_ERROR,
        -15,
        also_ok=(Cause.HANG,),
        signal_after_s=20,
        signal=signal.SIGTERM,
    ),
    Death("thread_fails_main_succeeds", Cause.PYTHON_ERROR, 0, also_ok=(Cause.CLEAN_EXIT,), abnormal=False),
    Death(
        "interrupted_training",
        Cause.INTERRUPTED,
        -2,
        program="train_forever.py",
        signal_after_s=14,
        signal=signal.SIGINT,
    ),
    Death(
        "interrupted_simulation",
        Cause.INTERRUPTED,
        -2,
        program="simulate_forever.py",
        signal_after_s=4,
        signal=signal.SIGINT,
    ),
    Death(
        "killed_training",
        Cause.KILLED_FROM_OUTSIDE,
        -9,
        program="train_forever.py",
        limit_mb=3000,
        signal_after_s=14,
        signal=signal.SIGKILL,
    ),
    Death(
        "terminated_training",
        Cause.KILLED_FROM_OUTSIDE,
        -15,
        program="train_forever.py",
        signal_after_s=14,
        signal=signal.SIGTERM,
    ),
    Death(
        "hung_up_simulation",
        Cause.KILLED_FROM_OUTSIDE,
        -1,
        program="simulate_forever.py",
        signal_after_s=4,
        signal=signal.SIGHUP,
    ),
    Death(
        "time_limit_of_job",
        Cause.KILLED_FROM_OUTSIDE,
        124,
        program="train_forever.py",
        argv=("timeout", "14", "{python}", "{program}"),
    ),
    Death("two_locks", Cause.HANG, -15, signal_after_s=20, signal=signal.SIGTERM),
    Death("queue_never_filled", Cause.HANG, -15, signal_after_s=20, signal=signal.SIGTERM),
    Death("silent_server", Cause.HANG, -15, signal_after_s=20, signal=signal.SIGTERM),
    Death("finishes", Cause.CLEAN_EXIT, 0, abnormal=False),
    Death("exits_with_three", Cause.CLEAN_EXIT, 3),
    Death("exits_with_message", Cause.CLEAN_EXIT, 1),
    Death("recovers_from_oom", Cause.CLEAN_EXIT, 0, abnormal=False),
    Death("steps_per_epoch_too_many", Cause.CLEAN_EXIT, 0, also_ok=(Cause.DATA_EXHAUSTED,), abnormal=False),
    Death("noisy_but_fine", Cause.CLEAN_EXIT, 0, abnormal=False),
)
