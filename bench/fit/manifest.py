"""Which models are measured at which batches, and which family each belongs to."""

from __future__ import annotations

from dataclasses import dataclass

PHASES = ("train", "predict")


@dataclass(frozen=True, slots=True)
class Subject:
    """A model of the zoo."""

    name: str
    family: str
    batches: tuple[int, ...]


SUBJECTS = (
    Subject("mlp", "mlp", (64, 512, 2048)),
    Subject("cnn", "cnn", (8, 32, 64)),
    Subject("vgg16", "vgg", (4, 8, 16)),
    Subject("resnet50", "resnet", (4, 8, 16)),
    Subject("mobilenetv2", "mobilenet", (4, 8, 16)),
    Subject("lstm", "recurrent", (16, 64, 128)),
    Subject("gru", "recurrent", (32, 128, 256)),
    Subject("transformer", "transformer", (4, 16, 32)),
    Subject("unet", "unet", (2, 4, 8)),
    Subject("autoencoder", "autoencoder", (16, 64, 128)),
    Subject("multi_input", "multi-input", (16, 64, 128)),
    Subject("custom_step", "custom-step", (64, 256, 1024)),
    Subject("efficientnetb0", "efficientnet", (4, 8, 16)),
    Subject("densenet121", "densenet", (4, 8, 16)),
    Subject("mlp_deep", "mlp", (64, 512, 2048)),
    Subject("cnn_wide", "cnn", (4, 16, 32)),
    Subject("lstm_text", "recurrent", (16, 64, 128)),
    Subject("decoder", "transformer", (2, 4, 8)),
    Subject("conv1d", "conv1d", (4, 16, 32)),
    Subject("conv3d", "conv3d", (2, 8, 16)),
    Subject("mobilenetv3", "mobilenet", (4, 8, 16)),
    Subject("resnet50v2", "resnet", (4, 8, 16)),
    Subject("xception", "xception", (2, 4, 8)),
)
