"""How fast files are checked, beside others: the same files, the same run, one after the other in turn.

python -m bench.data.speed [--write] [--rounds N] [--scale F]

Covers: JPEG as photographs are (about 500 × 375, 50 to 110 KB), small JPEG (64 × 64), TFRecord files with raw pixels and with such photographs; whole
commands with their start, the start alone (ten files), and the part without it where a program can tell it; how many damaged files of
the same kind each finds. All files lie in the page cache.
Does not cover: all kinds of damage (`python -m bench.data`). Times mean something only while nothing else runs.
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import crashcart
from bench.data import others
from bench.data.speed_files import damaged_images, damaged_records, write_images, write_records
from bench.pipeline.aims import aim
from bench.report import spread, table, write_section

_PROGRAMS = Path(__file__).with_name("programs")
_PHOTOGRAPHS, _SMALL, _SHARD_RECORDS = 10_000, 10_000, 800
_FEW = 10
CRC_AIM = 1.0
# Whoever has taken so long runs no further round: its figure is far from all others, and another round would not change that.
_LONG_S = 60.0
_SCRIPT = "from crashcart.cli.main import entry; entry()"
"""What the command `crashcart` does, wherever it is installed."""


@dataclass(frozen=True)
class Contender:
    """A command that reads all files of a folder."""

    name: str
    finds: str
    """What it looks at, in a few words."""
    command: tuple[str, ...]
    """`{}` stands for the folder."""
    cores: int = 2
    ours: bool = False
    whole: bool = True
    """Each file is read to its end and decoded; else its header or structure alone."""
    counts: bool = True
    """It says how many files are bad. Others are given each damaged file alone: an exception is a find."""


@dataclass
class Timed:
    """The rounds of one contender."""

    contender: Contender
    whole_s: list[float] = field(default_factory=list)
    inner_s: list[float] = field(default_factory=list)
    cpu_s: list[float] = field(default_factory=list)


def _program(name: str, *arguments: str) -> tuple[str, ...]:
    return (sys.executable, str(_PROGRAMS / f"{name}.py"), "{}", *arguments)


def _ours(name: str, cores: int, *options: str) -> Contender:
    command = (sys.executable, "-c", _SCRIPT, "data", "{}", "--json", "--workers", str(cores), *options)
    quick = "--quick" in options
    finds = "every marker and length up to the end; duplicates, too" if quick else "everything; duplicates, too"
    return Contender(name, finds, command, cores, True, not quick)


IMAGES = (
    _ours("crashcart data", 2),
    _ours("crashcart data, one core", 1),
    _ours("crashcart data --quick", 2, "--quick"),
    _ours("crashcart data --quick, one core", 1, "--quick"),
    Contender("PIL verify in a loop", "the header of a JPEG, nothing after it", _program("pil_verify"), 1, whole=False),
    Contender("PIL load, 2 processes", "decodes; forgives much", _program("pil_load")),
    Contender("tf.data, decode, ignore_errors", "decodes; forgives some; names nothing", _program("tf_decode")),
    Contender(
        "CleanVision, one issue (odd size)",
        "decodes; ends at a bad file",
        _program("clean_vision", "odd_size"),
        counts=False,
    ),
    Contender(
        "CleanVision, all issues", "as above; also light, blur, near duplicates", _program("clean_vision"), counts=False
    ),
)
RECORDS = (
    _ours("crashcart data", 2),
    _ours("crashcart data, one core", 1),
    Contender("TFRecordDataset, ignore_errors", "both checksums; names nothing", _program("tf_records"), counts=False),
    Contender(
        "TFRecordDataset, Examples parsed", "as above, and each Example", _program("tf_records", "parse"), counts=False
    ),
)

PICTURES = (
    _ours("crashcart data", 2),
    _ours("crashcart data, one core", 1),
    Contender(
        "TFRecordDataset, pictures decoded", "checksums, Examples, pictures; names nothing", _program("tf_records", "decode"), counts=False
    ),
)  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser("bench.data.speed")
    parser.add_argument("--write", action="store_true", help="write the results to docs/benchmarks.md")
    parser.add_argument("--rounds", type=int, default=5, help="how often each runs (5)")
    parser.add_argument("--scale", type=float, default=1.0, help="how many files, as a part of the usual number")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="crashcart-speed-") as folder:
        root = Path(folder)
        parts, ahead = _sections(root, options.rounds, options.scale)
        gigabytes = crc_speed(root / "records", options.rounds)
    parts.append(
        f"TFRecord, one core, one process, from the page cache (lengths, both CRC32C of each record, each Example parsed, no pictures inside): "
        f"{spread(gigabytes, 'GB/s')}. Aim: ≥ {CRC_AIM:.0f} GB/s."
    )
    parts.append(
        "Damaged files are copies of those that were timed: cut, with zeros or noise in them, without a header, a web page under their name. Odd is a "
        "picture behind whose last block data is left, which may be padding of a camera as well. CleanVision and TFRecordDataset, which end at a bad file or do not count them, were given each alone."
    )
    text = "\n\n".join(parts)
    print(text)
    if options.write:
        write_section("Speed of checking files", "python -m bench.data.speed --write", text)
    return 0 if ahead and statistics.median(gigabytes) >= CRC_AIM else 1


def _sections(root: Path, rounds: int, scale: float) -> tuple[list[str], bool]:
    write_images(root / "photographs", int(_PHOTOGRAPHS * scale), 500, 375)
    write_images(root / "small", int(_SMALL * scale), 64, 64)
    write_records(root / "records", None, int(_SHARD_RECORDS * scale))
    write_records(root / "pictures", root / "photographs", int(_SHARD_RECORDS * scale))
    parts, ahead = [], True
    for title, name, contenders in (
        ("JPEG, 500 × 375", "photographs", IMAGES), ("JPEG, 64 × 64", "small", IMAGES),
        ("TFRecord, raw pixels", "records", RECORDS), ("TFRecord, JPEG inside", "pictures", PICTURES),
    ):  # fmt: skip
        timed = measure(root / name, contenders, rounds)
        finds = _finds(contenders, root / name, root / f"{name}-damaged")
        sizes = [each.stat().st_size for each in (root / name).iterdir()]
        head = f"{title}: {len(sizes):,} files, {sum(sizes) / 1e6:.0f} MB, {rounds} rounds (whoever takes more than {_LONG_S:.0f} s, fewer)."
        verdicts = _verdicts(timed)
        lines = [aim(*each) for each in verdicts]
        if contenders is IMAGES:
            lines.append(_start(root, name, timed, rounds, len(sizes)))
        parts += [f"{head}\n\n{_table(timed, finds, len(sizes), sum(sizes))}", "\n".join(lines)]
        ahead = ahead and all(met for _, met, _ in verdicts)
    return parts, ahead


def _finds(contenders: Sequence[Contender], folder: Path, damaged: Path) -> list[str]:
    """How many damaged files each of them finds, of those that are made from the files that it was timed with."""
    if contenders is not IMAGES:
        damaged_records(damaged, folder)
        count = sum(others.raises(others.iterate, each) for each in damaged.iterdir())
    else:
        damaged_images(damaged, folder)
        count = sum(others.raises(others.cleanvision, each) for each in damaged.iterdir())
    of = sum(1 for _ in damaged.iterdir())
    return [f"{_told(each, damaged) if each.counts else count}, of {of}" for each in contenders]


def _told(contender: Contender, folder: Path) -> str:
    """How many files of a folder of damaged ones it speaks of, in one run."""
    told = _run(Timed(contender), folder)
    if not contender.ours:
        return str(told["bad"])
    odd = f" ({told['odd_files']} as odd)" if told["odd_files"] else ""
    return f"{told['damaged_files'] + told['odd_files']}{odd}"


def _verdicts(timed: Sequence[Timed]) -> list[tuple[str, bool, str]]:
    """Ours beside each of the others that does as much: the check beside those that decode, the quick one beside those that look
    at a header. What the check is beside a look at the header is said, too.
    """
    middle = {each.contender: statistics.median(each.whole_s) for each in timed}
    ours = {each.whole: each for each in reversed(middle) if each.ours}  # the first of each: on all cores
    found = []
    for each, other_s in middle.items():
        if each.ours:
            continue
        like = ours[each.whole]
        detail = f"{other_s / middle[like]:.1f} × as fast"
        if not each.whole:
            detail += f"; the whole check, which reads what the other does not, {other_s / middle[ours[True]]:.1f} ×"
        found.append((f"`{like.name}` is ahead of {each.name}", middle[like] < other_s, detail))
    return found


def _start(root: Path, name: str, timed: Sequence[Timed], rounds: int, files: int) -> str:
    """What a run over ten files takes, and from how many files on the quick check is ahead of the look at headers."""
    few = root / f"{name}-few"
    few.mkdir()
    for each in sorted((root / name).iterdir())[:_FEW]:
        shutil.copy(each, few)
    pair = [each for each in timed if not each.contender.whole and (each.contender.cores > 1) == each.contender.ours]
    ours, theirs = sorted(pair, key=lambda each: not each.contender.ours)
    starts = [
        statistics.median(each.whole_s)
        for each in measure(few, [each.contender for each in (ours, theirs)], max(3, rounds))
    ]
    own, other = (
        (statistics.median(each.whole_s) - start) / files for each, start in zip((ours, theirs), starts, strict=True)
    )
    words = f"Ten files: `{ours.contender.name}` {starts[0]:.2f} s, {theirs.contender.name} {starts[1]:.2f} s; each further one {own * 1e6:.0f} and {other * 1e6:.0f} µs"
    if own >= other:
        return f"{words}."
    return f"{words}: ahead from about {max(1, round((starts[0] - starts[1]) / (other - own), -2)):,.0f} files on."


def measure(folder: Path, contenders: Sequence[Contender], rounds: int) -> list[Timed]:
    """All contenders in turn, as often as asked; each round begins with another one."""
    for path in (each for each in folder.rglob("*") if each.is_file()):
        path.read_bytes()
    compileall.compile_dir(Path(crashcart.__file__).parent, quiet=2)
    timed = [Timed(each) for each in contenders]
    for number in range(rounds):
        turn = number % len(timed)
        for each in timed[turn:] + timed[:turn]:
            if sum(each.whole_s) < _LONG_S:
                _run(each, folder)
    return timed


def _run(timed: Timed, folder: Path) -> Any:
    """One run, timed; what it said."""
    home = tempfile.mkdtemp(prefix="crashcart-home-")
    # An installed package has its bytecode: so has ours, beside those of the others.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = [each.replace("{}", str(folder)) for each in timed.contender.command]
    if timed.contender.cores == 1 and timed.contender.ours:
        command = ["taskset", "-c", str(min(os.sched_getaffinity(0))), *command]
    began_s = time.perf_counter()
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**environment, "CRASHCART_HOME": home}
    )
    assert process.stdout is not None and process.stderr is not None
    said = process.stdout.read()
    complaint = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    timed.whole_s.append(time.perf_counter() - began_s)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 1) or not said:
        raise SystemExit(f"{timed.contender.name} ended with {process.returncode}: {complaint.decode()[-2000:]}")
    told = json.loads(said)
    timed.cpu_s.append(usage.ru_utime + usage.ru_stime)
    timed.inner_s.append(told["seconds" if timed.contender.ours else "inner_s"])
    shutil.rmtree(home, ignore_errors=True)
    return told


def _table(timed: Sequence[Timed], finds: Sequence[str], files: int, size: int) -> str:
    head = [
        "", "looks at", "finds of damaged files", "cores", "whole command", "files/s", "MB/s",
        "without the start of Python and its imports",
    ]  # fmt: skip
    first = statistics.median(timed[0].whole_s)
    rows = []
    for each, found in zip(timed, finds, strict=True):
        middle = statistics.median(each.whole_s)
        rows.append([
            each.contender.name, each.contender.finds, found, str(each.contender.cores),
            f"{spread(each.whole_s, 's')}{'' if each is timed[0] else f', {middle / first:.1f} ×'}", f"{files / middle:,.0f}",
            f"{size / 1e6 / middle:,.0f}", spread(each.inner_s, "s"),
        ])  # fmt: skip
    return table(head, rows)


def crc_speed(folder: Path, rounds: int) -> list[float]:
    """Gigabytes a second of one core."""
    found = []
    for _ in range(rounds):
        done = subprocess.run(
            [sys.executable, str(_PROGRAMS / "one_core.py"), str(folder)], stdout=subprocess.PIPE, check=True
        )
        told = json.loads(done.stdout)
        assert told["bad"] == 0
        found.append(told["bytes"] / told["inner_s"] / 1e9)
    return found


if __name__ == "__main__":
    sys.exit(main())
