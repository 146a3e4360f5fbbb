"""What a message itself advises: frameworks mostly end their errors with the step they would take.

Covers: the first sentence of a message that tells the reader to do something.
Does not cover: whether the step helps; it stands last, behind the rule's own. No rule is declared here.
"""

from __future__ import annotations

import re

_SENTENCES = re.compile(r"(?<=[.!?;])\s{1,8}|\n")
_ASKS = re.compile(
    r"^(?:\(?(?:hint|note|tip|solution)\W{1,3})?(?:please|try|use|consider|make sure|be sure|ensure|set|pass|call|did you|perhaps"
    r"|maybe|install|reinstall|upgrade|downgrade|update|check|verify|run|add|remove|instead|you (?:may|can|should|must|need|might"
    r"|probably)|to (?:fix|avoid|resolve|solve|use|enable|disable|load)|if you)\b"
    r"|\b(?:please|instead|you (?:should|must|need|may need|can|probably)|try|consider|too old|did you mean)\b",
    re.IGNORECASE,
)
_EMPTY = re.compile(
    r"report (?:a|this|it)\b|file an? issue|bug to|stack ?trace|for (?:more )?details|https?://|debugging|symptom|^see ",
    re.IGNORECASE,
)
"""Sentences that lead away from the program: to a tracker, a page, a trace."""
_SHORTEST, _LONGEST = 12, 240


def suggested(words: str) -> tuple[str, ...]:
    """The message's own step, as one more step of the advice; nothing where it has none."""
    for sentence in _SENTENCES.split(words[:4_000])[:40]:
        text = " ".join(sentence.split()).strip(" .;:'\"")
        if len(text) >= _SHORTEST and _ASKS.search(text[:400]) and not _EMPTY.search(text[:400]):
            return (f"the message itself says: {text if len(text) <= _LONGEST else text[: _LONGEST - 1] + '…'}",)
    return ()
