"""`cc.explain_errors(dataset)`: an error inside a pipeline names the element and the file that it comes from.

    dataset = cc.explain_errors(dataset)                                          # the error says which file
    dataset = cc.explain_errors(dataset, policy="skip", at_most=10, log="bad.jsonl")

Covers: functions of map (parallel, behind a shuffle, inside interleave and flat_map), elements that do not fit into
one batch; in a Python loop also sources: damaged records, generators that raise. Does not cover: skipping what a
source cannot read (it is raised), predicates of filter, functions of scan and group_by_window: their errors stay as
they are.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from crashcart.errors import UsageError
from crashcart.pipeline.faults_find import source_failed
from crashcart.pipeline.faults_guard import guarded
from crashcart.pipeline.faults_state import ElementError, Faults

POLICIES = ("raise", "skip")


def explain_errors(
    dataset: Any, policy: str = "raise", *, at_most: int | None = None, log: str | Path | list[Any] | None = None
) -> Any:
    """The same dataset, whose errors name the element and the file. See `crashcart.api.explain_errors`."""
    import tensorflow as tf

    if not isinstance(dataset, tf.data.Dataset):
        raise UsageError(f"received {type(dataset).__name__}; expected a tf.data.Dataset", "cc.explain_errors(dataset)")
    if policy not in POLICIES:
        raise UsageError(f"received policy={policy!r}; expected one of {', '.join(POLICIES)}")
    if at_most is not None and (policy != "skip" or type(at_most) is not int or at_most < 0):
        raise UsageError(f"received at_most={at_most!r} with policy={policy!r}; expected a count, with policy='skip'")
    _check_log(log)
    faults = Faults(policy == "skip", at_most, log)
    made = guarded(dataset, faults)
    if faults.skips:
        made = _told_at_the_end(made, faults)
    return _dressed(made, dataset, faults)


def _check_log(log: str | Path | list[Any] | None) -> None:
    """A log that cannot be written is told now, and not in the middle of an epoch."""
    if log is None or isinstance(log, list):
        return
    try:
        with Path(log).open("a", encoding="utf-8"):
            return
    except (OSError, TypeError) as error:
        why = getattr(error, "strerror", error)
        raise UsageError(f"cannot write to log={log!r}: {why}", "Name a file, or a list.") from None


def _told_at_the_end(dataset: Any, faults: Faults) -> Any:
    """Behind the last element comes a stage that gives none: it tells the summary of the epoch."""
    import tensorflow as tf

    def told(_: Any) -> Any:
        return tf.py_function(faults.end_of_epoch, [], tf.bool)

    # the same structure without an element, whatever it holds: ragged, sparse, datasets
    nothing = tf.data.Dataset.range(1).filter(told).flat_map(lambda _: dataset.take(0))
    return dataset.concatenate(nothing)


def _dressed(made: Any, original: Any, faults: Faults) -> Any:
    """The dataset with what is known of its faults, and with exceptions of its own in Python loops."""
    import tensorflow as tf

    count = int(original.cardinality())
    if not faults.skips and count != tf.data.UNKNOWN_CARDINALITY:
        made = made.apply(tf.data.experimental.assert_cardinality(count))
    elif made is original:
        made = original.take(-1)  # its own object: the one that was given stays as it is
    plain = type(made)

    def iterated(self: Any) -> Any:
        return _explaining(plain.__iter__(self), original, faults)

    members = {
        "__iter__": iterated,
        "skipped": property(lambda self: faults.skipped),
        "faults": property(lambda self: faults.seen),
        "summary": property(lambda self: faults.summary()),
    }
    made.__class__ = type(plain.__name__, (plain,), members)
    return made


def _explaining(iterator: Any, original: Any, faults: Faults) -> Any:
    """The iterator, which raises what was found instead of what TensorFlow makes of it. It stays TensorFlow's own, so that it
    can be handed to a tf.function; there, the message is all that can be changed."""
    import tensorflow as tf

    plain = type(iterator)

    def following(self: Any) -> Any:
        try:
            return plain.__next__(self)
        except tf.errors.OpError as error:
            found = faults.take_raised(str(error)) or source_failed(original, error)
            if found is None:
                raise
            raise found from (found.__cause__ or error)

    iterator.__class__ = type(plain.__name__, (plain,), {"__next__": following})
    return iterator


__all__ = ["ElementError", "explain_errors"]
