"""What to do where the processor lacks an instruction, by the machine it is. No rule is declared here."""

from __future__ import annotations

from crashcart.evidence import Machine

_GENERAL = (
    "install a build for this CPU: an older release (TensorFlow 1.5 is the last wheel without AVX), a conda-forge build, or"
    " one built from source here",
    "run where `lscpu` lists avx, avx2 and fma (in a VM: pass the host CPU through)",
    "on an ARM board (Jetson, Raspberry Pi): `export OPENBLAS_CORETYPE=ARMV8` before Python starts, or another numpy",
)
_APPLE = (
    "on Apple silicon (M1 and later) use an arm64 Python, not an x86_64 one under Rosetta, which has no AVX: `python -c"
    ' "import platform; print(platform.machine())"` must say arm64',
    "then install the arm64 wheels into a new environment (miniforge, or python.org's universal installer)",
)


def for_processor(machine: Machine | None) -> tuple[str, ...]:
    """Advice for the machine: an Apple one runs foreign code under emulation, which is the usual reason there."""
    if machine is not None and machine.system == "Darwin":
        return (*_APPLE, *_GENERAL[:1])
    return _GENERAL


def processor_facts(machine: Machine | None) -> tuple[str, ...]:
    """What is known of the processor that bears on it."""
    if machine is None:
        return ()
    emulated = machine.architecture == "x86_64 on arm64"
    facts = ["the interpreter is x86_64 and the machine arm64: it runs emulated, without AVX"] if emulated else []
    if machine.cpu_flags is not None and "avx" not in machine.cpu_flags:
        facts.append("its flags have no avx")
    return tuple(facts)
