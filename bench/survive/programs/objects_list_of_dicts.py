"""Parse a log into a list of dicts."""

settings = {"service": "checkout", "retries": 3}


def parse(lines):
    rows = []
    for number in range(lines):
        rows.append({"id": number, "user": f"user-{number % 1000}", "ms": number * 0.5, "tags": [number]})
    return rows


try:
    print("rows", len(parse(2_500_000)))
except MemoryError as error:
    print("refused", type(error).__name__)

rows = parse(20_000)
print("ALIVE", int(sum(row["ms"] for row in rows)) + settings["retries"])
