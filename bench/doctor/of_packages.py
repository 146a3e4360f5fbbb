"""Environments whose packages do not fit TensorFlow, or each other."""

from __future__ import annotations

from bench.doctor.environment import Environment

TF29 = ("tensorflow==2.9.3", "numpy<2")
TF210 = ("tensorflow==2.10.1", "numpy<2")
TF213 = ("tensorflow==2.13.1",)
TF214 = ("tensorflow==2.14.1",)
TF215 = ("tensorflow==2.15.1",)
TF216 = ("tensorflow==2.16.2",)
TF217 = ("tensorflow==2.17.1",)
TF218 = ("tensorflow==2.18.1",)
TF220 = ("tensorflow==2.20.0",)
TF221 = ("tensorflow==2.21.0",)
_OLD = {
    "absl-py": "0.15.0", "astunparse": "1.6.3", "flatbuffers": "1.12", "gast": "0.4.0", "google-pasta": "0.2.0", "h5py": "3.1.0",
    "keras-preprocessing": "1.1.2", "opt-einsum": "3.3.0", "protobuf": "3.19.6", "six": "1.15.0", "termcolor": "1.1.0",
    "typing-extensions": "3.7.4.3", "wheel": "0.37.1", "wrapt": "1.12.1",
}  # fmt: skip
BOARD = {
    "tensorboard": "2.6.0", "cachetools": "4.2.4", "certifi": "2023.7.22", "charset-normalizer": "2.0.12", "google-auth": "1.35.0",
    "google-auth-oauthlib": "0.4.6", "idna": "3.4", "importlib-metadata": "6.7.0", "markdown": "3.4.4", "oauthlib": "3.2.2",
    "pyasn1": "0.4.8", "pyasn1-modules": "0.2.8", "requests": "2.27.1", "requests-oauthlib": "1.3.1", "rsa": "4.9",
    "setuptools": "68.0.0", "tensorboard-data-server": "0.6.1", "tensorboard-plugin-wit": "1.8.1", "urllib3": "1.26.18",
    "werkzeug": "2.0.3", "zipp": "3.15.0",
}  # fmt: skip
PUT25 = {
    **_OLD,
    "tensorflow": "2.5.3",
    "tensorflow-estimator": "2.5.0",
    "keras-nightly": "2.5.0.dev2021032900",
    "grpcio": "1.34.1",
}
PUT26 = {
    **_OLD,
    "tensorflow": "2.6.5",
    "tensorflow-estimator": "2.6.0",
    "keras": "2.6.0",
    "grpcio": "1.48.2",
    "clang": "5.0",
}
"""The source packages that 2.5 and 2.6 ask for have no wheels, so that pip cannot be asked without building them."""

PROBLEM, RISK = "problem", "risk"
UNMET = frozenset({"D106"})
"""That a declared range is not met is true as well, where the declared range is what fails."""

OF_PACKAGES = (
    Environment("numpy2-under-2.10", "NumPy 2 under 2.10", "3.10", TF210, {"numpy": "2.0.2"}, expect={"D101": PROBLEM}),
    Environment("numpy2-under-2.15", "NumPy 2 under 2.15", "3.11", TF215, {"numpy": "2.1.3"}, expect={"D101": PROBLEM}),
    Environment("numpy2-under-2.17", "NumPy 2 under 2.17", "3.12", TF217, {"numpy": "2.0.2"}, expect={"D101": PROBLEM}),
    Environment("numpy2-fresh-2.10", "pip itself chose NumPy 2", "3.10", ("tensorflow==2.10.1",), expect={"D101": PROBLEM}),
    Environment("numpy1.24-under-2.6", "NumPy 1.24 under 2.6", "3.8", put={**PUT26, "numpy": "1.24.4"}, expect={"D101": PROBLEM}, also=UNMET),
    Environment("numpy1.21-under-2.5", "recurrent layers fail", "3.8", put={**PUT25, "numpy": "1.21.6"}, expect={"D101": PROBLEM}, also=UNMET),
    Environment("protobuf4-under-2.9", "protobuf 4 under 2.9", "3.9", TF29, {"protobuf": "4.25.8", "importlib-metadata": "8.7.0", "zipp": "3.23.0"}, expect={"D102": PROBLEM}),
    Environment("protobuf3-under-2.20", "too old for 2.20", "3.12", TF220, {"protobuf": "3.20.3"}, expect={"D102": PROBLEM}),
    Environment("protobuf5-under-2.21", "too old for 2.21", "3.13", TF221, {"protobuf": "5.29.5"}, expect={"D102": PROBLEM}),
    Environment("protobuf-5.28.0-under-2.20", "in the declared range, and fails", "3.12", TF220, {"protobuf": "5.28.0"}, expect={"D102": PROBLEM}),
    Environment("protobuf-cpp-leftover", "a setting for older releases", "3.12", TF216, variables={"PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION": "cpp"}, expect={"D102": PROBLEM}),
    Environment("protobuf-python-workaround", "moves the failure to the training", "3.10", TF210, {"protobuf": "4.25.8"}, variables={"PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION": "python"}, expect={"D102": PROBLEM}),
    Environment("keras3-under-2.13", "Keras 3 under 2.13", "3.11", TF213, {"keras": "3.5.0"}, expect={"D103": PROBLEM}, also=UNMET),
    Environment("keras2-under-2.16", "Keras 2 under 2.16", "3.12", TF216, {"keras": "2.15.0"}, expect={"D103": PROBLEM}),
    Environment("keras3-under-2.15", "tf.keras becomes Keras 3", "3.11", TF215, {"keras": "3.10.0"}, expect={"D103": RISK}, also=UNMET),
    Environment("keras2.12-under-2.10", "keras of another minor", "3.10", TF210, {"keras": "2.12.0"}, expect={"D103": PROBLEM}),
    Environment("legacy-keras-missing", "TF_USE_LEGACY_KERAS=1 without tf-keras", "3.12", TF216, variables={"TF_USE_LEGACY_KERAS": "1"}, expect={"D104": PROBLEM}),
    Environment("tf-keras-2.15-with-2.16", "tf-keras of another generation", "3.11", TF216, {"tf-keras": "2.15.1"}, expect={"D104": PROBLEM}),
    Environment("ml-dtypes-0.3-under-2.14", "ml_dtypes 0.3 under 2.14", "3.11", TF214, {"ml-dtypes": "0.3.2"}, expect={"D105": PROBLEM}),
    Environment("h5py-3.10-with-numpy2", "h5py built for NumPy 1", "3.11", TF218, {"h5py": "3.10.0"}, expect={"D105": PROBLEM}),
    Environment("wrapt-dictwrapper", "attributes that are dicts fail", "3.12", TF216, {"wrapt": "1.16.0"}, expect={"D105": RISK}),
    Environment("typing-extensions-4.5", "too old for Python 3.12", "3.12", TF216, {"typing-extensions": "4.5.0"}, expect={"D105": PROBLEM}, also=UNMET),
    Environment("no-setuptools-on-3.12", "distutils is gone, setuptools is not there", "3.12", TF216, without=("setuptools",), expect={"D105": PROBLEM}, also=UNMET),
    Environment("text-of-another-minor", "tensorflow-text 2.15 with 2.16", "3.11", TF216, {"tensorflow-text": "2.15.0"}, expect={"D105": PROBLEM}, also=UNMET),
    Environment("probability-without-tf-keras", "tfp needs tf-keras from 2.16 on", "3.11", TF216, {"tensorflow-probability": "0.24.0"}, expect={"D105": PROBLEM}, also=UNMET),
    Environment("addons-under-2.16", "addons need Keras 2", "3.11", TF216, {"tensorflow-addons": "0.23.0"}, expect={"D105": PROBLEM}, also=UNMET),
    Environment("keras-absent", "a dependency was removed", "3.11", TF218, without=("keras",), expect={"D106": PROBLEM}),
    Environment("two-tensorflows", "tensorflow and tensorflow-cpu of different versions", "3.11", TF215, {"tensorflow-cpu": "2.14.1"}, expect={"D107": PROBLEM}),
)  # fmt: skip
