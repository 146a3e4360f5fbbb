"""How much a container holds, whatever was put into it first and whoever shares it."""

from __future__ import annotations

from collections import OrderedDict, deque
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crashcart.blackbox.inside import load

INSIDE = Path(__file__).resolve().parents[4] / "src" / "crashcart" / "leaks" / "inside"
sizes: Any = load(INSIDE / "_crashcart_sizes.py")
kept: Any = load(INSIDE / "_crashcart_kept.py")
roots: Any = load(INSIDE / "_crashcart_roots.py")
bounded: Any = load(INSIDE / "_crashcart_bounded.py")


def measured(value: Any) -> tuple[int, str | None]:
    kind, members = next(each for each in kept._BASES if isinstance(value, each[0]))
    walk = kept.Walk(roots.Roots(lambda _: True), bounded.Bounded(sizes), 5.0)
    size, item, _ = sizes.of_container(walk, value, kind, members, kind.__len__(value))
    return size, item


def settings(made: Any) -> Any:
    for number in range(40):
        made[f"setting {number}"] = number
    for number in range(100):
        made[f"result {number}"] = np.ones(10_000)
    return made


@pytest.mark.parametrize("made", [dict, OrderedDict])
def test_settings_that_come_first_do_not_hide_the_arrays_of_each_step(made: Any) -> None:
    size, words = measured(settings(made()))
    assert 0.7 * 8_000_000 < size < 1.3 * 8_000_000 and words == "ndarray"


def test_the_newest_of_a_deque_are_seen_too() -> None:
    size, _ = measured(deque([1.5] * 50 + [np.ones(10_000) for _ in range(50)]))
    assert 0.7 * 4_000_000 < size < 1.3 * 4_000_000


def test_of_a_very_long_dictionary_both_ends_are_seen() -> None:
    long: dict[int, Any] = dict.fromkeys(range(60_000), 0)
    long.update({100_000 + number: bytes(1000) for number in range(60_000)})
    size, _ = measured(long)
    assert 0.4 * 60_000_000 < size < 2 * 60_000_000


@pytest.mark.parametrize("made", [list, deque, lambda members: dict(enumerate(members))])
@pytest.mark.parametrize("rest", [1, 2, 3, 4, 5, 6, 7])
def test_what_comes_in_turns_is_seen_in_its_proportions_whatever_the_count(made: Any, rest: int) -> None:
    for count in range(60, 400, 17):
        members = [np.ones(1000) if number % (rest + 1) == 0 else number + 0.5 for number in range(count)]
        truth = 8000 * (count // (rest + 1))
        assert 0.7 * truth < measured(made(members))[0] < 1.5 * truth, count


def test_a_set_is_sampled() -> None:
    assert measured({bytes([number]) * 1000 for number in range(200)})[0] >= 200 * 1000


def test_views_of_one_array_hold_it_once() -> None:
    series = np.ones(1_000_000)
    for made in (list, tuple, deque):
        size, words = measured(made(series[step : step + 64] for step in range(288)))
        assert 8_000_000 <= size < 8_200_000, made
        assert words == "ndarray view of a (1000000,) base"
    by_step = {step: series[step : step + 64] for step in range(2000)}
    assert 8_000_000 <= measured(by_step)[0] < 8_600_000


def test_views_of_a_few_arrays_hold_these() -> None:
    pool = [np.ones(100_000) for _ in range(3)]
    size, _ = measured([pool[step % 3][:10] for step in range(3000)])
    assert 2_400_000 <= size < 3_200_000


@pytest.mark.parametrize("count", [100, 400, 2000])
def test_views_of_an_array_each_hold_all_of_them(count: int) -> None:
    size, _ = measured([np.ones(1000)[:10] for _ in range(count)])
    assert 0.9 * count * 8000 < size < 1.1 * count * 8200


def test_several_views_of_each_array_hold_it_once() -> None:
    scans = [np.ones((100, 100)) for _ in range(100)]
    size, _ = measured([scan[top : top + 8] for scan in scans for top in range(0, 80, 8)])
    assert 0.8 * 8_000_000 < size < 1.5 * 8_000_000


def test_lists_of_views_of_one_array_hold_it_once_each() -> None:
    series = np.ones(1_000_000)
    size, _ = measured([[series[step : step + 64] for step in range(8)]])
    assert size < 9_000_000


def near(size: int, wanted: float) -> bool:
    return 0.9 * wanted < size < 1.15 * wanted


ARRAY = 8000


def array() -> Any:
    return np.ones(ARRAY // 8)


@pytest.mark.parametrize("made", [list, deque, tuple])
@pytest.mark.parametrize("count", [10, 40, 60, 1000])
def test_what_an_element_shares_with_the_next_counts_once(made: Any, count: int) -> None:
    states = [array() for _ in range(count + 1)]
    size, words = measured(made((states[at], 1, 0.5, states[at + 1], False) for at in range(count)))
    assert near(size, count * (ARRAY + 112)) and words == "tuple of ndarray"


def test_of_episodes_only_the_steps_share() -> None:
    memory: deque[Any] = deque()
    for _ in range(40):
        states = [array() for _ in range(21)]
        memory.extend(pairwise(states))
    assert near(measured(memory)[0], 40 * 21 * ARRAY)


@pytest.mark.parametrize("count", [10, 1000])
def test_what_all_elements_share_counts_once(count: int) -> None:
    settings = np.ones(1_000_000)
    assert measured([(settings, array()) for _ in range(count)])[0] < 8_000_000 + count * (ARRAY + 300)
    assert measured([settings] * count)[0] < 8_100_000
    some = [array() for _ in range(3)]
    assert measured([some[at % 3] for at in range(count)])[0] < 3 * ARRAY + 100 * count


def test_light_elements_at_the_end_say_nothing_of_the_rest() -> None:
    assert near(measured([array() for _ in range(1000)] + [0] * 20)[0], 1000 * ARRAY)


class Meter:
    def __init__(self) -> None:
        self.values = array()

    def update(self) -> None: ...


class Episode:
    def __init__(self) -> None:
        self.data = {"seen": array(), "done": array()}


class Slotted:
    __slots__ = ("values",)

    def __init__(self) -> None:
        self.values = array()


def closure() -> Any:
    held = array()
    return lambda: held


def default() -> Any:
    return lambda held=array(): held  # noqa: B008


def failed() -> BaseException:
    def parse(record: Any) -> None:
        raise ValueError(len(record))

    try:
        parse(array())
    except ValueError as error:
        return error
    raise AssertionError


@pytest.mark.parametrize(
    ("made", "arrays", "words"),
    [
        (closure, 1, "function"),
        (default, 1, "function"),
        (lambda: Meter().update, 1, "method"),
        (lambda: partial(Meter().update, array()), 2, "partial"),
        (Episode, 2, "Episode"),
        (Slotted, 1, "Slotted"),
        (lambda: ValueError(array()), 1, "ValueError"),
        (failed, 1, "ValueError"),
    ],
)
@pytest.mark.parametrize("count", [20, 300])
def test_what_an_element_keeps_alive_is_its_own(made: Any, arrays: int, words: str, count: int) -> None:
    size, item = measured([made() for _ in range(count)])
    assert count * arrays * ARRAY <= size < count * (arrays * ARRAY + 1500)
    assert item == words


def test_the_owner_of_a_container_that_its_elements_know_counts_once() -> None:
    class Child:
        def __init__(self, parent: Any) -> None:
            self.parent, self.values = parent, array()

    class Parent:
        def __init__(self) -> None:
            self.data = np.ones(1_000_000)
            self.children = [Child(self) for _ in range(300)]

    assert measured(Parent().children)[0] < 8_000_000 + 300 * (ARRAY + 500)


def test_nothing_of_an_element_is_run() -> None:
    ran: list[str] = []

    class Loud:
        def __init__(self) -> None:
            object.__setattr__(self, "held", array())

        def __getattribute__(self, name: str) -> Any:
            ran.append(name)
            return object.__getattribute__(self, name)

        def __len__(self) -> int:
            ran.append("len")
            return 0

        def __sizeof__(self) -> int:
            ran.append("sizeof")
            return 0

    class Answers(Loud):
        @property
        def __dict__(self) -> dict[str, Any]:  # type: ignore[override]
            ran.append("dict")
            return {}

    class method:  # noqa: N801  # the name of a type of the interpreter
        def __getattr__(self, name: str) -> Any:
            ran.append(name)
            raise AttributeError(name)

    class OddError(ValueError):
        @property
        def args(self) -> Any:  # type: ignore[override]
            ran.append("args")
            return ()

    for made in (Loud, Answers, method, OddError):
        some = [made() for _ in range(60)]
        ran.clear()
        measured(some)
        assert ran == [], made


def others_have(value: Any) -> float:
    kind, members = next(each for each in kept._BASES if isinstance(value, each[0]))
    walk = kept.Walk(roots.Roots(lambda _: True), bounded.Bounded(sizes), 5.0)
    return float(sizes.of_container(walk, value, kind, members, kind.__len__(value))[2])


@pytest.mark.parametrize("made", [list, deque, tuple, lambda members: dict(enumerate(members))])
@pytest.mark.parametrize("count", [20, 500])
def test_what_others_hold_as_well_is_told_by_its_share(made: Any, count: int) -> None:
    pool = [np.ones(1000) for _ in range(count)]
    assert others_have(made(pool)) == 1.0
    assert others_have(made(np.ones(1000) for _ in range(count))) == 0.0
    half = made(each if number % 2 else np.ones(1000) for number, each in enumerate(pool))
    assert 0.3 < others_have(half) < 0.7


def test_small_values_and_a_few_members_say_nothing_about_others() -> None:
    texts = [str(number) for number in range(100)]
    assert others_have(list(texts)) == 0.0
    last = np.ones(1000)
    assert others_have([last, np.ones(1000)]) == 0.0


def test_a_buffer_of_episodes_is_measured_down_to_its_arrays() -> None:
    def episode() -> list[Any]:
        return [{"obs": {"image": np.ones(1000), "goal": np.zeros(8)}, "action": 1} for _ in range(20)]

    size, item = measured(deque((episode() for _ in range(100)), maxlen=200))
    assert 0.9 * 100 * 20 * 8000 < size < 1.3 * 100 * 20 * 8000
    assert item == "list of dict of dict of ndarray"


def test_a_data_frame_of_many_columns_is_measured_by_its_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({f"c{number}": np.zeros(10) for number in range(3000)}).copy()
    monkeypatch.delattr(pandas.DataFrame, "memory_usage")  # it takes 15 µs a column
    assert sizes.of_array(frame, type(frame)) == (3000 * 80, "DataFrame")
    assert sizes.of_array(frame["c1"], pandas.Series)[0] in (80, 3000 * 80), "a column may be a view of its block"
