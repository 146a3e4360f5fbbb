"""Sort the lines of a large file."""

log = "server.log"


def ordered(path):
    with open(path) as file:
        return sorted(file.readlines())


try:
    print("first", ordered(log)[0])
except MemoryError as error:
    print("refused", type(error).__name__)

with open(log) as file:
    print("ALIVE", sum(len(line) for line in file))
