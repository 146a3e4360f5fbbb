"""How many cores there are for us, from fake trees."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from crashcart.probe.cores import usable_cores


def tree(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / "sys/fs/cgroup" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


@pytest.mark.parametrize(
    ("files", "cores"),
    [
        ({}, 64),
        ({"cpu.max": "max 100000\n"}, 64),
        ({"cpu.max": "150000 100000\n"}, 2),
        ({"cpu.max": "20000 100000\n"}, 1),
        ({"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, 64),
        ({"cpu/cpu.cfs_quota_us": "400000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 4),
        ({"cpu.max": "broken"}, 64),
        ({"cpu.max": "9900000 100000"}, 64),
    ],
)
def test_the_share_of_a_container_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str], cores: int
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(64)))
    assert usable_cores(tree(tmp_path, files)) == cores
