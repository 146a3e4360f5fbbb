"""D101: the installed NumPy is one that this TensorFlow cannot work with."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.doctor._beside import judge_beside
from crashcart.finding import Finding
from crashcart.installation import Installation
from crashcart.rule import Rank, rule


@rule("D101", "numpy-does-not-fit-tensorflow", Rank.KIND)
def numpy_does_not_fit_tensorflow(installation: Installation) -> Iterator[Finding]:
    """NumPy has a version that this TensorFlow release cannot work with.

    ## What it means

    TensorFlow's compiled parts are built for one generation of NumPy, and its Python code uses names that later ones
    dropped. TensorFlow up to 2.17 cannot be imported beside NumPy 2; 2.4 to 2.6 not beside 1.24 or later; 2.4 and 2.5 import
    but cannot build recurrent layers beside 1.20 or later. Some releases (2.7 to 2.11) declare no upper bound, so pip itself
    chooses a NumPy that fails.

    ## How we know

    Each pair was run: import, training, saving, with official wheels. A version between two measured ones is judged by
    them where they agree. What a release merely declares is not used: 2.18 and 2.19 ask for NumPy below 2.1 or 2.2 and work
    with 2.3.

    ## What to do

    Install the NumPy that the finding names (it is one that was measured to work and that the other installed packages
    accept), or a TensorFlow release that was built for the NumPy you have.
    """
    yield from judge_beside(installation, "numpy", "NumPy")
