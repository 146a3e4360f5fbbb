"""What W106 advises is about the buffers that the pipeline has."""

from __future__ import annotations

import pytest

from crashcart.why.pipeline_buffers_outgrew_memory import _remedies


@pytest.mark.parametrize(
    ("chain", "said"),
    [("tensorslice → shuffle(100) → batch(32)", "a smaller buffer than `shuffle(100)`"), (None, "a smaller buffer")],
)
def test_no_size_is_named_that_may_be_larger_than_the_one_in_use(chain: str | None, said: str) -> None:
    found = _remedies(chain)
    assert found[0].endswith(said) and "1000" not in " ".join(found)
    assert "1000" not in " ".join(_remedies("range → batch(8)"))
