"""How far the program says it is: the epochs it announces, read from the kept output.

Covers: `Epoch 3/10` lines as Keras, Lightning and most training loops print them.
Does not cover: steps within an epoch; progress bars rewrite themselves many times a second.
"""

from __future__ import annotations

import re
from pathlib import Path

from crashcart.blackbox.output import OutputFollower

_EPOCH = re.compile(rb"\b[Ee]poch[ :]+(\d+)\s*(?:/|of)\s*(\d+)")


class Progress:
    """Follows the output of one run."""

    def __init__(self, output: Path) -> None:
        self._follower = OutputFollower(output)
        self._told: tuple[bytes, bytes] | None = None

    def news(self) -> list[str]:
        """The epochs that began since the last time."""
        found = []
        for match in _EPOCH.finditer(self._follower.read_new()):
            if match.groups() != self._told:
                self._told = (match[1], match[2])
                found.append(f"epoch {match[1].decode()} of {match[2].decode()} began")
        return found[-20:]
