"""Talk to the person on stderr, which may be closed or broken: then there is nobody to talk to."""

from __future__ import annotations

import sys


def say(text: str) -> None:
    """Print lines to stderr, harmless to the terminal; never an error, never into stdout."""
    from crashcart.report.safe import flat

    if sys.stderr is None:
        return
    try:
        print("\n".join(flat(line) for line in text.split("\n")), file=sys.stderr, flush=True)
    except (OSError, ValueError):
        return
