"""Every pattern that reads a log takes time in proportion to the text, and no word of failure is overlooked."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from crashcart.probe.log_words import is_telling
from crashcart.why import _kinds, _wordings, _wordings_code, _wordings_files
from crashcart.why._wording import Wording
from tests.patterns import attacks, patterns

PATTERNS = sorted({pattern.pattern: (name, pattern) for name, pattern in patterns().items() if isinstance(pattern.pattern, str)}.values(),
                  key=lambda pair: pair[0])  # fmt: skip
LENGTH = 8_000
MOST_S = 0.4
"""The slowest takes 0.05 s of 8000 characters; a pattern that goes with the square of the length takes seconds."""


def test_the_patterns_are_found() -> None:
    assert len(PATTERNS) > 500
    assert {name.split()[0].rpartition(".")[2] for name, _ in PATTERNS} >= {
        "log_ending",
        "log_facts",
        "log_grammar",
        "_wordings",
        "_noise",
    }


@pytest.mark.parametrize("chunk", range(16))
def test_no_pattern_is_slow_on_text_made_against_it(chunk: int) -> None:
    for name, pattern in PATTERNS[chunk::16]:
        for text in attacks(str(pattern.pattern), LENGTH):
            assert _cost_s(pattern, text) < MOST_S, f"{name} on {text[:60]!r}"


def _cost_s(pattern: re.Pattern[str], text: str) -> float:
    began = time.process_time()
    pattern.search(text)
    return time.process_time() - began


def _printed_wordings() -> list[re.Pattern[str]]:
    """The patterns that are held against printed lines; those for exceptions alone see every exception."""
    found: list[re.Pattern[str]] = []
    for module in (_kinds, _wordings, _wordings_code, _wordings_files):
        for value in vars(module).values():
            for each in value if isinstance(value, tuple) else ():
                if isinstance(each, Wording) and not each.raised and each.types is None:
                    found.extend(each.patterns)
    return list(dict.fromkeys(found))


@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(_printed_wordings()).flatmap(lambda pattern: st.from_regex(pattern, fullmatch=True)))
def test_whatever_a_wording_matches_is_a_telling_line(text: str) -> None:
    assert is_telling(text.replace("\n", " ")[:2000])
