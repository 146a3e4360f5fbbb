"""Generates docs/rules/*.md from the rules' own manual pages and docs/commands.md from the commands' own help.

    python -m docs.generate [--check]

With --check nothing is written; the exit code is 1 where a page differs from what would be generated.
"""

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from pathlib import Path

from crashcart.cli.main import COMMANDS, command_parser, overview
from crashcart.cli.rooms import all_rules
from crashcart.rule import Rule

HERE = Path(__file__).resolve().parent


def pages() -> dict[Path, str]:
    """Every generated page with its text."""
    found = {HERE / "commands.md": commands_page()}
    known = all_rules()
    for rule in known:
        found[HERE / "rules" / f"{rule.code}.md"] = rule_page(rule)
    found[HERE / "rules" / "README.md"] = rules_index(known)
    return found


def rule_page(rule: Rule) -> str:
    needs = ", ".join(f"`{name}`" for name in rule.needs)
    wants = ", ".join(f"`{name}`" for name in rule.wants) or "nothing more"
    return (
        f"# {rule.code} {rule.name}\n\n{rule.manual}\n\n## Evidence\n\nNeeds {needs}; uses {wants} where it is there.\n"
    )


def rules_index(known: tuple[Rule, ...]) -> str:
    rows = [f"| [{rule.code}]({rule.code}.md) | {rule.name} | {rule.manual.splitlines()[0]} |" for rule in known]
    head = (
        "# Rules\n\nGenerated from the rules' own manual pages by `make docs`; `crashcart rule CODE` prints the same.\n"
    )
    return head + "\n| code | pattern | what it says |\n| --- | --- | --- |\n" + "\n".join(rows) + "\n"


def commands_page() -> str:
    parts = ["# Commands\n\nGenerated from the commands' own help by `make docs`.\n", f"```text\n{overview()}\n```\n"]
    for name in COMMANDS:
        help_text = command_parser(name, import_module(f"crashcart.cli.{name}")).format_help()
        parts.append(f"## crashcart {name}\n\n```text\n{help_text.rstrip()}\n```\n")
    return "\n".join(parts)


def main() -> int:
    parser = argparse.ArgumentParser("docs.generate")
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    wanted = pages()
    stale = [path for path, text in wanted.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    stale += [path for path in (HERE / "rules").glob("*.md") if path not in wanted]
    for path in stale:
        print(f"{'stale' if check else 'written'}: {path.relative_to(HERE.parent)}")
        if not check:
            path.write_text(wanted[path], encoding="utf-8") if path in wanted else path.unlink()
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
