"""D202: the interpreter was built for another processor, and runs emulated."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.doctor._builds import tensorflow_of
from crashcart.evidence import Machine
from crashcart.finding import Cause, Confidence, Finding, Level
from crashcart.installation import Installation
from crashcart.rule import Rank, rule

_ARM = frozenset({"arm64", "aarch64"})
_INTEL = frozenset({"x86_64", "AMD64", "amd64"})


@rule("D202", "interpreter-is-emulated", Rank.ROOT)
def interpreter_is_emulated(installation: Installation, machine: Machine) -> Iterator[Finding]:
    """An x86-64 Python runs on an ARM processor, through Rosetta or QEMU.

    ## What it means

    It works for plain Python, slowly. TensorFlow's x86-64 wheels use AVX instructions, which Rosetta before macOS 15
    and QEMU before 7.2 do not have: `import tensorflow` then ends the process without a message. Where the emulation
    has them, all arithmetic is translated, several times slower than the native wheel.

    ## How we know

    The interpreter says what it was built for; the kernel (`/proc/sys/kernel/arch`, `hw.optional.arm64`), the
    processor's own entry, or its name (`VirtualApple`) says what the machine is. They differ.

    ## What to do

    Use an arm64 Python, or an arm64 image (`docker run --platform linux/arm64`). TensorFlow has full arm64 wheels
    from 2.15.1 on macOS and from 2.16 on Linux, for the CPU.
    """
    built = installation.interpreter.architecture
    emulated = machine.architecture in _ARM or (machine.cpu_model or "").startswith("VirtualApple")
    if built not in _INTEL or not emulated or installation.plan is not None:
        return
    flags = machine.cpu_flags or frozenset()
    lacks = "sse2" in flags and "avx" not in flags
    yield Finding(
        Cause.CPU_INSTRUCTIONS,
        f"this Python is built for {built} and runs emulated on an ARM processor",
        (
            f"the interpreter {installation.interpreter.executable or ''} is {built}; the machine is"
            f" {machine.architecture if machine.architecture in _ARM else machine.cpu_model}",
            *(("the emulated processor shows no avx",) if lacks else ()),
            "Rosetta before macOS 15 and QEMU before 7.2 have no AVX, which TensorFlow's x86-64 wheels need",
        ),
        tuple(_remedies(installation)),
        Confidence.LIKELY,
        level=Level.RISK if tensorflow_of(installation) is not None else Level.NOTE,
    )


def _remedies(installation: Installation) -> Iterator[str]:
    if installation.interpreter.system == "Darwin":
        if installation.interpreter.tool == "conda":
            yield "`CONDA_SUBDIR=osx-arm64 conda create -n tf python=3.12 && conda run -n tf pip install tensorflow`"
        else:
            yield "`arch -arm64 /usr/bin/python3 -m venv .venv-arm64 && .venv-arm64/bin/python -m pip install tensorflow`"
        yield '`python -c "import platform; print(platform.machine())"` must say arm64'
    else:
        yield "run an image for the machine's own processor: `docker run --platform linux/arm64 …`"
