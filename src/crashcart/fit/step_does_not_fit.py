"""F101: the step takes more memory than there is."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.finding import Cause, Confidence, Finding, Level
from crashcart.rule import Rank, rule
from crashcart.step import Bounds, StepPeak
from crashcart.units import size

_MOST_REMEDIES = 4


@rule("F101", "step-does-not-fit", Rank.ROOT)
def step_does_not_fit(step: StepPeak) -> Iterator[Finding]:
    """The step takes more memory at its peak than there is.

    ## What it means

    On a GPU, the first steps will fail with ResourceExhaustedError; on the host, the process will be killed.

    ## How we know

    The step that Keras would run was traced, and its tensors were laid out in time, each freed after its last reader, on a
    model of TensorFlow's allocator; on the host, what the libraries and the heap take besides was added. Where the step cannot
    be traced, small real steps were run in a child and extrapolated. Where only the upper bound is above what there is, the
    finding is a risk. Where a real run at that batch or a smaller one, held to that memory, died, it is certain; where one at
    that batch or a larger one lived, there is no finding.

    ## What to do

    Take the largest batch that fits, which the finding names, or one of the changes below it, each of which was estimated in the
    same way. Where not even a batch of one fits, the model itself must become smaller: smaller inputs, mixed precision, or an
    optimizer with fewer slots.
    """
    there, compared = step.available_bytes, step.compared
    if there is None or compared is None:
        return
    died = step.died is not None
    if step.fits:
        return
    sure = step.fits is False
    yield Finding(
        _cause(step),
        f"a {step.phase} step at batch {step.batch} {'does not fit' if sure else 'may not fit'}",
        tuple(_because(step, compared, there)),
        tuple(_remedies(step, compared)),
        Confidence.CERTAIN if died else Confidence.LIKELY if sure else Confidence.POSSIBLE,
        level=Level.PROBLEM if compared.bytes > there or died else Level.RISK,
    )


def _cause(step: StepPeak) -> Cause:
    if step.available_in == "container":
        return Cause.CONTAINER_MEMORY
    if step.available_in == "machine" or step.target == "host":
        return Cause.HOST_MEMORY
    return Cause.GPU_MEMORY


def _because(step: StepPeak, compared: Bounds, there: int) -> Iterator[str]:
    what = "the process grows by" if step.target == "host" else "it takes"
    yield f"{what} {size(compared.bytes)} at its peak ({size(compared.low_bytes)} … {size(compared.high_bytes)})"
    yield f"{size(there)} is there for it ({step.available_in})"
    if step.at:
        yield f"the peak is at {step.places.get(step.at, step.at)}"
    run = step.died
    if run is not None:
        yield f"a real step at batch {run.batch}, held to {size(run.limit_bytes)}, died: {run.how}"


def _remedies(step: StepPeak, compared: Bounds) -> Iterator[str]:
    most = step.largest_batch
    if most:
        yield f"a batch of {most} or less{_round(step, most)}"
    for each in step.remedies[:_MOST_REMEDIES]:
        cost = f" ({each.note})" if each.note else ""
        yield f"{each.name}: {size(each.peak_bytes)}, {saved(each.peak_bytes, compared)}{cost}: {each.how}"
    if most == 0:
        none = "not even a batch of one fits" if step.none_fits else "no batch surely fits"
        yield f"{none}: a smaller model, smaller inputs, or a larger machine"
    elif most is None and not step.remedies:
        yield "a smaller batch, smaller inputs, or a larger machine"


def _round(step: StepPeak, most: int) -> str:
    liked = sorted({each for each in (step.round_batch, step.even_batch) if each and each < most})
    return f", such as {' or '.join(map(str, liked))}" if liked else ""


def saved(peak_bytes: int, compared: Bounds) -> str:
    """`−41 %`, beside the figure that it is compared with."""
    return f"\N{MINUS SIGN}{100 * (1 - peak_bytes / max(1, compared.bytes)):.0f} %"
