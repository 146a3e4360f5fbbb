"""Crash files as the native recorder writes them, whole and cut. Real ones are made in test_native_crash.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from crashcart.blackbox.crashfile import demangle, read_crash
from crashcart.evidence import Crash, NativeFrame

FAULT = """crashcart-crash 1
pid 4306
tid 4311
signal 11
code 1
address 0x7ffd5e372ff8
sp 0x7ffd5e372ff0
ip 0x7fa293101982
instruction 4889442408
frames
/opt/env/tensorflow/libtensorflow_cc.so.2(TF_GraphNextOperation+0xd)[0x7fa293101982]
/opt/env/tensorflow/libtensorflow_cc.so.2(_ZN10tensorflow6FooBar3RunEv+0x1a) [0x7fa293101990]
/opt/a (copy)/lib.so(+0x1f)[0x7fa293101991]
./program[0x4011f3]
[0x10]
end
"""
SENT = """crashcart-crash 1
pid 7
tid 7
signal 6
code -6
sender 7
abort-message free(): double free detected in tcache 2
frames
end
"""


def crash_of(tmp_path: Path, text: str) -> Crash | None:
    (tmp_path / "crash").write_text(text)
    return read_crash(tmp_path / "crash")


def test_a_fault_is_read_whole(tmp_path: Path) -> None:
    assert crash_of(tmp_path, FAULT) == Crash(
        pid=4306,
        signal=11,
        address=0x7FFD5E372FF8,
        code=1,
        frames=(
            NativeFrame("/opt/env/tensorflow/libtensorflow_cc.so.2", "TF_GraphNextOperation", 0xD),
            NativeFrame("/opt/env/tensorflow/libtensorflow_cc.so.2", "tensorflow::FooBar::Run", 0x1A),
            NativeFrame("/opt/a (copy)/lib.so", None, 0x1F),
            NativeFrame("./program", None, None),
            NativeFrame("", None, None),
        ),
        stack_distance_bytes=8,
        instruction=bytes.fromhex("4889442408"),
    )


def test_an_abort_has_a_message_and_no_address(tmp_path: Path) -> None:
    crash = crash_of(tmp_path, SENT)
    assert crash is not None
    assert (crash.signal, crash.code, crash.address) == (6, -6, None)
    assert crash.message == "free(): double free detected in tcache 2"
    assert crash.stack_distance_bytes is None
    assert crash.instruction is None


@pytest.mark.parametrize("text", [FAULT, SENT])
def test_a_cut_file_gives_what_stands_on_whole_lines(tmp_path: Path, text: str) -> None:
    whole = crash_of(tmp_path, text)
    assert whole is not None
    for length in range(len(text)):
        cut = crash_of(tmp_path, text[:length])
        if "\nsignal" not in text[: text.rfind("\n", 0, length) + 1]:
            assert cut is None
            continue
        assert cut is not None
        assert (cut.pid, cut.signal) == (whole.pid, whole.signal)
        assert cut.frames == whole.frames[: len(cut.frames)]
        for name in ("address", "code", "message", "instruction", "stack_distance_bytes"):
            assert getattr(cut, name) in (None, getattr(whole, name))


@pytest.mark.parametrize("text", ["", "\n", "Fatal Python error\n", "crashcart-crash 2\npid 1\nsignal 11\n"])
def test_a_foreign_file_is_no_crash(tmp_path: Path, text: str) -> None:
    assert crash_of(tmp_path, text) is None


def test_no_file_is_no_crash(tmp_path: Path) -> None:
    assert read_crash(tmp_path / "crash") is None


def test_bytes_that_are_no_text_do_no_harm(tmp_path: Path) -> None:
    (tmp_path / "crash").write_bytes(
        FAULT.encode().replace(b"FooBar", b"\xff\xfe\x00Bar").replace(b"code 1", b"code x")
    )
    crash = read_crash(tmp_path / "crash")
    assert crash is not None
    assert crash.code is None
    assert crash.frames[0].symbol == "TF_GraphNextOperation"


OWN = "/env/crashcart/record/native/libcrashcart_recorder.so(+0x1f)[0x1]\n"
TRAMPOLINE = "/lib/x86_64-linux-gnu/libc.so.6(+0x3c050)[0x2]\n"
RAISE = "/lib/x86_64-linux-gnu/libc.so.6(gsignal+0x12)[0x3]\n"
FAULTHANDLER = "/lib/libpython3.11.so.1.0(faulthandler_fatal_error+0x30)[0x4]\n"
TRUE = "/env/lib.so(first+0x1)[0x5]\n/lib/x86_64-linux-gnu/libc.so.6(+0x99)[0x6]\n"


@pytest.mark.parametrize(
    ("above", "kept"),
    [
        ("", ["first", None]),
        (OWN + TRAMPOLINE, ["first", None]),
        (OWN + OWN + TRAMPOLINE + RAISE, ["gsignal", "first", None]),
        (OWN + TRAMPOLINE + RAISE + FAULTHANDLER + TRAMPOLINE, ["first", None]),
        (RAISE, ["gsignal", "first", None]),
    ],
    ids=["none", "ours", "ours over raise", "faulthandler before us", "raise alone is no handler"],
)
def test_handlers_at_the_top_are_left_out(tmp_path: Path, above: str, kept: list[str | None]) -> None:
    crash = crash_of(tmp_path, f"crashcart-crash 1\npid 1\nsignal 11\nframes\n{above}{TRUE}end\n")
    assert crash is not None
    assert [frame.symbol for frame in crash.frames] == kept


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("_ZN10tensorflow6FooBar3RunEv", "tensorflow::FooBar::Run"),
        ("_ZNK10tensorflow6Tensor8NumBytesEv", "tensorflow::Tensor::NumBytes"),
        ("_Z3fooi", "foo"),
        ("_ZSt9terminatev", "std::terminate"),
        ("_ZNSt6vectorIiSaIiEE9push_backERKi", "std::vector::push_back"),
        ("_ZN10tensorflow15TensorShapeBaseINS_11TensorShapeEEC2Ev", "tensorflow::TensorShapeBase::TensorShapeBase"),
        ("_ZN3tsl6thread10ThreadPoolD1Ev", "tsl::thread::ThreadPool::~ThreadPool"),
        ("_ZN12_GLOBAL__N_13runEv", "(anonymous namespace)::run"),
        ("_ZNSt14__shared_countILN9__gnu_cxx12_Lock_policyE2EE1fEv", "std::__shared_count::f"),
        ("_ZN1a1bIA12_KcEEvv", "a::b"),
        (
            "_ZNSt17_Function_handlerIFvvEZN1a3runEvEUlvE_E9_M_invokeERKSt9_Any_data",
            "std::_Function_handler::_M_invoke",
        ),
        ("_ZZN10tensorflow4Pool5StartEvENKUlvE_clEv", "tensorflow::Pool::Start::{lambda}"),
        ("_ZNK4toco6ModelsclEv", "toco::Models::operator()"),
    ],
)
def test_names_of_cplusplus_are_understood(symbol: str, name: str) -> None:
    assert demangle(symbol) == name


@pytest.mark.parametrize(
    "symbol",
    [
        "main",
        "PyEval_EvalCode",
        "_Z",
        "_ZN",
        "_ZN10tensorflow",
        "_ZN99aE",
        "_ZNE",
        "_ZN1aIE",
        "_ZN1a1bITnNSt9enable_ifIXsr3std7is_sameIT_iEE5valueEiE4typeELi0EEEvv",
        "_ZTVN10tensorflow6FooBarE",
        "_RNvC3foo3bar",
    ],
)
def test_what_is_not_understood_stays_as_it_is(symbol: str) -> None:
    assert demangle(symbol) == symbol
