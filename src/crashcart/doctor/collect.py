"""The evidence on an environment: which probes to call.

Covers: the interpreter and what is installed for it, the machine, its disks and GPUs, the settings of the environment.
Does not cover: judging; importing any of what is found.
"""

from __future__ import annotations

import os
from pathlib import Path

from crashcart.doctor._facts import TENSORFLOW_NAMES
from crashcart.evidence import Environment, Evidence
from crashcart.installation import Distribution, Installation
from crashcart.probe import gpu
from crashcart.probe.disk import read_disks
from crashcart.probe.distributions import read_distributions, read_module
from crashcart.probe.interpreter import Asked, ask_interpreter
from crashcart.probe.machine import read_machine

_MODULES = ("tensorflow", "keras", "numpy")
_OWNERS = (*TENSORFLOW_NAMES, "keras", "keras-nightly", "numpy", "protobuf")


def collect(python: str | None = None) -> Evidence:
    """All evidence on the environment of an interpreter; without one, of our own."""
    asked = ask_interpreter(python)
    installation = read_installation(asked)
    gpus = gpu.read_gpus()
    return Evidence(
        installation=installation,
        environment=Environment(
            python=asked.interpreter.version,
            executable=asked.interpreter.executable,
            packages={each.name: each.version or "" for each in installation.distributions if not each.shadowed},
            variables=dict(os.environ),
            search_path=asked.search_path,
        ),
        machine=read_machine(os.getpid()),
        disks=read_disks([str(Path.cwd()), "/dev/shm", "/tmp"]),
        gpus=gpus,
        absent={} if gpus is not None else {"gpus": gpu.absent_reason()},
    )


def read_installation(asked: Asked) -> Installation:
    """What is installed for an interpreter."""
    found = read_distributions(asked.search_path)
    owners = [each for each in found.distributions if _may_own(each)]
    return Installation(
        interpreter=asked.interpreter,
        distributions=found.distributions,
        modules={name: read_module(name, asked.search_path, owners) for name in _MODULES},
        unreadable=found.unreadable,
    )


def _may_own(distribution: Distribution) -> bool:
    return distribution.name in _OWNERS
