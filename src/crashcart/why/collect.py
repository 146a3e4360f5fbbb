"""The evidence on one recorded run: what the black box holds, and what only a look at the present can add.

Covers: the recording, errors that stand in the kept output, and for a run whose end nobody saw: whether it still runs,
whether the machine was restarted, what the kernel log says.
Does not cover: judging.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from crashcart.blackbox.cells import CellFrames
from crashcart.blackbox.read import read_recording
from crashcart.evidence import Ending, Evidence, Frame, KernelLog
from crashcart.probe.kernel_log import find_lines
from crashcart.probe.log import find_errors
from crashcart.probe.machine import boot_id
from crashcart.probe.process import is_alive
from crashcart.probe.source import OwnCode, cell_lines, changed_unix_s, filling_lines, fillings, source_line

MOST_FILES = 16


def collect(folder: Path) -> Evidence:
    """All evidence on a recorded run."""
    evidence = read_recording(folder)
    if evidence.ending is None:
        evidence = _unseen(evidence)
    return _since_last_cell(_with_filling_lines(_with_printed_errors(evidence)))


def _since_last_cell(evidence: Evidence) -> Evidence:
    """In a notebook's kernel, a line that was seen before the last cell began says nothing about the end; nor does one that was
    seen while that cell ran, if it has ended."""
    if not evidence.cells or evidence.stacks is None:
        return evidence
    last = evidence.cells[-1]
    since_s = last.began_s if last.ended_s is None else last.ended_s
    kept = (dump for dump in evidence.stacks if dump.pid != last.pid or dump.reason == "fatal" or dump.at_s >= since_s)
    return replace(evidence, stacks=tuple(kept))


def _with_printed_errors(evidence: Evidence) -> Evidence:
    """Errors that the hook did not see: of programs without the hook, or caught and printed."""
    if evidence.log is None:
        return evidence
    prefixes = evidence.environment.search_path if evidence.environment is not None else ()
    printed = find_errors(evidence.log, OwnCode(path for path in prefixes if "python" in path).is_own)
    recorded = {(error.name, error.message.strip()[:200]) for error in evidence.errors or ()}
    new = tuple(error for error in printed if (error.name, error.message.strip()[:200]) not in recorded)
    return replace(evidence, errors=(evidence.errors or ()) + new)


def _with_filling_lines(evidence: Evidence) -> Evidence:
    """Where the user's source has one line that fills a named container: a sample may never have met it running."""
    if not evidence.holders:
        return evidence
    names = {each.name for note in evidence.holders for each in note.holders if each.count is not None}
    found = [*_in_files(evidence, names), *_in_cells(evidence, names)]
    lines = {name: _only([frame for filled, frame in found if filled == name]) for name in names}
    notes = (
        replace(note, holders=tuple(replace(each, filled_at=lines.get(each.name)) for each in note.holders))
        for note in evidence.holders
    )
    return replace(evidence, holders=tuple(notes))


def _unchanged_own_files(evidence: Evidence) -> list[str]:
    """The user's files that were seen running and are still as they were then."""
    program, ending = evidence.program, evidence.ending
    if program is None or ending is None or ending.at_s is None:
        return []
    ended_s = program.started_unix_s + ending.at_s
    stacks = (stack for dump in evidence.stacks or () for stack in dump.stacks)
    files = dict.fromkeys(frame.file for stack in stacks for frame in stack.frames if frame.own)
    return [file for file in list(files)[:MOST_FILES] if (changed_unix_s(file) or ended_s) < ended_s]


def _in_files(evidence: Evidence, names: set[str]) -> Iterator[tuple[str, Frame]]:
    for file in _unchanged_own_files(evidence):
        for name, places in filling_lines(file, names).items():
            for line, function in places:
                yield name, Frame(file, line, function, source_line(file, line), own=True)


def _in_cells(evidence: Evidence, names: set[str]) -> Iterator[tuple[str, Frame]]:
    cells = CellFrames(evidence.cells or ())
    for cell in {each.file: each for each in evidence.cells or ()}.values():
        for name, places in fillings(cell_lines(cell.source), names).items():
            for line, function in places:
                yield name, cells.at(cell, line, Frame(cell.file, line, function))


def _only(found: list[Frame]) -> Frame | None:
    return found[0] if len(found) == 1 else None


def _unseen(evidence: Evidence) -> Evidence:
    """The recording has no ending: the program runs, or its watcher did not live to see the end."""
    pid = evidence.program.pid if evidence.program is not None else 0
    ticks = evidence.program.start_ticks if evidence.program is not None else None
    recorded_boot = evidence.machine.boot_id if evidence.machine is not None else None
    present_boot = boot_id()
    same_boot = None if recorded_boot is None or present_boot is None else recorded_boot == present_boot
    last_s = evidence.samples[-1].at_s if evidence.samples else None
    if same_boot is not False and pid and is_alive(pid, ticks):
        return replace(evidence, ending=Ending("running", at_s=last_s, same_boot=same_boot))
    ending = Ending("unobserved", at_s=last_s, same_boot=same_boot)
    lines = find_lines(None) if same_boot else None
    kernel_log = KernelLog(lines) if lines is not None else None
    named = bool(pid) and any(f"process {pid} (" in line for line in lines or ())
    if named:
        ending = replace(ending, kind="signal", signal=9, signal_name="SIGKILL")
    return replace(evidence, ending=ending, kernel_log=kernel_log)
