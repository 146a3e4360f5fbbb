"""Parse a large answer of a web service."""

import json

item = {"id": 12345, "name": "a customer", "orders": [1.5, 2.5, 3.5], "address": {"city": "Bern", "code": 3000}}


def answer(count):
    return "[" + ",".join([json.dumps(item)] * count) + "]"


def parse(text):
    return json.loads(text)


try:
    print("items", len(parse(answer(900_000))))
except MemoryError as error:
    print("refused", type(error).__name__)

items = parse(answer(5_000))
print("ALIVE", sum(each["address"]["code"] for each in items))
