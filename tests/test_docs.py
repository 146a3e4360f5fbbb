"""What the documentation says is what the program does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.conftest import ROOT, Crashcart

PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs/tutorials").glob("*.md")),
]


def test_generated_pages_are_fresh() -> None:
    from docs.generate import HERE, pages

    wanted = pages()
    for path, text in wanted.items():
        assert path.exists(), f"{path.name} is missing: run `make docs`"
        assert path.read_text(encoding="utf-8") == text, f"{path.name} is stale: run `make docs`"
    assert set((HERE / "rules").glob("*.md")) <= set(wanted)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
        if not target.startswith(("http:", "https:")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_and_options_that_are_shown_exist(page: Path) -> None:
    from importlib import import_module

    from crashcart.cli.main import COMMANDS, command_parser

    for command, rest in re.findall(
        r"^(?: {4}|\$ | {4}\$ )crashcart ([a-z]+)([^\n|`]*)", page.read_text(encoding="utf-8"), re.MULTILINE
    ):
        assert command in COMMANDS, f"{page.name} shows crashcart {command}"
        options = command_parser(command, import_module(f"crashcart.cli.{command}")).format_help()
        for option in re.findall(r"(--[a-z]+)", rest.partition(" -- ")[0]):
            assert option in options, f"{page.name} shows crashcart {command} {option}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_make_targets_that_are_shown_exist(page: Path) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"`?make ([a-z-]+)`?$", page.read_text(encoding="utf-8"), re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_python_snippets_run(crashcart: Crashcart) -> None:
    """Every ```python block that imports crashcart runs as it stands, after a death was recorded."""
    import subprocess
    import sys

    crashcart.run("raise ValueError('x')")
    ran = 0
    for page in PAGES:
        for snippet in re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
            if "import crashcart" in snippet:
                done = subprocess.run(
                    [sys.executable, "-c", snippet], env=crashcart.environment, capture_output=True, text=True, timeout=60,
                    cwd=crashcart.scratch,
                )  # fmt: skip
                assert done.returncode == 0, f"{page.name}: {snippet}\n{done.stderr}"
                ran += 1
    assert ran > 0
