"""W304 device-not-available."""

from __future__ import annotations

from collections.abc import Iterator

from crashcart.evidence import Ending, Environment, ErrorRecord, GpuDevice, Log
from crashcart.finding import Finding
from crashcart.rule import Rank, rule
from crashcart.why._advice import Advice, advice, advise
from crashcart.why._said import Kind
from crashcart.why._statement import conclude, first_sentence
from crashcart.why._text import stated

_SOFT = (
    "let TensorFlow fall back to the CPU: tf.config.set_soft_device_placement(True),"
    " or allow_soft_placement=True in TF 1's ConfigProto"
)
_ADVICE: tuple[Advice, ...] = (
    advice(
        r"could not select device driver|runtime name: nvidia",
        "Docker has no access to the GPU here: NVIDIA's container toolkit is not installed or not set up",
        "install nvidia-container-toolkit, then `sudo nvidia-ctk runtime configure --runtime=docker && sudo"
        " systemctl restart docker`",
        "`docker run --rm --gpus all ubuntu nvidia-smi` must show the card; Docker from snap does not see the host's driver",
    ),
    advice(
        r"xla_gpu",
        "an operation is pinned to a GPU that TensorFlow sees but cannot use: its CUDA libraries were not loaded",
        "install the CUDA and cuDNN versions that this TensorFlow wants; the lines about libcudart or libcudnn at"
        " the start name what is missing",
        _SOFT,
    ),
    advice(
        r"nhwc|nchw",
        "the CPU has no kernel for channels-first (NCHW) convolutions",
        "use data_format='channels_last' (image_data_format in ~/.keras/keras.json), or run on a GPU",
    ),
    advice(
        r"same device|on cpu, but expected|torch\.cuda\.\w+\) and|backend|different devices|at least two devices",
        "tensors of one operation are on different devices",
        "move all of them: model.to(device), and x.to(device), y.to(device) in the loop",
        "tensors that are made inside the model need device=x.device",
    ),
    advice(
        r"not compiled with cuda|is_available\(\) is false|no nvidia driver|no cuda|not built with|not linked with",
        "a GPU was asked for, and this build or machine has none",
        "load and run on the CPU: device = 'cuda' if torch.cuda.is_available() else 'cpu', torch.load(...,"
        " map_location='cpu')",
        "install the build with GPU support (tensorflow[and-cuda], PyTorch's cu12x wheels) and the NVIDIA driver",
    ),
    advice(
        r"invalid device ordinal|index out of range|list index",
        "a device number was asked for that this machine does not have",
        "list what there is: tf.config.list_physical_devices(), torch.cuda.device_count()",
        "CUDA_VISIBLE_DEVICES renumbers: the first visible device is 0",
    ),
    advice(
        r"gpu|cannot assign|no opkernel|no registered|device",
        "an operation is pinned to a device that is not there, or that has no kernel for it",
        _SOFT,
        "take the explicit device away (tf.device('/GPU:0'), clone or replica settings), or install a TensorFlow"
        " build with GPU support"
        " instead of a CPU-only one (tensorflow-gpu up to 2.11, tensorflow[and-cuda] from 2.14)",
        "see what there is: tf.config.list_physical_devices()",
    ),
    advice(
        r"^unimplemented|not implemented|not supported",
        "the operation is not implemented for this device, layout or type",
        "run it where it is: on the other device (`with tf.device('/CPU:0'):`, or a GPU), with channels_last, in float32",
        "try another version: what one release or build does not implement, a newer one, or the one the model was made with, may",
    ),
    advice(r"", "", _SOFT, "see what there is: tf.config.list_physical_devices()"),
)


@rule("W304", "device-not-available", Rank.KIND)
def device_not_available(
    errors: tuple[ErrorRecord, ...],
    log: Log | None = None,
    ending: Ending | None = None,
    gpus: tuple[GpuDevice, ...] | None = None,
    environment: Environment | None = None,
) -> Iterator[Finding]:
    """An operation was placed on a device that is absent, or that has no kernel for it.

    ## What it means

    The code, or a saved model, names a device explicitly. On this machine there is no such device, the build has no
    support for it, or the operation exists for another device only.

    ## How we know

    The message states the device that was asked for and mostly lists the ones there are.

    ## What to do

    Do not name devices, or allow soft placement; install a build with support for the device if it is there.
    """
    for statement in stated(Kind.DEVICE, errors, log, ending):
        row = advise(_ADVICE, statement.said.text)
        headline = row.headline or f"a device is not available: {first_sentence(statement.words)}"
        facts = [f"NVML saw {len(gpus)} devices at the start"] if gpus is not None else []
        builds = sorted(name for name in (environment.packages if environment else {}) if name.startswith("tensorflow"))
        if environment and builds:
            facts.append("installed: " + ", ".join(f"{name} {environment.packages[name]}" for name in builds[:4]))
        yield conclude(statement, headline, row.remedy, *facts)
