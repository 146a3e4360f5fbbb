"""Asks doctor about an environment of the bench, and compares what it says with what it has to say.

Covers: the real command in a process of its own, or the same in this process (tests); found, missed, accused falsely.
Does not cover: making the environment (`build.py`).
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.doctor.build import build
from bench.doctor.environment import Environment

_QUIET = (
    "TF_",
    "KERAS_",
    "PROTOCOL_BUFFERS_",
    "CUDA_",
    "NVIDIA_",
    "XLA_",
    "OMP_",
    "KMP_",
    "LD_LIBRARY_PATH",
    "MALLOC_",
)
"""Settings of whoever runs the bench, which are not the environment's."""


@dataclass(frozen=True, slots=True)
class Judged:
    """What doctor said of an environment."""

    environment: Environment
    document: Mapping[str, Any]
    seconds: float

    @property
    def said(self) -> dict[str, str]:
        """The gravest level of each rule that spoke above a note."""
        found: dict[str, str] = {}
        for each in self.document["findings"]:
            if each["level"] != "note":
                found.setdefault(each["code"], each["level"])
        return found

    @property
    def missed(self) -> list[str]:
        """What had to be said, and was not."""
        return [f"{code} {level}" for code, level in self.environment.expect.items() if self.said.get(code) != level]

    @property
    def false(self) -> list[str]:
        """What was said, and is wrong."""
        known = self.environment.expect.keys() | self.environment.also
        return [
            f"{each['code']} {each['headline']}"
            for each in self.document["findings"]
            if each["level"] != "note" and each["code"] not in known
        ]

    @property
    def failed(self) -> list[str]:
        """Rules of ours that raised."""
        return [text for each in self.document["unchecked"] for text in each["missing"] if "the rule failed" in text]

    @property
    def remedy(self) -> str:
        """The first thing that it tells to do."""
        return next((each["remedy"][0] for each in self.document["findings"] if each["remedy"]), "")


def arguments(environment: Environment, folder: Path) -> list[str]:
    """Make the environment, or write the plan; what the command is asked."""
    if environment.plan is None:
        code = ["train.py"] if environment.code else []
        (folder / "train.py").write_text(environment.code, encoding="utf-8")
        return ["--python", str(build(environment, folder / "venv")), *code]
    name, text = environment.plan
    (folder / name).write_text(text, encoding="utf-8")
    version = [] if name.startswith(("pyproject", "environment")) else ["--python-version", environment.python]
    return [name, *version]


def variables(environment: Environment, folder: Path) -> dict[str, str]:
    """The environment's own settings, over those of this process that no TensorFlow looks at."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_QUIET)}
    own = {name: value.format(folder=folder) for name, value in environment.variables.items()}
    if "PYTHONPATH" in own:  # crashcart itself may be found by it
        own["PYTHONPATH"] = os.pathsep.join(filter(None, (own["PYTHONPATH"], kept.get("PYTHONPATH"))))
    return {**kept, **own}


def _limit(limits: Mapping[str, int]) -> None:
    for name, most in limits.items():
        resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (most, most))


def judge(environment: Environment, folder: Path) -> Judged:
    """The verdict of `crashcart doctor --json` on an environment that is made in the folder."""
    words = arguments(environment, folder)
    command = [sys.executable, "-m", "crashcart", "doctor", *words, "--json"]
    began_s = time.monotonic()
    done = subprocess.run(
        command, cwd=folder, env=variables(environment, folder), capture_output=True, text=True, timeout=120,
        preexec_fn=lambda: _limit(environment.limits),
    )  # fmt: skip
    seconds = time.monotonic() - began_s
    if done.returncode not in (0, 1):
        raise RuntimeError(f"{environment.name}: exit code {done.returncode}: {done.stderr.strip()[-500:]}")
    return Judged(environment, json.loads(done.stdout), seconds)
