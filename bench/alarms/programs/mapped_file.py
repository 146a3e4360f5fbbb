"""A large file searched through a mapping."""

import mmap

with open("server.log", "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as view:
    found, place = 0, view.find(b"error")
    while place >= 0:
        found, place = found + 1, view.find(b"error", place + 1)
print("errors", found)
