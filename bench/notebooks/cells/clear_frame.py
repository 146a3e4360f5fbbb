# %%
import ctypes

libc = ctypes.CDLL(None)

# %%
class Buffer:
    """The result type of malloc was forgotten, so the pointer is cut to 32 bits."""

    def __init__(self, size):
        self.size = size
        self.address = libc.malloc(size)

    def clear(self):
        libc.memset(self.address, 0, self.size)  # <-- dies here

# %%
frame = Buffer(4 * 1_920 * 1_080)

# %%
frame.clear()
print("cleared", frame.size)
