"""One death, run for real: a notebook is executed by nbclient or papermill, its kernel plain or watched.

Covers: the notebook file, the memory group (client, watcher and kernel share it, as in a container), the signal from
outside, and afterwards the exception, the executed notebook and crashcart's report.
Does not cover: judging them (`score.py`).
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import group, kernels
from bench.deaths.death import TMP_VARIABLE
from bench.notebooks import client
from bench.notebooks.death import Death

_QUIET = {"TF_CPP_MIN_LOG_LEVEL": "3"}
_MOST_S = 180.0
_SETTLED_S = 0.5
"""From the pid being written to the signal: so that the line that writes it is not the last one seen."""


@dataclass(frozen=True)
class Ran:
    """What is left of one execution."""

    raised: str
    """The exception's class; empty where nothing was raised."""
    text: str
    outputs: tuple[list[dict[str, Any]], ...]
    """Of each cell of the executed notebook."""
    document: dict[str, Any] | None
    """crashcart's report; None for a plain kernel."""
    seconds: float


def run(death: Death, watched: bool) -> Ran:
    """Execute the notebook to its end, in a folder and with kernelspecs of its own."""
    folder = Path(tempfile.mkdtemp(prefix=f"notebook-{death.name}-"))
    try:
        if watched:
            kernels.make_watched(folder, ["--no-guard"])
        else:
            kernels.make_plain(folder)
        work = folder / "work"
        work.mkdir()
        _write(death, work / "notebook.ipynb")
        if death.setup is not None:
            death.setup(work)
        with group.memory_group(death.limit_mb) as place:
            _execute(death, folder, place)
        return _read(folder, watched)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _write(death: Death, file: Path) -> None:
    import nbformat
    from nbformat import v4

    kernelspec = {"name": kernels.NAME, "display_name": "Python 3", "language": "python"}
    cells = [v4.new_code_cell(source) for source in death.cells]
    nbformat.write(v4.new_notebook(cells=cells, metadata={"kernelspec": kernelspec}), file)


def _execute(death: Death, folder: Path, place: Path | None) -> None:
    files = ["notebook.ipynb", "executed.ipynb", str(folder / "raised.json")]
    command = [*death.wrapper, sys.executable, client.__file__, death.client, *files]
    work = folder / "work"
    variables = {**kernels.variables(folder), **_QUIET, TMP_VARIABLE: str(work), **death.env}
    with (folder / "output").open("wb") as output:
        process = subprocess.Popen(
            command, cwd=work, env=variables,
            stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True,
            preexec_fn=lambda: group.enter(place),
        )  # fmt: skip
        try:
            _send(death, work / "pid", process)
            process.wait(_MOST_S)
        except subprocess.TimeoutExpired:
            process.kill()  # its kernel, plain or watched, ends with it
            process.wait()


def _send(death: Death, pid_file: Path, process: subprocess.Popen[bytes]) -> None:
    if death.signal is None:
        return
    until_s = time.monotonic() + _MOST_S
    while not pid_file.exists() and process.poll() is None and time.monotonic() < until_s:
        time.sleep(0.05)
    time.sleep(_SETTLED_S)
    os.kill(int(pid_file.read_text()), signal.Signals(death.signal))


def _read(folder: Path, watched: bool) -> Ran:
    raised = folder / "raised.json"
    if not raised.exists():
        output = (folder / "output").read_text(errors="replace")
        return Ran("the client died", output, (), None, _MOST_S)
    facts = json.loads(raised.read_text())
    executed = folder / "work" / "executed.ipynb"
    cells = json.loads(executed.read_text())["cells"] if executed.exists() else []
    outputs = tuple(each["outputs"] for each in cells if each["cell_type"] == "code" and _is_ours(each))
    return Ran(facts["name"], facts["text"], outputs, _report(folder) if watched else None, facts["seconds"])


def _is_ours(cell: dict[str, Any]) -> bool:
    """papermill puts a cell of its own before the one that failed, to say which it was."""
    return "papermill-error-cell-tag" not in cell["metadata"].get("tags", ())


def _report(folder: Path) -> dict[str, Any] | None:
    found = kernels.recordings(folder)
    if not found:
        return None
    command = [sys.executable, "-m", "crashcart", "why", str(found[-1]), "--json"]
    done = subprocess.run(command, env=kernels.variables(folder), capture_output=True, text=True, timeout=60)
    document: dict[str, Any] = json.loads(done.stdout)
    return document
