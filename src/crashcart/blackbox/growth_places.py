"""The lines that a watch over growth has named, as frames with their sources.

Covers: files relative to the program's folder, cells of a notebook, the line that fills a container.
Does not cover: which line matters (the rules).
"""

from __future__ import annotations

import ast
import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from crashcart.blackbox.cells import CellFrames, read_cells
from crashcart.blackbox.growth_source import defined_at, filling_lines, function_at, parse, parsed
from crashcart.blackbox.ring import ForeignFileError, read_payloads
from crashcart.frame import Frame
from crashcart.growth import Site
from crashcart.probe.source import cell_lines, in_loop, source_line


@dataclass
class Places:
    """Gives lines their sources."""

    cwd: Path = field(default_factory=Path.cwd)
    cells: CellFrames = field(default_factory=lambda: CellFrames(()))
    _known: dict[tuple[str, int, str], Frame] = field(default_factory=dict)

    @classmethod
    def of_recording(cls, folder: Path) -> Places:
        """For the files and cells of a recording."""
        try:
            program = json.loads((folder / "run.json").read_bytes())["program"]
            cwd, started_s = Path(program["cwd"]), float(program["started_unix_s"])
        except (OSError, ValueError, KeyError, TypeError):
            return cls()
        records: list[dict[str, Any]] = []
        for path in sorted(folder.glob("cells-*.ring")):
            try:
                records += [json.loads(each) for each in read_payloads(path.read_bytes())]
            except (OSError, ValueError, ForeignFileError):
                continue
        return cls(cwd, CellFrames(tuple(read_cells(records, started_s))))

    def at(self, place: list[Any]) -> Frame | None:
        """A place that was noted as file, line and function; of a function with decorators, its own line."""
        if len(place) != 3:
            return None
        tree = self._tree(place[0])
        line = defined_at(tree, place[1]) if tree is not None else place[1]
        return self.frame(place[0], line, place[2])

    def frame(self, file: str, line: int, function: str | None = None) -> Frame:
        """The user's own line, with its source; its function is looked up where it was not noted."""
        key = (file, line, function or "")
        if key not in self._known:
            self._known[key] = self._frame(file, line, function)
        return self._known[key]

    def _frame(self, file: str, line: int, function: str | None) -> Frame:
        tree = self._tree(file)
        name = function or (function_at(tree, line) if tree is not None else "<module>")
        frame = Frame(file, line, name, own=True)
        in_cell = self.cells.find(frame)
        if in_cell is not None and in_cell.own:
            return in_cell
        path = str(self._path(file))
        return replace(frame, source=source_line(path, line), looped=in_loop(path, line))

    def _path(self, file: str) -> Path:
        return self.cwd / file

    def _tree(self, file: str) -> ast.Module | None:
        cell = next((each for each in self.cells.cells if each.file == file), None)
        return parse("\n".join(cell_lines(cell.source))) if cell is not None else parsed(str(self._path(file)))

    def filling(self, name: str, file: str, line: int, sites: tuple[Site, ...]) -> Frame | None:
        """The line that fills what a name stands for. Where several do: the one at which something was seen to survive,
        else the only one in a loop or function; None where that does not tell either."""
        if line:  # a functools cache is filled by the function that it is around
            return self.frame(file, line)
        files = [file, *(each.file for each in self.cells.cells)] if self._is_cell(file) else [file]
        found = [(each, at) for each in files for at in self._lines(each, name)]
        for choice in (found, [each for each in found if self._survived(each, sites)], self._repeated(found)):
            if len(choice) == 1:
                return self.frame(*choice[0])
        survived = [each for site in sites for each in found if (site.frame.file, site.frame.line) == each]
        return self.frame(*survived[0]) if survived else None

    def _is_cell(self, file: str) -> bool:
        return file.startswith("<") or any(each.file == file for each in self.cells.cells)

    def _lines(self, file: str, name: str) -> list[int]:
        tree = self._tree(file)
        return filling_lines(tree, name) if tree is not None else []

    def _survived(self, place: tuple[str, int], sites: tuple[Site, ...]) -> bool:
        return any((site.frame.file, site.frame.line) == place for site in sites)

    def _repeated(self, found: list[tuple[str, int]]) -> list[tuple[str, int]]:
        frames = [(each, self.frame(*each)) for each in found]
        return [each for each, frame in frames if frame.looped or frame.function != "<module>"]
