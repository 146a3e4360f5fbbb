"""Models from the user's own files, with weights and without."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from crashcart.errors import CannotCheckError, CrashcartError, UsageError
from crashcart.probe.tensorflow_load import NeedsWeightsError, load

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("tensorflow") is None, reason="TensorFlow is not installed"),
    pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning"),  # of TensorFlow, with NumPy 2
]

PROGRAMS = Path(__file__).parent / "programs"
KINDS = PROGRAMS / "kinds.py"


@pytest.fixture(autouse=True)
def _path() -> Iterator[None]:
    """Loading puts the file's directory on the path; a child process ends with that, this one goes on."""
    path, modules = list(sys.path), set(sys.modules)
    yield
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        if name in ("kinds", "models", "trains", "decoder", "written"):
            del sys.modules[name]


def written(tmp_path: Path, text: str) -> str:
    path = tmp_path / "written.py"
    path.write_text(text)
    return str(path)


def refused(target: str, **options: Any) -> CrashcartError:
    with pytest.raises(CrashcartError) as caught:
        load(target, **options)
    return caught.value


def held_bytes(model: Any) -> int:
    """What the variables of a model really take."""
    from crashcart.probe.tensorflow_weights import is_unallocated

    return sum(each.value.shape.num_elements() * 4 for each in model.variables if not is_unallocated(each))


def test_a_function_a_class_and_a_pair_give_a_model() -> None:
    for name in ("dicts", "Net", "weighted"):
        model, given = load(f"{KINDS}:{name}")
        assert model.compiled
        assert (given is not None) == (name == "weighted")


def test_without_weights_nothing_large_is_held_and_with_them_all_is() -> None:
    lean, _ = load(f"{KINDS}:dicts", weights=False)
    full, _ = load(str(KINDS), "dicts")
    assert held_bytes(full) > 4096 > held_bytes(lean)
    assert [each.shape for each in lean.variables] == [each.shape for each in full.variables]


def test_a_call_on_data_builds_and_pretrained_weights_are_dropped() -> None:
    called, _ = load(f"{KINDS}:called", weights=False)
    assert called.hidden.kernel.shape == (200, 64)
    assigned, _ = load(f"{KINDS}:assigned", weights=False)
    assert held_bytes(called) < 4096 > held_bytes(assigned)


def test_code_that_looks_at_weights_is_never_told_a_wrong_value() -> None:
    with pytest.raises(NeedsWeightsError, match=r"looks at the values of weights \(kinds.py:\d+\)"):
        load(f"{KINDS}:looked_at", weights=False)
    model, _ = load(f"{KINDS}:looked_at")
    assert held_bytes(model) > 4096


@pytest.mark.parametrize(
    ("name", "kind", "says", "then"),
    [
        ("opened", UsageError, "kinds.py has no opened", "NAME"),
        ("open_lenght", UsageError, "has no open_lenght", "Did you mean"),
        ("exits", CannotCheckError, "exits() raised SystemExit: 3 (kinds.py:", "Fix that"),
        ("trains", CannotCheckError, "trains() calls model.fit() (kinds.py:", "without training"),
        ("nothing", UsageError, "gives None, not a Keras model", "Return a keras.Model"),
        ("np", UsageError, "gives an object of type builtins.module", "Return a keras.Model"),
    ],
)
def test_bad_names_and_builders_are_told(name: str, kind: type[CrashcartError], says: str, then: str) -> None:
    for weights in (True, False):
        error = refused(f"{KINDS}:{name}", weights=weights)
        assert type(error) is kind
        assert says in str(error)
        assert then in error.help


def test_a_file_that_does_not_run_is_told_with_its_line(tmp_path: Path) -> None:
    assert "SyntaxError" in str(error := refused(written(tmp_path, "x = 1\ndef build(:\n") + ":build"))
    assert "(written.py:2)" in str(error)
    assert "ModuleNotFoundError" in str(error := refused(written(tmp_path, "\nimport no_such_thing\n") + ":build"))
    assert "(written.py:2)" in str(error)


def test_a_file_for_another_backend_is_refused_before_it_runs(tmp_path: Path) -> None:
    text = 'import os\nos.environ["KERAS_BACKEND"] = "jax"\nraise AssertionError("it ran")\n'
    error = refused(written(tmp_path, text) + ":build")
    assert isinstance(error, CannotCheckError)
    assert "another backend" in str(error)


TRAINS = """import keras, numpy as np
model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(2)])
model.compile("sgd", "mse")
model.fit(np.zeros((2, 2)), np.zeros((2, 2)))
"""


def test_a_file_that_only_mentions_the_backend_may_not_train(tmp_path: Path) -> None:
    error = refused(written(tmp_path, "# KERAS_BACKEND is left alone\n" + TRAINS) + ":model")
    assert "calls model.fit() while it is imported (written.py:5)" in str(error)


def test_a_file_that_chooses_its_backend_may_not_train_once_keras_is_there(tmp_path: Path) -> None:
    chooses = 'import os\nos.environ["KERAS_BACKEND"] = "".join(["tensor", "flow"])\n'
    target = written(tmp_path, chooses + TRAINS) + ":model"
    code = (
        "import sys\nfrom crashcart.probe.tensorflow_load import load\nassert 'keras' not in sys.modules\n"
        f"try:\n    load({target!r}, weights=False)\nexcept Exception as error:\n    print(error)\n"
        "assert 'fit' not in vars(sys.modules['keras'].Model)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert "calls model.fit() while it is imported (written.py:6)" in done.stdout
    assert done.returncode == 0, done.stderr


def test_a_generator_that_comes_with_a_model_is_asked_once(tmp_path: Path) -> None:
    _, given = load(written(tmp_path, TRAINS[: TRAINS.index("model.fit")] + GENERATES) + ":build", weights=False)
    assert [each.shape for each in given] == [(3, 2), (3, 2)]
    assert "gives nothing" in str(refused(str(tmp_path / "written.py") + ":empty"))


GENERATES = """
def build():
    return model, ((np.zeros((each, 2)), np.zeros((each, 2))) for each in (3, 4))


def empty():
    return model, iter(())
"""


def test_a_module_is_named_by_its_dotted_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "nets").mkdir()
    (tmp_path / "nets" / "__init__.py").write_text("")
    (tmp_path / "nets" / "small.py").write_text(KINDS.read_text())
    monkeypatch.chdir(tmp_path)
    model, _ = load("nets.small:lists", weights=False)
    assert len(model.inputs) == 2
    assert "has no missing" in str(refused("nets.small:missing"))
    for name in [each for each in sys.modules if each.partition(".")[0] == "nets"]:
        del sys.modules[name]


def test_saved_models_are_loaded_with_what_they_were_compiled_with(tmp_path: Path) -> None:
    import keras

    model, _ = load(f"{KINDS}:lists")
    model.optimizer.build(model.trainable_variables)
    model.save(tmp_path / "model.keras")
    lean, given = load(str(tmp_path / "model.keras"), weights=False)
    assert given is None
    assert lean.compiled
    assert type(lean.optimizer) is keras.optimizers.RMSprop
    assert held_bytes(lean) < 4096 < held_bytes(load(str(tmp_path / "model.keras"))[0])
    load(f"{KINDS}:untrained")[0].save(tmp_path / "bare.keras")
    assert not load(str(tmp_path / "bare.keras"), weights=False)[0].compiled


def test_files_that_are_no_saved_models_are_told(tmp_path: Path) -> None:
    (tmp_path / "text.keras").write_text("text")
    assert "not a model saved by Keras 3" in str(refused(str(tmp_path / "text.keras"), weights=False))
    load(f"{KINDS}:nested")[0].save(tmp_path / "code.keras")
    error = refused(str(tmp_path / "code.keras"), weights=False)
    assert isinstance(error, CannotCheckError)
    assert "FILE.py:NAME" in error.help
