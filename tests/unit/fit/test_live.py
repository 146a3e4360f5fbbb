"""`cc.fit`, `cc.largest_batch` and `%fit` in the user's own process; the model stays as it was."""

from __future__ import annotations

import importlib.util
from types import SimpleNamespace
from typing import Any

import pytest

import crashcart as cc
from crashcart.errors import CannotCheckError, CrashcartError, UsageError
from crashcart.step import StepPeak
from crashcart.units import MIB

pytestmark = pytest.mark.skipif(importlib.util.find_spec("tensorflow") is None, reason="TensorFlow is not installed")


@pytest.fixture
def model() -> Any:
    import keras

    made = keras.Sequential([keras.Input((64,)), keras.layers.Dense(256, activation="relu"), keras.layers.Dense(3)])
    made.compile("adam", "mse")
    return made


def test_a_live_model_is_estimated_and_left_as_it_was(model: Any) -> None:
    before = [each.numpy().copy() for each in model.weights], model.optimizer.built, len(model.optimizer.variables)
    found = cc.fit(model, batch_size=512, memory="64M", target="device")
    assert found.fits and found.low_bytes <= found.peak_bytes <= found.high_bytes <= 64 * MIB == found.available_bytes
    assert found.largest_batch is not None and found.largest_batch > 512
    assert [(a == b.numpy()).all() for a, b in zip(before[0], model.weights, strict=True)] == [True] * 4
    assert (model.optimizer.built, len(model.optimizer.variables)) == before[1:]
    assert str(found).startswith("peak ") and "traced" in repr(found)
    assert "<iframe" in found._repr_html_() and 'class="chart step"' in found.to_html()
    assert found.to_document()["device_peak_bytes"] == found.step.peak_bytes


def test_the_largest_batch_alone(model: Any) -> None:
    most = cc.largest_batch(model, memory="64M", target="device")
    assert cc.fit(model, most, memory="64M", target="device").fits
    assert cc.largest_batch(model, memory=1000, target="device") == 0


def test_a_model_of_one_batch_is_estimated_at_that_one() -> None:
    import keras

    fixed = keras.Sequential([keras.Input(batch_shape=(16, 4)), keras.layers.Dense(3)])
    fixed.compile("adam", "mse")
    found = cc.fit(fixed, 8, memory="64M", target="device")
    assert (found.step.batch, found.largest_batch) == (16, 16)
    assert any("batches of 16 alone" in each for each in found.step.assumed)
    assert cc.largest_batch(fixed, memory="64M", target="device") == 16
    assert cc.largest_batch(fixed, memory=1000, target="device") == 0


def test_numbers_of_numpy_are_numbers(model: Any) -> None:
    import numpy as np

    assert cc.fit(model, np.int64(8), memory="64M", target="device").step.batch == 8  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="whole number"):
        cc.fit(model, True)


@pytest.mark.parametrize(("there_bytes", "says"), [(None, "how much memory"), (1000, "in the time of the search")])
def test_no_largest_batch_is_told_with_its_reason(
    monkeypatch: pytest.MonkeyPatch, there_bytes: int | None, says: str
) -> None:
    step = StepPeak("train", 32, 2000, 1900, 2100, available_bytes=there_bytes)
    monkeypatch.setattr("crashcart.api.fit", lambda *_, **__: SimpleNamespace(step=step))
    with pytest.raises(CannotCheckError, match=says):
        cc.largest_batch(None)


def test_a_step_that_does_not_fit_is_a_finding_with_remedies(model: Any) -> None:
    found = cc.fit(model, 4096, memory="8M", target="device", remedies=True)
    assert found.fits is False
    assert found.verdict is not None and found.verdict.code == "F101"
    assert found.remedies and all(each.peak_bytes < found.peak_bytes for each in found.remedies)


def test_what_is_left_out_is_said_and_updates_are_known_by_the_optimizers_own_name(model: Any) -> None:
    import keras

    model.compile(keras.optimizers.Adam(name="opt"), "mse")
    found = cc.fit(model, 1, memory="8M", target="device", remedies=True)
    assert any(each.startswith("not offered: ") and "no input is an image" in each for each in found.step.assumed)
    assert any(each.held.get("update") for each in found.step.moments)


def test_here_the_host_is_asked_what_it_has(model: Any) -> None:
    found = cc.fit(model, 8, target="host", remedies=False)
    assert found.step.target == "host" and found.step.available_in in ("container", "machine")
    assert found.available_bytes is not None and MIB < found.available_bytes
    assert any("that the model's variables hold already" in each for each in found.step.assumed)


def test_a_function_is_called_and_data_says_what_a_batch_is() -> None:
    import keras
    import numpy as np

    def build() -> Any:
        made = keras.Sequential([keras.layers.Dense(8)])
        made.compile("sgd", "mse")
        return made

    found = cc.fit(build, 16, data=(np.zeros((2, 5)), np.zeros((2, 8))), memory="1G", target="device")
    assert found.report.subject == "build" and found.fits


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        ({"batch_size": 0}, UsageError),
        ({"phase": "sleep"}, UsageError),
        ({"gpu": "nothing like it"}, UsageError),
        ({"memory": "much"}, UsageError),
        ({"target": "moon"}, UsageError),
    ],
)
def test_wrong_arguments_are_told(model: Any, arguments: dict[str, Any], kind: type[CrashcartError]) -> None:
    with pytest.raises(kind):
        cc.fit(model, **arguments)


def test_what_is_no_model_is_told() -> None:
    for wrong in (7, "train.py:build", None):
        with pytest.raises((UsageError, CannotCheckError)):
            cc.fit(wrong, 8, memory="1G")


def test_the_magic_takes_a_name_of_the_notebook(
    model: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    interactiveshell = pytest.importorskip("IPython.core.interactiveshell")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    shell = interactiveshell.InteractiveShell.instance()
    try:
        shell.run_line_magic("load_ext", "crashcart")
        shell.user_ns["model"] = model
        found = shell.run_cell(f"%fit model --batch 64 --memory 1G --html {tmp_path / 'fit.html'}").result
        assert found.step.batch == 64 and found.fits
        assert "chart step" in (tmp_path / "fit.html").read_text()
        assert shell.run_cell("%fit nobody").result is None
        assert "the notebook has no nobody" in capsys.readouterr().out
        assert shell.run_cell("%fit model --verify").result is None
        assert "in a process of its own" in capsys.readouterr().out
    finally:
        interactiveshell.InteractiveShell.clear_instance()


def test_a_trained_gan_is_built_though_it_was_never_called() -> None:
    import numpy as np

    from tests.unit.fit.programs.kinds import gan

    model, x = gan(), np.ones((8, 12), "float32")
    fresh = cc.fit(model, 64, data=x, memory="1G", target="device", remedies=False)
    model.fit(x, verbose=0)
    before = [each.numpy().copy() for each in (*model.weights, *model.first.variables)]
    found = cc.fit(model, 64, data=x, memory="1G", target="device", remedies=False)
    assert found.peak_bytes == fresh.peak_bytes and not model.built
    now = [each.numpy() for each in (*model.weights, *model.first.variables)]
    assert all((a == b).all() for a, b in zip(before, now, strict=True))


def test_a_subclassed_model_knows_its_shapes_once_it_was_trained_and_else_says_what_to_give() -> None:
    import numpy as np

    from tests.unit.fit.programs.kinds import Net, words

    with pytest.raises(UsageError) as caught:
        cc.fit(words(), 16)
    assert "data=" in caught.value.help and "shapes=" in caught.value.help and "--" not in caught.value.help
    model = Net()
    model.fit(np.zeros((4, 20)), np.zeros((4,)), verbose=0)
    assert cc.fit(model, 16, memory="1G", target="device").fits


def test_what_a_step_holds_and_does_not_use_has_a_name(model: Any) -> None:
    import numpy as np

    fresh = cc.fit(model, 1, phase="evaluate", memory="1G", target="device", remedies=False)
    assert "unused" not in str(fresh) and "(optimizer)" not in str(fresh)
    model.fit(np.zeros((2, 64)), np.zeros((2, 3)), verbose=0)
    trained = str(cc.fit(model, 1, phase="evaluate", memory="1G", target="device", remedies=False))
    assert "unused" not in trained and "not used in this step (optimizer)" in trained


def test_sizes_that_only_the_data_tells_are_told() -> None:
    import keras
    import tensorflow as tf

    class Valid(keras.layers.Layer):  # type: ignore[misc]
        def call(self, x: Any) -> Any:
            return tf.boolean_mask(x, tf.reduce_sum(x, axis=-1) > 0)

    def step(*inner: Any) -> Any:
        inputs = keras.Input((64,))
        hidden = inputs
        for each in (*inner, keras.layers.Dense(512, activation="relu")):
            hidden = each(hidden)
        made = keras.Model(inputs, keras.layers.Dense(3)(hidden))
        return cc.fit(made, 1024, phase="predict", memory="1G", target="device", remedies=False).step

    plain, masked = step(), step(Valid())
    assert not [each for each in plain.assumed if "depends on the data" in each]
    assert [each for each in masked.assumed if "depends on the data" in each]
    assert masked.high_bytes / masked.peak_bytes > 1.3 * plain.high_bytes / plain.peak_bytes
