"""Errors of TensorFlow and Keras in one line: the frames around the cause are left out."""

from __future__ import annotations

import pytest

from crashcart.cli.fit_trial_child import _tell
from crashcart.errors import UsageError
from crashcart.probe.tensorflow_said import said

INFERRED = (
    "Exception encountered when calling Gan.call().\n\n\x1b[1mCould not automatically infer the output shape / dtype of 'gan' "
    "(of type Gan). Either the `Gan.call()` method is incorrect, or you need to implement the `Gan.compute_output_spec()` method. "
    "Error encountered:\n\nModel Gan does not have a `call()` method implemented.\x1b[0m\n\nArguments received by Gan.call():\n  • x"
)
NESTED = (
    "Exception encountered when calling Outer.call().\n\nException encountered when calling Inner.call().\n\n"
    "\x1b[1mlist index out of range\x1b[0m\n\nArguments received by Inner.call():\n  • x"
)
AUTOGRAPH = (
    'in user code:\n\n    File "train.py", line 7, in train_step  *\n        y = f(x)\n\n'
    "    ValueError: Shapes (None, 3) and (None, 4) are incompatible\n"
)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (INFERRED, "ValueError: Model Gan does not have a `call()` method implemented."),
        (NESTED, "ValueError: list index out of range"),
        (
            "{{function_node __wrapped__AddV2}} Incompatible shapes: [2] vs. [3]",
            "ValueError: Incompatible shapes: [2] vs. [3]",
        ),
        ("plain\nsecond", "ValueError: plain"),
        ("", "ValueError"),
    ],
)
def test_the_line_that_names_the_cause(words: str, told: str) -> None:
    assert said(ValueError(words)) == told


def test_the_kind_is_that_of_the_cause() -> None:
    assert said(RuntimeError(AUTOGRAPH)) == "ValueError: Shapes (None, 3) and (None, 4) are incompatible"
    assert said(UsageError("as it is")) == "as it is"


def test_a_trial_tells_the_cause_too() -> None:
    told: list[dict[str, object]] = []
    _tell(ValueError(NESTED), False, told.append)
    _tell(RuntimeError("Graph execution error:\n\nOOM when allocating tensor with shape[9]\nmore"), True, told.append)
    assert [each["raised"] for each in told] == [
        "ValueError: list index out of range",
        "RuntimeError: OOM when allocating tensor with shape[9]",
    ]


def test_the_stack_in_front_of_an_error_in_a_graph_is_left_out() -> None:
    words = (
        "Graph execution error:\n\nDetected at node net/assert/Assert defined at (most recent call last):\n"
        '  File "/home/ada/train.py", line 8, in <module>\n\n  File "/lib/keras/layer.py", line 10, in __call__\n\n'
        "assertion failed: [batch must be a multiple of 8] [7] [0]\n\t [[{{node net/assert/Assert}}]] [Op:__inference_9]"
    )
    assert said(ValueError(words)) == "ValueError: assertion failed: [batch must be a multiple of 8] [7] [0]"
