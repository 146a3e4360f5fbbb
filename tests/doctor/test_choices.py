"""What pip was recorded to choose is what a plan is taken to be."""

from __future__ import annotations

from bench.doctor.choices import compare


def test_plans_get_what_pip_chose() -> None:
    """Facts and records have dates of their own: a refresh of one alone may move a few of the newest versions."""
    found = compare()
    assert found.plans >= 10
    assert found.same >= 0.8 * (found.same + len(found.other)), found.other
