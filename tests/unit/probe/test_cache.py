"""The processor's last-level cache, as TensorFlow's kernels find it."""

from __future__ import annotations

from pathlib import Path

import pytest

from crashcart.probe.cache import last_cache_bytes

MIB = 1 << 20


@pytest.mark.parametrize(
    ("maker", "libc", "said", "expected"),
    [
        ("GenuineIntel", "glibc 2.41", 30 * MIB, 30 * MIB),
        ("AuthenticAMD", "glibc 2.36", 320 * MIB, 320 * MIB),
        ("AuthenticAMD", "glibc 2.38", 32 * MIB, None),  # of one complex of cores; Eigen takes all of them
        ("AuthenticAMD", "", 32 * MIB, None),  # another C library
        ("GenuineIntel", "glibc 2.36", 0, None),  # a machine that hides it
        ("HygonGenuine", "glibc 2.36", 32 * MIB, None),
        (None, "glibc 2.36", 32 * MIB, None),  # no x86
    ],
)
def test_it_is_known_where_the_c_library_says_what_eigen_finds(
    tmp_path: Path, maker: str | None, libc: str, said: int, expected: int | None
) -> None:
    (tmp_path / "proc").mkdir()
    line = f"vendor_id\t: {maker}\n" if maker else "CPU implementer\t: 0x41\n"
    (tmp_path / "proc/cpuinfo").write_text(f"processor\t: 0\n{line}cpu family\t: 25\n")
    assert last_cache_bytes(tmp_path, libc, said) == expected


def test_without_a_processor_to_look_at_it_is_not_known(tmp_path: Path) -> None:
    assert last_cache_bytes(tmp_path, "glibc 2.36", MIB) is None
