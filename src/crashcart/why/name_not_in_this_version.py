"""W306 name-not-in-this-version."""

from __future__ import annotations

import re
from collections.abc import Iterator

from crashcart.evidence import Ending, Environment, ErrorRecord, Log
from crashcart.finding import Finding
from crashcart.rule import Rank, rule
from crashcart.why._said import Kind, Said
from crashcart.why._statement import conclude, first_sentence
from crashcart.why._text import stated

_NAMED = (
    re.compile(r"module '(?P<owner>[\w.]+)' has no attribute '(?P<name>\w+)'"),
    re.compile(r"'(?P<owner>\w+)' object has no attribute '(?P<name>\w+)'"),
    re.compile(r"cannot import name '?(?P<name>\w+)'?(?: from '(?P<owner>[\w.]+)')?"),
    re.compile(r"No module named '(?P<owner>[\w.]+)\.(?P<name>\w+)'"),
)
_ARGUMENT = re.compile(r"(?:(?P<owner>[\w.]+)\(\) )?got an unexpected keyword argument '(?P<name>\w+)'")
_NEW_NAMES = {
    "Session": "tf.compat.v1.Session, or in TF 2 call the functions directly",
    "placeholder": "function arguments, or tf.compat.v1.placeholder with eager execution disabled",
    "contrib": "tf.contrib ended with TF 1.15: tf_slim, tensorflow-addons or core functions replace its parts",
    "ConfigProto": "tf.compat.v1.ConfigProto",
    "get_default_graph": "tf.compat.v1.get_default_graph",
    "global_variables_initializer": "nothing: TF 2 initialises variables when they are made",
    "random_uniform": "tf.random.uniform",
    "random_normal": "tf.random.normal",
    "estimator": "tf.estimator ended with TensorFlow 2.15: Keras replaces it",
    "fit_generator": "model.fit, which takes generators",
    "predict_classes": "np.argmax(model.predict(x), axis=-1)",
    "evaluate_generator": "model.evaluate",
    "predict_generator": "model.predict",
    "float": "float, or np.float64",
    "int": "int, or np.int64",
    "bool": "bool, or np.bool_",
    "object": "object",
    "product": "np.prod",
    "experimental": "the same names without `experimental` (keras.layers.Rescaling, …)",
    "np_utils": "keras.utils.to_categorical and keras.utils directly",
    "lr": "learning_rate",
    "decay": "a schedule: keras.optimizers.schedules.InverseTimeDecay",
    "append": "pd.concat([a, b])",
    "iteritems": "items",
    "ix": "loc or iloc",
}  # fmt: skip


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
        owner, name = _missing(statement.said)
        version = _version(owner, environment)
        what = f"{owner}{version} does not have {name!r}" if owner and name else None
        argument = _ARGUMENT.search(statement.words)
        if argument:
            what = f"{argument['owner'] or 'the call'} does not take the argument {argument['name']!r} in this version"
            name = argument["name"]
        steps = [f"use {_NEW_NAMES[name]}"] if name in _NEW_NAMES else []
        yield conclude(
            statement,
            what or f"a name is not in this version: {first_sentence(statement.words)}",
            (
                *steps,
                "look the name up in the documentation of the installed version; the message may suggest a near one"
                " (misspelt names fail alike)",
                "TF 1 scripts: `tf_upgrade_v2 --infile old.py --outfile new.py` rewrites most names",
                "or install the version that the code was written for, in an environment of its own",
            ),
        )


def _missing(said: Said) -> tuple[str | None, str | None]:
    for pattern in _NAMED:
        match = pattern.search(said.words)
        if match:
            return match["owner"], match["name"]
    return None, None


def _version(owner: str | None, environment: Environment | None) -> str:
    root = (owner or "").split(".")[0]
    version = environment.packages.get(root) if environment else None
    return f" {version}" if version else ""
