"""W201 illegal-instruction."""

from __future__ import annotations

import signal
from collections.abc import Iterator

from crashcart.evidence import Crash, Ending, Machine, Program, StackDump
from crashcart.finding import Cause, Confidence, Finding, Where
from crashcart.rule import Rank, rule
from crashcart.why._crash import core_words, crash_place, native_words
from crashcart.why._opcode import is_trap, needed_features
from crashcart.why._processor import for_processor, processor_facts
from crashcart.why._statement import quote_line
from crashcart.why._words import who


@rule("W201", "illegal-instruction", Rank.MECHANISM)
def illegal_instruction(
    ending: Ending,
    program: Program | None = None,
    crash: Crash | None = None,
    machine: Machine | None = None,
    stacks: tuple[StackDump, ...] | None = None,
) -> Iterator[Finding]:
    """The processor met an instruction that it does not have.

    ## What it means

    A compiled library was built for newer processors than this one (or than this emulator or virtual machine shows):
    official TensorFlow wheels need AVX since 1.6. Or, rarely, the program jumped into data, or a compiler placed a trap
    on purpose.

    ## How we know

    The end was SIGILL. Certain: the bytes of the instruction were recorded, they need a feature (AVX, AVX2, FMA,
    AVX-512…) and /proc/cpuinfo does not list it. A deliberate trap (`ud2`) is told apart by its bytes.

    ## What to do

    Install a build for this processor (an older release, a build from source, conda-forge), or use a machine that has the
    feature; in a virtual machine, pass the host's CPU through.
    """
    if ending.signal != signal.SIGILL and ending.exit_code != 128 + signal.SIGILL:
        return
    code = crash.instruction if crash is not None else None
    where = crash_place(crash, stacks, program, ending)
    needed = needed_features(code) if code is not None else ()
    flags = machine.cpu_flags if machine is not None else None
    missing = tuple(each for each in needed if flags is not None and each not in flags)
    if code is not None and is_trap(code):
        yield _trapped(program, code, crash, ending, where)
    elif needed and flags is not None and not missing:
        yield _not_missing(program, needed, crash, ending, where)
    else:
        yield Finding(
            Cause.CPU_INSTRUCTIONS,
            f"{who(program)} uses an instruction that this CPU does not have"
            + (f" ({missing[0].upper()})" if missing else ""),
            (*_facts(ending, code, missing), *native_words(crash), *processor_facts(machine)),
            for_processor(machine),
            Confidence.CERTAIN if missing else Confidence.LIKELY,
            where,
        )


def _facts(ending: Ending, code: bytes | None, missing: tuple[str, ...]) -> Iterator[str]:
    if ending.said is not None:
        yield quote_line(ending.said)
    yield "it ended by SIGILL, an instruction this processor does not have"
    if missing and code is not None:
        needs = " or ".join(missing)
        yield f"the instruction ({code[:6].hex(' ')}…) needs {needs}, which /proc/cpuinfo does not list"


def _trapped(program: Program | None, code: bytes, crash: Crash | None, ending: Ending, where: Where | None) -> Finding:
    return Finding(
        Cause.NATIVE_CRASH,
        f"{who(program)} ran into a trap that its compiled code sets on purpose",
        (f"it ended by SIGILL at the bytes {code[:4].hex(' ')}, a deliberate trap", *native_words(crash)),
        ("update or replace the library named above: its own check failed", *core_words(ending)),
        Confidence.LIKELY,
        where,
    )


def _not_missing(
    program: Program | None, needed: tuple[str, ...], crash: Crash | None, ending: Ending, where: Where | None
) -> Finding:
    return Finding(
        Cause.NATIVE_CRASH,
        f"{who(program)} stopped at an instruction that it could not execute, though this CPU has the feature",
        (
            f"it ended by SIGILL; the instruction needs {' or '.join(needed)}, which this CPU lists",
            *native_words(crash),
        ),
        ("reinstall the library named above: its code or its call is damaged", *core_words(ending)),
        Confidence.LIKELY,
        where,
    )
