"""L107 keras-object-keeps-tensors."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.finding import Finding
from crashcart.growth import Growth
from crashcart.leaks._fill import fill_of
from crashcart.leaks._holders import Holding, keras_part, line_of
from crashcart.leaks._tell import Blame, held_by, held_finding
from crashcart.rule import Rank, rule

_WORDS = {
    "Metric": "a metric is updated with every batch",
    "Callback": "a callback is called with every batch",
    "Layer": "a layer is called with every batch",
    "Model": "a model's call and train_step run with every batch",
    "Loss": "a loss is called with every batch",
    "Optimizer": "an optimizer is applied with every batch",
}


@rule("L107", "keras-object-keeps-tensors", Rank.ROOT)
def keras_object_keeps_tensors(growth: Growth) -> Iterator[Finding]:
    """A callback, metric, layer or model of one's own collects something with every batch.

    ## What it means

    An attribute of such an object lives as long as the model. A list of predictions in a metric, of outputs in a layer
    that runs eagerly, or of logs in a callback grows with every batch, and over all epochs.

    ## How we know

    The attributes of the user's own Keras objects were looked at several times; one of them grew to the end, and its
    bytes make up a good part of the growth of the process.

    ## What to do

    Keep sums in variables (`self.add_weight`) in place of lists, empty the list in `reset_state` or `on_epoch_end`, or
    keep numbers.
    """
    for holding in held_by(growth, "keras"):
        part = keras_part(holding.kept) or "Model"
        frame = line_of(holding, growth)
        blame = Blame(
            f"`{holding.kept.name}` of a {part.lower()} keeps something of every batch",
            f"{_WORDS[part]}, and what it puts into `{holding.kept.name}` stays as long as the {part.lower()}",
            tuple(_remedy(holding, part, fill_of(frame) is not None)),
            frame,
        )
        finding = held_finding(holding, growth, blame)
        if finding is not None:
            yield finding


def _remedy(holding: Holding, part: str, filled: bool) -> Iterator[str]:
    name = holding.kept.name.rpartition(".")[2]
    if part in ("Metric", "Loss"):
        yield f"keep a sum and a count (`self.add_weight`) in place of `{name}`"
        yield f"empty it in reset_state: `self.{name}.clear()`"
    elif part == "Callback":
        yield f"keep numbers (`float(x)`), and empty it at the end of an epoch: `self.{name}.clear()` in on_epoch_end"
    else:
        yield f"do not keep tensors of a step in `self.{name}`: return them, or keep a variable that is assigned anew"
    if not filled:
        yield f"look for the line that fills `{name}`"
