"""Importing a framework in a child process, to see whether it can be.

Covers: the child, bounded in time and output; how it ended and what it printed. It does a first small step as well, since
some builds import and die at the first use.
Does not cover: why it died (`why/`). Nothing is imported in our own process.
"""

from __future__ import annotations

import json
import time
from typing import Any

from crashcart.installation import ImportAttempt
from crashcart.probe._child import run_child
from crashcart.probe._read import working_directory

_TIMEOUT_S = 180.0
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
    ended = run_child([python, "-X", "faulthandler", "-c", program], _TIMEOUT_S)
    code = ended.code
    return ImportAttempt(
        module=module,
        seconds=time.monotonic() - began_s,
        exit_code=code if code is not None and code >= 0 else None,
        signal=-code if code is not None and code < 0 else None,
        output="\n".join(line for line in ended.output.splitlines() if not line.startswith(_MARK)),
        facts=_facts(ended.output),
        directory=working_directory() or "",
    )


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
