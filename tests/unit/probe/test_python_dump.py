"""Faulthandler's own output, made by real threads, reads back as stacks."""

from __future__ import annotations

import faulthandler
import tempfile
import threading

from crashcart.probe.python_dump import parse_stacks


def dump(all_threads: bool) -> str:
    with tempfile.TemporaryFile("w+") as stream:
        faulthandler.dump_traceback(stream, all_threads)
        stream.seek(0)
        return stream.read()


def own(file: str) -> bool:
    return file == __file__


def test_the_innermost_own_frame_is_the_calling_line() -> None:
    (stack,) = parse_stacks(dump(False), None, own)
    frame = stack.own_frame()
    assert stack.main
    assert stack.current
    assert frame is not None
    assert [each.function for each in stack.frames[-2:]] == ["test_the_innermost_own_frame_is_the_calling_line", "dump"]
    assert frame == stack.frames[-1]


def test_all_threads_are_told_apart_and_main_is_known_by_its_ident() -> None:
    done = threading.Event()
    worker = threading.Thread(target=done.wait)
    worker.start()
    text = dump(True)
    done.set()
    worker.join()
    stacks = parse_stacks(text, threading.main_thread().ident, own)
    assert sum(stack.main for stack in stacks) == 1
    assert any(stack.frames[-1].function == "wait" for stack in stacks if not stack.main)


def test_a_fatal_dump_names_the_crashed_thread() -> None:
    text = (
        "Fatal Python error: Segmentation fault\n\n"
        'Current thread 0x00007f01 (most recent call first):\n  File "/a/é.py", line 3 in f\n'
        '  File "/a/train.py", line 9 in <module>\n\n'
        'Thread 0x00007f02 (most recent call first):\n  File "/a/b.py", line 1 in g\n\nExtension modules: x (total: 1)\n'
    )
    crashed, other = parse_stacks(text, 0x7F02, lambda file: True)
    assert crashed.current
    assert not crashed.main
    assert other.main
    assert [frame.line for frame in crashed.frames] == [9, 3]


def test_escaped_names_and_a_half_written_line() -> None:
    text = 'Stack (most recent call first):\n  File "/a/d\\xe9j\\u00e0.py", line 3 in f\n  File "/a/tr'
    (stack,) = parse_stacks(text, None, lambda file: True)
    assert [frame.file for frame in stack.frames] == ["/a/déjà.py"]
