"""One thing that a program said about its failure: an exception, or a printed line; and the kinds of failure there are.

Covers: the common form in which exceptions and lines are classified, and who raised an exception (own code or which
package).
Does not cover: which words state which kind (`_wordings*.py`, `_names.py`) nor which of many sayings counts
(`_text.py`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum, IntEnum

from crashcart.evidence import ErrorRecord, Frame, LogLine
from crashcart.finding import Cause
from crashcart.probe.log_lines import without_prefix
from crashcart.why._message import Message, looks_own, take_apart
from crashcart.why._noise import meaning_of


class Kind(str, Enum):
    """A kind of failure that words can state; the value is the name of the rule that judges it."""

    HOST_MEMORY = "allocation-refused"
    DEVICE_MEMORY = "device-memory-exhausted"
    DEVICE_TAKEN = "device-memory-held-by-others"
    CONSTANT = "constant-too-large-for-graph"
    SHARED_MEMORY = "shared-memory-exhausted"
    DISK = "disk-full"
    PROCESS_LIMIT = "limit-of-process-reached"
    RECURSION = "recursion-without-end"
    OPENMP = "two-openmp-runtimes"
    PACKAGES = "packages-do-not-fit"
    CUDA = "cuda-does-not-fit"
    FORK = "forked-after-threads"
    SHAPES = "shapes-do-not-fit"
    TYPES = "types-do-not-fit"
    VALUE = "value-out-of-range"
    DEVICE = "device-not-available"
    GRAPH = "graph-and-eager-mixed"
    API = "name-not-in-this-version"
    SAVED = "saved-file-does-not-match"
    DAMAGED = "data-damaged"
    MISSING = "data-not-found"
    RAN_OUT = "data-ran-out"
    PROCESSOR = "cpu-lacks-what-the-build-needs"
    RETRACED = "functions-traced-again"
    STALLED = "peers-waited-in-vain"
    DEVICE_CODE = "device-code-failed"


CAUSES: dict[Kind, Cause] = {
    Kind.HOST_MEMORY: Cause.HOST_MEMORY,
    Kind.DEVICE_MEMORY: Cause.GPU_MEMORY,
    Kind.DEVICE_TAKEN: Cause.GPU_MEMORY_TAKEN,
    Kind.CONSTANT: Cause.OVERSIZED_CONSTANT,
    Kind.SHARED_MEMORY: Cause.SHARED_MEMORY,
    Kind.DISK: Cause.DISK_FULL,
    Kind.PROCESS_LIMIT: Cause.PROCESS_LIMIT,
    Kind.RECURSION: Cause.STACK_OVERFLOW,
    Kind.OPENMP: Cause.OPENMP_CONFLICT,
    Kind.PACKAGES: Cause.LIBRARY_CONFLICT,
    Kind.CUDA: Cause.CUDA_MISMATCH,
    Kind.FORK: Cause.FORK_AFTER_THREADS,
    Kind.SHAPES: Cause.SHAPE_MISMATCH,
    Kind.TYPES: Cause.DTYPE_MISMATCH,
    Kind.VALUE: Cause.VALUE_RANGE,
    Kind.DEVICE: Cause.DEVICE_PLACEMENT,
    Kind.GRAPH: Cause.GRAPH_SESSION_MISUSE,
    Kind.API: Cause.API_REMOVED,
    Kind.SAVED: Cause.SAVED_MODEL_MISMATCH,
    Kind.DAMAGED: Cause.DATA_CORRUPT,
    Kind.MISSING: Cause.DATA_MISSING,
    Kind.RAN_OUT: Cause.DATA_EXHAUSTED,
    Kind.PROCESSOR: Cause.CPU_INSTRUCTIONS,
    Kind.RETRACED: Cause.MEMORY_LEAK,
    Kind.STALLED: Cause.HANG,
    Kind.DEVICE_CODE: Cause.NATIVE_CRASH,
}


class Force(IntEnum):
    """How much a wording settles."""

    DECISIVE = 3
    """It names the root, whatever else is said after it."""
    PLAIN = 2
    VAGUE = 1
    """It fits several kinds; another line that says more comes first."""
    HEALTHY = 0
    """It also stands in logs of programs that end well."""


@dataclass(frozen=True, slots=True)
class Said:
    """What was said. `folded` is the type and the words in lower case, for matching; `words` are as printed."""

    words: str
    folded: str
    type: str = ""
    """The exception's own name; empty for a printed line."""
    error: ErrorRecord | None = None
    line: LogLine | None = None
    message: Message | None = None

    @property
    def text(self) -> str:
        """The type and the words as printed."""
        return f"{self.type}: {self.words}" if self.type else self.words

    @property
    def frames(self) -> tuple[Frame, ...]:
        """The frames of the exception, outermost first."""
        return self.error.frames if self.error else ()


_GLOG = re.compile(
    r"^(?:\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[.\d]*: )?(?:(?P<old>[IWEF]) \S+\.(?:cc|h|cpp):\d+\] ?"
    r"|(?P<new>[IWEF])\d{4} [\d:. ]{8,40}\S+:\d+\] ?)"
)
_STATUS = re.compile(
    r"^(?:OP_REQUIRES failed at \S{1,200} : |\(\d{1,3}\) )?"
    r"(?P<status>(?i:invalid[_ ]argument|unknown|internal|unimplemented|not[_ ]found"
    r"|failed[_ ]precondition|data[_ ]loss|out[_ ]of[_ ]range|resource[_ ]exhausted)): {1,4}(?:(?P<quoted>[A-Z]\w{2,60}Error): )?"
)
"""How TensorFlow prints the failure of an operation, where it may quote what the user's own function raised."""
_ANNOUNCES = re.compile(
    r'\b(?:error|exception|fatal|failed|failure)\b[^:]{0,60}: (?=\S.{0,200}\s)|^\s{0,16}"message": "(?=\S.{0,200}\s)',
    re.IGNORECASE,
)
_ROOT = re.compile(r"\(\d{1,3}\) [A-Z]")
"""One of several root errors, as a program prints them that caught the exception."""
_PACKAGE = re.compile(r"(?:site|dist)-packages[/\\]([A-Za-z_]\w*)")
LONGEST_LINE = 2_000


def said_by_error(error: ErrorRecord) -> Said:
    """An exception as something said; one that the message quotes from inside the graph counts in its place."""
    message = take_apart(error.message)
    name = message.quoted_type or error.name
    core = _without_notices(message.core)
    return Said(core, f"{name}: {core}".lower(), name, error, None, message)


def _without_notices(core: str) -> str:
    """The words without harmless notices that another thread printed into them; the first line is the exception's own."""
    first, *rest = core.split("\n")
    return "\n".join([first, *(line for line in rest if meaning_of(line) is None)])


def said_by_line(line: LogLine) -> Said | None:
    """A printed line as something said; None for the lines that only inform. A failed op's line is as good as its exception."""
    text = without_prefix(line.text.strip()[:LONGEST_LINE]).strip()
    match = _GLOG.match(text)
    if match is None and not _ROOT.match(text):
        return Said(text, text.lower(), "", None, line) if text else None
    if match is not None and (match["old"] or match["new"]) == "I":
        return None
    text = text[match.end() :] if match is not None else text
    status = _STATUS.match(text)
    if status is None:
        return Said(text, text.lower(), "", None, line) if text else None
    name = status["quoted"] or status["status"].title().replace(" ", "").replace("_", "") + "Error"
    words = text[status.end() :]
    return Said(words, f"{name}: {words}".lower(), name, None, line)


def announced(said: Said) -> Said | None:
    """What a line says after it has announced an error, as if it were raised: programs print the exceptions they catch so."""
    match = _ANNOUNCES.search(said.words) if not said.type else None
    if match is None:
        return None
    words = said.words[match.end() :]
    return Said(words, f"runtimeerror: {words}".lower(), "RuntimeError", None, said.line)


def package_of(frame: Frame) -> str | None:
    """The installed package that a frame belongs to; None for own code and the standard library."""
    match = _PACKAGE.search(frame.file)
    return match[1] if match else None


def is_own(frame: Frame) -> bool:
    """Whether a frame is the user's, leaving out the files that AutoGraph writes and compiled modules."""
    return frame.own and looks_own(frame.file)


def own_frame(frames: tuple[Frame, ...]) -> Frame | None:
    """The deepest frame of the user's own code."""
    return next((frame for frame in reversed(frames) if is_own(frame)), None)


def raiser(said: Said, besides: str = "") -> str | None:
    """Who asked for what failed: `own`, or the name of the installed package; None where no frame tells.

    Frames of the package `besides` (the one that was asked) and of the import machinery are passed over.
    """
    for frame in reversed(said.frames):
        package = package_of(frame)
        if package and package != besides:
            return package
        if package is None and is_own(frame):
            return "own"
    return None
