"""D309: in Windows' Linux subsystem, the driver's libraries are not on the loader's path."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.doctor._cuda import gpu_build
from crashcart.evidence import Machine
from crashcart.finding import Cause, Confidence, Finding, Level
from crashcart.installation import Installation
from crashcart.rule import Rank, rule

_FOLDER = "/usr/lib/wsl/"


@rule("D309", "wsl-driver-not-on-path", Rank.ROOT)
def wsl_driver_not_on_path(installation: Installation, machine: Machine) -> Iterator[Finding]:
    """Windows lends its driver to Linux in /usr/lib/wsl/lib, and the loader does not look there.

    ## What it means

    libcuda.so.1 is not found, or only by some libraries: TensorFlow sees no GPU, or the process aborts at the first
    convolution, when cuDNN asks for it ("Could not load library libcuda.so").

    ## How we know

    The kernel is that of the subsystem, the library lies in its folder, and neither LD_LIBRARY_PATH nor the loader's
    cache names it. That it aborts was reported, not measured here.

    ## What to do

    `export LD_LIBRARY_PATH=/usr/lib/wsl/lib:$LD_LIBRARY_PATH`, for good in `~/.bashrc`.
    """
    libraries = [each for each in installation.libraries or () if each.name == "libcuda.so.1"]
    subsystem = "microsoft" in (machine.release or "").lower()
    lent = next((each for each in libraries if each.owner is None and each.path.startswith(_FOLDER)), None)
    if not subsystem or lent is None or any(each.owner is not None for each in libraries):
        return
    yield Finding(
        Cause.CUDA_MISMATCH,
        "the driver that Windows lends is not on the loader's path: no GPU, or an abort at the first convolution",
        (f"{lent.path} is there", "neither LD_LIBRARY_PATH nor the loader's cache names its folder"),
        ("`export LD_LIBRARY_PATH=/usr/lib/wsl/lib:$LD_LIBRARY_PATH`, also in ~/.bashrc",),
        Confidence.LIKELY,
        level=Level.PROBLEM if gpu_build(installation) is not None else Level.NOTE,
    )
