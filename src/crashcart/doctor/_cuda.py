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
from crashcart.installation import Distribution, Installation, SharedLibrary

_WITH_GPU_CODE = frozenset({"tensorflow", "tensorflow-gpu", "tf-nightly"})
_SONAMES = {
    11: ("libcudart.so.11.0", "libcublas.so.11", "libcufft.so.10", "libcusolver.so.11", "libcusparse.so.11"),
    12: ("libcudart.so.12", "libcublas.so.12", "libcufft.so.11", "libcusolver.so.11", "libcusparse.so.12"),
}
LAST_WINDOWS_WITH_GPU = (2, 10)
OTHER_GPUS = ("tensorflow-rocm", "tensorflow-metal", "tensorflow-directml-plugin", "intel-extension-for-tensorflow")
"""What brings devices called GPU that are not NVIDIA's."""


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


def with_libraries(version: str | None) -> tuple[str, ...]:
    """The requirements that bring TensorFlow with its CUDA libraries: its extra, where that can be installed.

    Those of 2.14 and of 2.15.0 also ask for a TensorRT that has no wheels for every Python; TensorFlow works without it.
    """
    if minor(version) != (2, 14):
        return (f"tensorflow[and-cuda]=={'2.15.1' if version == '2.15.0' else version}",)
    extra = (Requirement(each) for each in declared(version) or () if "and-cuda" in each and "tensorrt" not in each)
    return (f"tensorflow=={version}", *(f"{each.name}{each.specifier}" for each in extra))


def other_majors(libraries: Iterable[SharedLibrary], soname: str) -> list[SharedLibrary]:
    """The same library in another generation: libcudart.so.13 for libcudart.so.12."""
    stem = soname.partition(".so")[0]
    return [each for each in libraries if each.name.partition(".so")[0] == stem and not each.name.startswith(soname)]
