# %%
import ctypes

libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.free.argtypes = [ctypes.c_void_p]

# %%
owner = libc.malloc(96)
view = owner
for address in (owner, view):
    libc.free(address)  # <-- dies here
print("closed")
