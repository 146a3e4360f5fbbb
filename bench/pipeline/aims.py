"""How the benches of the pipeline say whether an aim was met.

Covers: a line of the summary. Does not cover: which aims there are (each bench's own).
"""

from __future__ import annotations


def aim(what: str, met: bool, figure: str) -> str:
    """The aim, whether it was met, and by what."""
    return f"- {'met' if met else '**not met**'}: {what} ({figure})"
