"""Records the metadata that the environments of the bench are made of, from the package index through pip.

python -m bench.doctor.record

Covers: the whole result of pip's resolver for each `base`, and what each distribution declares. What is recorded already is
not asked again. Does not cover: files of the distributions; the stubs of `build.py` stand for those.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from bench.doctor.interpreters import interpreter

FILE = Path(__file__).resolve().parent / "metadata.json"
_KEPT = ("requires_dist", "requires_python")


@cache
def recorded() -> dict[str, Any]:
    """What is recorded: `resolved` (packages by what pip was asked) and `metadata` (by `name version`)."""
    if not FILE.exists():
        return {"resolved": {}, "metadata": {}}
    return dict(json.loads(FILE.read_text(encoding="utf-8")))


def key(python: str, base: tuple[str, ...]) -> str:
    return f"{python}: {' '.join(base)}"


def main() -> int:
    from bench.doctor.manifest import ENVIRONMENTS

    known = recorded()
    for each in ENVIRONMENTS:
        if each.base and key(each.python, each.base) not in known["resolved"]:
            found = list(_asked(each.python, *each.base))
            known["resolved"][key(each.python, each.base)] = {name: version for name, version, _ in found}
            known["metadata"].update({f"{name} {version}": kept for name, version, kept in found})
            _write(known)
        for name, version in each.put.items():
            if f"{name} {version}" not in known["metadata"]:
                found = list(_asked(each.python, "--no-deps", f"{name}=={version}"))
                known["metadata"].update({f"{name} {at}": kept for name, at, kept in found})
                known["metadata"].setdefault(f"{name} {version}", {})
                _write(known)
    return 0


def _asked(python: str, *words: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Name, version and metadata of what pip would install.

    An interpreter of that version is asked, since pip judges markers by the one that it runs in; where pip is too new for it,
    only the wheels are chosen for that version.
    """
    print(python, *words, file=sys.stderr, flush=True)
    common = [
        "install",
        "--quiet",
        "--dry-run",
        "--ignore-installed",
        "--use-feature=fast-deps",
        "--only-binary",
        ":all:",
    ]
    common += ["--report", "-", *words]
    there = interpreter(python)
    ways = [["--python", there, *common]] if there else []
    for way in (*ways, [*common, "--python-version", python]):
        done = subprocess.run([sys.executable, "-m", "pip", *way], capture_output=True, text=True, timeout=900)
        if done.returncode == 0:
            break
    else:
        print(f"  {done.stderr.strip().splitlines()[-1]}", file=sys.stderr)
        return
    for each in json.loads(done.stdout)["install"]:
        metadata = each["metadata"]
        name = metadata["name"].lower().replace("_", "-").replace(".", "-")
        yield name, metadata["version"], {field: metadata[field] for field in _KEPT if field in metadata}


def _write(known: dict[str, Any]) -> None:
    ordered = {part: dict(sorted(known[part].items())) for part in ("resolved", "metadata")}
    FILE.write_text(json.dumps(ordered, indent=1, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
