"""A background thread builds a table of rows while the main thread waits for it."""

import threading

rows, summary = [], {"title": "orders"}


def build(count):
    for number in range(count):
        rows.append({"order": number, "city": f"city {number % 50}", "prices": [number, number + 1]})


worker = threading.Thread(target=build, args=(2_500_000,))
try:
    worker.start()
    worker.join()
except MemoryError as error:
    print("refused", type(error).__name__)

rows = []
build(10_000)
print("ALIVE", sum(row["order"] for row in rows) + len(summary["title"]))
