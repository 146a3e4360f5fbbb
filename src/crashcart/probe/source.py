"""Whose code a frame is, and what its line says.

Covers: telling the user's own files from the interpreter's, installed packages', generated ones and ours, also for
paths of other machines (a pasted traceback); the text of one statement, whether it is in a loop, and which lines fill a
container of a given name, in a file that is still there or in the text of a notebook's cell.
Does not cover: where the text of a cell comes from (`blackbox/cells.py`).
"""

from __future__ import annotations

import ast
import re
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_FILLERS = frozenset({"append", "appendleft", "extend", "add", "insert", "put", "update", "setdefault", "push"})
_MOST_FILE_BYTES = 10 << 20
_MOST_CHARACTERS = 200
# Finding where a statement begins means reading all before it: 10 ms for a thousand lines.
_MOST_LINES_TO_JOIN = 20_000
_MOST_KNOWN_FILES = 1024

_INSTALLED = re.compile(r"/(?:site|dist)-packages/|\.egg/")
_INTERPRETER = re.compile(r"^(?P<library>.*/lib(?:64)?/(?:python|pypy)3\.\d+)/|/python3\d+\.zip/")
_LIBRARY_NAME = re.compile(r"/(?:python|pypy)3\.\d+$")
_WINDOWS_INTERPRETER = re.compile(
    r"^[a-z]:/.*?(?:python3?\d*|anaconda\d?|miniconda\d?|miniforge\d?|envs/[^/]+)/lib/", re.IGNORECASE
)
# <frozen importlib._bootstrap>, <__array_function__ internals>, <decorator-gen-12>, <attrs generated init x.Y>
_GENERATED = ("<frozen ", "<__array_function__", "<decorator-gen", "<attrs generated", "<eval_with_key>")
# TensorFlow's rewritten copy of a function, its own libraries' included, in a file that is gone by the time of reading.
_AUTOGRAPH = "__autograph_generated_file"
_NOT_PYTHON = re.compile(r"^(\s*)([%!?].*)$")

_OWN_PACKAGE = tuple({f"{path.parent.parent}/" for path in (Path(__file__), Path(__file__).resolve())})


# A package compiled by Cython names its sources as they lay in its own tree; one's own are compiled where they lie.
_COMPILED = re.compile(r"^(?![/\\]|[A-Za-z]:).*\.p(?:yx|xd|xi)$")


class OwnCode:
    """Tells the user's own code from everybody else's.

    `prefixes` are what the interpreter names as its places. Only its libraries among them count: an installation's
    prefix also holds other things (/usr holds /usr/src/app), and a virtual environment's may be the project's folder.
    """

    def __init__(self, prefixes: Iterable[str]) -> None:
        places = (each.replace("\\", "/").rstrip("/") for each in prefixes)
        self._prefixes = (*_OWN_PACKAGE, *(place + "/" for place in places if _is_library(place)))
        self._known: dict[str, bool] = {}

    def is_own(self, file: str) -> bool:
        """Whether a frame of this file is the user's own code."""
        known = self._known.get(file)
        if known is None:
            if len(self._known) >= _MOST_KNOWN_FILES:
                self._known.clear()
            known = self._known[file] = not self._is_foreign(file.replace("\\", "/"))
        return known

    def _is_foreign(self, file: str) -> bool:
        return (
            file.startswith(_GENERATED)
            or _AUTOGRAPH in file
            or _COMPILED.search(file) is not None
            or _INSTALLED.search(file) is not None
            or file.startswith(self._prefixes)
            or _is_interpreter(file)
            or _is_launcher(file)
        )


def _is_library(place: str) -> bool:
    return _LIBRARY_NAME.search(place) is not None or _is_file(f"{place}/os.py")


def _is_interpreter(file: str) -> bool:
    """Whether the file is in the standard library of some interpreter.

    Every one has `os.py` beside it, the landmark that the interpreter itself looks for; a project may keep its own code
    in a `lib/python3.11` without one. A directory that is not on this machine is taken by its name.
    """
    match = _INTERPRETER.search(file)
    if match is None:
        return _WINDOWS_INTERPRETER.match(file) is not None
    library = match["library"]
    return library is None or not _is_directory(library) or _is_file(f"{library}/os.py")


def _is_launcher(file: str) -> bool:
    """Whether the file is a command that an installer made, such as bin/ipython beside bin/python3."""
    directory, _, name = file.rpartition("/")
    return directory.endswith("/bin") and "." not in name and _is_file(f"{directory}/python3")


def _is_directory(path: str) -> bool:
    mode = _mode(path)
    return mode is not None and stat.S_ISDIR(mode)


def _is_file(path: str) -> bool:
    mode = _mode(path)
    return mode is not None and stat.S_ISREG(mode)


def _mode(path: str) -> int | None:
    try:
        return Path(path).stat().st_mode
    except (OSError, ValueError):
        return None


def changed_unix_s(file: str) -> float | None:
    """When the file was last written; None where it is not to be had."""
    try:
        return Path(file).stat().st_mtime
    except (OSError, ValueError):
        return None


def source_line(file: str, line: int) -> str | None:
    """The statement at a line (counted from 1), on one line and stripped; None where the text is not to be had.

    A statement over several lines is joined, without its comments, and cut at 200 characters.
    """
    return statement_at(lines_of(file) or [], line)


def statement_at(lines: list[str], line: int) -> str | None:
    """The same for a text that is not in a file."""
    if not 1 <= line <= len(lines):
        return None
    text = _statement(lines, line) or lines[line - 1].strip()
    if len(text) > _MOST_CHARACTERS:
        return text[: _MOST_CHARACTERS - 1] + "…"
    return text or None


def in_loop(file: str, line: int) -> bool | None:
    """Whether a line is in a `for` or `while` of its own function; None where the source is not to be had."""
    return loop_at(lines_of(file) or [], line)


def loop_at(lines: list[str], line: int) -> bool | None:
    """The same for a text that is not in a file."""
    if not 1 <= line <= len(lines):
        return None
    try:
        tree = ast.parse("\n".join(lines))
    except (SyntaxError, ValueError, RecursionError):
        return None
    nodes = [node for node in ast.walk(tree) if isinstance(node, (*_LOOPS, *_FUNCTIONS))]
    covering = [node for node in nodes if node.lineno <= line <= (node.end_lineno or node.lineno)]
    innermost = max(covering, key=lambda node: (node.lineno, -(node.end_lineno or 0)), default=None)
    return isinstance(innermost, _LOOPS) and line <= (innermost.body[-1].end_lineno or line)


def filling_lines(file: str, names: Iterable[str]) -> dict[str, list[tuple[int, str]]]:
    """For each name the lines, with their functions, that put something into the container: `name.append(…)`,
    `name[…] = …`, `name += …`.

    A name may be dotted (`trainer.history`); then its last part counts, since methods call the object `self`.
    """
    return fillings(lines_of(file) or [], names)


def fillings(lines: list[str], names: Iterable[str]) -> dict[str, list[tuple[int, str]]]:
    """The same for a text that is not in a file."""
    try:
        tree = ast.parse("\n".join(lines))
    except (SyntaxError, ValueError, RecursionError):
        return {}
    statements = [node for node in ast.walk(tree) if isinstance(node, (ast.Expr, ast.Assign, ast.AugAssign))]
    found = {name: sorted({node.lineno for node in statements if _fills(node, name)}) for name in names}
    return {name: [(line, _function_at(tree, line)) for line in each] for name, each in found.items()}


def cell_lines(text: str) -> list[str]:
    """The lines of a cell as Python: lines for the shell and magics are left empty of meaning, and the count stays."""
    lines = text.replace("\r\n", "\n").split("\n")
    return [_NOT_PYTHON.sub(r"\1pass  # \2", line) for line in lines]


def _fills(node: ast.stmt, name: str) -> bool:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Attribute):
        return node.value.func.attr in _FILLERS and _is_named(node.value.func.value, name)
    if isinstance(node, ast.AugAssign):
        return isinstance(node.op, ast.Add) and _is_named(node.target, name)
    targets = node.targets if isinstance(node, ast.Assign) else ()
    return any(isinstance(each, ast.Subscript) and _is_named(each.value, name) for each in targets)


def _is_named(node: ast.expr, name: str) -> bool:
    _, dot, last = name.rpartition(".")
    return (
        isinstance(node, ast.Attribute) and node.attr == last if dot else isinstance(node, ast.Name) and node.id == name
    )


def _function_at(tree: ast.Module, line: int) -> str:
    around = [
        node
        for node in ast.walk(tree)
        if isinstance(node, _FUNCTIONS) and node.lineno <= line <= (node.end_lineno or node.lineno)
    ]
    return max(around, key=lambda node: node.lineno).name if around else "<module>"


def lines_of(file: str) -> list[str] | None:
    """The file's lines as the interpreter counts them; nothing but a regular file of bounded size is opened."""
    path = Path(file)
    try:
        about = path.stat()
        if not stat.S_ISREG(about.st_mode) or about.st_size > _MOST_FILE_BYTES:
            return None
        text = path.read_bytes().decode("utf-8", "replace")
    except (OSError, ValueError):
        return None
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _statement(lines: list[str], line: int) -> str | None:
    """The whole statement that covers the line; None where it is one line, or where the text is no Python."""
    if line > _MOST_LINES_TO_JOIN:
        return None
    for first, last, comments in _statements(lines):
        if last >= line:
            return _joined(lines, first, last, comments) if first < last and first <= line else None
    return None


def _statements(lines: list[str]) -> Iterator[tuple[int, int, dict[int, int]]]:
    """First line, last line and the columns of comments of each statement, in order, as far as they can be told.

    Tokens come one by one, so that a long file costs no memory; a tree of the whole file would cost a hundred times it.
    """
    import tokenize

    source = iter(lines)
    first: int | None = None
    comments: dict[int, int] = {}
    try:
        for token in tokenize.generate_tokens(lambda: next(source) + "\n"):
            if token.type == tokenize.COMMENT:
                comments[token.start[0]] = token.start[1]
            elif token.type == tokenize.NEWLINE and first is not None:
                yield first, token.start[0], comments
                first, comments = None, {}
            elif first is None and token.type not in (tokenize.NL, tokenize.INDENT, tokenize.DEDENT):
                first = token.start[0]
    except (tokenize.TokenError, SyntaxError):
        return


def _joined(lines: list[str], first: int, last: int, comments: dict[int, int]) -> str:
    joined = ""
    for number in range(first, last + 1):
        part = lines[number - 1][: comments.get(number)].strip().removesuffix("\\").rstrip()
        if not part:
            continue
        tight = joined.endswith(("(", "[", "{", ".")) or part.startswith((")", "]", "}", ".")) or not joined
        joined += part if tight else " " + part
        if len(joined) > _MOST_CHARACTERS:
            break
    return joined
