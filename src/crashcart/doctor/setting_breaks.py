"""D501: a variable of the environment breaks something, or does not do what it looks like."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from crashcart.doctor._builds import tensorflow_of
from crashcart.doctor._facts import parsed
from crashcart.doctor._fix import commands, quoted, without_entries
from crashcart.evidence import Environment, GpuDevice
from crashcart.finding import Cause, Confidence, Finding, Level
from crashcart.installation import Installation
from crashcart.probe.named_paths import cuda_folder, preloaded
from crashcart.rule import Rank, rule

_TRUE_OR_FALSE = {
    "TF_FORCE_GPU_ALLOW_GROWTH": "TensorFlow takes nearly all GPU memory at the start, as if it were not set",
    "TF_ENABLE_GPU_GARBAGE_COLLECTION": "the default stays",
}
_BACKENDS = {"tensorflow": None, "torch": "torch", "jax": "jax", "numpy": "numpy", "openvino": "openvino"}
_OTHER_PYTHON = re.compile(r"python(\d\.\d+)")
_TENSORFLOWS_FLAG = re.compile(r"--tf_\w+")
_XLAS_FLAG = re.compile(r"--xla_\w+")


@rule("D501", "setting-breaks", Rank.KIND)
def setting_breaks(
    environment: Environment,
    installation: Installation | None = None,
    files: Mapping[str, int | None] | None = None,
    gpus: tuple[GpuDevice, ...] | None = None,
) -> Iterator[Finding]:
    """A variable of the environment ends programs, is ignored, or hides what one needs to see.

    ## What it means

    Values that look right and are not: `TF_FORCE_GPU_ALLOW_GROWTH=1` is ignored (only `true` and `false` are
    understood); a flag of XLA in TF_XLA_FLAGS ends the process at the first operation; KERAS_BACKEND names a package
    that is not installed; LD_PRELOAD names a file that is gone; PYTHONPATH mixes the packages of another Python in;
    `TF_CPP_MIN_LOG_LEVEL=3` hides errors.

    ## How we know

    The variables of this process, which programs started from here inherit, and whether the files that they name are
    there. What the flags and KERAS_BACKEND do was measured with TensorFlow 2.21 and Keras 3; the words that
    TensorFlow understands are in its source.

    ## What to do

    What the finding says; mostly `unset NAME`, and then out of `~/.bashrc`, the Dockerfile or the kernel's settings.
    """
    variables = environment.variables
    yield from _words(variables, bool(gpus))
    yield from _flags(variables, installation)
    yield from _backend(variables, installation)
    yield from _missing_files(variables, files or {})
    yield from _other_pythons(variables, installation)
    yield from _hidden(variables)


def _finding(
    level: Level, headline: str, facts: tuple[str, ...], remedy: str, cause: Cause = Cause.PYTHON_ERROR
) -> Finding:
    return Finding(cause, headline, facts, (remedy,), Confidence.CERTAIN, level=level)


def _words(variables: Mapping[str, str], gpu: bool) -> Iterator[Finding]:
    for name, effect in _TRUE_OR_FALSE.items():
        value = variables.get(name)
        if value is not None and value not in ("true", "false"):
            yield _finding(
                Level.RISK if gpu else Level.NOTE,
                f"{name}={value} is ignored",
                ("only the words true and false are understood, in lower case", effect),
                f"`export {name}=true`, or `unset {name}`",
                Cause.GPU_MEMORY_TAKEN,
            )


def _flags(variables: Mapping[str, str], installation: Installation | None) -> Iterator[Finding]:
    if installation is not None and tensorflow_of(installation) is None:
        return
    wrong = _XLAS_FLAG.search(variables.get("TF_XLA_FLAGS", ""))
    if wrong:
        yield _finding(
            Level.PROBLEM,
            f"TF_XLA_FLAGS has {wrong[0]}, which ends every TensorFlow program at its first operation",
            (
                f"TF_XLA_FLAGS={variables['TF_XLA_FLAGS']}",
                "measured: `Unknown flag in TF_XLA_FLAGS`; flags with --xla_ belong to XLA_FLAGS",
            ),
            f"`unset TF_XLA_FLAGS`; `export XLA_FLAGS={wrong[0]}…` where it is wanted",
        )
    wrong = _TENSORFLOWS_FLAG.search(variables.get("XLA_FLAGS", ""))
    if wrong:
        yield _finding(
            Level.RISK,
            f"XLA_FLAGS has {wrong[0]}, which ends the program when XLA first compiles something",
            (
                f"XLA_FLAGS={variables['XLA_FLAGS']}",
                "measured: `Unknown flag in XLA_FLAGS`; flags with --tf_ belong to TF_XLA_FLAGS",
            ),
            f"`unset XLA_FLAGS`; `export TF_XLA_FLAGS={wrong[0]}…` where it is wanted",
        )


def _backend(variables: Mapping[str, str], installation: Installation | None) -> Iterator[Finding]:
    """Keras 3 alone reads the variable."""
    value = variables.get("KERAS_BACKEND")
    keras = installation.find("keras") if installation is not None else None
    version = parsed(keras.version) if keras is not None else None
    if not value or installation is None or keras is None or version is None or version.major < 3:
        return
    package = _BACKENDS.get(value)
    if value in _BACKENDS and (package is None or installation.find(package) is not None):
        return
    why = f"{package} is not installed" if value in _BACKENDS else f"Keras knows {', '.join(sorted(_BACKENDS))}"
    yield _finding(
        Level.PROBLEM,
        f"KERAS_BACKEND={value}: `import keras` and the first use of tf.keras will fail",
        (why, f"keras {keras.version} imports its backend when it is imported"),
        "`unset KERAS_BACKEND`, or `export KERAS_BACKEND=tensorflow`",
        Cause.LIBRARY_CONFLICT,
    )


def _missing_files(variables: Mapping[str, str], files: Mapping[str, int | None]) -> Iterator[Finding]:
    gone = [each for each in preloaded(variables.get("LD_PRELOAD", "")) if each in files and files[each] is None]
    if gone:
        yield _finding(
            Level.NOTE,
            f"LD_PRELOAD names {gone[0]}, which is not there",
            ("the loader says so on every start of a program, and goes on without it",),
            "`unset LD_PRELOAD`, or install what it names",
        )
    folder = cuda_folder(variables.get("XLA_FLAGS", ""))
    if folder is not None and folder in files and files[folder] is None:
        yield _finding(
            Level.NOTE,
            f"XLA_FLAGS names the folder {folder}, which is not there",
            ("XLA looks for libdevice and ptxas there; on a GPU its first compilation may fail",),
            "name the folder that has nvvm/libdevice: `find / -name libdevice.10.bc 2>/dev/null`",
            Cause.CUDA_MISMATCH,
        )
    temporary = variables.get("TMPDIR")
    if temporary and temporary in files and files[temporary] is None:
        yield _finding(
            Level.NOTE,
            f"TMPDIR names {temporary}, which is not there",
            ("Python then takes /tmp; other programs fail",),
            f"`mkdir -p {quoted(temporary)}`, or `unset TMPDIR`",
            Cause.DATA_MISSING,
        )


def _other_pythons(variables: Mapping[str, str], installation: Installation | None) -> Iterator[Finding]:
    here = installation.interpreter.minor if installation is not None else None
    given = variables.get("PYTHONPATH", "")
    found = [(each, match[1]) for each in given.split(":") if (match := _OTHER_PYTHON.search(each))]
    others = {each: other for each, other in found if other != here and "-packages" in each}
    shorter = without_entries("PYTHONPATH", given, others)
    if installation is not None and others:
        command = "; ".join(commands(installation, shorter)) if shorter is not None else "unset PYTHONPATH"
        yield from (_other_python(each, other, here, command) for each, other in others.items())
    if variables.get("PYTHONHOME"):
        yield _finding(
            Level.NOTE,
            "PYTHONHOME is set: every Python that starts from here takes its standard library from there",
            (f"PYTHONHOME={variables['PYTHONHOME']}", "a Python of another version does not start with it"),
            "`unset PYTHONHOME`",
        )


def _other_python(entry: str, other: str, here: str | None, command: str) -> Finding:
    return Finding(
        Cause.LIBRARY_CONFLICT,
        f"PYTHONPATH brings the packages of Python {other} into this Python {here}",
        (f"PYTHONPATH has {entry}", "its compiled packages cannot be loaded, and they come before your own"),
        (f"`{command}`, and install what was wanted from there into this environment",),
        Confidence.LIKELY,
        level=Level.RISK,
    )


def _hidden(variables: Mapping[str, str]) -> Iterator[Finding]:
    level = variables.get("TF_CPP_MIN_LOG_LEVEL", "")
    if level.isdecimal() and int(level) >= 3:
        yield _finding(
            Level.NOTE,
            f"TF_CPP_MIN_LOG_LEVEL={level} hides TensorFlow's errors, not only its chatter",
            ("0 shows all, 1 leaves information out, 2 also warnings, 3 also errors",),
            "`export TF_CPP_MIN_LOG_LEVEL=2`, which keeps errors",
        )
    if variables.get("CUDA_LAUNCH_BLOCKING") == "1":
        yield _finding(
            Level.NOTE,
            "CUDA_LAUNCH_BLOCKING=1 makes every GPU operation wait for its end: good for finding faults, slow",
            ("CUDA_LAUNCH_BLOCKING=1",),
            "`unset CUDA_LAUNCH_BLOCKING` for ordinary runs",
        )
