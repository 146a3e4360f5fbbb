"""News of a notebook's cells, by the files that the hook writes."""

from __future__ import annotations

import os
from pathlib import Path

from crashcart.record.cell_news import CellNews


def test_each_change_is_news_once(tmp_path: Path) -> None:
    cells, ring = CellNews(tmp_path), tmp_path / "cells-7.ring"
    assert not cells.come([7])
    ring.write_bytes(b"began")
    assert cells.come([7]) and not cells.come([7])
    os.utime(ring, ns=(0, ring.stat().st_mtime_ns + 1))
    assert cells.come([7])
    assert not cells.come([7])


def test_a_process_that_is_not_ours_has_none(tmp_path: Path) -> None:
    (tmp_path / "cells-8.ring").write_bytes(b"began")
    assert not CellNews(tmp_path).come([7])
