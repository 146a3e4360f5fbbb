"""D403: a limit of the process (ulimit, pids.max) is so low that something breaks."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.doctor._builds import tensorflow_of
from crashcart.evidence import GpuDevice, Machine
from crashcart.finding import Cause, Confidence, Finding, Level
from crashcart.installation import Installation
from crashcart.rule import Rank, rule
from crashcart.units import GIB, KIB, duration, plural, size

# Measured with TensorFlow 2.21 for the CPU, by lowering one limit at a time:
# address space: the import fails below 1.05 GB, a small training aborts at 1.5 GB and passes at 2 GB (2 cores);
# threads: a training has 2 per core and 5 more (9 with 2, 21 with 8, 37 with 16);
# stack: at 64 KiB it ends by signal 11, at 128 KiB it trains; open files: 8 are enough for TensorFlow itself.
_IMPORT_ADDRESS_BYTES = 1_100_000 * KIB
_TRAIN_ADDRESS_BYTES = 2_000_000 * KIB
_LEAST_STACK_BYTES = 128 * KIB
_THREADS_PER_CORE, _OTHER_THREADS = 2, 5
_THREADS_TO_SPARE = 32
# macOS gives 256 by default, Linux 1024; a pipeline that interleaves files opens up to 16 at once, a loader with workers tens.
_FEW_FILES = 256
_SMALL_FILE_BYTES = 1 * GIB
_SHORT_CPU_S = 3600


@rule("D403", "process-limits-low", Rank.KIND)
def process_limits_low(
    machine: Machine, gpus: tuple[GpuDevice, ...] | None = None, installation: Installation | None = None
) -> Iterator[Finding]:
    """A limit on the process's address space, threads, stack, open files, file size or processor time is low.

    ## What it means

    Such limits do not show until they are hit, and then the errors are odd: "failed to map segment from shared
    object" (address space), "Resource temporarily unavailable" or an abort when a thread cannot be started, "Too many
    open files", SIGXFSZ, SIGXCPU.

    ## How we know

    The soft limits of this process (programs started from here inherit them) and the pids limit of its control
    groups. The bounds were measured with TensorFlow 2.21 by lowering one limit at a time. The limit on locked memory
    is not judged: CUDA does not need it.

    ## What to do

    Raise the limit in the shell that starts the program (`ulimit -v unlimited`, `ulimit -n 4096`), in the service
    (`LimitNOFILE=`), or for the container (`--pids-limit`, `--ulimit`).
    """
    limits = machine.rlimits or {}
    if installation is None or tensorflow_of(installation) is not None:
        yield from _address_space(limits.get("as"), bool(gpus))
        yield from _threads(machine)
        yield from _stack(limits.get("stack"))
    yield from _others(limits.get("nofile"), limits.get("fsize"), limits.get("cpu"))


def _finding(headline: str, facts: tuple[str, ...], remedy: str, level: Level = Level.RISK) -> Finding:
    return Finding(Cause.PROCESS_LIMIT, headline, facts, (remedy,), Confidence.LIKELY, level=level)


def _address_space(most: int | None, gpu: bool) -> Iterator[Finding]:
    if most is None:
        return
    remedy = "`ulimit -v unlimited` in the shell that starts the program; bound memory with a container instead"
    said = f"address space (ulimit -v): {size(most)}"
    if most < _IMPORT_ADDRESS_BYTES:
        facts = (said, f"measured: `import tensorflow` needs {size(_IMPORT_ADDRESS_BYTES)}")
        yield _finding(
            "`import tensorflow` will fail: too little address space is allowed", facts, remedy, Level.PROBLEM
        )
    elif most < _TRAIN_ADDRESS_BYTES:
        facts = (
            said,
            f"measured: a small training needs {size(_TRAIN_ADDRESS_BYTES)} with 2 cores, and more with more",
        )
        yield _finding("training will run out of address space", facts, remedy)
    elif gpu:
        facts = (
            said,
            "CUDA reserves address space for the machine's and the devices' memory at once (not measured here)",
        )
        headline = "a limit on address space may keep CUDA from starting"
        yield Finding(Cause.PROCESS_LIMIT, headline, facts, (remedy,), Confidence.POSSIBLE, level=Level.RISK)


def _threads(machine: Machine) -> Iterator[Finding]:
    if machine.cores is None:
        return
    needed = _THREADS_PER_CORE * machine.cores + _OTHER_THREADS
    bounds = dict(machine.task_limits)
    own = (machine.rlimits or {}).get("nproc")
    if own is not None:
        bounds["ulimit -u (all processes of this user together)"] = own
    source, most = min(bounds.items(), key=lambda each: each[1], default=("", None))
    if most is None or most >= needed + _THREADS_TO_SPARE:
        return
    facts = (
        f"{source}: {most}",
        f"a training has {plural(needed, 'thread')} on {plural(machine.cores, 'core')}, and other processes count too",
    )
    remedy = (
        "`docker run --pids-limit 1024 …`, `ulimit -u 4096`; or fewer threads: `export TF_NUM_INTRAOP_THREADS=2"
        " TF_NUM_INTEROP_THREADS=2`"
    )
    headline = f"only {plural(most, 'thread')} and processes are allowed: TensorFlow's threads " + (
        "cannot all start, and the program will abort" if most < needed else "leave little room for others"
    )
    # The user's own limit does not bind root, who started many a container.
    binds = most < needed and source in machine.task_limits
    yield _finding(headline, facts, remedy, Level.PROBLEM if binds else Level.RISK)


def _stack(most: int | None) -> Iterator[Finding]:
    if most is not None and most < _LEAST_STACK_BYTES:
        facts = (
            f"stack (ulimit -s): {size(most)}",
            "measured: with 64 KiB, TensorFlow ends by signal 11 at the import",
        )
        yield _finding("the stack is too small for TensorFlow", facts, "`ulimit -s 8192`", Level.PROBLEM)


def _others(files: int | None, file_bytes: int | None, cpu_s: int | None) -> Iterator[Finding]:
    if files is not None and files < _FEW_FILES:
        facts = (
            f"open files (ulimit -n): {files}",
            "TensorFlow needs few; data loaders with workers and many shards need hundreds",
        )
        yield _finding(f"only {plural(files, 'file')} may be open at once", facts, "`ulimit -n 4096`")
    if file_bytes is not None and file_bytes < _SMALL_FILE_BYTES:
        facts = (f"file size (ulimit -f): {size(file_bytes)}", "a larger checkpoint ends the program (SIGXFSZ)")
        yield _finding(f"no file may be larger than {size(file_bytes)}", facts, "`ulimit -f unlimited`")
    if cpu_s is not None and cpu_s < _SHORT_CPU_S:
        facts = (
            f"processor time (ulimit -t): {duration(cpu_s)}",
            "all threads count together; then SIGXCPU ends the program",
        )
        yield _finding(
            f"the program will be ended after {duration(cpu_s)} of processor time", facts, "`ulimit -t unlimited`"
        )
