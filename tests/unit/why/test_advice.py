"""What is advised fits the error: the next thing to type is one that helps."""

from __future__ import annotations

import importlib
import pkgutil
import re
from pathlib import Path

import pytest

from crashcart.evidence import (
    Ending,
    Environment,
    ErrorRecord,
    Evidence,
    Frame,
    Log,
    LogLine,
    Machine,
    MemoryLimit,
    Program,
)
from crashcart.finding import Finding
from crashcart.rule import examine, load_rules
from crashcart.units import GIB

RULES = load_rules("crashcart.why")
WHY = Path(importlib.import_module("crashcart.why").__path__[0])


def own(source: str, file: str = "/home/ann/train.py", line: int = 3) -> Frame:
    return Frame(file, line, "<module>", source, own=True)


def verdict(type_: str, message: str, *frames: Frame, machine: Machine | None = None) -> Finding:
    error = ErrorRecord(type_, message, frames)
    ending = Ending("exit", at_s=2.0, exit_code=1)
    environment = Environment("3.11", "/usr/bin/python3", {"pandas": "3.0.0", "tensorflow-cpu": "2.21.0"}, {})
    found = examine(Evidence(errors=(error,), ending=ending, machine=machine, environment=environment), RULES).verdict
    assert found is not None
    return found


def machine(**fields: object) -> Machine:
    limits = (MemoryLimit("machine", 24 * GIB, "/proc/meminfo"),)
    return Machine("Linux", "6", "x86_64", 8, None, None, 24 * GIB, 0, "a", limits, **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize("module", [info.name for info in pkgutil.iter_modules([str(WHY)])])
def test_no_step_begins_in_the_middle_of_a_sentence(module: str) -> None:
    text = (WHY / f"{module}.py").read_text(encoding="utf-8")
    assert re.findall(r"^\s*f?\"or .*", text, re.MULTILINE) == []


def test_the_new_name_of_an_argument() -> None:
    found = verdict("ValueError", "Argument(s) not recognized: {'lr': 0.001}", own("opt = keras.optimizers.Adam(lr=1e-3)"),
                    Frame("/x/site-packages/keras/src/optimizers/base_optimizer.py", 37, "__init__"))  # fmt: skip
    assert found.headline == "keras.optimizers.Adam does not take the argument 'lr' in this version"
    assert found.remedy[0] == "use learning_rate= instead"
    assert "tf_upgrade" not in " ".join(found.remedy)


def test_the_version_stands_beside_the_package() -> None:
    found = verdict("AttributeError", "'DataFrame' object has no attribute 'append'", own("df = df.append(row)"))
    assert found.headline == "DataFrame (pandas 3.0.0) does not have 'append'"
    found = verdict("AttributeError", "module 'tensorflow' has no attribute 'contrib'", own("tf.contrib.layers"))
    assert found.headline == "tensorflow 2.21.0 does not have 'contrib'"


def test_only_known_distributions_are_advised_to_be_installed() -> None:
    known = verdict("ModuleNotFoundError", "No module named 'cv2'", own("import cv2"))
    assert known.remedy[0].endswith("`/usr/bin/python3 -m pip install opencv-python`")
    unknown = verdict("ModuleNotFoundError", "No module named 'helpers'", own("from helpers import clean"))
    assert "PYTHONPATH" in unknown.remedy[0]
    assert "pip install helpers" not in " ".join(unknown.remedy)


def test_a_circle_of_own_files_hides_no_package() -> None:
    words = (
        "cannot import name 'clean' from partially initialized module 'tools' (most likely due to a circular import)"
    )
    frames = (own("from tools import clean"), own("import train", "/home/ann/tools.py"), own("from tools import clean"))
    found = verdict("ImportError", words, *frames)
    assert "train.py and tools.py import each other" in found.remedy[0]
    assert "hides" not in " ".join(found.remedy)


def test_an_own_file_that_hides_a_package_is_named() -> None:
    words = "partially initialized module 'random' has no attribute 'seed' (most likely due to a circular import)"
    found = verdict("AttributeError", words, own("import random"), own("random.seed(1)", "/home/ann/random.py"))
    assert found.remedy[0].startswith("rename your own file /home/ann/random.py")


def test_what_never_fits_is_not_halved() -> None:
    words = "Unable to allocate 29.1 TiB for an array with shape (2000000, 2000000) and data type float64"
    found = verdict("numpy._core._exceptions._ArrayMemoryError", words, own("np.zeros((n, n))"), machine=machine())
    steps = " ".join(found.remedy)
    assert "blocks of at most" in steps and "halves" not in steps and "if the size is modest" not in steps
    words = "Unable to allocate 16.0 GiB for an array with shape (4096, 524288) and data type float64"
    found = verdict("numpy._core._exceptions._ArrayMemoryError", words, own("np.zeros((n, m))"), machine=machine())
    assert "4096 → 2048" in " ".join(found.remedy)


def test_threads_are_bounded_by_the_group_where_that_is_tighter() -> None:
    limits = {"/sys/fs/cgroup/pids/pids.max": 100, "/sys/fs/cgroup/pids.max": 9000}
    bound = machine(rlimits={"nproc": 4096}, task_limits=limits)
    found = verdict("RuntimeError", "can't start new thread", own("t.start()"), machine=bound)
    assert any("100 threads and processes together (/sys/fs/cgroup/pids/pids.max)" in fact for fact in found.because)
    assert not any("ulimit -u" in fact for fact in found.because)
    free = machine(rlimits={"nproc": 64}, task_limits=limits)
    found = verdict("RuntimeError", "can't start new thread", own("t.start()"), machine=free)
    assert any("64 (ulimit -u)" in fact for fact in found.because)


def test_an_address_is_not_looked_for_on_the_disk() -> None:
    frames = (own("urlopen(url)"), Frame("/usr/lib/python3.11/urllib/request.py", 643, "http_error_default"))
    found = verdict("urllib.error.HTTPError", "HTTP Error 404: Not Found: https://example.org/w.h5", *frames)
    assert found.headline == "https://example.org/w.h5 is not there"
    assert "curl -I https://example.org/w.h5" in found.remedy[0] and "ls -l" not in " ".join(found.remedy)


def test_words_of_ones_own_are_no_kind_also_behind_a_colon() -> None:
    line = own('def get(u): raise HTTPError(f"404 Client Error: Not Found for url: {u}")')
    found = verdict("__main__.HTTPError", "404 Client Error: Not Found for url: https://example.org/w.h5", line)
    assert found.cause.value == "python-error"


def ended(code: int, *lines: str) -> Finding:
    log = Log(tuple(LogLine(number, text) for number, text in enumerate(lines, start=1)))
    program = Program(("bash", "job.sh"), "/home/ann", 7, 0.0, "job.sh")
    found = examine(
        Evidence(ending=Ending("exit", at_s=1.0, exit_code=code), log=log, errors=(), program=program), RULES
    )
    assert found.verdict is not None
    return found.verdict


def test_the_last_words_of_an_end_in_order_are_quoted() -> None:
    found = ended(1, "reading", "error: need at least 10 samples", "")
    assert found.because[1] == 'the last that it wrote to stderr: "error: need at least 10 samples"'
    assert len(ended(0, "done").because) == 1


def test_the_codes_of_a_shell_and_of_argparse() -> None:
    assert ended(127, "job.sh: line 3: pyhton: command not found").remedy[0].startswith("pyhton is no command here")
    assert "chmod +x" in ended(126, "job.sh: line 3: ./prepare: cannot execute").remedy[0]
    assert "--help" in ended(2, "train.py: error: unrecognized arguments: --epoch").remedy[0]
    assert "read its last output" in ended(3, "bye").remedy[0]


def test_a_feature_called_image_is_no_damaged_image() -> None:
    words = "Feature: image (data type: string) is required but could not be found."
    found = verdict("InvalidArgumentError", words, own("for row in dataset:"))
    assert found.headline == "the records do not hold the features that the parser asks for"


def test_a_word_that_is_not_in_the_vocabulary() -> None:
    words = "When `num_oov_indices=0` all inputs should be in vocabulary, found OOV values [b'bird'], consider setting `num_oov_indices=1`."
    found = verdict("InvalidArgumentError", words, own("ids = lookup(animals)"))
    assert found.cause.value == "value-range" and "num_oov_indices=1" in found.remedy[0]


STEPS = (
    ("OSError", "[Errno 98] Address already in use", "ss -ltnp"),
    ("ValueError", "The truth value of an array with more than one element is ambiguous.", "x.any()"),
    ("OverflowError", "Python integer 300 out of bounds for uint8", "wider"),
    ("ValueError", "No gradients provided for any variable.", "GradientTape"),
    ("TypeError", "unsupported operand type(s) for +: 'NoneType' and 'str'", "something is None"),
    ("AttributeError", "Can't get attribute 'Scaler' on <module '__main__' from '/home/ann/a.py'>", "import Scaler"),
)


@pytest.mark.parametrize(("type_", "words", "step"), STEPS)
def test_the_first_step_fits_the_words(type_: str, words: str, step: str) -> None:
    assert step in verdict(type_, words, own("x = f(y)")).remedy[0]


def test_a_variable_of_the_environment_is_set_where_the_program_starts() -> None:
    found = verdict(
        "KeyError", "'TRAIN_BUCKET'", own("os.environ['TRAIN_BUCKET']"), Frame("<frozen os>", 679, "__getitem__")
    )
    assert "export TRAIN_BUCKET=" in found.remedy[0]


def test_a_command_that_is_not_installed_is_no_missing_data_file() -> None:
    frames = (
        own("subprocess.run(['ffmpeg', '-i', 'a.mp4'])"),
        Frame("/usr/lib/python3.11/subprocess.py", 1917, "_execute_child"),
    )
    found = verdict("FileNotFoundError", "[Errno 2] No such file or directory: 'ffmpeg'", *frames)
    assert found.headline == "the command ffmpeg was not found"


def test_the_reason_behind_a_shape_that_keras_could_not_infer() -> None:
    words = (
        "\x1b[1mCould not automatically infer the output shape / dtype of 'a' (of type A). Either the `A.call()` method is"
        " incorrect, or you need to implement the `A.compute_output_spec() / compute_output_shape()` method. Error"
        " encountered:\n\nDimensions must be equal, but are 32 and 64 for '{{node MatMul}} = BatchMatMulV2[T=DT_FLOAT]"
        "(Placeholder, W)' with input shapes: [?,12,32], [64,64].\x1b[0m"
    )
    found = verdict("ValueError", words, own("scores = tf.matmul(x, self.w)"))
    assert found.headline.startswith("shapes do not fit: [?, 12, 32] against [64, 64]")


def test_pytest_is_told_how_to_show_the_line() -> None:
    program = Program(("python", "-m", "pytest", "-q"), "/home/ann", 7, 0.0, "pytest", hooked=True)
    crashed = Evidence(ending=Ending("signal", at_s=1.0, signal=11, signal_name="SIGSEGV"), program=program)
    found = examine(crashed, RULES).verdict
    assert found is not None and "-p no:faulthandler" in found.remedy[0]
    error = ErrorRecord("AssertionError", "assert 1 == 2", (own("assert f() == 2", "/home/ann/test_f.py"),))
    failed = Evidence(ending=Ending("exit", at_s=1.0, exit_code=1), program=program, errors=(error,))
    found = examine(failed, RULES).verdict
    assert found is not None and "--lf --pdb" in found.remedy[-1]
