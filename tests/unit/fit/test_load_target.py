"""What a model may be named by, read from outside."""

from __future__ import annotations

from pathlib import Path

import pytest

from crashcart.errors import UsageError
from crashcart.probe.tensorflow_target import Backend, backend_named_in, read_target

BUILD = "def build():\n    pass\n"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with a bit of everything, as the current one."""
    (tmp_path / "train.py").write_text(BUILD)
    (tmp_path / "nets").mkdir()
    (tmp_path / "nets" / "__init__.py").write_text("")
    (tmp_path / "nets" / "small.py").write_text(BUILD)
    (tmp_path / "saved").mkdir()
    (tmp_path / "saved" / "saved_model.pb").write_text("")
    (tmp_path / "model.keras").write_text("")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_files_modules_and_saved_models_are_told_apart(place: Path) -> None:
    file, module, saved = read_target("train.py:build"), read_target("nets.small:build"), read_target("model.keras")
    assert (file.place, file.name, file.is_file, file.saved) == ("train.py", "build", True, False)
    assert (module.place, module.is_file, module.file_name) == ("nets.small", False, "small.py")
    assert module.source() == BUILD
    assert (saved.place, saved.name, saved.saved) == ("model.keras", "", True)


@pytest.mark.parametrize(
    ("text", "says", "then"),
    [
        ("train.py", "train.py defines build", "train.py:build"),
        ("other.py:build", "there is no file other.py", "FILE.py:NAME"),
        ("nets.large:build", "there is no module nets.large", "FILE.py:build"),
        ("nets:build me", "expected FILE.py:NAME", "train.py:build_model"),
        ("nets", "is a directory", "train.py:build_model"),
        ("saved", "SavedModel", ".keras"),
        ("lesson.ipynb:model", "is a notebook", "cc.fit(model"),
        ("lesson.ipynb", "is a notebook", "cc.fit(model"),
        ("model.keras:model", "is a saved model", "model.keras alone"),
        ("gone.keras", "there is no file", ".keras"),
        ("net.weights.h5", "weights alone", "FILE.py:NAME"),
        ("net.tflite", "not a model that Keras can train", "FILE.py:NAME"),
        ("what", "expected FILE.py:NAME", "train.py:build_model"),
    ],
)
def test_what_names_no_model_is_told_with_the_next_thing_to_type(place: Path, text: str, says: str, then: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_target(text)
    assert says in str(caught.value)
    assert then in caught.value.help


def test_the_backend_that_a_file_sets_is_seen_without_running_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KERAS_BACKEND", raising=False)
    sets = 'import os\nos.environ["KERAS_BACKEND"] = "{}"\n'
    unless = 'os.environ.setdefault("KERAS_BACKEND", "jax")\n'
    assert backend_named_in("import keras\n") is Backend.OPEN
    assert backend_named_in(sets.format("tensorflow")) is Backend.TENSORFLOW
    assert backend_named_in(sets.format("jax")) is Backend.OTHER
    for mention in ("# " + unless, f"'''Needs {unless}'''", 'print(os.environ.get("KERAS_BACKEND"))', "def build(:"):
        assert backend_named_in(mention) is Backend.OPEN
    for unclear in (
        "keras.config.set_backend(x)",
        "os.environ.update(KERAS_BACKEND=x)",
        'e |= {"KERAS_BACKEND": "jax"}',
    ):
        assert backend_named_in(unclear) is Backend.LATER  # only running it would tell
    assert backend_named_in(sets.format("jax") + sets.format("tensorflow")) is Backend.LATER
    assert backend_named_in('os.environ["KERAS_BACKEND"] = choose()\n') is Backend.LATER
    assert backend_named_in(unless) is Backend.OTHER
    monkeypatch.setenv("KERAS_BACKEND", "tensorflow")
    assert backend_named_in(unless) is Backend.OPEN
