"""The commands as magics: `%why`, `%guard`, `%memory`, and `%crashcart COMMAND …` for all of them; `%%leaks` for a
cell.

Covers: one magic for each command, with the command's own options; a name that IPython has already (`%run`) is left to
it. Does not cover: what the commands do. A command whose module has a function `here` does that in a notebook: it
returns what is shown in place of printing it; a function `cell` is given a whole cell.
"""

from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType
from typing import Any

from crashcart.cli.main import COMMANDS, command_parser, overview
from crashcart.errors import CrashcartError

GENERAL = "crashcart"
OF_CELLS = ("leaks",)
"""Commands that a whole cell can be given to: `%%leaks`."""


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext crashcart`."""
    known = shell.magics_manager.magics["line"]
    for name in COMMANDS:
        if name not in known or _is_ours(known[name]):
            shell.register_magic_function(_magic(name), "line", name)
    for name in OF_CELLS:
        if name not in shell.magics_manager.magics["cell"] or _is_ours(shell.magics_manager.magics["cell"][name]):
            shell.register_magic_function(_cell_magic(name, shell), "cell", name)
    shell.register_magic_function(_general, "line", GENERAL)
    _record_cells(shell)


def unload_ipython_extension(shell: Any) -> None:
    """`%unload_ext crashcart`."""
    for known in shell.magics_manager.magics.values():
        for name in [name for name, function in known.items() if _is_ours(function)]:
            del known[name]


def _is_ours(function: Any) -> bool:
    return getattr(function, "__module__", "") in (__name__, "_crashcart_cells")


def _magic(name: str) -> Any:
    def magic(line: str) -> object:
        return _run(name, _words(line))

    magic.__doc__ = f"crashcart: {COMMANDS[name]}; `%{name} --help` says more."
    return magic


def _cell_magic(name: str, shell: Any) -> Any:
    def magic(line: str, cell: str) -> object:
        return _run(name, _words(line), (cell, shell))

    magic.__doc__ = f"crashcart: {COMMANDS[name]}, in this cell; `%{name} --help` says more."
    return magic


def _general(line: str) -> object:
    """Any command of crashcart: `%crashcart list`."""
    words = _words(line)
    if not words or words[0] not in COMMANDS:
        print(overview())
        return None
    return _run(words[0], words[1:])


def _words(line: str) -> list[str]:
    """As a shell would split them; a quotation mark without its partner is one like any other."""
    try:
        return shlex.split(line)
    except ValueError:
        return line.split()


def _run(name: str, words: Sequence[str], cell: tuple[str, Any] | None = None) -> object:
    """The command; what goes wrong is said, and is no exception of the user's cell."""
    module = import_module(f"crashcart.cli.{name}")
    try:
        arguments = command_parser(name, module).parse_args(words)
    except SystemExit:  # argparse has said why
        return None
    try:
        return _do(module, arguments) if cell is None else module.cell(arguments, *cell)
    except CrashcartError as error:
        print(f"crashcart: {error}\n  {error.help}")
        return None


def _do(module: ModuleType, arguments: argparse.Namespace) -> object:
    if not hasattr(module, "here") or getattr(arguments, "json", False):
        module.run(arguments)
        return None
    shown: object = module.here(arguments)
    _record_cells_of_shell()
    return shown


def _record_cells_of_shell() -> None:
    from IPython import get_ipython

    shell = get_ipython()
    if shell is not None:
        _record_cells(shell)


def _record_cells(shell: Any) -> None:
    """Where a recording has begun after the kernel's start (`%guard`), its cells belong in it, too."""
    from crashcart.blackbox.inside import load
    from crashcart.jupyter.live import recording
    from crashcart.record.spawn import CELLS

    folder = recording()
    if folder is None or list(folder.glob(f"cells-{os.getpid()}.ring")):
        return
    load(CELLS)._register(shell, str(folder))
