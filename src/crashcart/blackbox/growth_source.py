"""The lines of a source that fill a named container, and the functions that lines are in.

Covers: `history.append(…)`, `history["loss"].append(…)`, `cache[key] = …`, `total += …`, `heappush(queue, …)`, and names that are
bound anew to more of themselves (`frame = concat([frame, …])`), for names as the watch over growth writes them.
Does not cover: what fills a container under another name (an argument, an alias).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import lru_cache

from crashcart.probe.source import lines_of

_FILLERS = frozenset({
    "append", "extend", "add", "insert", "update", "setdefault", "appendleft", "extendleft", "put", "put_nowait", "push",
    "write", "merge", "store", "record",
})  # fmt: skip
_PUSHERS = frozenset({"heappush", "insort", "insort_left", "insort_right"})
_JOINERS = frozenset({
    "concat", "concatenate", "append", "vstack", "hstack", "stack", "column_stack", "merge", "join", "cat", "insert", "union",
})  # fmt: skip
_THROUGH = frozenset({"setdefault", "get", "pop"})
_PREFIX = re.compile(r"^(?:closure|default) of [^:]+: ")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@lru_cache(maxsize=64)
def parsed(file: str) -> ast.Module | None:
    """The file's tree; None where it is not to be had."""
    return parse("\n".join(lines_of(file) or []))


def parse(text: str) -> ast.Module | None:
    """A text's tree; None where it is no Python, or empty."""
    try:
        return ast.parse(text) if text else None
    except (SyntaxError, ValueError, RecursionError):
        return None


def last_part(name: str) -> tuple[str, bool]:
    """What the filling statement writes of a name, and whether it is an attribute: `trainer.losses[3]` is `.losses`."""
    plain = _PREFIX.sub("", name)
    plain = re.sub(r"\[[^\]]*\]", "", plain)
    owner, _, last = plain.rpartition(".")
    return last, bool(owner)


def filling_lines(tree: ast.Module, name: str) -> list[int]:
    """The lines that put something into what the name stands for."""
    last, attribute = last_part(name)
    found = {node.lineno for node in ast.walk(tree) if isinstance(node, ast.stmt) and _fills(node, last, attribute)}
    return sorted(found)


def defined_at(tree: ast.Module, line: int) -> int:
    """The line of the `def` whose first decorator a line has; the line itself where it has none."""
    for node in ast.walk(tree):
        if isinstance(node, _FUNCTIONS) and node.decorator_list and node.decorator_list[0].lineno == line:
            return node.lineno
    return line


def function_at(tree: ast.Module, line: int) -> str:
    """The function that a line is in."""
    around = [
        node
        for node in ast.walk(tree)
        if isinstance(node, _FUNCTIONS) and node.lineno <= line <= (node.end_lineno or node.lineno)
    ]
    return max(around, key=lambda node: node.lineno).name if around else "<module>"


def _fills(node: ast.stmt, last: str, attribute: bool) -> bool:
    if isinstance(node, ast.Expr):
        value = node.value.value if isinstance(node.value, ast.Await) else node.value
        return isinstance(value, ast.Call) and _call_fills(value, last, attribute)
    if isinstance(node, ast.AugAssign):
        return isinstance(node.op, (ast.Add, ast.BitOr)) and _names(node.target, last, attribute)
    if not isinstance(node, ast.Assign):
        return False
    for target in node.targets:
        if isinstance(target, ast.Subscript) and _names(target.value, last, attribute):
            return True
        if _is_name(target, last, attribute) and _grows_from(node.value, last, attribute):
            return True
    return isinstance(node.value, ast.Call) and _call_fills(node.value, last, attribute)


def _call_fills(call: ast.Call, last: str, attribute: bool) -> bool:
    function = call.func
    if isinstance(function, ast.Attribute) and function.attr in _FILLERS and _names(function.value, last, attribute):
        return True
    called = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    return called in _PUSHERS and bool(call.args) and _names(call.args[0], last, attribute)


def _names(node: ast.expr, last: str, attribute: bool) -> bool:
    """Whether an expression is the name, or a member of it (`history["loss"]`, `cache.setdefault(key, [])`)."""
    while True:
        if _is_name(node, last, attribute):
            return True
        if isinstance(node, ast.Subscript):
            node = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _THROUGH:
            node = node.func.value
        else:
            return False


def _is_name(node: ast.expr, last: str, attribute: bool) -> bool:
    if attribute:
        return isinstance(node, ast.Attribute) and node.attr == last
    return isinstance(node, ast.Name) and node.id == last


def _grows_from(value: ast.expr, last: str, attribute: bool) -> bool:
    """Whether a name's new value is made of its old one and more: `a + b`, `concat([a, b])`; not `a[-100:]`."""
    if isinstance(value, ast.BinOp):
        return isinstance(value.op, (ast.Add, ast.BitOr)) and any(
            _is_name(each, last, attribute) for each in _leaves(value)
        )
    if isinstance(value, (ast.List, ast.Tuple, ast.Dict)):
        return any(_is_name(each, last, attribute) for each in _leaves(value))
    if not isinstance(value, ast.Call):
        return False
    called = value.func.attr if isinstance(value.func, ast.Attribute) else getattr(value.func, "id", "")
    leaves = (leaf for each in value.args for leaf in _leaves(each))
    return called in _JOINERS and any(_is_name(leaf, last, attribute) for leaf in leaves)


def _leaves(node: ast.expr) -> Iterator[ast.expr]:
    """The expressions that a sum or a display is made of."""
    if isinstance(node, ast.BinOp):
        yield from (*_leaves(node.left), *_leaves(node.right))
    elif isinstance(node, (ast.List, ast.Tuple)):
        yield from node.elts
        yield from (each.value for each in node.elts if isinstance(each, ast.Starred))
    elif isinstance(node, ast.Dict):
        yield from node.values
    else:
        yield node
