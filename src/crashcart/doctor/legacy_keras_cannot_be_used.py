"""D104: Keras 2 was asked for, or is installed as tf-keras, and cannot be imported."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.doctor._change import state_of
from crashcart.doctor._known import known
from crashcart.doctor._tell import tell
from crashcart.evidence import Environment
from crashcart.finding import Finding
from crashcart.installation import Installation
from crashcart.rule import Rank, rule


@rule("D104", "legacy-keras-cannot-be-used", Rank.KIND)
def legacy_keras_cannot_be_used(
    installation: Installation, environment: Environment | None = None
) -> Iterator[Finding]:
    """Keras 2 for current TensorFlow (the package tf-keras) was asked for and is not there, or is too old.

    ## What it means

    TF_USE_LEGACY_KERAS=1 makes `tf.keras` use the package tf-keras. Without it, `tf.keras` fails at its first use. A tf-keras
    before 2.16 cannot be imported under TensorFlow 2.16 or later.

    ## How we know

    From the variables of the environment and the installed versions; both failures were run. A tf-keras that is one or two
    minor versions away from TensorFlow works from 2.16 on, and is not reported.

    ## What to do

    Install tf-keras of TensorFlow's minor version, or unset the variable. Beside tensorflow-cpu the command has `--no-deps`,
    because tf-keras asks for `tensorflow` by name and pip would install a second one.
    """
    state = state_of(installation, environment)
    yield from tell(state, known(state, "D104"))
