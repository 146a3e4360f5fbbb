"""Write a report into one string."""

header = "id;name;amount\n"
CHUNK = "".join(f"{number};customer;{number * 3}\n" for number in range(40_000))


def report(parts):
    text = header
    for part in range(parts):
        text += f"part {part}\n"
        text += CHUNK
    return text


try:
    print("characters", len(report(1_200)))
except MemoryError as error:
    print("refused", type(error).__name__)

text = report(10)
print("ALIVE", len(text) + text.count("customer"))
