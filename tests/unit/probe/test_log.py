"""The log parser: what a terminal would have shown, and the exceptions in it."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from crashcart.evidence import ErrorRecord, LogLine
from crashcart.probe.log import find_errors, parse_log, read_errors
from crashcart.probe.log_errors import ERRORS_KEPT, MESSAGE_LINES_KEPT
from crashcart.probe.log_lines import LONGEST_LINE, clean_lines, without_prefix


def is_own(file: str) -> bool:
    return "site-packages" not in file and "/lib/python" not in file


def errors_in(text: str) -> tuple[ErrorRecord, ...]:
    return find_errors(parse_log(text), is_own)


def only_error(text: str) -> ErrorRecord:
    (error,) = errors_in(text)
    return error


def test_lines_are_numbered_from_one_and_carry_their_stream() -> None:
    log = parse_log("a\nb\n", stream="stdout")
    assert log.lines == (LogLine(1, "a", "stdout"), LogLine(2, "b", "stdout"))


def test_colours_are_removed() -> None:
    assert parse_log("\x1b[1;31mValueError\x1b[0m: no\x1b]8;;http://x\x07link\n").lines[0].text == "ValueError: nolink"


def test_a_progress_bar_keeps_its_last_state() -> None:
    assert [line.text for line in parse_log("10%|#\r50%|##\r100%|###\r\nnext\r\n").lines] == ["100%|###", "next"]
    assert parse_log("1/3\x08\x08\x08").lines[0].text == "1/3"


def test_a_line_that_arrives_in_pieces_is_one_line() -> None:
    assert list(clean_lines(["Trace", "back\nVal", "ue\n", "rest"])) == ["Traceback", "Value", "rest"]


def test_an_endless_line_is_cut() -> None:
    (line,) = clean_lines(["ValueError: " + "x" * 100_000] * 20)
    assert line.startswith("ValueError: x") and len(line) == LONGEST_LINE


def test_prefixes_of_collectors_are_taken_off_and_indentation_stays() -> None:
    for prefix in (
        "2024-05-01T10:00:00.123456789Z stderr F ",
        "2024-05-01T10:00:00.123Z ",
        "Jun 03 10:14:07 node7 trainer[811]: ",
        "web_1  | ",
        "[1,0]<stderr>:",
        "(train pid=4711, ip=10.0.0.3) ",
        "[rank0]: ",
        "> ",
    ):
        assert without_prefix(prefix + '  File "a.py", line 1, in f') == '  File "a.py", line 1, in f', prefix


def test_a_traceback_with_frames_sources_and_markers() -> None:
    error = only_error(
        "Traceback (most recent call last):\n"
        '  File "/home/ann/train.py", line 12, in <module>\n'
        "    main()\n"
        "    ~~~~^^\n"
        '  File "/home/ann/venv/lib/python3.11/site-packages/keras/x.py", line 7, in fit\n'
        "    raise ValueError(\n"
        "ValueError: bad thing\n"
    )
    assert (error.type, error.message, error.origin, error.line_number) == ("ValueError", "bad thing", "log", 7)
    assert [(frame.file[-8:], frame.line, frame.function, frame.source, frame.own) for frame in error.frames] == [
        ("train.py", 12, "<module>", "main()", True),
        ("ras/x.py", 7, "fit", "raise ValueError(", False),
    ]


def test_a_headless_tail_of_a_traceback() -> None:
    error = only_error('  File "a.py", line 3, in run\n    step()\nmodule.sub.OddError: why\n')
    assert (error.type, error.name) == ("module.sub.OddError", "OddError")
    assert error.own_frame() is not None


def test_frames_without_an_exception_are_no_error() -> None:
    assert errors_in('Current thread 0x00007f (most recent call first):\n  File "a.py", line 3 in run\n') == ()
    assert errors_in('  File "a.py", line 3, in run\n    step()\n') == ()


def test_chains_are_joined_nearest_first() -> None:
    error = only_error(
        'Traceback (most recent call last):\n  File "a.py", line 1, in f\nKeyError: 1\n\n'
        "The above exception was the direct cause of the following exception:\n\n"
        'Traceback (most recent call last):\n  File "a.py", line 2, in g\nRuntimeError: two\n\n'
        "During handling of the above exception, another exception occurred:\n\n"
        'Traceback (most recent call last):\n  File "a.py", line 3, in h\nTypeError: three\n'
    )
    assert [each.name for each in error.with_chain()] == ["TypeError", "RuntimeError", "KeyError"]


def test_an_exception_group_holds_its_members() -> None:
    error = only_error(
        "  + Exception Group Traceback (most recent call last):\n"
        '  |   File "a.py", line 4, in <module>\n'
        "  |     run()\n"
        "  | ExceptionGroup: several (2 sub-exceptions)\n"
        "  +-+---------------- 1 ----------------\n"
        "    | Traceback (most recent call last):\n"
        '    |   File "a.py", line 9, in one\n'
        "    |     raise ValueError(1)\n"
        "    | ValueError: 1\n"
        "    +---------------- 2 ----------------\n"
        "    | OSError: two\n"
        "    +------------------------------------\n"
    )
    assert error.name == "ExceptionGroup"
    assert [(each.name, each.message) for each in error.chain] == [("ValueError", "1"), ("OSError", "two")]


def test_a_syntax_error_points_at_the_file() -> None:
    error = only_error("  File \"bad.py\", line 3\n    x = (1,\n        ^\nSyntaxError: '(' was never closed\n")
    assert error.frames[-1].line == 3 and error.frames[-1].source == "x = (1,"


def test_threads_and_worker_processes_are_named() -> None:
    text = 'Exception in thread Thread-1 (run):\nTraceback (most recent call last):\n  File "a.py", line 1, in run\nKeyError: 1\n'
    assert only_error(text).thread == "Thread-1 (run)"
    text = 'Process Process-3:\nTraceback (most recent call last):\n  File "a.py", line 1, in run\nKeyError: 1\n'
    assert only_error(text).thread == "Process-3"
    assert only_error("KeyError: 1\n").thread is None


def test_an_ignored_exception_is_no_error_but_the_next_one_is() -> None:
    text = (
        "Exception ignored in: <function A.__del__ at 0x7f>\nTraceback (most recent call last):\n"
        '  File "a.py", line 1, in __del__\nOSError: gone\n'
    )
    assert errors_in(text) == ()
    assert only_error(text + "\nValueError: real\n").name == "ValueError"


def test_an_old_notebook_traceback() -> None:
    error = only_error(
        "---------------------------------------------------------------------------\n"
        "ValueError                                Traceback (most recent call last)\n"
        "<ipython-input-3-9a1> in <module>()\n"
        "      1 x = 1\n"
        "----> 2 fit(x)\n\n"
        "~/venv/lib/python3.7/site-packages/k/t.py in fit(self, x)\n"
        "    118   def fit(self, x):\n"
        "--> 119     raise ValueError(x)\n\n"
        "ValueError: bad x\n"
    )
    assert [(frame.file, frame.line, frame.function, frame.source) for frame in error.frames] == [
        ("<ipython-input-3-9a1>", 2, "<module>", "fit(x)"),
        ("~/venv/lib/python3.7/site-packages/k/t.py", 119, "fit", "raise ValueError(x)"),
    ]
    assert error.message == "bad x"


def test_new_notebook_tracebacks() -> None:
    text = (
        "KeyError                                  Traceback (most recent call last)\n"
        "{cell}\n      2 pass\n----> 3 d['k']\n\nFile ~/lib.py:41, in get(self, k)\n     40 pass\n---> 41 return d[k]\n\n"
        "KeyError: 'k'\n"
    )
    for cell, function in (
        ("Cell In[7], line 3", "<module>"),
        ("Cell In[7], line 3, in load(d)", "load"),
        ("Input In [7], in <cell line: 3>()", "<cell line: 3>"),
    ):
        error = only_error(text.replace("{cell}", cell))
        assert [(frame.file, frame.line, frame.function) for frame in error.frames] == [
            ("In [7]", 3, function),
            ("~/lib.py", 41, "get"),
        ]


def test_colab_links_are_read_as_files() -> None:
    error = only_error(
        "ValueError                                Traceback (most recent call last)\n"
        "[<ipython-input-9-1>](https://localhost:8080/#) in <cell line: 1>()\n----> 1 go()\n\n2 frames\n"
        "[/usr/local/lib/python3.10/dist-packages/k.py](https://localhost:8080/#) in go()\n     10 x\n---> 11 raise\n\n"
        "ValueError: no\n"
    )
    assert [(frame.file, frame.line) for frame in error.frames] == [
        ("<ipython-input-9-1>", 1),
        ("/usr/local/lib/python3.10/dist-packages/k.py", 11),
    ]


def test_exceptions_in_one_line() -> None:
    for line, name in (
        ("ResourceExhaustedError: OOM when allocating tensor with shape[1,2]", "ResourceExhaustedError"),
        ("tensorflow.python.framework.errors_impl.InvalidArgumentError: bad", "InvalidArgumentError"),
        ("InvalidArgumentError (see above for traceback): bad", "InvalidArgumentError"),
        ("numpy._core._exceptions._ArrayMemoryError: Unable to allocate", "_ArrayMemoryError"),
        ("ray.exceptions.RayTaskError: it failed", "RayTaskError"),
        ("MemoryError", "MemoryError"),
        ("E   ValueError: in a test", "ValueError"),
    ):
        assert only_error(line + "\n").name == name, line


def test_ordinary_lines_are_no_exceptions() -> None:
    for line in (
        "Error: Canceled future for execute_request message",
        "UserWarning: something: else",
        "loss: 0.3 - error: 0.1",
        "Epoch 1: val_loss improved",
        "http://host: 8080",
        "raise ValueError('x')",
        "TypeError",
    ):
        assert errors_in(line + "\n") == (), line


def test_a_message_of_many_lines_ends_where_something_else_begins() -> None:
    error = only_error(
        'Traceback (most recent call last):\n  File "a.py", line 1, in f\n'
        "AttributeError: module 'numpy' has no attribute 'float'.\n`np.float` was a deprecated alias\n"
        "    https://numpy.org\n2024-01-01 10:00:00 INFO next thing\n"
    )
    assert error.message.splitlines()[-1].strip() == "https://numpy.org"


def test_a_framework_message_goes_on_after_blank_lines() -> None:
    error = only_error(
        'Traceback (most recent call last):\n  File "a.py", line 1, in f\n'
        "tensorflow.python.framework.errors_impl.InvalidArgumentError: Graph execution error:\n\n"
        "Detected at node add defined at (most recent call last):\n"
        '  File "a.py", line 4, in step\n\n  File "a.py", line 9, in <module>\n\n'
        "Incompatible shapes: [1] vs. [2]\n\t [[{{node add}}]] [Op:__inference_step_1]\n\nnot part of it\n"
    )
    assert "Incompatible shapes" in error.message and "[[{{node add}}]]" in error.message
    assert "not part of it" not in error.message


def test_a_traceback_quoted_inside_a_message_stays_inside() -> None:
    error = only_error(
        'Traceback (most recent call last):\n  File "a.py", line 8, in <module>\n    next(it)\n'
        "tensorflow.python.framework.errors_impl.UnknownError: {{function_node x}} KeyError: 'k'\n"
        "Traceback (most recent call last):\n\n"
        '  File "a.py", line 2, in gen\n    yield d["k"]\n\n'
        "KeyError: 'k'\n\n\n\t [[{{node PyFunc}}]] [Op:IteratorGetNext]\n"
    )
    assert error.name == "UnknownError"
    assert "line 2, in gen" in error.message and error.message.endswith("[Op:IteratorGetNext]")


def test_two_errors_one_after_the_other_stay_two() -> None:
    traceback = 'Traceback (most recent call last):\n  File "a.py", line 1, in f\nValueError: {}\n'
    assert [each.message for each in errors_in(traceback.format(1) + traceback.format(2))] == ["1", "2"]


def test_every_line_may_carry_a_prefix_of_its_own_kind() -> None:
    error = only_error(
        "10:00:01.123 worker-3 > Traceback (most recent call last):\n"
        '10:00:01.124 worker-3 >   File "a.py", line 5, in f\n'
        "10:00:01.125 worker-3 >     g()\n"
        "10:00:01.126 worker-3 > ValueError: x\n"
    )
    assert (error.message, error.frames[0].line, error.frames[0].source) == ("x", 5, "g()")


def test_output_of_another_thread_does_not_break_a_traceback() -> None:
    error = only_error(
        'Traceback (most recent call last):\n  File "a.py", line 1, in f\nstep 17 done\n  File "b.py", line 2, in g\nKeyError: 3\n'
    )
    assert [frame.file for frame in error.frames] == ["a.py", "b.py"]


def test_what_is_kept_is_bounded() -> None:
    lines = (LogLine(number, f"ValueError: {number}") for number in range(5 * ERRORS_KEPT))
    found = read_errors(lines, is_own)
    assert len(found) == ERRORS_KEPT and found[-1].message == str(5 * ERRORS_KEPT - 1)
    long = 'Traceback (most recent call last):\n  File "a.py", line 1, in f\nValueError: a\n' + "b\n" * 5_000
    assert only_error(long).message.count("\n") <= MESSAGE_LINES_KEPT


PIECES = st.sampled_from(
    [
        "Traceback (most recent call last):",
        "ValueError                Traceback (most recent call last)",
        '  File "a.py", line 3, in f',
        '  File "a.py", line 3',
        "    source()",
        "    ^^^^",
        "ValueError: x",
        "tensorflow.UnknownError: KeyError: 1",
        "Graph execution error:",
        "During handling of the above exception, another exception occurred:",
        "  + Exception Group Traceback (most recent call last):",
        "  | ValueError: y",
        "  +-+---------------- 1 ----------------",
        "Exception in thread Thread-1:",
        "Exception ignored in: <x>",
        "Cell In[3], line 2",
        "----> 2 f()",
        "",
        "\t [[{{node a}}]]",
        "2024-01-01 00:00:00: I x.cc:1] y",
        "\r50%|#\r",
        "\x1b[31m",
    ]
)


@settings(deadline=None)
@given(st.one_of(st.text(), st.lists(PIECES).map("\n".join)))
def test_any_text_is_read_without_an_exception(text: str) -> None:
    log = parse_log(text)
    assert [line.number for line in log.lines] == list(range(1, len(log.lines) + 1))
    for error in find_errors(log, is_own):
        assert error.type and error.line_number is not None
        assert 1 <= error.line_number <= len(log.lines)


def test_a_traceback_after_a_file_that_was_not_found_is_one_of_its_own() -> None:
    text = (
        'Exception in initializer:\nTraceback (most recent call last):\n  File "/home/ann/run.py", line 5, in setup\n'
        "    open(path)\nFileNotFoundError: [Errno 2] No such file or directory: 'vocab.txt'\n"
        'Traceback (most recent call last):\n  File "/home/ann/run.py", line 10, in <module>\n    pool.map(encode)\n'
        "concurrent.futures.process.BrokenProcessPool: A process in the process pool was terminated abruptly\n"
    )
    missing, broken = find_errors(parse_log(text), lambda _: True)
    assert (missing.name, missing.message) == ("FileNotFoundError", "[Errno 2] No such file or directory: 'vocab.txt'")
    assert broken.name == "BrokenProcessPool"
