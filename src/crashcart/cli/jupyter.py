"""Have every Python kernel of Jupyter start under crashcart: recorded, guarded, its death explained in its own cell.

`enable` changes the kernelspecs that Jupyter finds here, so that JupyterLab, Notebook, nbclient, papermill and VS Code start
their kernels through crashcart; no notebook changes. `disable` puts them back to the letter. `status` shows which are
watched. A kernel whose crashcart has been uninstalled starts as before.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from crashcart.cli.run import limit_size
from crashcart.errors import CannotCheckError

if TYPE_CHECKING:
    from crashcart.jupyter import specs


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("action", choices=["enable", "disable", "status"], help="what to do")
    parser.add_argument(
        "--kernel", action="append", metavar="NAME", help="only this kernel; may be repeated (default: all of Python)"
    )
    parser.add_argument("--no-guard", action="store_true", help="only record: let kernels die of memory")
    parser.add_argument(
        "--limit", metavar="SIZE", type=limit_size, help="guard at SIZE (4G, 512M) if the machine allows more"
    )
    parser.add_argument("--json", action="store_true", help="print the status as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Change what is asked for, and show how things stand."""
    from crashcart.jupyter.specs import find_specs

    found = find_specs()
    chosen = _chosen(found, arguments.kernel)
    failures = _change(arguments, chosen) if arguments.action != "status" else []
    known = find_specs()
    if arguments.json:
        import json

        rows = [
            {"name": each.name, "watched": each.is_watched, "file": str(each.file), "options": each.options}
            for each in known
        ]
        json.dump({"schema": 1, "kernels": rows, "failures": failures}, sys.stdout, indent=2)
        print()
    else:
        for line in _lines(known):
            print(line)
    for failure in failures:
        print(f"crashcart: {failure}", file=sys.stderr)
    return 3 if failures else 0


def _chosen(found: Sequence[specs.Spec], names: Sequence[str] | None) -> list[specs.Spec]:
    unknown = sorted(set(names or ()) - {each.name for each in found})
    if unknown:
        known = ", ".join(each.name for each in found) or "none"
        raise CannotCheckError(f"Jupyter knows no kernel {', '.join(unknown)}", f"It knows: {known}.")
    foreign = [each.name for each in found if names and each.name in names and not each.is_python]
    if foreign:
        raise CannotCheckError(
            f"{', '.join(foreign)} is no kernel of Python", "Kernels of other languages are left alone."
        )
    return [each for each in found if each.is_python and (not names or each.name in names)]


def _change(arguments: argparse.Namespace, chosen: Sequence[specs.Spec]) -> list[str]:
    from crashcart.jupyter.specs import unwatch, watch

    options = ["--no-guard"] if arguments.no_guard else []
    options += [f"--limit={arguments.limit}"] if arguments.limit is not None else []
    failures = []
    for each in chosen:
        try:
            if arguments.action == "enable":
                watch(each, options)
            else:
                unwatch(each)
        except OSError as error:
            failures.append(f"{each.name} stays as it is: {error.strerror or error} ({error.filename or each.folder})")
    return failures


def _lines(known: Sequence[specs.Spec]) -> list[str]:
    from crashcart.jupyter.specs import stale

    if not known:
        return ["Jupyter knows no kernel here: pip install ipykernel"]
    width = max(len(each.name) for each in known)
    replaced = {each.name for each in stale(known)}
    lines = []
    for each in known:
        state = _state(each, each.name in replaced)
        lines.append(f"  {each.name.ljust(width)}  {state.ljust(24)}  {each.folder}")
    return lines


def _state(spec: specs.Spec, stale: bool) -> str:
    if spec.is_watched:
        return "recorded only" if "--no-guard" in spec.options else "recorded and guarded"
    if stale:
        return "replaced since: enable it again"
    return "not watched" if spec.is_python else "another language"
