"""Words that stand in lines about a failure.

Covers: a quick test that leaves out the lines of a log that only report progress, in bytes (a large file) and in text.
Does not cover: what a line states: the rules know. A line without any of these words states nothing that they know; a
test holds their patterns against this list.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from crashcart.evidence import LogLine

LOUD = (
    b"traceback (most", b"error: ", b"exception: ", b"out of memory", b"check failed", b"fatal", b"killed", b"terminate called",
    b"core dumped",
)  # fmt: skip
"""What announces an end. In lower case, and few: each is looked for in every new line of a file of any size."""
QUIET = (b"error", b"abort", b"fail", b"cud", b"illegal", b"exhaust")
"""What may speak of one, and stands in many lines that do not."""

TELLTALES = (
    "error", "exception", "fail", "fault", "fatal", "abort", "kill", "terminat", "exit", "crash", "died", "dead",
    "illegal", "memory", "alloc", "exhaust", "oom", "space", "quota", "full", "limit", "larger", "bigger", "too ",
    "greater", "2gb", "2 gb", "2gib", "2 gib", "exceed", "not ", "n't", "no ", "could", "cannot", "unable", "must",
    "expect", "require", "should", "only", "mismatch", "unsupport", "not_", "invalid", "unknown", "undefined",
    "unresolved", "unrecog", "unseen", "out of", "out_of", "outof", "outside", "bounds", "incompat", "conflict",
    "version", "already", "multiple copies", "duplicate", "library", "libcud", "cuda", "cudnn", "driver", "ptx",
    "gpu", "device", "sm_", "symbol", "glibc", "architecture", "elf ", "dll", "zlib", "omp", "fork", "thread",
    "resource", "timed", "timeout", "stall", "waiting", "watchdog", "shm", "requested", "tempor", "recursion",
    "0xc000", "shape", "dimension", "ndim", "rank", "size", "dtype", "type", "tensor", "label",
    "index", "nan", "assert", "graph", "session", "eager", "fetch", "variable", "placeholder", "retracing", "layer",
    "weight", "checkpoint", "state_dict", "nodedef", "deseriali", "serializ", "pickle", "descriptor",
    "protobuf", "gencode", "keras", "numpy", "jaxlib", "_dictwrapper", "bad", "corrupt", "truncat", "broken",
    "damaged", "data", "record", "image", "jpeg", "png", "denied", "nosuch", "src.empty", "loaded", "inotify",
    "mkl", "instructions", "avx", "enospc", "edquot", "enomem", "once_call", "host_bfc",
    "new ram", "ufunc", "yielded", "channels", "missing", "magic number", "array", "contracting", "written",
    "inline_container", "backend", "blas", "solver", "cusparse", "status", "datei", "fichier", "archivo", "文件",
    "模块", "系统", "speicher", "mémoire", "memoria", "内存", "auslagerung", "pagination", "paginación", "页面", "espace",
    "espacio", "空间", "introuvable", "encontr", "gefunden", "找不到", "sse", "fma", "nccl", "gloo",
    "mpi", "llvm", "than", "over", "above", ">", "constants", "found", "upgrade", "uninitial", "reuse", "tracer",
    "assigned", "n_classes", "processor", "rectang", "negative", "inconsist", "matched", "model", "sequence",
    "insufficient", "format", "extraneous", "misaligned", "fallen", "xid", "nvidia", "loss is", "loss was",
    "became", "infinity", "loss scale", "stale", ".empty()", "replica", "strategy", "convolution", "axes", "execution plan",
    "engine config", "cufft", "curand", "retries", "credential", "storage", "forbidden", "connection", "imdecode", "checkvector",
    "hash", "digest", "store", "header",
)  # fmt: skip


_BLOCK_LINES = 64
"""Few enough that most blocks have few of the words, many enough that most words are looked for only once a block."""


def is_telling(text: str) -> bool:
    """Whether a line may speak of a failure; most lines of a log do not."""
    folded = text[:2_000].lower()
    return any(word in folded for word in TELLTALES)


def lines_with(lines: Sequence[LogLine], words: tuple[str, ...] = TELLTALES) -> Iterator[LogLine]:
    """The lines that have one of the words; many lines are asked at once, which is where the time of a large log goes."""
    for start in range(0, len(lines), _BLOCK_LINES):
        block = lines[start : start + _BLOCK_LINES]
        folded = [line.text[:2_000].lower() for line in block]
        together = "\n".join(folded)
        here = [word for word in words if word in together]
        if here:
            yield from (line for line, text in zip(block, folded, strict=True) if any(word in text for word in here))
