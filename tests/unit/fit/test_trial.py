"""Real steps in contained children: what they measure, and how they end."""

from __future__ import annotations

import importlib.util
import time
from pathlib import Path
from typing import Any

import pytest

from crashcart.cli import contained
from crashcart.cli.fit_trial import confirmed, measured, tried, verified
from crashcart.errors import CannotCheckError, UsageError
from crashcart.probe.tensorflow_specs import described
from crashcart.probe.tensorflow_trial import Trial
from crashcart.step import Verified

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("tensorflow") is None, reason="TensorFlow is not installed"),
    pytest.mark.timeout(600),
]

MB = 1_000_000
TIMEOUT_S = 300.0
SOURCE = '''
import os, time
import keras
import tensorflow as tf
from keras import layers


def _model(**options):
    model = keras.Sequential([keras.Input((64,)), layers.Dense(1024, activation="relu"), layers.Dense(1024), layers.Dense(1)])
    model.compile("sgd", "mse", **options)
    return model


def plain():
    return _model()


def eager():
    return _model(run_eagerly=True)


def xla():
    return _model(jit_compile=True)


class Looked(layers.Layer):
    """Looks at the values of its input in Python, where no trace can follow, and refuses what no user would give it."""

    def call(self, x):
        def look(value):
            assert float(value[0, 0]) == 7.0, "not the user's own"
            return value
        return tf.ensure_shape(tf.py_function(look, [x], tf.float32), (None, 64))


def looked_at():
    model = keras.Sequential([keras.Input((64,)), Looked(), layers.Dense(8)])
    model.compile("sgd", "mse")
    rows = tf.fill((5, 64), 7.0), tf.zeros((5, 8))
    return model, tf.data.Dataset.from_tensors(rows)


def dies():
    os.abort()


def hangs():
    time.sleep(600)


def writes():
    open("written", "w").write("here")
    raise ValueError("seen")
'''


@pytest.fixture
def request_for(tmp_path: Path) -> Any:
    path = tmp_path / "models.py"
    path.write_text(SOURCE)

    def made(name: str, batch: int = 2048, **options: Any) -> dict[str, Any]:
        base = {"file": str(path), "name": name, "batch": batch, "phase": "train", "shapes": None}
        return {**base, "target": "device", "available_bytes": None, **options}

    return made


needs_group = pytest.mark.skipif(bool(contained.no_group()), reason=contained.no_group() or "")


def test_a_step_of_xla_is_measured_on_the_device_and_on_the_host(request_for: Any) -> None:
    found = measured(request_for("xla", available_bytes=400 * MB), None, TIMEOUT_S)
    assert (found.method, found.batch, found.phase) == ("measured", 2048, "train")
    assert found.low_bytes <= found.peak_bytes <= found.high_bytes
    assert found.peak_bytes > 2048 * 1024 * 4 * 2  # both hidden layers at least
    assert found.host is not None
    assert found.host.bytes > 10 * MB
    assert found.largest_batch is not None
    assert found.largest_batch > 2048
    assert "the device was measured in real steps at batch 128, 256, 512" in found.assumed


def test_an_eager_step_is_measured_at_the_batch_itself_too(request_for: Any) -> None:
    found = tried(request_for("eager"), "device", 4000 * MB, TIMEOUT_S)
    assert [each.batch for each in found.device.points] == [128, 256, 512, 2048]
    assert found.device.at(2048).bytes == found.device.last.peak_bytes > 2048 * 1024 * 4 * 2


def test_a_step_that_fits_the_device_is_confirmed_with_its_peak(request_for: Any) -> None:
    run = verified(request_for("plain", phase="predict"), 2048, 200 * MB, TIMEOUT_S)
    assert run.lived
    assert run.peak_bytes is not None
    assert 2048 * 1024 * 4 * 2 < run.peak_bytes < 50 * MB


def test_the_users_own_data_are_used_where_made_ones_are_refused(request_for: Any) -> None:
    found = tried(request_for("looked_at", 4), "device", 4000 * MB, TIMEOUT_S)
    assert any("rows of the given data" in each for each in found.assumed)


def test_a_builder_that_dies_is_told(request_for: Any) -> None:
    with pytest.raises(CannotCheckError, match="ended by SIGABRT before the first step") as caught:
        measured(request_for("dies"), None, TIMEOUT_S)
    assert "crashcart run" in caught.value.help


def test_a_builder_that_hangs_is_ended(request_for: Any) -> None:
    with pytest.raises(CannotCheckError, match="time was over, before the first step"):
        measured(request_for("hangs"), None, 20.0)


def test_what_is_wrong_with_the_model_is_told_as_ever(request_for: Any) -> None:
    with pytest.raises(UsageError, match="has no missing"):
        measured(request_for("missing"), None, TIMEOUT_S)


def test_it_runs_where_the_user_is(request_for: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CannotCheckError, match="seen"):
        measured(request_for("writes"), None, TIMEOUT_S)
    assert (tmp_path / "written").read_text() == "here"


def test_what_is_assumed_of_the_batch_is_told(tmp_path: Path) -> None:
    program = tmp_path / "open.py"
    program.write_text(
        "import keras\n"
        "def build():\n"
        "    model = keras.Sequential([keras.Input((None, 4)), keras.layers.Dense(2)])\n"
        "    model.compile('sgd', 'mse')\n"
        "    return model\n"
    )
    trial = Trial(str(program), "build", "predict", None)
    specs = described(trial._model, None, "predict", None)
    assert specs.assumed and trial.assumed == list(specs.assumed)


def test_a_step_that_exceeds_the_device_is_told_with_its_words(request_for: Any) -> None:
    run = verified(request_for("plain"), 65536, 100 * MB, TIMEOUT_S)
    assert (run.batch, run.limit_bytes, run.lived, run.peak_bytes) == (65536, 100 * MB, False, None)
    assert "ResourceExhaustedError" in run.how


@pytest.mark.parametrize(
    ("lives", "asked", "likely", "tried"),
    [
        (100, 100, 0, [100, 118]),
        (80, 100, 0, [100, 90, 80]),
        (50, 200, 150, [100, 90, 80, 40, 60, 50, 55]),
        (85, 85, 0, [100, 90, 85]),
        (9, 9, 0, [100, 90, 80, 9, 44, 26, 17, 13]),
        (95, 97, 0, [100, 97, 90]),
        (104, 110, 0, [100, 118, 110]),
        (2, 100, 0, [100, 90, 80, 40, 20, 10, 5, 2]),
        (130, 100, 110, [100, 118, 139]),
        (700, 100, 300, [100, 300, 353, 561, 1123, 842, 701, 631]),
        (10_000, 100, 0, [100, 118, 188, 377, 755, 1511, 3023, 6047]),
        (310, 100, 300, [100, 300, 353]),
        (210, 100, 300, [100, 300, 200, 250, 225]),
    ],
)
def test_runs_go_on_until_one_lives_and_one_that_is_near_dies(
    monkeypatch: pytest.MonkeyPatch, lives: int, asked: int, likely: int, tried: list[int]
) -> None:
    def run(_: Any, batch: int, limit_bytes: int, *rest: Any) -> Verified:
        return Verified(batch, limit_bytes, batch <= lives)

    monkeypatch.setattr("crashcart.cli.fit_trial.verified", run)
    runs, lacking = confirmed({"batch": asked}, 100, likely, MB, TIMEOUT_S)
    assert ([each.batch for each in runs], lacking) == (tried, "")
    assert all(each.lived == (each.batch <= lives) for each in runs)


def test_runs_share_the_time_and_a_death_stands_where_the_next_cannot_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    given_s: list[float] = []

    def run(_: Any, batch: int, limit_bytes: int, timeout_s: float, *rest: Any) -> Verified:
        given_s.append(timeout_s)
        if batch == 80:
            raise CannotCheckError("no time")
        time.sleep(0.05)
        return Verified(batch, limit_bytes, False)

    monkeypatch.setattr("crashcart.cli.fit_trial.verified", run)
    runs, lacking = confirmed({"batch": 100}, 100, 0, MB, TIMEOUT_S)
    assert [each.batch for each in runs] == [100, 90]
    assert lacking == "batch 80 could not be tried: no time"
    assert given_s[0] <= TIMEOUT_S and given_s[0] - given_s[2] >= 0.1


def test_a_model_of_one_batch_is_run_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "crashcart.cli.fit_trial.verified", lambda _, batch, limit, *rest: Verified(batch, limit, False)
    )
    runs, lacking = confirmed({"batch": 16}, 16, 16, MB, TIMEOUT_S, alone=True)
    assert ([each.batch for each in runs], lacking) == ([16], "")


def test_where_the_largest_cannot_be_run_the_asked_batch_is(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(_: Any, batch: int, limit_bytes: int, *rest: Any) -> Verified:
        if batch % 8:
            raise CannotCheckError("a batch must be a multiple of 8")
        return Verified(batch, limit_bytes, True)

    monkeypatch.setattr("crashcart.cli.fit_trial.verified", run)
    runs, lacking = confirmed({"batch": 16}, 175, 272, MB, TIMEOUT_S)
    assert [each.batch for each in runs] == [16]
    assert lacking == "batch 175 could not be tried: a batch must be a multiple of 8"


@pytest.mark.parametrize(("alone", "tried"), [(False, [175, 16]), (True, [175])])
def test_where_neither_can_be_run_the_first_reason_is_told(
    alone: bool, tried: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model of one batch is not run at another."""
    seen: list[int] = []

    def run(_: Any, batch: int, *rest: Any) -> Verified:
        seen.append(batch)
        raise CannotCheckError(f"not {batch}")

    monkeypatch.setattr("crashcart.cli.fit_trial.verified", run)
    with pytest.raises(CannotCheckError, match="not 175"):
        confirmed({"batch": 16}, 175, 272, MB, TIMEOUT_S, alone=alone)
    assert seen == tried


def test_time_that_is_used_up_is_no_time_for_another_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(_: Any, batch: int, *rest: Any) -> Verified:
        time.sleep(0.1)
        raise CannotCheckError(f"batch {batch} was not through")

    monkeypatch.setattr("crashcart.cli.fit_trial.verified", run)
    with pytest.raises(CannotCheckError, match="batch 175 was not through"):
        confirmed({"batch": 16}, 175, 272, MB, 0.05)


@needs_group
def test_a_process_that_exceeds_the_host_is_killed_in_its_group(request_for: Any) -> None:
    request = request_for("plain", target="host")
    run = verified(request, 65536, 300 * MB, TIMEOUT_S, growth=True)
    assert not run.lived
    assert "killed at the limit" in run.how
    assert "a memory group" in run.how
    assert verified(request, 64, 300 * MB, TIMEOUT_S, growth=True).lived


def test_more_than_is_free_here_is_not_a_verdict(request_for: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("crashcart.cli.fit_trial.spare_bytes", lambda: 900 * MB)
    with pytest.raises(CannotCheckError, match="free here"):
        verified(request_for("plain", target="host"), 65536, 5000 * MB, TIMEOUT_S)
