"""Environments in which nothing may be found: fresh installs, and what looks wrong and was measured to work."""

from __future__ import annotations

from bench.doctor.environment import Environment
from bench.doctor.of_packages import BOARD, PUT26, TF210, TF215, TF216, TF218, TF220, TF221

RIGHT = (
    Environment("fresh-2.15", "as pip installs it", "3.11", TF215),
    Environment("fresh-2.16", "as pip installs it", "3.12", TF216),
    Environment("fresh-2.18", "as pip installs it", "3.11", TF218),
    Environment("fresh-2.20", "as pip installs it", "3.12", TF220),
    Environment("fresh-2.21", "as pip installs it", "3.13", TF221),
    Environment("fresh-2.13-cpu", "as pip installs it", "3.10", ("tensorflow-cpu==2.13.1",)),
    Environment("numpy-2.3-under-2.18", "above the declared range, works", "3.11", TF218, {"numpy": "2.3.4"}),
    Environment("protobuf-6-under-2.16", "above the declared range, works", "3.12", TF216, {"protobuf": "6.33.0"}),
    Environment("protobuf-7-under-2.18", "above the declared range, works", "3.11", TF218, {"protobuf": "7.34.0"}),
    Environment("numpy-1.26-under-2.13", "above the declared range, works", "3.11", ("tensorflow==2.13.1",), {"numpy": "1.26.4"}),
    Environment("newer-than-pinned-under-2.6", "old exact pins, newer works", "3.8", put={**PUT26, **BOARD, "numpy": "1.19.5", "six": "1.17.0", "absl-py": "2.1.0", "termcolor": "2.4.0"}),
    Environment("tf-keras-one-minor-off", "tf-keras 2.17 with 2.18 works", "3.11", TF218, {"tf-keras": "2.17.0"}),
    Environment("jax-beside-2.18", "jax and TensorFlow in one environment", "3.11", TF218, {"jax": "0.4.38", "jaxlib": "0.4.38", "scipy": "1.14.1"}),
    Environment("conda-build-2.10", "conda's build, with conda's protobuf", "3.10", TF210, {"protobuf": "4.21.12"}, damage=("by-conda",)),
    Environment("nvidia-build-2.17", "a build of NVIDIA's containers", "3.12", put={"tensorflow": "2.17.0+nv25.2", "keras": "3.4.1", "numpy": "1.26.4", "protobuf": "4.25.8", "setuptools": "68.0.0"}),
    Environment("nightly-with-legacy-keras", "nightly builds of TensorFlow and its companions", "3.12", put={"tf-nightly": "2.21.0.dev20250901", "keras-nightly": "3.12.0.dev2025090103", "tf-keras-nightly": "2.21.0.dev2025090109", "numpy": "2.1.3", "protobuf": "6.33.0"}, variables={"TF_USE_LEGACY_KERAS": "1"}),
    Environment("built-from-source-2.9", "for a Python that the index has no wheel for", "3.11", put={"tensorflow": "2.9.0", "keras": "2.9.0", "numpy": "1.23.5", "protobuf": "3.19.6"}, damage=("from-a-wheel",)),
    Environment("rocm-torch", "AMD's devices are called cuda", "3.11", TF215, {"torch": "2.4.1+rocm6.1"}, code='model.to("cuda")\n'),
    Environment("code-that-asks", "a device that is named, and given up where it is not there", "3.13", TF221, code='device = "cuda"\nif not torch.cuda.is_available():\n    device = "cpu"\nmodel.to(device)\n'),
    Environment("plan-newest", "a plan that only names tensorflow", "3.11", plan=("requirements.txt", "tensorflow\n")),
    Environment("plan-2.10-capped", "a plan that caps NumPy", "3.10", plan=("requirements.txt", "tensorflow==2.10.1\nnumpy<2\n")),
)  # fmt: skip
