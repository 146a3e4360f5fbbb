"""Names of a notebook's own, as `%pipeline dataset` and `%fit model` take them, and where their functions are written."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from crashcart.cli.fit import of_the_notebook
from crashcart.errors import UsageError
from crashcart.probe.code_place import place_of


def in_a_notebook(monkeypatch: pytest.MonkeyPatch, cells: dict[str, int] | None = None, **names: Any) -> None:
    shell = SimpleNamespace(user_ns=names, compile=SimpleNamespace(_filename_map=cells or {}))
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))


def test_a_name_of_the_notebook_is_its_object(monkeypatch: pytest.MonkeyPatch) -> None:
    in_a_notebook(monkeypatch, dataset=[5], gone=None)
    assert of_the_notebook("dataset", "a dataset") == [5]
    assert of_the_notebook("train.py:make", "a dataset") is None
    with pytest.raises(UsageError, match="the notebook has no other"):
        of_the_notebook("other", "a dataset")
    with pytest.raises(UsageError, match="gone is None"):
        of_the_notebook("gone", "a dataset")


def test_outside_of_a_notebook_it_is_no_name_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    assert of_the_notebook("dataset", "a dataset") is None
    assert "IPython" not in sys.modules


def test_a_function_of_a_cell_is_placed_in_that_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    here = place_of(test_a_name_of_the_notebook_is_its_object)
    assert here is not None and "test_of_the_notebook.py:" in here
    in_a_notebook(monkeypatch, {__file__: 7})
    there = place_of(test_a_name_of_the_notebook_is_its_object)
    assert there is not None and there.startswith("cell [7]:")
    assert place_of(len) is None and place_of(pytest.raises) is None
