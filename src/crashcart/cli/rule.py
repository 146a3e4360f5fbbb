"""Print the manual page of a rule, such as W101: what it means, how we know, what to do. Without a code, list them."""

from __future__ import annotations

import argparse

from crashcart.cli.rooms import all_rules
from crashcart.errors import UsageError


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("code", nargs="?", metavar="CODE", help="the rule's code or name")


def run(arguments: argparse.Namespace) -> int:
    """Print the page, or the list."""
    known = all_rules()
    if arguments.code is None:
        for each in known:
            print(f"{each.code}  {each.name:<34} {each.manual.splitlines()[0]}")
        return 0
    wanted = [each for each in known if arguments.code.lower() in (each.code.lower(), each.name)]
    if not wanted:
        raise UsageError(f"there is no rule {arguments.code}", "`crashcart rule` lists them.")
    print(f"{wanted[0].code} {wanted[0].name}\n\n{wanted[0].manual}")
    return 0
