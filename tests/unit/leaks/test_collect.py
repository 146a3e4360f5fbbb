"""Where growth cannot be judged, that is said; never an all-clear."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from crashcart.evidence import Evidence, Program, Sample
from crashcart.growth import After, Growth, Series, Steps
from crashcart.leaks import examine_leaks
from crashcart.leaks.collect import judgeable, why_not
from crashcart.units import KIB, MIB
from tests.unit.leaks.grown import frame, growth, kept, memory


def examined(made: Growth | None, **more: Any) -> dict[str, object]:
    return examine_leaks(judgeable(Evidence(growth=made, **more)), "train.py").figures


def test_enough_steps_can_be_judged() -> None:
    assert why_not(growth()) is None
    assert examined(growth())["not_checked"] == []


def test_nothing_measured_is_not_checked() -> None:
    assert "inside the program" in str(why_not(None))
    assert why_not(None, "no hook") == "no hook"
    assert examined(None)["not_checked"]


def test_no_steps_are_not_checked_with_the_reason_of_those_who_looked() -> None:
    assert why_not(growth(steps=None)) == "nothing was found that the program does again and again"
    assert why_not(growth(steps=None, lacking={"steps": "it sleeps"})) == "it sleeps"


def test_work_in_children_is_told_before_the_steps_that_were_not_found() -> None:
    reason = why_not(growth(steps=None, lacking={"steps": "nothing repeats", "children": "it forked 4 processes"}))
    assert reason == "it forked 4 processes; in that one, nothing repeats"


def test_a_program_without_our_hook_is_told_as_such() -> None:
    shell = Program(("/bin/sh",), "/", 1, 0.0, "sh", hooked=False)
    assert "sh is no Python program" in judgeable(Evidence(program=shell)).absent["growth"]
    isolated = Program(("/usr/bin/python3.11", "-I", "x.py"), "/", 1, 0.0, "x.py", hooked=False)
    assert "(-I, -S or -E)" in judgeable(Evidence(program=isolated)).absent["growth"]
    assert "without -I, -S and -E" in str(examined(None, program=isolated)["next"])


def test_a_run_that_nobody_watched_is_told_as_such_with_the_command_that_watches_it() -> None:
    recorded = Program(("python", "my train.py"), "/", 1, 0.0, "train.py", hooked=True)
    assert "not watched for growth" in judgeable(Evidence(program=recorded)).absent["growth"]
    assert examined(None, program=recorded)["next"] == ["crashcart leaks -- python 'my train.py'"]


def test_what_to_try_fits_the_reason() -> None:
    assert "more steps" in str(examined(growth(steps=Steps("loop", "passes", 2)))["next"])
    assert "cc.step()" in str(examined(growth(steps=None))["next"])
    launched = growth(steps=None, lacking={"steps": "nothing repeats", "processes": "1 other … went unwatched"})
    assert examined(launched)["not_checked"] == ["1 other … went unwatched"]
    assert "the program that does the work" in str(examined(launched)["next"])


def test_two_steps_are_not_checked() -> None:
    reason = why_not(growth(steps=Steps("keras batch", "batches of model.fit", 2)))
    assert reason is not None and "after 2 steps (batches of model.fit)" in reason


def test_a_count_is_shown_as_it_was_while_the_program_stepped() -> None:
    def shown(*values: int) -> tuple[int, ...]:
        made = judgeable(Evidence(growth=growth(memory(), Series("traces", "count", (1, 50, 100, 240), values)))).growth
        assert made is not None
        return made.series[1].values

    assert shown(1, 50, 100, 0) == (1, 50, 100)
    assert shown(1, 50, 100, 240) == (1, 50, 100, 240)


def test_looks_that_ended_early_are_not_checked() -> None:
    many = Steps("keras batch", "batches of model.fit", 1000)
    assert why_not(growth(steps=many)) == "only the first 236 of 1000 steps (batches of model.fit) were looked at"


def test_few_looks_are_not_checked() -> None:
    few = Series("private", "bytes", (1, 100, 200), (1, 2, 3))
    assert "looked at 2 times" in str(why_not(growth(few)))
    assert "not measured" in str(why_not(growth(Series("variables", "count", (1, 2), (1, 2)))))


def test_a_program_that_never_allocates_is_not_checked() -> None:
    still = (memory(per_step=0), Series("blocks", "count", (1, 100, 240), (5000, 5000, 5000)))
    assert "nothing shows that they do any work" in str(why_not(growth(*still)))
    assert "nothing shows that they do any work" in str(why_not(growth(*still), busy=0.02)), "it sleeps"
    looked = replace(still[0], values=(600 * MIB, *(600 * MIB + 466_944,) * (len(still[0].values) - 1)))
    assert why_not(growth(looked, still[1]), busy=0.02) is not None, "the looks themselves take as much"
    assert why_not(growth(*still), busy=0.95) is None, "it works, and holds its memory steady"
    moving = (memory(per_step=0), Series("blocks", "count", (1, 100, 240), (5000, 9100, 5000)))
    assert why_not(growth(*moving)) is None
    for kind in ("marked", "keras batch"):
        assert why_not(growth(*still, steps=Steps(kind, "steps", 240, 0.1))) is None, "a step of work by what it is"


def test_children_keep_a_quiet_run_from_an_all_clear_and_a_leak_from_nothing() -> None:
    forked = {"children": "it forked 2 processes, which were not watched"}
    quiet = Series("private", "bytes", memory().steps, tuple(600 * MIB + step % 7 * 50_000 for step in memory().steps))
    assert examined(growth(quiet, lacking=forked))["not_checked"] == [forked["children"]]
    assert examined(growth(lacking=forked))["not_checked"] == []


def test_the_figures_are_those_of_the_leak() -> None:
    found = examined(growth())
    assert found["since_step"] is not None and 1000 < int(str(found["steps_to_limit"])) < 3000
    assert found["steps"] == {
        "kind": "tf.function call",
        "name": "calls of train_step",
        "count": 240,
        "seconds_each": 0.1,
    }
    quiet = Series("private", "bytes", memory().steps, tuple(600 * MIB + step % 7 * 50_000 for step in memory().steps))
    flat = examined(growth(quiet))
    below = int(str(flat["below_bytes_per_step"]))
    leaking = replace(
        quiet, values=tuple(value + 2 * below * step for value, step in zip(quiet.values, quiet.steps, strict=True))
    )
    assert examined(growth(leaking))["bytes_per_step"] is not None, (
        "a leak of twice the bound is told, with nothing to explain it"
    )
    assert flat["bytes_per_step"] is None and 0 < int(str(flat["below_bytes_per_step"])) < MIB


def test_children_that_run_all_along_and_work_after_the_steps_take_the_all_clear_away() -> None:
    steps = memory(0).steps
    flat = replace(memory(0), values=tuple((600 + number % 2) * MIB for number in range(len(steps))))
    beside = Series("children", "count", steps, (2,) * len(steps))
    once = Series("children", "count", steps, (1, *(0,) * (len(steps) - 1)))
    assert "2 child processes ran beside it" in str(examined(growth(flat, beside))["not_checked"])
    assert not examined(growth(flat, once))["not_checked"]


PROGRAM = Program(("python", "train.py"), "/", 4711, 1000.0, "train.py", hooked=True)
FLAT = replace(memory(0), values=tuple((600 + number % 2) * MIB for number in range(len(memory(0).steps))))


def reasons(after: After, **more: Any) -> str:
    return str(examined(growth(FLAT, after=after, ended_s=30.0, **more))["not_checked"])


def test_what_came_after_the_last_step_takes_the_all_clear_away() -> None:
    assert reasons(After(3.0, 0)) == "[]"
    assert "came 9.0 s before the end" in reasons(After(9.0, 0))
    assert "memory rose by 600 MiB after the last step" in reasons(After(3.0, 600 * MIB))


def samples(after_bytes: int, cpu: float = 1.0) -> tuple[Sample, ...]:
    return tuple(
        Sample(float(at), rss_bytes=0, touched_bytes=after_bytes if at > 25 else 0, cpu_s=cpu * at) for at in range(31)
    )


def test_samples_from_outside_see_what_was_given_back_before_the_last_look() -> None:
    made = growth(FLAT, after=After(3.0, None), ended_s=28.0, stepped_s=(1.0, 25.0), began_unix_s=1000.0)
    risen = examined(made, program=PROGRAM, samples=samples(90 * MIB))["not_checked"]
    assert "memory rose by 90.0 MiB after the last step" in str(risen)
    assert examined(made, program=PROGRAM, samples=samples(MIB))["not_checked"] == []
    stuck = replace(made, ended_s=20.0, stepped_s=(1.0, 20.0))
    assert "came 10 s before the end" in str(examined(stuck, program=PROGRAM, samples=samples(0))["not_checked"])
    in_order = replace(stuck, cost_s=0.1)  # what follows is the interpreter's own end
    assert examined(in_order, program=PROGRAM, samples=samples(90 * MIB))["not_checked"] == []


def test_a_steady_program_that_works_gets_its_all_clear_and_one_that_sleeps_does_not() -> None:
    still = growth(memory(0), stepped_s=(1.0, 29.0), began_unix_s=1000.0, ended_s=30.0, after=After(1.0, 0))
    assert examined(still, program=PROGRAM, samples=samples(0))["not_checked"] == []
    assert examined(still, program=PROGRAM, samples=samples(0, cpu=0.02))["not_checked"]


def test_of_several_processes_the_one_that_leaks_is_told() -> None:
    healthy, leaking = growth(FLAT), replace(growth(), pid=4712)
    assert examined(replace(healthy, others=(leaking,)))["bytes_per_step"] is not None
    assert examined(replace(leaking, others=(healthy,)))["bytes_per_step"] is not None
    both = examined(replace(healthy, others=(replace(healthy, pid=4713),)))
    assert both["bytes_per_step"] is None and both["not_checked"] == []


def test_processes_that_were_not_checked_take_the_all_clear_away_and_a_leak_from_nothing() -> None:
    unjudged = replace(growth(steps=None), pid=4712, ended_s=9.0)
    assert "pid 4712" in str(examined(replace(growth(FLAT), others=(unjudged,)))["not_checked"])
    assert examined(replace(growth(FLAT), others=(replace(unjudged, ended_s=0.2),)))["not_checked"] == []
    assert examined(replace(unjudged, others=(growth(),)))["bytes_per_step"] is not None
    beside = growth(FLAT, lacking={"processes": "1 other Python process ran"})
    assert examined(beside)["not_checked"] == ["1 other Python process ran"]


def test_a_later_phase_that_leaks_is_told_and_one_that_does_not_counts_as_checked() -> None:
    late = replace(growth(), steps=Steps("keras batch", "batches of model.predict", 240, 0.1))
    found = examined(growth(FLAT, later=late))
    assert found["bytes_per_step"] is not None and "predict" in str(found["steps"])
    calm = replace(late, series=(FLAT,), after=After(1.0, 0))
    assert examined(growth(FLAT, later=calm, ended_s=30.0, after=After(15.0, 0)))["not_checked"] == []


def test_a_loop_that_came_before_what_cannot_be_judged_is_no_leak_and_no_all_clear() -> None:
    loading = growth(steps=Steps("loop", "passes of the loop at train.py:5", 240, 0.05), ended_s=20.0)
    found = examined(replace(growth(steps=Steps("keras batch", "batches", 3)), earlier=loading))
    assert found["bytes_per_step"] is None and found["steps_to_limit"] is None
    assert "what came after the passes of the loop" in str(found["not_checked"])


def test_resident_memory_that_rises_alone_takes_the_all_clear_away_unless_what_is_shared_was_measured() -> None:
    rss = memory(MIB, name="rss")
    assert "resident memory rises by 1.00 MiB a step" in str(examined(growth(FLAT, rss))["not_checked"])
    shared = Series("shmem", "bytes", (1, 100, 236), (0, 0, 0))
    assert examined(growth(FLAT, rss, shared))["not_checked"] == [], "pages of files, which the kernel takes back"
    assert examined(growth(FLAT, replace(FLAT, name="rss")))["not_checked"] == []


def test_a_container_that_grows_in_memory_that_was_there_takes_the_all_clear_away() -> None:
    arrays = kept("history", item="ndarray")
    reason = str(examined(growth(FLAT, kept=(arrays,)))["not_checked"])
    assert "`history` came to hold 226 MiB more" in reason and "it reused memory that it had" in reason
    for harmless in (
        kept("history", KIB, item="float"),
        kept("history", item="ndarray view of a (5000, 1024) base"),
        kept("replay", kind="deque (maxlen 1000)", item="ndarray"),
        kept("history", item="ndarray", counts=lambda step: step % 60),
    ):
        assert examined(growth(FLAT, kept=(harmless,)))["not_checked"] == [], harmless
    slow = Steps("loop", "passes", 240, 600.0)
    assert examined(growth(FLAT, kept=(arrays,), steps=slow, ended_s=None))["not_checked"] == []


def test_a_rise_beside_a_buffer_that_fills_takes_the_all_clear_away_where_it_is_more_than_comes_along() -> None:
    buffer = kept("replay", kind="deque (maxlen 1000)", item="ndarray")
    bare = examined(growth(memory(1.5 * MIB), kept=(buffer,)))
    assert "memory rises by 512 KiB a step beside what fills up" in str(bare["not_checked"])
    near = examined(growth(memory(1.1 * MIB), kept=(buffer,)))
    assert near["not_checked"] == [] and int(str(near["below_bytes_per_step"])) < 0.3 * MIB
    shared = kept("frames", 0.9 * MIB, item="ndarray", filled_at=frame(9, "frames.append(x)"))
    both = examined(growth(memory(1.05 * MIB), kept=(buffer, shared)))
    assert "`frames` came to hold" in str(both["not_checked"]), "it goes on when the buffer is full"


def test_a_rise_that_shows_no_trend_takes_the_all_clear_away_unless_it_has_settled_or_ends_by_itself() -> None:
    steps = memory().steps

    def risen(*parts: int) -> Series:
        levels = [600 + sum(parts[: at * 8 // len(steps)]) for at in range(len(steps))]
        return Series("private", "bytes", steps, tuple(level * MIB for level in levels))

    jumps = risen(0, 0, 0, 2, 60, 3, 20)
    assert "memory rose by 85.0 MiB over the second half" in str(examined(growth(jumps))["not_checked"])
    few = [at for at in range(len(steps)) if at * 8 // len(steps) not in (1, 5)]
    seldom = Series("private", "bytes", tuple(steps[at] for at in few), tuple(jumps.values[at] for at in few))
    assert "over the second half" in str(examined(growth(seldom))["not_checked"]), "looks were few"
    buffer = kept("replay", 0.5 * MIB, kind="deque (maxlen 1000)", item="ndarray")
    assert examined(growth(jumps, kept=(buffer,)))["not_checked"] == [], "a buffer fills"
    assert examined(growth(risen(0, 0, 0, 30, 30, 25, 0)))["not_checked"] == [], "it has settled"
    assert examined(growth(risen(0, 0, 0, 30, 30, 30, -60)))["not_checked"] == [], "it was given back"


def test_a_loop_that_loaded_before_memory_rose_further_is_a_note_and_no_all_clear() -> None:
    loop = Steps("loop", "passes of the loop at load.py:4", 240, 0.005)
    loaded = Evidence(growth=growth(steps=loop, kept=(kept(),), ended_s=1.5, after=After(0.5, 60 * MIB)))
    report = examine_leaks(judgeable(loaded), "load.py")
    (note,) = report.findings
    assert (note.code, note.level.value) == ("L119", "note") and "memory rose by 60.0 MiB more" in note.because[1]
    assert "memory rose by 60.0 MiB after the last step" in str(report.figures["not_checked"])
