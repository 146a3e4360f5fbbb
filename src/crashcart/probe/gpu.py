"""NVIDIA devices and who holds their memory, through the driver's management library (NVML).

Covers: name, size, free memory and processes of each device at one moment, and again and again while a program runs.
Does not cover: other makers' devices, slices of a divided device (MIG), and processes whose pids the driver counts in
another namespace than ours (in most containers): their share is unknown, not zero.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from crashcart.ground import GpuDevice
from crashcart.probe._read import ROOT, exists, under

# The control device of the driver; its table in /proc; and the paravirtual device of Windows' Linux subsystem.
_DRIVER_SIGNS = ("/dev/nvidiactl", "/proc/driver/nvidia/version", "/dev/dxg")
# The GPU of NVIDIA's Jetson boards, whose driver had no NVML for long, and the release of their system.
_JETSON_SIGNS = ("/dev/nvhost-gpu", "/etc/nv_tegra_release")
_AMD_SIGN = "/dev/kfd"


def has_driver(root: Path = ROOT) -> bool:
    """Whether an NVIDIA driver seems to be there at all; without one, the machine has no GPU for us."""
    return any(exists(Path(under(root, sign))) for sign in _DRIVER_SIGNS)


def is_jetson(root: Path = ROOT) -> bool:
    """Whether this is a board of NVIDIA's with a GPU of its own kind, which NVML need not show."""
    return any(exists(Path(under(root, sign))) for sign in _JETSON_SIGNS)


def other_maker(root: Path = ROOT) -> str | None:
    """A sign of devices that NVML does not show, in words; None where there is none."""
    if is_jetson(root):
        return "a Jetson board"
    return f"AMD's driver ({_AMD_SIGN})" if exists(Path(under(root, _AMD_SIGN))) else None


def read_gpus(root: Path = ROOT) -> tuple[GpuDevice, ...] | None:
    """All devices, or None where there is no driver to ask; `absent_reason` then says why."""
    library, _ = _start(root)
    if library is None:
        return None
    try:
        driver = _words(library.nvmlSystemGetDriverVersion())
        return tuple(_device(library, index, driver) for index in range(library.nvmlDeviceGetCount()))
    except library.NVMLError:
        return None
    finally:
        _stop(library)


def read_uuids(root: Path = ROOT) -> dict[int, str]:
    """The driver's own names of its devices, `GPU-…`, by index. They tell machines apart, so that no report has them."""
    library, _ = _start(root)
    if library is None:
        return {}
    try:
        found = {index: _uuid(library, handle) for index, handle in _handles(library).items()}
    finally:
        _stop(library)
    return {index: uuid for index, uuid in found.items() if uuid is not None}


def visible_gpus(gpus: tuple[GpuDevice, ...], listed: str | None, uuids: Mapping[int, str]) -> tuple[GpuDevice, ...]:
    """Those that CUDA shows a program, in its order, for this CUDA_VISIBLE_DEVICES (None: not set). The list ends at the first
    entry that is not there; a device named by the beginning of its UUID is meant if no other begins so. Of a slice (MIG) the
    device is not known: it is none of these, and the list ends there."""
    if listed is None:
        return gpus
    found: list[GpuDevice] = []
    for entry in (each.strip() for each in listed.split(",")):
        if entry.isdecimal():
            meant = [each for each in gpus if each.index == int(entry)]
        else:
            meant = [each for each in gpus if entry.startswith("GPU-") and uuids.get(each.index, "").startswith(entry)]
        if len(meant) != 1:
            break
        if meant[0] in found:
            return ()  # CUDA shows nothing where a device is listed twice
        found += meant
    return tuple(found)


def absent_reason(root: Path = ROOT) -> str:
    """Why no device can be read, in words; empty where one can."""
    library, reason = _start(root)
    if library is None:
        return reason
    try:
        count = library.nvmlDeviceGetCount()
        return "" if count else "the NVIDIA driver is loaded, but it shows no device"
    except library.NVMLError as error:
        return f"the NVIDIA driver does not answer: {error}"
    finally:
        _stop(library)


class GpuReader:
    """Asks the driver again and again how full the devices are, and how much of them a process holds."""

    def __init__(self, root: Path = ROOT) -> None:
        self._library, reason = _start(root)
        self.absent: str | None = reason or None
        self._handles: dict[int, Any] = _handles(self._library) if self._library is not None else {}

    @property
    def count(self) -> int:
        """How many devices can be asked."""
        return len(self._handles)

    def used_bytes(self, pid: int) -> int | None:
        """The process's memory on all devices; None where the driver does not list it."""
        used = [share for handle in self._handles.values() for share in self._shares(handle, pid)]
        return sum(used) if used else None

    def use(self) -> dict[int, tuple[int, int]]:
        """Used and total bytes by device, over all processes; a device that does not answer is left out."""
        found: dict[int, tuple[int, int]] = {}
        for index, handle in self._handles.items():
            try:
                memory = self._library.nvmlDeviceGetMemoryInfo(handle)
            except self._library.NVMLError:
                continue
            found[index] = (int(memory.total) - int(memory.free), int(memory.total))
        return found

    def name(self, index: int) -> str | None:
        """The device's name, or None where the driver does not tell."""
        if index not in self._handles:
            return None
        try:
            return _words(self._library.nvmlDeviceGetName(self._handles[index]))
        except self._library.NVMLError:
            return None

    def processes(self, index: int) -> dict[int, int | None]:
        """Bytes by pid of those that compute on a device."""
        return _processes(self._library, self._handles[index]) if index in self._handles else {}

    def close(self) -> None:
        """Let go of the driver; afterwards every answer is None."""
        self._handles = {}
        if self._library is not None:
            _stop(self._library)
            self._library = None

    def _shares(self, handle: Any, pid: int) -> list[int]:
        shares = _processes(self._library, handle)
        share = shares.get(pid)
        return [] if share is None else [share]


def _start(root: Path) -> tuple[Any, str]:
    """The library, ready to be asked, or None and the reason; it is not even imported where no driver can be there."""
    if not has_driver(root):
        return None, f"no NVIDIA driver on this machine (none of {', '.join(_DRIVER_SIGNS)} is there)"
    try:
        library: Any = importlib.import_module("pynvml")
    except ImportError as error:
        return None, f"the package nvidia-ml-py cannot be imported: {error}"
    try:
        library.nvmlInit()
    except library.NVMLError as error:
        return None, f"the NVIDIA driver does not answer: {error}"
    return library, ""


def _stop(library: Any) -> None:
    try:
        library.nvmlShutdown()
    except library.NVMLError:
        return  # The driver went away while we were asking; there is nothing left to give back.


def _handles(library: Any) -> dict[int, Any]:
    """The devices that can be asked; one that we may not use, or that is lost, is left out."""
    found: dict[int, Any] = {}
    try:
        count = library.nvmlDeviceGetCount()
    except library.NVMLError:
        return found
    for index in range(count):
        try:
            found[index] = library.nvmlDeviceGetHandleByIndex(index)
        except library.NVMLError:
            continue
    return found


def _device(library: Any, index: int, driver: str) -> GpuDevice:
    handle = library.nvmlDeviceGetHandleByIndex(index)
    memory = library.nvmlDeviceGetMemoryInfo(handle)
    return GpuDevice(
        index=index,
        name=_words(library.nvmlDeviceGetName(handle)),
        total_bytes=int(memory.total),
        free_bytes=int(memory.free),
        driver=driver,
        processes=_processes(library, handle),
        capability=_capability(library, handle),
    )


def _uuid(library: Any, handle: Any) -> str | None:
    try:
        return _words(library.nvmlDeviceGetUUID(handle))
    except (library.NVMLError, AttributeError):
        return None


def _capability(library: Any, handle: Any) -> str | None:
    try:
        major, minor = library.nvmlDeviceGetCudaComputeCapability(handle)
    except (library.NVMLError, AttributeError):
        return None
    return f"{major}.{minor}"


def _processes(library: Any, handle: Any) -> dict[int, int | None]:
    """Bytes by pid; the share is None where the driver does not tell it."""
    try:
        found = _computing(library, handle)
    except library.NVMLError:
        return {}
    return {int(each.pid): None if each.usedGpuMemory is None else int(each.usedGpuMemory) for each in found}


def _computing(library: Any, handle: Any) -> list[Any]:
    """The driver's list. The package asks for its newest form; a driver that is older than the package has the second."""
    try:
        return list(library.nvmlDeviceGetComputeRunningProcesses(handle))
    except getattr(
        library, "NVMLLibraryMismatchError", ()
    ):  # no NVMLError, and unknown to older releases of the package
        return list(library.nvmlDeviceGetComputeRunningProcesses_v2(handle))


def _words(value: str | bytes) -> str:
    """Older releases of the library yield bytes."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value
