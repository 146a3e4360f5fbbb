"""The processes of a recorded run: which were watched over, and which were not.

Covers: their records by process, and words on other Python processes of the run. Does not cover: what the records say
(`growth.py`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from crashcart.blackbox.files import read_json, read_ring
from crashcart.blackbox.ring import ForeignFileError, read_payloads
from crashcart.units import duration, plural

Record = dict[str, Any]
SHORT_S = 1.0
"""A process that ended sooner asked for a version, or started another."""
MOST_NAMED = 3


def watched(folder: Path) -> dict[int, list[Record]]:
    """The records of each process that was watched, by its number."""
    found: dict[int, list[Record]] = {}
    for path in sorted(folder.glob("leaks-*.ring")):
        number = path.stem.split("-")[1]
        if number.isdigit():
            found.setdefault(int(number), []).extend(_records(path))
    return {pid: each for pid, each in found.items() if any(record.get("kind") == "leak-start" for record in each)}


def _records(path: Path) -> Iterator[Record]:
    try:
        payloads = read_payloads(path.read_bytes())
    except (OSError, ForeignFileError):
        return
    for payload in payloads:
        try:
            record = json.loads(payload)
        except ValueError:
            continue
        if isinstance(record, dict) and isinstance(record.get("at"), (int, float)):
            yield record


def limit_bytes(folder: Path) -> int | None:
    """The tightest bound that the recording knows of."""
    try:
        run = json.loads((folder / "run.json").read_bytes())
        limits = run["machine"]["limits"]
        return min((int(each["bytes"]) for each in limits), default=None)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def unwatched(folder: Path, known: set[int]) -> str | None:
    """Words on the other Python processes that our hook met, and that lasted; None where there is none. Forked ones are
    told by their parent."""
    found = []
    for path in sorted(folder.glob("program-*.json")):
        start = read_json(path)
        if start is None or start.get("kind") != "start" or start.get("pid") in known:
            continue
        ran_s = _ran_s(path.with_suffix(".ring"), float(start.get("unix_s", 0.0)))
        if ran_s is None or ran_s >= SHORT_S:
            found.append(f"pid {start['pid']}" + (f", {duration(ran_s)}" if ran_s is not None else ""))
    if not found:
        return None
    more = f" and {len(found) - MOST_NAMED} more" if len(found) > MOST_NAMED else ""
    others = plural(len(found), "other Python process", "other Python processes")
    return (
        f"{others} ran beside the watched one ({'; '.join(found[:MOST_NAMED])}{more}) and went unwatched; watch it by "
        "itself: `crashcart leaks -- python …`"
    )


def _ran_s(path: Path, began_s: float) -> float | None:
    """Up to its orderly end; None where it had none."""
    try:
        ends = [float(each["unix_s"]) for each in read_ring(path) if each.get("kind") == "exit" and "unix_s" in each]
    except ValueError:
        return None
    return ends[-1] - began_s if ends else None
