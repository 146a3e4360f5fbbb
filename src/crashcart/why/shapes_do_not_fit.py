"""W301 shapes-do-not-fit."""

from __future__ import annotations

import re
from collections.abc import Iterator

from crashcart.evidence import Ending, ErrorRecord, Log
from crashcart.finding import Finding
from crashcart.rule import Rank, rule
from crashcart.why._advice import Advice, advice, advise
from crashcart.why._figures import shapes_in
from crashcart.why._said import Kind
from crashcart.why._statement import Statement, conclude, first_sentence
from crashcart.why._text import stated

_LOSS = re.compile(r"loss|entropy|mse|logits|target", re.IGNORECASE)
_ADVICE: tuple[Advice, ...] = (
    advice(
        r"expected (?:min_|max_)?ndim=?\s?(?P<want>\d+), found ndim=?\s?(?P<have>\d+)",
        "a layer wants {want} dimensions and was given {have}",
        "if the batch axis is missing: x = tf.expand_dims(x, 0) for one sample, or dataset.batch(32) for a dataset",
        "if the channel axis is missing: x[..., tf.newaxis], or decode images with channels=1 or 3",
        "print x.shape just before the named line",
    ),
    advice(
        r"expected axis -?\d+.{0,40}value (?P<want>\d+).{0,80}shape \[?\(?(?P<have>[^)\]]*)",
        "a layer was built for inputs of size {want} and was given shape ({have})",
        "build the model for the data: Input(shape=...) must be the shape of one sample, without the batch",
        "bring the data to the model's size: select the same features, reshape or resize",
    ),
    advice(
        r"error when checking (?:model )?target",
        "",
        "the targets must have the last layer's shape: one-hot targets (keras.utils.to_categorical) for categorical_crossentropy,"
        " class numbers for sparse_categorical_crossentropy",
        "give the last layer as many units as the targets are wide; print y.shape",
        "a Flatten or pooling layer before the Dense ones may be missing",
    ),
    advice(
        r"expected shape|invalid input shape|incompatible with the layer|to have shape|error when checking",
        "",
        "bring the input to the model's shape: resize images, reshape arrays, and keep the batch axis"
        " (tf.expand_dims(x, 0), dataset.batch(...))",
        "rebuild the model with Input(shape=...) of one sample of this data",
        "print x.shape just before the named line",
    ),
    advice(
        r"yielded an element of shape (?P<have>[^w]{0,200}?) where an element of shape (?P<want>.{0,200}?) was expected",
        "the generator yields shape {have} where its signature says {want}",
        "make the generator yield what its output_signature (or output_shapes) says: np.asarray(x) of that shape,"
        " not a number or a list of another depth",
        "correct the signature: tf.TensorSpec(shape=..., dtype=...) of one yielded element",
    ),
    advice(
        r"expects (?P<want>\d+) input\(s\), but it received (?P<have>\d+)",
        "the model has {want} inputs and was given {have}",
        "hand over as many inputs as the model has, in one list or as a dict by name: model([a, b]); a dataset"
        " yields ((a, b), y)",
        "print model.input_names, and the structure of one element: dataset.element_spec",
    ),
    advice(
        r"did not match the expected structure",
        "the generator yields another structure than its signature says",
        "yield tuples, not lists: (inputs, targets), with the same nesting and the same names as output_signature",
        "print one element: next(iter(generator())), and compare it with the signature",
    ),
    advice(
        r"cannot batch|cannot add tensor to the batch|stack expects each tensor|shapes of all inputs must match",
        "",
        "make all elements of a batch of one shape: resize or crop images, pad sequences",
        "pad while batching: dataset.padded_batch(...), tf.ragged, or for PyTorch a collate_fn with pad_sequence",
        "drop the last, smaller batch: batch(..., drop_remainder=True)",
    ),
    advice(
        r"cardinality|number of samples|numbers of samples|same number of (?:rows|samples)",
        "inputs and targets have different numbers of samples",
        "print x.shape and y.shape before fit: the first dimensions must be equal",
        "build both from the same rows: one filter, one split, one zip",
    ),
    advice(
        r"reshape",
        "",
        "the number of elements must stay the same: let one dimension be found out with -1, as in tf.reshape(x,"
        " [-1, n])",
        "print the shape before the reshape; a changed image size or batch remainder is the usual reason",
    ),
    advice(
        r"inhomogeneous|non-rectangular|setting an array element",
        "rows of different length cannot become one array",
        "pad the rows to one length (tf.keras.utils.pad_sequences), or use tf.ragged.constant",
        "look for the row of another length: {{len(row) for row in rows}}",
    ),
    advice(
        r"zero or negative|negative dimension|output size",
        "an image or sequence became smaller than the kernel that should run over it",
        "use padding='same', fewer pooling layers, smaller kernels, or larger inputs",
        "check the order of the axes: channels_last is (height, width, channels)",
    ),
    advice(
        r"channels|depth|grouped convolutions",
        "",
        "give the layer as many channels as it was built for: decode images with channels=3, or repeat a grey one",
        "check the order of the axes: TensorFlow takes (batch, height, width, channels), PyTorch (batch, channels,"
        " height, width)",
    ),
    advice(
        r"matmul|matrix|mat1|core dimension|not aligned|contracting",
        "",
        "the inner dimensions of a product must be equal: transpose one side (transpose_b=True, x.T), or change the"
        " units of one layer",
        "print both shapes just before the named line",
    ),
    advice(
        r"",
        "",
        "print both shapes just before the named line and follow the one that surprises you back to where it was made",
        "targets against outputs: the last layer's units must be the width of y (one-hot: the number of classes; or"
        " a sparse loss with class numbers)",
        "a loss or addition that broadcasts: add or remove an axis with tf.expand_dims, tf.squeeze or reshape",
        "a last batch of another size: batch(..., drop_remainder=True)",
    ),
)


@rule("W301", "shapes-do-not-fit", Rank.KIND)
def shapes_do_not_fit(
    errors: tuple[ErrorRecord, ...], log: Log | None = None, ending: Ending | None = None
) -> Iterator[Finding]:
    """The shapes of two tensors, or of a tensor and a layer, do not fit.

    ## What it means

    An operation needs its inputs in certain shapes: equal, broadcastable, with matching inner dimensions, of a certain
    rank. What it was given is not so. Nothing is wrong with memory or with the installation.

    ## How we know

    The exception states both shapes, or the rank that was expected and the one that came.

    ## What to do

    Print the shapes just before the named line. The usual reasons: a missing batch or channel axis, a last layer whose
    units are not the number of targets, samples of different size in one batch.
    """
    for statement in stated(Kind.SHAPES, errors, log, ending):
        row = advise(_ADVICE, statement.said.text)
        yield conclude(statement, row.headline or _headline(statement), row.remedy, *_node(statement))


def _headline(statement: Statement) -> str:
    shapes = shapes_in(statement.words)
    place = f" in {statement.op}" if statement.op else ""
    if _LOSS.search(statement.words) or (statement.op and _LOSS.search(statement.op)):
        place = place or " in the loss"
    if len(shapes) == 2:
        return f"shapes do not fit: {shapes[0]} against {shapes[1]}{place}"
    return f"shapes do not fit: {first_sentence(statement.words)}"


def _node(statement: Statement) -> Iterator[str]:
    message = statement.said.message
    if message and message.node:
        yield f"the operation is {message.node}"
