"""L120 python-functions-pile-up."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.finding import Finding
from crashcart.growth import Growth, Made
from crashcart.leaks._leak import leak_of
from crashcart.leaks._made import PYTHON_FUNCTION, made_anew, traced_again
from crashcart.leaks._tell import Blame, counted_finding
from crashcart.rule import Rank, rule


@rule("L120", "python-functions-pile-up", Rank.ROOT)
def python_functions_pile_up(growth: Growth) -> Iterator[Finding]:
    """Python functions are handed to TensorFlow with each step (`from_generator`, `py_function`), which keeps them for good.

    ## What it means

    `Dataset.from_generator`, `tf.py_function` and, in a function or a dataset's map, `tf.numpy_function` write the Python
    function down in TensorFlow's default graph. That graph keeps it as long as the program runs, with all that it closes
    over: its arrays, its object. That the dataset is gone, or was never read, changes nothing. A dataset made anew from a
    generator for each epoch keeps the data of every epoch.

    ## How we know

    The functions that were handed over at one line became more to the end, and are still alive, while memory grows.

    ## What to do

    Make the dataset once, before the loop. A generator runs from its start for each pass over the dataset, so it can read
    what changes from one object that stays. Arrays that fit can go through `from_tensor_slices`, which are freed with their
    dataset. Where each round needs a dataset of its own, `tf.keras.backend.clear_session()` after it lets go of what the
    default graph keeps; no dataset, model or function that was made before may be used with such functions afterwards.
    """
    if leak_of(growth) is None or traced_again(growth):
        return
    for each in made_anew(growth, (PYTHON_FUNCTION,))[:1]:
        yield counted_finding(growth, _blame(each))


def _blame(each: Made) -> Blame:
    source = (each.frame.source or "") if each.frame is not None else ""
    generated = "from_generator" in source
    what = "`from_generator` makes a dataset anew" if generated else "Python functions are handed to TensorFlow anew"
    once = (
        "make the dataset once, before the loop, and let its generator read what changes from an object that stays: "
        "`held['samples'] = samples` before each pass"
        if generated
        else "make the dataset or function that calls it once, before the loop, and hand over what changes as its argument"
    )
    return Blame(
        f"{what}, and TensorFlow keeps each one",
        f"{each.last - each.first:,} Python functions were handed to TensorFlow in {each.steps:,} steps; its default graph "
        "keeps them, and all that they close over, until the program ends",
        (
            once,
            "for arrays that fit: `tf.data.Dataset.from_tensor_slices(samples)` is freed with its dataset",
            "`tf.keras.backend.clear_session()` after each round, where nothing that was made in it is used again",
        ),
        each.frame,
    )
