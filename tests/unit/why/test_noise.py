"""Harmless lines, alone and around another cause, are named as noise and never blamed."""

from __future__ import annotations

import pytest

from crashcart.finding import Cause
from crashcart.probe.log import parse_log
from crashcart.why import explain
from crashcart.why.collect_log import evidence_of
from tests.unit.why.families import FAMILIES

HARMLESS = {
    "oneDNN": "2024-01-01 10:00:00.1: I tensorflow/core/util/port.cc:113] oneDNN custom operations are on. You may see slightly different numerical results due to floating-point round-off errors from different computation orders.",
    "cuDNN factory": "2024-01-01 10:00:00.1: E external/local_xla/xla/stream_executor/cuda/cuda_dnn.cc:9261] Unable to register cuDNN factory: Attempting to register factory for plugin cuDNN when one has already been registered",
    "cuBLAS factory": "E0000 00:00:1739736710.520736   11499 cuda_blas.cc:1418] Unable to register cuBLAS factory: Attempting to register factory for plugin cuBLAS when one has already been registered",
    "NUMA": "2024-01-01 10:00:00.1: I tensorflow/stream_executor/cuda/cuda_gpu_executor.cc:939] successful NUMA node read from SysFS had negative value (-1), but there must be at least one NUMA node, so returning NUMA node zero",
    "TF-TRT": "2024-01-01 10:00:00.1: W tensorflow/compiler/tf2tensorrt/utils/py_utils.cc:38] TF-TRT Warning: Could not find TensorRT",
    "AVX old": "W tensorflow/core/platform/cpu_feature_guard.cc:45] The TensorFlow library wasn't compiled to use AVX instructions, but these are available on your machine and could speed up CPU computations.",
    "AVX middle": "2020-01-01 10:00:00.1: I tensorflow/core/platform/cpu_feature_guard.cc:142] Your CPU supports instructions that this TensorFlow binary was not compiled to use: AVX2 FMA",
    "AVX new": "2024-01-01 10:00:00.1: I tensorflow/core/platform/cpu_feature_guard.cc:182] This TensorFlow binary is optimized to use available CPU instructions in performance-critical operations.",
    "AVX rebuild": "To enable the following instructions: AVX2 FMA, in other operations, rebuild TensorFlow with the appropriate compiler flags.",
    "Canceled future": "Error: Canceled future for execute_request message before replies were done",
    "deprecation": "WARNING:tensorflow:From a.py:3: colocate_with (from tensorflow.python.framework.ops) is deprecated and will be removed in a future version.",
    "FutureWarning": "/venv/lib/python3.7/site-packages/tensorflow/python/framework/dtypes.py:516: FutureWarning: Passing (type, 1) or '1type' as a synonym of type is deprecated",
    "not a failure": "2020-01-01 10:00:00.1: W tensorflow/core/common_runtime/bfc_allocator.cc:243] Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.04GiB. The caller indicates that this is not a failure, but may mean that there could be performance gains if more memory were available.",
    "end of sequence": "2023-01-01 10:00:00.1: W tensorflow/core/framework/local_rendezvous.cc:404] Local rendezvous is aborting with status: OUT_OF_RANGE: End of sequence",
    "generator": "2020-02-26 10:01:02.1: W tensorflow/core/kernels/data/generator_dataset_op.cc:103] Error occurred when finalizing GeneratorDataset iterator: Cancelled: Operation was cancelled",
}  # fmt: skip


@pytest.mark.parametrize("name", HARMLESS)
def test_alone_it_is_no_verdict_and_is_named(name: str) -> None:
    report = explain(evidence_of(parse_log(HARMLESS[name])))
    assert report.verdict is not None
    assert report.verdict.cause is Cause.UNKNOWN
    assert [notice["line"] for notice in report.figures.get("noise", [])] == [1]


@pytest.mark.parametrize(("text", "causes"), FAMILIES[::3])
def test_mixed_into_another_log_it_changes_nothing(text: str, causes: str) -> None:
    around = list(HARMLESS.values())
    mixed = "\n".join([*around[:8], text, *around[8:]])
    report = explain(evidence_of(parse_log(mixed)))
    assert report.verdict is not None
    assert report.verdict.cause.value in causes.split(), f"{report.verdict.code}: {report.verdict.headline}"
    assert len(report.figures["noise"]) >= 8
