"""Share decoded frames between processes through shared memory."""

from multiprocessing import shared_memory

import numpy as np

FRAMES, HEIGHT, WIDTH = 64, 720, 1_280


class FrameStore:
    def __init__(self):
        size = FRAMES * HEIGHT * WIDTH
        self.block = shared_memory.SharedMemory(create=True, size=size)
        self.frames = np.ndarray((FRAMES, HEIGHT, WIDTH), np.uint8, buffer=self.block.buf)

    def put(self, number, frame):
        self.frames[number] = frame  # <-- dies here


def main():
    store = FrameStore()
    rng = np.random.default_rng(0)
    for number in range(FRAMES):
        store.put(number, rng.integers(0, 256, (HEIGHT, WIDTH), dtype=np.uint8))
    print("stored", FRAMES, "frames")


if __name__ == "__main__":
    main()
