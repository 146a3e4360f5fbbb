"""How a container is kept short, in code that its kind can take.

Covers: one line of advice for each kind of container. Does not cover: caches of functools (`cache_never_forgets.py`), or whether
it grows.
"""

from __future__ import annotations

from crashcart.leaks._fill import Fill
from crashcart.leaks._holders import Holding

MOST = 1000
_PUTS = (".put(", ".put_nowait(")


def bounded(holding: Holding, fill: Fill | None) -> str:
    """What to write so that it stays short; a queue or a mapping cannot become a deque."""
    kind, name = holding.kept.kind.lower(), holding.kept.name.rpartition(".")[2].rpartition(": ")[2]
    name = fill.container if fill is not None and fill.container.endswith(f".{name}") else name  # as the line says it
    if fill is not None and any(each in fill.template for each in _PUTS):
        return f"give it a bound, so that `put` waits: `{name} = queue.Queue(maxsize={MOST})`"
    if "dict" in kind or "counter" in kind:
        return f"keep only the last ones: `del {name}[next(iter({name}))]` where `len({name}) > {MOST}`"
    if "list" in kind or "deque" in kind:
        return f"keep only the last ones: `{name} = collections.deque(maxlen={MOST})`"
    return f"take the oldest out of `{name}` where it holds more than {MOST}"
