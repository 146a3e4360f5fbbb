"""Operations in words that a user knows."""

from __future__ import annotations

import pytest

from crashcart.fit.places import part, place, places
from crashcart.step import HeldTensor, Moment, StepPeak

LAYERS = frozenset(
    {"conv2d", "conv2d_1", "conv2d_3", "dense", "dense_1", "encoder", "conv3_block4_out", "lstm", "lstm_cell"}
)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("gradient_tape/functional_1/conv2d_3_1/convolution/Conv2DBackpropFilter", "conv2d_3 (backward)"),
        ("functional_1/conv3_block4_out_1/add", "conv3_block4_out (forward)"),
        ("functional_1/encoder_1/dense_1_2/MatMul", "encoder/dense_1 (forward)"),
        ("functional_1_1_conv2d_3_1_convolution_readvariableop_resource", "conv2d_3 (forward)"),
        ("sequential_1/lstm_1/while/lstm_cell_1/MatMul", "lstm/lstm_cell (forward)"),
        ("adam/Square_3", "adam (update of the weights)"),
        ("compile_loss/sparse_categorical_crossentropy/Exp", "the loss (forward)"),
        ("gradient_tape/compile_loss/sparse_categorical_crossentropy/mul", "the loss (backward)"),
        ("functional_1/unheard_of/Relu", "unheard_of/Relu"),
        ("gradient_tape/functional_1/unheard_of/ReluGrad", "unheard_of/ReluGrad (backward)"),
        ("input", "input"),
    ],
)
def test_a_name_in_words(name: str, words: str) -> None:
    assert place(name, LAYERS) == words


def test_a_layer_is_not_taken_for_its_neighbour() -> None:
    """Keras' own names of the operations of `conv2d`, `conv2d_1` and `conv2d_3`."""
    found = [place(f"m/{each}/Relu", LAYERS) for each in ("conv2d_1", "conv2d_1_2", "conv2d_3_1")]
    assert found == ["conv2d (forward)", "conv2d_1 (forward)", "conv2d_3 (forward)"]


def test_variables_are_named_after_what_they_are() -> None:
    assert place("m/dense_1/Cast/ReadVariableOp/resource", LAYERS, "weights") == "dense (weights)"
    assert place("adam_1/Sub_2/ReadVariableOp/resource", LAYERS, "optimizer") == "adam (optimizer)"


def test_the_parts_of_a_step() -> None:
    names = ("m/a/Relu", "gradient_tape/m/a/ReluGrad", "AdamW_2/add", "adamant/Relu", "gradients/x")
    assert [part(each) for each in names] == ["forward", "backward", "update", "forward", "backward"]
    assert part("my_own_1/add", ["my_own"]) == "update" and part("my_own_1/add") == "forward"


def test_all_that_a_step_names_is_put_in_words() -> None:
    step = StepPeak(
        "train", 8, 1, 1, 1, at="m/conv2d_1/Relu", largest=(HeldTensor("m/dense_1_2/MatMul", "weights", 1),),
        moments=(Moment("m/encoder_1/x", {}),),
    )  # fmt: skip
    assert dict(places(step, LAYERS)) == {
        "m/conv2d_1/Relu": "conv2d (forward)",
        "m/dense_1_2/MatMul": "dense_1 (weights)",
        "m/encoder_1/x": "encoder (forward)",
    }
