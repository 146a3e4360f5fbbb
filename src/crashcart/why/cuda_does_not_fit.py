"""W209 cuda-does-not-fit."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from crashcart.evidence import Ending, ErrorRecord, GpuDevice, Log
from crashcart.finding import Cause, Confidence, Finding
from crashcart.rule import Rank, rule
from crashcart.why._advice import Advice, advice, advise
from crashcart.why._said import Force, Kind
from crashcart.why._statement import conclude, quote_line
from crashcart.why._text import stated

_LAST_LINES = 50
_CUDNN_LOADED = re.compile(r"Loaded cuDNN version (\d{4,5})\b")
_NEEDS_ZLIB = 8300
_FAST_FAIL = re.compile(r"0xC0000409|-1073740791|3221226505")
_BUNDLE = "let pip bring the CUDA libraries that fit: `pip install 'tensorflow[and-cuda]'` in a fresh environment"
_ADVICE: tuple[Advice, ...] = (
    advice(
        r"loaded (?:runtime )?cudnn library:? (?P<have>[\d.]+).{0,40}compiled with:? ?(?P<want>[\d.]*\d)",
        "cuDNN {have} was loaded, but this build wants {want} or a newer one of the same major version",
        "upgrade cuDNN to match: {want} or a newer minor version of the same major (on Jetson: the JetPack that the"
        " wheel was made for)",
        "if a newer one is installed, an older copy is found first: look at LD_LIBRARY_PATH, conda's cudnn and"
        " PyTorch's nvidia-cudnn-cu* package",
        _BUNDLE,
    ),
    advice(
        r"zlibwapi",
        "cuDNN's helper zlibwapi.dll is missing or of the wrong kind",
        "put the 64-bit zlibwapi.dll (cuDNN's installation guide links it) into CUDA's bin folder, and see that no"
        " 32-bit zlib copy is found first on PATH",
        "use the cuDNN that this release was tested with (8.1 for TensorFlow 2.5 to 2.10), which does not need zlib",
    ),
    advice(
        r"status: unknown error"
        r"|cuda unknown error|cuda_error_unknown|cudaerrorunknown|runtime error \(30\)|cuda driver initialization",
        'the driver gave no better answer than "unknown error"',
        "restart the machine, or load the driver's module again: `sudo rmmod nvidia_uvm && sudo modprobe"
        " nvidia_uvm`; a laptop that"
        " slept, or a driver that was updated since the start, leaves it so",
        "in a container, start it after the driver works on the host (`nvidia-smi`), with `--gpus all`; install nvidia-modprobe",
        "set CUDA_VISIBLE_DEVICES before the program starts, not inside it; with a second session or framework in the process,"
        " let the first one leave memory (allow_growth, set_memory_growth)",
    ),
    advice(
        r"nvidia-container-cli",
        "the container's CUDA does not fit the host's driver, or the driver cannot be used in containers",
        "upgrade the NVIDIA driver on the host, or use an image for an older CUDA; `nvidia-smi` on the host shows"
        " the newest it serves",
        "if `nvidia-smi` fails on the host: restart after a driver update, and install nvidia-container-toolkit again",
    ),
    advice(
        r"registered platform",
        "the plug-in for the device (Metal, on a Mac) does not fit this TensorFlow",
        "take the pair of versions that belong together: tensorflow-metal's page lists which release fits which TensorFlow",
        "until then use the old optimizers (tf.keras.optimizers.legacy.Adam), or the CPU:"
        " tf.config.set_visible_devices([], 'GPU')",
    ),
    advice(
        r"nvidia-smi has failed|communicate with the nvidia driver",
        "the NVIDIA driver does not run",
        "install or reinstall the driver for this kernel (a kernel update needs its module built anew: `dkms status`), then"
        " restart",
        "with Secure Boot the module must be signed; `sudo modprobe nvidia` and `dmesg | grep -i nvidia` say what is wrong",
    ),
    advice(
        r"driver",
        "the NVIDIA driver does not fit this CUDA",
        "upgrade the NVIDIA driver; `nvidia-smi` shows its version and the newest CUDA that it serves",
        "after a driver update: restart, so that the kernel module and the library are of one version",
        "use a build for an older CUDA",
    ),
    advice(
        r"(?P<card>[\w .-]{0,60}?) ?with cuda capability (?P<have>sm_\d+) is not compatible",
        "the card ({card}, {have}) is newer or older than what this build was made for",
        "install a build for that generation: for Blackwell cards (sm_100, sm_120) one for CUDA 12.8 or newer",
        "the build's own list of capabilities stands in the message; a card below the list needs an older build",
    ),
    advice(
        r"hiperror|current devices",
        "this ROCm build has no code for the card's generation (its gfx number)",
        "see whether the card is on ROCm's list of supported ones (`rocminfo | grep gfx`); a build for its generation, or one"
        " from source with AMDGPU_TARGETS=gfx…, is needed",
        "cards next to a supported one often run under its number: HSA_OVERRIDE_GFX_VERSION=10.3.0 (for gfx103x)",
        "run on the CPU until then: HIP_VISIBLE_DEVICES=-1",
    ),
    advice(
        r"ptx|no kernel image|no_binary_for_gpu|invalid_image|image is invalid|invalid device function"
        r"|compute capability|sm_\d+|invalid_handle",
        "this build has no code for the card's generation (compute capability)",
        "install a newer build that knows this generation, or NVIDIA's own container for it"
        " (nvcr.io/nvidia/tensorflow)",
        "an old card needs an older release; `nvidia-smi --query-gpu=name,compute_cap --format=csv` shows its"
        " compute capability",
        "after changing versions, delete the driver's cache: rm -r ~/.nv/ComputeCache",
    ),
    advice(
        r"libdevice|ptxas|ptx compilation|jit compilation failed|device code failed",
        "the CUDA compiler's files (libdevice, ptxas) are not found",
        "install them: `pip install nvidia-cuda-nvcc-cu12`, or conda's cuda-nvcc",
        "point XLA at the CUDA folder: XLA_FLAGS=--xla_gpu_cuda_data_dir=/path/to/cuda",
        _BUNDLE,
    ),
    advice(
        r"failed to get convolution algorithm|valid cudnn algorithm"
        r"|dnn library|cudnn_status|algorithms|check failed|failed to call then|cudnn stream",
        "cuDNN did not start: an unfitting version, or no device memory left for it",
        "compare the cuDNN version with the one this TensorFlow was tested with; the lines above the error name"
        " both where they differ",
        "let TensorFlow leave some memory: tf.config.experimental.set_memory_growth(gpu, True) (allow_growth in TF"
        " 1), and"
        " end other processes on the device (nvidia-smi); a smaller batch leaves room as well",
        _BUNDLE,
    ),
    advice(
        r"cublas|cusparse|cusolver|cufft|execution plans?|engine config",
        "a CUDA library refused the call: an unfitting version or card, a wrong index before it, or a full device",
        "compare the framework's build with driver and card (`nvidia-smi`): a version for this generation, reinstalled in a fresh"
        " environment",
        "run once with CUDA_LAUNCH_BLOCKING=1, or on the CPU: an index or label out of range fails later, in these words",
        "see that device memory is left (`nvidia-smi`): end other processes, or use a smaller batch",
    ),
    advice(
        r"(?P<library>(?:lib)?(?:cud\w{0,40}|cublas\w{0,40}|cufft\w{0,40}|curand\w{0,40}|cusolver\w{0,40}|cusparse\w{0,40}|nccl\w{0,40}|nvrtc\w{0,40}"
        r"|nvinfer\w{0,40}|nvcuda\w{0,40}|nvjitlink\w{0,40}|torch_cuda\w{0,40})\.(?:so[\w.]{0,20}|dll))",
        "the CUDA library {library} is not found, or not in the version that this build wants",
        _BUNDLE,
        "install the CUDA and cuDNN versions that this release was tested with, and put their folder on"
        " LD_LIBRARY_PATH (on Windows: PATH)",
        "without a GPU this library is not needed: use the CPU package (tensorflow-cpu)",
    ),
    advice(
        r"",
        "CUDA, cuDNN, driver or card do not fit this build",
        "compare driver (`nvidia-smi`), CUDA and cuDNN with the table of tested versions of this release",
        _BUNDLE,
    ),
)


@rule("W209", "cuda-does-not-fit", Rank.KIND)
def cuda_does_not_fit(
    errors: tuple[ErrorRecord, ...],
    log: Log | None = None,
    ending: Ending | None = None,
    gpus: tuple[GpuDevice, ...] | None = None,
) -> Iterator[Finding]:
    """CUDA, cuDNN, the driver or the card's generation do not fit this build of the framework, or are not found.

    ## What it means

    A GPU build is made for one CUDA, one major version of cuDNN and a list of card generations, and needs a driver that
    is new enough. Where one of them does not fit, the first kernel or convolution fails, in words that mostly do not
    say so.

    ## How we know

    A line names both versions, the loader names the library that it could not find, or the driver refuses the code.
    "cuDNN failed to initialize" alone fits a full device as well. Loader notices without a GPU mean nothing.

    ## What to do

    Let pip bring the CUDA libraries that belong to the build, and keep the driver new.
    """
    for statement in stated(Kind.CUDA, errors, log, ending):
        row = advise(_ADVICE, statement.said.text)
        facts = [f"device {gpu.index}: {gpu.name}, driver {gpu.driver}" for gpu in gpus or () if gpu.driver]
        if gpus == () and statement.force is Force.HEALTHY:
            continue
        yield conclude(statement, row.headline, row.remedy, *facts)
    yield from _failed_after_cudnn(log)


def _failed_after_cudnn(log: Log | None) -> Iterator[Finding]:
    """Windows' fast-fail code as the very next thing after cuDNN 8.3 or newer was loaded: its zlib DLL is missing."""
    lines = [line for line in (log.lines[-_LAST_LINES:] if log else ()) if line.text.strip()]
    for before, line in pairwise(lines):
        loaded = _CUDNN_LOADED.search(before.text)
        if loaded and int(loaded[1]) >= _NEEDS_ZLIB and _FAST_FAIL.search(line.text):
            row = advise(_ADVICE, "zlibwapi")
            because = (
                quote_line(before),
                quote_line(line),
                "cuDNN from 8.3 on needs zlibwapi.dll on Windows, and ends the process",
            )
            yield Finding(
                Cause.CUDA_MISMATCH,
                "the process ended as soon as cuDNN was used",
                because,
                row.remedy,
                Confidence.LIKELY,
            )
