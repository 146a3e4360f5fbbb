"""`crashcart fit` on real models, and on what is no model."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from crashcart.cli.main import main

pytestmark = pytest.mark.skipif(importlib.util.find_spec("tensorflow") is None, reason="TensorFlow is not installed")

PROGRAMS = Path(__file__).parent / "programs"
MODELS = PROGRAMS / "models.py"
TRUTH = """
import sys; sys.path.insert(0, {programs!r})
import tensorflow as tf, models
model = models.build()
model.make_predict_function()
for step in range(3):
    batch = (tf.random.uniform([65536, 32]),)
    if step:
        tf.config.experimental.reset_memory_stats("CPU:0")
    model.predict_function([batch])
    peak = tf.config.experimental.get_memory_info("CPU:0")["peak"]
print("peak", peak)
"""


def fit(capfd: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(["fit", *arguments])
    out, err = capfd.readouterr()
    return code, out, err


def document(capfd: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    code, out, err = fit(capfd, *arguments, "--json")
    assert out, err
    found: dict[str, Any] = json.loads(out)
    assert code == (1 if found["findings"] else 0)
    return found


def true_peak() -> int:
    """The peak of the real step, on the allocator that GPUs use."""
    allocator = {"TF_CPU_ALLOCATOR_USE_BFC": "1", "TF_CPU_BFC_MEM_LIMIT_IN_MB": "500", "TF_ENABLE_ONEDNN_OPTS": "0"}
    environment = {**os.environ, **allocator}
    done = subprocess.run(
        [sys.executable, "-c", TRUTH.format(programs=str(PROGRAMS))],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return int(done.stdout.split()[-1])


def test_the_estimate_is_the_true_peak(capfd: pytest.CaptureFixture[str]) -> None:
    target = (f"{MODELS}:build", "--batch", "65536", "--phase", "predict")
    found = document(capfd, *target, "--memory", "1G", "--target", "device")
    assert found["low_bytes"] <= true_peak() <= found["high_bytes"]
    assert (
        found["low_bytes"] <= found["device_peak_bytes"] <= found["high_bytes"] <= found["available_bytes"] == 1 << 30
    )
    assert found["largest_batch"] > 65536
    assert found["batches"]["power_of_two"] <= found["largest_batch"]
    assert found["host_low_bytes"] <= found["host_peak_bytes"] <= found["host_high_bytes"]
    assert (found["method"], found["target"], found["fits"]) == ("traced", "device", True)
    assert found["remedies"] == [] and found["verified"] is None and found["seconds"] > 0
    assert 0 < len(found["moments"]) <= 60


def test_a_step_that_does_not_fit_is_a_finding_with_remedies(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    page = tmp_path / "fit.html"
    target = (f"{MODELS}:build", "--batch", "4096", "--memory", "2M", "--target", "device", "--html", str(page))
    found = document(capfd, *target)
    assert [each["code"] for each in found["findings"]] == ["F101"]
    assert 0 < found["largest_batch"] < 4096
    assert found["fits"] is False and found["findings"][0]["cause"] == "gpu-memory"
    assert found["place"] and "/" not in found["place"]
    assert [each["peak_bytes"] for each in found["remedies"]] == sorted(
        each["peak_bytes"] for each in found["remedies"]
    )
    assert found["remedies"][0]["peak_bytes"] < found["device_peak_bytes"]
    assert page.read_text().count('class="chart step"') == 2


def test_predict_takes_less_than_training_and_says_so_in_words(capfd: pytest.CaptureFixture[str]) -> None:
    code, out, err = fit(capfd, f"{MODELS}:build", "--batch", "64", "--phase", "predict", "--memory", "1G")
    assert (code, err) == (0, "")  # nothing of TensorFlow's own start
    assert out.startswith("peak ")
    assert "fits; the largest batch that fits is" in out
    assert "optimizer" not in out
    assert "what the process grows by on the host" in out
    assert "Python and TensorFlow take 600 MiB" in out
    assert max(map(len, out.splitlines())) <= 80


def test_evaluate_lies_between_predict_and_train(capfd: pytest.CaptureFixture[str]) -> None:
    target = (f"{MODELS}:build", "--batch", "65536", "--gpu", "T4", "--no-remedies")
    phases = {phase: document(capfd, *target, "--phase", phase) for phase in ("train", "evaluate")}
    assert phases["evaluate"]["device_peak_bytes"] < phases["train"]["device_peak_bytes"]
    assert phases["train"]["available_in"] == "T4"


@pytest.mark.timeout(600)
def test_a_step_that_cannot_be_traced_is_run_at_small_batches(capfd: pytest.CaptureFixture[str]) -> None:
    target = f"{PROGRAMS / 'untraceable.py'}:build"
    found = document(capfd, target, "--batch", "4096", "--memory", "4G", "--target", "device", "--no-remedies")
    assert found["method"] == "measured"
    assert any("small real steps were run in a child" in each for each in found["assumed"])
    assert found["low_bytes"] <= found["device_peak_bytes"] <= found["high_bytes"]


@pytest.mark.timeout(600)
def test_both_ways_and_a_real_run_at_the_largest_batch(capfd: pytest.CaptureFixture[str]) -> None:
    target = (f"{MODELS}:build", "--batch", "4096", "--memory", "64M", "--target", "device")
    found = document(capfd, *target, "--probe", "--verify", "--no-remedies")
    assert set(found["methods"]) == {"traced", "measured"}
    assert found["verified"]["lived"] and found["verified"]["batch"] == found["largest_batch"]
    assert found["verified"]["limit_bytes"] == 64 << 20


@pytest.mark.parametrize(
    ("target", "code", "then"),
    [
        ("models.py", 2, "NAME"),
        ("nothing.py:build", 2, "FILE.py:NAME"),
        (f"{MODELS}:not_built", 2, "--shape"),
        (f"{PROGRAMS / 'trains.py'}:model", 3, "__main__"),
    ],
)
def test_bad_input_is_told_with_the_next_thing_to_do(
    capfd: pytest.CaptureFixture[str], target: str, code: int, then: str
) -> None:
    got, out, err = fit(capfd, target)
    assert (got, out) == (code, "")
    assert then in err


@pytest.mark.parametrize(
    ("extra", "says"),
    [
        (("--batch", "0"), "--batch 0"),
        (("--timeout", "-1"), "--timeout -1"),
        (("--timeout", "nan"), "--timeout nan"),
        (("--shape", "a,b"), "--shape 'a,b'"),
        (("--memory", "much"), "much"),
        (("--gpu", "A100"), "A100-40G, A100-80G"),
        (("--gpu", "T4", "--memory", "16G"), "--gpu and --memory"),
        (("--gpu", "T4", "--target", "host"), "--gpu and --target host"),
    ],
)
def test_options_that_make_no_sense_are_refused(
    capfd: pytest.CaptureFixture[str], extra: tuple[str, ...], says: str
) -> None:
    code, out, err = fit(capfd, f"{MODELS}:build", *extra)
    assert (code, out) == (2, "")
    assert says in err
