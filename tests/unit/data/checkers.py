"""Checks that do what a bad decoder does, told by the content of a file. Run inside of the pool's processes."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
from pathlib import Path

from crashcart.sound import Checked, Fault, Source, Wanted

JOB = "tests.unit.data.checkers:check"


def check(source: Source, wanted: Wanted) -> Checked:
    path = Path(source.path)
    text = path.read_bytes().decode("ascii", "replace")
    if text.startswith("segv"):
        ctypes.string_at(0)
    if text.startswith("abort"):
        print("free(): invalid pointer", file=sys.stderr, flush=True)
        os.abort()
    if text.startswith("hang"):
        time.sleep(600)
    if text.startswith("exit"):
        os._exit(5)
    if text.startswith("killed"):
        os.kill(os.getpid(), signal.SIGKILL)
    if text.startswith("memory"):
        bytearray(1 << 40)
    if text.startswith("huge"):
        bytearray(900 << 20)
    if text.startswith("raise"):
        raise RuntimeError("a bug of ours")
    if text.startswith("once"):
        _once(path)
    if text.startswith("slow"):
        time.sleep(0.05)
    if text.startswith("untellable"):
        return Checked(source.path, facts={"what": _Untellable()})
    faults = (Fault("not-decodable", "begins with bad", "byte 0"),) if text.startswith("bad") else ()
    return Checked(source.path, len(text), path.stat().st_mtime_ns, "text", text[:20], faults, {"pid": os.getpid()})


class _Untellable:
    """Ends the process that packs it into a message."""

    def __reduce__(self) -> str:
        os._exit(6)


def _once(path: Path) -> None:
    """Dies the first time alone."""
    mark = path.with_name(path.name + ".mark")
    if not mark.exists():
        mark.touch()
        ctypes.string_at(0)
