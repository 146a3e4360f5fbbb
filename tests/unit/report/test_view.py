from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from crashcart.evidence import ErrorRecord, Evidence, Holder, HolderNote, Log, StackDump
from crashcart.finding import Unchecked
from crashcart.report import view
from crashcart.units import MIB

from . import examples


def test_the_middle_is_left_out() -> None:
    part = view.middle_out(range(100), 9)
    assert (list(part.head), part.left_out, list(part.tail)) == ([0, 1, 2], 91, [94, 95, 96, 97, 98, 99])
    assert view.middle_out(range(9), 9) == view.Part(list(range(9)), 0, [])


def test_absent_is_not_empty() -> None:
    evidence = Evidence(errors=(), log=Log(()), absent={"kernel_log": "permission denied"})
    assert view.empty_sections(evidence) == ["uncaught errors", "program output"]
    absent = dict(view.absent_sections(evidence))
    assert absent["kernel log"] == "permission denied"
    assert absent["memory over time"] is None
    assert "uncaught errors" not in absent


def test_glance() -> None:
    rows = {name: (figure, remark) for name, figure, remark in view.glance(examples.oom_evidence())}
    assert rows["Ending"] == ("SIGKILL", "after 12 s")
    assert rows["Memory limit"] == ("2.79 GiB", "memory.limit_in_bytes")
    assert rows["Python"] == ("3.11.9", "keras 3.15.0, numpy 2.1.3, tensorflow 2.21.0")
    assert rows["Started"] == ("2024-09-16", "10:03:01 UTC")
    assert view.glance(Evidence()) == []


@pytest.mark.parametrize("started", [math.nan, math.inf, None, 1e300])
def test_a_time_that_is_none_is_unknown(started: Any) -> None:
    assert view.started_words(replace(examples.program(), started_unix_s=started)) is None


def test_repeated_stacks_are_folded_latest_first() -> None:
    (scene,) = view.scenes(examples.oom_evidence(), 5).head
    assert scene.when() == "from 1.0 s to 12 s, unchanged in 13 dumps; the last taken because memory ran short"
    moving = Evidence(stacks=tuple(StackDump(float(at), at, ()) for at in range(9)))
    part = view.scenes(moving, 5)
    assert [each.dump.pid for each in part.head] == [8, 7, 6, 5, 4]
    assert part.left_out == 4
    assert part.head[0].when() == "at 8.0 s, taken regularly"


def test_the_stack_at_the_fatal_signal_comes_first() -> None:
    assert view.scenes(examples.segfault()[1], 5).head[0].dump.reason == "fatal"


def test_holders_beside_their_first_appearance() -> None:
    rows = {row.holder.name: row for row in view.held_rows(examples.oom_evidence())}
    assert (rows["labels"].first_bytes, rows["labels"].first_s) == (40 * MIB, 6.0)
    assert rows["large_tensor"].first_bytes is None
    assert rows["large_tensor"].share_percent == 100
    assert 0 < rows["labels"].share_percent < 2


def test_the_last_note_with_content_counts() -> None:
    note = HolderNote(1.0, 1, (Holder("a", "list", 0),))
    evidence = Evidence(holders=(note, HolderNote(2.0, 1, ())))
    assert view.last_note(evidence) is note
    assert view.held_rows(evidence)[0].share_percent == 0
    assert view.held_rows(Evidence()) == []


def test_the_ending_tells_only_what_is_known() -> None:
    rows = dict(view.ending_rows(examples.oom_evidence()))
    assert rows["end"] == "ended by SIGKILL after 12 s"
    assert rows["memory kills in its group"] == "1"
    assert rows["same boot since"] == "yes"
    assert rows["peak resident size, by the kernel"] == "2.67 GiB"
    assert "core dumped" not in rows
    assert view.ending_rows(Evidence()) == []


def test_machine_and_devices() -> None:
    rows = dict(view.machine_rows(examples.machine()))
    assert rows["swap"] == "none"
    assert rows["ulimit as"] == "unlimited"
    assert rows["ulimit stack"] == "8.00 MiB"
    assert rows["ulimit nofile"] == "1024"
    assert rows["memory limit (container)"] == "2.79 GiB, from memory.limit_in_bytes"
    assert dict(view.gpu_rows(examples.oom_evidence()))["GPU 0"].endswith(
        "23.0 GiB of 24.0 GiB free at the start; pid 991: 600 MiB"
    )


def test_what_a_rule_lacked() -> None:
    evidence = Evidence(absent={"kernel_log": "permission denied"})
    assert (
        view.lacking(Unchecked("W1", "one", ("kernel_log", "crash")), evidence)
        == "kernel log: permission denied; native crash"
    )


def test_the_note_of_an_error() -> None:
    error = examples.shape_error()[1].errors
    assert error is not None
    assert view.error_note(error[0]) == f"{error[0].type}, read from the output, line 42"
    assert view.error_note(ErrorRecord("KeyError", "1")) == ""


def test_a_variable_that_is_set_to_nothing_is_said_to_be_empty() -> None:
    assert dict(view.variable_rows(examples.environment()))["CUDA_VISIBLE_DEVICES"] == "(empty)"
