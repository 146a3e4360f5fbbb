"""W501 uncaught-python-error."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator

from crashcart.evidence import Ending, Environment, ErrorRecord, Frame, Log, Program, place
from crashcart.finding import Cause, Finding
from crashcart.rule import Rank, rule
from crashcart.why._names import FRAMEWORKS, circular_files, shadowing_file, words_of
from crashcart.why._said import Force, Said, own_frame, package_of, said_by_error
from crashcart.why._statement import first_sentence, judge_confidence, quote_error, with_source
from crashcart.why._suggested import suggested
from crashcart.why._text import is_gone_elsewhere, main_error, states_a_kind
from crashcart.why._words import runs_pytest

_NOT_FAILURES = frozenset({"KeyboardInterrupt", "SystemExit", "GeneratorExit"})
_FROM = re.compile(r"(?:^|[:;]\s*)raise\b.{0,300}\sfrom\s{1,8}(?!None\b)")
_OS = re.compile(r"^<frozen os>$|[/\\]os\.py$")
_ABOUT_ITSELF = frozenset(
    {
        "AttributeError",
        "TypeError",
        "ImportError",
        "AssertionError",
        "NotImplementedError",
        "RuntimeError",
        "SystemError",
    }
)
_NAMES_A_FRAMEWORK = re.compile(
    r"\b(?:tf|torch|jax|keras|tensorflow|np)\.\w|Keras|TensorFlow|PyTorch|\bTensor\b|\bTF ?[12]\b"
)
_USUAL_IMPORTS = {
    "np": "import numpy as np",
    "pd": "import pandas as pd",
    "tf": "import tensorflow as tf",
    "plt": "import matplotlib.pyplot as plt",
    "keras": "from tensorflow import keras",
    "torch": "import torch",
}
_PACKAGES = {
    "cv2": "opencv-python", "PIL": "pillow", "sklearn": "scikit-learn", "yaml": "pyyaml", "skimage": "scikit-image",
    "bs4": "beautifulsoup4", "dateutil": "python-dateutil", "dotenv": "python-dotenv", "Crypto": "pycryptodome",
    "attr": "attrs", "serial": "pyserial", "usb": "pyusb", "git": "gitpython", "docx": "python-docx", "fitz": "pymupdf",
    "tensorflow_datasets": "tensorflow-datasets", "tensorflow_hub": "tensorflow-hub", "tf_keras": "tf-keras",
}  # fmt: skip
"""Distributions that are not called as the module they bring."""
_SAME_NAME = FRAMEWORKS | words_of(
    """
    tqdm requests h5py pyarrow polars numba sympy statsmodels joblib dask fsspec s3fs gcsfs boto3 pydantic click rich
    typer wandb mlflow optuna hydra omegaconf datasets tokenizers accelerate diffusers onnx onnxruntime tensorboardX
    openpyxl xlrd lxml sqlalchemy psycopg2 redis flask fastapi uvicorn pytest hypothesis librosa soundfile imageio av
    albumentations einops timm shap catboost faiss sentencepiece sacremoses tiktoken openai psutil absl tabulate
    """
)
"""Modules whose distribution has the same name."""


@rule("W501", "uncaught-python-error", Rank.LAST_RESORT)
def uncaught_python_error(
    errors: tuple[ErrorRecord, ...],
    log: Log | None = None,
    ending: Ending | None = None,
    environment: Environment | None = None,
    program: Program | None = None,
) -> Iterator[Finding]:
    """An exception went uncaught, and none of the more specific rules knows its kind.

    ## What it means

    Python ended the program because nobody handled the exception. The deepest line of the user's own code is where to
    look first (where the program raised the exception over another, that of the other); the exception's own words are
    the best description there is.

    ## How we know

    The recorder saw the exception leave the main thread, or it is the last one in the output.

    ## What to do

    Read the exception at the named line; for missing names and packages the next thing to type is given.
    """
    main = main_error(errors)
    if main is None or main.name in _NOT_FAILURES or states_a_kind(main):
        return
    if is_gone_elsewhere(main) and program is None:
        return  # in a log that was handed in, log-does-not-tell asks the question that is left
    said = said_by_error(main)
    told = with_source(said.message.own_frame(), main.frames) if said.message else None
    frame = told or _wrapped_frame(main) or own_frame(main.frames)
    words = first_sentence(said.words)
    yield Finding(
        cause=Cause.PYTHON_ERROR,
        headline=f"{said.type}: {words}" if words else said.type,
        because=tuple(_facts(main, frame)),
        remedy=(*_remedy(said, environment), *suggested(said.words), _look(main, frame, program)),
        confidence=judge_confidence(main, Force.PLAIN, ending),
        where=place(frame),
    )


def _wrapped_frame(main: ErrorRecord) -> Frame | None:
    """Where the error began that the user's own line raised again under another name (`raise … from error`)."""
    raised = own_frame(main.frames)
    if raised is None or not main.chain or not _FROM.search(raised.source or ""):
        return None
    return own_frame(main.chain[0].frames)


def _facts(main: ErrorRecord, frame: Frame | None) -> Iterator[str]:
    yield quote_error(main)
    for earlier in main.chain[:2]:
        yield f"raised from or while handling {quote_error(earlier)}{_at(own_frame(earlier.frames))}"
    call = own_frame(main.frames)
    if frame and call and (call.file, call.line) != (frame.file, frame.line):
        words = "it was raised again at" if _wrapped_frame(main) else "the call that ran it:"
        yield f"{words} {call.file}, line {call.line}" + (f": {call.source}" if call.source else "")


def _at(frame: Frame | None) -> str:
    if frame is None:
        return ""
    return f" at {frame.spot}" + (f" `{frame.source}`" if frame.source else "")


def _remedy(said: Said, environment: Environment | None) -> Iterator[str]:
    shadow = shadowing_file(said)
    if shadow:
        yield f"rename your own file {shadow}: it hides the package of that name; delete its __pycache__ too"
    circle = circular_files(said)
    if circle:
        names = " and ".join(file.rpartition("/")[2] for file in circle[-2:])
        yield f"{names} import each other: move what both need into a third file, or import inside the function that uses it"
    yield from _for_names(said, environment)
    known = next((step for pattern, step in _KNOWN if pattern.search(said.text)), None)
    if known:
        yield known
    elif said.type == "KeyError" and said.frames and _OS.search(said.frames[-1].file):
        yield f"set it where the program is started (`export {said.words.strip(chr(39))}=…`), or give a default: os.environ.get"
    elif said.type == "KeyError":
        yield "print the keys that there are, just before the line; compare spelling, spaces and types (1 is not '1')"
    if said.type in ("SyntaxError", "IndentationError", "TabError"):
        yield "correct the source at that line, or just above it; Python names the line where it stopped understanding"
    if said.type in ("AttributeError", "TypeError") and "NoneType" in said.words:
        yield "something is None: follow the value on that line back to the call that should have made it"
    yield from _of_package(said)


def _of_package(said: Said) -> Iterator[str]:
    """What a package raises about itself, not about a key or an index it was asked for, another version of it often cures."""
    deepest = said.frames[-1] if said.frames else None
    package = package_of(deepest) if deepest is not None else None
    about_itself = said.type in _ABOUT_ITSELF or _NAMES_A_FRAMEWORK.search(said.words) is not None
    asked_wrongly = said.type == "ValueError" and (package in FRAMEWORKS or deepest is None)
    if not (about_itself or asked_wrongly) or (deepest is not None and package is None):
        return
    inside = f"it was raised inside {package}" if package else "where it is raised inside an installed package"
    yield (
        f"{inside}: try another version of it, the one that the code was written for (its requirements.txt names it) or a newer"
        " one, in a fresh environment (code for Keras 2 on TensorFlow from 2.16: tf_keras)"
    )


_KNOWN = tuple(
    (re.compile(pattern), step)
    for pattern, step in (
        (r"Address already in use", "another program listens there: `ss -ltnp` names it; end it, or take another port"),
        (
            r"failed to connect to all addresses|[Ff]ailed to pick subchannel|Socket closed|Deadline Exceeded"
            r"|StatusCode\.|Stream removed|Endpoint read failed|of RPC that terminated",
            "the server or TPU worker is not reachable or has ended: restart it (on Colab the runtime) and connect anew; a TPU"
            " worker reads from gs:// buckets, not from this machine's files or generators",
        ),
        (
            r"Connection refused|Name or service not known|Temporary failure in name resolution|Network is unreachable",
            "the other side is not reachable from here: check host, port, proxy and VPN, and that the server runs",
        ),
        (
            r"^Timeout(?:Error|Expired)",
            "it was not ready in time: see what the other side does, then raise the timeout",
        ),
        (
            r"truth value of an? (?:array|Series|DataFrame)",
            "say which is meant: x.any() or x.all(); to choose: np.where",
        ),
        (
            r"allow_pickle=False",
            "the file holds Python objects: np.load(path, allow_pickle=True) if you trust it; else save plain numbers",
        ),
        (
            r"out of bounds for u?int\d+",
            "the number does not fit the type: convert to a wider one first, `x.astype(np.int64)`, or clip it",
        ),
        (
            r"No gradients provided",
            "argmax, rounding, casts to integers and NumPy calls have no gradient: leave them out of the loss, and compute"
            " it inside the GradientTape",
        ),
        (
            r"data adapter",
            "the data's class is of another Keras than the model: use tf.keras (or keras) throughout, also for utils.Sequence;"
            " else hand over arrays, a tf.data.Dataset, or a generator of tuples",
        ),
        (
            r"[Oo]utput of generator|generator (?:output|should|must|yield)|signature arguments do not match",
            "the generator must yield one batch each time, as a tuple (inputs, targets) and never None: print next(generator);"
            " the last batch must not be empty",
        ),
        (
            r"generator already executing",
            "a generator serves one thread: use a keras.utils.Sequence (PyDataset), or a lock around next(), or workers=1",
        ),
        (
            r"[Nn]o loss found|must compile your model",
            "give the model a loss before training: model.compile(optimizer='adam', loss='sparse_categorical_crossentropy')",
        ),
        (
            r"bootstrapping phase",
            "put what starts the program under `if __name__ == '__main__':`; spawned workers import the script anew",
        ),
        (r"values to unpack", "print what is unpacked just before the line: one entry has another length"),
        (
            r"^EOFError: EOF when reading a line",
            "nobody can answer input() here: take the value from an argument or a file",
        ),
    )
)
"""What to do about errors of which the words are always the same."""


def _look(main: ErrorRecord, frame: Frame | None, program: Program | None) -> str:
    """How to stop at the line with all variables at hand."""
    at = f"{frame.file}, line {frame.line}" if frame else "the deepest line of your own in the traceback"
    if runs_pytest(program):
        return f"look at {at}: `python -m pytest --lf --pdb` runs the failed test again and stops there"
    outermost = main.frames[0] if main.frames else None
    script = outermost.file.rpartition("/")[2] if outermost and outermost.own and outermost.file.endswith(".py") else ""
    return f"look at {at}: `python -m pdb -c continue {script or 'your_script.py'}` stops there with all variables"


def _for_names(said: Said, environment: Environment | None) -> Iterator[str]:
    if said.type in ("NameError", "UnboundLocalError") and (
        match := re.search(r"name '(\w+)' is not defined", said.words)
    ):
        yield _for_undefined(match[1])
    if said.type in ("ModuleNotFoundError", "ImportError") and (
        match := re.search(r"No module named '?(\w+)", said.words)
    ):
        python = environment.executable if environment and environment.executable else "python"
        yield from _for_module(match[1], python)


def _for_undefined(name: str) -> str:
    usual = _USUAL_IMPORTS.get(name) or (f"import {name}" if name in sys.stdlib_module_names else None)
    return f"`{usual}` is missing at the top" if usual else f"define {name} before that line, or correct its spelling"


def _for_module(name: str, python: str) -> Iterator[str]:
    """What pip can bring is advised to be installed; a name that may well be a file of the user's own is not."""
    package = _PACKAGES.get(name) or (name if name in _SAME_NAME else None)
    if package:
        yield f"install it into this very interpreter: `{python} -m pip install {package}`"
        return
    yield f"if {name} is a file or folder of your own: start the program from its folder, or set PYTHONPATH to it"
    yield (
        f"if it is a package: find out what pip calls it (names differ, and a wrong one may bring foreign code),"
        f" then `{python} -m pip install` that"
    )
