"""Environments built with pip, run, judged, mended as doctor says, and run again.

python -m bench.doctor --real [--only NAME]

What was seen is kept in `real.json` as it comes, so that a long run may be taken in parts.

Covers: whether what doctor calls broken really fails, and whether its first remedy, carried out as it stands, makes it
work; likewise for plans, whose file is changed as doctor says. Right environments have to run and to be left alone.
Does not cover: speed. Each is built in a folder of its own, one at a time, and deleted; wheels of 200 MB and more are fetched.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.doctor.environment import Environment
from bench.doctor.interpreters import interpreter
from bench.doctor.judge import variables as quiet_variables
from bench.report import table, write_section

_PROGRAM = """
import numpy as np
import tensorflow as tf
{more}
model = tf.keras.Sequential([tf.keras.layers.LSTM(4, input_shape=(5, 3)), tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
data = tf.data.Dataset.from_tensor_slices((np.ones((8, 5, 3), "float32"), np.ones((8, 1), "float32"))).batch(4)
model.fit(data, verbose=0)
print("WORKS", tf.__version__, np.__version__)
"""
RESULTS = Path(__file__).resolve().parent / "real.json"
_INSTALL_S = 1800
_RUN_S = 600


@dataclass(frozen=True, slots=True)
class Real:
    """One environment: what pip is asked, one command after the other."""

    name: str
    python: str
    installs: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    more: str = ""
    """What the program does beside importing and training."""
    plan: str = ""
    """The text of a requirements file, which is judged instead of an installed environment."""
    expect: str = ""
    """The rule that has to be the first to speak; empty where the environment is right."""


REAL = (
    Real("fresh-2.10", "3.10", ("tensorflow-cpu==2.10.1",), expect="D101"),
    Real("numpy1.21-under-2.5", "3.8", ("tensorflow-cpu==2.5.3", "--no-deps numpy==1.21.6"), expect="D101"),
    Real("numpy2-under-2.17", "3.12", ("tensorflow-cpu==2.17.1", "--no-deps numpy==2.1.3"), expect="D101"),
    Real("protobuf4-under-2.9", "3.9", ("tensorflow-cpu==2.9.3 numpy<2", "--no-deps protobuf==4.25.8"), expect="D102"),
    Real("protobuf5-under-2.21", "3.13", ("tensorflow-cpu==2.21.0", "--no-deps protobuf==5.29.5"), expect="D102"),
    Real("keras3-under-2.13", "3.11", ("tensorflow-cpu==2.13.1", "--no-deps keras==3.5.0"), expect="D103"),
    Real("keras2-under-2.16", "3.12", ("tensorflow-cpu==2.16.2", "--no-deps keras==2.15.0"), expect="D103"),
    Real("legacy-keras-missing", "3.12", ("tensorflow-cpu==2.16.2",), {"TF_USE_LEGACY_KERAS": "1"}, expect="D104"),
    Real("ml-dtypes-0.3-under-2.14", "3.11", ("tensorflow-cpu==2.14.1", "--no-deps ml-dtypes==0.3.2"), expect="D105"),
    Real("h5py-3.10-with-numpy2", "3.11", ("tensorflow-cpu==2.18.1", "--no-deps h5py==3.10.0"), expect="D105"),
    Real("plan-2.10-alone", "3.10", plan="tensorflow-cpu==2.10\n", expect="D101"),
    Real("plan-2.15-numpy2", "3.11", plan="tensorflow-cpu==2.15.0\nnumpy>=2\n", expect="D701"),
    Real("right-2.20", "3.12", ("tensorflow-cpu==2.20.0",)),
    Real("right-numpy-2.3-under-2.18", "3.11", ("tensorflow-cpu==2.18.1", "--no-deps numpy==2.3.4")),
)


@dataclass(frozen=True, slots=True)
class Truth:
    """What became of one environment."""

    real: Real
    before: str
    """How the program ended before: `works`, or its last line."""
    said: Sequence[str]
    """The codes above a note, the gravest first."""
    remedy: str = ""
    after: str = ""

    @property
    def agrees(self) -> bool:
        """Whether doctor speaks exactly where the program fails, with the rule that had to speak first."""
        if not self.real.expect:
            return self.before == "works" and not self.said
        return self.before != "works" and list(self.said[:1]) == [self.real.expect]


def main(only: Sequence[str] | None = None) -> int:
    chosen = [each for each in REAL if not only or each.name in only]
    here = [each for each in chosen if interpreter(each.python)]
    for each in (each for each in chosen if each not in here):
        print(f"{each.name:28} not here: no Python {each.python}")
    for each in here:
        with tempfile.TemporaryDirectory(prefix="crashcart-real-") as folder:
            truth = _truth(each, Path(folder))
        _keep(truth)
        print(f"{each.name:28} {_words(truth)}", flush=True)
    truths = kept()
    summary = summarise(truths, len(REAL) - len(truths))
    print("\n" + summary)
    write_section("Environments built for real", "make bench-doctor-real", summary)
    return 0 if all(each.agrees and each.after in ("", "works") for each in truths) else 1


def kept() -> list[Truth]:
    """What was seen, in the order of the list."""
    known = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    return [Truth(each, **known[each.name]) for each in REAL if each.name in known]


def _keep(truth: Truth) -> None:
    known = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    remedy = re.sub(r"[^\s`]*crashcart-real-[^\s`]*/bin/python", "…/bin/python", truth.remedy)
    known[truth.real.name] = {"before": truth.before, "said": [*truth.said], "remedy": remedy, "after": truth.after}
    RESULTS.write_text(json.dumps(known, indent=1, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8")


def _truth(real: Real, folder: Path) -> Truth:
    python = _venv(real, folder)
    if real.plan:
        (folder / "requirements.txt").write_text(real.plan)
        refused = _pip(python, ["install", "-r", str(folder / "requirements.txt")])
        before = refused or _run(python, real, folder)
    else:
        for words in real.installs:
            refused = _pip(python, ["install", *shlex.split(words)])
            if refused:
                raise RuntimeError(f"{real.name}: pip install {words}: {refused}")
        before = _run(python, real, folder)
    findings = [each for each in _doctor(real, python, folder)["findings"] if each["level"] != "note"]
    said = [each["code"] for each in findings]
    if not findings or not findings[0]["remedy"]:
        return Truth(real, before, said)
    remedy = findings[0]["remedy"][0]
    return Truth(real, before, said, remedy, _mended(real, python, folder, remedy))


def _venv(real: Real, folder: Path) -> Path:
    subprocess.run([str(interpreter(real.python)), "-m", "venv", str(folder / "venv")], check=True, capture_output=True)
    return folder / "venv" / "bin" / "python"


def _pip(python: Path, words: Sequence[str]) -> str:
    """Run pip; its last line where it refuses."""
    command = [str(python), "-m", "pip", *words, "--no-cache-dir", "--disable-pip-version-check", "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_INSTALL_S)
    lines = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
    said = re.sub(r":? for help visit.*", "", lines[-1]) if lines else f"exit code {done.returncode}"
    return "" if done.returncode == 0 else f"pip: {said}"


def _run(python: Path, real: Real, folder: Path, without: Sequence[str] = ()) -> str:
    """`works`, or the last line of what went wrong."""
    variables = {name: value for name, value in _variables(real, folder).items() if name not in without}
    variables.pop("PYTHONPATH", None)
    program = _PROGRAM.format(more=real.more)
    done = subprocess.run(
        [str(python), "-c", program], capture_output=True, text=True, timeout=_RUN_S, env=variables, cwd=folder
    )
    if "WORKS" in done.stdout:
        return "works"
    lines = [line for line in done.stderr.strip().splitlines() if re.match(r"\w+(\.\w+)*(Error|Exception)\b", line)]
    return (lines[-1] if lines else f"exit code {done.returncode}")[:160]


def _variables(real: Real, folder: Path) -> dict[str, str]:
    return {**quiet_variables(Environment(real.name, ""), folder), "TF_CPP_MIN_LOG_LEVEL": "2", **real.variables}


def _doctor(real: Real, python: Path, folder: Path) -> dict[str, Any]:
    asked = ["requirements.txt", "--python-version", real.python] if real.plan else ["--python", str(python)]
    command = [sys.executable, "-m", "crashcart", "doctor", *asked, "--json"]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=120, env=_variables(real, folder), cwd=folder
    )
    return dict(json.loads(done.stdout))


def _mended(real: Real, python: Path, folder: Path, remedy: str) -> str:
    """How the program ends after the remedy was carried out as it stands."""
    if real.plan:
        file = folder / "requirements.txt"
        file.write_text(_changed(file.read_text(), remedy))
        return _pip(python, ["install", "-r", str(file)]) or _run(python, real, folder)
    commands = [shlex.split(each) for each in re.findall(r"`([^`]+)`", remedy)]
    unset = [word for command in commands if command[0] == "unset" for word in command[1:]]
    for command in commands:
        if command[0] != "unset":
            done = subprocess.run(
                command,
                capture_output=True,
                text=True,
                timeout=_INSTALL_S,
                cwd=folder,
                env={**os.environ, "PYTHONPATH": ""},
            )
            if done.returncode:
                return f"{command[0]}: {done.stderr.strip().splitlines()[-1][:160]}"
    return _run(python, real, folder, unset) if commands else f"no command in: {remedy}"


def _changed(text: str, remedy: str) -> str:
    """The file after `in FILE line N, instead of OLD: NEW`, or with the new line of `in FILE: NEW`."""
    change = re.fullmatch(r"in \S+ line (\d+), instead of .*: (\S+)", remedy)
    lines = text.splitlines()
    if change is None:
        return "\n".join([*lines, remedy.rpartition(": ")[2].replace(", ", "\n")]) + "\n"
    lines[int(change[1]) - 1] = change[2]
    return "\n".join(lines) + "\n"


def _words(truth: Truth) -> str:
    said = ", ".join(truth.said) or "nothing"
    return f"before: {truth.before} | doctor: {said} | {truth.remedy} | after: {truth.after or '-'}"


def summarise(truths: Sequence[Truth], absent: int) -> str:
    broken = [each for each in truths if each.real.expect]
    right = [each for each in truths if not each.real.expect]
    lines = [
        f"Of {len(broken)} broken environments and plans, {sum(each.before != 'works' for each in broken)} failed when they were "
        f"installed or run; doctor named the cause of {sum(each.agrees for each in broken)} first, and its first remedy, carried out "
        f"as it stands, made {sum(each.after == 'works' for each in broken)} work. {sum(each.agrees for each in right)} of "
        f"{len(right)} right ones ran and were left alone.",
        table(
            ["environment", "Python", "before", "doctor", "its first remedy", "after"], [_row(each) for each in truths]
        ),
    ]
    if absent:
        lines.insert(1, f"{absent} more were not built yet.")
    return "\n\n".join(lines)


def _row(truth: Truth) -> list[str]:
    said = ", ".join(truth.said) or "nothing"
    cells = [truth.real.name, truth.real.python, truth.before, said, truth.remedy, truth.after]
    return [each.replace("|", "\\|") for each in cells]
