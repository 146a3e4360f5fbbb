"""Commands in the words of the tool that installs into the environment."""

from __future__ import annotations

from crashcart.doctor._change import Change
from crashcart.doctor._fix import commands, install, told, uninstall, without_entries
from tests.unit.doctor.ground import state

NUMPY = Change(install=(("numpy", "1.26.4"),))
PIP = "/home/ada/.venv/bin/python -m pip"


def test_pip() -> None:
    found = state({"numpy": "2.0.2"}).installation
    assert install(found, "numpy<2") == f"`{PIP} install 'numpy<2'`"
    assert uninstall(found, "numpy") == f"`{PIP} uninstall -y numpy`"
    assert commands(found, NUMPY) == (f"{PIP} install numpy==1.26.4",)


def test_uv() -> None:
    found = state({"numpy": "2.0.2"}, tool="uv").installation
    assert commands(found, NUMPY) == ("uv pip install --python /home/ada/.venv/bin/python numpy==1.26.4",)
    again = commands(found, Change(again=(("numpy", "2.0.2"),)))
    assert again == ("uv pip install --python /home/ada/.venv/bin/python --reinstall --no-deps numpy==2.0.2",)


def test_conda_changes_what_conda_brought_and_pip_the_rest() -> None:
    by_conda = {"version": "0.3.2", "installer": "conda"}
    found = state(
        {"ml-dtypes": by_conda, "keras": "3.5.0"}, tool="conda", kind="conda", prefix="/opt/conda envs/a"
    ).installation
    assert commands(found, Change(install=(("ml-dtypes", "0.5.1"),))) == (
        "conda install -p '/opt/conda envs/a' ml_dtypes==0.5.1",
    )
    assert commands(found, Change(install=(("keras", "3.5.0"),))) == (f"{PIP} install keras==3.5.0",)


def test_windows_quotes() -> None:
    found = state({}, system="Windows", executable="C:\\Program Files\\Python\\python.exe").installation
    assert install(found, "numpy<2") == '`"C:\\Program Files\\Python\\python.exe" -m pip install "numpy<2"`'
    assert commands(found, Change(unset=("A",))) == ("set A=",)


def test_a_plan_is_a_file_to_write() -> None:
    found = state({"numpy": "2.0.2"}, plan="requirements.txt").installation
    assert (
        told(found, NUMPY + Change(remove=("keras",)))
        == "in requirements.txt: remove keras, then in requirements.txt: numpy==1.26.4"
    )


def test_the_order_of_a_change() -> None:
    found = state({"numpy": "2.0.2"}).installation
    change = Change(
        install=(("numpy", "1.26.4"),),
        remove=("keras",),
        again=(("h5py", "3.11.0"),),
        delete=("/x/a b",),
        unset=("A",),
        ask=("six>=1",),
    )
    assert commands(found, change) == (
        f"{PIP} uninstall -y keras",
        "rm -rf '/x/a b'",
        f"{PIP} install --force-reinstall --no-deps h5py==3.11.0",
        f"{PIP} install numpy==1.26.4 'six>=1'",
        "unset A",
    )


def test_an_add_on_that_would_bring_a_second_tensorflow_comes_without_its_requirements() -> None:
    change = Change(install=(("tf-keras", "2.16.0"),))
    assert commands(state({"tensorflow": "2.16.2"}).installation, change) == (f"{PIP} install tf-keras==2.16.0",)
    assert commands(state({"tensorflow-cpu": "2.16.2"}).installation, change) == (
        f"{PIP} install --no-deps tf-keras==2.16.0",
    )


def test_what_pip_would_refuse_in_one_command_comes_in_two() -> None:
    change = Change(install=(("tensorflow", "2.15.1"), ("wrapt", "2.5.2")))
    assert commands(state({}).installation, change) == (
        f"{PIP} install tensorflow==2.15.1",
        f"{PIP} install --no-deps wrapt==2.5.2",
    )


def test_a_variable_gets_a_new_value() -> None:
    change = without_entries("PYTHONPATH", "/a b:/c:", ["/c/"])
    assert change is not None and commands(state({}).installation, change) == ("export PYTHONPATH='/a b'",)
    assert without_entries("PYTHONPATH", "/c", ["/c"]) == Change(unset=("PYTHONPATH",))
    assert without_entries("PYTHONPATH", "/a:/b", ["/c"]) is None


def test_a_variable_gets_a_new_value_on_windows() -> None:
    change = without_entries("PYTHONPATH", "C:\\a b;D:\\c", ["D:\\c"], "Windows")
    assert change is not None
    assert commands(state({}, system="Windows").installation, change) == ("set PYTHONPATH=C:\\a b",)


def test_tensorflow_itself_comes_with_its_requirements() -> None:
    """On Windows it asks for tensorflow-intel, which is no second TensorFlow."""
    change = Change(remove=("tf-nightly",), install=(("tensorflow", "2.15.1"),))
    found = state({"tf-nightly": "2.15.0.dev20231001"}, system="Windows").installation
    assert commands(found, change)[1] == f"{PIP} install tensorflow==2.15.1"
