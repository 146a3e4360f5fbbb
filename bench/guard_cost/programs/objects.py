"""Make and drop a million small objects: a block for each line on stdin, answered by the block's seconds on stdout."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
from bench.blocks import serve

SIZES = (16, 40, 100, 300, 600, 1_200, 3_000, 9_000)  # beyond 512 bytes Python asks malloc


def make(count):
    kept = [None] * 512
    for number in range(count):
        size = SIZES[number % 8]
        kept[number * 7 % 512] = (number, bytes(size), {"size": size})
    return len(kept)


def main():
    count = int(sys.argv[1])
    make(count)
    serve(lambda: make(count))


main()
