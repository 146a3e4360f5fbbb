"""The fold: counts, examples, drift; the same in any order and in any parts."""

from __future__ import annotations

import random
from typing import Any

from crashcart.data import tally as module
from crashcart.data.drift import differing
from crashcart.data.tally import Tally
from crashcart.sound import ODD, UNCHECKED, Checked, Fault
from crashcart.survey import Survey


def folded(files: list[Checked]) -> Survey:
    tally = Tally()
    for each in files:
        tally.add(each)
    return tally.survey()


def image(number: int, channels: int = 3, width: int = 32) -> Checked:
    return Checked(f"{number:03d}.jpg", 10, 1, "jpeg", facts={"width": width, "height": 32, "channels": channels})


def records(number: int, features: dict[str, Any]) -> Checked:
    return Checked(f"{number:03d}.tfrecord", 10, 1, "tfrecord", facts={"records": 2, "features": features})


def test_counts_and_examples() -> None:
    survey = folded(
        [
            Checked("sound", 10, 1, "jpeg"),
            *(
                Checked(f"{number}", 1, 1, "png", faults=(Fault("truncated", f"cut {number}", count=2),))
                for number in range(5)
            ),
            Checked("odd", 1, 1, "png", faults=(Fault("odd-mode", "CMYK", weight=ODD),)),
            Checked("what", 1, 1, None, faults=(Fault("unknown-format", "?", weight=UNCHECKED),)),
        ]
    )
    assert (survey.files, survey.bytes, survey.good_files) == (8, 17, 2)
    assert (survey.damaged_files, survey.odd_files, survey.unchecked_files) == (5, 1, 1)
    assert survey.formats == {"png": 6, "jpeg": 1, "unknown": 1}
    first = survey.kinds[0]
    assert (first.kind, first.files, first.times) == ("truncated", 5, 10)
    assert [(each.path, each.detail) for each in first.examples] == [("0", "cut 0"), ("1", "cut 1"), ("2", "cut 2")]


def test_the_order_of_the_files_makes_no_difference() -> None:
    files = [
        *(image(number, 1 if number == 7 else 3) for number in range(30)),
        *(Checked(f"x{number}", 1, 1, "csv", faults=(Fault("row-width", "w"),)) for number in range(9)),
        Checked("y", 1, 1, "npy", facts={"label_min": 2, "label_max": 5}),
        Checked("z", 1, 1, "npy", facts={"label_min": 0, "label_max": 3}),
    ]
    whole = folded(files)
    assert (whole.label_low, whole.label_high, whole.label_files) == (0, 5, 2)
    for seed in range(5):
        assert folded(random.Random(seed).sample(files, len(files))) == whole


def test_images_of_other_channels_are_told() -> None:
    (drift,) = folded([image(number, 1 if number == 7 else 3) for number in range(30)]).drifts
    assert (drift.family, drift.aspect, drift.usual, drift.usual_files, drift.other_files) == (
        "images",
        "channels",
        "3 channels",
        29,
        1,
    )
    assert drift.outliers[0].examples[0].path == "007.jpg"


def test_where_nothing_is_usual_nothing_is_odd() -> None:
    assert folded([image(number, width=number) for number in range(30)]).drifts == ()
    assert folded([image(number, 1 if number % 3 else 3) for number in range(30)]).drifts == ()
    assert folded([image(0, 1), image(1, 3), image(2, 3)]).drifts == ()


def test_damaged_files_are_no_measure() -> None:
    broken = [
        Checked(f"b{number}", 1, 1, "jpeg", faults=(Fault("truncated", "x"),), facts={"channels": 1})
        for number in range(2)
    ]
    assert folded([*(image(number) for number in range(30)), *broken]).drifts == ()


def test_records_with_other_features_types_and_lengths_are_told() -> None:
    usual = {"image": ["bytes", 1, 1], "label": ["int64", 1, 1], "box": ["float", 0, 9]}
    for other, aspect, value in (
        ({"image": ["bytes", 1, 1], "box": ["float", 1, 1]}, "features", "box, image"),
        ({**usual, "label": ["float", 1, 1]}, "type of label", "float"),
        ({**usual, "label": ["int64", 2, 2]}, "length of label", "2"),
        ({**usual, "box": ["float", 4, 4]}, None, None),
        ({**usual, "box": ["empty", 0, 0]}, None, None),
    ):
        odd = records(9, other)
        survey = folded([*(records(number, usual) for number in range(5)), odd])
        assert [each.aspect for each in survey.drifts] == ([aspect] if aspect else [])
        assert [own for _, own in differing(odd, survey.drifts)] == ([value] if aspect else [])
        assert differing(records(0, usual), survey.drifts) == []


def test_numbers_in_text_are_one_type() -> None:
    def table(name: str, columns: dict[str, str]) -> Checked:
        return Checked(name, 1, 1, "csv", facts={"delimiter": ",", "columns": columns})

    shards = [table(str(number), {"a": "int", "b": "text"}) for number in range(5)]
    assert folded([*shards, table("f", {"a": "float", "b": "empty"})]).drifts == ()
    (drift,) = folded([*shards, table("t", {"a": "text", "b": "text"})]).drifts
    assert drift.aspect == "type of a"
    (drift,) = folded([*shards, table("o", {"b": "text", "a": "int"})]).drifts
    assert drift.aspect == "columns"


def test_values_beyond_the_bound_are_counted_without_names(monkeypatch: Any) -> None:
    monkeypatch.setattr(module, "MOST_VALUES", 2)
    survey = folded(
        [*(image(number) for number in range(90)), *(image(100 + number, width=number) for number in range(5))]
    )
    (drift,) = survey.drifts
    assert (drift.usual_files, drift.other_files) == (90, 5)
    assert len(drift.outliers) == 1


def test_values_are_bounded_over_all_aspects(monkeypatch: Any) -> None:
    monkeypatch.setattr(module, "MOST_VALUES_IN_ALL", 10)
    tally = Tally()
    for number in range(50):
        tally.add(records(number, {f"feature-{number}": ["bytes", 1, 1]}))
    assert sum(len(values) for values in tally.values.values()) == 10
