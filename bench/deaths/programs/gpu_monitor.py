"""Log the memory of the first GPU during training."""

import pynvml


class GpuMonitor:
    def __init__(self, index):
        pynvml.nvmlInit()  # <-- dies here
        self.handle = pynvml.nvmlDeviceGetHandleByIndex(index)

    def used_bytes(self):
        return pynvml.nvmlDeviceGetMemoryInfo(self.handle).used


if __name__ == "__main__":
    print("used", GpuMonitor(0).used_bytes())
