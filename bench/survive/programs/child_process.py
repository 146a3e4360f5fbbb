"""A step of the work runs as a Python program of its own."""

import subprocess
import sys

STEP = """
rows = []
try:
    for number in range(3_000_000):
        rows.append({"id": number, "value": str(number)})
except MemoryError as error:
    rows = rows[:1000]
    print("refused", type(error).__name__)
print("step done", sum(row["id"] for row in rows[:1000]))
"""

names = [f"step {number}" for number in range(1000)]
subprocess.run([sys.executable, "-c", STEP], check=True)
print("ALIVE", sum(len(name) for name in names))
