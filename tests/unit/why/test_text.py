"""What a program said: messages taken apart, kinds told, the main error chosen, confidence never above its evidence."""

from __future__ import annotations

import importlib
import pkgutil
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crashcart.evidence import Ending, ErrorRecord, Event, Evidence, Frame, GpuDevice
from crashcart.finding import Confidence
from crashcart.probe.log import find_errors, parse_log
from crashcart.rule import examine, load_rules
from crashcart.units import GIB, MIB
from crashcart.why import _wordings, _wordings_code, _wordings_files
from crashcart.why._advice import Advice, advise
from crashcart.why._figures import allocator_stats, held_by_others, requested_bytes, shapes_in
from crashcart.why._guarded import gpu_words
from crashcart.why._kinds import kind_of
from crashcart.why._message import looks_own, take_apart
from crashcart.why._names import fails_at_import
from crashcart.why._said import CAUSES, Force, Kind, announced, said_by_error, said_by_line
from crashcart.why._statement import judge_confidence
from crashcart.why._suggested import suggested
from crashcart.why._text import main_error, root_of, stated

RULES = load_rules("crashcart.why")
WORDINGS = (
    _wordings.IGNORED,
    *_wordings.LIMITS,
    *_wordings.TAKEN_AT_START,
    *_wordings.LIBRARIES,
    *_wordings_code.TABLE,
    *_wordings_code.FAMILIES,
    *_wordings_files.TABLE,
)


def advice_tables() -> dict[str, tuple[Advice, ...]]:
    found = {}
    for info in pkgutil.iter_modules(importlib.import_module("crashcart.why").__path__):
        module = importlib.import_module(f"crashcart.why.{info.name}")
        for name, value in vars(module).items():
            if isinstance(value, tuple) and value and all(isinstance(each, Advice) for each in value):
                found[f"{info.name}.{name}"] = value
    return found


def error(type_: str, message: str = "", **fields: object) -> ErrorRecord:
    return ErrorRecord(type_, message, **fields)  # type: ignore[arg-type]


def kind(type_: str, message: str, *frames: Frame) -> Kind | None:
    found = kind_of(said_by_error(error(type_, message, frames=frames)))
    return found[0] if found else None


def test_each_kind_is_the_name_of_a_rule_and_has_a_cause() -> None:
    assert {each.value for each in Kind} <= {rule.name for rule in RULES}
    assert CAUSES.keys() == set(Kind)


def test_patterns_are_lower_case_since_they_match_folded_text() -> None:
    for each in WORDINGS:
        for pattern in each.patterns:
            assert not re.search(r"[A-Z]", re.sub(r"\\[A-Z]|\(\?P<\w+>", "", pattern.pattern)), pattern.pattern


@pytest.mark.parametrize("name", advice_tables())
def test_a_table_of_advice_fits_anything_in_the_end(name: str) -> None:
    row = advise(advice_tables()[name], "words that nobody foresaw")
    assert row.remedy and all(row.remedy)


def test_advice_takes_its_figures_from_the_words() -> None:
    table = importlib.import_module("crashcart.why.cuda_does_not_fit")._ADVICE
    row = advise(table, "Loaded runtime CuDNN library: 8.0.4 but source was compiled with: 8.1.0. CuDNN library needs")
    assert "8.0.4" in row.headline and "8.1.0" in row.headline


def test_a_message_of_tensorflow_2_is_taken_apart() -> None:
    message = take_apart(
        "Graph execution error:\n\nDetected at node net/dense/MatMul defined at (most recent call last):\n"
        '  File "/home/ann/train.py", line 30, in <module>\n\n  File "/home/ann/train.py", line 12, in step\n\n'
        '  File "/home/ann/venv/lib/python3.11/site-packages/keras/src/layers/layer.py", line 9, in call\n\n'
        "Matrix size-incompatible: In[0]: [32,10], In[1]: [32,5]\n\t [[{{node net/dense/MatMul}}]] [Op:__inference_f_1]"
    )
    assert message.core == "Matrix size-incompatible: In[0]: [32,10], In[1]: [32,5]"
    assert message.node == "net/dense/MatMul"
    own = message.own_frame()
    assert own is not None and (own.line, own.function) == (12, "step")


def test_a_message_of_tensorflow_1_is_taken_apart() -> None:
    message = take_apart(
        "Incompatible shapes: [2] vs. [3]\n\t [[Node: loss/sub = Sub[T=DT_FLOAT](a, b)]]\n\n"
        "Caused by op 'loss/sub', defined at:\n  File \"train.py\", line 41, in build\n    return a - b\n"
        '  File "/usr/lib/python3.6/site-packages/tensorflow/python/framework/ops.py", line 1, in __init__\n    x\n\n'
        "InvalidArgumentError (see above for traceback): Incompatible shapes: [2] vs. [3]\n"
    )
    assert message.core == "Incompatible shapes: [2] vs. [3]"
    assert (message.node, message.op) == ("loss/sub", "Sub")
    own = message.own_frame()
    assert own is not None and (own.line, own.source) == (41, "return a - b")


def test_an_exception_quoted_from_inside_the_graph_counts_in_its_place() -> None:
    said = said_by_error(error("tf.errors.UnknownError", "{{function_node f}} FileNotFoundError: [Errno 2] 'a.csv'"))
    assert said.type == "FileNotFoundError"
    assert kind_of(said) == (Kind.MISSING, Force.PLAIN)


def test_user_code_marks_and_keras_decoration_are_taken_off() -> None:
    message = take_apart('in user code:\n\n    File "a.py", line 5, in f  *\n        g(x)\n\n    TypeError: no\n')
    assert (message.core, message.quoted_type, message.told[0].source) == ("no", "TypeError", "g(x)")
    message = take_apart(
        "Exception encountered when calling A.call().\n\n\x1b[1mbad\x1b[0m\n\nArguments received by A:\n  x=1"
    )
    assert message.core == "bad"


def test_own_files_are_told_by_their_names() -> None:
    assert looks_own("train.py") and looks_own("/srv/app/main.py") and looks_own("<ipython-input-3-a>")
    for file in (
        "/x/site-packages/a.py",
        "/usr/lib/python3.9/ast.py",
        "/tmp/__autograph_generated_file1.py",
        "h5py/h5f.pyx",
    ):
        assert not looks_own(file), file


def test_shapes_are_read_in_both_notations_and_ranges_are_none() -> None:
    assert shapes_in("[1,63,4] vs. (None, 64) of () in [0, 4)") == ("[1, 63, 4]", "[None, 64]", "[]")


def test_sizes_are_read_as_stated_or_from_shape_and_type() -> None:
    assert requested_bytes("request for 6.27GiB (6727663616B) on device") == 6727663616
    assert requested_bytes("Unable to allocate 2.00 GiB for an array") == 2 * GIB
    assert requested_bytes("OOM when allocating tensor with shape[1024,1024] and type double on x") == 8 * MIB
    assert requested_bytes("nothing was said") is None


def test_a_device_is_held_by_others_only_if_others_hold_most_of_it() -> None:
    words = (
        "(GPU 0; 10.00 GiB total capacity; {own} already allocated; 10.00 MiB free; {own} reserved in total by PyTorch)"
    )
    assert held_by_others(words.format(own="100.00 MiB"), None, None) is not None
    assert held_by_others(words.format(own="9.50 GiB"), None, None) is None
    idle = GpuDevice(0, "T4", 16 * GIB, 15 * GIB)
    assert held_by_others("", None, (idle,)) is None
    assert held_by_others("", None, (GpuDevice(0, "T4", 16 * GIB, GIB),)) is not None


def seen(own_bytes: int | None, at_s: float = 9.0) -> Event:
    facts = {"step": "gpu-warn", "device": 0, "device_name": "T4", "used_bytes": 15 * GIB, "total_bytes": 16 * GIB}
    return Event(at_s, "guard", "GPU 0 (T4) is nearly full", facts={**facts, "own_bytes": own_bytes})


def test_what_the_guard_saw_of_a_device_counts_where_the_share_is_known() -> None:
    taken = held_by_others("", None, None, (seen(GIB),))
    assert taken is not None
    assert (
        taken.fact() == "after 9.0 s, device 0 (T4): 1.00 GiB of 16.0 GiB were free; this program itself held 1.00 GiB"
    )
    assert held_by_others("", None, None, (seen(14 * GIB),)) is None
    assert held_by_others("", None, None, (seen(None),)) is None, "whose memory it was is not known"
    assert held_by_others("", None, None, (seen(GIB), seen(14 * GIB, 20.0))) is None, "the last word counts"
    assert gpu_words((seen(None), seen(GIB, 20.0))) == ("the guard saw after 20 s: GPU 0 (T4) is nearly full",)


def test_the_account_of_the_allocator_is_read() -> None:
    log = parse_log("Stats: \nLimit:                 100.00MiB\nInUse:                  60.00MiB\n")
    assert allocator_stats(log) == "the allocator's account: 60.0 MiB in use of a limit of 100 MiB"
    assert allocator_stats(parse_log("InUse: many\n")) is None


def test_whose_mistake_a_missing_name_is_follows_from_who_asked() -> None:
    own = Frame("/home/ann/a.py", 3, "<module>", own=True)
    package = Frame("/v/site-packages/skx/base.py", 9, "<module>")
    words = "module 'numpy' has no attribute 'bool'"
    assert kind("AttributeError", words, own) is Kind.API
    assert kind("AttributeError", words, own, package) is Kind.PACKAGES
    assert kind("AttributeError", "module 'helpers' has no attribute 'x'", own) is None
    assert kind("ModuleNotFoundError", "No module named 'cv2'", own) is None
    assert kind("ModuleNotFoundError", "No module named 'distutils'", own, package) is Kind.PACKAGES


def test_memory_is_told_apart_by_the_allocator() -> None:
    words = "OOM when allocating tensor with shape[9,9] and type float on /device:{} by allocator {}"
    assert kind("ResourceExhaustedError", words.format("CPU:0", "cpu")) is Kind.HOST_MEMORY
    assert kind("ResourceExhaustedError", words.format("CPU:0", "mklcpu")) is Kind.HOST_MEMORY
    assert kind("ResourceExhaustedError", words.format("CPU:0", "bfc_cpu_allocator_for_gpu")) is Kind.DEVICE_MEMORY
    assert kind("ResourceExhaustedError", words.format("GPU:0", "GPU_0_bfc")) is Kind.DEVICE_MEMORY
    assert kind("ResourceExhaustedError", "/data/m.ckpt-1.tempstate; No space left on device") is Kind.DISK


def test_informing_lines_say_nothing() -> None:
    (line,) = parse_log("2020-01-01 00:00:00.0: I tensorflow/x.cc:1] CUDA out of memory").lines
    assert said_by_line(line) is None


def test_the_recorded_error_of_the_main_thread_is_the_main_one() -> None:
    printed = error("KeyError", origin="log")
    thread = error("ValueError", thread="Thread-1")
    recorded = error("TypeError")
    assert main_error((recorded, thread, printed)) is recorded
    assert main_error((thread, printed)) is printed
    assert main_error((thread,)) is None


def test_a_consequence_gives_way_to_the_error_it_tells_of() -> None:
    root = error("MemoryError", origin="log")
    told = error("subprocess.CalledProcessError", "returned non-zero exit status 1", origin="log")
    assert main_error((root, told)) is root
    assert main_error((told,)) is told


def test_the_root_is_the_first_of_the_chain() -> None:
    first, second = error("KeyError"), error("ValueError")
    assert root_of(error("TypeError", chain=(second, first))) is first
    assert root_of(first) is first


@pytest.mark.parametrize(
    ("origin", "force", "ending", "expected"),
    [
        ("recorded", Force.PLAIN, Ending("exit", exit_code=1), Confidence.CERTAIN),
        ("recorded", Force.VAGUE, Ending("exit", exit_code=1), Confidence.LIKELY),
        ("log", Force.DECISIVE, None, Confidence.LIKELY),
        ("log", Force.DECISIVE, Ending("exit", exit_code=0), Confidence.POSSIBLE),
        ("log", Force.HEALTHY, None, Confidence.POSSIBLE),
        ("log", Force.PLAIN, Ending("signal", signal=9), Confidence.POSSIBLE),
        ("log", Force.PLAIN, Ending("exit", exit_code=137), Confidence.POSSIBLE),
        (None, Force.PLAIN, Ending("signal", signal=6), Confidence.LIKELY),
        (None, Force.PLAIN, Ending("signal", signal=9), Confidence.POSSIBLE),
    ],
)
def test_confidence_is_never_above_its_evidence(
    origin: str | None, force: Force, ending: Ending | None, expected: Confidence
) -> None:
    said = error("MemoryError", origin=origin) if origin else None
    assert judge_confidence(said, force, ending) is expected


def test_a_vague_error_gives_way_to_a_line_that_names_the_root() -> None:
    log = parse_log(
        "E cuda_dnn.cc:361] Loaded runtime CuDNN library: 8.0.4 but source was compiled with: 8.1.0.\n"
        "UnknownError: Failed to get convolution algorithm.\n"
    )
    (statement,) = stated(Kind.CUDA, find_errors(log, looks_own), log)
    assert statement.force is Force.DECISIVE and statement.confidence is Confidence.LIKELY


def test_a_plain_error_is_not_explained_by_an_earlier_line() -> None:
    log = parse_log(
        "E cuda_driver.cc:9] failed to allocate 2.00G (2147483648 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY\nKeyError: 3\n"
    )
    (statement,) = stated(Kind.DEVICE_MEMORY, find_errors(log, looks_own), log)
    assert statement.confidence is Confidence.POSSIBLE


@settings(deadline=None, max_examples=60)
@given(st.text(), st.sampled_from(["ValueError: ", "InvalidArgumentError: ", "ImportError: cannot import name '", ""]))
def test_no_rule_fails_on_any_words(text: str, before: str) -> None:
    log = parse_log(before + text)
    report = examine(Evidence(log=log, errors=find_errors(log, looks_own)), RULES)
    assert [each for each in report.unchecked if "failed" in " ".join(each.missing)] == []


def test_an_error_about_a_childs_code_is_not_the_programs_own() -> None:
    from crashcart.why._words import failed_by_itself

    for words in ("converter exited with -11", "preprocessing failed with status 9", "a worker died", "exit code 139"):
        assert not failed_by_itself((error("RuntimeError", words),)), words
    for words in (
        "'batch_size'",
        "the server answered with status 404",
        "unsupported operand type(s) for /: 'str' and 'int'",
    ):
        assert failed_by_itself((error("TypeError", words),)), words


@pytest.mark.parametrize(
    ("words", "step"),
    [
        ("Input 0 is wrong. Please cast it to float32.", "Please cast it to float32"),
        ("numpy is too old for this build\nfound 1.15", "numpy is too old for this build"),
        ("It did not work. Did you mean to set reuse=True?", "Did you mean to set reuse=True?"),
    ],
)
def test_a_message_may_tell_its_own_step(words: str, step: str) -> None:
    assert suggested(words) == (f"the message itself says: {step}",)


@pytest.mark.parametrize("words", ["Shapes (2,) and (3,) differ.", "Please report this to the developers.", "try it"])
def test_a_message_without_a_step_adds_none(words: str) -> None:
    assert suggested(words) == ()


def _imported(last: str, asked: str = "import tensorflow as tf", name: str = "AttributeError") -> ErrorRecord:
    frames = (Frame("/home/ann/train.py", 1, "<module>", asked, own=True), Frame(last, 9, "<module>", "x = y"))
    return ErrorRecord(name, "something is not there", frames, origin="log")


def test_packages_that_fail_while_they_are_imported() -> None:
    package = "/venv/lib/python3.9/site-packages/tensorflow/__init__.py"
    assert fails_at_import(said_by_error(_imported(package)))
    assert not fails_at_import(said_by_error(_imported("/home/ann/helpers.py", "import helpers")))
    assert not fails_at_import(said_by_error(_imported(package, "model = tf.keras.Sequential()")))
    assert not fails_at_import(said_by_error(_imported(package, name="FileNotFoundError")))


def test_a_line_that_announces_an_error() -> None:
    line = parse_log(
        "worker failed with exception: could not broadcast input array from shape (3,) into shape (2,)"
    ).lines[0]
    raised = announced(said_by_line(line))
    assert raised is not None and raised.words.startswith("could not broadcast")
    line = parse_log('    "message": "could not broadcast input array from shape (3,) into shape (2,)",').lines[0]
    assert announced(said_by_line(line)) is not None
    assert announced(said_by_line(parse_log("mean absolute error 0.2 after 3 epochs").lines[0])) is None
