"""W214 cpu-lacks-what-the-build-needs."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.evidence import Ending, ErrorRecord, Log, Machine
from crashcart.finding import Finding
from crashcart.rule import Rank, rule
from crashcart.why._processor import for_processor
from crashcart.why._said import Kind
from crashcart.why._statement import conclude
from crashcart.why._text import stated


@rule("W214", "cpu-lacks-what-the-build-needs", Rank.KIND)
def cpu_lacks_what_the_build_needs(
    errors: tuple[ErrorRecord, ...],
    log: Log | None = None,
    ending: Ending | None = None,
    machine: Machine | None = None,
) -> Iterator[Finding]:
    """The framework itself says that it was built for instructions that this processor does not have.

    ## What it means

    TensorFlow since 1.6 and jaxlib need AVX. They look before they use it, and end with a message where it is missing.
    The notice that the *processor* has instructions which the *build* does not use means the opposite, and is harmless.

    ## How we know

    The message says "was compiled to use … but these aren't available on your machine", or "built using AVX instructions,
    which your CPU … do not support".

    ## What to do

    Take a build without those instructions (TensorFlow 1.5 was the last one on PyPI), build from source here, or use
    another machine; in a virtual machine, pass the host's processor through.
    """
    for statement in stated(Kind.PROCESSOR, errors, log, ending):
        yield conclude(
            statement, "this build needs processor instructions that this machine does not have", for_processor(machine)
        )
