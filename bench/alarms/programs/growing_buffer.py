"""A buffer that grows piece by piece to most of the memory."""

import sys

from memory import held_mb

planned_mb = int(sys.argv[1])
piece = bytes(range(256)) * 4096
buffer = bytearray()
while held_mb() < planned_mb:
    buffer.extend(piece)
assert buffer[-1] == 255 and len(buffer) % len(piece) == 0
print("grown", abs(held_mb() - planned_mb) < 10)
