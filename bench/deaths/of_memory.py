"""The deaths of memory: limits, devices, pipelines, leaks, constants."""

from __future__ import annotations

import signal

from bench.deaths import setups
from bench.deaths.death import Death
from crashcart.finding import Cause


def _device(memory_mb: int) -> dict[str, str]:
    """Put the CPU device on the allocator that GPUs use, with that much memory; without oneDNN's kernels, which no GPU has, and
    which crash where they get no scratch."""
    return {
        "TF_CPU_ALLOCATOR_USE_BFC": "1",
        "TF_CPU_BFC_MEM_LIMIT_IN_MB": str(memory_mb),
        "TF_ENABLE_ONEDNN_OPTS": "0",
    }


DEATHS: tuple[Death, ...] = (
    Death("features_to_float32", Cause.CONTAINER_MEMORY, -9, limit_mb=1500),
    Death("join_orders_events", Cause.CONTAINER_MEMORY, -9, limit_mb=1500),
    Death("one_hot_vocabulary", Cause.CONTAINER_MEMORY, -9, limit_mb=2500),
    Death(
        "concatenate_shards",
        Cause.CONTAINER_MEMORY,
        -9,
        program="shards/train.py",
        file="shards/shards.py",
        limit_mb=2000,
    ),
    Death("read_corpus", Cause.CONTAINER_MEMORY, -9, limit_mb=1500),
    Death("conv_batch_too_large", Cause.CONTAINER_MEMORY, -9, limit_mb=3000),
    Death("predict_everything", Cause.CONTAINER_MEMORY, -9, limit_mb=2500),
    Death("load_all_images", Cause.CONTAINER_MEMORY, -9, also_ok=(Cause.MEMORY_LEAK,), limit_mb=1500),
    Death("pool_worker_killed", Cause.CONTAINER_MEMORY, 1, limit_mb=2500),
    Death(
        "pool_map_never_returns",
        Cause.CONTAINER_MEMORY,
        -15,
        also_ok=(Cause.HANG,),
        limit_mb=2500,
        signal_after_s=20,
        signal=signal.SIGTERM,
    ),
    Death(
        "subprocess_step_killed",
        Cause.CONTAINER_MEMORY,
        1,
        program="report_job/pipeline.py",
        file="report_job/prepare.py",
        limit_mb=1500,
    ),
    Death("kernel_matrix", Cause.HOST_MEMORY, 1),
    Death("dense_after_flatten", Cause.HOST_MEMORY, 1),
    Death(
        "neighbour_search",
        Cause.HOST_MEMORY,
        -6,
        program="neighbours/search.py",
        setup=setups.compiled("neighbours/neighbours.cpp", "libneighbours.so"),
        setup_note="compiles a C++ library",
    ),
    Death("device_fit", Cause.GPU_MEMORY, 1, env=_device(200)),
    Death("device_attention", Cause.GPU_MEMORY, 1, env=_device(600)),
    Death("device_train_step", Cause.GPU_MEMORY, 1, env=_device(500)),
    Death("shuffle_large_elements", Cause.PIPELINE_MEMORY, -9, limit_mb=1800),
    Death("shuffle_in_fit", Cause.PIPELINE_MEMORY, -9, limit_mb=1800),
    Death("cache_in_memory", Cause.PIPELINE_MEMORY, -9, limit_mb=1800),
    Death("prefetch_batches", Cause.PIPELINE_MEMORY, -9, limit_mb=2000),
    Death("leak_activations", Cause.MEMORY_LEAK, -9, limit_mb=1800),
    Death("leak_histories", Cause.MEMORY_LEAK, -9, limit_mb=1800),
    Death("leak_replay_buffer", Cause.MEMORY_LEAK, -9, limit_mb=1200),
    Death(
        "leak_lru_cache",
        Cause.MEMORY_LEAK,
        -9,
        program="feature_service/__main__.py",
        argv=("{python}", "-m", "feature_service"),
        env={"PYTHONPATH": "{programs}"},
        file="feature_service/features.py",
        limit_mb=1200,
    ),
    Death("leak_callback_predictions", Cause.MEMORY_LEAK, -9, limit_mb=1800),
    Death("leak_retracing", Cause.MEMORY_LEAK, -9, limit_mb=1800),
    Death("leak_unbounded_queue", Cause.MEMORY_LEAK, -9, limit_mb=1200),
    Death("constant_in_function", Cause.OVERSIZED_CONSTANT, 1),
    Death("slices_in_graph", Cause.OVERSIZED_CONSTANT, 1),
    Death("slices_copy", Cause.OVERSIZED_CONSTANT, -9, also_ok=(Cause.CONTAINER_MEMORY,), limit_mb=2200),
)
