"""A program that asks for far too much, knows it may be refused, and has another way."""

import numpy as np

data = np.arange(1_000_000)
try:
    table = np.empty(10**13)
    way = "table"
except MemoryError:
    way = "blocks"
try:
    text = bytearray(10**15)
except MemoryError:
    text = b""
print(way, len(text), int(data.sum()))
