"""A recording read back as Evidence, whatever state its writers left it in.

Covers: every file of a recording; what is damaged or absent becomes a section that is None, with the reason in
`absent`. Only a folder without a readable run.json is refused.
Does not cover: judging; nor errors that stand only in the program's output (`why/collect.py`).
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from crashcart.blackbox.cells import CellFrames, read_cells
from crashcart.blackbox.codec import from_plain
from crashcart.blackbox.crashfile import read_crash
from crashcart.blackbox.files import Record, read_json, read_ring
from crashcart.blackbox.growth import read_growth
from crashcart.blackbox.output import read_output
from crashcart.blackbox.recording import SCHEMA
from crashcart.errors import UnreadableRecordingError
from crashcart.evidence import (
    ChildEnd,
    Crash,
    Disk,
    Ending,
    Environment,
    ErrorRecord,
    Event,
    Evidence,
    Frame,
    GpuDevice,
    Growth,
    Holder,
    HolderNote,
    KernelLog,
    Log,
    LogLine,
    Machine,
    PipelineNote,
    PipelineStage,
    Program,
    Sample,
    Stack,
    StackDump,
)
from crashcart.probe.log import parse_log
from crashcart.probe.process import parse_limits
from crashcart.probe.python_dump import parse_stacks
from crashcart.probe.source import OwnCode, in_loop, source_line


@dataclass(frozen=True)
class _Raw:
    """What the files of a recording say, before it is put into sections."""

    folder: Path
    run: Record
    ending: Record | None
    samples: list[Record]
    events: list[Record]
    stacks: list[Record]
    inside: list[Record]
    own: OwnCode
    kept: Record
    cells: CellFrames
    seen_sources: dict[tuple[str, int], tuple[str | None, bool | None]] = field(default_factory=dict)


def read_recording(folder: Path) -> Evidence:
    """All that the recording holds."""
    raw = _load(folder)
    pid = raw.run["program"].get("pid")
    hooked = {record["pid"]: record for record in raw.inside if record["kind"] in ("start", "fork")}
    absent = dict(raw.run.get("absent", {}))
    if not hooked:
        absent["stacks"] = absent["holders"] = "the start-up hook did not run inside the program"
    return Evidence(
        program=_program(raw, hooked),
        machine=_machine(raw),
        environment=_environment(raw),
        samples=tuple(_samples(raw)) or None,
        events=tuple(_events(raw)),
        stacks=tuple(_stack_dumps(raw, hooked)) if hooked else None,
        holders=tuple(_holders(raw)) if hooked else None,
        errors=tuple(_errors(raw)) if hooked else None,
        crash=_crash(raw, pid, hooked),
        log=_log(raw),
        kernel_log=_kernel_log(raw),
        gpus=tuple(_sections(GpuDevice, raw.run.get("gpus"))) if raw.run.get("gpus") is not None else None,
        disks=tuple(_sections(Disk, (raw.ending or {}).get("disks"))) if raw.ending else None,
        children=tuple(_children(raw, pid)),
        cells=raw.cells.cells or None,
        files=raw.kept.get("files"),
        ending=_ending(raw, pid),
        growth=_growth(raw),
        absent={**absent, **(raw.ending or {}).get("absent", {})},
    )


def _load(folder: Path) -> _Raw:
    run = read_json(folder / "run.json")
    if run is None:
        raise UnreadableRecordingError(f"{folder.name} is no recording, or its beginning is damaged (run.json)")
    if run.get("schema") != SCHEMA:
        raise UnreadableRecordingError(
            f"{folder.name} was written in format {run.get('schema')}; this crashcart reads format {SCHEMA}",
            "Read it with the crashcart that recorded it, or a newer one.",
        )
    samples = {record["at_s"]: record for name in ("history", "samples") for record in read_ring(folder / f"{name}.ring")
               if "at_s" in record}  # fmt: skip
    introduced = [read_json(path) for path in sorted(folder.glob("program-*.json"))]
    rings = [record for path in sorted(folder.glob("program-*.ring")) for record in read_ring(path)]
    inside = [record for record in (*introduced, *rings) if record is not None and "pid" in record and "kind" in record]
    inside.sort(key=lambda record: record.get("unix_s", 0.0))
    prefixes = sorted({prefix for record in inside for prefix in record.get("prefixes", ())})
    events = [record for record in read_ring(folder / "events.ring") if "kind" in record and "at_s" in record]
    cells = [record for path in sorted(folder.glob("cells-*.ring")) for record in read_ring(path)]
    return _Raw(
        folder, run, read_json(folder / "ending.json"), [samples[at_s] for at_s in sorted(samples)], events,
        [record for record in read_ring(folder / "stacks.ring") if "pid" in record and "reason" in record], inside,
        OwnCode(prefixes), read_json(folder / "kept.json") or {},
        CellFrames(tuple(read_cells(cells, run["program"]["started_unix_s"]))),
    )  # fmt: skip


def _section(kind: type[Any], value: Any) -> Any:
    """A section, or None where it is absent or of a shape that this version does not know."""
    if value is None:
        return None
    try:
        return from_plain(kind, value)
    except (TypeError, ValueError):
        return None


def _sections(kind: type[Any], values: Any) -> Iterator[Any]:
    for value in values or ():
        section = _section(kind, value)
        if section is not None:
            yield section


def _started_s(raw: _Raw) -> float:
    return float(raw.run["program"]["started_unix_s"])


def _program(raw: _Raw, hooked: dict[int, Record]) -> Program:
    program: Program = from_plain(Program, {"pid": 0, **raw.run["program"]})
    native = any(record.get("native") for record in hooked.values())
    return replace(program, hooked=bool(hooked), native_hooked=native)


def _machine(raw: _Raw) -> Machine | None:
    """The machine, with the limits that held inside the program where the hook saw them."""
    machine: Machine | None = _section(Machine, raw.run.get("machine"))
    tables = [record["limits"] for record in raw.inside if record.get("limits")]
    return replace(machine, rlimits=parse_limits(tables[-1])) if machine is not None and tables else machine


def _environment(raw: _Raw) -> Environment:
    start = next((record for record in raw.inside if record["kind"] == "start"), {})
    loaded: dict[str, str] = {}
    for record in raw.inside:
        loaded.update(record.get("modules") or {})
    packages = raw.kept.get("packages") or loaded
    variables = raw.run.get("variables") or {}
    path = tuple(start.get("path", ()))
    return Environment(start.get("python"), start.get("executable"), packages, variables, frozenset(loaded), path)


def _samples(raw: _Raw) -> Iterator[Sample]:
    yield from _sections(Sample, raw.samples)


def _events(raw: _Raw) -> Iterator[Event]:
    found = list(_sections(Event, [record for record in raw.events if "text" in record]))
    for record in raw.inside:
        if record["kind"] in ("event", "hook-failure", "fork"):
            at_s = record["unix_s"] - _started_s(raw)
            text = record.get("text") or f"forked from pid {record.get('parent')}"
            facts = {"parent": record.get("parent"), "modules": sorted(record.get("modules") or ())}
            kind = str(record.get("name") or record["kind"])
            found.append(Event(at_s, kind, text, record["pid"], facts if kind == "fork" else {}))
    yield from sorted(found, key=lambda event: event.at_s)


def _stack_dumps(raw: _Raw, hooked: dict[int, Record]) -> Iterator[StackDump]:
    found: list[StackDump] = []
    last: dict[int, list[Record]] = {}
    for record in raw.stacks:
        threads = record.get("threads") or last.get(record["pid"], [])
        last[record["pid"]] = threads
        stacks = tuple(_read_stack(raw, thread) for thread in threads)
        found.append(StackDump(record["at_s"], record["pid"], stacks, record["reason"]))
    if not last:
        found.extend(_surveyed_stacks(raw))
    for path in raw.folder.glob("fatal-*.txt"):
        pid = _pid_of(path)
        text = _read_text(path)
        if pid is not None and text:
            found.append(_dump(raw, hooked, pid, _written_s(raw, path), "fatal", text))
    yield from sorted((dump for dump in found if dump.stacks), key=lambda dump: dump.at_s)


def _surveyed_stacks(raw: _Raw) -> Iterator[StackDump]:
    """Where the watcher could not read stacks (no permission, an unknown interpreter), those that the hook noted itself."""
    for record in raw.inside:
        if record["kind"] == "holders" and record.get("frames"):
            stack = _read_stack(raw, {"main": True, "frames": record["frames"]})
            yield StackDump(record["unix_s"] - _started_s(raw), record["pid"], (stack,), "beat")


def _read_stack(raw: _Raw, thread: Record) -> Stack:
    """A stack as the watcher recorded it, innermost frame first."""
    frames = tuple(
        _with_source(raw, Frame(file, line, function, own=raw.own.is_own(file)))
        for file, line, function in reversed(thread["frames"])
        if file != "<shim>"
    )
    main = bool(thread["main"])
    return Stack("main" if main else "thread", frames, main, main, bool(thread.get("cut")))


def _dump(raw: _Raw, hooked: dict[int, Record], pid: int, at_s: float, reason: str, text: str) -> StackDump:
    ident = hooked.get(pid, {}).get("main_thread")
    stacks = parse_stacks(text, ident, raw.own.is_own)
    return StackDump(at_s, pid, tuple(_with_sources(raw, stack) for stack in stacks), reason)


def _with_sources(raw: _Raw, stack: Stack) -> Stack:
    return replace(stack, frames=tuple(_with_source(raw, frame) for frame in stack.frames))


def _with_source(raw: _Raw, frame: Frame) -> Frame:
    """The line's text as it stood when the program ended, where that was kept; else as it stands now. A cell's is known."""
    in_cell = raw.cells.find(frame)
    if in_cell is not None:
        return in_cell
    if not frame.own:
        return frame
    if "sources" in raw.kept:
        kept = raw.kept["sources"].get(frame.file, {}).get(str(frame.line))
        source, looped = (
            kept if isinstance(kept, list) and len(kept) == 2 else (kept if isinstance(kept, str) else None, None)
        )
        return replace(frame, source=source, looped=looped)
    key = (frame.file, frame.line)
    if key not in raw.seen_sources:
        file = frame.file if Path(frame.file).is_absolute() else str(Path(raw.run["program"]["cwd"]) / frame.file)
        raw.seen_sources[key] = (source_line(file, frame.line), in_loop(file, frame.line))
    source, looped = raw.seen_sources[key]
    return replace(frame, source=source, looped=looped)


def _pid_of(path: Path) -> int | None:
    text = path.stem.rpartition("-")[2]
    return int(text) if text.isdigit() else None


def _written_s(raw: _Raw, path: Path) -> float:
    return max(0.0, path.stat().st_mtime - _started_s(raw))


def _read_text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8", "replace")
    except OSError:
        return ""


def _holders(raw: _Raw) -> Iterator[HolderNote]:
    for record in raw.inside:
        if record["kind"] == "holders":
            pipelines = tuple(
                PipelineNote(each["name"], tuple(PipelineStage(*stage) for stage in each["stages"]))
                for each in record.get("pipelines", ())
            )
            holders = tuple(_sections(Holder, record.get("holders")))
            yield HolderNote(record["unix_s"] - _started_s(raw), record["pid"], holders, pipelines)


def _errors(raw: _Raw) -> Iterator[ErrorRecord]:
    for record in raw.inside:
        if record["kind"] == "error" and not _was_survived(raw, record):
            error = _error(raw, record["error"])
            chain = tuple(_error(raw, each) for each in record["error"].get("chain", ()))
            at_s = record["unix_s"] - _started_s(raw)
            yield replace(error, chain=chain, thread=record.get("thread"), at_s=at_s, pid=record["pid"])


def _was_survived(raw: _Raw, record: Record) -> bool:
    """Python keeps the last exception that it showed, also where an interactive console went on after it: one that ended
    the program shows in the program's status."""
    ending = (raw.ending or {}).get("ending")
    if record.get("thread") is not None or ending is None or record["pid"] != raw.run["program"].get("pid"):
        return False
    return not (ending.get("exit_code") in (1, 130) or ending.get("signal") == signal.SIGINT)


def _error(raw: _Raw, plain: Record) -> ErrorRecord:
    frames = tuple(
        _with_source(raw, Frame(file, line or 0, function, own=raw.own.is_own(file)))
        for file, line, function in plain["frames"]
    )
    return ErrorRecord(plain["type"], plain["message"], frames, tuple(plain["bases"]))


def _crash(raw: _Raw, pid: int | None, hooked: dict[int, Record]) -> Crash | None:
    """The crash of the program itself, or of the one descendant that crashed (a shell's child, say)."""
    crashes: dict[int, Crash] = {}
    for path in sorted(raw.folder.glob("crash-*.txt*")):
        crash = read_crash(path)
        if crash is not None and crash.pid is not None and not _ended_later(raw, crash.pid):
            crashes[crash.pid] = crash
    found = pid if pid in crashes else next(iter(crashes), None)
    if found is None:
        return None
    text = _read_text(raw.folder / f"fatal-{found}.txt") or _printed_stack(raw)
    return replace(crashes[found], python=_dump(raw, hooked, found, 0.0, "fatal", text)) if text else crashes[found]


def _printed_stack(raw: _Raw) -> str:
    """The last words of a program that has faulthandler write to its own stderr (`python -X faulthandler`)."""
    lines = [line.text for line in (_log(raw) or Log(())).lines]
    fatal = [number for number, line in enumerate(lines) if line.startswith("Fatal Python error: ")]
    return "\n".join([*lines[fatal[-1] :], ""]) if fatal else ""


def _ended_later(raw: _Raw, pid: int) -> bool:
    """Whether the process reached its orderly end after all: a handler of its own had taken the signal."""
    crashed_at_s = (
        (raw.folder / f"crash-{pid}.txt").stat().st_mtime if (raw.folder / f"crash-{pid}.txt").exists() else None
    )
    ends = [record["unix_s"] for record in raw.inside if record["kind"] == "exit" and record["pid"] == pid]
    return bool(ends) and crashed_at_s is not None and ends[-1] > crashed_at_s + 0.001


def _log(raw: _Raw) -> Log | None:
    tails = read_output(raw.folder / "output")
    if tails is None or not raw.run.get("output_kept"):
        return None
    lines: list[LogLine] = []
    for stream, tail in zip(("stdout", "stderr"), tails, strict=True):
        for text in (tail.head, tail.tail):
            for line in parse_log(text.decode("utf-8", "replace"), stream).lines:
                lines.append(replace(line, number=len(lines) + 1))
    return Log(tuple(lines), sum(tail.dropped_bytes for tail in tails))


def _children(raw: _Raw, pid: int | None) -> Iterator[ChildEnd]:
    """Descendants that ended: as the watcher saw it, and those too short-lived for that in which the hook ran."""
    seen = list(_sections(ChildEnd, [each for each in raw.events if each["kind"] == "child-end"]))
    yield from seen
    survivors = ((raw.ending or {}).get("ending") or {}).get("survivors") or ()
    known = {pid, *survivors, *(child.pid for child in seen)}
    last_s = {record["pid"]: record["unix_s"] - _started_s(raw) for record in raw.inside}
    for other, at_s in last_s.items():
        if other not in known:
            yield ChildEnd(other, "python", at_s, None)


def _ending(raw: _Raw, pid: int | None) -> Ending | None:
    ending: Ending | None = _section(Ending, (raw.ending or {}).get("ending"))
    if ending is None:
        return None
    started = any(record["kind"] == "start" and record["pid"] == pid for record in raw.inside)
    finished = any(record["kind"] == "exit" and record["pid"] == pid for record in raw.inside)
    return replace(ending, python_finished=finished if started else None)


def _growth(raw: _Raw) -> Growth | None:
    """How the program grew over its steps, where that was watched; its lines with their text."""
    growth = read_growth(raw.folder)
    return None if growth is None else growth.with_frames(lambda frame: _told(raw, frame))


def _told(raw: _Raw, frame: Frame) -> Frame:
    own = replace(frame, own=frame.own or raw.own.is_own(frame.file))
    found = _with_source(raw, own)
    return found if found.source is not None else own


def _kernel_log(raw: _Raw) -> KernelLog | None:
    lines = (raw.ending or {}).get("kernel_log")
    return KernelLog(tuple(lines)) if lines is not None else None
