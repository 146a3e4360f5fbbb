"""Growth that a program died of: `why` names the same holder and line as `leaks`."""

from __future__ import annotations

from dataclasses import replace

import pytest

from crashcart.growth import Kept
from crashcart.leaks._holders import main_holding
from crashcart.leaks._leak import leak_of
from crashcart.units import MIB
from crashcart.why._steps import grew_with_steps
from tests.unit.leaks.grown import frame, growth, kept

OUTER = kept("trainer", counts=lambda _: None, chain=("main", "trainer", "state", "all"), kind="Trainer", item=None)
INNER = kept("trainer.losses", chain=("main", "trainer", "losses"), filled_at=frame(9, "self.losses.append(loss)"))
VIEWS = kept("windows", 40 * MIB, item="ndarray view of a (5000, 1024) base", chain=("a", "b", "c", "d", "e"))


@pytest.mark.parametrize("names", [(OUTER, INNER), (INNER, VIEWS), (VIEWS,), (kept("half", 0.5 * MIB), INNER)])
def test_both_name_the_same_holder(names: tuple[Kept, ...]) -> None:
    made = growth(kept=names)
    grew, leak = grew_with_steps(made, None, ()), leak_of(made)
    assert grew is not None and leak is not None
    told = main_holding(made, leak.per_step)
    assert (grew.holding and grew.holding.kept.name) == (told and told.kept.name)
    assert (told.kept.name if told is not None else None) == ("trainer.losses" if INNER in names else None)


def test_of_several_processes_the_one_that_died_is_asked() -> None:
    other = replace(growth(kept=(INNER,)), pid=4712)
    made = growth(kept=(kept(),), others=(other,))
    grew = grew_with_steps(made, 4712, ())
    assert grew is not None and grew.holding is not None and grew.holding.kept.name == "trainer.losses"
    assert grew_with_steps(made, 4713, ()) is None
