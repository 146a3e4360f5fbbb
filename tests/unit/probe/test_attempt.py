"""Importing a framework in a child: real children of real interpreters, with stand-ins for a framework that dies."""

from __future__ import annotations

import importlib.util
import os
import signal
import sys
import tracemalloc
from pathlib import Path

import pytest

from crashcart.probe import attempt as attempts
from crashcart.probe.attempt import attempt


@pytest.fixture
def framework(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that `import torch` finds first."""
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return tmp_path / "torch.py"


WORKS = """
__version__ = "9.9"
class cuda:
    device_count = staticmethod(lambda: 2)
class version:
    cuda = "12.4"
class ones:
    def __init__(self, *shape): pass
    def sum(self): return 4.0
"""


def test_a_framework_that_works_tells_its_version_and_devices(framework: Path) -> None:
    framework.write_text(WORKS)
    tried = attempt(sys.executable, "torch")
    assert (tried.exit_code, tried.signal, tried.output) == (0, None, "")
    assert tried.facts == {"version": "9.9", "gpus": ["cuda:0", "cuda:1"], "gpu_code": True}


def test_a_build_without_gpu_code_tells_that(framework: Path) -> None:
    framework.write_text(WORKS.replace('"12.4"', "None").replace("lambda: 2", "lambda: 0"))
    facts = attempt(sys.executable, "torch").facts
    assert facts["gpus"] == [] and facts["gpu_code"] is False


def test_an_exception_is_in_the_output(framework: Path) -> None:
    framework.write_text("raise ImportError('libcudart.so.12: cannot open shared object file')")
    tried = attempt(sys.executable, "torch")
    assert tried.exit_code == 1
    assert "ImportError: libcudart.so.12" in tried.output
    assert tried.facts == {}


def test_a_signal_is_told_and_the_stack_printed(framework: Path) -> None:
    framework.write_text("import os, signal\nos.kill(os.getpid(), signal.SIGILL)")
    tried = attempt(sys.executable, "torch")
    assert (tried.exit_code, tried.signal) == (None, signal.SIGILL)
    assert "Fatal Python error: Illegal instruction" in tried.output


def test_one_that_never_ends_is_stopped(framework: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attempts, "_TIMEOUT_S", 1.0)
    framework.write_text("import time\nprint('begun', flush=True)\ntime.sleep(600)")
    tried = attempt(sys.executable, "torch")
    assert (tried.exit_code, tried.signal) == (None, None)
    assert "begun" in tried.output


def test_a_long_output_keeps_its_end(framework: Path) -> None:
    framework.write_text("print('x' * 3_000_000)\nraise ImportError('the end')")
    tried = attempt(sys.executable, "torch")
    assert len(tried.output) <= 1 << 20
    assert tried.output.rstrip().endswith("ImportError: the end")


def test_tensorflow_itself() -> None:
    if importlib.util.find_spec("tensorflow") is None:
        pytest.skip("TensorFlow is not installed")
    tried = attempt(sys.executable, "tensorflow")
    assert tried.exit_code == 0, tried.output
    assert tried.facts["version"] and tried.facts["gpus"] == []


def test_one_that_prints_without_end_does_not_fill_our_memory(framework: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attempts, "_TIMEOUT_S", 2.0)
    framework.write_text("import os\nwhile True:\n    os.write(1, b'endless ' * 8192)")
    tracemalloc.start()
    try:
        tried = attempt(sys.executable, "torch")
        _, most_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (tried.exit_code, tried.signal) == (None, None)
    assert "endless endless" in tried.output
    assert most_bytes < 16 << 20


LEAVES_A_DAEMON = """
import pathlib, subprocess, sys, time
command = [sys.executable, "-c", "import time; time.sleep(60)"]
daemon = subprocess.Popen(command, start_new_session=True)
pathlib.Path(__file__).with_name("pid").write_text(str(daemon.pid))
"""


@pytest.mark.parametrize(("rest", "code"), [(WORKS, 0), ("time.sleep(600)", None)])
def test_a_daemon_that_keeps_the_pipe_open_is_not_waited_for(
    framework: Path, monkeypatch: pytest.MonkeyPatch, rest: str, code: int | None
) -> None:
    monkeypatch.setattr(attempts, "_TIMEOUT_S", 20.0 if code == 0 else 4.0)
    framework.write_text(LEAVES_A_DAEMON + rest)
    tried = attempt(sys.executable, "torch")
    os.kill(int(framework.with_name("pid").read_text()), signal.SIGKILL)  # fails where it has ended before
    assert (tried.exit_code, tried.signal) == (code, None)
