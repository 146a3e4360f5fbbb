"""How much memory a step may take, where it is, and which of the step's figures is compared with it.

Covers: memory that was named (`--memory`, `--gpu`), a GPU that is here, the own container, the machine.
Does not cover: what the step takes (`estimate.py`, `host.py`). On the host, the process takes memory before any model is
built; that share is taken off here, so that what is left can be compared with the growth.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from crashcart.errors import UsageError
from crashcart.fit.gpus import context_bytes, find_gpu, reserve_bytes
from crashcart.ground import GpuDevice
from crashcart.probe import gpu as gpu_probe
from crashcart.probe._read import ROOT
from crashcart.probe.host_room import given_bytes, less_the_process, tightest
from crashcart.units import size

# Distributions of TensorFlow for Linux, and whether they have code for GPUs.
_BUILDS = {
    "tensorflow": True,
    "tf-nightly": True,
    "tensorflow-cpu": False,
    "tf-nightly-cpu": False,
    "tensorflow-cpu-aws": False,
}


@dataclass(frozen=True, slots=True)
class Available:
    """Memory for one step; `bytes` is None where nobody knows how much there is."""

    bytes: int | None
    where: str | None
    """given, container, machine, or a GPU's name; StepPeak.available_in"""
    target: str
    """Which figure is compared: device or host."""
    note: str | None = None
    """How it was reckoned, for `assumed`."""
    limit_bytes: int | None = None
    """The limit that a process meets as a whole, its own share included; what a trial is held to."""


def available(given: str | int | None, gpu: str | None, target: str | None, held_bytes: int | None = None) -> Available:
    """What was named; else a GPU that is here; else what the container or the machine has left.

    `held_bytes` is what the model holds already where the question is asked in its own process; None in a new one.
    """
    if gpu is not None:
        return _named_gpu(gpu, given, target)
    if given is not None:
        return _given(given, target or "host")
    gpus = _gpus() if target != "host" else ()
    if gpus:
        return _gpu_here(gpus, held_bytes is not None)
    return _left_here(target or "host", held_bytes)


def _gpus() -> tuple[GpuDevice, ...]:
    """Those that TensorFlow would see here, in its order."""
    if _is_for_cpu():
        return ()
    listed = os.environ.get("CUDA_VISIBLE_DEVICES")
    uuids = gpu_probe.read_uuids() if "GPU-" in (listed or "") else {}
    return gpu_probe.visible_gpus(gpu_probe.read_gpus() or (), listed, uuids)


def _is_for_cpu() -> bool:
    """Whether only builds of TensorFlow without GPU code are installed."""
    names = {name for name in _BUILDS if _is_installed(name)}
    return bool(names) and not any(_BUILDS[name] for name in names)


def _is_installed(name: str) -> bool:
    try:
        metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return False
    return True


def _named_gpu(name: str, given: str | int | None, target: str | None) -> Available:
    if given is not None:
        raise UsageError("received --gpu and --memory; expected one of them")
    if target == "host":
        raise UsageError("received --gpu and --target host; a GPU's memory is the device's", "Leave --target out.")
    found = find_gpu(name)
    note = f"of {size(found.total_bytes)} ({found.name}), TensorFlow gets {size(found.usable_bytes)}"
    return Available(found.usable_bytes, found.name, "device", note, found.usable_bytes)


def _given(given: str | int, target: str) -> Available:
    whole = given_bytes(given)
    if target == "device":
        return Available(whole, "given", target, None, whole)
    return _on_the_host(whole, "given")


def _on_the_host(whole: int, where: str) -> Available:
    left = less_the_process(whole, where, "any model")
    return Available(left.bytes, where, "host", left.note, whole)


def _gpu_here(gpus: tuple[GpuDevice, ...], own_process: bool) -> Available:
    """The first one, which is where TensorFlow puts a model. What this process holds of it already is there for the model."""
    first = gpus[0]
    free = first.free_bytes + ((first.processes.get(os.getpid()) or 0) if own_process else 0)
    left = max(0, free - context_bytes() - reserve_bytes(first.capability, free))
    others = f"; {len(gpus) - 1} more are here" if len(gpus) > 1 else ""
    note = f"of {size(free)} free on {first.name}, TensorFlow gets about {size(left)}{others}"
    return Available(left, first.name, "device", note, left)


def _left_here(target: str, held_bytes: int | None, root: Path = ROOT) -> Available:
    """The tightest of the groups' room and the machine's, as they are now."""
    found = tightest(root)
    if found is None:
        return Available(None, None, target)
    left, where = found
    if target == "device":
        return Available(left, where, target, None, left)
    if held_bytes is None:
        return _on_the_host(left, where)
    note = f"{size(left)} left now, and {size(held_bytes)} that the model's variables hold already"
    return Available(left + held_bytes, where, target, note, None)
