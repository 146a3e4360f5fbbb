"""How fast and in how much memory a large log is read, as the whole command.

Covers: progress lines of which only numbers change, lines that all differ, lines that all speak of failures, one line without
end through a pipe; each with the root of the death in its middle or nothing at all.
Does not cover: whether the verdict is right in general (`score.py`); here it must be the one that was put in.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

MEGABYTE = 1_000_000
LARGE_BYTES = 100 * MEGABYTE
ENDLESS_BYTES = 1000 * MEGABYTE
_ROOT = (
    "Traceback (most recent call last):\n"
    '  File "train.py", line 41, in <module>\n'
    "    model.fit(train, epochs=10)\n"
    "tensorflow.python.framework.errors_impl.ResourceExhaustedError: OOM when allocating tensor with shape[64,512,112,112] and"
    " type float on /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc\n"
)


@dataclass(frozen=True, slots=True)
class Read:
    """One reading of a large log."""

    kind: str
    bytes: int
    seconds: float
    cpu_s: float
    peak_bytes: int
    cause: str

    @property
    def rate(self) -> float:
        """Megabytes for each second of processor time: what others do on the machine meanwhile is not ours."""
        return self.bytes / MEGABYTE / self.cpu_s


def measure() -> list[Read]:
    with tempfile.TemporaryDirectory() as folder:
        read = []
        for kind, line in (("progress", _progress), ("all lines differ", _words), ("warnings", _warning)):
            path = Path(folder) / "large.log"
            written = _write(path, line)
            read.append(_read_file(kind, path, written))
        read.append(_read_endless())
        return read


def _progress(number: int, chance: random.Random) -> str:
    return f"step {number}/900000 - loss: {chance.random():.4f} - accuracy: {chance.random():.4f} - 23ms/step"


def _words(number: int, chance: random.Random) -> str:
    return " ".join("".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=6)) for _ in range(10))


def _warning(number: int, chance: random.Random) -> str:
    word = "".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=6))
    return f"W loader.cc:{number}] reading shard {word} failed, error {number % 7}: will try again"


def _write(path: Path, line: Callable[[int, random.Random], str]) -> int:
    """Half of the lines, the root of the death, the other half."""
    chance = random.Random(7)
    block = "".join(line(number, chance) + "\n" for number in range(60_000))
    times = LARGE_BYTES // 2 // len(block) + 1
    with path.open("w", encoding="utf-8") as file:
        for half in range(2):
            for _ in range(times):
                file.write(block)
            if half == 0:
                file.write(_ROOT)
    return path.stat().st_size


def _read_file(kind: str, path: Path, written: int) -> Read:
    began = time.perf_counter()
    process = subprocess.Popen(_command(str(path)), stdout=subprocess.PIPE)
    return _finished(kind, process, written, began)


def _read_endless() -> Read:
    began = time.perf_counter()
    process = subprocess.Popen(_command("-"), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    threading.Thread(target=_pour, args=(process,), daemon=True).start()
    return _finished("one line of 1 GB", process, ENDLESS_BYTES, began)


def _pour(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    for piece in _endless():
        process.stdin.write(piece)
    process.stdin.close()


def _endless() -> Iterator[bytes]:
    piece = b"x" * MEGABYTE
    for _ in range(ENDLESS_BYTES // MEGABYTE):
        yield piece


def _command(name: str) -> list[str]:
    return [sys.executable, "-m", "crashcart", "why", "--log", name, "--json"]


def _finished(kind: str, process: subprocess.Popen[bytes], read: int, began: float) -> Read:
    assert process.stdout is not None
    text = process.stdout.read()
    _, _, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - began
    findings = json.loads(text)["findings"] if text else []
    cpu_s = usage.ru_utime + usage.ru_stime
    return Read(kind, read, seconds, cpu_s, usage.ru_maxrss * 1024, findings[0]["cause"] if findings else "nothing")
