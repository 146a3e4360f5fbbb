"""The computer, and the bounds that hold for one process on it.

Covers: kernel, the processor's own architecture (which an emulated program is not told), processors and their instruction
sets, memory and what may be promised of it, boot id, limits, NVIDIA's cards on the bus.
Does not cover: what those cards are (`gpu`), file systems (`disk`), and processor shares granted by a container (cpu quota).
"""

from __future__ import annotations

import os
from pathlib import Path

from crashcart.ground import Machine
from crashcart.probe._read import ROOT, counter, read_bytes, read_text, under, whole_number
from crashcart.probe.gpu import has_driver
from crashcart.probe.memory import memory_limits, read_host
from crashcart.probe.process import rlimits
from crashcart.probe.tasks import task_limits

# The first processor's entry is about 1.5 KB; a machine with hundreds of them would write hundreds of KB.
_FIRST_PROCESSOR_BYTES = 16384
_NVIDIA = "0x10de"
# Display controllers and processing accelerators; NVIDIA also makes sound and USB devices, on the same cards.
_CARD_CLASSES = ("0x03", "0x12")
_MOST_PCI_DEVICES = 4096


def read_machine(pid: int, root: Path = ROOT) -> Machine:
    """The machine as the process finds it."""
    kernel = os.uname()
    host = read_host(root)
    processor = _first_processor(root)
    flags = processor.get("flags", processor.get("Features"))
    return Machine(
        system=read_text(root, "/proc/sys/kernel/ostype") or kernel.sysname,
        release=read_text(root, "/proc/sys/kernel/osrelease") or kernel.release,
        architecture=_architecture(root, kernel, processor),
        cores=_cores(pid, root),
        cpu_model=processor.get("model name"),
        cpu_flags=None if flags is None else frozenset(flags.split()),
        ram_bytes=None if host is None else host.total_bytes,
        swap_bytes=None if host is None else host.swap_total_bytes,
        boot_id=boot_id(root),
        limits=memory_limits(pid, root),
        rlimits=rlimits(pid, root),
        task_limits=task_limits(pid, root),
        overcommit=whole_number(read_bytes(root, "/proc/sys/vm/overcommit_memory", 64)),
        commit_limit_bytes=_promises(root, b"CommitLimit"),
        committed_bytes=_promises(root, b"Committed_AS"),
        nvidia_cards=_nvidia_cards(root),
        nvidia_driver=has_driver(root),
    )


def usable_cores() -> int:
    """The processors that this process may run on, which TensorFlow has a thread for each of; the machine may have more."""
    try:
        return len(os.sched_getaffinity(0)) or 1
    except (AttributeError, OSError):  # a system that binds no process to processors
        return os.cpu_count() or 1


def _architecture(root: Path, kernel: os.uname_result, processor: dict[str, str]) -> str:
    """What the processor really is. An emulated program is told its own architecture by uname; the kernel's own words and
    the processor's entry, which only ARM's has an implementer in, are not translated."""
    said = read_text(root, "/proc/sys/kernel/arch")
    if said:
        return said
    if kernel.machine == "x86_64" and "CPU implementer" in processor:
        return "aarch64"
    if kernel.sysname == "Darwin" and kernel.machine == "x86_64" and _is_apple_silicon():
        return "arm64"
    return kernel.machine


def _is_apple_silicon() -> bool:
    import subprocess  # heavy, and only a Mac needs it: the watcher imports this module

    command = ["/usr/sbin/sysctl", "-in", "hw.optional.arm64"]
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=2.0).stdout.strip() == "1"
    except (OSError, subprocess.TimeoutExpired):
        return False


def _promises(root: Path, name: bytes) -> int | None:
    kibibytes = counter((read_bytes(root, "/proc/meminfo", 8192) or b"").replace(b" kB", b""), name + b":")
    return None if kibibytes is None else kibibytes * 1024


def _nvidia_cards(root: Path) -> int | None:
    """None where the bus cannot be seen."""
    bus = "/sys/bus/pci/devices"
    try:
        names = os.listdir(under(root, bus))[:_MOST_PCI_DEVICES]
    except OSError:
        return None
    makers = [name for name in names if read_text(root, f"{bus}/{name}/vendor", 64) == _NVIDIA]
    return sum((read_text(root, f"{bus}/{name}/class", 64) or "").startswith(_CARD_CLASSES) for name in makers)


def boot_id(root: Path = ROOT) -> str | None:
    """What tells this boot of the machine from all others."""
    return read_text(root, "/proc/sys/kernel/random/boot_id") or None


def _first_processor(root: Path) -> dict[str, str]:
    """The first entry of /proc/cpuinfo; its keys differ between architectures."""
    text = read_text(root, "/proc/cpuinfo", _FIRST_PROCESSOR_BYTES) or ""
    pairs = (line.partition(":") for line in text.split("\n\n", 1)[0].splitlines())
    return {name.strip(): value.strip() for name, _, value in pairs}


def _cores(pid: int, root: Path) -> int | None:
    """How many processors the process may run on.

    The allowed set may name processors that are not plugged in (virtual machines list what could be), and a process may
    be bound to fewer than the machine has: both sets count.
    """
    allowed = _processor_set(_status_field(pid, root, "Cpus_allowed_list"))
    online = _processor_set(read_text(root, "/sys/devices/system/cpu/online"))
    if allowed is None or online is None:
        known = allowed if online is None else online
        return None if known is None else len(known)
    return len(allowed & online) or None


def _status_field(pid: int, root: Path, name: str) -> str | None:
    for line in (read_text(root, f"/proc/{pid}/status", 8192) or "").splitlines():
        key, _, value = line.partition(":")
        if key == name:
            return value.strip()
    return None


def _processor_set(text: str | None) -> set[int] | None:
    """`0-3,8` as a set of numbers."""
    if not text:
        return None
    processors: set[int] = set()
    try:
        for part in text.split(","):
            first, _, last = part.partition("-")
            processors.update(range(int(first), int(last or first) + 1))
    except ValueError:
        return None
    return processors
