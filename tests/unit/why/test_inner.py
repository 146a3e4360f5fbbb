"""The error inside an error: of a worker process, of an exception group."""

from __future__ import annotations

from crashcart.evidence import ErrorRecord, Frame
from crashcart.probe.log import find_errors, parse_log
from crashcart.why._inner import innermost
from crashcart.why._text import main_error

CALL = Frame("/home/ann/run.py", 7, "<module>", "print(pool.map(decode, range(4)))", own=True)
WORKER_TEXT = '''
"""
Traceback (most recent call last):
  File "/usr/lib/python3.11/multiprocessing/pool.py", line 125, in worker
    result = (True, func(*args, **kwds))
                    ^^^^^^^^^^^^^^^^^^^
  File "/home/ann/run.py", line 4, in decode
    return table[i]
           ~~~~~^^^
KeyError: 3
"""'''


def remote(kind: str) -> ErrorRecord:
    return ErrorRecord("builtins.KeyError", "3", (CALL,), chain=(ErrorRecord(kind, WORKER_TEXT),))


def test_the_workers_own_line_is_the_place() -> None:
    for kind in ("multiprocessing.pool.RemoteTraceback", "concurrent.futures.process._RemoteTraceback"):
        found = innermost(remote(kind))
        own = found.own_frame()
        assert own is not None
        assert (own.line, own.function, own.source) == (4, "decode", "return table[i]")
        assert found.frames[0] is CALL, "the call that waited for it comes first"
        assert found.chain == (), "the text has been read and is not quoted again"


def test_the_same_as_printed_in_a_log() -> None:
    call = 'Traceback (most recent call last):\n  File "/home/ann/run.py", line 7, in <module>\n    pool.map(decode)\nKeyError: 3\n'
    text = (
        f"multiprocessing.pool.RemoteTraceback: {WORKER_TEXT}\n\n"
        f"The above exception was the direct cause of the following exception:\n\n{call}"
    )
    main = main_error(find_errors(parse_log(text), lambda file: file.startswith("/home")))
    assert main is not None
    own = main.own_frame()
    assert own is not None and own.line == 4


def test_a_worker_text_that_cannot_be_read_changes_nothing() -> None:
    error = ErrorRecord("builtins.KeyError", "3", (CALL,), chain=(ErrorRecord("RemoteTraceback", "gone"),))
    assert innermost(error) == error


def test_a_groups_first_member_speaks_for_it() -> None:
    member = ErrorRecord("builtins.ConnectionError", "shard 2", (Frame("/home/ann/a.py", 5, "fetch", own=True),))
    cancelled = ErrorRecord("asyncio.exceptions.CancelledError", "")
    group = ErrorRecord("builtins.ExceptionGroup", "unhandled errors", (CALL,), chain=(cancelled, member), at_s=3.0)
    found = innermost(group)
    assert (found.name, found.message, found.at_s) == ("ConnectionError", "shard 2", 3.0)


def test_a_group_of_nothing_known_stays() -> None:
    group = ErrorRecord("builtins.ExceptionGroup", "unhandled errors", (CALL,))
    assert innermost(group) is group


def test_an_error_raised_while_handling_its_like_is_not_taken_for_a_worker() -> None:
    inner = ErrorRecord("builtins.KeyError", "3", (Frame("/home/ann/a.py", 2, "f", own=True),))
    outer = ErrorRecord("builtins.KeyError", "3", (CALL,), chain=(inner,))
    assert innermost(outer) is outer
