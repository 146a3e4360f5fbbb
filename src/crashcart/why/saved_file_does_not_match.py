"""W307 saved-file-does-not-match."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.evidence import Ending, Environment, ErrorRecord, Log
from crashcart.finding import Finding
from crashcart.rule import Rank, rule
from crashcart.why._advice import Advice, advice, advise
from crashcart.why._figures import shapes_in
from crashcart.why._said import Kind
from crashcart.why._statement import Statement, conclude, first_sentence
from crashcart.why._text import stated

_OTHER_VERSION = (
    "load it with the version that wrote it, and re-save: Keras 2 files on TensorFlow 2.16 or newer need `pip"
    " install tf_keras`"
    " and TF_USE_LEGACY_KERAS=1 (legacy Keras)"
)
_REBUILD = "build the model in code as it was, and load only the weights: model.load_weights(path)"
_ADVICE: tuple[Advice, ...] = (
    advice(
        r"can't get attribute '(?P<name>[\w.]+)' on <module '(?P<module>[\w.]+)'",
        "a pickle names {name} of the module {module}, which does not have it: a pickle keeps names, not code",
        "define or import {name} before the load, under the same module name as when it was saved",
        "keep such classes in a module of their own, and save again; what was saved from a script belongs to `__main__`",
    ),
    advice(
        r"supported by this interpreter|flex delegate",
        "the TFLite model has TensorFlow operations in it, which this interpreter was built without",
        "run it with the whole TensorFlow (tf.lite.Interpreter), not tflite_runtime; in an app link the Flex delegate"
        " (tensorflow-lite-select-tf-ops) of the same version",
        "convert it without them: converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS] names those that have"
        " no built-in form",
    ),
    advice(
        r"weights only load failed",
        "the checkpoint holds more than weights, and PyTorch from 2.6 does not load that unasked",
        "if you trust the file: torch.load(path, weights_only=False)",
        "name what may be loaded: torch.serialization.add_safe_globals([TheClass]); or save model.state_dict() alone",
    ),
    advice(
        r"deserialization of a .?lambda|lambda layer",
        "the model file holds a Lambda layer with Python code in it, which is not loaded unasked",
        "if you trust the file: load_model(path, safe_mode=False)",
        "replace the Lambda by a layer of keras.layers or a class of your own, and save again",
    ),
    advice(
        r"not compatible with provided weight shape|provided weights? list|set_weights",
        "the weights that were given do not fit the model's layers",
        "compare [w.shape for w in a.get_weights()] of both models: same architecture, same units, same order, same version",
        "to take over only what fits, set the weights layer by layer: layer.set_weights(...)",
    ),
    advice(
        r"deseriali|cannot be imported|unknown (?:layer|object|loss|metric|optimizer|activation|initializer)"
        r"|locate (?:class|function)|revive",
        "the model file names a class that this version or this program does not know",
        "your own classes: import them and pass custom_objects={{'Name': Name}}, or decorate them with"
        " @keras.saving.register_keras_serializable()",
        _OTHER_VERSION,
        _REBUILD,
    ),
    advice(
        r"unrecognized keyword|unexpected keyword|not understood",
        "the model file was written by another version of Keras",
        _OTHER_VERSION,
        _REBUILD,
    ),
    advice(
        r"layers? into a model|count mismatch|objects could not be loaded|expected \d+ variables|weight list"
        r"|#\d+ \(named|not yet been built",
        "the weights file and the model have different layers",
        "build the same architecture as when it was saved (number and order of layers, include_top, classes)",
        "load what fits: model.load_weights(path, skip_mismatch=True), with by_name=True for .h5",
        "another version of Keras or of the model's own code may have written it: install that version, and save again",
        "a model without a known input shape has no weights yet: call it once, or build(...), before loading",
    ),
    advice(
        r"state_dict|size mismatch for",
        "the checkpoint's tensors and the model's do not match",
        "build the model as it was (classes, sizes); for a new head drop its keys and load with strict=False",
        "keys that begin with 'module.' come from DataParallel: strip the prefix",
    ),
    advice(
        r"file format not supported|not an sstable|model config|no model|save_path|bad marshal|identifier",
        "the file is of another format than the call that loads it expects",
        "Keras 3 loads .keras and .h5; a SavedModel folder: keras.layers.TFSMLayer(path,"
        " call_endpoint='serving_default')",
        "a TF checkpoint is named by its prefix (model.ckpt-1000), without .index, .data or .meta",
        "files with weights only: build the model and call load_weights",
    ),
    advice(
        r"maximum supported|may be too old|unable to load weights",
        "the file was written by a newer version, or is not what the call expects",
        "upgrade the framework to the version that wrote the file, or newer",
        "a file that was cut short says so too: delete it from the cache (~/.cache/huggingface) and download it again",
    ),
    advice(
        r"op type not registered|nodedef|graphdef|opcode|pickle protocol|newer version",
        "the file was written by a newer version, or needs operations that are not loaded",
        "upgrade to the version that wrote it, or newer",
        "import the package that brings the operation (tensorflow_text, tensorflow_addons) before loading",
    ),
    advice(
        r"checkpoint|restore|assign requires|lhs shape",
        "",
        "build the graph as it was when the checkpoint was written: number of classes, sizes, scopes, optimizer",
        "for a new head restore the other variables only: a Saver or Checkpoint over the variables that match; or"
        " start in a"
        " fresh, empty model directory",
    ),
    advice(r"", "", "build the model as it was when the file was written", _OTHER_VERSION, _REBUILD),
)


@rule("W307", "saved-file-does-not-match", Rank.KIND)
def saved_file_does_not_match(
    errors: tuple[ErrorRecord, ...],
    log: Log | None = None,
    ending: Ending | None = None,
    environment: Environment | None = None,
) -> Iterator[Finding]:
    """A checkpoint, weight or model file does not fit the code or the version that loads it.

    ## What it means

    The file holds tensors by name and shape, and mostly the names of the classes that made it. The program's model has
    other shapes, other layers, or the installed version has other classes.

    ## How we know

    The exception came out of a loading function, or its words speak of checkpoints, weights or deserialisation.

    ## What to do

    Build the model as it was when the file was written, and use the version that wrote it; then save it anew.
    """
    for statement in stated(Kind.SAVED, errors, log, ending):
        row = advise(_ADVICE, statement.said.text)
        packages = environment.packages if environment else {}
        versions = [
            f"{name} {packages[name]}" for name in ("tensorflow", "keras", "tf-keras", "torch") if name in packages
        ]
        facts = [f"installed: {', '.join(versions)}"] if versions else []
        yield conclude(statement, row.headline or _headline(statement), row.remedy, *facts)


def _headline(statement: Statement) -> str:
    shapes = shapes_in(statement.words)
    if len(shapes) == 2:
        return f"the saved file does not match the model: {shapes[0]} against {shapes[1]}"
    return f"the saved file does not match the model: {first_sentence(statement.words)}"
