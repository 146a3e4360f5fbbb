"""Count the words of a text corpus."""

import collections
import os
import pathlib
import tempfile

WORK = pathlib.Path(os.environ.get("CRASHCART_BENCH_TMP") or tempfile.mkdtemp())
CORPUS_BYTES = 3 * 1024**3


def fetch_corpus():
    """Stand-in for a download: a sparse file of the same size."""
    path = WORK / "corpus.txt"
    with path.open("wb") as file:
        file.write(b"the quick brown fox\n")
        file.truncate(CORPUS_BYTES)
    return path


def count_words(path):
    counts = collections.Counter()
    with path.open("rb") as file:
        text = file.read()  # <-- dies here
    for line in text.splitlines():
        counts.update(line.split())
    return counts


if __name__ == "__main__":
    print(count_words(fetch_corpus()).most_common(3))
