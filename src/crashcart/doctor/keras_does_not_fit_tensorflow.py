"""D103: the installed Keras is not one for this TensorFlow."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.doctor._change import state_of
from crashcart.doctor._repair import keras_troubles
from crashcart.doctor._tell import tell
from crashcart.evidence import Environment
from crashcart.finding import Finding
from crashcart.installation import Installation
from crashcart.rule import Rank, rule


@rule("D103", "keras-does-not-fit-tensorflow", Rank.KIND)
def keras_does_not_fit_tensorflow(
    installation: Installation, environment: Environment | None = None
) -> Iterator[Finding]:
    """Keras has a version that was not made for this TensorFlow release.

    ## What it means

    From TensorFlow 2.6 to 2.15, `tf.keras` is the package keras of the same minor version; from 2.16 on it is Keras 3. With
    another one the import of TensorFlow works, and `tf.keras` fails when it is first used. With TensorFlow 2.15 and Keras 3
    nothing fails, but `tf.keras` silently is another library. TensorFlow 2.4 and 2.5 have Keras built in.

    ## How we know

    Pairs were run with official wheels; the finding quotes the error. Pairs that were not run are judged by their
    neighbours and are *likely* at most. A Keras 2 that is one minor version older works where it was run, and is not reported.

    ## What to do

    Install the Keras that the finding names. Code for Keras 2 can run under TensorFlow 2.16 and later with the package
    tf-keras and TF_USE_LEGACY_KERAS=1.
    """
    state = state_of(installation, environment)
    yield from tell(state, keras_troubles(state))
