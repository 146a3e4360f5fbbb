"""What people write into cells, and how their clients speak with the kernel: the verdict finds its line and its way."""

from __future__ import annotations

import pytest
from live_kernels import Place

FAULT = "ctypes.string_at(0)"


@pytest.mark.parametrize(
    ("code", "place"),
    [
        (f"%%time\nx = 1\n{FAULT}", "cell [2], line 3"),
        (f"%%capture out\nx = 1\n{FAULT}", "cell [2], line 3"),
        (f"\n\nx = 1\n{FAULT}", "cell [2], line 4"),
        (f"x = 1\n%time {FAULT}", "cell [2], line 2"),
        (f"import asyncio\n!true\nawait asyncio.sleep(0.01)\n{FAULT}", "cell [2], line 4"),
    ],
)
def test_the_line_is_that_of_the_notebook(watched: Place, code: str, place: str) -> None:
    kernel = watched.start()
    kernel.run("import ctypes")
    told = kernel.run(code)
    assert told.startswith("KernelDied: the notebook's kernel crashed in native code"), told
    assert f", at {place} (certain)" in told


def test_an_ordinary_error_is_left_alone(watched: Place) -> None:
    kernel = watched.start()
    told = kernel.run("x = 1\nx / 0")
    assert told.startswith("ZeroDivisionError: division by zero\n") and "crashcart" not in told
    assert "SystemExit" in kernel.run("import sys; sys.exit(3)")
    assert kernel.run("print(x)") == "1\n"


def test_output_before_the_death_comes_first(watched: Place) -> None:
    told = watched.start().run(f"import ctypes, time\nprint('before', flush=True)\ntime.sleep(0.3)\n{FAULT}")
    assert told.startswith("before\nKernelDied:")


@pytest.mark.parametrize(
    "options", [{"transport": "ipc"}, {"transport_encryption": "required"}], ids=["ipc", "encrypted"]
)
def test_the_verdict_goes_the_way_that_the_client_has_chosen(watched: Place, options: dict[str, str]) -> None:
    from jupyter_client import KernelManager

    if not all(KernelManager.class_traits().get(name) for name in options):
        pytest.skip(f"this jupyter_client has no {', '.join(options)}")
    kernel = watched.start(**options)
    assert kernel.run("print(1 + 1)") == "2\n"
    assert "KernelDied: the notebook's kernel crashed" in kernel.run(f"import ctypes\n{FAULT}")


def test_the_restarted_kernel_can_say_it_again(watched: Place) -> None:
    kernel = watched.start()
    kernel.run(f"import ctypes\n{FAULT}")
    kernel.manager.restart_kernel(now=True)
    kernel.client.wait_for_ready(timeout=30)
    assert "cell [1], line 2" in kernel.run("%why")
