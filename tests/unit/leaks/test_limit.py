"""A limit that is given reaches the answer, in a block and between cells."""

from __future__ import annotations

import time

import crashcart as cc
from crashcart.cli.leaks_live import between_cells

LARGE_BYTES = 64 << 30


def work() -> list[bytearray]:
    kept = []
    for _ in range(40):
        time.sleep(0.01)
        kept.append(bytearray(1 << 20))
        cc.step()
    return kept


def test_a_given_limit_is_that_of_the_answer() -> None:
    with cc.leaks(quiet=True, limit_bytes=LARGE_BYTES) as watch:
        kept = work()
    assert watch.result is not None and watch.result.report.figures.get("limit_bytes") == LARGE_BYTES, str(watch)
    assert len(kept) == 40


def test_between_cells_either_end_may_give_it() -> None:
    between_cells(True)
    kept = work()
    found = between_cells(False, limit_bytes=LARGE_BYTES)
    assert found is not None and found.report.figures.get("limit_bytes") == LARGE_BYTES, str(found)
    assert len(kept) == 40
