"""What TensorFlow's GPU wheels need of NVIDIA: which distributions carry GPU code, and which libraries they open.

Covers: the names of the libraries by the CUDA and cuDNN that a release was built with. They are those that its log names
when it opens them (CUDA 11), and those of the `nvidia-*` packages that it declares (CUDA 12).
Does not cover: judging what is there.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from packaging.requirements import Requirement
from packaging.version import Version

from crashcart.doctor._builds import official
from crashcart.doctor._facts import build, declared, parsed
from crashcart.doctor._fix import install
from crashcart.installation import Distribution, Installation, SharedLibrary

_WITH_GPU_CODE = frozenset({"tensorflow", "tensorflow-gpu", "tf-nightly"})
_SONAMES = {
    11: ("libcudart.so.11.0", "libcublas.so.11", "libcufft.so.10", "libcusolver.so.11", "libcusparse.so.11"),
    12: ("libcudart.so.12", "libcublas.so.12", "libcufft.so.11", "libcusolver.so.11", "libcusparse.so.12"),
}
CPU_BUILDS = ("tensorflow-cpu", "tf-nightly-cpu", "tensorflow-intel", "tensorflow-cpu-aws")
"""The builds without GPU code."""
LAST_WINDOWS_WITH_GPU = (2, 10)
_OTHER_GPUS = (
    "tensorflow-rocm",
    "tensorflow-metal",
    "tensorflow-directml-plugin",
    "intel-extension-for-tensorflow",
    "intel-extension-for-pytorch",
    "torch-directml",
)
"""What brings devices called GPU that are not NVIDIA's."""
_OTHER_TORCHES = ("rocm", "xpu")
"""What the local version of PyTorch's builds for AMD and Intel begins with; the first calls AMD's devices cuda, too."""
_FIRST_THAT_LOOKS_INTO_WHEELS = (2, 14)
"""The first release that is published with the extra `and-cuda`, and looks into those packages by itself."""
_LOST_THE_WAY = ((2, 16), (2, 17))
"""Reported: these do not find the libraries of their own extra."""


def other_gpus(installation: Installation) -> str | None:
    """What is installed for devices that the NVIDIA driver does not show, in words; None where nothing is."""
    found, torch = installation.find(*_OTHER_GPUS), installation.find("torch")
    version = parsed(torch.version) if torch is not None else None
    if found is None and version is not None and (version.local or "").startswith(_OTHER_TORCHES):
        found = torch
    return f"{found.name} {found.version}" if found is not None else None


def minor(version: str | None) -> tuple[int, int]:
    """2.15.1 as (2, 15); (0, 0) where it cannot be read."""
    known = parsed(version)
    return (known.major, known.minor) if known is not None else (0, 0)


def gpu_build(installation: Installation) -> tuple[Distribution, dict[str, Any]] | None:
    """The TensorFlow with GPU code and what it was built for; None where it has none, or that is not known."""
    found = official(installation)
    facts = build(found.version) if found is not None else None
    if found is None or facts is None or found.name not in _WITH_GPU_CODE:
        return None
    interpreter = installation.interpreter
    if interpreter.system == "Windows" and minor(found.version) > LAST_WINDOWS_WITH_GPU:
        return None
    return (
        (found, facts) if interpreter.architecture in ("x86_64", "AMD64") and interpreter.system != "Darwin" else None
    )


def needed(facts: dict[str, Any]) -> tuple[str, ...]:
    """The libraries that a build opens before it uses a GPU; empty for an unknown CUDA."""
    cuda = Version(facts["cuda"])
    names: tuple[str, ...] = _SONAMES.get(cuda.major, ())
    if cuda.release[:2] == (11, 0):
        names = tuple(each.replace("libcusolver.so.11", "libcusolver.so.10") for each in names)
    return (*names, f"libcudnn.so.{Version(facts['cudnn']).major}") if names else ()


def has_extra(version: str | None) -> bool:
    """Whether the release has the extra `and-cuda`."""
    return minor(version) >= _FIRST_THAT_LOOKS_INTO_WHEELS


def looks_into_wheels(version: str | None) -> bool:
    """Whether the release finds the libraries of NVIDIA's packages in site-packages by itself."""
    return has_extra(version) and minor(version) not in _LOST_THE_WAY


def bring_libraries(installation: Installation, found: Distribution, facts: dict[str, Any]) -> str:
    """What brings the libraries that the TensorFlow which is there opens: a command where it has one."""
    if has_extra(found.version):
        return install(installation, *with_libraries(found))
    return f"install CUDA {facts['cuda']} and cuDNN {facts['cudnn']}, and name their folder in LD_LIBRARY_PATH"


def with_libraries(found: Distribution) -> tuple[str, ...]:
    """The requirements that bring a TensorFlow with its CUDA libraries: its extra, where that can be installed.

    Those of 2.14 and of 2.15.0 also ask for a TensorRT that has no wheels for every Python; TensorFlow works without it. A
    nightly build is gone from the index after some weeks, so that its version is left to the installer.
    """
    version = found.version
    if "nightly" in found.name:
        return ("tf-nightly[and-cuda]",)
    if not has_extra(version):
        return (f"tensorflow=={version}",)
    if minor(version) != (2, 14):
        return (f"tensorflow[and-cuda]=={'2.15.1' if version == '2.15.0' else version}",)
    extra = (Requirement(each) for each in declared(version) or () if "and-cuda" in each and "tensorrt" not in each)
    return (f"tensorflow=={version}", *(f"{each.name}{each.specifier}" for each in extra))


def other_majors(libraries: Iterable[SharedLibrary], soname: str) -> list[SharedLibrary]:
    """The same library in another generation: libcudart.so.13 for libcudart.so.12."""
    stem = soname.partition(".so")[0]
    return [each for each in libraries if each.name.partition(".so")[0] == stem and not each.name.startswith(soname)]
