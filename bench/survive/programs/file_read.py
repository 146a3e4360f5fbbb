"""Read a whole log to count its errors."""

from pathlib import Path

log = Path("server.log")


def errors(text):
    return text.count("error")


try:
    text = log.read_text()
    print("errors", errors(text))
except MemoryError as error:
    print("refused", type(error).__name__)

with log.open() as lines:
    print("ALIVE", sum(errors(line) for line in lines))
