"""Secrets taken out of command lines and environment variables before anything is written.

Covers: options and variables whose name speaks of a secret, values whose shape does (keys, tokens, passwords in URLs).
Does not cover: what the program prints itself; its output is recorded as it is, for its owner alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

HIDDEN = "[redacted]"

_SECRET_NAME = re.compile(
    r"pass(?:word|wd|phrase)?$|pwd|secret|token(?![a-z])|api[-_]?key|access[-_]?key|private[-_]?key|credential|(?:^|[-_])auth(?:$|[-_])|"
    r"cookie|signature|(?:^|[-_])key$",
    re.IGNORECASE,
)
_SECRET_VALUE = re.compile(
    r"(?:AKIA|ASIA)[0-9A-Z]{16}"
    r"|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{16,}"
    r"|hf_[A-Za-z0-9]{20,}|sk-[A-Za-z0-9_-]{16,}|xox[abprs]-[A-Za-z0-9-]{10,}"
    r"|eyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]*"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----"
)
_URL_PASSWORD = re.compile(r"([a-z][a-z0-9+.-]*://)[^/\s]+@", re.IGNORECASE)
_NAMED_INSIDE = re.compile(
    r"((?:pass(?:word|wd)?|secret|token|api[-_]?key|access[-_]?key|credential|auth)(?![a-z])[\w-]*[\"']?\s*[=:]\s*[\"']?)[^\s&\"',;)]+",
    re.IGNORECASE,
)
_SCHEME = re.compile(r"\b(Bearer|Basic)\s+[A-Za-z0-9._~+/=-]{6,}", re.IGNORECASE)
_ASSIGNMENT = re.compile(r"^(-{0,2}[A-Za-z_][\w.-]*)=(.*)$", re.DOTALL)
_LONG_TOKEN = re.compile(r"[A-Za-z0-9+/_-]{40,}={0,2}")

# What says something about a death: frameworks, allocators, loaders, schedulers. Everything else stays unwritten.
_TELLING = re.compile(
    r"^(TF_|CUDA|NVIDIA|XLA_|KERAS_|OMP_|MKL_|KMP_|OPENBLAS|GOTO|NUMEXPR|PYTHON|LD_|MALLOC_|GLIBC_|CONDA_|VIRTUAL_ENV|TMPDIR|SLURM_"
    r"|JAX_|TORCH|PYTORCH|NCCL_|HOROVOD|ROCR_|HIP_|PROTOCOL_BUFFERS_|DYLD_|KUBERNETES_PORT$|container$|XDG_CACHE_HOME|CRASHCART_|LANG$|LC_ALL$|TERM$|OMPI_)"
)


def redact_value(value: str) -> str:
    """Hide the parts of a value that look like secrets."""
    value = _URL_PASSWORD.sub(rf"\1{HIDDEN}@", value)
    value = _SCHEME.sub(rf"\1 {HIDDEN}", value)
    value = _NAMED_INSIDE.sub(rf"\1{HIDDEN}", value)
    value = _SECRET_VALUE.sub(HIDDEN, value)
    return _LONG_TOKEN.sub(lambda match: HIDDEN if _is_random(match.group()) else match.group(), value)


def _is_random(text: str) -> bool:
    """Long runs that mix digits with both cases are keys; paths, hashes of one case and identifiers are not."""
    has = [any(test(letter) for letter in text) for test in (str.isdigit, str.isupper, str.islower)]
    return all(has) and text.count("/") < 3 and text.count("_") + text.count("-") < 4


def redact_argv(argv: Iterable[str]) -> tuple[str, ...]:
    """The command line with `--token=…`, `--password …`, `API_KEY=…` and values that look like keys hidden."""
    found: list[str] = []
    hide_next = False
    for argument in argv:
        if hide_next:
            found.append(HIDDEN)
            hide_next = False
            continue
        assignment = _ASSIGNMENT.match(argument)
        if assignment and _SECRET_NAME.search(assignment.group(1).lstrip("-")):
            found.append(f"{assignment.group(1)}={HIDDEN}")
        else:
            found.append(redact_value(argument))
        hide_next = argument.startswith("-") and not assignment and bool(_SECRET_NAME.search(argument.lstrip("-")))
    return tuple(found)


def redact_variables(variables: Mapping[str, str]) -> dict[str, str]:
    """The variables that tell something about a death, with whatever looks like a secret hidden."""
    return {
        name: HIDDEN if _SECRET_NAME.search(name) else redact_value(value)
        for name, value in sorted(variables.items())
        if _TELLING.match(name)
    }
