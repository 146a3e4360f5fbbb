"""The deaths inside native code: crashes, exhausted stacks, forks."""

from __future__ import annotations

import signal

from bench.deaths import setups
from bench.deaths.death import Death
from crashcart.finding import Cause

_RESAMPLE = setups.compiled("resample/resample.c", "libresample.so")
_COMPILES = "compiles C"

DEATHS: tuple[Death, ...] = (
    Death("image_from_pointer", Cause.NATIVE_CRASH, -11),
    Death(
        "heap_overrun",
        Cause.NATIVE_CRASH,
        -6,
        program="histogram/count.py",
        setup=setups.compiled("histogram/histogram.c", "libhistogram.so"),
        setup_note=_COMPILES,
    ),
    Death("expand_in_loop", Cause.NATIVE_CRASH, -6),
    Death("fused_lstm_lengths", Cause.NATIVE_CRASH, -6),
    Death("released_twice", Cause.NATIVE_CRASH, -6),
    Death(
        "assert_in_c",
        Cause.NATIVE_CRASH,
        -6,
        program="resample/downsample.py",
        setup=_RESAMPLE,
        setup_note=_COMPILES,
    ),
    Death(
        "division_in_c",
        Cause.NATIVE_CRASH,
        -8,
        program="resample/steps.py",
        setup=_RESAMPLE,
        setup_note=_COMPILES,
    ),
    Death("crash_in_thread", Cause.NATIVE_CRASH, -11),
    Death("crash_at_exit", Cause.NATIVE_CRASH, -11),
    Death("tree_depth", Cause.STACK_OVERFLOW, 1),
    Death("pickle_linked_list", Cause.STACK_OVERFLOW, -11),
    Death("nested_json", Cause.STACK_OVERFLOW, -11),
    Death(
        "fork_after_ops",
        Cause.FORK_AFTER_THREADS,
        -15,
        also_ok=(Cause.HANG,),
        signal_after_s=20,
        signal=signal.SIGTERM,
    ),
    Death(
        "fork_pool_predict",
        Cause.FORK_AFTER_THREADS,
        -15,
        also_ok=(Cause.HANG,),
        signal_after_s=25,
        signal=signal.SIGTERM,
    ),
)
