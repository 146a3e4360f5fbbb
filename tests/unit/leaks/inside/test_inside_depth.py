"""Windows go by the program's own steps, and following allocations has an end."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from crashcart.blackbox import growth_steps
from crashcart.blackbox.inside import load
from crashcart.blackbox.ring import read_payloads
from tests.conftest import Crashcart
from tests.unit.leaks.inside.test_inside_loops import python_with_monitoring

INSIDE = Path(__file__).resolve().parents[4] / "src" / "crashcart" / "leaks" / "inside"
paces: Any = load(INSIDE / "_crashcart_paces.py")
sites: Any = load(INSIDE / "_crashcart_sites.py")
steps: Any = load(INSIDE / "_crashcart_steps.py")
NESTED = """\
import time

class Node:
    def __init__(self, data, next):
        self.data, self.next = data, next

def build():
    rows = []
    for j in range(400):
        rows.append([str(j)] * 2000)
        time.sleep(0.00005)
    return len(rows)

def main():
    head = None
    for step in range(80):
        build()
        head = Node(bytearray(1500000), head)

main()
"""
LINE = 18
TUPLES = """\
kept = []
for step in range(300):
    kept.append([(i, i + 1) for i in range(step * 8000, step * 8000 + 8000)])
print(len(kept))
"""


def run(*kinds: tuple[str, list[int]]) -> Any:
    """What is known after looks at which each kind had so many steps."""
    counts = steps.Counts(lambda: None)
    known = paces.Paces(counts)
    for number, (kind, _) in enumerate(kinds):
        counts.index(kind, f"{kind} {number}")
    for look in range(len(kinds[0][1])):
        counts.counts[:] = [noted[look] for _, noted in kinds]
        known.note(float(look))
    return known


def test_the_order_is_the_one_of_the_report() -> None:
    assert paces.ORDER == growth_steps.ORDER and paces.LEAST_COVERED == growth_steps.LEAST_COVERED


@pytest.mark.parametrize(
    ("kinds", "best"),
    [
        ([("loop", [0, 400, 800, 1200, 1600]), ("loop", [0, 1, 2, 3, 4])], 1),  # the outermost of two
        ([("loop", [0, 400, 800, 1200, 1600]), ("loop", [0, 0, 0, 1, 2])], 0),  # it has not come round often enough
        ([("loop", [0, 8, 8, 8, 8]), ("loop", [0, 0, 100, 200, 300])], 1),  # it has ended
        ([("loop", [0, 3, 4, 5, 6]), ("keras batch", [0, 60, 80, 100, 120])], 1),  # a framework's before any loop
        ([("loop", [0, 1, 1, 1, 1])], 0),
    ],
)
def test_the_programs_step_is_chosen(kinds: Any, best: int) -> None:
    assert run(*kinds).best(10.0) == best


def test_a_loop_that_turns_too_slowly_for_a_window_is_left_out() -> None:
    known = run(("loop", [0, 400, 800, 1200, 1600]), ("loop", [0, 1, 2, 3, 4]))
    assert (known.best(0.9), known.best(1.1)) == (0, 1)
    assert known.step_s(1) == 1.0


@pytest.mark.parametrize("python", [sys.executable, python_with_monitoring()])
@pytest.mark.parametrize("options", [(), ("--precise",)], ids=["default", "precise"])
def test_the_line_that_survives_the_outer_step_is_named(
    crashcart: Crashcart, python: str | None, options: tuple[str, ...], tmp_path: Path
) -> None:
    if python is None:
        pytest.skip("no Python with sys.monitoring is here")
    report = tmp_path / "report.json"
    crashcart(
        "leaks", *options, "--json", str(report), "--", python, crashcart.program(NESTED, "train.py"), timeout_s=120
    )
    finding = json.loads(report.read_text())["findings"][0]
    assert finding["where"]["line"] == LINE, finding


def test_following_many_small_objects_ends_and_is_told(crashcart: Crashcart) -> None:
    done = crashcart(
        "leaks", "--precise", "--", sys.executable, crashcart.program(TUPLES, "train.py"), timeout_s=60
    )  # it took more than 200 s when each picture was taken, whatever it cost
    assert done.stdout == "300\n"
    assert "following it was given up after" in " ".join(done.stderr.split())


def test_a_window_that_is_too_large_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    window = sites.Window(lambda file: file == __file__)
    assert not window.is_too_large()
    assert window.open()
    try:
        kept = [[number] for number in range(1000)]
        assert not window.is_too_large()
        monkeypatch.setattr(sites, "MOST_TABLE_BYTES", 20_000)
        assert window.is_too_large() and len(kept) == 1000
    finally:
        window.close()


def test_pictures_are_charged() -> None:
    window = sites.Window(lambda file: file == __file__)
    assert window.open()
    kept = [[number] for number in range(20_000)]
    window.begin([1])
    window.close()
    assert 0 < window.cost_s < 2 and len(kept) == 20_000


TWO_PHASES = """\
import time

def prepare():
    for number in range(300):
        rows = [bytes(100_000)] * 3
        time.sleep(0.01)

def serve():
    answers = {}
    for number in range(150):
        answers[number] = bytearray(b"x" * 500_000)
        time.sleep(0.01)

prepare()
serve()
"""
FILLED = """\
import mmap, time
room = mmap.mmap(-1, 160 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
for step in range(150):
    room.write(bytes(1 << 20))
    time.sleep(0.01)
"""


def records(home: Path, kind: str) -> list[dict[str, Any]]:
    (ring,) = [each for each in home.rglob("leaks-*.ring") if "recent" not in each.name]
    found = [json.loads(payload) for payload in read_payloads(ring.read_bytes())]
    return [each for each in found if each["kind"] == kind]


def test_names_are_looked_at_often_again_when_another_loop_begins(crashcart: Crashcart) -> None:
    crashcart("leaks", "--", sys.executable, crashcart.program(TWO_PHASES, "train.py"), timeout_s=60)
    looked = [each for each in records(crashcart.home, "leak-kept") if any(e[0] == "answers" for e in each["entries"])]
    assert len(looked) >= 5


def test_a_window_does_not_show_in_what_the_program_has_reserved(crashcart: Crashcart) -> None:
    crashcart("leaks", "--", sys.executable, crashcart.program(FILLED, "train.py"), timeout_s=60)
    assert records(crashcart.home, "leak-sites"), "no window was opened"
    looked = [each for each in records(crashcart.home, "leak-look") if any(each["n"]) and not each.get("last")]
    reserved = [each["data"] for each in looked]
    assert max(reserved) - min(reserved) < 4 << 20
    assert looked[-1]["private"] - looked[0]["private"] > 100 << 20
