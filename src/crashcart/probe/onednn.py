"""Whether TensorFlow takes oneDNN's kernels for the processor, and how a process is begun that does not.

Covers: the variable that says so, and the instructions that decide where it says nothing (TensorFlow 2.9 and later on x86 Linux).
Does not cover: what these kernels take (`fit/host.py`).
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping

VARIABLE = "TF_ENABLE_ONEDNN_OPTS"
_USERS = "CRASHCART_USERS_ONEDNN"
"""What the user has set, in a process of ours that does without."""
_INSTRUCTIONS = frozenset(("avx512_vnni", "avx512_bf16", "avx_vnni", "amx_tile", "amx_int8", "amx_bf16"))


def takes_onednn(cpu_flags: Collection[str] | None, environment: Mapping[str, str] = os.environ) -> bool:
    """Whether a run of the user's takes them on a processor with these flags."""
    said = environment.get(_USERS, environment.get(VARIABLE, "")).strip().lower()
    if said in ("0", "false"):
        return False
    return said in ("1", "true") or not _INSTRUCTIONS.isdisjoint(cpu_flags or ())


def without_onednn(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The environment of a process that stands for a GPU, which has no such kernels: on the allocator that GPUs use they
    crash where they get no scratch. What the user has set can still be asked for."""
    users = environment.get(_USERS, environment.get(VARIABLE, ""))
    return {**environment, VARIABLE: "0", _USERS: users}
