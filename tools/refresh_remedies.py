"""Write `facts/remedies.json`: the releases that a remedy of `crashcart doctor` may name, as the package index has them.

Covers: for each release below, what it declares (Requires-Dist without extras, Requires-Python) and for which Python versions
there is a wheel for Linux on x86-64. Asked of the index with pip alone; nothing is installed.
Does not cover: which of them work together: that is measured (`facts/measured.json`) or recorded (`facts/conflicts.json`).

    python tools/refresh_remedies.py            # all, a quarter of an hour
    python tools/refresh_remedies.py pyarrow    # some
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

_TARGET = Path(__file__).resolve().parent.parent / "src" / "crashcart" / "doctor" / "facts" / "remedies.json"
_PYTHONS = ("3.7", "3.8", "3.9", "3.10", "3.11", "3.12", "3.13")
_PLATFORMS = ("manylinux_2_28_x86_64", "manylinux_2_27_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64",
              "manylinux2010_x86_64", "manylinux1_x86_64", "linux_x86_64")  # fmt: skip
# The measured ones of NumPy and protobuf; of the others, those that the records name as good, and the newest of each minor
# version where a minor version belongs to one of TensorFlow's.
RELEASES = {
    "numpy": "1.19.5 1.20.3 1.21.6 1.22.4 1.23.5 1.24.4 1.25.2 1.26.4 2.0.2 2.1.3 2.2.6 2.3.4",
    "protobuf": "3.19.6 3.20.3 4.21.12 4.25.8 5.28.3 5.29.5 6.33.0 7.34.0",
    "keras": "2.6.0 2.7.0 2.8.0 2.9.0 2.10.0 2.11.0 2.12.0 2.13.1 2.14.0 2.15.0 3.5.0 3.10.0 3.12.0 3.15.1",
    "tf-keras": "2.14.1 2.15.0 2.15.1 2.16.0 2.17.0 2.18.0 2.19.0 2.20.1 2.21.0",
    "ml-dtypes": "0.2.0 0.3.2 0.4.1 0.5.1 0.6.0",
    "h5py": "2.10.0 3.1.0 3.8.0 3.11.0 3.14.0",
    "wrapt": "1.12.1 1.14.2 2.2.0 2.5.2",
    "typing-extensions": "3.7.4.3 4.5.0 4.7.1 4.13.2 4.16.0",
    "flatbuffers": "1.12 2.0.7 23.5.26 24.3.25 25.9.23 25.12.19",
    "optree": "0.13.0 0.20.0",
    "dm-tree": "0.1.8 0.1.10",
    "setuptools": "68.0.0 75.3.4 80.9.0",
    "tensorboard": "2.4.1 2.5.0 2.6.0 2.7.0 2.8.0 2.9.1 2.10.1 2.11.2 2.12.3 2.13.0 2.14.1 2.15.2 2.16.2 2.17.1 2.18.0"
    " 2.19.0 2.20.0 2.21.0",
    "tensorflow-text": "2.8.2 2.9.0 2.10.0 2.11.0 2.12.1 2.13.0 2.14.0 2.15.0 2.16.1 2.17.0 2.18.1 2.19.0 2.20.1 2.21.1",
    "tensorflow-io": "0.27.0 0.31.0 0.32.0 0.34.0 0.35.0 0.36.0 0.37.1",
    "tensorflow-io-gcs-filesystem": "0.31.0 0.37.1",
    "tensorflow-probability": "0.18.0 0.19.0 0.20.1 0.21.0 0.22.1 0.23.0 0.24.0 0.25.0",
    "pyarrow": "14.0.2 17.0.0 21.0.0 25.0.0",
}  # fmt: skip


_NOT_ASKED = ("Retrying (", "Could not fetch URL", "connection error", "There was a problem")
"""What pip warns of where the index is out of reach, before it says that nothing matches."""


class IndexFailed(Exception):
    """The index gave no answer that facts could be made of."""


def main() -> int:
    """Ask and write; where the index does not answer, nothing is written."""
    names = sys.argv[1:] or list(RELEASES)
    before = json.loads(_TARGET.read_text(encoding="utf-8")) if sys.argv[1:] else {}
    try:
        found = before | {name: _project(name, RELEASES[name].split()) for name in names}
    except IndexFailed as error:
        print(f"nothing was written: {error}", file=sys.stderr)
        return 1
    _TARGET.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 0


def _project(name: str, versions: list[str]) -> dict[str, Any]:
    wheels = {python: _with_wheel(name, python) for python in _PYTHONS}
    if not any(wheels.values()):
        raise IndexFailed(f"the index has no wheel of {name} for any Python")
    known = {}
    for version in versions:
        pythons = [python for python in _PYTHONS if version in wheels[python]]
        print(f"{name} {version}: wheels for {', '.join(pythons) or 'no Python'}", file=sys.stderr)
        if pythons:
            known[version] = {"pythons": pythons, **_metadata(f"{name}=={version}", pythons[-1])}
    return known


def _target(python: str) -> list[str]:
    platforms = [word for each in _PLATFORMS for word in ("--platform", each)]
    return ["--only-binary=:all:", "--python-version", python, "--implementation", "cp", *platforms]


def _with_wheel(name: str, python: str) -> set[str]:
    said = _pip("index", "versions", name, *_target(python))
    line = next((each for each in said.splitlines() if each.startswith("Available versions:")), "")
    return {each.strip() for each in line.partition(":")[2].split(",")} - {""}


def _metadata(requirement: str, python: str) -> dict[str, Any]:
    report = ["--dry-run", "--quiet", "--ignore-installed", "--no-deps", "--report", "-", "--target", "unused"]
    said = _pip("install", *report, "--use-feature=fast-deps", *_target(python), requirement)
    metadata = json.loads(said)["install"][0]["metadata"]
    requires = [each for each in metadata.get("requires_dist", []) if "extra ==" not in each]
    return {"requires": requires, "requires_python": metadata.get("requires_python")}


def _pip(*words: str) -> str:
    """What pip says. That nothing matches is an answer; an index that cannot be asked ends it, although pip says the same."""
    done = subprocess.run([sys.executable, "-m", "pip", *words], capture_output=True, text=True, check=False)
    unasked = done.returncode != 0 and any(each in done.stderr for each in _NOT_ASKED)
    unanswered = done.returncode != 0 and (words[0] != "index" or "No matching distribution" not in done.stderr)
    if unasked or unanswered:
        last = next(
            (each for each in reversed(done.stderr.splitlines()) if each.strip()), f"exit code {done.returncode}"
        )
        raise IndexFailed(f"`pip {' '.join(words[:3])}`: {last.strip()}")
    return done.stdout


if __name__ == "__main__":
    raise SystemExit(main())
