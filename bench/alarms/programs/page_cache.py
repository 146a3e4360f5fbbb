"""A large file copied piece by piece: the page cache fills all memory."""

import hashlib

digest = hashlib.sha1()
with open("server.log", "rb") as source, open("copy.log", "wb") as copy:
    while piece := source.read(2**20):
        digest.update(piece)
        copy.write(piece)
print("digest", digest.hexdigest())
rows = [str(number) for number in range(1_000_000)]
print("rows", len(rows))
