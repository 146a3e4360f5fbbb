"""One chunk of files, checked: the unit of work of every engine.

Covers: `check_chunk`, a pure function of sources and of what is wanted, which any process on any machine may call;
the jobs that can be done on a file, by name. An exception of a check is told as ours, never as a fault of the file.
Does not cover: deaths. A decoder may end the process that calls this; `pool.py` contains that on one machine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b
from importlib import import_module

from crashcart.probe.file_remote import RemoteFile
from crashcart.sound import JSON, UNCHECKED, Checked, Fault, Source, Wanted

Job = Callable[[Source, Wanted], Checked]

CHECK = "crashcart.probe.file_check:check"
DIGEST = "crashcart.data.chunk:digested"
"""A job by its module and name, so that it can be told to another process."""


def check_chunk(sources: Sequence[Source], wanted: Wanted, job: str = CHECK) -> list[Checked]:
    """What was learnt of each source, in their order."""
    do = find_job(job)
    return [done_to(do, source, wanted) for source in sources]


def find_job(job: str) -> Job:
    """The function by this name."""
    module, _, name = job.partition(":")
    found: Job = getattr(import_module(module), name)
    return found


def done_to(job: Job, source: Source, wanted: Wanted) -> Checked:
    """The job done to one source. MemoryError passes: whether the file is at fault is for the caller to find out."""
    try:
        checked = _bounded(job(source, wanted))
        return source.verdict(checked) if isinstance(source, RemoteFile) else checked
    except MemoryError:
        raise
    except Exception as error:
        told = f"crashcart's own check failed: {type(error).__name__}: {error}"
        return Checked(source.path, faults=(Fault("not-checked", told[:500], weight=UNCHECKED),))


_MOST_CHARS = 400
"""Of one name in what is learnt of a file. A damaged file may claim a feature with a name of a gigabyte."""


def _bounded(checked: Checked) -> Checked:
    """The outermost names are ours; what a picture holds besides is numbers."""
    if any(type(each) is not int and _long(each) for each in checked.facts.values()):
        return replace(checked, facts=_cut(checked.facts))
    return checked


def _long(value: JSON) -> bool:
    if isinstance(value, str):
        return len(value) > _MOST_CHARS
    if isinstance(value, Mapping):
        return any(_long(key) or _long(each) for key, each in value.items())
    return isinstance(value, (list, tuple)) and any(map(_long, value))


def _cut(value: JSON) -> JSON:
    """The same with long names cut; what differs still differs."""
    if isinstance(value, str):
        return _shortened(value) if len(value) > _MOST_CHARS else value
    if isinstance(value, Mapping):
        return {_cut(key): _cut(each) for key, each in value.items()}
    return type(value)(map(_cut, value)) if isinstance(value, (list, tuple)) else value


def _shortened(text: str) -> str:
    return f"{text[:_MOST_CHARS]}… #{blake2b(text.encode('utf-8', 'replace'), digest_size=6).hexdigest()}"


def digested(source: Source, wanted: Wanted) -> Checked:
    """The full digest of the content, to make sure of duplicates; none where it cannot be read any more."""
    from crashcart.probe.file_digest import full

    try:
        return Checked(source.path, digest=full(source))
    except OSError:
        return Checked(source.path)
