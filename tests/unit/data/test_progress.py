"""The count beside the run: it takes nothing from the run."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest

from crashcart.cli.data_progress import Count, Lines
from crashcart.sound import Checked


def counts(path: str) -> bool:
    """Whether the count begins."""
    count = Count([path], hidden=False)
    count.begin()
    count.end()
    if count.thread is not None:
        count.thread.join(10)
    return count.thread is not None


def test_a_list_on_disk_is_counted(tmp_path: Path) -> None:
    (tmp_path / "list").write_text("a\nb\n")
    (tmp_path / "link").symlink_to("list")
    assert counts(str(tmp_path)) and counts(f"@{tmp_path}/list") and counts(f"@{tmp_path}/link")


def test_a_list_out_of_a_pipe_is_left_to_the_run(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    read, write = os.pipe()
    try:
        assert not counts(f"@{tmp_path}/fifo")
        assert not counts(f"@/dev/fd/{read}")
    finally:
        os.close(read)
        os.close(write)


@pytest.mark.parametrize("path", ["@-", "s3://bucket/train"])
def test_what_can_be_asked_only_once_is_not_counted(path: str) -> None:
    assert not counts(path)


def test_a_short_run_begins_no_thread(tmp_path: Path) -> None:
    """A process with one thread can be copied; one with two cannot."""
    lines = Lines(io.StringIO())
    lines.begin([str(tmp_path)], hidden=False)
    lines.add(Checked("a"))
    assert lines._count is not None and lines._count.thread is None
    lines._began_s -= 10
    lines.add(Checked("b"))
    assert lines._count.thread is not None
    lines.close()
    lines._count.thread.join(10)
