"""What the text around a told ending says about its surroundings. No rule is declared here.

Covers: whether a log speaks of a container, a job, a notebook, a GPU, Apple's Metal, Windows; which way of looking closer
fits there.
Does not cover: recorded runs, whose evidence says all this itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from crashcart.evidence import Crash, Ending, Log
from crashcart.finding import Cause, Confidence, Finding, Where
from crashcart.why._crash import in_library
from crashcart.why._statement import quote_line

_SURROUNDINGS = {
    "container": re.compile(
        r"\bdocker|\bcontainer|\bkube|\bpods?\b|\bexited with code|command terminated with exit code|/kaggle/|\bslurm|\bsrun\b"
        r"|sagemaker|\.batch\b|\bk8s|^\s*[\w.-]{1,40}_\d+\s{0,8}\|",
        re.IGNORECASE,
    ),
    "notebook": re.compile(
        r"\bkernel (?:died|for|re|app|cra)|kernel: (?:re|dead|start)|\.ipynb|jupyter|execute_request|ipykernel|colab",
        re.IGNORECASE,
    ),
    "gpu": re.compile(r"\bcuda|\bcudnn|\bcublas|\bgpu\b|nvidia|libcu\w{1,40}\.so|\bsm_\d\d", re.IGNORECASE),
    "metal": re.compile(
        r"metal device|tensorflow-metal|metal_plugin|Metal Performance|mps_graph|\bMPSG?\w{0,40}|Apple M\d",
        re.IGNORECASE,
    ),
    "windows": re.compile(r"0xC0000|-10737\d{5}|[A-Z]:\\|\.dll\b|Windows fatal", re.IGNORECASE),
    "emulated": re.compile(r"\bqemu: |platform \(linux/\w{1,10}\) does not match", re.IGNORECASE),
    "worker": re.compile(
        r"dataloader worker|process pool|worker process|forkpoolworker|exit codes of the workers", re.IGNORECASE
    ),
}
_LOOKED_AT = 2_000


def surroundings(log: Log | None) -> frozenset[str]:
    """What the text speaks of: container, notebook, gpu, metal, windows, worker."""
    lines = [line.text[:600] for line in (log.lines[-_LOOKED_AT:] if log is not None else ())]
    return frozenset(name for name, pattern in _SURROUNDINGS.items() if any(map(pattern.search, lines)))


def ways_to_look(log: Log | None) -> Iterator[str]:
    """How to get at the reason of a native crash that a log only names, what fits the surroundings first."""
    about = surroundings(log)
    if "metal" in about:
        yield (
            "the Metal plug-in is the first suspect: run on the CPU (`tf.config.set_visible_devices([], 'GPU')`), then"
            " take the tensorflow-metal version that belongs to this TensorFlow"
        )
    if "emulated" in about:
        yield (
            "the image is for another processor and runs under emulation: take one for this machine (arm64 on Apple silicon:"
            " `docker run --platform linux/arm64 …`), or run it on a machine of the image's platform"
        )
    if "gpu" in about or "windows" in about:
        yield "check that CUDA, cuDNN and the driver have the versions that this build was made for; then suspect the hardware"
    yield (
        "get the stack: `python -X faulthandler your_script.py` names the Python line, `gdb -ex run -ex bt --args python"
        " your_script.py` the native library"
    )
    yield (
        "a crash at an import: change the order of the imports (TensorFlow first, then torch, OpenCV, SciPy), or try a"
        " fresh environment with one framework in it"
    )
    yield "try another version of the library that the stack names: upgrade it, or downgrade to the last release that worked"


def told_crashes(
    ending: Ending, crash: Crash | None, facts: list[str], where: Where | None, log: Log | None
) -> Iterator[Finding]:
    """A crash that a log tells of: what is sure is that native code ended it; without a stack, others may be behind it."""
    fact = quote_line(ending.said)
    remedy = tuple(ways_to_look(log))
    emulated = "emulated" in surroundings(log)
    yield Finding(
        Cause.CPU_INSTRUCTIONS if emulated else Cause.NATIVE_CRASH,
        "it crashed under emulation, which lacks what the build uses"
        if emulated
        else "it crashed in native code" + in_library(crash),
        (fact, *facts),
        remedy,
        Confidence.LIKELY,
        where,
    )
    if crash is None:
        yield Finding(
            Cause.LIBRARY_CONFLICT,
            "two packages may have brought libraries that do not fit each other",
            (fact, "without a stack the text does not tell the two apart"),
            remedy,
            Confidence.POSSIBLE,
            where,
        )
