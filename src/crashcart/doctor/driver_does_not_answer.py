"""D307: an NVIDIA driver is there and does not answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from crashcart.doctor._cuda import gpu_build
from crashcart.evidence import Machine
from crashcart.finding import Cause, Confidence, Finding, Level
from crashcart.installation import Installation
from crashcart.rule import Rank, rule

_ADVICE = (
    (
        "version mismatch",
        "the driver's libraries were updated and its kernel module is still the old one",
        ("restart the machine (or unload the module `nvidia`, with everything that uses it, and load it again)",),
    ),
    (
        "permission",
        "this user may not use the device files",
        ("`ls -l /dev/nvidia*`, and add yourself to their group (`sudo usermod -aG video $USER`), then log in again",),
    ),
    (
        "not loaded",
        "the kernel module of the driver is not loaded",
        ("`sudo modprobe nvidia`; where that fails, install the driver anew for this kernel (`dkms status`)",),
    ),
    (
        "not found",
        "the kernel module is there and the driver's libraries are not",
        (
            "in a container: start it with `--gpus all` (the NVIDIA container toolkit brings the libraries in)",
            "on the machine itself: install the driver's packages again",
        ),
    ),
    ("", "the driver reports an error", ("`nvidia-smi` and `sudo dmesg | grep -i nvrm` tell more; restart the machine",)),
)  # fmt: skip


@rule("D307", "driver-does-not-answer", Rank.ROOT)
def driver_does_not_answer(
    absent: Mapping[str, str], machine: Machine, installation: Installation | None = None
) -> Iterator[Finding]:
    """There are signs of an NVIDIA driver, and it cannot be asked: TensorFlow will not see a GPU either.

    ## What it means

    The usual reason is an update of the driver without a restart: its libraries are new and the module in the kernel
    is old ("Driver/library version mismatch"). Others: a container without the driver's libraries, no right to the
    device files, a module that was not loaded.

    ## How we know

    The driver's management library (NVML) answers with the error that the finding quotes. Where libcuda can be found
    and only NVML cannot, nothing is said: programs do not need NVML. Where no TensorFlow with GPU code is installed,
    it is a note.

    ## What to do

    What the finding says for the error; most often, restart the machine.
    """
    reason = absent.get("gpus", "")
    if not machine.nvidia_driver or "does not answer" not in reason:
        return
    said = reason.partition("does not answer:")[2].strip()
    libraries = (installation.libraries if installation is not None else None) or ()
    cuda = [each for each in libraries if each.name == "libcuda.so.1"]
    if "not found" in said.lower() and cuda:
        return  # reachable: no need for NVML; out of reach: the rule for that speaks
    meaning, remedy = next((words, steps) for key, words, steps in _ADVICE if key in said.lower())
    yield Finding(
        Cause.CUDA_MISMATCH,
        f"the NVIDIA driver does not answer ({said}): programs will not find a GPU",
        (f"NVML says: {said}", meaning),
        remedy,
        Confidence.LIKELY,
        level=Level.RISK if installation is None or gpu_build(installation) is not None else Level.NOTE,
    )
