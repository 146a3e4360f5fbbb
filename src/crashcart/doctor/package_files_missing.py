"""D112: a package is listed as installed and its files are gone."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.doctor._change import state_of
from crashcart.doctor._files import files_missing
from crashcart.doctor._tell import tell
from crashcart.evidence import Environment
from crashcart.finding import Finding
from crashcart.installation import Installation
from crashcart.rule import Rank, rule


@rule("D112", "package-files-missing", Rank.KIND)
def package_files_missing(installation: Installation, environment: Environment | None = None) -> Iterator[Finding]:
    """TensorFlow, Keras or NumPy is listed as installed, and files of it are gone.

    ## What it means

    Uninstalling one of two distributions that share a folder (tensorflow and tensorflow-cpu, keras and keras-nightly) deletes
    the files of both. What remains may be a folder without `__init__.py`: then the import works, and the module is empty
    ("module 'tensorflow' has no attribute '__version__'").

    ## How we know

    The files that the distribution's RECORD lists are not there. Of a large package some hundred files are looked for, and
    tests are left out, because slimmed images drop them.

    ## What to do

    Write the files again with the command of the finding; a plain `pip install` does nothing, because pip believes that
    the package is installed.
    """
    state = state_of(installation, environment)
    yield from tell(state, files_missing(state))
