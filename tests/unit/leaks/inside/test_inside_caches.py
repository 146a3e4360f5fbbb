"""What a cache of tf.data gets with each element is read from the datasets; what is not known is not claimed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

INSIDE = Path(__file__).resolve().parents[4] / "src" / "crashcart" / "leaks" / "inside"
READ = f"""
import json
from pathlib import Path
import tensorflow as tf
from crashcart.blackbox.inside import load
caches = load(Path({str(INSIDE)!r}) / "_crashcart_caches.py")
rows = tf.data.Dataset.range(100).map(lambda n: {{"x": tf.zeros((250,)), "y": n}})
ragged = rows.map(lambda row: tf.zeros((row["y"],))).cache().padded_batch(4)
cases = {{
    "before the batch": rows.cache().shuffle(50).batch(8).prefetch(2),
    "after the batch": rows.batch(8).cache().map(lambda row: row["x"]).prefetch(2),
    "in a file": rows.cache("/nowhere/cache").batch(8),
    "repeated": rows.cache().repeat(3).batch(8),
    "of unknown size": ragged,
    "no cache": rows.batch(8),
}}
print(json.dumps({{name: caches._bytes_each(data) for name, data in cases.items()}}))
class Alive:
    numbers = {{}}
    def of_kind(self, kind):
        return [(object(), "OwnedIterator", ()), (held, "OwnedIterator", ("train.py", 3, "main"))]
held = iter(cases["before the batch"])
Alive.numbers[id(held)] = 7
print(json.dumps(caches.filling(Alive(), lambda failure: False)))
"""


def test_a_cache_in_memory_gets_what_an_element_of_the_iterator_brings() -> None:
    ran = subprocess.run([sys.executable, "-c", READ], capture_output=True, text=True, check=True, timeout=120)
    read, filling = (json.loads(line) for line in ran.stdout.splitlines())
    row = 250 * 4 + 8
    assert read == {
        "before the batch": 8 * row,
        "after the batch": 8 * row,
        "in a file": None,
        "repeated": None,
        "of unknown size": None,
        "no cache": None,
    }
    assert filling == [[7, ["train.py", 3, "main"], 8 * row]]
