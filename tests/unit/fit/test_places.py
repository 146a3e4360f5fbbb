"""Operations in words that a user knows."""

from __future__ import annotations

import pytest

from crashcart.fit.places import part, place, places
from crashcart.step import HeldTensor, Moment, StepPeak

LAYERS = frozenset({"conv2d", "conv2d_3", "dense_1", "encoder", "conv3_block4_out", "lstm", "lstm_cell"})


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("gradient_tape/functional_1/conv2d_3/convolution/Conv2DBackpropFilter", "conv2d_3 (backward)"),
        ("functional_1/conv2d_3_1/Relu", "conv2d_3 (forward)"),
        ("functional_1/conv3_block4_out_1/add", "conv3_block4_out (forward)"),
        ("functional_1/encoder_1/dense_1_2/MatMul", "dense_1 (forward)"),
        ("functional_1_1_conv2d_3_1_convolution_readvariableop_resource", "conv2d_3 (forward)"),
        ("sequential_1/lstm_1/while/lstm_cell_1/MatMul", "lstm_cell (forward)"),
        ("adam/Square_3", "the update of the weights (adam)"),
        ("compile_loss/sparse_categorical_crossentropy/Exp", "the loss (forward)"),
        ("gradient_tape/compile_loss/sparse_categorical_crossentropy/mul", "the loss (backward)"),
        ("functional_1/unheard_of/Relu", "unheard_of/Relu"),
        ("gradient_tape/functional_1/unheard_of/ReluGrad", "unheard_of/ReluGrad (backward)"),
        ("input", "input"),
    ],
)
def test_a_name_in_words(name: str, words: str) -> None:
    assert place(name, LAYERS) == words


def test_a_layer_called_again_is_not_taken_for_its_neighbour() -> None:
    assert place("m/conv2d_3/Relu", {"conv2d", "conv2d_3"}) == "conv2d_3 (forward)"
    assert place("m/conv2d_4/Relu", {"conv2d", "conv2d_3"}) == "conv2d (forward)"


def test_the_parts_of_a_step() -> None:
    assert [part(each) for each in ("m/a/Relu", "gradient_tape/m/a/ReluGrad", "AdamW_2/add", "adamant/Relu")] == [
        "forward",
        "backward",
        "update",
        "forward",
    ]


def test_all_that_a_step_names_is_put_in_words() -> None:
    step = StepPeak(
        "train", 8, 1, 1, 1, at="m/conv2d/Relu", largest=(HeldTensor("m/dense_1/MatMul", "activations", 1),),
        moments=(Moment("m/encoder/x", {}),),
    )  # fmt: skip
    assert set(places(step, LAYERS)) == {"m/conv2d/Relu", "m/dense_1/MatMul", "m/encoder/x"}
