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
    environment = {**os.environ, "TF_CPU_ALLOCATOR_USE_BFC": "1", "TF_CPU_BFC_MEM_LIMIT_IN_MB": "500"}
    done = subprocess.run(
        [sys.executable, "-c", TRUTH.format(programs=str(PROGRAMS))],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return int(done.stdout.split()[-1])


def test_the_estimate_is_the_true_peak(capfd: pytest.CaptureFixture[str]) -> None:
    found = document(capfd, f"{MODELS}:build", "--batch", "65536", "--phase", "predict", "--memory", "1G")
    assert found["low_bytes"] <= true_peak() <= found["high_bytes"]
    assert found["low_bytes"] <= found["device_peak_bytes"] <= found["high_bytes"] <= found["available_bytes"]
    assert found["largest_batch"] > 65536
    assert found["host_peak_bytes"] is None  # not estimated, so not claimed


def test_a_step_that_does_not_fit_is_a_finding(capfd: pytest.CaptureFixture[str]) -> None:
    found = document(capfd, f"{MODELS}:build", "--batch", "4096", "--memory", "1M")
    assert [each["code"] for each in found["findings"]] == ["F101"]
    assert 0 < found["largest_batch"] < 4096


def test_predict_takes_less_than_training_and_says_so_in_words(capfd: pytest.CaptureFixture[str]) -> None:
    code, out, _ = fit(capfd, f"{MODELS}:build", "--batch", "64", "--phase", "predict", "--memory", "1G")
    assert code == 0
    assert out.startswith("peak ")
    assert "fits; the largest batch that fits is" in out
    assert "optimizer" not in out


def test_an_unbuilt_model_is_estimated_with_a_shape_or_specs(capfd: pytest.CaptureFixture[str]) -> None:
    by_shape = document(capfd, f"{MODELS}:not_built", "--shape", "16", "--memory", "1G")
    by_specs = document(capfd, f"{MODELS}:with_specs", "--memory", "1G")
    assert by_shape["device_peak_bytes"] == by_specs["device_peak_bytes"]


@pytest.mark.parametrize(
    ("target", "code", "says", "then"),
    [
        ("models.py", 2, "expected FILE.py:NAME", "build_model"),
        ("nothing.py:build", 2, "there is no file", "FILE.py:NAME"),
        (f"{MODELS}:missing", 2, "has no missing; it defines build", "NAME"),
        (f"{MODELS}:needs_width", 2, "needs width", "without required arguments"),
        (f"{MODELS}:raises", 3, "KeyError: 'vocabulary' (models.py:39)", "Fix that first"),
        (f"{MODELS}:gives_a_number", 2, "gives an object of type builtins.int", "keras.Model"),
        (f"{MODELS}:not_compiled", 2, "not compiled", "--phase predict"),
        (f"{MODELS}:not_built", 2, "not built", "--shape"),
        (f"{MODELS}:with_xla", 3, "jit_compile=True", "jit_compile=False"),
        (f"{PROGRAMS / 'trains.py'}:model", 3, "model.fit() while it is imported (trains.py:9)", "__main__"),
    ],
)
def test_bad_input_is_told_with_the_next_thing_to_do(
    capfd: pytest.CaptureFixture[str], target: str, code: int, says: str, then: str
) -> None:
    got, out, err = fit(capfd, target)
    assert (got, out) == (code, "")
    assert says in err
    assert then in err


def test_another_backend_is_refused(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("jax")
    monkeypatch.setenv("KERAS_BACKEND", "jax")
    code, _, err = fit(capfd, f"{MODELS}:build")
    assert code == 3
    assert "runs on jax" in err


def test_options_that_make_no_sense_are_refused(capfd: pytest.CaptureFixture[str]) -> None:
    for extra in (["--batch", "0"], ["--shape", "a,b"], ["--memory", "much"]):
        code, _, err = fit(capfd, f"{MODELS}:build", *extra)
        assert code == 2
        assert extra[1] in err
