"""A wrapper around C memory whose owner and view both release it."""

import ctypes

libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.free.argtypes = [ctypes.c_void_p]


class Block:
    def __init__(self, address):
        self.address = address

    def close(self):
        libc.free(self.address)  # <-- dies here


def main():
    owner = Block(libc.malloc(96))
    view = Block(owner.address)
    for block in (owner, view):
        block.close()
    print("closed")


if __name__ == "__main__":
    main()
