"""D502: settings of the environment that change how memory is used."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from crashcart.doctor._facts import facts
from crashcart.evidence import Environment
from crashcart.finding import Cause, Confidence, Finding, Level
from crashcart.probe.named_paths import preloaded
from crashcart.rule import Rank, rule

_ALLOCATOR = re.compile(r"lib(tcmalloc|jemalloc|mimalloc)\w*")
_SHOWN = {"gpu": Cause.GPU_MEMORY, "host": Cause.HOST_MEMORY}


@rule("D502", "setting-changes-memory", Rank.KIND)
def setting_changes_memory(
    environment: Environment, files: Mapping[str, int | None] | None = None
) -> Iterator[Finding]:
    """A variable of the environment is set that changes how TensorFlow, Python or the C library use memory.

    ## What it means

    Nothing is wrong. Such settings explain why a program needs more or less memory here than elsewhere, and they are
    forgotten easily: a line in `.bashrc`, a Dockerfile, a notebook's kernel.

    ## How we know

    The variables of this process, which programs started from here inherit; what each does is from TensorFlow's own
    source and documentation.

    ## What to do

    Nothing, or `unset NAME` where the effect is not wanted. They are read when TensorFlow is imported: set them
    before Python starts.
    """
    knobs: dict[str, dict[str, Any]] = facts("knobs")
    told = [
        (name, value, effect, knobs[name]["memory"])
        for name, value in environment.variables.items()
        if name in knobs and (effect := _effect(knobs[name], value)) is not None
    ]
    there = [
        each
        for each in preloaded(environment.variables.get("LD_PRELOAD", ""))
        if (files or {}).get(each, 0) is not None
    ]
    preload = _ALLOCATOR.search(" ".join(there))
    if preload:
        words = f"{preload[1]} serves memory in place of the C library: mostly less growth over time, sometimes slower"
        told.append(("LD_PRELOAD", environment.variables["LD_PRELOAD"], words, "host"))
    if told:
        yield _finding(told)


def _effect(knob: dict[str, Any], value: str) -> str | None:
    if "contains" in knob and knob["contains"] not in value:
        return None
    text: str | None = knob.get("values", {}).get(value.strip().lower(), knob.get("effect"))
    return text.format(value=value) if text is not None else None


def _finding(told: list[tuple[str, str, str, str]]) -> Finding:
    names = [name for name, _, _, _ in told]
    shown = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
    return Finding(
        _SHOWN[told[0][3]],
        f"{shown} {'changes' if len(names) == 1 else 'change'} how memory is used",
        tuple(f"{name}={value}: {effect}" for name, value, effect, _ in told),
        (f"nothing, if that is meant; otherwise `unset {' '.join(names)}`, before Python starts",),
        Confidence.CERTAIN,
        level=Level.NOTE,
    )
