"""L113 sessions-left-open."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.finding import Finding
from crashcart.growth import Growth
from crashcart.leaks._holders import keeper_of, kept_at
from crashcart.leaks._made import made_anew, rising
from crashcart.leaks._tell import Blame, counted_finding
from crashcart.rule import Rank, rule


@rule("L113", "sessions-left-open", Rank.ROOT)
def sessions_left_open(growth: Growth) -> Iterator[Finding]:
    """Sessions are opened with each step, and not closed.

    ## What it means

    A session holds a copy of its graph, its variables, and threads. Without `close()` they stay, also after its name is
    gone.

    ## How we know

    The sessions alive were counted while the program stepped, and became more to the end.

    ## What to do

    Open one session before the loop, or use `with tf.compat.v1.Session() as session:`, which closes it.
    """
    made = made_anew(growth, ("session",))
    found = rising(growth, "sessions")
    if not made and found is None:
        return
    keeper = keeper_of(growth, made[0]) if made else None
    if made:
        more, steps, frame = made[0].last - made[0].first, made[0].steps, kept_at(keeper, made[0])
    else:
        assert found is not None
        more, steps, frame = found.climb.grown, found.climb.steps, None
    blame = Blame(
        "sessions are opened and not closed",
        f"{more:,} sessions were opened in {steps:,} steps and are still alive",
        (
            "open one session before the loop",
            "`with tf.compat.v1.Session() as session:` closes it at the end of the block",
        ),
        frame,
    )
    yield counted_finding(growth, blame, keeper)
