"""W208 packages-do-not-fit."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from crashcart.evidence import Ending, Environment, ErrorRecord, Frame, Log, place
from crashcart.finding import Cause, Confidence, Finding, Where
from crashcart.rule import Rank, rule
from crashcart.why._advice import advise
from crashcart.why._names import FRAMEWORKS
from crashcart.why._noise import meaning_of
from crashcart.why._package_advice import PACKAGE_ADVICE
from crashcart.why._said import Kind, Said, package_of
from crashcart.why._statement import Statement, conclude, quote_line
from crashcart.why._text import stated

_MOST_NAMED = 6
_LAST_LINES = 50
_IMPORT = re.compile(r"(?:import|from)\s+(\w+)")
_TYPED_IMPORT = re.compile(r"^(?:>>>|In \[\d+\]:)\s*(?:import|from)\s+(\w+)")
_FAULT = re.compile(
    r"^(?:\[\d+\]\s+\d+ |(?:zsh|bash): )?(?:segmentation fault|abort(?:ed| trap)?\b|bus error)", re.IGNORECASE
)
_INFORMS = re.compile(r"^(?:\d{4}-\d\d-\d\d [\d:.]{8,20}: )?I \S+\.cc:\d+\]")


@rule("W208", "packages-do-not-fit", Rank.KIND)
def packages_do_not_fit(
    errors: tuple[ErrorRecord, ...],
    log: Log | None = None,
    ending: Ending | None = None,
    environment: Environment | None = None,
) -> Iterator[Finding]:
    """Installed packages, or the C libraries they were built for, do not fit each other or this Python.

    ## What it means

    A compiled package expects certain versions of NumPy, protobuf, TensorFlow, the C++ runtime. Where another version
    is installed, the import fails, or the program crashes later. The user's own code is right.

    ## How we know

    The message speaks of binary interfaces, missing symbols or generated code; or one installed package asks another
    for a name that it does not have. Where the environment was recorded, the versions involved are given.

    ## What to do

    Bring the named packages to versions that belong together; a fresh environment installed in one command is the
    shortest way.
    """
    for statement in stated(Kind.PACKAGES, errors, log, ending):
        row = advise(PACKAGE_ADVICE, _with_files(statement.said))
        versions = _versions(statement.said, environment)
        finding = conclude(statement, row.headline, row.remedy, *([f"installed: {versions}"] if versions else []))
        yield replace(finding, where=_importing_line(statement) or finding.where)
        return
    yield from _crashed_at_import(log)


def _with_files(said: Said) -> str:
    """The words, and the files at whose import they fell: generated code says by its name whose it is."""
    return " ".join([said.text, *(frame.file.replace("\\", "/").rpartition("/")[2] for frame in said.frames[-2:])])


def _importing_line(statement: Statement) -> Where | None:
    """The user's own line that led into the packages; those on PYTHONPATH look like own code further down."""
    found: Frame | None = None
    for frame in (statement.main or statement.said).frames:
        if found and not frame.own:
            break
        if frame.own:
            found = frame
            match = _IMPORT.match(frame.source or "")
            if match and match[1] in FRAMEWORKS:
                break
    return place(found)


def _crashed_at_import(log: Log | None) -> Iterator[Finding]:
    """An interactive session whose last command, before a segmentation fault, imported a second framework."""
    lines = [line for line in (log.lines[-_LAST_LINES:] if log else ()) if line.text.strip()]
    typed = [(line, match[1]) for line in lines if (match := _TYPED_IMPORT.match(line.text))]
    if len({name for _, name in typed}) < 2 or not _FAULT.search(lines[-1].text):
        return
    between = lines[lines.index(typed[-1][0]) + 1 : -1]
    if any(not _INFORMS.match(line.text) and meaning_of(line.text) is None for line in between):
        return
    first, second = typed[0][1], typed[-1][1]
    yield Finding(
        Cause.LIBRARY_CONFLICT,
        f"the import of {second} after {first} crashed: their C++ runtimes get in each other's way",
        (quote_line(typed[0][0]), quote_line(typed[-1][0]), quote_line(lines[-1])),
        (
            f"change the import order: import {second} first, then {first}",
            "keep the two in separate environments; newer releases of both do not export these symbols",
        ),
        Confidence.LIKELY,
    )


def _versions(said: Said, environment: Environment | None) -> str:
    """The versions of the packages that the message and the frames name."""
    if environment is None:
        return ""
    named = {package_of(frame) for frame in said.frames} | set(re.findall(r"[a-z_]{3,}", said.folded))
    named |= {"tensorflow", "keras", "numpy", "protobuf"}
    known = {name: version for name, version in environment.packages.items() if name.lower().replace("-", "_") in named}
    return ", ".join(f"{name} {version}" for name, version in sorted(known.items())[:_MOST_NAMED])
