"""`cc.guard(gpu=…)`: TensorFlow's configuration calls are recorded at the edge, sizes come from the stand-in driver."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from crashcart.errors import UsageError
from crashcart.guard.gpu import limit_gpus
from tests.nvml.driver import GIB, PACKAGE, Driver, Gpu

ASK = """
import json, os, pathlib, sys, types
from crashcart.errors import CrashcartError
from crashcart.guard.gpu import limit_gpus

calls = []
error = eval(os.environ.get("ERROR", "None"))

def record(*call):
    if error is not None:
        raise error
    calls.append(call)

class Device:
    def __init__(self, number):
        self.name = f"/physical_device:GPU:{number}"

names = json.loads(os.environ["NAMES"])
devices = [Device(number) for number in range(len(names))]
config = types.SimpleNamespace(
    list_physical_devices=lambda kind: devices if kind == "GPU" else [],
    LogicalDeviceConfiguration=lambda memory_limit: memory_limit,
    set_logical_device_configuration=lambda device, bounds: record("limit", device.name, bounds),
    experimental=types.SimpleNamespace(
        set_memory_growth=lambda device, on: record("growth", device.name, on),
        get_device_details=lambda device: {"device_name": names[devices.index(device)]},
    ),
)
sys.modules["tensorflow"] = types.SimpleNamespace(config=config)
try:
    done = limit_gpus(os.environ["ASKED"], pathlib.Path(os.environ["ROOT"]))
except CrashcartError as error:
    done = [type(error).__name__, str(error), error.help]
print(json.dumps([done, calls]))
"""
T4, A100 = "Tesla T4", "NVIDIA A100-SXM4-80GB"
FIRST, SECOND = "/physical_device:GPU:0", "/physical_device:GPU:1"


@pytest.fixture
def driver(tmp_path: Path) -> Driver:
    driver = Driver(tmp_path)
    driver.say(Gpu(0, 80 * GIB, name=A100), Gpu(GIB, 16 * GIB, name=T4))
    return driver


def ask(driver: Driver, asked: str, *names: str, **environment: str) -> tuple[list[str], list[list[Any]]]:
    """What was set in words, or the error; and TensorFlow's calls."""
    done, calls = json.loads(driver.run(ASK, ASKED=asked, NAMES=json.dumps(names), **environment).stdout)
    return done, calls


def test_a_share_of_each_device(driver: Driver) -> None:
    done, calls = ask(driver, "75%", A100, T4)
    assert calls == [["limit", FIRST, [60 * 1024]], ["limit", SECOND, [12 * 1024]]]
    assert done == [f"{FIRST}: at most 60.0 GiB", f"{SECOND}: at most 12.0 GiB"]


def test_devices_are_known_by_name_because_their_numbers_differ(driver: Driver) -> None:
    """CUDA_VISIBLE_DEVICES=1 makes the driver's device 1 TensorFlow's device 0."""
    assert ask(driver, "50%", T4)[1] == [["limit", FIRST, [8 * 1024]]]


def test_namesakes_of_different_sizes_are_not_guessed_at(driver: Driver) -> None:
    driver.say(Gpu(0, 80 * GIB, name=A100), Gpu(0, 40 * GIB, name=A100))
    (kind, text, hint), calls = ask(driver, "50%", A100)
    assert (kind, calls) == ("CannotCheckError", [])
    assert "the size of /physical_device:GPU:0 is not known" in text
    assert "gpu='8G'" in hint


def test_a_share_without_a_driver_to_ask(driver: Driver, tmp_path: Path) -> None:
    (kind, _, hint), calls = ask(driver, "50%", A100, ROOT=str(tmp_path / "nothing"))
    assert (kind, calls) == ("CannotCheckError", [])
    assert "Give a size" in hint


def test_a_size_needs_no_driver(driver: Driver, tmp_path: Path) -> None:
    done, calls = ask(driver, "8G", A100, T4, ROOT=str(tmp_path / "nothing"))
    assert calls == [["limit", FIRST, [8192]], ["limit", SECOND, [8192]]]
    assert done[0] == f"{FIRST}: at most 8.00 GiB"


def test_growth(driver: Driver) -> None:
    done, calls = ask(driver, "growth", A100, T4)
    assert calls == [["growth", FIRST, True], ["growth", SECOND, True]]
    assert done == [f"{FIRST}: memory growth", f"{SECOND}: memory growth"]


def test_without_a_gpu(driver: Driver) -> None:
    (kind, text, hint), _ = ask(driver, "80%")
    assert (kind, hint) == ("CannotCheckError", "Leave gpu= out.")
    assert text == "gpu='80%' was asked for, but TensorFlow sees no GPU"


@pytest.mark.parametrize("asked", ["80%", "8G", "growth"])
def test_after_tensorflow_has_touched_its_devices(driver: Driver, asked: str) -> None:
    (kind, text, hint), _ = ask(driver, asked, A100, ERROR="RuntimeError('cannot be modified after being initialized')")
    assert (kind, hint) == ("CannotCheckError", "Call crashcart.guard(gpu=…) first.")
    assert text == "TensorFlow uses its GPUs already: cannot be modified after being initialized"


def test_after_another_setting(driver: Driver) -> None:
    (kind, text, _), _ = ask(driver, "growth", A100, ERROR="ValueError('Cannot set memory growth on device')")
    assert kind == "CannotCheckError"
    assert "does not go with what was set before: Cannot set memory growth" in text


@pytest.mark.parametrize(
    "asked", ["", "all", "0%", "101%", "-5%", "nan%", "%", "eight%", "-8G", "0", "512K", "8 apples"]
)
def test_wrong_input_is_told_before_tensorflow_is_touched(asked: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tensorflow", None)
    with pytest.raises(UsageError, match="received"):
        limit_gpus(asked)


@pytest.mark.skipif(find_spec("tensorflow") is None, reason="TensorFlow is not installed")
def test_the_real_tensorflow_without_a_gpu(tmp_path: Path) -> None:
    source = (
        "import crashcart as cc\n"
        "try:\n    cc.guard(gpu='80%')\nexcept Exception as error:\n    print(type(error).__name__, error, error.help, sep='|')\n"
    )
    environment = {
        **os.environ, "PYTHONPATH": str(PACKAGE), "CUDA_VISIBLE_DEVICES": "-1", "TF_CPP_MIN_LOG_LEVEL": "3",
        "CRASHCART_HOME": str(tmp_path),
    }  # fmt: skip
    done = subprocess.run([sys.executable, "-c", source], env=environment, capture_output=True, text=True, timeout=100)
    assert done.stdout.strip() == "CannotCheckError|gpu='80%' was asked for, but TensorFlow sees no GPU|Leave gpu= out."
