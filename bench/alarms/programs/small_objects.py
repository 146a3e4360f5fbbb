"""Small objects until nearly all memory is taken."""

import sys
import time

from memory import held_mb

planned_mb = int(sys.argv[1])
rows = []
while held_mb() < planned_mb:
    rows.extend({"id": number, "name": f"row {number}"} for number in range(2_000))
time.sleep(2)
print("filled", all(row["id"] < 2_000 for row in rows))
