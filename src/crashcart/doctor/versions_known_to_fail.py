"""D105: packages around TensorFlow have versions that are known to fail together."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.doctor._change import state_of
from crashcart.doctor._known import known
from crashcart.doctor._tell import tell
from crashcart.evidence import Environment
from crashcart.finding import Finding
from crashcart.installation import Installation
from crashcart.rule import Rank, rule


@rule("D105", "versions-known-to-fail", Rank.KIND)
def versions_known_to_fail(installation: Installation, environment: Environment | None = None) -> Iterator[Finding]:
    """Packages around TensorFlow have versions that are known to fail together.

    ## What it means

    Some failures come from pairs that no requirement excludes: ml_dtypes or h5py built for NumPy 1 beside NumPy 2, wrapt and
    typing_extensions under saved models, add-ons such as tensorflow-text that were compiled for another TensorFlow, setuptools
    without pkg_resources. The finding says what fails, and when: at the import, or at the first use of one feature.

    ## How we know

    From a list of conflicts that were run with real wheels (then the finding says with which), or that were reported (then
    it names the reports, and is *likely* at most).

    ## What to do

    Run the command of the finding: the versions in it exist for this Python, and were checked against what the other packages
    ask for. Where nothing fits, the finding says what stands against it.
    """
    state = state_of(installation, environment)
    yield from tell(state, known(state, "D105"))
