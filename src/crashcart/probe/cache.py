"""The size of the processor's last-level cache, as TensorFlow's kernels find it.

Eigen asks the processor itself (CPUID), which a program in Python cannot do. The C library asks the same question for
`sysconf`, and gives the same answer for Intel's processors; for AMD's it does so before glibc 2.38, and later on tells the share
of one complex of cores, where Eigen takes that of all of them (measured with glibc 2.36 on an EPYC of 320 MiB, which Linux shows
as 32 MiB: gradients of Conv3D ask for the scratch of 320).
Covers: Linux on x86-64. Does not cover: others, where the size is not known (None).
"""

from __future__ import annotations

import os
from pathlib import Path

from crashcart.probe._read import ROOT, read_text

_LEVEL3_CACHE_SIZE = 194  # _SC_LEVEL3_CACHE_SIZE of glibc's bits/confname.h; Python has no name for it
_LIKE_EIGEN = (2, 38)
"""From this glibc on, what it says of AMD's processors is not what Eigen says."""


def last_cache_bytes(root: Path = ROOT, libc: str | None = None, said: int | None = None) -> int | None:
    """None where nobody tells what Eigen would find. `libc` (as confstr names it) and `said` (by sysconf) are this machine's."""
    maker = _maker(root)
    if maker not in ("GenuineIntel", "AuthenticAMD"):
        return None
    if maker == "AuthenticAMD" and not _before(_libc() if libc is None else libc, _LIKE_EIGEN):
        return None
    return (_sysconf() if said is None else said) or None


def _maker(root: Path) -> str | None:
    for line in (read_text(root, "/proc/cpuinfo", 4096) or "").splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "vendor_id":
            return value.strip()
    return None


def _libc() -> str:
    try:
        return os.confstr("CS_GNU_LIBC_VERSION") or ""
    except (ValueError, OSError):  # another C library
        return ""


def _before(libc: str, version: tuple[int, int]) -> bool:
    name, _, number = libc.partition(" ")
    parts = number.split(".")
    return name == "glibc" and len(parts) > 1 and (int(parts[0]), int(parts[1])) < version


def _sysconf() -> int:
    try:
        return os.sysconf(_LEVEL3_CACHE_SIZE) if _libc().startswith("glibc ") else 0
    except (ValueError, OSError):
        return 0
