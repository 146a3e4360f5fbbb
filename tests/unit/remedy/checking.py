"""Runs checks that need TensorFlow in one child process, on the allocator that GPUs use, and hands their outcomes to pytest.

A module of checks has functions `check_…` without arguments. Each runs from the same random state; what it raises is its outcome.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import subprocess
import sys
import traceback
from typing import Any

from tests.conftest import ROOT

MARK = "outcome "
LIMIT_MB = 3000


def names(module: str) -> list[str]:
    """The checks of a module, without importing it."""
    return re.findall(
        r"^def (check_\w+)\(\)", (ROOT / (module.replace(".", "/") + ".py")).read_text(encoding="utf-8"), re.MULTILINE
    )


def outcomes(module: str, timeout_s: float = 1500) -> dict[str, str | None]:
    """What each check raised, as text; None where it passed."""
    environment = {
        **os.environ,
        "TF_CPU_ALLOCATOR_USE_BFC": "1",
        "TF_CPU_BFC_MEM_LIMIT_IN_MB": str(LIMIT_MB),
        "TF_ENABLE_ONEDNN_OPTS": "0",
        "TF_CPP_MIN_LOG_LEVEL": "2",
        "CUDA_VISIBLE_DEVICES": "",
    }
    done = subprocess.run(
        [sys.executable, "-m", "tests.unit.remedy.checking", module],
        env=environment,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=timeout_s,
    )
    lines = [line.removeprefix(MARK) for line in done.stdout.splitlines() if line.startswith(MARK)]
    found = {name: error for each in lines for name, error in json.loads(each).items()}
    return {each: found.get(each, f"the child ended before: {done.stdout[-3000:]}") for each in names(module)}


def _run(module: str, only: list[str]) -> None:
    import warnings

    import keras

    checks: Any = importlib.import_module(module)
    warnings.simplefilter("error")
    warnings.filterwarnings(
        "ignore", category=DeprecationWarning, module=r"(tensorflow|keras|google|ml_dtypes|numpy).*"
    )
    for name in only or names(module):
        keras.utils.clear_session()
        keras.utils.set_random_seed(7)
        try:
            getattr(checks, name)()
            outcome = None
        except BaseException:
            outcome = traceback.format_exc()
        keras.config.set_floatx("float32")
        keras.config.set_dtype_policy("float32")
        print(MARK + json.dumps({name: outcome}), flush=True)


if __name__ == "__main__":
    _run(sys.argv[1], sys.argv[2:])
