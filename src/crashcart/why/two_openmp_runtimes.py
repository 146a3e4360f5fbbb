"""W207 two-openmp-runtimes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from crashcart.evidence import Ending, ErrorRecord, Log
from crashcart.finding import Finding
from crashcart.rule import Rank, rule
from crashcart.why._said import Force, Kind
from crashcart.why._statement import conclude
from crashcart.why._text import stated

_LIBRARIES = re.compile(r"(lib\w*omp\w*[\w.]*)", re.IGNORECASE)
_ASSERTED = (
    "KMP_INIT_AT_FORK=FALSE where processes are forked after threads have started, KMP_AFFINITY=disabled where it"
    " is about affinity",
    "have one OpenMP runtime in the process, of another version: upgrade or downgrade the package that brings it (`conda install"
    " nomkl`, intel-openmp, llvm-openmp)",
    "OMP_NUM_THREADS=1 in the worker processes, or fewer of them",
)


@rule("W207", "two-openmp-runtimes", Rank.KIND)
def two_openmp_runtimes(
    errors: tuple[ErrorRecord, ...], log: Log | None = None, ending: Ending | None = None
) -> Iterator[Finding]:
    """Two copies of the OpenMP runtime were loaded into one process, and the second one ended it.

    ## What it means

    NumPy with MKL, PyTorch, scikit-learn and others each bring libiomp5, libomp or libgomp. Two copies in one process
    have two thread pools that do not know of each other; Intel's runtime refuses to go on.

    ## How we know

    The runtime itself says so: OMP Error #15.

    ## What to do

    Install the packages from one source, so that they share one runtime.
    """
    for statement in stated(Kind.OPENMP, errors, log, ending):
        if statement.force is Force.PLAIN:
            yield conclude(statement, "the OpenMP runtime ended the process: a check of its own failed", _ASSERTED)
            continue
        names = sorted(set(_LIBRARIES.findall(statement.words)))
        yield conclude(
            statement,
            "two OpenMP runtimes are in one process" + (f" ({', '.join(names)})" if names else ""),
            (
                "install all numeric packages from one source: reinstall NumPy, SciPy, PyTorch and TensorFlow"
                " either all with pip"
                " or all with conda; in conda `conda install nomkl` removes Intel's runtime",
                "find the copies: `find $CONDA_PREFIX $VIRTUAL_ENV -name 'lib*omp*'`, and remove the package that"
                " brought the second",
                "only to get on for today: KMP_DUPLICATE_LIB_OK=TRUE; it is documented as unsafe and may give wrong"
                " results",
            ),
        )
