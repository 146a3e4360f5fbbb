"""Steps to show: a train step in a container, and its variations."""

from __future__ import annotations

from dataclasses import replace

from crashcart.step import Bounds, HeldTensor, Moment, Remedy, StepPeak, Verified
from crashcart.units import GIB, MIB

AT = "gradient_tape/functional_1/conv3_block4_out_1/ReluGrad"


LARGEST = (
    HeldTensor("functional_1/conv2_block1_2_relu_1/Relu", "activations", 160 * MIB),
    HeldTensor("functional_1/conv2_block2_2_relu_1/Relu", "activations", 120 * MIB),
    HeldTensor("functional_1/conv2_block3_2_relu_1/Relu", "activations", 80 * MIB),
    HeldTensor(AT, "gradients", 64 * MIB),
)


def moments(count: int = 240) -> tuple[Moment, ...]:
    """Activations pile up on the way forward and go on the way back, while gradients come."""
    found = []
    for index in range(count):
        share = index / (count - 1)
        forward = share < 0.45
        level = share / 0.45 if forward else max(0.0, 1 - (share - 0.5) / 0.5) if share > 0.5 else 1.0
        held = {
            "weights": 98 * MIB,
            "optimizer": 196 * MIB,
            "input": 37 * MIB,
            "activations": int(4400 * MIB * level),
            "gradients": 0 if forward else int(98 * MIB * share),
            "scratch": (300 if index % 17 == 3 else 20) * MIB,
            "other": 3000,
        }
        at = (
            f"functional_1/conv{index}/Relu"
            if forward
            else f"gradient_tape/functional_1/conv{count - index}/Conv2DBackpropInput"
        )
        found.append(Moment(AT if index == int(0.5 * count) else at, held))
    return tuple(found)


def train_step() -> StepPeak:
    step = StepPeak(
        "train",
        64,
        5100 * MIB,
        4900 * MIB,
        5500 * MIB,
        {"weights": 98 * MIB, "optimizer": 196 * MIB, "gradients": 98 * MIB, "activations": 4400 * MIB, "input": 37 * MIB,
         "scratch": 300 * MIB},
        AT,
        LARGEST,
        available_bytes=7800 * MIB,
        available_in="container",
        largest_batch=104,
        seconds=12.3,
        moments=moments(),
    )  # fmt: skip
    places = {AT: "conv3_block4_out (backward)"}
    places |= {each.name: each.name.split("/")[1].removesuffix("_1") + " (forward)" for each in step.largest[:3]}
    places |= {
        each.at: f"conv ({'backward' if 'tape' in each.at else 'forward'})" for each in step.moments if each.at != AT
    }
    return replace(step, places=places)


def on_host(step: StepPeak) -> StepPeak:
    host = Bounds(5600 * MIB, 5300 * MIB, 6200 * MIB)
    return replace(step, host=host, target="host", available_bytes=7 * GIB)


def too_large(step: StepPeak) -> StepPeak:
    return replace(
        step,
        available_bytes=4 * GIB,
        largest_batch=47,
        remedies=(
            Remedy("accumulation in 2 steps", 2750 * MIB, "cc.remedy.accumulate(model, 2)", "the same result", 32),
            Remedy(
                "mixed precision", 3009 * MIB, "keras.mixed_precision.set_global_policy('mixed_float16')", "less exact"
            ),
            Remedy("recomputation (remat)", 4900 * MIB, "cc.remedy.remat(model)", "about +25 % time"),
        ),
        verified=Verified(47, 4 * GIB, True, 3900 * MIB, "3 steps ran in a memory group"),
        assumed=("the length of a text is not known: 128 was taken",),
    )
