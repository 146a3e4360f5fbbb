from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from crashcart.evidence import GpuDevice
from crashcart.probe.gpu import GpuReader, absent_reason, read_gpus

GIB = 1024**3


class FakeError(Exception):
    pass


class FakeLibrary(ModuleType):
    """The calls of nvidia-ml-py that are used, over two devices."""

    NVMLError = FakeError

    def __init__(self) -> None:
        super().__init__("pynvml")
        self.started = 0
        self.broken = False
        self.held: dict[int, dict[int, int | None]] = {0: {77: 3 * GIB, 78: None}, 1: {77: GIB}}

    def nvmlInit(self) -> None:  # noqa: N802
        if self.broken:
            raise FakeError("Driver/library version mismatch")
        self.started += 1

    def nvmlShutdown(self) -> None:  # noqa: N802
        self.started -= 1

    def nvmlSystemGetDriverVersion(self) -> bytes:  # noqa: N802
        return b"550.54.15"

    def nvmlDeviceGetCount(self) -> int:  # noqa: N802
        return len(self.held)

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:  # noqa: N802
        return index

    def nvmlDeviceGetName(self, handle: int) -> str:  # noqa: N802
        return f"Tesla T4 number {handle}"

    def nvmlDeviceGetMemoryInfo(self, handle: int) -> SimpleNamespace:  # noqa: N802
        return SimpleNamespace(total=16 * GIB, free=(12 - handle) * GIB)

    def nvmlDeviceGetCudaComputeCapability(self, handle: int) -> tuple[int, int]:  # noqa: N802
        if handle:
            raise FakeError("Not Supported")
        return 7, 5

    def nvmlDeviceGetComputeRunningProcesses(self, handle: int) -> list[SimpleNamespace]:  # noqa: N802
        return [SimpleNamespace(pid=pid, usedGpuMemory=held) for pid, held in self.held[handle].items()]


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> FakeLibrary:
    fake = FakeLibrary()
    monkeypatch.setitem(sys.modules, "pynvml", fake)
    return fake


@pytest.fixture
def with_driver(tmp_path: Path) -> Path:
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev/nvidiactl").touch()
    return tmp_path


def test_without_a_driver_the_library_is_not_even_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "pynvml", raising=False)
    assert read_gpus(tmp_path) is None
    assert "no NVIDIA driver" in absent_reason(tmp_path)
    reader = GpuReader(tmp_path)
    assert reader.used_bytes(1) is None
    assert reader.absent is not None
    reader.close()
    assert "pynvml" not in sys.modules


def test_devices_with_their_processes(with_driver: Path, library: FakeLibrary) -> None:
    assert read_gpus(with_driver) == (
        GpuDevice(0, "Tesla T4 number 0", 16 * GIB, 12 * GIB, "550.54.15", {77: 3 * GIB, 78: None}, "7.5"),
        GpuDevice(1, "Tesla T4 number 1", 16 * GIB, 11 * GIB, "550.54.15", {77: GIB}),
    )
    assert absent_reason(with_driver) == ""
    assert library.started == 0, "each start is given back"


def test_share_of_one_process_over_all_devices(with_driver: Path, library: FakeLibrary) -> None:
    reader = GpuReader(with_driver)
    assert reader.absent is None
    assert reader.used_bytes(77) == 4 * GIB
    assert reader.used_bytes(78) is None, "listed, but the driver does not tell its share"
    assert reader.used_bytes(79) is None, "not listed: perhaps under another namespace's pid"
    reader.close()
    assert library.started == 0
    assert reader.used_bytes(77) is None


def test_driver_that_does_not_answer(with_driver: Path, library: FakeLibrary) -> None:
    library.broken = True
    assert read_gpus(with_driver) is None
    assert absent_reason(with_driver) == "the NVIDIA driver does not answer: Driver/library version mismatch"
    assert GpuReader(with_driver).used_bytes(77) is None


def test_driver_without_a_device(with_driver: Path, library: FakeLibrary) -> None:
    library.held = {}
    assert read_gpus(with_driver) == ()
    assert "shows no device" in absent_reason(with_driver)


def test_package_that_is_missing(with_driver: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert read_gpus(with_driver) is None
    assert "nvidia-ml-py cannot be imported" in absent_reason(with_driver)


def test_the_real_library_without_its_driver(with_driver: Path) -> None:
    pytest.importorskip("pynvml")
    if Path("/dev/nvidiactl").exists():
        pytest.skip("this machine has the driver")
    assert read_gpus(with_driver) is None
    assert "does not answer" in absent_reason(with_driver)
