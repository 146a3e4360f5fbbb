"""D306: the code names a device that is not here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from crashcart.doctor._cuda import other_gpus
from crashcart.evidence import DeviceName, Environment, GpuDevice
from crashcart.finding import Cause, Confidence, Finding, Level
from crashcart.installation import Installation
from crashcart.rule import Rank, rule
from crashcart.units import plural

_CONSEQUENCE = {
    "placed": "TensorFlow moves the operation to another device without a word (soft placement is on): it runs, slowly",
    "required": "the first operation there fails",
    "assigned": "the name alone uses nothing; what is put there later fails (PyTorch) or goes to another device (TensorFlow)",
    "listed": "the list is too short: IndexError",
    "visible": "CUDA shows the program no device from this entry of the list on",
}
_HARMLESS = frozenset({"placed", "visible", "assigned"})
_MOST_LINES = 5


@rule("D306", "device-not-here", Rank.ROOT)
def device_not_here(
    devices_named: tuple[DeviceName, ...],
    gpus: tuple[GpuDevice, ...] | None = None,
    environment: Environment | None = None,
    installation: Installation | None = None,
    absent: Mapping[str, str] | None = None,
) -> Iterator[Finding]:
    """The code names a GPU that this machine does not have, or does not show.

    ## What it means

    `tf.device("/GPU:1")` on a machine with one GPU does not fail by itself: TensorFlow takes another device, and the
    program is slow for no visible reason; with `tf.config.set_soft_device_placement(False)` it fails. PyTorch's
    `"cuda:1"` and `.cuda(1)` fail; `gpus[1]` of a list with one entry is an IndexError.

    ## How we know

    The names are read from the text of the files that were given; the devices are those that the driver shows and
    CUDA_VISIBLE_DEVICES lets through. Names behind a test for devices, or in a `try`, are left out. A name that is only
    assigned (`device = "cuda"`) is a possible risk, and left out where the file assigns it again or asks anywhere what
    there is. Where devices of other makers are set up (ROCm, Metal, Jetson), nothing is said. What TensorFlow does
    without the device was measured with 2.21.

    ## What to do

    Name a device that is there, or ask first: `tf.config.list_physical_devices("GPU")`, `torch.cuda.is_available()`.
    """
    fault = (absent or {}).get("devices_named")
    if fault:
        yield _unread(fault)
    if gpus is None or (installation is not None and other_gpus(installation) is not None):
        return
    grouped: dict[tuple[str, str | None, bool, int], list[DeviceName]] = {}
    for each in devices_named:
        count = _visible(each, devices_named, gpus, environment)
        needless = each.use == "visible" and not gpus  # there is nothing to hide
        if each.device == "GPU" and each.index >= count and not needless:
            grouped.setdefault((each.use, each.where.file, each.conditional, count), []).append(each)
    for (*_, count), names in grouped.items():
        yield _finding(names, count, gpus)


def _visible(
    name: DeviceName, names: tuple[DeviceName, ...], gpus: tuple[GpuDevice, ...], environment: Environment | None
) -> int:
    """How many devices the named one is counted among. What the code itself makes visible replaces the variable."""
    if name.use == "visible":
        return len(gpus)
    own = {each.index for each in names if each.use == "visible" and each.where.file == name.where.file}
    if own:
        return len([index for index in own if index < len(gpus)])
    value = environment.variables.get("CUDA_VISIBLE_DEVICES") if environment is not None else None
    if value is None:
        return len(gpus)
    entries = [each.strip() for each in value.split(",")]
    wrong = (place for place, each in enumerate(entries) if not each or each.startswith("-") or _beyond(each, gpus))
    return next(wrong, len(entries))


def _beyond(entry: str, gpus: tuple[GpuDevice, ...]) -> bool:
    return entry.isdecimal() and int(entry) >= len(gpus)


def _finding(names: list[DeviceName], count: int, gpus: tuple[GpuDevice, ...]) -> Finding:
    first = names[0]
    asks = (f"or ask first: `if {_question(first)} > {first.index}:`",) if first.use != "visible" else ()
    return Finding(
        Cause.DEVICE_PLACEMENT,
        f"the code names {_called(names)}, and {_here(count)}",
        tuple(_facts(names, count, gpus)),
        (f"name a device that is there ({f'the last one is {count - 1}' if count else '`/CPU:0`, `cpu`'})", *asks),
        _confidence(first),
        first.where,
        level=Level.RISK if first.use in _HARMLESS or first.conditional else Level.PROBLEM,
    )


def _confidence(name: DeviceName) -> Confidence:
    if name.use == "assigned":
        return Confidence.POSSIBLE
    return Confidence.LIKELY if name.conditional else Confidence.CERTAIN


def _called(names: list[DeviceName]) -> str:
    indices = sorted({each.index for each in names})
    if len(indices) == 1:
        return f"GPU {indices[0]}"
    return f"GPUs {', '.join(map(str, indices[:-1]))} and {indices[-1]}"


def _here(count: int) -> str:
    if count < 2:
        return "only GPU 0 is here" if count else "no GPU is here"
    return f"only GPUs 0 to {count - 1} are here"


def _facts(names: list[DeviceName], count: int, gpus: tuple[GpuDevice, ...]) -> Iterator[str]:
    yield (
        f"the driver shows {plural(len(gpus), 'device')}"
        if gpus
        else "there is no NVIDIA driver, or it shows no device"
    )
    if count < len(gpus) and names[0].use != "visible":
        yield "CUDA_VISIBLE_DEVICES lets fewer through, numbered from 0"
    yield _CONSEQUENCE[names[0].use]
    if names[0].conditional:
        yield "it stands behind a condition, and matters only if that holds"
    others = [each for each in dict.fromkeys(_spot(each) for each in names) if each != _spot(names[0])]
    if others:
        more = f" and {len(others) - _MOST_LINES} more" if len(others) > _MOST_LINES else ""
        yield f"also {', '.join(others[:_MOST_LINES])}{more}"


def _spot(name: DeviceName) -> str:
    return f"line {name.where.line}" if name.where.cell is None else f"cell [{name.where.cell}], line {name.where.line}"


def _question(name: DeviceName) -> str:
    """How many devices there are, in the words of the framework that the line belongs to."""
    if "cuda" in (name.where.source or "").lower() and name.use in ("required", "assigned"):
        return "torch.cuda.device_count()"
    return 'len(tf.config.list_physical_devices("GPU"))'


def _unread(fault: str) -> Finding:
    return Finding(
        Cause.PYTHON_ERROR,
        "some of the code could not be read as Python, so its devices were not looked for",
        (fault,),
        ("`python -m py_compile FILE` shows what this interpreter says of it",),
        Confidence.LIKELY,
        level=Level.NOTE,
    )
