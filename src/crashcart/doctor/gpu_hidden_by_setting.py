"""D305: CUDA_VISIBLE_DEVICES hides GPUs that are there."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.evidence import Environment, GpuDevice
from crashcart.finding import Cause, Confidence, Finding, Level
from crashcart.rule import Rank, rule
from crashcart.units import plural

_NAME = "CUDA_VISIBLE_DEVICES"


@rule("D305", "gpu-hidden-by-setting", Rank.ROOT)
def gpu_hidden_by_setting(environment: Environment, gpus: tuple[GpuDevice, ...]) -> Iterator[Finding]:
    """CUDA_VISIBLE_DEVICES leaves out GPUs that the driver shows.

    ## What it means

    CUDA shows a program only the devices that the variable lists, numbered anew from 0. With -1, or nothing, there is
    none. At the first number that does not exist, the list ends: with two GPUs, `2,0` shows none.

    ## How we know

    The variable as it is set here, and the number of devices that the driver shows. An empty or -1 setting may be
    meant, so it is a note; a number that does not exist is a mistake, and a risk.

    ## What to do

    `unset CUDA_VISIBLE_DEVICES`, or list devices that exist.
    """
    value = environment.variables.get(_NAME)
    if value is None or not gpus:
        return
    entries = [each.strip() for each in value.split(",")]
    there = f"the driver shows {plural(len(gpus), 'device')}: " + ", ".join(
        f"{each.index} {each.name}" for each in gpus[:4]
    )
    wrong = next((each for each in entries if each.isdecimal() and int(each) >= len(gpus)), None)
    if wrong is not None:
        left = entries.index(wrong)
        shown = "no GPU is visible" if left == 0 else f"only the first {left} of its list are visible"
        yield _finding(f"{_NAME} names device {wrong}, which is not here: {shown}", value, there, Level.RISK)
    elif not value.strip() or entries[0].startswith("-") or entries[0] == "NoDevFiles":
        yield _finding(f"{_NAME} hides every GPU: programs started here use the CPU", value, there, Level.NOTE)


def _finding(headline: str, value: str, there: str, level: Level) -> Finding:
    return Finding(
        Cause.DEVICE_PLACEMENT,
        headline,
        (f"{_NAME}={value!r}", there),
        (f"`unset {_NAME}`, or list devices by the numbers of `nvidia-smi -L`",),
        Confidence.CERTAIN,
        level=level,
    )
