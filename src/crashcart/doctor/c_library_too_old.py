"""D203: the C or C++ library here is older than the one that TensorFlow was built for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from packaging.version import Version

from crashcart.doctor._builds import change_release, newest_release, official
from crashcart.doctor._facts import build, parsed
from crashcart.doctor._fix import quoted
from crashcart.finding import Cause, Confidence, Finding
from crashcart.installation import Distribution, Installation, SharedLibrary
from crashcart.rule import Rank, rule

_LIBSTDCXX = "libstdc++.so.6"


@rule("D203", "c-library-too-old", Rank.ROOT)
def c_library_too_old(installation: Installation) -> Iterator[Finding]:
    """Glibc or libstdc++ is older than TensorFlow's wheel needs.

    ## What it means

    The wheel's compiled parts ask for functions of a certain version of the C library (glibc) and of the C++ library
    (libstdc++). An older glibc makes pip pass over the wheel; a wheel that was brought in otherwise fails at import
    with "version `GLIBC_2.27' not found" or "version `GLIBCXX_3.4.22' not found". The system's libstdc++ is hardly
    ever too old; one in LD_LIBRARY_PATH or in an old conda environment, which comes first, may be.

    ## How we know

    The versions that the official wheels ask for were read from them. glibc says its own version; those of libstdc++
    are in the table of names of the file that the loader would take: LD_LIBRARY_PATH first, then a conda
    environment's lib, then the loader's cache. Builds of conda are left alone.

    ## What to do

    For glibc: a newer system or container image, or the older TensorFlow release that the finding names. For
    libstdc++: take the folder out of LD_LIBRARY_PATH, or update the package that brought it.
    """
    found = official(installation)
    needs = build(found.version) if found is not None else None
    if found is None or needs is None or installation.interpreter.system != "Linux":
        return
    yield from _glibc(installation, found, needs)
    yield from _libstdcxx(installation, found, needs)


def _glibc(installation: Installation, found: Distribution, needs: dict[str, Any]) -> Iterator[Finding]:
    here = parsed(installation.interpreter.libc_version) if installation.interpreter.libc == "glibc" else None
    if here is None or here >= Version(needs["glibc"]):
        return
    older = newest_release(
        installation.interpreter.minor, lambda build: bool(build) and Version(build["glibc"]) <= here
    )
    remedies = [change_release(installation, found.name, older)] if older else []
    newer = "a newer system: a container image of Ubuntu 22.04 or Debian 12 has glibc 2.35 or later"
    yield Finding(
        Cause.LIBRARY_CONFLICT,
        f"glibc {here} is older than the {needs['glibc']} that {found.name} {found.version} needs",
        (
            f"the wheels of this release are built for glibc {needs['glibc']} or later",
            f"this system has glibc {here}",
        ),
        (*remedies, f"or {newer}" if remedies else newer),
        Confidence.CERTAIN if found.pinned else Confidence.LIKELY,
    )


def _libstdcxx(installation: Installation, found: Distribution, needs: dict[str, Any]) -> Iterator[Finding]:
    library = next((each for each in installation.libraries or () if each.name == _LIBSTDCXX and each.owner), None)
    lacking = _lacking(library, (needs["glibcxx"], needs["cxxabi"])) if library is not None else []
    if library is None or not lacking:
        return
    yield Finding(
        Cause.LIBRARY_CONFLICT,
        f"the libstdc++ that would be loaded offers no {lacking[0]}, which {found.name} {found.version} needs",
        (
            f"{library.path} comes first ({_found_by(library)}) and offers {', '.join(library.versions)}",
            f"the wheel asks for {needs['glibcxx']} and {needs['cxxabi']}",
        ),
        tuple(_remedies(installation, library)),
        Confidence.CERTAIN if library.owner == "system" else Confidence.LIKELY,
    )


def _lacking(library: SharedLibrary, needed: tuple[str, ...]) -> list[str]:
    offered = dict(each.rsplit("_", 1) for each in library.versions)
    lacking = []
    for each in needed:
        family, version = each.rsplit("_", 1)
        if family in offered and Version(offered[family]) < Version(version):
            lacking.append(each)
    return lacking


def _found_by(library: SharedLibrary) -> str:
    return {"conda": "in the conda environment's lib", "system": "by the loader's cache"}.get(
        library.owner or "", "by LD_LIBRARY_PATH"
    )


def _remedies(installation: Installation, library: SharedLibrary) -> Iterator[str]:
    folder = library.path.rpartition("/")[0]
    if library.owner == "LD_LIBRARY_PATH":
        yield f"take {folder} out of LD_LIBRARY_PATH: `unset LD_LIBRARY_PATH` where nothing else needs it"
    elif library.owner == "conda":
        yield f"`conda install -p {quoted(installation.interpreter.prefix or '')} -c conda-forge 'libstdcxx-ng>=12'`"
    else:
        yield "update the system's libstdc++ (`apt install libstdc++6`, `dnf update libstdc++`), or use a newer image"
