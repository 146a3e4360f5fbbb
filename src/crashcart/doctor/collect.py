"""The evidence on an environment: which probes to call.

Covers: the interpreter and what is installed for it, the machine, its disks and GPUs, the settings of the environment, the
devices that the user's code names.
Does not cover: judging; importing any of what is found.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from crashcart.doctor._cuda import other_gpus
from crashcart.doctor._facts import TENSORFLOW_NAMES, facts
from crashcart.doctor._planned import planned
from crashcart.evidence import Environment, Evidence
from crashcart.ground import GpuDevice
from crashcart.installation import Distribution, Installation, Interpreter, Shadow
from crashcart.probe import gpu
from crashcart.probe._read import ROOT, working_directory
from crashcart.probe.device_names import read_device_names
from crashcart.probe.disk import read_disks
from crashcart.probe.distributions import read_conda, read_distributions
from crashcart.probe.interpreter import Asked, ask_interpreter
from crashcart.probe.libraries import read_libraries
from crashcart.probe.machine import read_machine
from crashcart.probe.modules import read_module, read_shadows
from crashcart.probe.named_paths import read_named_paths
from crashcart.probe.plan import read_plan
from crashcart.redact import redact_variables

_MODULES = ("tensorflow", "keras", "numpy")
_OWNERS = (*TENSORFLOW_NAMES, "keras", "keras-nightly", "numpy")


def collect(python: str | None = None, code: Iterable[str] = (), root: Path = ROOT) -> Evidence:
    """All evidence on the environment of an interpreter; without one, of our own. `code` are files of the user's program."""
    asked = ask_interpreter(python)
    return collect_around(read_installation(asked), code, asked.search_path, root)


def collect_around(
    installation: Installation, code: Iterable[str] = (), search_path: tuple[str, ...] = (), root: Path = ROOT
) -> Evidence:
    """The evidence on an installation, and what this machine (below `root`), its settings and the code add to it."""
    files = tuple(code)
    read = read_device_names(files) if files else None
    gpus, absent = _gpus(root, installation)
    if read is None:
        absent["devices_named"] = "name your code to have them looked for: `crashcart doctor train.py`"
    elif read.faults:
        absent["devices_named"] = "; ".join(read.faults)
    return Evidence(
        installation=installation,
        environment=Environment(
            python=installation.interpreter.version,
            executable=installation.interpreter.executable,
            packages={each.name: each.version or "" for each in installation.distributions if not each.shadowed},
            variables=redact_variables(os.environ),
            search_path=search_path,
        ),
        machine=read_machine(os.getpid(), root),
        disks=read_disks(_written_to(os.environ)),
        files=read_named_paths(os.environ),
        gpus=gpus,
        devices_named=None if read is None else read.names,
        absent=absent,
    )


def collect_plan(names: Sequence[str], python: str | None = None, python_version: str | None = None) -> Evidence:
    """The evidence on an environment that is not installed yet: for the named Python, the plan's own, or the interpreter's."""
    plan = read_plan(names)
    installation = planned(plan, ask_interpreter(python).interpreter, python_version)
    return Evidence(
        installation=installation,
        environment=Environment(
            python=installation.interpreter.version,
            executable=None,
            packages={each.name: each.version or "" for each in installation.distributions},
            variables=redact_variables(plan.variables),
        ),
        absent={"machine": "a plan is judged for any machine"},
    )


def read_installation(asked: Asked) -> Installation:
    """What is installed for an interpreter, and what stands before it."""
    found = read_distributions(asked.search_path, _MODULES)
    owners = [each for each in found.distributions if _may_own(each)]
    return Installation(
        interpreter=asked.interpreter,
        distributions=found.distributions,
        modules={name: read_module(name, asked.search_path, owners) for name in _MODULES},
        libraries=read_libraries(asked.interpreter, asked.search_path, os.environ),
        unreadable=found.unreadable,
        shadows=_shadows(asked),
        conda=read_conda(asked.interpreter.prefix) if asked.interpreter.kind == "conda" else None,
        leftovers=found.leftovers,
    )


def _gpus(root: Path, installation: Installation) -> tuple[tuple[GpuDevice, ...] | None, dict[str, str]]:
    """The devices; none where there is no driver, None with the reason where there are some that cannot be asked."""
    found = gpu.read_gpus(root) if gpu.has_driver(root) else ()
    if found:
        return found, {}
    if found is None and not gpu.is_jetson(root):
        return None, {"gpus": gpu.absent_reason(root)}
    other = gpu.other_maker(root) or other_gpus(installation)
    if other is None:
        return found, {}
    return None, {"gpus": f"only NVIDIA's own cards can be asked for, and there may be others: {other}"}


def _written_to(variables: Mapping[str, str]) -> list[str]:
    """Where a training writes: here, to the temporary directory, and to the caches of data sets and weights."""
    home = variables.get("HOME") or "/"
    cache = variables.get("XDG_CACHE_HOME") or f"{home}/.cache"
    keras = variables.get("KERAS_HOME") or f"{home}/.keras"
    here = working_directory()
    return [*([here] if here else []), _temporary(variables), keras, cache]


def _temporary(variables: Mapping[str, str]) -> str:
    """The temporary directory. Python finds none by writing to it where the disk is full, which is for us to tell."""
    try:
        return tempfile.gettempdir()
    except OSError:
        return variables.get("TMPDIR") or "/tmp"


def _may_own(distribution: Distribution) -> bool:
    return distribution.name in _OWNERS


def _shadows(asked: Asked) -> tuple[Shadow, ...]:
    """With PYTHONSAFEPATH set, the directory that a program starts in is not on its path."""
    here = "" if os.environ.get("PYTHONSAFEPATH") else working_directory() or ""
    names = facts("requirements")["imported"]
    site = _site(asked.interpreter, asked.search_path)
    return read_shadows(names["installed"], names["standard"], here, asked.search_path, site)


def _site(interpreter: Interpreter, path: tuple[str, ...]) -> str | None:
    """The environment's own directory of packages."""
    named = [each for each in path if Path(each).name in ("site-packages", "dist-packages")]
    own = [each for each in named if interpreter.prefix and each.startswith(interpreter.prefix)]
    return next(iter(own or named), None)
