"""W215 device-code-failed."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.evidence import Ending, ErrorRecord, Log
from crashcart.finding import Finding
from crashcart.rule import Rank, rule
from crashcart.why._advice import Advice, advice, advise
from crashcart.why._said import Kind
from crashcart.why._statement import conclude
from crashcart.why._text import stated

_EXACT = "run once with CUDA_LAUNCH_BLOCKING=1 (or on the CPU): the line that is named otherwise may be a later one"
_ADVICE: tuple[Advice, ...] = (
    advice(
        r"ecc|fallen off|xid|uncorrectable|hardware|device lost|gpu is lost",
        "the card itself failed, or was lost",
        "look at `dmesg -T | grep -i -e xid -e nvrm` and `nvidia-smi -q`: a number after Xid names the fault of the hardware",
        "restart the machine; check power, temperature and seating of the card; a returning fault means another card",
    ),
    advice(
        r"",
        "code on the device touched memory that is not its own, or did not end in order",
        _EXACT,
        "check what indexes on the device: labels, token ids, gather and scatter indices against the sizes they look into",
        "`compute-sanitizer python your_script.py` names the kernel; then try another version of the framework, of cuDNN or of"
        " the driver, and rule out the hardware on another card",
    ),
)


@rule("W215", "device-code-failed", Rank.KIND)
def device_code_failed(
    errors: tuple[ErrorRecord, ...], log: Log | None = None, ending: Ending | None = None
) -> Iterator[Finding]:
    """A kernel on the graphics card failed: an illegal access, a failed launch, a fault of the card.

    ## What it means

    Code that ran on the device touched memory that is not its own, or the device was lost. The device is unusable for
    the rest of the process. It is no lack of memory, whatever the word "memory" in the message suggests.

    ## How we know

    CUDA says so: "an illegal memory access was encountered", "unspecified launch failure", an ECC error, a device that
    fell off the bus. Errors come late: the named line may not be the one at fault.

    ## What to do

    Find the exact operation with CUDA_LAUNCH_BLOCKING=1, and look at its indices first; then versions, driver, hardware.
    """
    for statement in stated(Kind.DEVICE_CODE, errors, log, ending):
        row = advise(_ADVICE, statement.said.text)
        yield conclude(statement, row.headline, row.remedy)
