"""Which models are measured at which batches, and which family each belongs to."""

from __future__ import annotations

from dataclasses import dataclass

PHASES = ("train", "predict")
TUNED = frozenset(
    {
        *("mlp", "cnn", "vgg", "recurrent", "unet", "autoencoder", "conv3d", "transformer", "custom-step"),
        *("resnet", "mobilenet", "efficientnet"),
    }
)
"""The families that something was set on: of those of the first line TensorFlow's own logs of a step were read (order, durations,
what is held), and the spread of durations was chosen with the errors of both lines in sight."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A model of the zoo."""

    name: str
    family: str
    batches: tuple[int, ...]


SUBJECTS = (
    Subject("mlp", "mlp", (512, 2048)),
    Subject("cnn", "cnn", (32, 64)),
    Subject("vgg16", "vgg", (8, 16)),
    Subject("resnet50", "resnet", (8, 16)),
    Subject("mobilenetv2", "mobilenet", (8, 16)),
    Subject("lstm", "recurrent", (64, 128)),
    Subject("gru", "recurrent", (128, 256)),
    Subject("transformer", "transformer", (16, 32)),
    Subject("unet", "unet", (4, 8)),
    Subject("autoencoder", "autoencoder", (64, 128)),
    Subject("multi_input", "multi-input", (64, 128)),
    Subject("custom_step", "custom-step", (256, 1024)),
    Subject("efficientnetb0", "efficientnet", (8, 16)),
    Subject("densenet121", "densenet", (8, 16)),
    Subject("mlp_deep", "mlp", (512, 2048)),
    Subject("cnn_wide", "cnn", (16, 32)),
    Subject("lstm_text", "recurrent", (64, 128)),
    Subject("decoder", "transformer", (4, 8)),
    Subject("conv1d", "conv1d", (16, 32)),
    Subject("conv3d", "conv3d", (8, 16)),
    Subject("mobilenetv3", "mobilenet", (8, 16)),
    Subject("resnet50v2", "resnet", (8, 16)),
    Subject("xception", "xception", (4, 8)),
)
