"""What pip was recorded to choose is what a plan is taken to be."""

from __future__ import annotations

from bench.doctor.choices import compare

KNOWN_DIFFERENCES: tuple[str, ...] = ()
"""Facts and records have dates of their own: after a refresh of one alone, name here what it moved, and why it may stay."""


def test_plans_get_what_pip_chose() -> None:
    found = compare()
    assert found.plans >= 10 and found.same >= 200
    assert found.other == KNOWN_DIFFERENCES
