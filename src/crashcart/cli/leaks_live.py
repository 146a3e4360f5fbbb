"""`cc.leaks`, `cc.LeakCallback` and the magics: growth watched in the running process.

Covers: what they take and give back. Does not cover: the looks (`leaks/live.py`) and the judging (`leaks/`).
"""

from __future__ import annotations

import linecache
import sys
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from types import TracebackType
from typing import TYPE_CHECKING, Any

from crashcart.api import Explained, framed
from crashcart.cli.leaks_report import examined_live
from crashcart.errors import CannotCheckError
from crashcart.evidence import Frame
from crashcart.growth import Growth

if TYPE_CHECKING:
    from crashcart.leaks.live import Watching


@dataclass(frozen=True, slots=True)
class Watched(Explained):
    """What was found of a program's growth; shows itself as text in a terminal, and with the plot in a notebook."""

    @property
    def leaks(self) -> bool | None:
        """Whether it leaks, or will (the exit code 1 of the command); None where that could not be checked."""
        from crashcart.report.leaks_words import leaking

        if leaking(self.report) is not None:
            return True
        return None if self.report.figures.get("not_checked") else False

    @property
    def holder(self) -> str | None:
        """The name that holds what grows, where one is known."""
        return self.verdict.holder if self.verdict is not None else None

    @property
    def bytes_per_step(self) -> int | None:
        """By how much memory grows with each step."""
        found: int | None = self.report.figures.get("bytes_per_step")
        return found

    @property
    def growth(self) -> Growth | None:
        """All that was measured; None where it could not be judged."""
        return self.evidence.growth

    def __str__(self) -> str:
        from crashcart.report.leaks import render_leaks

        return render_leaks(self.report, self.evidence, width=100, colour=False)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return framed(self.to_html(), "48em")


class Leaks:
    """`with cc.leaks() as found:` watches what runs inside; afterwards `found.result` is what was found, and is printed."""

    def __init__(self, precise: bool = False, quiet: bool = False, limit_bytes: int | None = None) -> None:
        self.precise = precise
        self.quiet = quiet
        self.limit_bytes = limit_bytes
        self.result: Watched | None = None
        self._watching: Watching | None = None
        self._failed: Exception | None = None

    def __enter__(self) -> Leaks:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Watch from here on."""
        from crashcart.leaks.live import Watching

        self._end()  # one that training left behind when it failed
        self._failed = None
        try:
            self._watching = Watching(self.precise)
            self._watching.start()
        except Exception as error:  # ours, not the program's
            self._failed = error
            self._end()

    def stop(self) -> Watched:
        """Watch no more; what was found."""
        growth = self._end()
        try:
            known = _in_cells(growth) if growth is not None else None
            self.result = Watched(*examined_live(known, self._absent(), self.limit_bytes))
        except Exception as error:
            self._failed = error
            self.result = Watched(*examined_live(None, self._absent()))
        if not self.quiet:
            self.show()
        return self.result

    def show(self) -> None:
        """Print what was found."""
        if self.result is not None:
            with suppress(Exception):
                _show(self.result)

    def _end(self) -> Growth | None:
        watching, self._watching = self._watching, None
        try:
            return watching.stop() if watching is not None else None
        except Exception as error:
            self._failed = error
            return None

    def _absent(self) -> str | None:
        """Why there is nothing to judge, where it is our own failure."""
        return None if self._failed is None else f"the watch failed: {type(self._failed).__name__}: {self._failed}"

    def step(self) -> None:
        """The end of a step."""
        if self._watching is not None:
            self._watching.mark()

    def __str__(self) -> str:
        return "watching for leaks" if self.result is None else str(self.result)

    __repr__ = __str__

    def _repr_html_(self) -> str | None:
        return None if self.result is None else self.result._repr_html_()


def leaks(precise: bool = False, quiet: bool = False, limit_bytes: int | None = None) -> Leaks:
    """Watch what runs in a `with` block for leaks; the answer is printed at its end, and is `.result` of what it gives.

    Steps are found as by the command, or marked with `cc.step()`. `precise` follows every allocation, which is slower; `quiet`
    prints nothing; `limit_bytes` is the memory that it may take, for the time that is left.
    """
    return Leaks(precise, quiet, limit_bytes)


def LeakCallback(precise: bool = False, quiet: bool = False) -> Any:  # noqa: N802 (a class to those who use it)
    """A Keras callback that marks each batch as a step, and prints what was found when training ends.

    `.result` of what is returned is what was found. Keras is imported here, and nowhere before.
    """

    class LeakCallback(_callback_base()):  # type: ignore[misc]
        """Watches from the first batch to the last."""

        def __init__(self) -> None:
            super().__init__()
            self.watch = Leaks(precise, quiet)

        @property
        def result(self) -> Watched | None:
            """What was found, once training has ended."""
            return self.watch.result

        def on_train_begin(self, logs: object = None) -> None:
            """Watch from here on."""
            self.watch.start()

        def on_train_batch_end(self, batch: int, logs: object = None) -> None:
            """A step."""
            self.watch.step()

        def on_train_end(self, logs: object = None) -> None:
            """Say what was found."""
            self.watch.stop()

    return LeakCallback()


def _callback_base() -> Any:
    """The class that callbacks of the Keras in use derive from."""
    if "tensorflow" in sys.modules:
        return sys.modules["tensorflow"].keras.callbacks.Callback
    from importlib import import_module

    try:
        return import_module("keras").callbacks.Callback
    except ImportError as error:
        raise CannotCheckError(
            f"Keras cannot be imported: {error}", "Use `with cc.leaks():` and `cc.step()`."
        ) from None


def between_cells(on: bool, precise: bool = False, limit_bytes: int | None = None) -> Watched | None:
    """`%leaks on`, and what came of it at `%leaks off`; either may give the limit."""
    global _between
    if on:
        if _between is None:
            _between = Leaks(precise, quiet=True, limit_bytes=limit_bytes)
            _between.start()
            print("crashcart: watching for leaks; `%leaks off` says what was found")
        return None
    watch, _between = _between, None
    if watch is not None and limit_bytes is not None:
        watch.limit_bytes = limit_bytes
    return watch.stop() if watch is not None else Watched(*examined_live(None, "`%leaks on` was not called before"))


_between: Leaks | None = None


def _notebook() -> Any:
    """IPython's shell, where one runs."""
    package = sys.modules.get("IPython")
    return package.get_ipython() if package is not None else None


def _in_cells(growth: Growth) -> Growth:
    """The growth with lines of cells named by their cells, and with their text, where a notebook runs."""
    shell = _notebook()
    if shell is None:
        return growth
    numbers = getattr(getattr(shell, "compile", None), "_filename_map", {})

    def named(frame: Frame) -> Frame:
        text = linecache.getline(frame.file, frame.line).strip()
        number = numbers.get(frame.file)
        return replace(frame, source=frame.source or text or None, cell=frame.cell if number is None else str(number))

    kept = tuple(
        replace(
            each,
            scope=each.scope.replace("<stdin>", "the notebook"),
            filled_at=each.filled_at or _filling(each.name, numbers),
        )
        for each in growth.kept
    )
    return replace(growth, kept=kept).with_frames(named)


def _filling(name: str, cells: Iterable[str]) -> Frame | None:
    """The one line of the notebook's cells that puts something into what the name stands for."""
    from crashcart.blackbox.growth_source import filling_lines, parse

    found = []
    for file in cells:
        tree = parse("".join(linecache.getlines(file)))
        found += [(file, line) for line in filling_lines(tree, name)] if tree is not None else []
    return Frame(*found[0], "<module>", own=True) if len(found) == 1 else None


def _show(watched: Watched) -> None:
    """As the notebook shows it, where one runs; else as text on stderr."""
    from crashcart.report.leaks import print_leaks

    if _notebook() is not None:
        from IPython.display import display

        display(watched)  # type: ignore[no-untyped-call]
    elif sys.stderr is not None:
        with suppress(OSError, ValueError):
            print_leaks(watched.report, watched.evidence, sys.stderr)
