"""The probes run inside the watcher: it must stay light."""

from __future__ import annotations

import subprocess
import sys

MODULES = ("memory", "process", "machine", "kernel_log", "gpu", "disk", "packages", "source")
HEAVY = ("pynvml", "numpy", "tensorflow", "psutil", "subprocess", "asyncio", "logging", "json", "email")

PROGRAM = f"""
import sys, importlib
for name in {MODULES!r}:
    importlib.import_module("crashcart.probe." + name)
from crashcart.probe.process import ProcessReader
import os
sample = ProcessReader(os.getpid()).sample()
print(sample.rss_bytes, *(name for name in {HEAVY!r} if name in sys.modules))
"""


def test_all_probes_together_are_small_and_import_nothing_heavy() -> None:
    environment = {"PYTHONPATH": ":".join(path for path in sys.path if path)}
    done = subprocess.run(
        [sys.executable, "-S", "-c", PROGRAM], capture_output=True, text=True, check=True, env=environment, timeout=60
    )
    rss_bytes, *heavy = done.stdout.split()
    assert heavy == []
    # Measured 15.5 MB with Python 3.11, 11.4 of them the interpreter with its libraries; the watcher may use 25.
    assert int(rss_bytes) < 22 * 1024**2
