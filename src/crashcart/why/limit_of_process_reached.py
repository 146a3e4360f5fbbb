"""W111 limit-of-process-reached."""

from __future__ import annotations

import re
from collections.abc import Iterator

from crashcart.evidence import Ending, ErrorRecord, Log, Machine, Sample
from crashcart.finding import Finding
from crashcart.rule import Rank, rule
from crashcart.units import size
from crashcart.why._said import Kind
from crashcart.why._statement import conclude
from crashcart.why._text import stated

_FILES = re.compile(r"open files|errno 2[34]|ancdata|inotify|random_device")
_FILE_SIZE = re.compile(r"errno 27|file too large")


@rule("W111", "limit-of-process-reached", Rank.KIND)
def limit_of_process_reached(
    errors: tuple[ErrorRecord, ...],
    log: Log | None = None,
    ending: Ending | None = None,
    machine: Machine | None = None,
    samples: tuple[Sample, ...] | None = None,
) -> Iterator[Finding]:
    """A limit other than memory was reached: open files, threads and processes, or the size of a file.

    ## What it means

    The system bounds how many files, threads and processes one user or one container may have. Data loaders, thread
    pools of several libraries and files that are never closed use them up, mostly long before memory is short.

    ## How we know

    The message states it (error 24 for files, error 11 or a failed pthread_create for threads). The limit in force is
    given where it was read; for threads the container's own (`pids.max`) where it is tighter than the user's.

    ## What to do

    Close files and end threads that are no longer needed; then raise the limit.
    """
    for statement in stated(Kind.PROCESS_LIMIT, errors, log, ending):
        text = statement.said.folded
        if _FILE_SIZE.search(text):
            yield conclude(
                statement, "a file would grow larger than allowed", _FILE_SIZE_REMEDY, *_limits(machine, "fsize")
            )
        elif _FILES.search(text):
            yield conclude(
                statement, "too many files are open in this process", _FILES_REMEDY, *_limits(machine, "nofile")
            )
        else:
            group = _binding_group(machine)
            yield conclude(
                statement,
                "no further thread or process may be started",
                _GROUP_REMEDY if group else _THREADS_REMEDY,
                *_threads(samples),
                *([group] if group else _limits(machine, "nproc")),
            )


_FILES_REMEDY = (
    "close what is opened in the loop: `with open(...)`, Image.open(...).load() and close, one writer instead of"
    " one per step",
    "raise the limit for this shell: `ulimit -n 65535`; in a container: `--ulimit nofile=65535:65535`",
    "fewer workers; for PyTorch: torch.multiprocessing.set_sharing_strategy('file_system')",
    "`lsof -p PID | awk '{print $9}' | sort | uniq -c | sort -n | tail` shows which files are open many times",
)
_THREADS_REMEDY = (
    "start fewer: workers of data loaders, num_parallel_calls, and OMP_NUM_THREADS=1 in each worker process",
    "end what is started in the loop: executors, sessions, pools and generators that are made anew in each step",
    "raise the limit: `ulimit -u`, in a container `--pids-limit`, in Kubernetes the node's podPidsLimit",
)
_GROUP_REMEDY = (
    *_THREADS_REMEDY[:2],
    "raise the container's or job's limit: `docker run --pids-limit`, systemd's TasksMax=, in Kubernetes the node's"
    " podPidsLimit; `ulimit -u` does not help here",
)
_FILE_SIZE_REMEDY = (
    "raise the limit on file sizes: `ulimit -f unlimited`",
    "write several smaller files; some file systems (FAT32) end at 4 GB",
)


def _threads(samples: tuple[Sample, ...] | None) -> Iterator[str]:
    most = max((each.threads for each in samples or () if each.threads is not None), default=0)
    if most > 1:
        yield f"{most} threads of the program were seen at most"


def _binding_group(machine: Machine | None) -> str | None:
    """The tightest limit of the program's groups, in words, where it is tighter than the user's own."""
    limits = machine.task_limits if machine is not None else {}
    source = min(limits, key=lambda each: limits[each], default=None)
    own = (machine.rlimits or {}).get("nproc") if machine is not None else None
    if source is None or (own is not None and own <= limits[source]):
        return None
    return f"its container or job may have {limits[source]} threads and processes together ({source})"


_LETTERS = {"nofile": "n", "nproc": "u", "fsize": "f"}


def _limits(machine: Machine | None, name: str) -> Iterator[str]:
    value = (machine.rlimits or {}).get(name) if machine else None
    if value is not None:
        yield f"the limit in force is {size(value) if name == 'fsize' else value} (ulimit -{_LETTERS[name]})"
