"""The shapes of a batch: from the model, from an example, from what is typed; and what is assumed."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from typing import Any

import pytest

from crashcart.probe.tensorflow_specs import SpecsNeededError, batch_specs, described

pytestmark = pytest.mark.skipif(importlib.util.find_spec("tensorflow") is None, reason="TensorFlow is not installed")


@pytest.fixture(scope="module")
def kinds() -> Iterator[Any]:
    from tests.unit.fit.programs import kinds

    yield kinds


def shapes(specs: Any) -> Any:
    import tensorflow as tf

    return tf.nest.map_structure(lambda each: (tuple(each.shape), each.dtype.name), specs)


def test_inputs_and_targets_come_from_the_model_by_name_and_by_place(kinds: Any) -> None:
    x, y = shapes(batch_specs(kinds.dicts(), None, "train"))
    assert x == {"image": ((None, 8, 8, 3), "float32"), "table": ((None, 5), "float32")}
    assert y == {"price": ((None, 1), "float32"), "kind": ((None,), "int32")}
    x, y = shapes(batch_specs(kinds.lists(), None, "evaluate"))
    assert x == [((None, 8, 8, 3), "float32"), ((None, 5), "float32")]
    assert y == [((None, 1), "float32"), ((None,), "int32")]
    assert len(batch_specs(kinds.lists(), None, "predict")) == 1


def test_an_example_says_what_a_batch_looks_like(kinds: Any) -> None:
    import numpy as np
    import tensorflow as tf

    model, dataset = kinds.weighted()
    assert [each[0] for each in shapes(batch_specs(model, dataset, "train"))] == [(None, 12), (None, 2), (None,)]
    arrays = np.zeros((4, 12)), np.zeros((4, 2), "int64")
    assert shapes(batch_specs(model, arrays, "train")) == (((None, 12), "float32"), ((None, 2), "int64"))
    x_alone = tf.zeros((4, 12))
    assert shapes(batch_specs(model, x_alone, "train")) == (((None, 12), "float32"), ((None, 2), "float32"))
    assert shapes(batch_specs(*kinds.own_step(), "train")) == ((None, 96), "float32")  # its step takes x itself
    both = [np.zeros((2, 8, 8, 3)), np.zeros((2, 5))]
    assert len(batch_specs(kinds.lists(), both, "predict")[0]) == 2


def test_open_dimensions_are_assumed_and_said_or_given(kinds: Any) -> None:
    found = described(kinds.open_length(), None, "train")
    assert shapes(found.specs[0]) == ((None, 128), "int32")
    assert found.assumed == ("the input of (?) taken as 128; --shape (cc.fit: shapes) gives another",)
    assert shapes(described(kinds.open_image(), None, "predict").specs[0])[0] == (None, 224, 224, 3)
    given = described(kinds.open_image(), None, "train", [(64, 32, 3)])
    assert not given.assumed
    assert [each[0] for each in shapes(given.specs)] == [(None, 64, 32, 3), (None, 8, 4, 4)]


def test_an_unbuilt_model_says_which_shape_it_needs(kinds: Any) -> None:
    with pytest.raises(SpecsNeededError, match=r"the shape of images in Net.call is not known") as caught:
        batch_specs(kinds.Net(), None, "train")
    assert "--shape" in caught.value.help
    assert shapes(batch_specs(kinds.Net(), None, "train", [(20,)])) == (((None, 20), "float32"), ((None,), "int32"))
    with pytest.raises(SpecsNeededError, match=r"no keras\.Input"):
        batch_specs(kinds.words(), None, "train")
    found = described(kinds.words(), None, "train", [(30,)])
    assert shapes(found.specs[0]) == ((None, 30), "int32")
    assert "Embedding" in found.assumed[0]


def test_a_model_without_a_call_takes_what_its_own_step_is_given(kinds: Any) -> None:
    with pytest.raises(SpecsNeededError, match="Gan has no call"):
        batch_specs(kinds.gan(), None, "train")
    model = kinds.gan()
    found = described(model, None, "train", [(12,)])
    assert not model.built  # or else slots would be made that no real run has
    assert shapes(found.specs) == ((None, 12), "float32")
    assert "without targets" in found.assumed[0]


def test_a_model_that_was_called_knows_its_inputs(kinds: Any) -> None:
    import tensorflow as tf

    model = kinds.Net()
    model(tf.zeros((2, 20)))
    assert shapes(batch_specs(model, None, "train")) == (((None, 20), "float32"), ((None,), "int32"))
    assert shapes(batch_specs(model, None, "train", [(20,)])) == (((None, 20), "float32"), ((None,), "int32"))


def test_a_dataset_of_single_examples_is_told_from_one_of_batches(kinds: Any) -> None:
    model, dataset = kinds.weighted()
    single = dataset.unbatch()
    with pytest.raises(SpecsNeededError, match=r"single examples, of shape \(12,\)") as caught:
        batch_specs(model, single, "train")
    assert ".batch(32)" in caught.value.help and "data=dataset.batch(32)" in caught.value.live_help
    assert batch_specs(model, single.batch(3), "train")


def test_a_dataset_says_what_a_model_that_is_not_built_takes(kinds: Any) -> None:
    import tensorflow as tf

    parts = tf.zeros((20, 8)), tf.zeros((20,), tf.int32)
    dataset = tf.data.Dataset.from_tensor_slices(parts).batch(10)
    assert shapes(batch_specs(kinds.Net(), dataset, "train")) == (((None, 8), "float32"), ((None,), "int32"))


def test_a_second_dataset_is_no_target(kinds: Any) -> None:
    from crashcart.probe.tensorflow_load import parted

    model, dataset = kinds.weighted()
    assert parted((model, dataset, dataset.take(1))) == (model, dataset)
    x, y = object(), object()
    assert parted((model, x, y)) == (model, (x, y))


@pytest.mark.parametrize(("given", "named"), [(64, "a number"), ("x", "a str"), (object(), "a object")])
def test_what_is_no_batch_is_named(kinds: Any, given: Any, named: str) -> None:
    with pytest.raises(SpecsNeededError, match=f"{named} came with the model") as caught:
        batch_specs(kinds.Net(), given, "train")
    assert "return model, dataset" in caught.value.help and "cc.fit" in caught.value.live_help


def test_shapes_that_do_not_match_are_refused(kinds: Any) -> None:
    with pytest.raises(SpecsNeededError, match="2 inputs, and 1 shapes") as caught:
        batch_specs(kinds.lists(), None, "train", [(8, 8, 3)])
    assert "the input image, the input table" in caught.value.help
    with pytest.raises(SpecsNeededError, match="has the shape"):
        batch_specs(kinds.open_image(), None, "train", [(64, 32, 1)])
    with pytest.raises(SpecsNeededError, match="RaggedTensors"):
        batch_specs(*kinds.ragged(), "predict")
