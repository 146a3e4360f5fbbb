"""L110 models-built-in-the-loop."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.finding import Finding
from crashcart.growth import Growth, Made
from crashcart.leaks._holders import Holding, keeper_of, kept_at, line_of
from crashcart.leaks._made import GRAPH, is_keras_call, made_anew
from crashcart.leaks._tell import Blame, counted_finding, held_by, held_finding, items
from crashcart.rule import Rank, rule

_ORDER = ("model", "optimizer", "layer", "tf.function", "graph", GRAPH)


@rule("L110", "models-built-in-the-loop", Rank.ROOT)
def models_built_in_the_loop(growth: Growth) -> Iterator[Finding]:
    """Models, layers, optimizers or tf.functions are built anew with each step, and stay.

    ## What it means

    Keras keeps state of every model that was built, TensorFlow a graph of every function; a name that is assigned anew
    does not free what others still refer to. Each round adds a model, its weights and its functions.

    ## How we know

    Objects of that kind were counted while the program stepped: those that were made at one line became more to the
    end, and are still alive.

    ## What to do

    Build once, before the loop. Where a new model is needed in each round, `del` what refers to the old one and call
    `tf.keras.backend.clear_session()` before the next.
    """
    found = [each for each in made_anew(growth, _ORDER) if not is_keras_call(each)]
    holding = next(held_by(growth, "built"), None)
    if found:
        kind = min((each.kind for each in found), key=_ORDER.index)
        main = next(each for each in found if each.kind == kind)
        keeper = holding or keeper_of(growth, main)
        yield counted_finding(growth, _blame(main, keeper), keeper)
    elif holding is not None and (finding := held_finding(holding, growth, _held(holding, growth))) is not None:
        yield finding


def _blame(main: Made, keeper: Holding | None) -> Blame:
    more, what = main.last - main.first, f"{main.kind}s"
    return Blame(
        f"{what} are built in the loop, and stay" + (f" in `{keeper.kept.name}`" if keeper is not None else ""),
        f"{more:,} {what} ({main.name}) were made in {main.steps:,} steps and are still alive",
        tuple(_remedy(main, keeper)),
        kept_at(keeper, main),
    )


def _remedy(main: Made, keeper: Holding | None) -> Iterator[str]:
    if keeper is not None:
        yield f"do not keep them in `{keeper.kept.name}`: keep what is needed of each (numbers, weights on disk)"
    yield f"build the {main.kind} once, before the loop"
    if main.kind in ("model", "layer", "optimizer"):
        yield "`del` the old one and call `tf.keras.backend.clear_session()` before the next is built"
    else:
        yield "put `@tf.function` on a function outside of the loop"


def _held(holding: Holding, growth: Growth) -> Blame:
    name, item = holding.kept.name, items(holding.kept.item)
    return Blame(
        f"`{name}` keeps {item}",
        f"each of the {item} stays, with its weights and its functions, as long as `{name}` does",
        ("build once, before the loop", f"keep numbers or file names in `{name}` instead"),
        line_of(holding, growth),
    )
