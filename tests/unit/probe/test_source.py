from __future__ import annotations

import os
import sysconfig
from pathlib import Path

import pytest

import crashcart.probe.source
from crashcart.probe.source import OwnCode, source_line


@pytest.mark.parametrize(
    "file",
    [
        "/home/user/train.py",
        "train.py",
        "<stdin>",
        "<string>",
        "<ipython-input-12-9f1b2c3d4e5f>",
        "/tmp/ipykernel_4242/1234567890.py",
        "C:\\Users\\me\\AppData\\Local\\Temp\\ipykernel_88\\123.py",
        "C:\\Users\\me\\python\\lib_tests\\train.py",
        "/usr/src/app/train.py",
        "/home/user/library/python3.11.py",
        "/home/user/site-packages.py",
    ],
)
def test_own_code(file: str) -> None:
    assert OwnCode(["/usr", "/usr/lib/python3.11"]).is_own(file)


@pytest.mark.parametrize(
    "file",
    [
        "/usr/lib/python3.11/threading.py",
        "/opt/conda/lib/python3.9/threading.py",
        "/opt/pypy/lib/pypy3.10/json/decoder.py",
        "/usr/lib/python311.zip/os.py",
        "/Library/Frameworks/Python.framework/Versions/3.9/lib/python3.9/runpy.py",
        "/home/user/project/.venv/lib/python3.11/site-packages/keras/src/trainers/trainer.py",
        "/usr/lib/python3/dist-packages/numpy/core/numeric.py",
        "C:\\Users\\me\\anaconda3\\lib\\site-packages\\tensorflow\\python\\eager\\execute.py",
        "C:\\Users\\me\\anaconda3\\lib\\runpy.py",
        "c:\\Python39\\lib\\threading.py",
        "<frozen importlib._bootstrap>",
        "<frozen runpy>",
        "<__array_function__ internals>",
        "<decorator-gen-53>",
        "/tmp/__autograph_generated_filea1b2c3.py",
        crashcart.probe.source.__file__,
    ],
)
def test_code_of_others(file: str) -> None:
    assert not OwnCode(["/usr", "/usr/lib/python3.11"]).is_own(file)


def test_running_interpreters_library_without_any_prefix() -> None:
    assert not OwnCode([]).is_own(os.__file__)


def test_library_in_an_unusual_place_is_told_by_its_prefix(tmp_path: Path) -> None:
    (tmp_path / "os.py").touch()
    file = str(tmp_path / "threading.py")
    assert OwnCode([]).is_own(file)
    assert not OwnCode([str(tmp_path)]).is_own(file)


def test_virtual_environment_that_is_the_projects_folder_hides_no_own_code(tmp_path: Path) -> None:
    own = OwnCode([str(tmp_path)])
    assert own.is_own(str(tmp_path / "train.py"))
    assert not own.is_own(str(tmp_path / "lib/python3.11/site-packages/numpy/__init__.py"))


def test_projects_own_folder_named_like_a_library(tmp_path: Path) -> None:
    folder = tmp_path / "lib/python3.11"
    folder.mkdir(parents=True)
    file = str(folder / "mine.py")
    assert OwnCode([]).is_own(file)
    (folder / "os.py").touch()
    assert not OwnCode([]).is_own(file)


def test_installed_commands_are_not_own(tmp_path: Path) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    assert OwnCode([]).is_own(str(folder / "train"))
    (folder / "python3").touch()
    assert not OwnCode([]).is_own(str(folder / "ipython"))
    assert OwnCode([]).is_own(str(folder / "train.py"))


def test_memory_of_files_is_bounded() -> None:
    own = OwnCode([])
    assert all(own.is_own(f"/home/user/{number}.py") for number in range(5000))
    assert len(own._known) <= 1024


SCRIPT = '''\
import numpy as np
held = np.zeros(  # the whole set
    (1000, 1000),

    dtype="float32",
)
def step(x):
    """Two
    lines."""
    return x.sum() \\
        + 1
for name in ["a",
             "b"]: print(name)
model = (
    build()
    .compile()
)

total = 1  # one line keeps its comment
'''


@pytest.fixture
def script(tmp_path: Path) -> str:
    file = tmp_path / "train.py"
    file.write_text(SCRIPT)
    return str(file)


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (1, "import numpy as np"),
        (2, 'held = np.zeros((1000, 1000), dtype="float32",)'),
        (3, 'held = np.zeros((1000, 1000), dtype="float32",)'),
        (6, 'held = np.zeros((1000, 1000), dtype="float32",)'),
        (7, "def step(x):"),
        (11, "return x.sum() + 1"),
        (12, 'for name in ["a", "b"]: print(name)'),
        (15, "model = (build().compile())"),
        (18, None),
        (19, "total = 1  # one line keeps its comment"),
        (0, None),
        (99, None),
    ],
)
def test_statement_at_a_line(script: str, line: int, text: str | None) -> None:
    assert source_line(script, line) == text


def test_line_before_a_long_statement_is_not_part_of_it(tmp_path: Path) -> None:
    file = tmp_path / "notes.py"
    file.write_text("# a note\n\nheld = zeros(\n    1)\n")
    assert [source_line(str(file), line) for line in (1, 2, 3)] == ["# a note", None, "held = zeros(1)"]


def test_text_that_is_no_python_gives_the_line_alone(tmp_path: Path) -> None:
    file = tmp_path / "broken.py"
    file.write_text("held = (\n  1,\n  2\n")
    assert source_line(str(file), 2) == "1,"


def test_long_statement_is_cut(tmp_path: Path) -> None:
    file = tmp_path / "long.py"
    file.write_text("values = [\n" + "    123456,\n" * 100 + "]\n" + "x = '" + "y" * 300 + "'\n")
    for line in (50, 103):
        text = source_line(str(file), line)
        assert text is not None
        assert len(text) == 200 and text.endswith("…")


def test_lines_count_as_the_interpreter_counts_them(tmp_path: Path) -> None:
    file = tmp_path / "feeds.py"
    file.write_bytes("a = '\x0c \u2028'\r\nb = 2\rc = 3\n".encode())
    assert [source_line(str(file), line) for line in (2, 3)] == ["b = 2", "c = 3"]


def test_text_in_another_encoding_is_still_shown(tmp_path: Path) -> None:
    file = tmp_path / "latin.py"
    file.write_bytes("name = 'Jos\xe9'\n".encode("latin-1"))
    assert source_line(str(file), 1) == "name = 'Jos\ufffd'"


def test_huge_file_is_not_read(tmp_path: Path) -> None:
    file = tmp_path / "generated.py"
    file.write_text("x = 1\n")
    os.truncate(file, (10 << 20) + 1)
    assert source_line(str(file), 1) is None


@pytest.mark.parametrize("file", ["<stdin>", "/nowhere/train.py", "/tmp", "/dev/zero", "bad\0name.py"])
def test_what_is_no_file_has_no_line(file: str) -> None:
    assert source_line(file, 1) is None


def test_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    assert source_line(str(tmp_path / "pipe.py"), 1) is None


def test_statement_in_the_standard_library() -> None:
    file = Path(sysconfig.get_path("stdlib")) / "json" / "__init__.py"
    number = next(n for n, text in enumerate(file.read_text().split("\n"), 1) if text.startswith("_default_encoder ="))
    text = source_line(str(file), number)
    assert text is not None and text.startswith("_default_encoder = JSONEncoder(skipkeys=False, ")


def test_lines_in_a_loop_of_their_own_function(tmp_path: Path) -> None:
    from crashcart.probe.source import in_loop

    path = tmp_path / "train.py"
    path.write_text(
        "x = load()\n"
        "for batch in x:\n"
        "    step(\n"
        "        batch)\n"
        "    def later():\n"
        "        return 1\n"
        "def run(n):\n"
        "    while n:\n"
        "        n -= 1\n"
        "    else:\n"
        "        done()\n"
        "    return join(n)\n"
    )
    looped = [number for number in range(1, 13) if in_loop(str(path), number)]
    assert looped == [2, 3, 4, 8, 9]
    assert in_loop(str(path), 99) is None
    assert in_loop("/no/such/file.py", 1) is None


def test_lines_that_fill_a_container(tmp_path: Path) -> None:
    from crashcart.probe.source import filling_lines

    path = tmp_path / "train.py"
    path.write_text(
        "cache, rows, seen = {}, [], []\n"
        "def embed(doc):\n"
        "    cache[doc] = vector(doc)\n"
        "    return cache[doc].mean()\n"
        "class Trainer:\n"
        "    def step(self, x):\n"
        "        self.history.append(\n"
        "            float(x))\n"
        "        history = []\n"
        "rows += [1]\n"
        "rows.extend(more)\n"
        "print(rows[0], rows.index(1), seen.pop())\n"
    )
    assert filling_lines(str(path), ["cache", "trainer.history", "rows", "seen"]) == {
        "cache": [(3, "embed")],
        "trainer.history": [(7, "step")],
        "rows": [(10, "<module>"), (11, "<module>")],
        "seen": [],  # what takes out of it does not fill it
    }
    assert filling_lines("/no/such/file.py", ["rows"]) == {"rows": []}


@pytest.mark.parametrize(
    ("file", "own"),
    [("numpy/random/_common.pyx", False), ("pandas/_libs/index.pyx", False), ("/home/ann/fast/loops.pyx", True)],
)
def test_sources_of_compiled_packages_are_not_ones_own(file: str, own: bool) -> None:
    assert OwnCode(()).is_own(file) is own
