"""Starting the user's program with our hooks in reach and everything else as it was.

Covers: the environment additions (PYTHONPATH, LD_PRELOAD, CRASHCART_RECORDING), the spawn itself with the caller's
descriptors, process group, signal mask and dispositions, and the name by which the program is spoken of.
Does not cover: watching it (`watch.py`).
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from crashcart.errors import CrashcartError
from crashcart.record.native import library

INSIDE = Path(__file__).parent / "inside"
RECORDING_VARIABLE = "CRASHCART_RECORDING"
INSIDE_VARIABLE = "CRASHCART_INSIDE"
TETHER_VARIABLE = "CRASHCART_TETHER"
"""The pid whose death a program does not survive; the preloaded library sees to it."""
CELLS = INSIDE / "_crashcart_cells.py"


class CannotStartError(CrashcartError):
    """The command does not exist or may not be run; the exit codes are the shell's own."""

    help = "Give the command after `--`, as in `crashcart run -- python train.py`."


def hooked_environment(environment: Mapping[str, str], folder: Path) -> dict[str, str]:
    """The environment in which interpreters find our hook and the loader finds our library."""
    hooked = dict(environment)
    hooked[RECORDING_VARIABLE] = str(folder)
    path, inside = hooked.get("PYTHONPATH", ""), _inside(folder)
    # The rest stays to the letter: an empty entry means the working directory.
    if inside is not None and path.split(os.pathsep)[0] != str(inside):
        hooked["PYTHONPATH"] = f"{inside}{os.pathsep}{path}" if path else str(inside)
    native = library()
    if native is not None and " " not in str(native) and ":" not in str(native):
        loaded = hooked.get("LD_PRELOAD", "")
        if str(native) not in loaded.replace(":", " ").split():
            hooked["LD_PRELOAD"] = f"{loaded}:{native}" if loaded else str(native)
    return hooked


def _inside(folder: Path) -> Path | None:
    """The hook's folder by a name that PYTHONPATH can hold: its own, or that of a link in the recording; None where neither
    can be, and the program goes unhooked."""
    if os.pathsep not in str(INSIDE):
        return INSIDE
    link = folder / "inside"
    if os.pathsep in str(link):
        return None
    try:
        link.symlink_to(INSIDE)
    except OSError:
        return None
    return link


def spawn(argv: Sequence[str], environment: Mapping[str, str], mask: Iterable[int]) -> int:
    """Start the command and return its pid. It has our descriptors and process group, and the given signal mask."""
    try:
        return os.posix_spawnp(
            argv[0],
            list(argv),
            dict(environment),
            setsigmask=list(mask),
            setsigdef=[signal.SIGPIPE, signal.SIGXFSZ],  # Python ignores these two; the program must not inherit that
        )
    except FileNotFoundError:
        error = CannotStartError(f"no such command: {argv[0]}")
        error.exit_code = 127
    except (PermissionError, OSError) as failure:
        error = CannotStartError(f"cannot run {argv[0]}: {failure.strerror}")
        error.exit_code = 126
    raise error


def program_name(argv: Sequence[str]) -> str:
    """What people call it: the script of `python train.py`, the module of `python -m module`, else the command."""
    command = Path(argv[0]).name
    if not command.startswith(("python", "pypy")):
        return command
    takes_value = {"-W", "-X", "--check-hash-based-pycs"}
    rest = iter(argv[1:])
    for argument in rest:
        if argument in takes_value:
            next(rest, None)
        elif argument == "-m":
            return next(rest, command)
        elif argument in ("-c", "-"):
            return command
        elif not argument.startswith("-"):
            return Path(argument).name
    return command
