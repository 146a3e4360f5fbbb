"""The commands as functions, for Python and notebooks.

Covers: `cc.run`, `cc.guard`, `cc.why`, `cc.doctor`, `cc.recordings`, `cc.note`.
Does not cover: the rooms themselves; this is a shell like the command line, and prints nothing by itself.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crashcart.evidence import Evidence
from crashcart.finding import Finding, Report
from crashcart.guard.error import MemoryGuardError

if TYPE_CHECKING:
    from crashcart.guard.status import Protection
    from crashcart.record.attend import Attendant

__all__ = ["Explained", "MemoryGuardError", "doctor", "guard", "note", "recordings", "run", "why"]


@dataclass(frozen=True, slots=True)
class Explained:
    """A report with its evidence; shows itself as text in a terminal and as a page in a notebook."""

    report: Report
    evidence: Evidence
    whole: bool = False
    """Whether every finding is shown in full; otherwise the first one is, and the others in a line each."""

    @property
    def verdict(self) -> Finding | None:
        """The finding that explains best."""
        return self.report.verdict

    def __str__(self) -> str:
        from crashcart.report.text import render_text

        return render_text(self.report, self.evidence, width=100, colour=False, whole=self.whole)

    __repr__ = __str__

    def to_html(self) -> str:
        """The whole page."""
        from crashcart.cli.rooms import rule_names
        from crashcart.report.html import render_html

        return render_html(self.report, self.evidence, rule_names())

    def _repr_html_(self) -> str:
        from html import escape

        page = escape(self.to_html(), quote=True)
        return f'<iframe srcdoc="{page}" sandbox style="width:100%;height:32em;border:0" title="crashcart report"></iframe>'

    def to_document(self) -> dict[str, Any]:
        """The JSON document, as plain values."""
        from crashcart.report.json import to_document

        return to_document(self.report, self.evidence)


def run(
    argv: Sequence[str],
    guard: bool = True,
    limit: str | int | None = None,
    airbag: str | Path | None = None,
    stop: bool = False,
) -> Explained:
    """Run a program as `crashcart run` does, guarded, and explain how it ended. CannotCheckError where it could not be
    recorded.

    The options are those of the command: `guard=False` only records, `limit` (`"4G"`, or bytes) sets a limit below the
    machine's own, `airbag` names a directory (`"off"` for none), `stop` ends a program that does not give way. What the
    command says on stderr while the program runs goes to the logger `crashcart`.
    """
    from crashcart.errors import CannotCheckError
    from crashcart.record import session

    done = session.run(list(argv), attendant=_guard(limit, airbag, stop) if guard else None)
    if done.folder is None:
        raise CannotCheckError(f"the run was not recorded: {done.unrecorded}")
    return why(done.folder)


def _guard(limit: str | int | None, airbag: str | Path | None, stop: bool) -> Attendant:
    import logging

    from crashcart.guard.apply import Guard, Settings

    settings = Settings(_limit_bytes(limit), stop, None if airbag is None else str(airbag))
    return Guard(settings, logging.getLogger("crashcart").warning)


def _limit_bytes(limit: str | int | None) -> int | None:
    """The limit in bytes. UsageError for one that cannot be meant."""
    from crashcart.errors import UsageError
    from crashcart.guard.policy import LEAST_LIMIT_BYTES
    from crashcart.units import parse_size, size

    try:
        limit_bytes = parse_size(limit) if isinstance(limit, str) else limit
    except ValueError as error:
        raise UsageError(str(error)) from None
    if limit_bytes is not None and (not isinstance(limit_bytes, int) or limit_bytes < LEAST_LIMIT_BYTES):
        raise UsageError(
            f"received limit={limit!r}; expected at least {size(LEAST_LIMIT_BYTES)}, in bytes or as in '4G'"
        )
    return limit_bytes


def why(recording: str | Path | None = None, *, log: str | Path | None = None) -> Explained:
    """Explain the last recorded run, or the one that is named; with `log`, a log instead (a Path, or its text)."""
    if log is not None:
        return _why_log(log)
    from crashcart.blackbox import store
    from crashcart.why import explain
    from crashcart.why.collect import collect

    folder = store.find(str(recording) if recording is not None else None)
    evidence = collect(folder)
    return Explained(explain(evidence, folder.name), evidence)


def _why_log(log: str | Path) -> Explained:
    """A Path is read; a str is the text itself."""
    import io

    from crashcart.why import explain
    from crashcart.why.collect_log import collect_log

    if isinstance(log, Path):
        with log.open("rb") as file:
            evidence = collect_log(file, str(log))
    else:
        evidence = collect_log(io.BytesIO(log.encode("utf-8", "replace")), "the text")
    return Explained(explain(evidence), evidence)


def doctor(
    *files: str | Path, python: str | Path | None = None, attempt: bool = False, python_version: str | None = None
) -> Explained:
    """Find what will fail in this environment, or in that of another interpreter, before it does.

    The files are those of the command: a plan (requirements.txt, pyproject.toml, environment.yml) is judged instead of what is
    installed, code (.py, .ipynb) is searched for devices. With `attempt`, the frameworks are imported in child processes too.
    """
    from crashcart.cli.doctor import examined

    report, evidence = examined(
        [str(each) for each in files], None if python is None else str(python), attempt, python_version
    )
    return Explained(report, evidence, whole=True)


def recordings() -> list[Path]:
    """The folders of the recorded runs, newest first."""
    from crashcart.blackbox import store

    return store.recordings()


def guard(limit: str | int | None = None, gpu: str | None = None) -> Protection:
    """Guard the running process from here on, as well as that can still be done, and say how well.

    `limit` (`"4G"`, or bytes) sets a limit below the machine's own. `gpu` sets what TensorFlow may take of each GPU, before
    it touches one: `"80%"`, a size, or `"growth"` (take only what is needed).
    """
    from crashcart.guard import attach

    if gpu is not None:
        from crashcart.guard.gpu import limit_gpus

        limit_gpus(gpu)
    return attach.attach(_limit_bytes(limit))


def note(text: str, kind: str = "note") -> bool:
    """Mark a moment (an epoch, a phase) in the recording of the running program; False where nothing records it."""
    hook = sys.modules.get("_crashcart_hook")
    state = getattr(hook, "_state", None)
    if state is None:
        return False
    state.append("event", name=kind, text=str(text)[:500])
    return True
