"""Real Python, NumPy and TensorFlow on the airbag."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest
from airbag_rig import GIB, Guard, Rig

# The program sets the budget itself, at the line where the test wants it; the beat is ahead, so that nobody waits.
PREFACE = """
import mmap, os, struct, sys, time
guard = mmap.mmap(os.open(os.environ["CRASHCART_RECORDING"] + "/guard", os.O_RDWR), 65536)
def put(at, number): struct.pack_into("<q", guard, at, number)
def get(at): return struct.unpack_from("<q", guard, at)[0]
def over(): put(24, time.monotonic_ns() + 10**12); put(16, 0)
def within(): put(24, time.monotonic_ns() + 10**12); put(16, 1 << 40)
def squeeze(on): struct.pack_into("<I", guard, 32, on)
def airbag_bytes(): return sum(get(32768 + 64 * slot + 24) for slot in range(512))
"""


def python(rig: Rig, guard: Guard, source: str, interpreter: str = sys.executable, **extra: str) -> str:
    done = subprocess.run(
        [interpreter, "-c", PREFACE + source],
        env={**guard.environment(rig.library), "TF_CPP_MIN_LOG_LEVEL": "3", **extra},
        capture_output=True,
        text=True,
        timeout=110,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.strip()


def needs(*modules: str) -> None:
    for module in modules:
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"no {module} here")


def test_numpy_is_refused_in_the_line_that_asks(rig: Rig, guard: Guard) -> None:
    needs("numpy")
    source = """
import numpy as np
over()
try:
    np.ones(10**7)
except MemoryError as error:
    print(error.__traceback__.tb_lineno == sys._getframe().f_lineno - 2, "Unable to allocate" in str(error))
"""
    assert python(rig, guard, source) == "True True"
    assert [who[:17] for _, who in guard.refusals()] == ["_multiarray_umath"]
    assert guard.slots()[0][1] & 3 == 3


def test_sparse_zeros_are_no_refusal(rig: Rig, guard: Guard) -> None:
    needs("numpy")
    source = """
import numpy as np
over()
zeros = np.zeros(3 * 10**7)
zeros[7], zeros[-1] = 1, 2
print(zeros.sum(), airbag_bytes() >= 24 * 10**7)
del zeros
print(airbag_bytes())
"""
    assert python(rig, guard, source) == "3.0 True\n0"


def test_the_interpreter_is_refused(rig: Rig, guard: Guard) -> None:
    source = """
kept = bytearray(1000)
over()
for ask in (lambda: bytes(10**7), lambda: bytearray(10**7), lambda: [0] * 10**7, lambda: "x" * 10**7, lambda: kept.extend(bytes(10**5) * 10**3)):
    try:
        ask()
        print("given")
    except MemoryError:
        pass
print(len(kept))
"""
    assert python(rig, guard, source) == "1000"
    assert len(guard.refusals()) == 5


def test_python_is_told_of_refusals_to_numpy_alone(rig: Rig, guard: Guard) -> None:
    needs("numpy")
    source = """
import numpy as np, types
told = []
def refused():
    told.append(1)
    try:
        np.ones(10**7)
    except MemoryError:
        raise KeyError("dropped")
sys.modules["_crashcart_guard"] = types.SimpleNamespace(refused=refused)
over()
for ask in (lambda: np.ones(10**7), lambda: bytes(10**7)):
    try:
        ask()
    except MemoryError as error:
        print(type(error.__context__).__name__)
print(len(told))
"""
    assert python(rig, guard, source) == "NoneType\nNoneType\n1"


def test_objects_in_a_squeeze(rig: Rig, guard: Guard) -> None:
    source = """
import gc
within()
squeeze(1)
kept = [{"number": i, "text": str(i) * 50} for i in range(50000)]
print(airbag_bytes() > 20 * 2**20, get(72) > 20 * 2**20)
assert all(each["text"] == str(i) * 50 for i, each in enumerate(kept))
pid = os.fork()
if pid == 0:
    ok = all(each["text"] == str(i) * 50 for i, each in enumerate(kept))
    for each in kept:
        each["number"] = -1
    os._exit(0 if ok else 1)
print(os.waitpid(pid, 0)[1], all(each["number"] == i for i, each in enumerate(kept)))
squeeze(0)
within()
del kept
gc.collect()
"""
    assert python(rig, guard, source) == "True True\n0 True"


def test_multiprocessing_by_fork(rig: Rig, guard: Guard) -> None:
    needs("numpy")
    source = """
import multiprocessing, numpy as np
over()
zeros = np.zeros(4 * 10**6)
zeros += np.arange(10)[3]
within()
squeeze(1)
objects = list(map(str, range(200000)))
def work(start):
    zeros[start] = start
    return zeros.sum() - 3 * zeros.size, len("".join(objects[start:start + 1000])), objects[start]
with multiprocessing.get_context("fork").Pool(3) as pool:
    found = pool.map(work, [1000, 2000, 3000], chunksize=1)
print([(int(each[0]) > 0, each[1], each[2]) for each in found], zeros.sum() == 3 * zeros.size)
squeeze(0)
"""
    expected = "[(True, 4000, '1000'), (True, 4000, '2000'), (True, 4000, '3000')] True"
    assert python(rig, guard, source) == expected


def test_mappings_of_the_program(rig: Rig, guard: Guard) -> None:
    """As memory pools make them: anonymous, private, resized and given back in parts."""
    source = """
over()
memory = mmap.mmap(-1, 8 * 2**20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
print(airbag_bytes() // 2**20)
memory[:5] = b"hello"
memory.madvise(mmap.MADV_DONTNEED, 2**20, 2**20)
memory.resize(16 * 2**20)
print(memory[:5], memory[-1:], airbag_bytes() // 2**20)
memory.close()
print(airbag_bytes())
"""
    assert python(rig, guard, source) == "8\nb'hello' b'\\x00' 16\n0"


def test_frames_of_pandas(rig: Rig, guard: Guard) -> None:
    needs("pandas")
    source = """
import pandas, numpy
within()
squeeze(1)
frame = pandas.DataFrame({"key": numpy.arange(20000) % 7, "text": list(map(str, range(20000)))})
print(frame.groupby("key").size().sum(), frame.text.str.len().sum(), airbag_bytes() > 0)
squeeze(0)
"""
    assert python(rig, guard, source) == "20000 88890 True"


def test_a_matmul_of_tensorflow_on_the_airbag(rig: Rig, guard: Guard) -> None:
    needs("tensorflow")
    source = """
import numpy as np
import tensorflow as tf
one = np.arange(1000 * 1000, dtype=np.float32).reshape(1000, 1000) % 7
expected = one @ one
tensor = tf.convert_to_tensor(one) + 0
over()
result = tf.matmul(tensor, tensor)
for _ in range(5):
    result = tf.matmul(tensor, tensor)
held = airbag_bytes()
within()
print(held >= 4 * 10**6, bool(np.allclose(result.numpy(), expected)))
"""
    assert python(rig, guard, source) == "True True"


def interpreters() -> list[str]:
    found = sorted(Path.home().glob(".pyenv/versions/3.*/bin/python"))
    here = [str(path) for path in found if path.parts[-3].split(".")[1] not in ("6", "7")]
    return [*here, *(path for path in ("/usr/bin/python3",) if Path(path).exists())]  # often linked statically


@pytest.mark.parametrize("interpreter", interpreters() or [sys.executable], ids=lambda path: Path(path).parts[-3])
def test_every_python(rig: Rig, guard: Guard, interpreter: str) -> None:
    source = """
import threading
over()
squeeze(1)
kept = [str(i) * 60 for i in range(30000)]
threads = [threading.Thread(target=lambda: [bytes(1000) for _ in range(20000)]) for _ in range(3)]
[each.start() for each in threads]
[each.join() for each in threads]
try:
    bytes(10**7)
except MemoryError:
    print("refused")
print(get(72) > 2**20, all(text == str(i) * 60 for i, text in enumerate(kept)))
"""
    assert python(rig, guard, source, interpreter) == "refused\nTrue True"


def test_a_memory_group_that_would_kill(rig: Rig, tmp_path: Path) -> None:
    """What takes 420 MB over a limit of 200 MB lives on the disk."""
    from bench.group import enter, memory_group, unavailable

    reason = unavailable()
    if reason is not None:
        pytest.skip(reason)
    guard = Guard(tmp_path / "recording", tmp_path, bound=2 * GIB)
    source = """
over()
squeeze(1)
kept = [bytes([i % 256]) * 60000 for i in range(7000)]
assert all(text == bytes([i % 256]) * 60000 for i, text in enumerate(kept))
print(airbag_bytes() > 390 * 2**20)
os._exit(0)
"""
    with memory_group(200) as group:
        done = subprocess.run(
            [sys.executable, "-c", PREFACE + source],
            env=guard.environment(rig.library),
            capture_output=True,
            text=True,
            timeout=100,
            preexec_fn=lambda: enter(group),
        )
    assert (done.returncode, done.stdout, done.stderr) == (0, "True\n", "")
