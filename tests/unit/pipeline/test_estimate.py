"""What stages hold, by the counts that were measured on real runs with elements of 10 MB."""

from __future__ import annotations

from dataclasses import replace

import pytest

from crashcart.evidence import Evidence
from crashcart.finding import Confidence, Level
from crashcart.pipeline import examine_pipeline
from crashcart.pipeline._shared import KEEPS_NOTHING
from crashcart.pipeline.estimate import PROCESS_BYTES, estimate, many
from crashcart.pipeline.memory import memory_of
from crashcart.report.pipeline_words import headline
from crashcart.stages import AUTOTUNE, TOGETHER, Element, Ground, Held, Settings, Stage
from tests.unit.pipeline.made import GROUND, MB, batched, cached, mapped, opened, over, pipeline, source

BIG = 10 * MB


def elements(root: Stage, **settings: object) -> float:
    """All that is held, in elements of 10 MB."""
    return (estimate(pipeline(root, **settings), GROUND).held_bytes - PROCESS_BYTES) / BIG


def row(root: Stage, name: str, ground: Ground = GROUND) -> Held:
    return next(each for each in estimate(pipeline(root), ground).rows if each.name == name)


def test_parallel_calls_and_a_prefetch_hold_what_runs_showed() -> None:
    ten = over("prefetch", mapped(source(), BIG, 8), buffer_size=10)
    assert round(elements(ten)) == 19  # 10 waiting, 8 results, one in the consumer's hand


def test_a_plain_map_is_made_parallel_unless_it_draws_at_random() -> None:
    plain = over("prefetch", mapped(source(), BIG, None), buffer_size=2)
    random = over("prefetch", mapped(source(), BIG, None, RandomUniform=1), buffer_size=2)
    assert (round(elements(plain)), round(elements(random))) == (5, 3)
    assert round(elements(plain, map_parallelization=False)) == 3
    assert round(elements(plain, autotune=False)) == 3


@pytest.mark.parametrize(("block", "expected"), [(1, 36), (3, 84)])
def test_a_parallel_interleave_holds_two_blocks_and_one_element_of_three_cycles(block: int, expected: int) -> None:
    root = over("prefetch", opened(source(), source(BIG), cycle_length=4, block_length=block, num_parallel_calls=4))
    assert row(root, "parallel_interleave").bytes == expected * BIG


def test_what_interleaved_datasets_buffer_counts_as_often_as_they_are_open() -> None:
    inner = over("prefetch", source(BIG), buffer_size=5)
    parallel = opened(source(), inner, cycle_length=4, block_length=1, num_parallel_calls=4)
    assert next(each for each in estimate(pipeline(parallel), GROUND).rows if each.depth == 1).bytes == 60 * BIG
    serial = opened(source(), inner, "interleave", cycle_length=4)
    assert next(each for each in estimate(pipeline(serial), GROUND).rows if each.depth == 1).bytes == 20 * BIG


def test_no_more_datasets_are_open_than_there_are_inputs() -> None:
    few = opened(source(count=2), source(BIG), cycle_length=4, block_length=1, num_parallel_calls=4)
    assert row(few, "parallel_interleave").bytes == 2 * 3 * BIG


def test_a_shuffle_holds_no_more_than_an_epoch_unless_it_is_repeated() -> None:
    shuffled = over("shuffle", source(BIG, 15), buffer_size=20)
    assert row(shuffled, "shuffle").count == 15
    assert row(over("repeat", shuffled, count=-1), "shuffle").count == 20


def test_elements_in_a_cache_are_not_held_again() -> None:
    root = over("shuffle", cached(source(BIG, 20)), buffer_size=20)
    assert row(root, "cache").bytes == 20 * BIG
    assert row(root, "shuffle").bytes < BIG
    on_disk = over("shuffle", cached(source(BIG, 20), "/scratch/x"), buffer_size=20)
    assert row(on_disk, "shuffle").bytes == 20 * BIG


def test_rows_of_an_array_are_not_copied_where_they_are_aligned() -> None:
    rows = Stage("tensor_slices", {"shared_rows": 1}, element=Element(BIG, BIG), cardinality=50)
    copied = Stage("tensor_slices", {"shared_rows": 0}, element=Element(BIG, BIG), cardinality=50)
    assert row(over("shuffle", rows, buffer_size=50), "shuffle").bytes < BIG
    assert row(over("shuffle", copied, buffer_size=50), "shuffle").bytes == 50 * BIG


def test_an_unknown_number_or_size_is_said_and_not_zero() -> None:
    endless = estimate(pipeline(cached(source(BIG))), GROUND)
    assert endless.unknown == ("cache()",)
    sizeless = Stage("shuffle", {"buffer_size": 5}, inputs=(Stage("text_line"),))
    assert estimate(pipeline(sizeless), GROUND).unknown == ("shuffle(5)",)
    assert estimate(pipeline(cached(source(BIG, 5))), GROUND).unknown == ()


def test_unique_keeps_every_element_that_may_be_different() -> None:
    found = over("unique", source(BIG, 15))
    assert (row(found, "unique").bytes, row(found, "unique").count) == (15 * BIG, 15)
    assert estimate(pipeline(over("unique", source(BIG, None))), GROUND).unknown == ("unique()",)
    assert estimate(pipeline(over("unique", source(BIG))), GROUND).unknown == ("unique()",)


def test_a_number_that_is_asserted_behind_unique_counts() -> None:
    below = replace(over("unique", source(BIG, 1000)), cardinality=None)
    told = replace(over("assert_cardinality", below), cardinality=5)
    assert row(told, "unique").bytes == 5 * BIG
    endless = replace(over("assert_cardinality", replace(over("unique", source(BIG)), cardinality=None)), cardinality=5)
    assert row(endless, "unique").bytes == 5 * BIG


def test_that_all_elements_of_unique_differ_is_no_certainty() -> None:
    memory = memory_of(pipeline(over("unique", source(BIG, 100))), GROUND, 200 * MB, "given")
    assert memory.fits is None and "may well be killed while the unique buffer fills" in headline(memory)
    (found,) = examine_pipeline(Evidence(pipeline=memory), "x").findings
    assert found.code == "P101" and found.confidence is Confidence.POSSIBLE


@pytest.mark.parametrize("name", ["group_by_reducer", "data_service", "variant", "of_another_library"])
def test_a_stage_without_a_rule_is_unknown_and_never_nothing(name: str) -> None:
    memory = memory_of(pipeline(over(name, source(100, 10))), GROUND, 1000 * MB, "given")
    assert memory.unknown == (f"{name}()",) and memory.fits is None


@pytest.mark.parametrize("name", sorted(KEEPS_NOTHING - {"cache"}))
def test_a_stage_that_only_passes_elements_on_is_known(name: str) -> None:
    assert estimate(pipeline(over(name, source(100, 10))), GROUND).unknown == ()


def test_stages_that_keep_a_batch_or_calls_count_them() -> None:
    assert row(over("rebatch", source(BIG, 10), MB), "rebatch").bytes == BIG
    assert row(over("sparse_batch", source(BIG, 10), batch_size=4), "sparse_batch").bytes > 4 * BIG
    assert row(over("parse_example", source(100, 10), BIG, num_parallel_calls=3), "parse_example").bytes == 3 * BIG
    assert row(over("shuffle_and_repeat", source(BIG, 5), buffer_size=9, count=-1), "shuffle_and_repeat").count == 9


def test_the_worst_case_is_never_below_the_expected_one() -> None:
    root = over("prefetch", batched(over("shuffle", mapped(source(), MB, AUTOTUNE, 5 * MB), buffer_size=50), 8))
    found = estimate(pipeline(root), GROUND)
    assert all(each.high_bytes >= each.bytes for each in found.rows)


def test_a_budget_bounds_the_worst_case_of_a_tuned_prefetch() -> None:
    root = over("prefetch", source(BIG), buffer_size=AUTOTUNE)
    free = next(each for each in estimate(pipeline(root), GROUND).rows if each.name == "prefetch")
    tight = next(
        each for each in estimate(pipeline(root, ram_budget_bytes=4 * BIG), GROUND).rows if each.name == "prefetch"
    )
    assert (free.high_bytes, tight.high_bytes) == (16 * BIG, 4 * BIG)


def test_temporaries_count_for_the_calls_that_run_and_not_for_those_that_wait() -> None:
    assert row(mapped(source(), 100, 64, 10 * MB), "parallel_map").bytes < 5 * 10 * MB
    many_cores = row(mapped(source(), 100, 64, 10 * MB), "parallel_map", Ground(64)).bytes
    assert many_cores > 60 * 10 * MB


def test_datasets_side_by_side_are_summed() -> None:
    one = over("shuffle", source(BIG), buffer_size=20)
    both = estimate(pipeline(Stage(TOGETHER, inputs=(one, one))), GROUND).held_bytes - PROCESS_BYTES
    assert both == 2 * (estimate(pipeline(one), GROUND).held_bytes - PROCESS_BYTES)


def findings(root: Stage, **asked: int) -> list[tuple[str, str]]:
    memory = replace(memory_of(pipeline(root), GROUND, 16_000 * MB, "given"), **asked)
    return [(each.code, each.headline) for each in examine_pipeline(Evidence(pipeline=memory), "x").findings]


def test_steps_are_asked_of_the_first_of_several_datasets_and_none_may_be_empty() -> None:
    train, empty, few = (source(100, count) for count in (50, 0, 3))
    both = Stage(TOGETHER, inputs=(train, empty))
    assert findings(both) == [("P111", "dataset 2 of 2 has no element")]
    assert findings(both, steps=10) == findings(both)
    ends = ("P111", "dataset 1 of 2 ends after 50 elements of the 100 that are asked for")
    assert sorted(findings(both, steps=100)) == [ends, ("P111", "dataset 2 of 2 has no element")]
    assert findings(Stage(TOGETHER, inputs=(train, few)), steps=100) == [ends]
    assert findings(Stage(TOGETHER, inputs=(train, few)), steps=25, epochs=2) == []


def test_each_of_several_datasets_has_its_own_options() -> None:
    one = over("prefetch", source(BIG), buffer_size=AUTOTUNE)
    both = Stage(TOGETHER, inputs=(one, one))
    options = (Settings(), Settings(ram_budget_bytes=4 * BIG))
    rows = estimate(replace(pipeline(both), each_settings=options), GROUND).rows
    assert [each.high_bytes for each in rows if each.name == "prefetch"] == [16 * BIG, 4 * BIG]


def test_concatenated_datasets_are_not_open_at_the_same_time() -> None:
    small, large = (over("shuffle", source(BIG), buffer_size=count) for count in (5, 20))
    root = Stage("concatenate", inputs=(small, large), element=small.element)
    assert sum(each.bytes for each in estimate(pipeline(root), GROUND).rows if each.name == "shuffle") == 20 * BIG


def test_many_elements_of_uneven_size_are_more_sure_than_few() -> None:
    uneven = Element(1000, 3000, seen=96)
    assert many(uneven, 1) == 3000
    assert 1000 * 10_000 < many(uneven, 10_000) < 1.3 * 1000 * 10_000
    assert many(Element(1000, 1000), 10_000) == 1000 * 10_000


def test_temporaries_leave_holes_between_elements_that_stay() -> None:
    plain = row(over("shuffle", mapped(source(), MB, 2), buffer_size=100), "shuffle").bytes
    holed = row(over("shuffle", mapped(source(), MB, 2, 5 * MB), buffer_size=100), "shuffle").bytes
    small = row(over("shuffle", mapped(source(), 1000, 2, 5 * MB), buffer_size=100), "shuffle").bytes
    assert (plain, holed, small) == (100 * MB, 128 * MB, 100_000)


def test_a_cache_of_an_endless_dataset_never_fits_unless_a_take_bounds_it() -> None:
    endless = memory_of(pipeline(over("batch", cached(source()), batch_size=8)), GROUND, 1000 * MB, "given")
    assert endless.fits is False and endless.endless == "cache()"
    assert "this will be killed: cache() has no end" in headline(endless)
    assert [each.code for each in examine_pipeline(Evidence(pipeline=endless), "x").findings] == ["P105"]
    taken = memory_of(pipeline(over("take", cached(source()), count=100)), GROUND, 1000 * MB, "given")
    assert taken.fits is None and taken.endless is None
    assert not examine_pipeline(Evidence(pipeline=taken), "x").findings


@pytest.mark.parametrize(
    ("share", "fits", "said"),
    [
        (0.6, False, "will be killed"),
        (0.9, None, "may well be killed"),
        (1.001, None, "may be killed"),
        (4.0, True, "fits"),
    ],
)
def test_a_kill_is_announced_only_where_the_figure_leaves_no_doubt(share: float, fits: bool | None, said: str) -> None:
    made = pipeline(over("prefetch", mapped(source(), BIG, 8), buffer_size=10))
    memory = memory_of(made, GROUND, int(share * estimate(made, GROUND).held_bytes), "given")
    assert memory.fits is fits
    assert said in headline(memory)
    findings = [each.level for each in examine_pipeline(Evidence(pipeline=memory), "x").findings if each.code == "P101"]
    assert findings == {False: [Level.PROBLEM], None: [Level.PROBLEM if share < 1 else Level.RISK], True: []}[fits]


def test_a_buffer_over_a_dataset_of_unknown_length_makes_no_kill_certain() -> None:
    finite = over("shuffle", source(MB, None), buffer_size=10_000)
    memory = memory_of(pipeline(batched(finite, 4)), GROUND, 400 * MB, "given")
    assert memory.fits is None and 350 < (memory.room_for or 0) < 400
    assert f"if there are more than about {memory.room_for} elements" in headline(memory)
    (found,) = [each for each in examine_pipeline(Evidence(pipeline=memory), "x").findings if each.code == "P101"]
    assert found.confidence is Confidence.POSSIBLE and "assert_cardinality(n)" in found.remedy[0]


@pytest.mark.parametrize(
    "below",
    [
        source(MB, 10_000),
        source(MB),
        replace(source(MB, None), element=Element(MB, MB, how="measured", seen=800)),
        replace(over("assert_cardinality", source(MB, None)), cardinality=10_000),
    ],
    ids=["known", "endless", "seen", "asserted"],
)
def test_a_buffer_that_gets_its_elements_for_sure_makes_a_kill_certain(below: Stage) -> None:
    assert memory_of(pipeline(over("shuffle", below, buffer_size=10_000)), GROUND, 400 * MB, "given").fits is False


def test_a_repeat_fills_a_shuffle_from_the_next_epochs() -> None:
    def count(times: int, whole: int | None) -> tuple[int | None, bool]:
        held = row(over("repeat", over("shuffle", source(MB, whole), buffer_size=100), count=times), "shuffle")
        return held.count, held.low_bytes is None

    assert [count(-1, 7), count(3, 7), count(-1, None), count(3, None)] == [
        *((100, True), (21, True)),
        *((100, True), (100, False)),
    ]


def test_what_was_built_before_is_a_row_and_in_the_sum() -> None:
    memory = memory_of(pipeline(source(MB, 10)), GROUND, 400 * MB, "given", built_bytes=30 * MB)
    assert memory.rows[-1].bytes == 30 * MB and memory.held_bytes == sum(each.bytes for each in memory.rows)
    assert memory.high_bytes == sum(each.high_bytes for each in memory.rows)
    assert memory.grown_bytes == memory.held_bytes - 30 * MB


def test_a_fallback_names_the_stage_that_holds_most_and_no_other_size() -> None:
    shuffled = over("batch", over("shuffle", source(MB, 100), buffer_size=1), 40 * MB, batch_size=40)
    memory = memory_of(pipeline(shuffled), GROUND, 100 * MB, "given")
    (found,) = [each for each in examine_pipeline(Evidence(pipeline=memory), "x").findings if each.code == "P101"]
    assert not memory.changes and found.remedy == ("smaller batches than batch(40)",)


def test_a_batch_that_the_user_did_not_write_is_not_told() -> None:
    cheap = batched(mapped(source(200, 1000), 200), 32)
    own = over("scan", cheap, state_bytes=8)
    assert [code for code, _ in findings(cheap)] == ["P106"]
    assert not [code for code, _ in findings(Stage("zip", inputs=(own, own), element=cheap.element)) if code == "P106"]
    twice = findings(Stage("zip", inputs=(cheap, cheap), element=cheap.element))
    assert [code for code, _ in twice].count("P106") == 1
