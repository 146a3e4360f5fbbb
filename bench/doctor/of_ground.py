"""Environments whose interpreter, settings or limits are wrong, and programs that name what is not here."""

from __future__ import annotations

from bench.doctor.environment import Environment
from bench.doctor.of_packages import PROBLEM, RISK, TF215, TF216, TF218

_SECOND_GPU = 'import tensorflow as tf\n\ngpus = tf.config.list_physical_devices("GPU")\ntf.config.set_visible_devices(gpus[1], "GPU")\n'
_215 = {"tensorflow": "2.15.1", "numpy": "1.26.4", "protobuf": "4.25.8"}

OF_GROUND = (
    Environment("python-3.13-with-2.15", "a folder of packages that was made for another Python", "3.13", put=_215, expect={"D201": PROBLEM}, also=frozenset({"D106"})),
    Environment("xla-flag-in-tf-xla-flags", "ends every program at its first operation", "3.11", TF218, variables={"TF_XLA_FLAGS": "--xla_gpu_cuda_data_dir=/usr/local/cuda"}, expect={"D501": PROBLEM}),
    Environment("keras-backend-missing", "KERAS_BACKEND=torch without torch", "3.12", TF216, variables={"KERAS_BACKEND": "torch"}, expect={"D501": PROBLEM}),
    Environment("packages-of-another-python", "PYTHONPATH has the packages of Python 3.9", "3.11", TF215, variables={"PYTHONPATH": "/opt/python3.9/site-packages"}, expect={"D501": RISK}),
    Environment("second-gpu-of-none", "the code takes /GPU:1, and there is no GPU", "3.11", TF218, code=_SECOND_GPU, expect={"D306": PROBLEM}),
    Environment("few-open-files", "ulimit -n 64", "3.11", TF218, limits={"NOFILE": 64}, expect={"D403": RISK}),
    Environment("small-address-space", "ulimit -v of 1 GiB", "3.11", TF218, limits={"AS": 1 << 30}, expect={"D403": PROBLEM}),
)  # fmt: skip
