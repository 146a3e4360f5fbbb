"""Raw program output to clean lines: colours, progress bars and the prefixes that log collectors put before a line.

Covers: ANSI sequences, carriage returns and backspaces (the last state of a line stays), prefixes of journald, docker,
kubectl, mpirun, ray, torchrun, quoted mail and pytest.
Does not cover: what a line means (`log_errors.py` and the rules). Every function takes any text, never raises, and
works in time linear in its length.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

LONGEST_LINE = 20_000
"""Characters of one line that are kept: a message longer than this is a dump of data."""

_ANSI = re.compile(r"\x1b(?:\[[0-?]{0,32}[ -/]{0,4}[@-~]|\][^\x07\x1b]{0,256}(?:\x07|\x1b\\)|[@-Z\\^_])")
_PREFIX = re.compile(
    r"""(?:
      \d{4}-\d\d-\d\d[T\ ]\d\d:\d\d:\d\d[.,\d]{0,12}(?:Z|[+-]\d\d:?\d\d)?\ (?:stdout|stderr)\ [FP]\   # kubectl, CRI
    | \d{4}-\d\d-\d\d[T\ ]\d\d:\d\d:\d\d[.,\d]{0,12}(?:Z|[+-]\d\d:?\d\d)?:?(?:\ |$)                   # a timestamp
    | [A-Z][a-z]{2}\ [\ \d]?\d\ \d\d:\d\d:\d\d\ [\w.-]{1,64}\ [\w./@-]{1,64}(?:\[\d{1,9}\])?:(?:\ |$)  # journald
    | [\w.-]{1,64}\ {0,40}\|(?:\ |$)                                                                  # docker compose
    | \[\d{1,6},\d{1,6}\]<std(?:err|out)>:                                                           # mpirun
    | \([\w\ .:-]{0,64}pid=\d{1,9}[^)]{0,64}\)(?:\ |$)                                                # ray
    | \[rank\d{1,5}\]:\ ?                                                                             # torchrun
    | >(?:\ |$)                                                                                       # quoted
    | E\ {3}(?=\S)                                                                                    # pytest
    | (?:\*\*|`)(?=[A-Za-z])                                                                           # Markdown
    | Error\ in\ \w{1,40}\([^()]{0,200}\)\ :(?:\ |$)                                                        # R, reticulate
    | (?:ERROR|CRITICAL|FATAL):[\w.]{1,64}:\ ?                                                        # logging
    )""",
    re.VERBOSE,
)
_PREFIXES_PER_LINE = 3


def clean_lines(chunks: Iterable[str]) -> Iterator[str]:
    """The lines of a text that arrives in pieces, each in its last state and without colours."""
    rest = ""
    for chunk in chunks:
        pieces = (rest + chunk).split("\n")
        rest = pieces.pop()
        yield from map(clean, pieces)
        if len(rest) > 16 * LONGEST_LINE:
            rest = rest[rest.rfind("\r") + 1 :][:LONGEST_LINE]
    if rest:
        yield clean(rest)


def clean(line: str) -> str:
    """One line as a terminal would show it in the end."""
    if "\r" in line:
        line = next((state for state in reversed(line.split("\r")) if state.strip("\x08 ")), "")
    if "\x1b" in line:
        line = _ANSI.sub("", line)
    if "\x08" in line:
        line = line.replace("\x08", "")
    return line[:LONGEST_LINE].rstrip()


def without_prefix(line: str) -> str:
    """The line without what a log collector put before it; the program's own indentation stays."""
    for _ in range(_PREFIXES_PER_LINE):
        match = _PREFIX.match(line)
        if match is None:
            break
        line = line[match.end() :]
    return line


def shape_of(prefix: str) -> str:
    """A prefix with its digits made equal, so that two timestamps of one form compare as one."""
    return re.sub(r"\d", "0", prefix)
