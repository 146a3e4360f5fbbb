from __future__ import annotations
from bench.deaths import of_memory
DEATHS = of_memory.DEATHS
