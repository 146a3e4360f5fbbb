"""The guard beside a stand-in for the driver: events, words on stderr, last words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from crashcart.blackbox.read import read_recording
from crashcart.evidence import Sample
from crashcart.guard import apply
from crashcart.guard.devices import Alarm, Devices
from tests.nvml.driver import GIB, Driver, Gpu

LOOK = """
import json, os, pathlib, sys
from crashcart.evidence import Sample
from crashcart.guard.apply import Guard, Settings

events, told = [], []
figures = pathlib.Path(os.environ["STAND_IN_NVML"])
root = pathlib.Path(os.environ["ROOT"])
guard = Guard(Settings(airbag_directory="off"), told.append, root)
folder = pathlib.Path(os.environ["CRASHCART_HOME"])
folder.mkdir()
guard.prepare({}, folder)
guard.begin(os.getpid(), lambda kind, text, **facts: events.append({"kind": kind, "text": text, **facts}))
for at_s, line in json.loads(os.environ["LOOKS"]):
    if line is None:
        figures.unlink(missing_ok=True)
    else:
        figures.write_text(line.replace("OWN", str(os.getpid())))
    guard.look(Sample(at_s, 1), {os.getpid(): 1, 1: 1})
    events.append({"at_s": at_s, "told": len(told), "words": guard.wants_words})
    guard.wants_words = False
guard.end()
print(json.dumps({"events": events, "told": told, "pid": os.getpid(), "imported": "pynvml" in sys.modules}))
"""


class Followed:
    """What a guard did while the stand-in said one thing after the other."""

    def __init__(self, driver: Driver, *looks: tuple[float, Gpu | None], own: str = "-", **environment: str) -> None:
        lines = [(at_s, None if gpu is None else gpu.line().replace(" - ", f" {own} ")) for at_s, gpu in looks]
        driver.say(*(gpu for _, gpu in looks[:1] if gpu is not None))
        found = json.loads(driver.run(LOOK, LOOKS=json.dumps(lines), **environment).stdout)
        self.told: list[str] = found["told"]
        self.imported: bool = found["imported"]
        self.events: list[dict[str, Any]] = [each for each in found["events"] if each.get("step", "on") != "on"]
        self.looks: list[dict[str, Any]] = [each for each in found["events"] if "at_s" in each]

    @property
    def steps(self) -> list[str]:
        return [each["step"] for each in self.events]


@pytest.fixture
def driver(tmp_path: Path) -> Driver:
    return Driver(tmp_path)


def full(percent: float) -> Gpu:
    return Gpu(int(percent / 100 * 16 * GIB))


def test_a_device_that_is_nearly_full_is_told_of_once_with_figures(driver: Driver) -> None:
    done = Followed(driver, (0, full(50)), (1, full(95)), (2, full(97)), own=f"OWN={10 * GIB},1={GIB},9={2 * GIB}")
    assert done.steps == ["gpu-warn"]
    text = "GPU 0 (Tesla T4) is nearly full: 15.2 GiB of 16.0 GiB in use, 11.0 GiB by this program"
    assert done.events == [
        {
            "kind": "guard", "text": text, "step": "gpu-warn", "device": 0, "device_name": "Tesla T4",
            "used_bytes": full(95).used_bytes, "total_bytes": 16 * GIB, "own_bytes": 11 * GIB,
        }
    ]  # fmt: skip
    assert done.told == [f"crashcart: {text} (`nvidia-smi` shows who holds it)"]
    assert [each["words"] for each in done.looks] == [False, True, False], "last words are asked for at that look"


@pytest.mark.parametrize(("own", "why"), [("-", "not listed"), ("OWN=-", "listed without a figure"), ("9=5", "others")])
def test_a_share_that_the_driver_does_not_tell_is_unknown(driver: Driver, own: str, why: str) -> None:
    done = Followed(driver, (0, full(50)), (1, full(95)), own=own)
    assert done.events[0]["own_bytes"] is None, why
    assert done.events[0]["text"].endswith("in use, the driver does not tell this program's share")


def test_it_is_told_again_after_a_fall_and_a_rise(driver: Driver) -> None:
    done = Followed(driver, (0, full(50)), (1, full(95)), (2, full(70)), (90, full(95)))
    assert done.steps == ["gpu-warn", "gpu-warn"]
    assert len(done.told) == 2
    assert [each["words"] for each in done.looks] == [False, True, False, True]


def test_rightful_use_is_not_told_of(driver: Driver) -> None:
    done = Followed(driver, (0, full(50)), (1, full(85)), (2, full(91)))
    assert (done.events, done.told) == ([], [])


def test_a_device_that_tensorflow_took_whole_is_left_to_the_recording(driver: Driver) -> None:
    done = Followed(driver, (0, full(3)), (1, full(96)), (2, full(96)))
    assert (done.steps, done.told) == (["gpu-pool"], [])
    assert not any(each["words"] for each in done.looks)


def test_the_driver_is_asked_once_a_second(driver: Driver) -> None:
    done = Followed(driver, (0, full(50)), (0.2, full(95)), (0.9, full(95)), (1.1, full(95)))
    assert [each["told"] for each in done.looks] == [0, 0, 0, 1]


def test_a_driver_that_goes_away_is_no_error(driver: Driver) -> None:
    done = Followed(driver, (0, full(50)), (1, None), (2, None), (3, full(95)))
    assert done.events[0]["text"] == "GPU 0 does not answer any more"
    assert done.steps == ["gpu-lost", "gpu-warn"]
    assert len(done.told) == 1


def test_without_a_driver_nothing_is_loaded(driver: Driver, tmp_path: Path) -> None:
    done = Followed(driver, (0, full(50)), (1, full(95)), ROOT=str(tmp_path / "nothing"))
    assert (done.events, done.imported) == ([], False)


def test_a_failure_of_ours_ends_this_part_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken(Devices):
        def __init__(self) -> None:
            pass

        def look(self, at_s: float, pids: object) -> list[Alarm]:
            raise OSError("wrong ELF class")

        def close(self) -> None:
            pass

    events: list[tuple[str, str]] = []
    monkeypatch.setattr(apply, "find_devices", lambda root: Broken())
    guard = apply.Guard(apply.Settings(), lambda text: None)
    guard.begin(1, lambda kind, text, **facts: events.append((facts["step"], text)))
    for at_s in (0.0, 2.0):
        assert guard.look(Sample(at_s, 1), {}) is None
    assert events[1:] == [("gpu-off", "GPUs are not followed any more: OSError: wrong ELF class")]


PROGRAM = """
import os, sys, time

def say(used_gib):
    with open("figures.new", "w") as stream:
        stream.write(f"{16 << 30} {(16 << 30) - int(used_gib * (1 << 30))} {os.getpid()}={int(used_gib * (1 << 30))} Tesla T4\\n")
    os.rename("figures.new", os.environ["STAND_IN_NVML"])

def train(batch):
    say(15.5)
    for _ in range(25):
        time.sleep(0.1)

table = bytearray(b"x") * (40 << 20)
time.sleep(2.5)
train(table)
"""
SESSION = """
import os, pathlib, sys
from crashcart.guard.apply import Guard, Settings
from crashcart.record import session
guard = Guard(Settings(), lambda text: print(text, file=sys.stderr), pathlib.Path(os.environ["ROOT"]))
os.chdir(os.path.dirname(os.environ["STAND_IN_NVML"]))
print(session.run([sys.executable, "program.py"], attendant=guard).folder)
"""


def test_last_words_of_a_real_program(driver: Driver, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    driver.say(full(50))
    done = driver.run(SESSION)
    evidence = read_recording(Path(done.stdout.strip()))
    guarded = [each for each in evidence.events or () if each.kind == "guard" and each.facts.get("step") == "gpu-warn"]
    assert [each.facts["own_bytes"] for each in guarded] == [int(15.5 * GIB)]
    assert done.stderr.count("GPU 0 (Tesla T4) is nearly full: 15.5 GiB of 16.0 GiB in use, 15.5 GiB by this") == 1
    words = [each for each in evidence.stacks or () if each.reason == "gpu"]
    assert len(words) == 1
    assert "train" in [frame.function for frame in words[0].stacks[0].frames]
    assert any(each.at_s >= words[0].at_s for each in evidence.holders or ()), "holders were asked for, too"
