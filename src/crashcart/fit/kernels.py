"""What the kernels of TensorFlow do with their buffers: pass them on, reuse them, ask for more.

Covers: operations that give out their input itself, those that write into an input nobody else needs, and the scratch
of those that need some. The lists follow TensorFlow's own kernels for the CPU (Eigen); what was not found there
allocates each output anew.
Does not cover: cuDNN's workspaces, and what a library takes past TensorFlow's allocator.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from crashcart.graph import Node, Shape, Tensor


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


ALIASES = _names(
    """
    Identity IdentityN Reshape Squeeze ExpandDims StopGradient PreventGradient EnsureShape Snapshot
    CheckNumerics Bitcast LoopCond Enter Exit NextIteration ControlTrigger PlaceholderWithDefault _Retval
    OptionalFromValue
    """
)
"""The output is the input's own buffer."""

SAME_SIZE_ALIASES = _names(
    """
    Sum Mean Max Min Prod All Any BroadcastTo Tile Transpose Slice StridedSlice ConcatV2 Pad Cast
    """
)
"""The output is the input's own buffer where there is nothing to do: output and first input have the same shape."""

_UNARY = _names(
    """
    Neg Abs Exp Log Log1p Expm1 Sqrt Rsqrt Square Sigmoid Tanh Relu Relu6 Elu Selu Softplus Softsign LeakyRelu
    Erf Erfc Erfinv Sin Cos Tan Sinh Cosh Asin Acos Atan Round Rint Floor Ceil Sign Reciprocal Inv LogicalNot
    Softmax LogSoftmax ZerosLike OnesLike _UnaryOpsComposition Invert
    """
)
_BINARY = _names(
    """
    Add AddV2 Sub Mul RealDiv Div DivNoNan MulNoNan Maximum Minimum Pow SquaredDifference FloorDiv FloorMod Mod
    Xlogy Xdivy Atan2 SigmoidGrad TanhGrad SqrtGrad RsqrtGrad ReciprocalGrad InvGrad ReluGrad Relu6Grad EluGrad
    SeluGrad SoftplusGrad SoftsignGrad LeakyReluGrad BiasAdd Select SelectV2 ClipByValue AddN LogicalAnd
    LogicalOr BitwiseAnd BitwiseOr AccumulateNV2 FusedBatchNormV3 FusedBatchNormGradV3
    TensorScatterUpdate TensorScatterAdd BiasAddV1
    """
)
REUSERS = _UNARY | _BINARY
"""The output is written into an input of the same size that nobody else needs."""


LOSSES = _names("SoftmaxCrossEntropyWithLogits SparseSoftmaxCrossEntropyWithLogits")
"""Their second output, the gradient, is written into the first input."""

FIRST_ONLY = LOSSES | _names("FusedBatchNormV3 FusedBatchNormGradV3")
"""Of these only the first input is written into."""


def reusing_output(op: str) -> int | None:
    """The number of the output that may be written into an input; None where none is."""
    return 1 if op in LOSSES else 0 if op in REUSERS else None


CHEAP = _names(
    """
    Const Placeholder PlaceholderWithDefault VarHandleOp NoOp Identity IdentityN StopGradient PreventGradient Reshape ExpandDims
    Squeeze EnsureShape Bitcast Shape ShapeN Rank Size BroadcastArgs BroadcastGradientArgs ConcatOffset ControlTrigger
    LoopCond Enter Exit NextIteration While StatelessWhile _Arg _Retval
    """
)
"""What TensorFlow runs at once in the worker that made it ready: kernels that say of themselves that they cost nothing. It takes
all others for expensive until they ran some ninety times, whatever they cost (executor.cc: a first guess of 100 million cycles
that falls by a tenth with each run, to 8000), so that in the steps that are looked at here nothing else is cheap."""


# What the kernels take the caches to be. Those of two dimensions have fixed sizes: with TensorFlow 2.21 the scratch of six
# convolutions fits these and no others. Those of three ask the processor (Eigen's
# l3CacheSize); where that is not known, this stands for it, which an EPYC has.
SECOND_CACHE_BYTES = 256 << 10
LAST_CACHE_BYTES = 30 << 20
VOLUME_CACHE_BYTES = 256 << 20
# Above so many times its tensors a gradient in three dimensions does without columns.
MOST_VOLUME_OVERHEAD = 25


SHORT_BYTES = 2
"""Of float16 and bfloat16."""


def scratch_bytes(node: Node, inputs: Sequence[Tensor], cores: int, cache_bytes: int | None = None) -> int:
    """What the kernel asks for beyond its outputs while it runs. `cache_bytes` is the processor's last-level cache."""
    ask = _SCRATCH.get(node.op)
    if (node.op not in VOLUMES and ask is None) or any(each.shape is None for each in (*inputs, *node.outputs)):
        return 0
    if ask is None:
        return _volume_gradient(node, inputs, VOLUME_CACHE_BYTES if cache_bytes is None else cache_bytes)
    return ask(node, inputs, cores)


def touched_bytes(node: Node, inputs: Sequence[Tensor], asked_bytes: int) -> int:
    """What of the scratch is written to: kernels ask for columns of as many images as fill a cache, and fill those of the images
    that there are."""
    if "Backprop" not in node.op or not asked_bytes:
        return asked_bytes
    kernel, gradient = (node.outputs[0] if "Filter" in node.op else inputs[1]).shape, inputs[2].shape
    if kernel is None or gradient is None:
        return asked_bytes
    return min(asked_bytes, prod((*gradient[:-1], *kernel[:-1])) * inputs[2].item_bytes)


def _columns(
    gradient: Shape, kernel: Shape, whole: bool, cache_bytes: int = LAST_CACHE_BYTES, item_bytes: int = 4
) -> int:
    """Columns (im2col) of as many images as fill the last-level cache; one image where `whole`."""
    pixels, depth_out = prod(gradient[1:-1]), gradient[-1]
    filter_size = prod(kernel[:-1])
    unit = pixels * depth_out + filter_size * depth_out + pixels * filter_size
    images = 1 if whole else -(-(cache_bytes // item_bytes) // max(unit, 1))
    return images * pixels * filter_size * item_bytes


def _filter_gradient(node: Node, inputs: Sequence[Tensor], cores: int) -> int:
    if _channels_first(node):
        return 0
    gradient = inputs[2]
    return _columns(gradient.shape or (), node.outputs[0].shape or (), whole=False, item_bytes=gradient.item_bytes)


def _input_gradient(node: Node, inputs: Sequence[Tensor], cores: int) -> int:
    """One image at a time where a core has more to do for it than its cache holds, else as above."""
    image, kernel, gradient = node.outputs[0].shape or (), inputs[1].shape or (), inputs[2].shape or ()
    if _channels_first(node):
        return 0
    unit = prod(gradient[1:]) + prod(kernel) + prod(gradient[1:-1]) * prod(kernel[:-1])
    item_bytes = inputs[2].item_bytes
    whole = image[0] == 1 or unit // cores >= SECOND_CACHE_BYTES // item_bytes
    return _columns(gradient, kernel, whole, item_bytes=item_bytes)


VOLUMES = _names("Conv3DBackpropFilterV2 Conv3DBackpropInputV2")
"""Whose scratch depends on the processor."""


def _volume_gradient(node: Node, inputs: Sequence[Tensor], cache_bytes: int) -> int:
    gradient, of_filter = inputs[2].shape or (), "Filter" in node.op
    image = (inputs[0] if of_filter else node.outputs[0]).shape or ()
    kernel = (node.outputs[0] if of_filter else inputs[1]).shape or ()
    wanted = _columns(gradient, kernel, whole=not of_filter and image[0] == 1, cache_bytes=cache_bytes)
    touched = prod(image) + prod(kernel) + prod(gradient)
    return wanted if wanted // 4 // touched <= MOST_VOLUME_OVERHEAD else 0


def _channels_first(node: Node) -> bool:
    return str(node.attributes.get("data_format", "NHWC")).startswith("NC")


def _pool_gradient(node: Node, inputs: Sequence[Tensor], cores: int) -> int:
    """The pooled values once more, and where in the input each came from (64 bit)."""
    pooled = inputs[1]
    return (pooled.bytes or 0) + prod(pooled.shape or ()) * 8


def _widened(node: Node, inputs: Sequence[Tensor]) -> tuple[int, ...]:
    """Factors and product of 16 bits once more in 32 (measured: 5.5 MB for 2048 x 128 by 128 x 512, with both types)."""
    return tuple(prod(each.shape or ()) * 4 for each in (*inputs[:2], node.outputs[0]))


def scratch_parts(node: Node, inputs: Sequence[Tensor], asked_bytes: int) -> tuple[int, ...]:
    """The scratch as the kernel asks for it: piece by piece."""
    return _widened(node, inputs) if node.op in _PRODUCTS else (asked_bytes,)


def _product(node: Node, inputs: Sequence[Tensor], cores: int) -> int:
    return sum(_widened(node, inputs)) if inputs and inputs[0].item_bytes == SHORT_BYTES else 0


_PRODUCTS = _names("MatMul BatchMatMul BatchMatMulV2 BatchMatMulV3")


_SCRATCH: dict[str, Callable[[Node, Sequence[Tensor], int], int]] = {
    "Conv2DBackpropFilter": _filter_gradient,
    "Conv2DBackpropInput": _input_gradient,
    "MaxPoolGrad": _pool_gradient,
    **dict.fromkeys(_PRODUCTS, _product),
}


# Speeds of two cores together, read from the executor's log of TensorFlow 2.21. Only the order of the ends depends on
# them, so that what matters is how they compare.
_BYTES_PER_S = 4e9
_SLOWER_BYTES_PER_S = {
    "MatMul": 1.5e9,
    "_FusedMatMul": 1.5e9,
    "MaxPoolGrad": 7e8,
    "MaxPool3D": 2e9,
    "MaxPool3DGrad": 5e8,
    "AvgPoolGrad": 1e9,
    "AvgPool3DGrad": 5e8,
    "FusedBatchNormGradV3": 2e9,
    "Transpose": 2e9,
    "UnsortedSegmentSum": 1e9,
    "RandomUniform": 1e9,
    "StatelessRandomUniformV2": 1e9,
    "StatelessRandomNormalV2": 5e8,
}
# Sums over all but the channels go channel by channel: 3 of them took 30 ms for 3 MB, 32 took 13 ms for 31 MB.
_BYTES_PER_CHANNEL_S = 5e7
_FLOPS_PER_S = 6e10
_SLOWER_FLOPS_PER_S = {
    "Conv2DBackpropInput": 1.5e10,
    "Conv2DBackpropFilter": 1e10,
    "Conv3D": 1e10,
    "Conv3DBackpropInputV2": 5e9,
    "Conv3DBackpropFilterV2": 5e9,
    "DepthwiseConv2dNative": 1e10,
    "DepthwiseConv2dNativeBackpropInput": 4e9,
    "DepthwiseConv2dNativeBackpropFilter": 3e9,
}
# In 16 bits both gradients of a convolution take as long: the first 8.5 times as long as in 32, the second 4.3 times (float16;
# bfloat16 23 and 12 times).
_TIMES_IN_SHORT = {"Conv2DBackpropInput": 8.5, "Conv2DBackpropFilter": 4.3}
# The gradient of a dense layer's input reads the weights across: of 16 x 4096 by 4096 x 4096 it took four times as long as
# that of the weights.
_TRANSPOSED_BYTES_PER_S = 3e8
_LEAST_S = 1e-6


def is_input_gradient(node: Node) -> bool:
    """Whether it is the first of the two gradients of a product, by the names that TensorFlow gives them."""
    return "gradient_tape/" in node.name and node.name.endswith("/MatMul")


def seconds(node: Node, inputs: Sequence[Tensor]) -> float:
    """About how long the operation runs: what it reads and writes, and what it multiplies."""
    if node.op in ALIASES or node.op in CHEAP or node.op == "ReadVariableOp":
        return _LEAST_S
    touched = sum(each.bytes or 0 for each in (*inputs, *node.outputs)) * (3 if node.op in _UPDATES else 1)
    rate = _SLOWER_BYTES_PER_S.get(node.op, _BYTES_PER_S)
    if node.op == "BiasAddGrad" and inputs and inputs[0].shape:
        rate = min(_BYTES_PER_S, _BYTES_PER_CHANNEL_S * inputs[0].shape[-1])
    elif node.op == "MatMul" and is_input_gradient(node):
        rate = _TRANSPOSED_BYTES_PER_S
    products = _products(node, inputs)
    if inputs and inputs[-1].item_bytes == SHORT_BYTES:
        products *= _TIMES_IN_SHORT.get(node.op, 1.0)
    return _LEAST_S + touched / rate + products / _SLOWER_FLOPS_PER_S.get(node.op, _FLOPS_PER_S)


_UPDATES = _names("AssignAddVariableOp AssignSubVariableOp")


def _products(node: Node, inputs: Sequence[Tensor]) -> float:
    shapes = [each.shape or () for each in inputs]
    if "Conv" in node.op and len(shapes) > 1 and node.outputs:
        kernel = (node.outputs[0].shape or ()) if "BackpropFilter" in node.op else shapes[1]
        image = shapes[2] if "Backprop" in node.op else (node.outputs[0].shape or ())
        return 2.0 * prod(image) * prod(kernel[:2] if "Depthwise" in node.op else kernel[:-1])
    if "MatMul" in node.op and node.outputs and shapes:
        return 2.0 * prod(shapes[0]) * (node.outputs[0].shape or (1,))[-1]
    return 0.0


def is_alias(node: Node, inputs: Sequence[Any]) -> bool:
    """Whether the output is the first input's own buffer."""
    if node.op in ALIASES:
        return True
    if node.op not in SAME_SIZE_ALIASES or not inputs or not node.outputs:
        return False
    first: Tensor = inputs[0]
    output = node.outputs[0]
    if node.op == "ConcatV2" and len(inputs) > 2:
        return False
    return (
        first.shape is not None
        and first.bytes == output.bytes
        and first.item_bytes == output.item_bytes
        and (node.op != "Transpose" or sum(each > 1 for each in first.shape) <= 1)
    )
