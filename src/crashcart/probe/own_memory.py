"""What a process holds, and the most it held since it was last asked.

Covers: fields of /proc/PID/status; forgetting the most held so far (`clear_refs`), where the kernel allows it.
Does not cover: groups and the machine (`memory`).
"""

from __future__ import annotations

import contextlib
from pathlib import Path


def status_bytes(name: str, pid: int | str = "self") -> int:
    """A field such as VmRSS, VmHWM or VmData; 0 where the process is gone, or where there is no /proc."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith(name + ":"):
                return int(line.split()[1]) * 1024
    return 0


def forget_peak() -> bool:
    """Let VmHWM of this process start again from what it holds now; False where the kernel refuses."""
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    except OSError:
        return False
    return True
