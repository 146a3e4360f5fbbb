"""A Python environment as it lies on disk, or as a requirements file plans it. Sections of the evidence (`evidence.py`).

Covers: plain frozen data: the interpreter, the distributions with what they declare, the modules and shared libraries that
matter to TensorFlow, and the devices that the user's code names.
Does not cover: reading any of it (`probe/`), or whether it fits (`doctor/`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from crashcart.finding import Finding, Where

HERE = "the current directory"
"""The place of a shadow where it is not on PYTHONPATH."""


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
    entry: str = ""
    """The name of its metadata directory (or file) in the folder."""
    origin: str | None = None
    """The address, folder or file that it was installed from (direct_url.json); None where an index gave it."""
    tags: tuple[str, ...] = ()
    """What its wheel is for (cp311-cp311-manylinux_2_17_x86_64); empty where it does not say."""


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
    looked_for: int = 0
    whole: tuple[str, ...] = ()
    """The owners whose files lie there as they recorded them, as far as was looked: of two owners, the one that won."""
    remnant: str | None = None
    """A folder without `__init__` that an import finds where the module should be: it gives an empty module."""


@dataclass(frozen=True, slots=True)
class Shadow:
    """A file or package that an import finds before the installed (or standard) module of its name."""

    name: str
    file: str
    hidden: str | None = None
    """The file that it hides; None where that is the standard library's."""
    place: str = HERE
    """Which directory of the path it lies in, in words."""


@dataclass(frozen=True, slots=True)
class SharedLibrary:
    """A shared library that lies where the program's loader or packages would take it from."""

    name: str
    """Its file name, such as libcudnn.so.9 or libiomp5.so."""
    path: str
    owner: str | None = None
    """The distribution or folder of the packages that brought it; `system` where the loader's cache has it, `LD_LIBRARY_PATH`
    where that names its folder, `conda` in such an environment's own lib; None where it lies, but nobody looks."""
    versions: tuple[str, ...] = ()
    """Of libstdc++: the newest version of each family that it offers (GLIBCXX_3.4.30, CXXABI_1.3.13)."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """One requirement of a plan."""

    name: str
    """In canonical form."""
    specifier: str
    """The range as PEP 440 writes it, also where the file has another way; empty where any version will do."""
    text: str
    """As the file has it."""
    file: str
    line: int | None = None
    extras: tuple[str, ...] = ()
    marker: str | None = None
    constraint: bool = False
    """Whether it only limits the version, and does not ask for the package."""
    by: str = "pip"
    """Who installs it and how it is written: pip, conda or poetry."""
    exact: str | None = None
    """The version, where a wheel is named by its file; the index is not asked then."""
    opaque: bool = False
    """Whether it comes from an address, a folder or a repository, so that the index does not decide its version."""
    group: str | None = None
    """The optional group of the project that it belongs to."""

    @property
    def place(self) -> str:
        """As in `requirements.txt line 3`."""
        return self.file if self.line is None else f"{self.file} line {self.line}"


@dataclass(frozen=True, slots=True)
class Plan:
    """What a file asks to be installed."""

    file: str
    wanted: tuple[Wanted, ...]
    python: str | None = None
    """The range of Pythons that it names, as PEP 440 writes it."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Environment variables that the plan sets (conda)."""
    unread: tuple[str, ...] = ()
    """What was not understood, each with its place and the reason."""
    missing: tuple[str, ...] = ()
    """Files that it includes and that cannot be read, each with its place and the reason."""
    circular: tuple[str, ...] = ()
    """Files that include themselves, each with its place."""
    tool: str = "pip"


@dataclass(frozen=True, slots=True)
class Loosening:
    """A line of a plan that, changed, lets the plan be installed."""

    place: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Conflict:
    """Requirements of a plan that no release meets."""

    kind: str
    """ranges (they exclude each other), no-wheel (for this Python), no-release, refuses (it stops on purpose), missing-file,
    includes-itself."""
    package: str
    asked: tuple[str, ...]
    """Who asks for what, a sentence each."""
    pythons: tuple[str, ...] = ()
    """The Pythons that do have a wheel of what is asked for."""
    changes: tuple[Loosening, ...] = ()
    builds: bool = False
    """Whether pip would try to build the package from its source instead."""


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
    shadows: tuple[Shadow, ...] = ()
    conda: Mapping[str, str] | None = None
    """In a conda environment: the versions that conda wrote down as installed, by canonical name."""
    leftovers: tuple[str, ...] = ()
    """Folders such as `~ensorflow` that an interrupted pip left behind."""
    plan: str | None = None
    conflicts: tuple[Conflict, ...] = ()
    """In a planned environment: requirements that no release meets."""
    unread: tuple[str, ...] = ()
    """In a planned environment: what of the plan was not understood, each with its place."""

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
    use: str = "placed"
    """placed (TensorFlow takes another device where it is not there), required (it does not, or PyTorch), assigned (to a name,
    by which nothing is used yet), listed (an index into a list of devices), visible (an entry of CUDA_VISIBLE_DEVICES, counted
    before any is hidden)."""
    conditional: bool = False
    """Whether it stands behind a condition."""


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
    """What it said of itself: `version`, the names of the GPUs that it sees as `gpus`, and as `gpu_code` whether it has code
    for any."""
    directory: str = ""
    explained: Finding | None = None
    """Why it died, where that was asked of the rules for deaths."""
