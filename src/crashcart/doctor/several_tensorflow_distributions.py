"""D107: more than one distribution wrote the folder tensorflow."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.doctor._change import state_of
from crashcart.doctor._files import several
from crashcart.doctor._tell import tell
from crashcart.evidence import Environment
from crashcart.finding import Finding
from crashcart.installation import Installation
from crashcart.rule import Rank, rule


@rule("D107", "several-tensorflow-distributions", Rank.KIND)
def several_tensorflow_distributions(
    installation: Installation, environment: Environment | None = None
) -> Iterator[Finding]:
    """More than one distribution of TensorFlow is installed, and they share one folder.

    ## What it means

    tensorflow, tensorflow-cpu, tf-nightly and others all write the folder `tensorflow`. The last one that was installed wins,
    while pip goes on listing all of them; uninstalling one deletes files of the others. An add-on such as tf-keras, installed
    beside tensorflow-cpu, brings a second one, because it asks for `tensorflow` by name.

    ## How we know

    More than one RECORD lists `tensorflow/__init__.py`; by the sizes of the files we see whose they are. On Windows, macOS
    and ARM, `tensorflow` may be an empty wheel that points to tensorflow-intel, tensorflow-macos or tensorflow-cpu-aws: that pair
    is right and is not reported.

    ## What to do

    Remove all but one, and install that one again, so that its files are complete. Add-ons: with `--no-deps` beside
    tensorflow-cpu.
    """
    state = state_of(installation, environment)
    yield from tell(state, several(state))
