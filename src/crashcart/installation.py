"""A Python environment as it lies on disk, or as a requirements file plans it. Sections of the evidence (`evidence.py`).

Covers: plain frozen data: the interpreter, the distributions with what they declare, the modules and shared libraries that
matter to TensorFlow, and the devices that the user's code names.
Does not cover: reading any of it (`probe/`), or whether it fits (`doctor/`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from crashcart.finding import Finding, Where


@dataclass(frozen=True, slots=True)
class Interpreter:
    """The Python that the packages are for."""

    version: str
    """As in 3.11.7; of a planned environment, as much as the plan says."""
    executable: str | None
    prefix: str | None
    implementation: str = "cpython"
    bits: int = 64
    system: str = "Linux"
    architecture: str | None = None
    """What the interpreter was built for (x86_64, arm64…), which under emulation is not the machine's own."""
    libc: str | None = None
    """glibc or musl; None where it is not known, or there is none of the two."""
    libc_version: str | None = None
    kind: str = "system"
    """venv, conda, or system."""
    tool: str = "pip"
    """What installs into it: pip, uv or conda."""
    user_site: str | None = None
    """The user's own site-packages, where it is on the path."""

    @property
    def minor(self) -> str:
        """As in 3.11."""
        return ".".join(self.version.split(".")[:2])


@dataclass(frozen=True, slots=True)
class Distribution:
    """One installed (or planned) distribution."""

    name: str
    """In canonical form: lower case, single dashes."""
    version: str | None
    folder: str = ""
    """The directory that its metadata lies in."""
    requires: tuple[str, ...] | None = None
    """Its Requires-Dist; None where the metadata cannot be read."""
    requires_python: str | None = None
    installer: str | None = None
    """pip, uv, conda… as it wrote itself down."""
    fault: str | None = None
    """What is wrong with its metadata."""
    pinned: bool = True
    """Whether the version is a fact: installed, or fixed by the plan; otherwise it is what pip would choose."""
    shadowed: bool = False
    """Whether an earlier directory of the path has the distribution too, so that this one is not imported."""


@dataclass(frozen=True, slots=True)
class Module:
    """A top-level module that an import would find."""

    name: str
    file: str | None
    """Its file; None where the import would find only a folder without `__init__` (a remnant), or nothing."""
    owners: tuple[str, ...] = ()
    """The distributions whose RECORD lists the file."""
    missing_files: int = 0
    """How many files of its owners' RECORD for this module are not there, of those that were looked for."""


@dataclass(frozen=True, slots=True)
class SharedLibrary:
    """A shared library that lies where the program's loader or packages would take it from."""

    name: str
    """Its file name, such as libcudnn.so.9 or libiomp5.so."""
    path: str
    owner: str | None = None
    """The distribution, or `system` where the loader's cache or LD_LIBRARY_PATH has it."""


@dataclass(frozen=True, slots=True)
class Installation:
    """An environment. In a planned one, nothing is installed yet: `plan` names the file."""

    interpreter: Interpreter
    distributions: tuple[Distribution, ...]
    """In the order of the search path; what comes first is what an import finds."""
    modules: Mapping[str, Module] = field(default_factory=dict)
    libraries: tuple[SharedLibrary, ...] | None = None
    """None where they were not looked for (a planned environment)."""
    unreadable: tuple[str, ...] = ()
    """Directories of the path that cannot be read, each with the reason."""
    plan: str | None = None
    conflicts: tuple[str, ...] = ()
    """In a planned environment: requirements that no version meets, in words."""

    def find(self, *names: str) -> Distribution | None:
        """The first of the named distributions that is there and not shadowed."""
        for name in names:
            for each in self.distributions:
                if each.name == name and not each.shadowed:
                    return each
        return None


@dataclass(frozen=True, slots=True)
class DeviceName:
    """A device that the user's code names, such as /GPU:1."""

    device: str
    """GPU, CPU or TPU."""
    index: int
    where: Where


@dataclass(frozen=True, slots=True)
class ImportAttempt:
    """A framework that was imported in a child process, with a first small step, and how that went."""

    module: str
    seconds: float
    exit_code: int | None
    """None where a signal ended it, or where it was ended for taking too long."""
    signal: int | None
    output: str
    facts: Mapping[str, object] = field(default_factory=dict)
    """What it said of itself: `version`, and the names of the GPUs that it sees as `gpus`."""
    directory: str = ""
    explained: Finding | None = None
    """Why it died, where that was asked of the rules for deaths."""
