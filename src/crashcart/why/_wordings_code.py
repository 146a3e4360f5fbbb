"""Which words state that the user's own code does not fit: graphs, devices, values, types, shapes.

Covers: TensorFlow 1.x to 2.21, Keras 2 and 3, NumPy, scikit-learn, PyTorch, JAX.
Does not cover: resources and packages (`_wordings.py`), files (`_wordings_files.py`), missing names (`_names.py`).
Patterns are lower case and match folded text, the exception's name first; the order in `TABLE` decides where two match.
Loose patterns hold for exceptions only (`raised`): the same words stand in ordinary output. The last rows are families:
words of relation next to words of shape or type, whatever the op calls its arguments.
"""

from __future__ import annotations

from crashcart.why._said import Force, Kind
from crashcart.why._wording import Wording, wording

_RAISED_FOR_VALUES = ("ValueError", "InvalidArgumentError", "RuntimeError", "TypeError", "InternalError")
_DTYPE = (
    r"(?:tf\.|torch\.|np\.|jnp\.|dtype\(?'?)?"
    r"(?:b?float(?:16|32|64)?|double|half|long|u?int(?:8|16|32|64)|bool|string|str|object|complex(?:64|128))\b"
)

_GRAPH = (
    wording(
        Kind.GRAPH,
        Force.PLAIN,
        r"session graph is empty|(?:is not an element of this|was not found in the) graph|must be from the same graph",
        r"fetch argument .{0,400}(?:has invalid type|cannot be interpreted|must be a string)|typeerror: fetch argument",
        r"in for_fetch$|_elementfetchmapper\(|cannot interpret feed_dict key|argument `?fetch`? = ",
        r"numpy\(\) is only available when eager|tensor' object has no attribute '_?numpy'",
        r"'eagertensor' object has no attribute '(?:op|graph|name|_in_graph_mode|_keras_\w+|consumers|eval)'",
        r"using a (?:symbolic )?`?tf\.tensor`? as a python `?bool|iterating over (?:a )?(?:symbolic )?`?tf\.tensor`?",
        r"tensor objects are only iterable when eager|operatornotallowedingrapherror|inaccessibletensorerror",
        r"not (?:compatible|supported|available|allowed|implemented) (?:with|when|in|while) (?:using )?eager",
        r"when eager execution is (?:enabled|disabled)|eager execution must be|meaningless when eager",
        r"only (?:supported|available|works) in (?:eager|graph) mode|_symbolicexception",
        r"attempt(?:ed|ing) to use (?:a closed session|uninitialized value)",
        r"could not find variable \S+|table not initialized|error while reading resource variable",
        r"you must feed a value for placeholder|graph is finalized and cannot",
        r"devices? cannot be modified|cannot be (?:modified|changed|set) after (?:being |it has been )?initializ",
        r"must be (?:set|called|configured) (?:before|at).{0,80}(?:initializ|startup|start-up|program)",
        r"already exists, disallowed|did you mean to set reuse|or was not created with tf\.get_variable",
        r"singleton tf\.variable|tried to create variables on (?:a )?non-first call",
        r"could not build a typespec",
        r"intermediate keras symbolic|not (?:a )?tf\.tensor or tf\.variable|optimizer cannot recognize variable",
        r"cannot convert (?:a )?symbolic|kerastensor cannot be used|cannot be keras symbolic tensors",
        r"cannot get value inside tensorflow graph|refers to a (?:tensor|operation) which does not exist",
        r"graph is different from the session|no default session|cannot (?:evaluate tensor|execute operation) using",
        r"cannot use the default session|graph disconnected|has been marked as not fetchable",
        r"get_session.{0,20} is not available|must also be initialized in the else branch",
        r"must be the output of a tensorflow `?layer|should be a function when eager|unexpectedtracererror"
        r"|leaked? (?:a )?tracer|concretizationtypeerror",
        r"capture an eagertensor without building a function|is not supported when eager execution is",
        r"tracer(?:arrayconversion|boolconversion|integerconversion)error|building a function.{0,80}graph tensor",
        r"(?:cross-)?replica context|perreplica|tf\.distribute\.strategy|different distribution strategy|strategy scope"
        r"|joining a group with size",
        r"does not require grad and does not have a grad_fn|backward through the graph a second time",
    ),
    wording(
        Kind.GRAPH,
        Force.PLAIN,
        r"is out of scope|from (?:outer|a different) graph|cannot be accessed (?:here|from)"
        r"|cannot be interpreted as a tensor",
        r"symbolic (?:inputs|tensors?|keras)|failedpreconditionerror|(?:cannot|must).{0,40}inside (?:a )?tf\.function",
        r"has no inbound nodes|isn't built|not (?:yet )?been built|has never been called",
        r"not (?:yet )?been initialized|must be defined before the loop|an op outside of the function building code",
        raised=True,
    ),
)

_DEVICE = (
    wording(
        Kind.DEVICE,
        Force.PLAIN,
        r"cannot assign a device|could not satisfy (?:explicit )?device|no opkernel was registered",
        r"no registered '.{1,80}' opkernel|no supported kernel for \w+ devices|unable to find any devices",
        r"invalid device (?:ordinal|id)|unknown device:|torch not compiled with cuda",
        r"not (?:compiled|built|linked) with (?:cuda|gpu|rocm|mps) (?:enabled|support)",
        r"found no nvidia driver|no cuda gpus are available|no cuda-capable device",
        r"can't convert .{0,20}device type tensor to numpy",
        r"expected all tensors to be on the same device|expected object of (?:device|backend)",
        r"input type \(torch\.cuda\.\w+\) and weight type \(torch\.(?!cuda)",
        r"input type \(torch\.(?!cuda)\w+\) and weight type \(torch\.cuda",
        r"attempting to deserialize object on (?:a )?(?:cuda|mps)|cuda\.is_available\(\) is false",
        r"only supports (?:the )?nhwc|nhwc tensor format on the cpu|was explicitly assigned to",
        r"could not select device driver|unknown or invalid runtime name: nvidia",
        r"not visible to tensorflow|not enough gpu hardware devices|unknown backend: '?(?:gpu|cuda|tpu|rocm)",
    ),
    wording(
        Kind.DEVICE,
        Force.PLAIN,
        r"(?:unknown|unrecognized|invalid) device\b|device .{0,80}(?:not found|is not available|does not exist"
        r"|not registered)",
        r"on (?:different|at least two) devices|is on cpu, but expected|no gpu(?:s| device)? (?:found|available"
        r"|detected)",
        r"tpu.{0,60}(?:not found|failed to (?:connect|initialize))|no tpu devices|cannot copy tensor to device",
        r"expect the following devices to be available",
        raised=True,
    ),
)

_UNIMPLEMENTED = (wording(Kind.DEVICE, Force.PLAIN, r".", types=("UnimplementedError",)),)
"""What an op cannot do where it runs, it can elsewhere: on another device, in another layout, type or release."""

_VALUE = (
    wording(
        Kind.VALUE,
        Force.PLAIN,
        r"outside (?:of )?the valid range|is not in \[-?\d+, ?-?\d+\)|does not index into (?:param )?shape",
        r"index out of range in self|target -?\d+ is out of (?:bounds|range)|is out of bounds for axis \d+ with size",
        r"t >= 0 && t < n_classes|srcindex < srcselectdimsize|index >= -sizes|index out of bounds. failed",
        r"assertion .{0,120}(?:index|idx|target|label)\w*.{0,80} failed|assertion .{0,80}input_val",
        r"all elements of (?:input|target) should be between 0 and 1",
        r"tensor had (?:nan|inf)|detected infinity or nan|nan in summary|nanlossduringtraining"
        r"|diverged with loss = nan|invalid loss, terminating training|losstensor is inf or nan",
        r"minimum loss scale reached|\bloss (?:is|became|was) (?:nan|inf)|contains (?:nan|infinity)",
        r"saw a non-null label|previously unseen labels|all inputs should be in vocabulary",
    ),
    wording(
        Kind.VALUE,
        Force.PLAIN,
        r"(?<!list )(?<!tuple )(?<!string )\b(?:index|indices|label|labels|target|token|class|values?|ids?"
        r"|begin)\b.{0,80} out of (?:bounds"
        r"|range)(?!.{0,4}dim)",
        r"not in the (?:valid )?range|float nan to integer|non-finite|infs or nans|nan or inf|contains? nan"
        r"|nan values|nan loss",
        r"must be (?:non-negative|positive|>= ?0|less than|in the range|between)|segment ids|expected (?:size"
        r"|begin)\[\d+\] in",
        r"condition x .{1,4} y did not hold|assertion failed: \[|predictions must be|labels? must be (?:in|less"
        r"|between|[<>]|non|pos)",
        r"label.{0,20}num_classes|number of classes.{0,60}(?:expected|but|match)|invalid classes inferred|minval"
        r"|maxval",
        r"invalid (?:label|class|category|index|token)\b|exceeds? (?:the )?(?:vocab|num_classes|number of classes)",
        r"negative (?:index|indices|label)|got an out of range",
        raised=True,
    ),
    wording(Kind.VALUE, Force.VAGUE, r"device-side assert|cuda_error_assert"),
)

_TYPES = (
    wording(
        Kind.TYPES,
        Force.PLAIN,
        r"was expected to be a \w+ tensor but is a|does not match type \w+ of argument"
        r"|that does not match expected type",
        r"tensor conversion requested dtype|incompatible type conversion|to eagertensor of dtype",
        r"failed to convert object of type|consider casting elements to a supported type",
        r"failed to convert a numpy array to a tensor|python sequence with mixed types|with an unsupported type",
        rf"cast {_DTYPE} to {_DTYPE} is not supported|has datatype \w+ not in list of allowed",
        r"expected (?:object of )?scalar type \S+ but|scalar type \w+ but found|can't convert np\.ndarray of type",
        r"ufunc '\w+' (?:did not contain|not supported)|ufunctypeerror|ufuncoutputcasting|cannot cast ufunc",
        r"\"\w+\" not implemented for '\w+'|can't be cast to the desired output|mat1 and mat2 must have the same dtype",
        r"input type \(.{1,60}\) and (?:weight|bias) type \(.{1,60}\) should be the same",
    ),
    wording(
        Kind.TYPES,
        Force.PLAIN,
        r"unsupported (?:object|numpy) type|invalid dtype|dtype mismatch|inconsistent dtype|same (?:d|data ?)type",
        r"(?:data ?|d)types? (?:do not|don't|does not|doesn't|must|should) (?:match|agree|be the same|be equal)",
        r"have types \[.{0,200}that don't all match|not in (?:the )?list of allowed values"
        r"|could not be converted to the expected type|cannot cast (?:array"
        r"|from dtype)",
        rf"expected (?:dtype |type )?{_DTYPE}.{{0,200}} (?:got|but|found|passed|received)|of type '\w+' instead",
        r"dtypes? .{0,80}(?:incompatible|mismatch|not compatible|not supported|not allowed)|unsupported dtype",
        raised=True,
    ),
)

_SHAPES = (
    wording(
        Kind.SHAPES,
        Force.PLAIN,
        r"incompatible shapes|is incompatible with the layer|shapes \S.{0,200}(?:are incompatible|not aligned"
        r"|cannot be multiplied)",
        r"dimensions? (?:\d+ )?(?:in both shapes )?must be equal|matrix size-incompatible|in its core dimension",
        r"input to reshape is a tensor with|cannot reshape (?:array|a tensor|tensor)|could not be broadcast together",
        r"could not broadcast input|error when checking (?:model )?(?:input|target)|shapes of all inputs must match",
        r"cannot batch tensors with different shapes|logits and labels must|inhomogeneous shape|non-rectangular python",
        r"setting an array element with a sequence|negative dimension size|would be zero or negative",
        r"depth must be evenly divisible|data cardinality is ambiguous|inconsistent numbers? of samples",
        r"mat1 and mat2 shapes|sizes of tensors must match|the size of tensor a|is invalid for input of size",
        r"expects each tensor to be equal size|yielded an element (?:of shape"
        r"|that did not match the expected structure)|cannot feed value of shape",
        r"all the input array|expected to see \d+ array|expected (?:min_|max_)?ndim=|contracting dimensions",
        r"grouped convolutions|axes don't match array",
        r"size mismatch, m1|expected input batch_size|expected \d-dimensional input|to have \d+ channels",
    ),
    wording(
        Kind.SHAPES,
        Force.PLAIN,
        r"(?:shape|size|rank|dimension|length) mismatch|incompatible (?:dimensions?|matrix|ranks?)|not broadcastable",
        r"cannot (?:be )?broadcast|expected (?:axis|shape)|invalid input shape|to have shape|unexpected shape"
        r"|wrong shape",
        r"different (?:shapes?|ranks?|number of dimensions)|(?:same|matching) (?:shapes?|sizes?|rank|length"
        r"|first dimension)",
        r"(?:same|inconsistent) number of (?:rows|samples|elements|dimensions)|must have (?:at least )?rank",
        r"must be (?:at least )?rank|must be (?:a )?(?:\d-?d\b|\d-dimensional|vector|matrix|scalar)",
        r"number of (?:input )?channels|expects \d+ (?:named )?input|can ?not squeeze|shape invariant"
        r"|before the loop, but shape",
        r"can not cast tensorspec|values != expected|need value\.shape >= size|must be >= target|too many indices",
        r"is out of bounds for array of dimension|dimension out of range|target batch size|does not match length",
        r"contains no shape|shape (?:is|must be) (?:unknown|fully|known)|unknown (?:rank|shape)|undefined shape",
        r"different number of outputs?|handle a mix of .{0,60}targets|not equal to the number of columns",
        r"does not match (?:the )?(?:shape|size|number)|expected \d+d|expected dimension|columns passed",
        raised=True,
    ),
)

_FAMILIES = (
    wording(
        Kind.TYPES,
        Force.PLAIN,
        rf"(?:expect|must|should|match|cannot|not support|invalid).{{0,160}}{_DTYPE}.{{0,80}}(?:got|but|vs|and|not"
        rf"|to)\b.{{0,60}}{_DTYPE}",
        rf"{_DTYPE}.{{0,80}}(?:but|vs|does not match|do not match|instead of|incompatible).{{0,80}}{_DTYPE}",
        types=_RAISED_FOR_VALUES,
    ),
    wording(
        Kind.SHAPES,
        Force.PLAIN,
        r"(?:shape|\brank|dimension|ndim|\bdims?\b|batch size|sequence length).{0,200}"
        r"(?:must|expect|should|match|equal|compatible|differ|\bgot|\bbut\b|invalid|cannot)",
        r"(?:must|expect|should|match|equal|compatible|differ|\bgot|invalid|cannot).{0,200}"
        r"(?:shape|\brank\b|dimension|ndim|\bdims?\b|batch size)",
        types=_RAISED_FOR_VALUES,
    ),
)

TABLE: tuple[Wording, ...] = (*_GRAPH, *_DEVICE, *_VALUE, *_TYPES, *_SHAPES)
FAMILIES: tuple[Wording, ...] = (*_FAMILIES, *_UNIMPLEMENTED)
