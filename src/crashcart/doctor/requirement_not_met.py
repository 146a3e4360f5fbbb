"""D106: what installed packages ask for is missing, or has a version outside of what they declare."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.doctor._change import state_of
from crashcart.doctor._files import file_troubles
from crashcart.doctor._repair import version_troubles
from crashcart.doctor._tell import tell
from crashcart.doctor._unmet import gathered_missing, gathered_outside
from crashcart.evidence import Environment
from crashcart.finding import Finding
from crashcart.installation import Installation
from crashcart.rule import Rank, rule


@rule("D106", "requirement-not-met", Rank.KIND)
def requirement_not_met(installation: Installation, environment: Environment | None = None) -> Iterator[Finding]:
    """What installed packages ask for is not there, or has a version outside of what they declare.

    ## What it means

    A package without one of its requirements fails when it needs it; TensorFlow, for most of them, at the import. A version
    outside of the declared range often works: the range is what the makers promised, not what was tried.

    ## How we know

    From the Requires-Dist of every installed package, for this Python and system, as `pip check` does. TensorFlow 2.15 and
    2.21 were imported with each requirement taken away, so that the finding can say what fails. What is missing to packages that
    TensorFlow does not lead to (IPython, say) is a note. Not reported: pairs that
    were measured to work (or that a rule of their own reports), another distribution of the same module (tensorflow-cpu where
    `tensorflow` is asked for), the exact pins of TensorFlow 2.4 to 2.6, tf-keras one or two minor versions away.

    ## What to do

    Install what is missing with the command of the finding. Versions outside of a range are a note: leave them where
    everything works, and think of them when something fails.
    """
    state = state_of(installation, environment)
    spoken_of = [each.about for each in (*version_troubles(state), *file_troubles(state))]
    yield from tell(state, gathered_missing(state, spoken_of))
    yield from tell(state, gathered_outside(state, spoken_of))
