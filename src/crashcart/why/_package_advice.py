"""What to do about packages that do not fit, by the words in which they complain.

Covers: protobuf, NumPy's ABI, C++ runtimes, import order, Keras beside TensorFlow, Windows DLLs, shadowed modules.
Does not cover: telling that packages do not fit at all (`_wordings.py`, `_names.py`). Rows are looked at in order.
"""

from __future__ import annotations

from crashcart.why._advice import Advice, advice

_FRESH = (
    "in a fresh environment: `python -m pip install` of the packages you need in one command,"
    " so that pip chooses versions that fit"
)
_CHECK = "`python -m pip check` names packages whose requirements are not met"

PACKAGE_ADVICE: tuple[Advice, ...] = (
    advice(
        r"descriptors (?:cannot|should not)|gencode|protobuf|runtime_version|descriptor pool"
        r"|file already exists in database|_pb2\.py",
        "generated protobuf code and the installed protobuf do not belong together",
        "TensorFlow up to 2.11 and older add-ons such as tensorflow-hub: `pip install 'protobuf==3.20.3'`; newer"
        " TensorFlow"
        " needs a newer protobuf: `pip install -U protobuf`, or upgrade the package whose _pb2.py file the"
        " traceback names",
        "your own _pb2.py files: generate them again with a protoc of the same major version as the installed protobuf",
        _CHECK,
    ),
    advice(
        r"size changed, may indicate|numpy 1\.x cannot be run|_array_api|numpy\.(?:_?core)\.|api version"
        r"|abi version|pyarray_api"
        r"|function return value to a python type|unreported exception|requires numpy",
        "a compiled package was built for another NumPy",
        "TensorFlow up to 2.17 needs `pip install 'numpy<2'`; TensorFlow from 2.18 works with NumPy 2",
        "reinstall the package that the traceback names, so that it fits the installed NumPy:"
        " `pip install --no-cache-dir --force-reinstall PACKAGE`",
        "if two NumPy or SciPy installations are on the path (system and pip), remove one; the import order then no"
        " longer matters",
        _CHECK,
    ),
    advice(
        r"static tls",
        "a library came too late: the loader has no static thread-local space left",
        "import it first: move the import of the library that the message names to the top of the program, before"
        " tensorflow, torch and cv2",
        "preload it instead: LD_PRELOAD=/path/to/the/library python your_script.py",
        "newer releases of the packages ask for less of it: upgrade the one that the message names",
    ),
    advice(
        r"(?P<symbol>glibcxx_[\d.]+|cxxabi_[\d.]+|glibc_[\d.]+)",
        "the C or C++ runtime that was loaded is too old: {symbol} is missing",
        "update libstdc++ in the environment: `conda install -c conda-forge libstdcxx-ng`, or a newer gcc's"
        " libraries on LD_LIBRARY_PATH",
        "look at the import order and at LD_LIBRARY_PATH: the first libstdc++.so.6 that is loaded serves everybody",
        "for GLIBC itself: a newer distribution or container, or an older release of the package",
    ),
    advice(
        r"once_call|torchvision::nms",
        "two packages brought C++ runtimes that get in each other's way",
        "change the import order: import tensorflow first, then torch and the others",
        "put the two frameworks into separate environments; newer releases of both do not export these symbols",
    ),
    advice(
        r"undefined symbol|symbol not found|symbol lookup|procedure could not be found|custom c\+\+ ops",
        "a compiled package was built for another version of the library that it calls",
        "install the release of the add-on that belongs to the framework: tensorflow-text and tensorflow-io need"
        " the same minor"
        " version as TensorFlow, torchvision and torchaudio the one that the PyTorch release names",
        "reinstall both in one command; a custom op (.so) must be compiled again against the installed TensorFlow",
        _CHECK,
    ),
    advice(
        r"dll load failed|win32 application|dynamic link library|winerror|\.dll|0xc00001|0xc00000",
        "a DLL of a compiled package could not be loaded",
        "install the current Microsoft Visual C++ redistributable (2015–2022, x64) and restart",
        "use a 64-bit Python of a version for which the package has wheels; TensorFlow's wheels need a CPU with AVX",
        _FRESH,
    ),
    advice(
        r"wrong architecture|incompatible architecture|exec format|bad cpu type|wrong elf class|elf header|file too short",
        "a compiled package is for another processor or system, or its file is damaged",
        "use one architecture for the interpreter and the packages (`python -c 'import platform;"
        " print(platform.machine())'`)",
        "reinstall: `pip install --no-cache-dir --force-reinstall PACKAGE`",
    ),
    advice(
        r"cannot open shared object file|library not loaded|image not found|mkl fatal|cannot load (?:libmkl|mkl_)",
        "a shared library that a package needs is not there",
        "install what the message names (with the system's package manager or conda), or put its folder on"
        " LD_LIBRARY_PATH",
        "for MKL: `conda install mkl`, or reinstall NumPy and SciPy from one source",
    ),
    advice(
        r"no matching distribution|satisfies the requirement|supported wheel|different python",
        "pip has no build of it for this Python, system or processor",
        "use a Python version that the release was built for (64-bit; for TensorFlow 2.20 Python 3.9 to 3.13), in"
        " a new environment:"
        " `python3.11 -m venv .venv`",
        "`python -c 'import sys, platform; print(sys.version, platform.machine())'` tells which one pip works"
        " for; upgrade pip first",
    ),
    advice(
        r"conflicting dependencies",
        "the versions that were asked for exclude each other",
        "leave out the version numbers of all but the one that matters, and let pip choose the rest in one command",
        _CHECK,
    ),
    advice(
        r"(?:must be an instance|only instances) of",
        "parts of two different Keras are mixed: a layer or model of one cannot be used in the other",
        "take all parts from one of them, in every import: `tensorflow.keras` or `keras`, not both",
        "packages written for Keras 2 (tensorflow_hub and many others) on TensorFlow from 2.16: `pip install tf_keras`, with"
        " TF_USE_LEGACY_KERAS=1 in the environment before the first import; or TensorFlow 2.15",
        "wrap a foreign part: keras.layers.Lambda(lambda x: part(x)), or call it in a subclass of keras.Model",
    ),
    advice(
        r"\bjaxlib\b|\bjax version",
        "jax and jaxlib are of versions that do not go together",
        "install both in one command: `pip install -U 'jax[cuda12]'` (or `jax[cpu]`), which brings the jaxlib that belongs to it",
        _CHECK,
    ),
    advice(
        r"'str' object has no attribute 'decode'",
        "this Keras reads HDF5 files in the way of h5py 2, and h5py 3 is installed",
        "`pip install 'h5py<3'` for TensorFlow up to 2.3 and Keras up to 2.4 (or upgrade TensorFlow), then restart",
    ),
    advice(
        r"module '?numpy'?(?:\.\w+)* has no attribute|np\.\w+ was a deprecated alias",
        "an installed package uses a name that this NumPy no longer has",
        "`pip install 'numpy<1.24'` for packages of that time (np.object, np.bool, np.int…), or upgrade the package that asks",
        _CHECK,
    ),
    advice(
        r"thread\._local",
        "this Keras and this TensorFlow release do not go together when used from several threads",
        "upgrade: use tf.keras of the installed TensorFlow instead of the separate keras package, or a matching version"
        " (`pip install -U keras`, or downgrade to keras 2.2.5 for TensorFlow 1.13)",
        "load and call the model in one and the same thread",
    ),
    advice(
        r"cannot convert a symbolic",
        "this TensorFlow does not go with NumPy from 1.20: its recurrent layers cannot be built",
        "`pip install 'numpy<1.20'` for TensorFlow 2.4 and 2.5, or upgrade TensorFlow",
    ),
    advice(
        r"keras|__internal__",
        "the installed Keras and TensorFlow do not belong together",
        "TensorFlow up to 2.15 needs the keras of the same minor version (`pip install 'keras==2.15.*'"
        " 'tensorflow==2.15.*'`);"
        " from 2.16 it needs Keras 3",
        "for code written for Keras 2: `pip install tf_keras` of TensorFlow's minor version, and TF_USE_LEGACY_KERAS=1",
        "run `python -c 'import keras'` alone: the first exception there is the real one",
    ),
    advice(
        r"typing_extensions|cannot import name '(?P<name>\w+)' from '(?P<module>[\w.]+)'",
        "two installed packages do not fit: one asks the other for a name that it does not have",
        "upgrade the package that lacks the name (for typing_extensions: `pip install -U typing_extensions`), or"
        " the one that asks",
        "see which file really was imported (the path in the message): a folder or file of the same name shadows"
        " the package; remove it",
        _CHECK,
    ),
    advice(
        r"no module named|partially initialized",
        "an installed package lacks a part that it needs",
        "reinstall the framework as a whole: `pip uninstall` all of tensorflow, tensorflow-cpu, tensorflow-gpu,"
        " keras, then"
        " install one of them again",
        "distutils, imp and pkg_resources left Python or setuptools: `pip install 'setuptools<82'`, or a package"
        " release for this Python",
        _FRESH,
    ),
    advice(
        r"syntaxerror|invalid syntax",
        "an installed package is not written for this version of Python",
        "use a Python that the release was made for, in a new environment (`python3.11 -m venv .venv`), or upgrade the package to"
        " a release for this Python",
        _CHECK,
    ),
    advice(
        r"",
        "installed packages do not fit each other, or this Python",
        "upgrade the package in which the traceback ends, or downgrade it to the version that the one which asks was made for",
        _CHECK,
        _FRESH,
        "if two compiled frameworks meet in one process, try the other import order, or separate environments",
    ),
)
