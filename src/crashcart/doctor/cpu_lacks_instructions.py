"""D204: the processor lacks instructions that this TensorFlow uses."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.doctor._builds import change_release, newest_release, official
from crashcart.doctor._facts import minor_of, parsed
from crashcart.evidence import Machine
from crashcart.finding import Cause, Confidence, Finding, Level
from crashcart.installation import Distribution, Installation
from crashcart.rule import Rank, rule

_INTEL = frozenset({"x86_64", "AMD64", "amd64"})
# Measured with emulated processors: these minor versions look before they leap, and abort with a message.
_SAY_SO = frozenset({"2.7", "2.8", "2.9", "2.10", "2.11"})


@rule("D204", "cpu-lacks-instructions", Rank.ROOT)
def cpu_lacks_instructions(installation: Installation, machine: Machine) -> Iterator[Finding]:
    """The processor does not have instructions that TensorFlow's wheel was compiled to use.

    ## What it means

    The x86-64 wheels use AVX since 1.6: without it `import tensorflow` ends the process (signal 4, exit code 132,
    mostly without a word). 2.4.0 alone needs AVX2. From 2.21 on, the first float16 conversion needs F16C, which the
    first AVX processors (2011, Sandy Bridge) lack; float32 works there. AVX2, FMA and AVX-512 are used where they are
    there and never needed: their absence is not reported.

    ## How we know

    The flags of /proc/cpuinfo; what each release needs was measured by running its wheel on emulated processors with
    and without the instructions. In virtual machines the host may have what the guest is not shown.

    ## What to do

    In a virtual machine, pass the host's processor through (`-cpu host`, "host-passthrough"). Otherwise another
    machine, a conda-forge build, or one built from source here.
    """
    found, flags = official(installation), machine.cpu_flags
    foreign = machine.architecture not in _INTEL  # emulated: the flags are those of another kind of processor
    if found is None or not flags or foreign or installation.interpreter.architecture not in _INTEL:
        return
    version = parsed(found.version)
    if version is None:
        return
    if "avx" not in flags:
        yield _fatal(found, machine, "AVX", "avx", _remedies_for_avx(machine))
    elif found.version == "2.4.0" and "avx2" not in flags:
        remedy = (change_release(installation, found.name, "2.4.4"), "2.4.1 and later need AVX alone")
        yield _fatal(found, machine, "AVX2", "avx2", remedy)
    elif (version.major, version.minor) >= (2, 21) and "f16c" not in flags:
        yield _half_precision(installation, found, machine)


def _facts(machine: Machine, flag: str) -> tuple[str, ...]:
    model = machine.cpu_model or "the processor"
    flags = machine.cpu_flags or frozenset()
    virtual = ("it is a virtual machine (flag hypervisor): the host's processor may have more than is shown",)
    return (f"{model}: its flags have no {flag}", *(virtual if "hypervisor" in flags else ()))


def _fatal(found: Distribution, machine: Machine, called: str, flag: str, remedy: tuple[str, ...]) -> Finding:
    says = minor_of(found.version) in _SAY_SO and flag == "avx"
    end = "signal 6, with a message" if says else "signal 4, exit code 132, without a message"
    return Finding(
        Cause.CPU_INSTRUCTIONS,
        f"this processor has no {called}: `import tensorflow` will end the process",
        (*_facts(machine, flag), f"{found.name} {found.version} was compiled to use {called}; it ends by {end}"),
        remedy,
        Confidence.CERTAIN if found.pinned else Confidence.LIKELY,
    )


def _remedies_for_avx(machine: Machine) -> tuple[str, ...]:
    passed = "show the host's processor to the virtual machine: `-cpu host` (QEMU), host-passthrough (libvirt)"
    virtual = "hypervisor" in (machine.cpu_flags or frozenset())
    return (
        *((passed,) if virtual else ()),
        "every wheel needs it; a build of conda-forge, or from source, may not: `conda create -n tensorflow -c conda-forge"
        " tensorflow-cpu`, and look whether it imports",
        "or run on a machine where `grep -c avx /proc/cpuinfo` is not 0",
    )


def _half_precision(installation: Installation, found: Distribution, machine: Machine) -> Finding:
    older = newest_release(
        installation.interpreter.minor, lambda build: bool(build) and "f16c" not in build["instructions"]
    )
    remedy = (change_release(installation, found.name, older),) if older else ()
    return Finding(
        Cause.CPU_INSTRUCTIONS,
        "this processor has no F16C: the first float16 operation will end the process",
        (
            *_facts(machine, "f16c"),
            f"{found.name} {found.version} imports and computes in float32; measured: `tf.cast(x, tf.float16)` ends by signal 4",
        ),
        (*remedy, f"{'or ' if remedy else ''}keep away from float16: no mixed_float16 policy, no float16 inputs"),
        Confidence.CERTAIN if found.pinned else Confidence.LIKELY,
        level=Level.RISK,
    )
