"""`python -m crashcart` is the command `crashcart`."""

import os
import sys


def _leave_out_the_current_directory() -> None:
    """`-m` puts it first, and a file there (random.py) may have the name of a module that we need."""
    try:
        here = os.getcwd()  # noqa: PTH109 (pathlib is not imported yet, and may be hidden)
    except OSError:
        return
    if sys.path[:1] == [here] and not __file__.startswith(os.path.join(here, "crashcart")):  # noqa: PTH118
        del sys.path[0]


if __name__ == "__main__":
    _leave_out_the_current_directory()
    from crashcart.cli.main import entry

    entry()
