"""The devices that the user's own code names, from the text of scripts and notebooks; nothing of it is run.

Covers: TensorFlow's names (`tf.device("/GPU:1")`, strategies), PyTorch's (`"cuda:1"`, `.cuda(1)`), indices into lists of
devices (`gpus[1]`), and what the code writes to CUDA_VISIBLE_DEVICES. A name behind a condition that asks for devices, or
in a `try`, is left out: such code expects that they may be missing. So is a name that is only assigned (`device = "cuda"`) where
the file assigns it again, or asks somewhere what there is.
Does not cover: names that are put together at run time, and code in other files.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from crashcart.errors import CannotCheckError
from crashcart.finding import Where
from crashcart.installation import DeviceName
from crashcart.probe._read import read_regular

CODE_SUFFIXES = (".py", ".ipynb")

# A notebook keeps its pictures with its code.
_MOST_BYTES = 128 << 20
_MOST_CHARACTERS = 200
_TENSORFLOW = re.compile(r"(?:/job:localhost)?(?:/replica:0)?(?:/task:0)?/?(?:device:)?(?:xla_)?gpu:(\d{1,4})", re.I)
_TORCH = re.compile(r"cuda(?::(\d{1,4}))?")
_ASKS = re.compile(r"gpu|cuda|avail|device|strategy", re.IGNORECASE)
_LISTS = frozenset({"list_physical_devices", "list_logical_devices", "get_visible_devices"})
_QUESTIONS = _LISTS | {"is_available", "device_count", "is_gpu_available", "is_built_with_cuda", "num_gpus"}
_PLACES = frozenset({"device", "MirroredStrategy", "OneDeviceStrategy", "CentralStorageStrategy", "to"})
_NUMBERED = frozenset({"cuda", "set_device"})
_KEYWORDS = frozenset({"device", "devices", "map_location", "compute_devices"})
_VISIBLE = "CUDA_VISIBLE_DEVICES"
_MAGIC = re.compile(r"^(\s*)[%!?].*$")
_SET_BY_MAGIC = re.compile(rf"^\s*%(?:set_)?env\s+{_VISIBLE}\s*[= ]\s*['\"]?([^'\"]*)")
_LEAVES = (ast.Return, ast.Raise, ast.Continue, ast.Break)


@dataclass(frozen=True, slots=True)
class CodeRead:
    """The devices that some files name, and what of the files could not be read as Python."""

    names: tuple[DeviceName, ...]
    faults: tuple[str, ...]


@dataclass(slots=True)
class _Piece:
    """A script, or one cell of a notebook."""

    file: str
    text: str
    cell: str | None = None
    cell_id: str | None = None

    @property
    def called(self) -> str:
        return self.file if self.cell is None else f"{self.file}, cell [{self.cell}]"


@dataclass(slots=True)
class _Known:
    """What the pieces of one file know together: a notebook's cells share their names."""

    lists: set[str] = field(default_factory=set)
    hard: bool = False
    """Whether soft placement is turned off."""
    asks: bool = False
    """Whether it asks anywhere which devices there are."""
    assigned: Counter[str] = field(default_factory=Counter)
    """How often a value is given to each name."""


def read_device_names(files: Iterable[str]) -> CodeRead:
    """The devices by name; CannotCheckError where a file cannot be read at all."""
    names: list[DeviceName] = []
    faults: list[str] = []
    for file in files:
        pieces = _pieces(file)
        trees = [(piece, _parsed(piece, faults)) for piece in pieces]
        known = _Known()
        for _, tree in trees:
            if tree is not None:
                _learn(tree, known)
        for piece, tree in trees:
            names += _magics(piece)
            if tree is not None:
                names += _named(tree, piece, known, faults)
    return CodeRead(tuple(names), tuple(faults))


def _pieces(file: str) -> list[_Piece]:
    raw = _bytes(file)
    if not file.endswith(".ipynb"):
        return [_Piece(file, raw.decode("utf-8-sig", "replace"))]
    try:
        cells = json.loads(raw)["cells"]
        return [_cell(file, number, each) for number, each in enumerate(cells, 1) if each["cell_type"] == "code"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise CannotCheckError(f"{file} is no notebook of format 4: {error!r}", "Name a .py or .ipynb file.") from error


def _cell(file: str, number: int, cell: dict[str, Any]) -> _Piece:
    source = cell["source"]
    text = "".join(source) if isinstance(source, list) else str(source)
    count = cell.get("execution_count")
    return _Piece(file, text, str(count if isinstance(count, int) else number), cell.get("id"))


def _bytes(file: str) -> bytes:
    try:
        raw = read_regular(file, _MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise CannotCheckError(f"cannot read {file}: {reason}", "Name a .py or .ipynb file.") from error
    if len(raw) > _MOST_BYTES:
        raise CannotCheckError(f"{file} has more than {_MOST_BYTES >> 20} MiB: that is no code", "Name another file.")
    return raw


def _parsed(piece: _Piece, faults: list[str]) -> ast.Module | None:
    lines = piece.text.splitlines()
    if piece.cell is not None:
        if lines and lines[0].startswith("%%"):
            return None  # a cell of another language
        lines = [_MAGIC.sub(r"\1pass", line) for line in lines]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)  # an odd escape in the user's code is not ours to tell
            warnings.simplefilter("ignore", DeprecationWarning)
            return ast.parse("\n".join(lines) + "\n")
    except SyntaxError as error:
        faults.append(f"{piece.called}, line {error.lineno}: {error.msg}")
    except (ValueError, RecursionError, MemoryError) as error:
        faults.append(f"{piece.called}: {str(error) or 'nested too deeply'}")
    return None


def _learn(tree: ast.Module, known: _Known) -> None:
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and _lists_gpus(node.value):
            known.lists |= {each.id for each in node.targets if isinstance(each, ast.Name)}
        elif isinstance(node, ast.Call) and _name(node.func) == "set_soft_device_placement":
            known.hard |= any(isinstance(each, ast.Constant) and each.value is False for each in node.args)
        elif isinstance(node, ast.Name | ast.Attribute):
            called = _name(node)
            known.asks |= called in _QUESTIONS
            known.assigned[called or ""] += isinstance(node.ctx, ast.Store)


def _named(tree: ast.Module, piece: _Piece, known: _Known, faults: list[str]) -> list[DeviceName]:
    visitor = _Visitor(piece, known)
    try:
        visitor.visit(tree)
    except RecursionError:
        faults.append(f"{piece.called}: nested too deeply")
    return visitor.found


def _magics(piece: _Piece) -> Iterator[DeviceName]:
    for number, line in enumerate(piece.text.splitlines() if piece.cell is not None else (), 1):
        match = _SET_BY_MAGIC.match(line)
        for index in _visible(match[1]) if match else ():
            where = Where(piece.file, number, None, line.strip(), piece.cell, cell_id=piece.cell_id)
            yield DeviceName("GPU", index, where, "visible")


def _visible(value: str) -> list[int]:
    """`0,2` as numbers; -1 and nothing hide all devices on purpose, and names (GPU-…, MIG-…) cannot be counted."""
    entries = [each.strip() for each in value.split(",")]
    return [int(each) for each in entries if each.isdecimal() and len(each) < 5]


def _name(node: ast.expr) -> str | None:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else None


def _lists_gpus(node: ast.expr) -> bool:
    if not isinstance(node, ast.Call) or _name(node.func) not in _LISTS:
        return False
    given = [*node.args, *(each.value for each in node.keywords)]
    return any(isinstance(each, ast.Constant) and each.value == "GPU" for each in given)


def _is_torch(node: ast.expr) -> bool:
    """`"cuda:1"` or `torch.device("cuda:1")`: a value, which alone uses no device."""
    if isinstance(node, ast.Call):
        return _name(node.func) == "device" and bool(node.args) and _is_torch(node.args[0])
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and bool(_TORCH.fullmatch(node.value))


class _Visitor(ast.NodeVisitor):
    """Walks one piece, and knows whether it stands behind a condition."""

    def __init__(self, piece: _Piece, known: _Known) -> None:
        self.found: list[DeviceName] = []
        self._piece = piece
        self._known = known
        self._lines = piece.text.splitlines()
        self._function: str | None = None
        self._conditions = 0
        self._guards = 0

    def generic_visit(self, node: ast.AST) -> None:
        for _, value in ast.iter_fields(node):
            before = self._guards
            for each in value if isinstance(value, list) else [value]:
                if isinstance(each, ast.AST):
                    self.visit(each)
                    self._guards += _guards_the_rest(each)
            self._guards = before

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        outer, self._function = self._function, node.name
        self.generic_visit(node)
        self._function = outer

    def visit_If(self, node: ast.If | ast.IfExp | ast.While) -> None:
        test = ast.unparse(node.test)
        asks, main = _ASKS.search(test) is not None, "__name__" in test
        self.visit(node.test)
        self._conditions += not main
        self._guards += asks
        for value in (node.body, node.orelse):
            self.generic_visit(ast.Module(value, [])) if isinstance(value, list) else self.visit(value)
        self._guards -= asks
        self._conditions -= not main

    visit_IfExp = visit_If  # noqa: N815
    visit_While = visit_If  # noqa: N815

    def visit_Try(self, node: ast.Try) -> None:
        self._guards += bool(node.handlers)
        self.generic_visit(node)
        self._guards -= bool(node.handlers)

    def visit_Match(self, node: ast.Match) -> None:
        asks = _ASKS.search(ast.unparse(node.subject)) is not None
        self._conditions += 1
        self._guards += asks
        self.generic_visit(node)
        self._guards -= asks
        self._conditions -= 1

    def visit_match_case(self, node: ast.match_case) -> None:
        asks = node.guard is not None and _ASKS.search(ast.unparse(node.guard)) is not None
        self._guards += asks
        self.generic_visit(node)
        self._guards -= asks

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        asks = _ASKS.search(ast.unparse(node.values[0])) is not None
        self._guards += asks
        self.generic_visit(node)
        self._guards -= asks

    def visit_Call(self, node: ast.Call) -> None:
        name = _name(node.func)
        if name in _PLACES:
            for each in node.args:
                self._text(each, "assigned" if name == "device" and _is_torch(each) else None)
        elif name in _NUMBERED and len(node.args) == 1:
            self._number(node)
        elif name in ("setdefault", "putenv") and len(node.args) == 2:
            self._environment(node.args[0], node.args[1])
        for keyword in node.keywords:
            if keyword.arg in _KEYWORDS:
                self._text(keyword.value)
        self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        names = [each.id for each in node.targets if isinstance(each, ast.Name)]
        value = isinstance(node.value, ast.Constant) or _is_torch(node.value)
        again = value and any(self._known.assigned[each] > 1 for each in names)
        self._guards += again
        for target in node.targets:
            if isinstance(target, ast.Subscript):
                self._environment(target.slice, node.value)
        if any("device" in each.lower() for each in names):
            self._text(node.value, "assigned")
        self.generic_visit(node)
        self._guards -= again

    def visit_Subscript(self, node: ast.Subscript) -> None:
        listed = _lists_gpus(node.value) or (isinstance(node.value, ast.Name) and node.value.id in self._known.lists)
        index = node.slice.value if isinstance(node.slice, ast.Constant) else None
        if listed and isinstance(index, int) and isinstance(node.ctx, ast.Load):
            self._add(node, index, "listed")
        elif listed and isinstance(node.slice, ast.UnaryOp):
            self._add(node, 0, "listed")  # gpus[-1]: the last one, so there must be one
        self.generic_visit(node)

    def _text(self, node: ast.expr, use: str | None = None) -> None:
        if isinstance(node, ast.List | ast.Tuple):
            for each in node.elts:
                self._text(each, use)
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
            return
        tensorflow, torch = _TENSORFLOW.fullmatch(node.value), _TORCH.fullmatch(node.value)
        if tensorflow:
            self._add(node, int(tensorflow[1]), use or ("required" if self._known.hard else "placed"))
        elif torch:
            self._add(node, int(torch[1] or 0), use or "required")

    def _number(self, node: ast.Call) -> None:
        given = node.args[0]
        if isinstance(given, ast.Constant) and isinstance(given.value, int) and not isinstance(given.value, bool):
            self._add(node, given.value, "required")

    def _environment(self, key: ast.expr, value: ast.expr) -> None:
        if not isinstance(key, ast.Constant) or key.value != _VISIBLE or not isinstance(value, ast.Constant):
            return
        for index in _visible(str(value.value)):
            self._add(value, index, "visible")

    def _add(self, node: ast.expr, index: int, use: str) -> None:
        if self._guards or (use == "assigned" and self._known.asks):
            return
        line = self._lines[node.lineno - 1].strip()[:_MOST_CHARACTERS] if node.lineno <= len(self._lines) else None
        piece = self._piece
        where = Where(piece.file, node.lineno, self._function, line, piece.cell, cell_id=piece.cell_id)
        self.found.append(DeviceName("GPU", index, where, use, conditional=self._conditions > 0))


def _guards_the_rest(node: ast.AST) -> bool:
    """`if not gpus: return` and `assert gpus` answer for everything after them in their block."""
    if isinstance(node, ast.Assert):
        return _ASKS.search(ast.unparse(node.test)) is not None
    if not isinstance(node, ast.If) or _ASKS.search(ast.unparse(node.test)) is None:
        return False
    last = node.body[-1]
    leaves = (
        isinstance(last, ast.Expr) and isinstance(last.value, ast.Call) and _name(last.value.func) in ("exit", "quit")
    )
    return leaves or isinstance(last, _LEAVES)
