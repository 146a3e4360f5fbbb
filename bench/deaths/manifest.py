"""All deaths of the bench, in one list.

Covers: which programs there are and in which order they run; the lists themselves stand in the `of_…` modules.
Does not cover: what a `Death` holds and how it is started (`death.py`), or running them (`runner.py`).
`machine-restart`, `gpu-memory-taken` and `unknown` have no program: they cannot be made real on a machine without a GPU
that has to live on.
"""

from __future__ import annotations

from bench.deaths import of_data_and_ends, of_limits, of_memory, of_native_code, of_seeds, of_tensors
from bench.deaths.death import Death

DEATHS: tuple[Death, ...] = (
    *of_memory.DEATHS,
    *of_limits.DEATHS,
    *of_native_code.DEATHS,
    *of_tensors.DEATHS,
    *of_data_and_ends.DEATHS,
    *of_seeds.DEATHS,
)

HERE: tuple[Death, ...] = tuple(each for each in DEATHS if not each.cannot_die_here)
"""Those that this processor dies of."""
