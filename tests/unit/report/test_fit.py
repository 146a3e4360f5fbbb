"""The estimate of a step, for the terminal, as a picture and as a page."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from crashcart.evidence import Evidence
from crashcart.finding import Report
from crashcart.report import fit_chart, fit_words
from crashcart.report.fit import print_step, render_step
from crashcart.report.html import render_html
from crashcart.report.wrap import cells
from crashcart.step import Bounds, HeldTensor, Moment, Remedy, StepPeak, Verified
from crashcart.units import GIB, MIB

from .steps import on_host, too_large, train_step

NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def test_the_first_line_has_the_answer() -> None:
    wide, narrow = render_step(train_step(), 200, False), render_step(train_step(), 80, False)
    peak = "peak 4.98 GiB (4.79 … 5.37 GiB) of 7.62 GiB available"
    assert re.match(re.escape(peak) + r" +fits; the largest batch that fits is 104\n", wide)
    assert narrow.startswith(f"{peak}\n  fits; the largest batch that fits is 104\n")
    assert "64 is the nearest power of two below 104" in narrow


@pytest.mark.parametrize("width", [40, 60, 80, 110, 200])
@pytest.mark.parametrize("make", [train_step, lambda: on_host(train_step()), lambda: too_large(train_step())])
def test_no_line_is_wider_than_the_terminal(width: int, make: object) -> None:
    text = render_step(make(), width, False)  # type: ignore[operator]
    assert max(map(cells, text.splitlines())) <= width


def test_it_says_what_is_held_and_where_in_the_users_words() -> None:
    text = render_step(train_step(), 100, False)
    assert "activations 4.30 GiB" in text
    assert "peak at  conv3_block4_out (backward)" in text
    assert "160 MiB  activations  conv2_block1_2_relu (forward)" in text
    assert "update" not in text  # nothing of it is held then
    assert "traced: nothing of the step was run, in 12 s" in text


def test_on_the_host_both_figures_are_told_apart() -> None:
    text = render_step(on_host(train_step()), 110, False)
    assert text.startswith("peak 5.47 GiB (5.18 … 6.05 GiB) of 7.00 GiB available")
    assert "grows by on the host (container), 4.98 GiB (4.79 … 5.37 GiB) of it for tensors" in text
    more = replace(on_host(train_step()), peak_bytes=6000 * MIB)
    assert "on a device, TensorFlow's allocator takes 5.86 GiB" in " ".join(render_step(more, 110, False).split())


def test_remedies_come_with_what_they_save_and_cost() -> None:
    text = render_step(too_large(train_step()), 100, False)
    assert "does not fit; the largest batch that fits is 47" in text
    assert re.search(r"accumulation in 2 steps at batch 32 +−46 % +2\.69 GiB  fits", text)
    assert re.search(r"recomputation \(remat\) +−4 % +4\.79 GiB\n", text)
    assert "cc.remedy.accumulate(model, 2) (the same result)" in text
    assert "32 is the nearest power of two below 47" in text
    assert "a real step at batch 47, held to 4.00 GiB, lived, 3.81 GiB at its peak" in text
    assert "assumed  the length of a text is not known: 128 was taken" in text


@pytest.mark.parametrize(("high_bytes", "fits"), [(4 * GIB, True), (4 * GIB + 1, False), (None, False)])
def test_a_remedy_fits_where_its_upper_bound_does(high_bytes: int | None, fits: bool) -> None:
    remedy = Remedy("mixed precision", 4000 * MIB, "", None, None, high_bytes)
    step = replace(train_step(), available_bytes=4 * GIB, remedies=(remedy,))
    assert [each.fits for each in fit_words.remedies(step)] == [fits]


def test_between_the_bounds_it_may_not_fit_and_without_memory_nothing_is_said() -> None:
    step = replace(train_step(), available_bytes=5200 * MIB, largest_batch=60)
    assert "may not fit" in render_step(step, 100, False)
    unknown = render_step(replace(step, available_bytes=None, largest_batch=None), 100, False)
    assert unknown.startswith("peak 4.98 GiB (4.79 … 5.37 GiB)\n") and " fit" not in unknown


def test_a_divisor_is_offered_where_the_batch_does_not_fit() -> None:
    step = replace(train_step(), batch=60, largest_batch=47, available_bytes=4 * GIB)
    assert fit_words.liked(step) == "32 is the nearest power of two below 47; 30 goes into 60 2 times"
    assert fit_words.largest(replace(step, largest_batch=0)) == "not even a batch of 1 fits"
    assert (step.round_batch, step.even_batch) == (32, 30)
    assert (replace(step, largest_batch=0).round_batch, replace(step, largest_batch=0).even_batch) == (None, None)


def test_a_search_that_was_cut_says_at_least() -> None:
    step = replace(train_step(), larger_may_fit=True)
    assert fit_words.largest(step) == "the largest batch that fits is at least 104"


@pytest.mark.parametrize(
    ("most", "likely", "words"),
    [
        (
            104,
            130,
            "130 likely fits, but not surely (`crashcart fit --verify` tells); 64 is the nearest power of two below 104",
        ),
        (104, 108, "64 is the nearest power of two below 104"),
        (104, None, "64 is the nearest power of two below 104"),
        (0, 12, "12 likely fits, but not surely (`crashcart fit --verify` tells)"),
        (None, 12, ""),
    ],
)
def test_a_batch_that_likely_fits_is_told_where_it_is_clearly_larger(
    most: int | None, likely: int | None, words: str
) -> None:
    assert fit_words.liked(replace(train_step(), largest_batch=most, likely_batch=likely)) == words


def test_at_a_glance_the_batch_is_told_once_and_none_as_such() -> None:
    def batch(**changes: object) -> tuple[str, str]:
        step = replace(train_step(), **changes)
        return next((figure, remark) for name, figure, remark in fit_words.glance(step) if name == "Largest batch")

    figure, remark = batch(larger_may_fit=True, largest_batch=104, likely_batch=None)
    assert figure == "at least 104" and "that fits is" not in remark
    figure, remark = batch(largest_batch=0, likely_batch=40)
    assert figure == "0" and remark.startswith("no batch surely fits; 40 likely fits")


def test_where_only_bounds_do_not_fit_no_batch_surely_does() -> None:
    step = replace(train_step(), available_bytes=5200 * MIB, largest_batch=0)
    assert fit_words.verdict(step) == "may not fit" and fit_words.largest(step) == "no batch surely fits"
    too_much = replace(step, available_bytes=4 * GIB)
    assert fit_words.largest(too_much) == "not even a batch of 1 fits"
    one = replace(too_much, smallest=Bounds(3 * GIB, 2 * GIB, 5 * GIB))
    assert fit_words.largest(one) == "no batch surely fits"
    died = replace(one, runs=(Verified(1, 4 * GIB, False),))
    assert fit_words.largest(died) == "not even a batch of 1 fits"


def test_both_methods_are_told_where_there_are_two() -> None:
    both = {"traced": Bounds(5 * GIB, 4 * GIB, 6 * GIB), "measured": Bounds(5 * GIB, 5 * GIB, 6 * GIB)}
    text = render_step(replace(train_step(), methods=both, method="measured"), 110, False)
    assert "traced 5.00 GiB (4.00 … 6.00 GiB), measured 5.00 GiB (5.00 … 6.00 GiB)" in text
    assert "small real steps were run in a child" in text


def test_it_does_not_say_that_nothing_was_run_beside_a_run() -> None:
    verified = render_step(too_large(train_step()), 110, False)
    assert "lived" in verified and "nothing of the step was run" not in verified
    assert "real steps were run in a child to verify it" in verified
    both = {"traced": Bounds(5 * GIB, 4 * GIB, 6 * GIB), "measured": Bounds(5 * GIB, 5 * GIB, 6 * GIB)}
    probed = render_step(replace(train_step(), methods=both), 110, False)
    assert "compared with small real steps" in probed and "nothing of the step was run" not in probed


def test_names_cannot_harm_the_terminal_or_the_page() -> None:
    bad = "conv\x1b[2J</text><script>alert(1)</script>"
    step = replace(train_step(), at=bad, places={}, largest=(HeldTensor(bad, "activations", MIB),))
    assert "\x1b" not in render_step(step, 100, False)
    page = render_html(Report("m", ()), Evidence(step=step))
    assert "<script>" not in page and "\x1b" not in page


def test_a_stream_without_unicode_gets_ascii() -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    print_step(too_large(train_step()), stream)
    stream.seek(0)
    assert "(4.79 ... 5.37 GiB)" in stream.read()


def drawn(step: StepPeak, width: int = 920, height: int = 360) -> ElementTree.Element:
    return ElementTree.fromstring(fit_chart.draw_step(step, width, height, "a"))


def having(root: ElementTree.Element, name: str) -> list[ElementTree.Element]:
    return [each for each in root.iter() if name in each.get("class", "").split()]


def test_the_bands_lie_on_each_other_and_make_the_whole() -> None:
    step = train_step()
    stack = fit_chart.bands(step)
    assert [each.kind for each in stack] == [
        "weights",
        "optimizer",
        "input",
        "activations",
        "gradients",
        "scratch",
    ]
    assert all(below.high == above.low for below, above in pairwise(stack))
    whole = [sum(each.held.values()) for each in fit_chart.changing(step)]
    assert all(abs(high - each) <= 0.01 * max(whole) for high, each in zip(stack[-1].high, whole, strict=True))


def test_stretches_in_which_nothing_changes_take_no_room() -> None:
    still = tuple(Moment(f"m/c{index}/Const", {"weights": GIB}) for index in range(500))
    step = replace(train_step(), moments=(*still, *train_step().moments))
    assert len(fit_chart.changing(step)) <= len(train_step().moments) + 1


def test_the_way_back_begins_where_most_of_it_does() -> None:
    first, *rest = train_step().moments
    early = replace(first, at="gradient_tape/early/Const")
    step = replace(train_step(), moments=(early, *rest), places={**train_step().places, early.at: "early (backward)"})
    root = drawn(step)
    assert {"forward", "backward and update"} <= {each.text for each in having(root, "tick")}


def test_on_the_host_what_is_beside_the_tensors_lies_below() -> None:
    stack = fit_chart.bands(on_host(train_step()))
    assert (stack[0].kind, stack[0].name, stack[0].at_peak_bytes) == ("process", "beside tensors", 500 * MIB)


def test_the_picture_names_the_peak_and_what_is_available() -> None:
    root = drawn(train_step())
    assert [each.text for each in having(root, "peak-label")] == ["peak 4.98 GiB at conv3_block4_out (backward)"]
    assert [each.text for each in having(root, "limit-label")] == ["7.62 GiB available (container)"]
    assert {"forward", "backward and update"} <= {each.text for each in having(root, "tick")}
    assert len(having(root, "bounds")) == 1 and len(having(root, "band")) == 6
    assert all((each.find("title") is not None) for each in having(root, "tip"))


def test_memory_far_above_is_told_and_not_drawn() -> None:
    far = replace(train_step(), available_bytes=100 * GIB)
    assert not having(drawn(far), "limit")
    assert "100 GiB available lie far above" in render_html(Report("m", ()), Evidence(step=far))
    assert "lie far above" not in render_html(Report("m", ()), Evidence(step=train_step()))


@pytest.mark.parametrize("width", [400, 920])
@pytest.mark.parametrize("make", [train_step, lambda: on_host(train_step()), lambda: too_large(train_step())])
def test_the_drawing_stays_on_its_sheet(width: int, make: object) -> None:
    root = drawn(make(), width, 340)  # type: ignore[operator]
    for each in root.iter():
        for key, most in (("x", width), ("x1", width), ("x2", width), ("y", 340), ("y1", 340), ("y2", 340)):
            assert -1 <= float(each.get(key, "0")) <= most
    for label in having(root, "peak-label"):
        half = 3.2 * len(label.text or "")
        assert half <= float(label.get("x", "0")) <= width - half


def test_without_moments_there_is_no_picture_but_a_page() -> None:
    step = replace(train_step(), moments=())
    assert fit_chart.draw_step(step, 920, 340, "a") == ""
    assert fit_chart.bands(replace(step, moments=(Moment("x", {"weights": 1}),))) == []
    page = render_html(Report("train.py:build", ()), Evidence(step=step))
    assert "<figure" not in page and "conv3_block4_out (backward)" in page


def test_the_page_has_the_answer_the_picture_and_the_remedies() -> None:
    page = render_html(Report("train.py:build", ()), Evidence(step=too_large(train_step())), {})
    assert "A train step at batch 64 does not fit: peak 4.98\u00a0GiB" in page
    assert page.count('class="chart step"') == 2  # wide and narrow
    assert "accumulation in 2 steps" in page and "The largest tensors at the peak" in page
    assert "Not recorded" not in page  # a step has no stacks and no samples, and lacks none
