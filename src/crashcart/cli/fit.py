"""Estimate what one step of a Keras model takes at a batch size, before anything of it is allocated.

TARGET is FILE.py:NAME, where NAME is a model or a function without required arguments that returns one, alone or as a pair with
a dataset, an example batch or TensorSpecs. The file is imported in a child process, where calls of fit, evaluate and predict
stop with a message. The figure is the peak of TensorFlow's allocator, as on a GPU; on the host, what the process takes besides
(imports, libraries, the heap) comes on top.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from typing import Any

from crashcart.cli.output import exit_code
from crashcart.errors import CannotCheckError, CrashcartError, UsageError
from crashcart.evidence import Evidence
from crashcart.finding import Report
from crashcart.step import HeldTensor, StepPeak

# Measured with TensorFlow 2.21 on a CPU: 538 MB resident after the import, 585 MB in a small training.
_PROCESS_BYTES = 600 << 20


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("target", metavar="TARGET", help="the model: FILE.py:NAME")
    parser.add_argument("--batch", type=int, default=32, metavar="N", help="the batch size (32)")
    parser.add_argument("--phase", choices=("train", "predict"), default="train", help="which step (train)")
    parser.add_argument(
        "--shape",
        action="append",
        metavar="D,D,…",
        help="the shape of one example, once for each input, where it is not known",
    )
    parser.add_argument("--memory", metavar="SIZE", help="the memory to fit into, such as 16G, instead of what is here")
    parser.add_argument("--timeout", type=float, default=900.0, metavar="S", help="give up after so many seconds (900)")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Estimate and print."""
    report, evidence = examined(arguments)
    if arguments.json:
        from crashcart.report.json import render_json

        sys.stdout.write(render_json(report, evidence))
    else:
        from crashcart.report.fit import lines

        assert evidence.step is not None
        sys.stdout.write("\n".join(lines(evidence.step)) + "\n")
    return exit_code(report)


def examined(arguments: argparse.Namespace) -> tuple[Report, Evidence]:
    """The report on the step, and the evidence it rests on."""
    from dataclasses import replace

    from crashcart.fit import examine_step

    request, available_in = _request(arguments)
    answer = _asked(request, arguments.timeout)
    if "error" in answer:
        raise _error(answer)
    step = _read(answer["step"], request["available_bytes"], available_in)
    evidence = Evidence(step=step)
    return replace(examine_step(evidence, arguments.target), figures=_figures(step)), evidence


def _request(arguments: argparse.Namespace) -> tuple[dict[str, Any], str | None]:
    file, colon, name = arguments.target.rpartition(":")
    if not colon or not file.endswith(".py") or not name.isidentifier():
        raise UsageError(f"received {arguments.target!r}; expected FILE.py:NAME", "Such as train.py:build_model.")
    if arguments.batch < 1:
        raise UsageError(f"received --batch {arguments.batch}; expected 1 or more")
    available_bytes, available_in = _available(arguments.memory)
    request = {
        "file": file,
        "name": name,
        "batch": arguments.batch,
        "phase": arguments.phase,
        "shapes": [_shape(each) for each in arguments.shape] if arguments.shape else None,
        "available_bytes": available_bytes,
    }
    return request, available_in


def _shape(text: str) -> list[int]:
    try:
        found = [int(each) for each in text.replace("x", ",").split(",") if each.strip()]
    except ValueError:
        found = []
    if not found or min(found) < 1:
        raise UsageError(f"received --shape {text!r}; expected sizes without the batch, such as 224,224,3")
    return found


def _available(memory: str | None) -> tuple[int | None, str | None]:
    """How much memory there is, and where: what was given, a GPU, the tightest limit, or what the machine has left."""
    from crashcart.units import parse_size, size

    if memory is not None:
        try:
            return parse_size(memory), "given"
        except ValueError as error:
            raise UsageError(str(error)) from None
    from crashcart.probe import gpu
    from crashcart.probe.machine import read_machine
    from crashcart.probe.memory import read_host

    gpus = gpu.read_gpus()
    if gpus:
        return gpus[0].free_bytes, gpus[0].name
    limit, host = read_machine(os.getpid()).memory_limit(), read_host()
    left = host.available_bytes if host is not None else None
    if limit is not None and (left is None or limit.bytes < left):
        return max(0, limit.bytes - _PROCESS_BYTES), f"{limit.kind}, less {size(_PROCESS_BYTES)} for the process itself"
    if left is None:
        return None, None
    return max(0, left - _PROCESS_BYTES), f"machine, less {size(_PROCESS_BYTES)} for the process itself"


def _asked(request: dict[str, Any], timeout_s: float) -> dict[str, Any]:
    """The child's answer."""
    ours, theirs = os.pipe()
    child = subprocess.Popen(
        [sys.executable, "-m", "crashcart.cli.fit_child", json.dumps(request), str(theirs)],
        stdin=subprocess.DEVNULL,
        stdout=sys.stderr,
        pass_fds=(theirs,),
        env=_environment(),
    )
    os.close(theirs)
    try:
        child.wait(timeout_s)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
        raise CannotCheckError(
            f"no estimate after {timeout_s:.0f} s",
            'If the file does long work when it is imported, move that below `if __name__ == "__main__":`; else --timeout.',
        ) from None
    finally:
        with os.fdopen(ours, "rb") as answers:
            raw = answers.read() if child.returncode is not None else b""
    if not raw:
        raise CannotCheckError(
            f"the process that loads the model ended with {child.returncode} and said nothing",
            f"`crashcart run -- {sys.executable} {request['file']}` tells why.",
        )
    found: dict[str, Any] = json.loads(raw)
    return found


def _environment() -> dict[str, str]:
    """The GPU is not needed to trace, and must not be taken."""
    return {
        **os.environ,
        "CUDA_VISIBLE_DEVICES": "-1",
        "TF_CPP_MIN_LOG_LEVEL": os.environ.get("TF_CPP_MIN_LOG_LEVEL", "2"),
    }


def _error(answer: dict[str, Any]) -> CrashcartError:
    kinds = {UsageError.exit_code: UsageError, CannotCheckError.exit_code: CannotCheckError}
    return kinds.get(answer["exit_code"], CrashcartError)(answer["error"], answer["help"])


def _read(found: dict[str, Any], available_bytes: int | None, available_in: str | None) -> StepPeak:
    largest = tuple(HeldTensor(**each) for each in found.pop("largest"))
    found |= {"available_bytes": available_bytes, "available_in": available_in}
    return StepPeak(largest=largest, **found)


def _figures(step: StepPeak) -> dict[str, Any]:
    """The figures that other programs read; what is not estimated yet is null."""
    return {
        "device_peak_bytes": step.peak_bytes,
        "low_bytes": step.low_bytes,
        "high_bytes": step.high_bytes,
        "host_peak_bytes": None,
        "host_low_bytes": None,
        "host_high_bytes": None,
        "largest_batch": step.largest_batch,
        "seconds": step.seconds,
        "available_bytes": step.available_bytes,
        "phase": step.phase,
        "batch": step.batch,
        "kinds": dict(step.kinds),
        "at": step.at,
        "largest": step.largest,
    }
