"""Remember every pair that was seen in a set."""

limits = {"first": 10_000, "second": 400}


def seen_pairs(first, second):
    seen = set()
    for left in range(first):
        for right in range(second):
            seen.add((left, right))
    return seen


try:
    print("pairs", len(seen_pairs(limits["first"], limits["second"] * 2)))
except MemoryError as error:
    print("refused", type(error).__name__)

print("ALIVE", len(seen_pairs(100, limits["second"])) + limits["first"])
