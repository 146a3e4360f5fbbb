"""D311: an NVIDIA card is on the bus, and no driver can be seen."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.doctor._cuda import gpu_build
from crashcart.evidence import Machine
from crashcart.finding import Cause, Confidence, Finding, Level
from crashcart.installation import Installation
from crashcart.rule import Rank, rule
from crashcart.units import plural


@rule("D311", "card-without-driver", Rank.ROOT)
def card_without_driver(machine: Machine, installation: Installation | None = None) -> Iterator[Finding]:
    """The machine has an NVIDIA card, and from here there is no driver for it.

    ## What it means

    TensorFlow will compute on the CPU. Either no driver is installed on the machine, or this is a container that was
    started without the GPU.

    ## How we know

    The PCI bus lists the card (vendor 10de); none of the driver's signs (/dev/nvidiactl, /proc/driver/nvidia) is
    there. It is a risk where the TensorFlow with GPU code is installed, a note otherwise.

    ## What to do

    In a container: `docker run --gpus all …`. On the machine: install NVIDIA's driver. Nothing, if the CPU is what
    you want.
    """
    if not machine.nvidia_cards or machine.nvidia_driver is not False:
        return
    wants = installation is not None and gpu_build(installation) is not None
    yield Finding(
        Cause.CUDA_MISMATCH,
        f"{plural(machine.nvidia_cards, 'NVIDIA card')} in this machine, and no driver can be seen from here",
        ("the PCI bus lists it", "/dev/nvidiactl and /proc/driver/nvidia/version are not there"),
        (
            "in a container: start it with the GPU, `docker run --gpus all …`",
            "on the machine itself: install NVIDIA's driver (Ubuntu: `sudo ubuntu-drivers install`), and restart",
        ),
        Confidence.LIKELY,
        level=Level.RISK if wants else Level.NOTE,
    )
