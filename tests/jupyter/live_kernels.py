"""Real kernels for tests, and looking at them from outside."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from bench import kernels, processes

jupyter_client = pytest.importorskip("jupyter_client")
pytest.importorskip("ipykernel")

MOST_S = 30.0


def until(condition: Callable[[], bool], most_s: float = MOST_S) -> bool:
    """Whether it came true in time."""
    end_s = time.monotonic() + most_s
    while not condition():
        if time.monotonic() > end_s:
            return False
        time.sleep(0.02)
    return True


class Kernel:
    """A started kernel and a client of it."""

    def __init__(self, name: str = kernels.NAME, **options: Any) -> None:
        self.manager = jupyter_client.KernelManager(kernel_name=name, **options)
        self.manager.start_kernel(stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.client = self.manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=MOST_S)

    @property
    def lead(self) -> int:
        """The process that Jupyter started."""
        return int(self.manager.provisioner.pid)

    def run(self, code: str) -> str:
        """Run a cell; returns what it printed, showed and raised."""
        request = self.client.execute(code)
        return self.outcome(request)

    def outcome(self, request: str) -> str:
        """Wait for the end of a cell that was sent before."""
        texts: list[str] = []
        while True:
            message = self.client.get_iopub_msg(timeout=MOST_S)
            if message["parent_header"].get("msg_id") != request:
                continue
            if message["content"].get("execution_state") == "idle":
                return "".join(texts)
            texts.append(_text(message))

    def pid(self) -> int:
        """The kernel's own."""
        return int(self.run("import os; print(os.getpid())"))

    def close(self) -> None:
        """Let it end, whatever has become of it."""
        self.client.stop_channels()
        if self.manager.has_kernel:
            self.manager.shutdown_kernel(now=True)
        self.manager.cleanup_resources()


def _text(message: Mapping[str, Any]) -> str:
    content = message["content"]
    if message["msg_type"] == "error":
        return f"{content['ename']}: {content['evalue']}\n" + "\n".join(content["traceback"])
    return str(content.get("text") or content.get("data", {}).get("text/plain", ""))


class Place:
    """The test's own Jupyter."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.started: list[Kernel] = []

    @property
    def spec(self) -> Path:
        """The kernelspec's folder."""
        return self.folder / "jupyter" / "kernels" / kernels.NAME

    def facts(self) -> dict[str, Any]:
        """What kernel.json says."""
        return dict(json.loads((self.spec / "kernel.json").read_bytes()))

    def crashcart(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run the command line here."""
        command = [sys.executable, "-m", "crashcart", *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=60)

    def jupyter(self, action: str, *options: str) -> str:
        """`crashcart jupyter ACTION` for our kernel alone: the others that Jupyter knows are not the test's."""
        done = self.crashcart("jupyter", action, "--kernel", kernels.NAME, *options)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def start(self, **options: Any) -> Kernel:
        """A kernel, which is ended after the test."""
        kernel = Kernel(**options)
        self.started.append(kernel)
        return kernel

    def recordings(self) -> list[Path]:
        """Oldest first."""
        return kernels.recordings(self.folder)

    def report(self, folder: Path) -> dict[str, Any]:
        """The verdict on a recording."""
        return dict(json.loads(self.crashcart("why", str(folder), "--json").stdout))


def alive(*pids: int) -> list[int]:
    """Those of the processes that still run."""
    return [pid for pid in pids if processes.is_alive(pid)]
