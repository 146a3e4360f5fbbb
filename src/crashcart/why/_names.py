"""Names that are not there: modules, attributes, arguments. Whose mistake it is follows from who asked for them.

Covers: ImportError, ModuleNotFoundError, AttributeError, unexpected arguments. The user's own line asking a framework
for a name means that this version does not have it; an installed package asking another means that the two do not fit.
Does not cover: names of the user's own objects, and packages that are simply not installed: those are plain Python
errors.
"""

from __future__ import annotations

import re
import sys

from crashcart.why._message import looks_own
from crashcart.why._said import Force, Kind, Said, own_frame, package_of, raiser


def words_of(text: str) -> frozenset[str]:
    """The words of a text, in any order."""
    return frozenset(text.split())


FRAMEWORKS = words_of(
    """
    tensorflow tf keras tf_keras numpy np torch torchvision torchaudio jax jaxlib flax optax pandas scipy sklearn
    transformers tensorflow_addons tensorflow_hub tensorflow_probability tensorflow_datasets tensorflow_text
    tensorboard keras_cv keras_hub keras_nlp keras_tuner xgboost lightgbm matplotlib PIL cv2 skimage mxnet gym
    gymnasium stable_baselines3 pytorch_lightning lightning theano plotly seaborn networkx nltk spacy gensim
    """
)
_PARTS = words_of(
    """
    _pywrap_tensorflow_internal _pywrap_tensorflow tensorflow_core tf_keras ml_dtypes tensorboard keras optree
    tensorflow_estimator tensorflow_io_gcs_filesystem jaxlib google absl h5py flatbuffers opt_einsum gast astunparse
    keras_preprocessing keras_applications distutils imp pkg_resources _ctypes
    """
)
"""Modules that belong to a framework's own set, or that the standard library dropped under a package's feet."""
_EVERY_VERSION = words_of(
    """
    __version__ python constant Variable float32 compat io
    """
)
"""Names that each TensorFlow release has: without them the installation is broken, not the code."""
_MODEL_CLASSES = words_of(
    """
    Sequential Functional Adam SGD RMSprop Adagrad Adadelta Nadam Adamax AdamW LSTM GRU Dense Conv2D Conv1D Embedding
    BatchNormalization Dropout Tokenizer ImageDataGenerator KerasTensor History Bidirectional TimeDistributed Input
    ModelCheckpoint EarlyStopping TensorBoard ReduceLROnPlateau Model MaxPooling2D Flatten InputLayer RNN
    """
)
_GONE_ATTRIBUTES = words_of(
    """
    fit_generator evaluate_generator predict_generator predict_classes predict_proba _make_predict_function
    get_updates _get_distribution_strategy _hypers_created _in_multi_worker_mode uses_learning_phase total_loss
    _keras_shape _keras_history _layers _ckpt_saved_epoch append iteritems ix as_matrix get_value tostring fromstring
    asscalar output_shapes output_types make_one_shot_iterator make_initializable_iterator _shape_as_list lr
    _name_based_restores get_shape_as_list initializer is_initialized _set_dtype outbound_nodes inbound_nodes
    get_feature_names
    """
)
_SAVED_ARGUMENTS = words_of(
    """
    ragged batch_shape batch_input_shape groups synchronized renorm time_major sparse optional registered_name
    quantization_config name trainable dtype implementation build_config
    """
)
_GONE_ARGUMENTS = words_of(
    """
    lr decay nb_epoch border_mode subsample init nb_filter nb_row nb_col keep_prob reduction_indices squeeze_dims dim
    keep_dims show_accuracy period workers use_multiprocessing max_queue_size samples_per_epoch nb_val_samples input
    output W_regularizer b_regularizer dropout_W inner_activation interpolation weights epochs batch_size
    """
)
_CALLS_FRAMEWORK = re.compile(
    r"\b(?:tf|tensorflow|keras|layers|optimizers|np|numpy|torch|nn|jax|jnp|pd|pandas|plt|sklearn|losses|metrics"
    r"|callbacks"
    r"|K|F|optim|cv2|model|optimizer)\s?\."
)
_MODULE_ATTRIBUTE = re.compile(r"module '?([\w.]+)'? has no attribute '?(\w+)")
_OBJECT_ATTRIBUTE = re.compile(r"(?:'([\w.]+)' object|type object '([\w.]+)') has no attribute '(\w+)'")
_NO_MODULE = re.compile(r"No module named '?([\w.]+)")
_IMPORT_NAME = re.compile(r"cannot import name '?([\w.]+)'?(?: from (?:partially initialized module )?'([\w.]+)')?")
_FROM_IMPORT = re.compile(r"from\s+([\w.]+)\s+import")
_IMPORTS = re.compile(r"(?:import|from)\s+\w")
_OTHER_AT_IMPORT = words_of(
    """
    ModuleNotFoundError FileNotFoundError PermissionError OSError MemoryError KeyboardInterrupt SystemExit RecursionError
    """
)
_SHADOWED = re.compile(
    r"(?:partially initialized module|^module) '(\w+)'|cannot import name '\w+' from '(\w+)' \((?P<path>[^)]{1,400}\.py)\)"
)
_UNEXPECTED = re.compile(r"(?:\b([\w.]{1,200})\(\) )?got an unexpected keyword argument '(\w+)'")
_UNRECOGNISED = re.compile(
    r"unrecogni[sz]ed keyword arguments?|invalid keyword argument|argument\(s\) not recognized|keyword argument not understood"
    r"|unexpected keyword argument passed to optimizer|is deprecated in the new keras optimizer|(?:was|has been"
    r"|is) removed in"
    r"|(?:un|not )supported (?:in|by|with) (?:tf|tensorflow|keras) ?\d"
    r"|only (?:works|supported|available) (?:in|with) (?:tf|tensorflow) ?\d"
    r"|no longer (?:supported|available|exists) in|has been removed from|`lr` argument is (?:deprecated|not supported)",
)
_LOADS = re.compile(
    r"^(?:load_\w+|restore\w*|_?deseriali[sz]e\w*|from_config|model_from_\w+|_load_\w+|_legacy_load"
    r"|preprocess_weights_for_loading|set_weights)$"
)


_LOADING_CALL = re.compile(r"\b(?:load_model|load_weights|load_state_dict|restore|model_from_\w+|from_config)\(")


def missing_name(said: Said) -> tuple[Kind, Force] | None:
    """The kind of failure where a name is missing; None where none is, or where it is the user's own."""
    if shadowing_file(said):
        return None
    for look in (_partial, _module_attribute, _object_attribute, _no_module, _import_name, _argument):
        kind = look(said)
        if kind is not None:
            return kind, Force.PLAIN
    return None


def loads_a_file(said: Said) -> bool:
    """Whether the exception came out of a framework that was loading a model, weights or a checkpoint."""
    if any(_LOADS.match(frame.function) for frame in said.frames if not frame.own):
        return True
    asked = own_frame(said.frames)
    return asked is not None and _LOADING_CALL.search(asked.source or "") is not None


def fails_at_import(said: Said) -> bool:
    """Whether installed packages failed while the user's own line only imported them: they do not fit each other or this
    Python, whatever they say. A file that is not there, or a package that is not installed, is another matter."""
    if not said.frames or said.type in _OTHER_AT_IMPORT or package_of(said.frames[-1]) is None:
        return False
    asked = own_frame(said.frames)
    if asked is None:
        return said.frames[-1].function == "<module>"
    return _IMPORTS.match((asked.source or "").strip()) is not None


def shadowing_file(said: Said) -> str | None:
    """The user's own file that carries the name of a known package or of a module of Python's own, and hides it."""
    match = _SHADOWED.search(said.words)
    name = next((group for group in match.groups() if group), None) if match else None
    if match is None or (name not in FRAMEWORKS and name not in sys.stdlib_module_names):
        return None
    ends = (f"/{name}.py", f"/{name}/__init__.py")
    files = (match["path"] or "", *(each.file for each in said.frames if each.own))
    return next((file for file in files if f"/{file}".replace("\\", "/").endswith(ends) and looks_own(file)), None)


def circular_files(said: Said) -> tuple[str, ...]:
    """The user's own files that import each other, in the order in which they were entered; none where it is no circle."""
    if "partially initialized module" not in said.words or shadowing_file(said):
        return ()
    files = [each.file for each in said.frames if each.own and each.function == "<module>"]
    return tuple(dict.fromkeys(files)) if len(set(files)) > 1 else ()


def _partial(said: Said) -> Kind | None:
    if "partially initialized module" not in said.folded or shadowing_file(said):
        return None
    return Kind.PACKAGES if raiser(said) != "own" else None


def _module_attribute(said: Said) -> Kind | None:
    match = _MODULE_ATTRIBUTE.search(said.words)
    if match is None or "partially initialized" in said.folded or said.type not in ("AttributeError", ""):
        return None
    root = match[1].split(".")[0].removesuffix("_core")
    who = raiser(said, besides=root)
    if root in sys.stdlib_module_names:
        return Kind.API if who == "own" else Kind.PACKAGES
    if root == "tensorflow" and match[1] == root and match[2] in _EVERY_VERSION:
        return Kind.PACKAGES
    if who not in (None, "own") or _is_private(match[1]):
        return Kind.PACKAGES
    return Kind.API if root in FRAMEWORKS else None


def _object_attribute(said: Said) -> Kind | None:
    match = _OBJECT_ATTRIBUTE.search(said.words)
    if match is None or said.type not in ("AttributeError", ""):
        return None
    owner, attribute = (match[1] or match[2]).rsplit(".", 1)[-1], match[3]
    if (owner, attribute) == ("str", "decode"):
        return Kind.PACKAGES if raiser(said) != "own" else None
    if not said.type:
        return Kind.API if owner in _MODEL_CLASSES and attribute in _GONE_ATTRIBUTES else None
    known = owner in _MODEL_CLASSES - {"Model", "Input"}
    tensor = owner.endswith(("Tensor", "Variable", "Dataset", "Optimizer")) or owner in (
        "Model",
        "DataFrame",
        "Series",
        "ndarray",
    )
    return Kind.API if known or (tensor and attribute in _GONE_ATTRIBUTES) else None


def _no_module(said: Said) -> Kind | None:
    match = _NO_MODULE.search(said.words)
    if match is None or said.type not in ("ModuleNotFoundError", "ImportError", ""):
        return None
    name = match[1].rstrip(".")
    root = name.split(".")[0]
    who = raiser(said, besides=root)
    asked_by_package = who not in (None, "own")
    if "." in name and root in FRAMEWORKS:
        return Kind.PACKAGES if asked_by_package or _is_private(name) else Kind.API
    if root in _PARTS and who != "own" and (asked_by_package or said.type):
        return Kind.PACKAGES
    return Kind.PACKAGES if asked_by_package and who in FRAMEWORKS else None


def _import_name(said: Said) -> Kind | None:
    match = _IMPORT_NAME.search(said.words)
    if match is None or said.type not in ("ImportError", ""):
        return None
    source = next((frame.source for frame in reversed(said.frames) if frame.source), None) or ""
    asked = _FROM_IMPORT.search(source)
    root = (match[2] or (asked[1] if asked else "")).split(".")[0]
    who = raiser(said)
    if who not in (None, "own") or (who is None and (match[1].startswith("_") or _is_private(match[2] or ""))):
        return Kind.PACKAGES
    if root in FRAMEWORKS or (root in sys.stdlib_module_names and who == "own"):
        return Kind.API
    return Kind.PACKAGES if who is None and (root in sys.stdlib_module_names or "-packages" in said.words) else None


def _argument(said: Said) -> Kind | None:
    if said.type not in ("TypeError", "ValueError", "AttributeError", ""):
        return None
    if "deserializ" in said.folded and "header" not in said.folded:
        return Kind.SAVED
    match = _UNEXPECTED.search(said.words)
    if match is None:
        if not said.type or not _UNRECOGNISED.search(said.folded):
            return None
        return Kind.SAVED if loads_a_file(said) else Kind.API
    if loads_a_file(said):
        return Kind.SAVED
    callee, argument = match[1] or "", match[2]
    deepest = said.frames[-1] if said.frames else None
    if deepest is None:
        return _argument_without_frames(callee, argument)
    if deepest.own:
        of_framework = _CALLS_FRAMEWORK.search(deepest.source or "") or callee.split(".")[0] in _MODEL_CLASSES - {
            "Model"
        }
        return Kind.API if of_framework else None
    private = callee.rsplit(".", 1)[-1].startswith("_") and not callee.endswith("__init__")
    return Kind.PACKAGES if private else None


def _argument_without_frames(callee: str, argument: str) -> Kind | None:
    if argument in _SAVED_ARGUMENTS:
        return Kind.SAVED
    return Kind.API if argument in _GONE_ARGUMENTS or callee.split(".")[0] in _MODEL_CLASSES else None


def _is_private(module: str) -> bool:
    """A path that only a package's own sources use: no user writes it."""
    root, *rest = module.split(".")
    inner = {"src", "engine", "__internal__", "_v2", "python"} if root in ("keras", "tensorflow") else set()
    if module.startswith("tensorflow.compat.v2"):
        return True
    return any((part.startswith("_") and part != "_api") or part in inner for part in rest)
