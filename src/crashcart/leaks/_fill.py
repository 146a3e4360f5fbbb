"""What a line that fills a container puts into it, and what to write there instead.

Covers: the source of one line, as far as it tells. Does not cover: anything that is not on that line.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from crashcart.evidence import Frame

_CALL = re.compile(r"([\w.\[\]'\"]+)\.(append|add|appendleft|extend|insert|put|put_nowait)\((.*)\)\s*(?:#.*)?$")
_ITEM = re.compile(r"([\w.]+)\[(.+?)\]\s*=\s*(.+?)\s*(?:#.*)?$")
_JOIN = re.compile(r"^([\w.]+)\s*(?:\+=|=\s*\1\s*\+)\s*(.+?)\s*(?:#.*)?$")
_NAME = re.compile(r"[A-Za-z_][\w.]*$")


@dataclass(frozen=True, slots=True)
class Fill:
    """A line such as `history.append(loss)`."""

    container: str
    value: str
    template: str
    """The line with `{}` in place of the value."""

    @property
    def is_name(self) -> bool:
        """Whether the value is a plain name."""
        return _NAME.match(self.value) is not None

    def changed(self, wrapped: str) -> str:
        """The line with the value wrapped: `float({})`."""
        return self.template.replace("{}", wrapped.replace("{}", self.value))


def fill_of(frame: Frame | None) -> Fill | None:
    """What the line puts where; None where it does not tell."""
    source = (frame.source or "").strip() if frame is not None else ""
    call = _CALL.search(source)
    if call is not None and _balanced(call.group(3)):
        container, method, value = call.groups()
        return Fill(container, value.strip(), f"{container}.{method}({{}})") if value.strip() else None
    item = _ITEM.match(source)
    if item is not None:
        return Fill(item.group(1), item.group(3), f"{item.group(1)}[{item.group(2)}] = {{}}")
    join = _JOIN.match(source)
    if join is not None:
        return Fill(join.group(1), join.group(2), f"{join.group(1)} += {{}}")
    return None


def joins(frame: Frame | None, name: str) -> bool:
    """Whether the line makes what the name stands for out of itself and more: `a = concat([a, b])`, `a += b`."""
    source = (frame.source or "").strip() if frame is not None else ""
    last = name.rpartition(".")[2]
    try:
        statements = ast.parse(source).body
    except (SyntaxError, ValueError):  # the call goes on in the lines that follow
        found = re.match(rf"(?:[\w.]+\.)?{re.escape(last)}\s*(\+?=)(?!=)(.*)", source)
        return found is not None and (
            found.group(1) == "+=" or re.search(rf"\b{re.escape(last)}\b", found.group(2)) is not None
        )
    return any(_joins(each, last) for each in statements)


def _joins(statement: ast.stmt, last: str) -> bool:
    if isinstance(statement, ast.AugAssign):
        return _last(statement.target) == last
    if not isinstance(statement, ast.Assign):
        return False
    read = {_last(each) for each in ast.walk(statement.value)}
    return any(_last(each) == last for each in statement.targets) and last in read


def _last(node: ast.AST) -> str | None:
    """The last word of a name: log of `self.log`."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else None


def _balanced(text: str) -> bool:
    depth = 0
    for letter in text:
        depth += (letter in "([{") - (letter in ")]}")
        if depth < 0:
            return False
    return depth == 0
