"""Importing a framework in a child process, to see whether it can be.

Covers: the child, bounded in time and output; how it ended and what it printed. It does a first small step as well, since
some builds import and die at the first use.
Does not cover: why it died (`why/`). Nothing is imported in our own process.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

from crashcart.installation import ImportAttempt

_TIMEOUT_S = 180.0
_MOST_OUTPUT_BYTES = 1 << 20
_MARK = "crashcart-attempt "
# What is done with each framework after the import: a first operation, and for TensorFlow a layer, which loads Keras.
_STEPS = {
    "tensorflow": "float(module.reduce_sum(module.keras.layers.Dense(2)(module.ones((2, 2)))));"
    " facts['gpus'] = [each.name for each in module.config.list_physical_devices('GPU')];"
    " facts['gpu_code'] = module.test.is_built_with_gpu_support()",
    "torch": "float(module.ones(2, 2).sum()); facts['gpus'] = [f'cuda:{index}' for index in range(module.cuda.device_count())];"
    " facts['gpu_code'] = bool(module.version.cuda or getattr(module.version, 'hip', None))",
    "jax": "float(module.numpy.ones(2).sum());"
    " facts['gpus'] = [str(each) for each in module.devices() if each.platform != 'cpu']",
}
FRAMEWORKS = tuple(_STEPS)


def attempt(python: str, module: str) -> ImportAttempt:
    """Import the module in a child of that interpreter and take a first step."""
    program = (
        f"import importlib, json; module = importlib.import_module({module!r}); facts = {{}}; {_STEPS[module]};"
        f" facts['version'] = str(module.__version__); print({_MARK!r} + json.dumps(facts), flush=True)"
    )
    began_s = time.monotonic()
    child = subprocess.Popen(
        [python, "-X", "faulthandler", "-c", program],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    code, raw = _finished(child)
    text = raw[-_MOST_OUTPUT_BYTES:].decode("utf-8", "replace")
    return ImportAttempt(
        module=module,
        seconds=time.monotonic() - began_s,
        exit_code=code if code is not None and code >= 0 else None,
        signal=-code if code is not None and code < 0 else None,
        output="\n".join(line for line in text.splitlines() if not line.startswith(_MARK)),
        facts=_facts(text),
        directory=str(Path.cwd()),
    )


def _finished(child: subprocess.Popen[bytes]) -> tuple[int | None, bytes]:
    """The child's status and output; status None where it was ended for taking too long."""
    try:
        raw, _ = child.communicate(timeout=_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)  # its session is its own: nothing of ours is in it
        raw, _ = child.communicate()
        return None, raw
    return child.returncode, raw


def _facts(text: str) -> dict[str, Any]:
    """What the child said of itself at its end; empty where it did not get there."""
    for line in reversed(text.splitlines()):
        if line.startswith(_MARK):
            try:
                found = json.loads(line.removeprefix(_MARK))
            except ValueError:
                return {}
            return found if isinstance(found, dict) else {}
    return {}
