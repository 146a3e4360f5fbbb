"""`cc.step()` in a program that nobody watches."""

from __future__ import annotations

import subprocess
import sys


def test_a_step_that_nobody_watches_imports_nothing() -> None:
    source = (
        "import sys, time\nimport crashcart as cc\nbefore = set(sys.modules)\nbegan = time.perf_counter()\ncc.step()\n"
        "print(sorted(set(sys.modules) - before), time.perf_counter() - began < 0.05)"
    )
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, timeout=60)
    new, quick = done.stdout.rsplit(maxsplit=1)
    loaded = [each for each in eval(new) if not each.startswith("importlib")]
    assert (quick, loaded) == ("True", ["crashcart.cli", "crashcart.cli.leaks_step"])
