"""The house rules that a script can see: directions of imports, nothing heavy at import, small functions."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parent.parent / "src" / "crashcart"
CORE = {
    "evidence",
    "ground",
    "installation",
    "cell",
    "frame",
    "growth",
    "holding",
    "life",
    "sample",
    "finding",
    "rule",
    "errors",
    "units",
    "redact",
    "graph",
    "step",
    "stages",
    "sound",
    "survey",
    "trend",
}
TOOLS = {"probe", "blackbox", "report"}
ROOMS = {"data", "doctor", "fit", "guard", "leaks", "pipeline", "record", "remedy", "why"}
SHELLS = {"cli", "jupyter", "api", "__init__", "__main__"}
LEVEL = {**dict.fromkeys(CORE, 0), **dict.fromkeys(TOOLS, 1), **dict.fromkeys(ROOMS, 2), **dict.fromkeys(SHELLS, 3)}
MODULES = sorted(SOURCE.rglob("*.py"))


def part(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported(path: Path) -> set[str]:
    """The top-level parts of crashcart that a module imports."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names = [node.module] if node.module != "crashcart" else [f"crashcart.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        found |= {name.split(".")[1] for name in names if name.startswith("crashcart.")}
    return found


def test_every_part_has_a_level() -> None:
    assert {part(path) for path in MODULES} <= set(LEVEL)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_down_and_rooms_do_not_import_rooms(path: Path) -> None:
    here = part(path)
    for other in imported(path) - {here, "__version__"}:
        assert LEVEL[other] <= LEVEL[here], f"{here} imports {other}"
        assert not (here in ROOMS and other in ROOMS), f"{here} imports {other}"
        assert not (here in CORE and other not in CORE), f"{here} imports {other}"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_modules_say_what_they_are_and_functions_are_small(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    assert ast.get_docstring(tree), "no docstring"
    assert text.count("\n") <= 400
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            body = node.body[1:] if ast.get_docstring(node) else node.body
            lines = (node.end_lineno or 0) - (body[0].lineno if body else node.lineno) + 1
            assert lines <= 50, f"{node.name} has {lines} lines"


def test_only_shells_print_or_exit() -> None:
    for path in MODULES:
        if part(path) in SHELLS or path.name == "text.py":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in ("print", "exit", "quit"), f"{path.name}:{node.lineno}"


def loaded_after(code: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys; print(*sys.modules)"], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


HEAVY = {"tensorflow", "keras", "numpy", "rich", "jinja2", "pynvml"}


def test_import_crashcart_loads_nothing_heavy() -> None:
    loaded = loaded_after("import crashcart")
    assert not loaded & HEAVY
    assert {name for name in loaded if name.startswith("crashcart.")} == set()


def test_the_watcher_loads_no_rule_and_no_formatter() -> None:
    loaded = loaded_after("import crashcart.cli.main, crashcart.cli.run, crashcart.record.session")
    assert not loaded & HEAVY
    assert not {name for name in loaded if name.startswith(("crashcart.why", "crashcart.report"))}


def test_a_room_waits_for_the_sections_of_no_other_room() -> None:
    rooms_own = {f"crashcart.{name}" for name in ("growth", "installation", "life", "stages", "step")}
    loaded = loaded_after(
        "import crashcart.cli.data_run, crashcart.report.json; from crashcart.data import rules; rules()"
    )
    assert not loaded & (HEAVY | rooms_own | {"shutil", "tempfile", "secrets"})
    asked = loaded_after("from crashcart.evidence import Ending, Growth, Installation, PipelineMemory, StepPeak")
    assert rooms_own <= asked


def test_the_hook_needs_the_standard_library_alone() -> None:
    for path in SOURCE.glob("*/inside/*.py"):
        assert imported(path) == set(), path.name
    assert imported(SOURCE / "blackbox" / "ring.py") == set()


def test_the_remedies_load_nothing_heavy_before_they_are_called() -> None:
    loaded = loaded_after(
        "import crashcart as cc; cc.remedy.accumulate, cc.remedy.remat, dir(cc.remedy), cc.remedy.chunked_matmul"
    )
    assert not loaded & HEAVY
