"""How far the program says it is: the epochs it announces, read from the kept output.

Covers: `Epoch 3/10` lines as Keras, Lightning and most training loops print them.
Does not cover: steps within an epoch; progress bars rewrite themselves many times a second.
"""

from __future__ import annotations

import re
from pathlib import Path

from crashcart.blackbox.output import read_output

_EPOCH = re.compile(rb"\b[Ee]poch[ :]+(\d+)\s*(?:/|of)\s*(\d+)")


class Progress:
    """Follows the output of one run."""

    def __init__(self, output: Path) -> None:
        self._output = output
        self._told: str | None = None

    def news(self) -> str | None:
        """The epoch that began since the last time, if one did."""
        for stream in read_output(self._output) or ():
            matches = _EPOCH.findall(stream.tail) or _EPOCH.findall(stream.head)
            if matches:
                number, total = matches[-1]
                words = f"epoch {number.decode()} of {total.decode()} began"
                if words != self._told:
                    self._told = words
                    return words
        return None
