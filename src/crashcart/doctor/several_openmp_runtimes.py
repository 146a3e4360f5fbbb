"""D205: packages bring copies of the OpenMP runtime that do not bear each other."""

from __future__ import annotations

import re
from collections.abc import Iterator

from crashcart.evidence import Environment
from crashcart.finding import Cause, Confidence, Finding, Level
from crashcart.installation import Installation, SharedLibrary
from crashcart.rule import Rank, rule

# libgomp is GNU's, which bears company; the check that ends the process is in the runtimes of Intel and LLVM.
_JEALOUS = re.compile(r"lib(?:iomp5|omp)(?:-[0-9a-f]+)?(?:\.[0-9]+)?\.(?:so|dylib)")
_ON = frozenset({"1", "true", "t", "yes", "y", "on"})


@rule("D205", "several-openmp-runtimes", Rank.KIND)
def several_openmp_runtimes(installation: Installation, environment: Environment | None = None) -> Iterator[Finding]:
    """More than one copy of Intel's or LLVM's OpenMP runtime can come into one process.

    ## What it means

    When a second copy of libiomp5 or libomp starts in a process, it ends the process with "OMP: Error #15". Setting
    KMP_DUPLICATE_LIB_OK lets both run on; their documentation warns of crashes and silently wrong results. Copies of
    GNU's libgomp, which PyTorch, scikit-learn and XGBoost bundle on Linux under hashed names, are normal and not
    meant here.

    ## How we know

    The files that packages brought, in the folders where they keep libraries. On Linux two copies with the same name
    are one to the loader, so only different names count; on macOS every path is a copy of its own, and wheels that bring
    one each (PyTorch, scikit-learn) are ordinary: a note, unless KMP_DUPLICATE_LIB_OK tells of trouble. Whether they meet
    depends on what one program imports, so it is never a problem.

    ## What to do

    Install the packages from one source (all by pip, or all by conda), so that they share one runtime, and unset
    KMP_DUPLICATE_LIB_OK.
    """
    copies = _copies(installation)
    value = environment.variables.get("KMP_DUPLICATE_LIB_OK", "") if environment is not None else ""
    hidden = value.lower() in _ON
    if len(copies) > 1:
        ordinary = installation.interpreter.system == "Darwin" and not hidden
        yield _several(installation, copies, Level.NOTE if ordinary else Level.RISK)
    if hidden:
        yield _hidden(value, copies)


def _copies(installation: Installation) -> list[SharedLibrary]:
    found: dict[str, SharedLibrary] = {}
    for each in installation.libraries or ():
        if _JEALOUS.fullmatch(each.name) and each.owner != "system":
            by_name = installation.interpreter.system == "Linux"
            found.setdefault(each.name if by_name else each.path, each)
    return list(found.values())


def _several(installation: Installation, copies: list[SharedLibrary], level: Level) -> Finding:
    in_conda = installation.interpreter.kind == "conda"
    names = ", ".join(sorted({each.name for each in copies}))
    return Finding(
        Cause.OPENMP_CONFLICT,
        f"{len(copies)} OpenMP runtimes that do not bear each other: {names}",
        tuple(f"{each.path} (by {each.owner or 'an unknown package'})" for each in copies[:6]),
        (
            "`conda install nomkl`, and install NumPy, SciPy, PyTorch and scikit-learn with conda alone, none with pip"
            if in_conda
            else "install them where they share one: `conda create -n work -c conda-forge pytorch scikit-learn faiss-cpu …`",
            "it matters only if one process loads two of them: import your packages together once; OMP: Error #15 says so",
        ),
        Confidence.POSSIBLE,
        level=level,
    )


def _hidden(value: str, copies: list[SharedLibrary]) -> Finding:
    here = f"{len(copies)} copies of Intel's or LLVM's runtime were found here" if copies else "no copy was found here"
    return Finding(
        Cause.OPENMP_CONFLICT,
        "KMP_DUPLICATE_LIB_OK hides a second OpenMP runtime instead of reporting it",
        (f"KMP_DUPLICATE_LIB_OK={value}", here, "the runtime's own message calls it unsafe: crashes or wrong results"),
        ("`unset KMP_DUPLICATE_LIB_OK`, and run the program once: where it still works, the variable was not needed",),
        Confidence.CERTAIN,
        level=Level.RISK,
    )
