"""W306 name-not-in-this-version."""

from __future__ import annotations

import re
from collections.abc import Iterator

from crashcart.evidence import Ending, Environment, ErrorRecord, Log
from crashcart.finding import Finding
from crashcart.rule import Rank, rule
from crashcart.why._said import Kind, Said
from crashcart.why._statement import Statement, conclude, first_sentence
from crashcart.why._text import stated

_NAMED = (
    re.compile(r"module '(?P<owner>[\w.]+)' has no attribute '(?P<name>\w+)'"),
    re.compile(r"'(?P<owner>\w+)' object has no attribute '(?P<name>\w+)'"),
    re.compile(r"cannot import name '?(?P<name>\w+)'?(?: from '(?P<owner>[\w.]+)')?"),
    re.compile(r"No module named '(?P<owner>[\w.]+)\.(?P<name>\w+)'"),
)
_ARGUMENT = re.compile(
    r"(?:\b(?P<owner>[\w.]{1,200})\(\) got an|got an) unexpected keyword argument '(?P<name>\w+)'"
    r"|(?:not recognized|Unrecognized keyword arguments?)(?: passed to (?P<layer>\w+))?:? \W{1,2}(?P<word>[a-z]\w*)"
)
_NEW_NAMES = {
    "Session": "use tf.compat.v1.Session, or in TF 2 call the functions directly",
    "placeholder": "use function arguments, or tf.compat.v1.placeholder with eager execution disabled",
    "contrib": "tf.contrib ended with TF 1.15: tf_slim, tensorflow-addons or core functions replace its parts",
    "ConfigProto": "use tf.compat.v1.ConfigProto",
    "get_default_graph": "use tf.compat.v1.get_default_graph",
    "global_variables_initializer": "leave it out: TF 2 initialises variables when they are made",
    "random_uniform": "use tf.random.uniform",
    "random_normal": "use tf.random.normal",
    "estimator": "tf.estimator ended with TensorFlow 2.15: Keras replaces it",
    "fit_generator": "use model.fit, which takes generators",
    "predict_classes": "use np.argmax(model.predict(x), axis=-1)",
    "evaluate_generator": "use model.evaluate",
    "predict_generator": "use model.predict",
    "float": "use float, or np.float64",
    "int": "use int, or np.int64",
    "bool": "use bool, or np.bool_",
    "object": "use object",
    "product": "use np.prod",
    "experimental": "use the same names without `experimental` (keras.layers.Rescaling, …)",
    "np_utils": "use keras.utils.to_categorical and keras.utils directly",
    "append": "use pd.concat([a, b])",
    "iteritems": "use items",
    "ix": "use loc or iloc",
    "get_feature_names": "use get_feature_names_out",
}  # fmt: skip
_NEW_ARGUMENTS = {
    "lr": "learning_rate=", "nb_epoch": "epochs=", "nb_filter": "filters=", "border_mode": "padding=",
    "subsample": "strides=", "init": "kernel_initializer=", "W_regularizer": "kernel_regularizer=",
    "b_regularizer": "bias_regularizer=", "inner_activation": "recurrent_activation=", "input": "inputs=",
    "output": "outputs=", "dim": "axis=", "keep_dims": "keepdims=", "squeeze_dims": "axis=", "reduction_indices": "axis=",
    "keep_prob": "rate= (one minus it)", "period": "save_freq=", "decay": "a schedule (keras.optimizers.schedules)",
    "error_bad_lines": "on_bad_lines='skip'", "line_terminator": "lineterminator=", "base_estimator": "estimator=",
    "batch_input_shape": "an Input(batch_shape=...) before the layer",
    "weights": "set_weights() after the layer is built, or embeddings_initializer=",
}  # fmt: skip
_CLASSES = {"DataFrame": "pandas", "Series": "pandas", "ndarray": "numpy"}
_LEGACY_STEP = (
    "use the legacy optimizer (tf.keras.optimizers.legacy.Adam), or learning_rate= with a schedule in place of decay"
)
_TF_STEP = (
    "TF 1 scripts on TF 2: `import tensorflow.compat.v1 as tf; tf.disable_v2_behavior()` runs them as they are, `tf_upgrade_v2"
    " --infile old.py --outfile new.py` rewrites most names"
)


@rule("W306", "name-not-in-this-version", Rank.KIND)
def name_not_in_this_version(
    errors: tuple[ErrorRecord, ...],
    log: Log | None = None,
    ending: Ending | None = None,
    environment: Environment | None = None,
) -> Iterator[Finding]:
    """The code uses a name or an argument that the installed version of a framework does not have.

    ## What it means

    Names move and go between versions: `tf.Session` with TF 2, `np.float` with NumPy 1.24, `fit_generator` with Keras
    3. The code was written for another version, or the name is misspelt.

    ## How we know

    The user's own line asked a framework (TensorFlow, Keras, NumPy, PyTorch, pandas…) for a name, and the exception
    says that it is not there. Where an installed package asked, the packages do not fit, which is another rule's
    matter.

    ## What to do

    Use the new name, or install the version that the code was written for.
    """
    for statement in stated(Kind.API, errors, log, ending):
        argument = _ARGUMENT.search(statement.words)
        owner, name = _missing(statement.said) if argument is None else _of_argument(argument, statement)
        what = f"{owner}{_version(owner, environment)} does not have {name!r}" if owner and name else None
        if argument is not None:
            what = f"{owner or 'the call'} does not take the argument {name!r} in this version"
        new = _NEW_ARGUMENTS.get(name or "") if argument is not None else None
        steps = [f"use {new} instead" if new else _NEW_NAMES.get(name or "")] if argument is None or new else []
        of_tensorflow = (owner or "").split(".")[0] in ("tensorflow", "tf")
        yield conclude(
            statement,
            what or f"a name is not in this version: {first_sentence(statement.words)}",
            (
                *(step for step in steps if step),
                f"look the {'arguments' if argument else 'name'} up in the documentation of the installed version; the"
                " message may suggest a near one (misspelt names fail alike)",
                *([_LEGACY_STEP] if "legacy" in statement.words.lower() else []),
                *([_TF_STEP] if of_tensorflow else []),
                "install the version that the code was written for, in an environment of its own",
            ),
        )


def _of_argument(match: re.Match[str], statement: Statement) -> tuple[str | None, str | None]:
    """What was called, as the message or else the line says, and with which argument."""
    name = match["name"] or match["word"]
    where = statement.where()
    called = re.search(rf"([\w.]+)\((?:[^()]*[,\s])?{name}\s*=", (where.source if where else None) or "")
    return match["owner"] or match["layer"] or (called[1] if called else None), name


def _missing(said: Said) -> tuple[str | None, str | None]:
    for pattern in _NAMED:
        match = pattern.search(said.words)
        if match:
            return match["owner"], match["name"]
    return None, None


def _version(owner: str | None, environment: Environment | None) -> str:
    root = _CLASSES.get(owner or "", (owner or "").split(".")[0])
    packages = environment.packages if environment else {}
    version = packages.get(root) or packages.get(f"{root}-cpu")
    named = root if owner in _CLASSES else ""
    return f" ({named} {version})" if version and named else f" {version}" if version else ""
