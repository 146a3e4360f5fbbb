"""D108: a distribution of TensorFlow brings no TensorFlow."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.doctor._change import state_of
from crashcart.doctor._files import stubs
from crashcart.doctor._tell import tell
from crashcart.evidence import Environment
from crashcart.finding import Finding
from crashcart.installation import Installation
from crashcart.rule import Rank, rule


@rule("D108", "stub-distribution", Rank.KIND)
def stub_distribution(installation: Installation, environment: Environment | None = None) -> Iterator[Finding]:
    """A distribution of TensorFlow is there, and brings no TensorFlow.

    ## What it means

    tensorflow-gpu ends with 2.12, an empty package that is made to fail. On some platforms `tensorflow` is an empty wheel that
    needs a partner (tensorflow-intel, tensorflow-macos, tensorflow-cpu-aws); installed without it, there is nothing to import.

    ## How we know

    By the name and version of the distribution, and because no directory of the path has the module.

    ## What to do

    Install the package that the finding names instead. `tensorflow` has had the GPU in it since 2.1; with
    `tensorflow[and-cuda]`, pip brings NVIDIA's libraries along.
    """
    state = state_of(installation, environment)
    yield from tell(state, stubs(state))
