"""Errors that a child tells, and the environment that it is started with."""

from __future__ import annotations

import pytest

from crashcart.cli.child import retold, told, without_gpu
from crashcart.errors import CannotCheckError, CrashcartError, UsageError


@pytest.mark.parametrize("error", [UsageError("a", "b"), CannotCheckError("c", "d"), CrashcartError("e", "f")])
def test_an_error_is_retold_as_it_was(error: CrashcartError) -> None:
    again = retold(told(error))
    assert (type(again), str(again), again.help) == (type(error), str(error), error.help)


def test_a_fault_of_our_own_is_told_as_such() -> None:
    again = retold(told(KeyError("x")))
    assert type(again) is CrashcartError and "a fault of its own: KeyError" in str(again)


def test_a_child_that_looks_takes_no_gpu_and_the_users_log_level(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1")
    monkeypatch.delenv("TF_CPP_MIN_LOG_LEVEL", raising=False)
    assert (without_gpu()["CUDA_VISIBLE_DEVICES"], without_gpu()["TF_CPP_MIN_LOG_LEVEL"]) == ("-1", "2")
    monkeypatch.setenv("TF_CPP_MIN_LOG_LEVEL", "0")
    assert without_gpu()["TF_CPP_MIN_LOG_LEVEL"] == "0"
