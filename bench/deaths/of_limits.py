"""The deaths of limits, file systems, packages and processors."""

from __future__ import annotations

from bench.deaths import setups
from bench.deaths.death import Death
from crashcart.finding import Cause

_RUN = ("{python}", "{program}")


def _small_shm(size: str) -> tuple[str, ...]:
    return ("{tools}/with_tmpfs.sh", size, "/dev/shm", *_RUN)


def _small_disk(size: str) -> tuple[str, ...]:
    return ("{tools}/with_tmpfs.sh", size, "{tmp}/full", *_RUN, "{tmp}/full")


def _ulimit(option: str, value: int) -> tuple[str, ...]:
    return ("sh", "-c", f'ulimit {option} {value}; exec "$0" "$@"', *_RUN)


_PIDS = ("{tools}/with_pids_limit.sh",)
_OTHER_PACKAGES = {"PYTHONPATH": "{tmp}/packages"}
_NEEDS_ROOT = "needs the right to mount in a namespace of its own"
_NEEDS_PIDS = "needs the right to make a cgroup v1 pids group"
_NEEDS_INDEX = "the first run fetches a wheel with pip"
_NEEDS_NO_AVX512 = "compiles C; the processor must lack AVX-512"

DEATHS: tuple[Death, ...] = (
    Death("shared_frames", Cause.SHARED_MEMORY, -7, argv=_small_shm("16m"), setup_note=_NEEDS_ROOT),
    Death("shared_worker", Cause.SHARED_MEMORY, 1, argv=_small_shm("16m"), setup_note=_NEEDS_ROOT),
    Death(
        "shared_cache_file",
        Cause.SHARED_MEMORY,
        1,
        argv=_small_shm("16m"),
        also_ok=(Cause.DISK_FULL,),
        setup_note=_NEEDS_ROOT,
    ),
    Death("checkpoint_disk_full", Cause.DISK_FULL, 1, argv=_small_disk("8m"), setup_note=_NEEDS_ROOT),
    Death("embeddings_disk_full", Cause.DISK_FULL, 1, argv=_small_disk("8m"), setup_note=_NEEDS_ROOT),
    Death("tf_checkpoint_disk_full", Cause.DISK_FULL, 1, argv=_small_disk("8m"), setup_note=_NEEDS_ROOT),
    Death("open_shards", Cause.PROCESS_LIMIT, 1, argv=_ulimit("-n", 64)),
    Death("interleave_many_files", Cause.PROCESS_LIMIT, 1, argv=_ulimit("-n", 128)),
    Death("thread_per_request", Cause.PROCESS_LIMIT, 1, argv=(*_PIDS, "64", *_RUN), setup_note=_NEEDS_PIDS),
    Death("tensorflow_few_threads", Cause.PROCESS_LIMIT, -6, argv=(*_PIDS, "12", *_RUN), setup_note=_NEEDS_PIDS),
    Death("address_space_array", Cause.PROCESS_LIMIT, 1, argv=_ulimit("-v", 2_000_000), also_ok=(Cause.HOST_MEMORY,)),
    Death("address_space_import", Cause.PROCESS_LIMIT, 1, argv=_ulimit("-v", 500_000)),
    Death("cpu_time_limit", Cause.PROCESS_LIMIT, -24, argv=_ulimit("-S -t", 5)),
    Death(
        "cpu_time_hard_limit",
        Cause.PROCESS_LIMIT,
        -9,
        program="cpu_time_limit.py",
        argv=_ulimit("-t", 5),
        also_ok=(Cause.KILLED_FROM_OUTSIDE,),
    ),
    Death(
        "avx512_library",
        Cause.CPU_INSTRUCTIONS,
        -4,
        program="vector/similarity.py",
        setup=setups.compiled("vector/dot512.c", "libdot.so", "-O2", "-mavx512f"),
        setup_note=_NEEDS_NO_AVX512,
        lacks="avx512f",
    ),
    Death(
        "avx512_at_import",
        Cause.CPU_INSTRUCTIONS,
        -4,
        program="fasttok/tokenise.py",
        env={"PYTHONPATH": "{tmp}"},
        setup=setups.extension("fasttok/fasttok.c", "fasttok", "-O2", "-mavx512f"),
        setup_note=_NEEDS_NO_AVX512,
        lacks="avx512f",
    ),
    Death(
        "old_protobuf",
        Cause.LIBRARY_CONFLICT,
        1,
        program="import_tensorflow.py",
        env=_OTHER_PACKAGES,
        setup=setups.packages("protobuf==3.20.3"),
        setup_note=_NEEDS_INDEX,
    ),
    Death(
        "old_ml_dtypes",
        Cause.LIBRARY_CONFLICT,
        1,
        program="import_tensorflow.py",
        env=_OTHER_PACKAGES,
        setup=setups.packages("ml-dtypes==0.3.2"),
        setup_note=_NEEDS_INDEX,
    ),
    Death(
        "old_numpy_new_pandas",
        Cause.LIBRARY_CONFLICT,
        1,
        program="import_pandas.py",
        env=_OTHER_PACKAGES,
        setup=setups.packages("numpy==1.23.5"),
        setup_note=_NEEDS_INDEX,
    ),
    Death(
        "numpy_of_other_python",
        Cause.LIBRARY_CONFLICT,
        1,
        program="import_numpy.py",
        env=_OTHER_PACKAGES,
        setup=setups.packages("numpy==1.26.4", python="3.10"),
        setup_note=_NEEDS_INDEX,
    ),
    Death(
        "old_keras",
        Cause.LIBRARY_CONFLICT,
        1,
        program="use_keras.py",
        env=_OTHER_PACKAGES,
        setup=setups.packages("keras==2.15.0"),
        setup_note=_NEEDS_INDEX,
    ),
    Death("gpu_monitor", Cause.CUDA_MISMATCH, 1, also_ok=(Cause.DEVICE_PLACEMENT,)),
    Death(
        "custom_op_other_cuda",
        Cause.CUDA_MISMATCH,
        1,
        program="custom_op/apply.py",
        setup=setups.linked_to_absent("custom_op/zero_out.c", "zero_out.so", "libcudart.so.11.0"),
        setup_note="compiles C",
    ),
    Death(
        "two_openmp_runtimes",
        Cause.OPENMP_CONFLICT,
        -6,
        setup=setups.library_from_wheel(
            "intel-openmp==2026.2.0", "libiomp5.so", "linalg/libiomp5.so", "boosting/libiomp5.so"
        ),
        setup_note=_NEEDS_INDEX,
    ),
)
