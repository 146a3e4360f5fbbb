"""Closes a native handle when the interpreter ends, after its memory has gone."""

import atexit
import ctypes
import mmap

libc = ctypes.CDLL(None)
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]


class Device:
    def __init__(self):
        self.memory = mmap.mmap(-1, mmap.PAGESIZE)
        self.status = ctypes.c_int.from_buffer(self.memory)
        self.address = ctypes.addressof(self.status)

    def disconnect(self):
        libc.munmap(self.address, mmap.PAGESIZE)

    def close(self):
        self.status.value = 0  # <-- dies here


def main():
    device = Device()
    atexit.register(device.close)
    device.disconnect()
    print("results written")


if __name__ == "__main__":
    main()
