"""An index from each word to all places where it stands."""

words = [f"word{number}" for number in range(300)]


def index(places):
    found = {word: [] for word in words}
    for place in range(places):
        found[words[place % 300]].append((place, place + 1))
    return found


try:
    print("words", len(index(12_000_000)))
except MemoryError as error:
    print("refused", type(error).__name__)

found = index(60_000)
print("ALIVE", sum(start for places in found.values() for start, _ in places))
