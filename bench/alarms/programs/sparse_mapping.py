"""Anonymous memory mapped far beyond what there is, used in a few places."""

import mmap

arena = mmap.mmap(-1, 6 * 2**30)
for place in range(0, len(arena), 64 * 2**20):
    arena[place : place + 5] = b"hello"
more = [mmap.mmap(-1, 2**29) for _ in range(8)]
for each in more:
    each[0] = 7
print("found", sum(arena[place : place + 5] == b"hello" for place in range(0, len(arena), 64 * 2**20)), len(more))
