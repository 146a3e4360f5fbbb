from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from crashcart.errors import CannotCheckError
from crashcart.installation import DeviceName
from crashcart.probe.device_names import read_device_names


def named(tmp_path: Path, source: str) -> list[tuple[int, str, int | None]]:
    file = tmp_path / "train.py"
    file.write_text(source)
    read = read_device_names([str(file)])
    assert read.faults == ()
    return [(each.index, each.use, each.where.line) for each in read.names]


@pytest.mark.parametrize(
    ("line", "index", "use"),
    [
        ('with tf.device("/GPU:1"): pass', 1, "placed"),
        ('with tf.device("/device:GPU:2"): pass', 2, "placed"),
        ('with tf.device("gpu:0"): pass', 0, "placed"),
        ('with tf.device("/job:localhost/replica:0/task:0/device:GPU:3"): pass', 3, "placed"),
        ('s = tf.distribute.OneDeviceStrategy(device="/gpu:1")', 1, "placed"),
        ('model.to("cuda:1")', 1, "required"),
        ('model.to("cuda")', 0, "required"),
        ("model.cuda(1)", 1, "required"),
        ("torch.cuda.set_device(2)", 2, "required"),
        ('torch.load("x", map_location="cuda:3")', 3, "required"),
        ('device = "cuda:1"', 1, "assigned"),
        ('class C:  device = "/GPU:1"', 1, "assigned"),
        ('device = torch.device("cuda:1")', 1, "assigned"),
        ('x = tf.config.list_physical_devices("GPU")[1]', 1, "listed"),
        ('x = tf.config.list_physical_devices("GPU")[-1]', 0, "listed"),
        ('os.environ["CUDA_VISIBLE_DEVICES"] = "2"', 2, "visible"),
        ('os.environ.setdefault("CUDA_VISIBLE_DEVICES", "2")', 2, "visible"),
    ],
)
def test_ways_to_name_a_device(tmp_path: Path, line: str, index: int, use: str) -> None:
    assert named(tmp_path, f"import os\n{line}\n") == [(index, use, 2)]


@pytest.mark.parametrize(
    "line",
    [
        'with tf.device("/CPU:0"): pass',
        'with tf.device("/job:worker/task:1/device:GPU:1"): pass',
        'model.to("cpu")',
        "model.cuda()",
        'print("/GPU:1")',
        'os.environ["CUDA_VISIBLE_DEVICES"] = "-1"',
        'os.environ["CUDA_VISIBLE_DEVICES"] = ""',
        'os.environ["CUDA_VISIBLE_DEVICES"] = "GPU-8f0c1d2e"',
        'os.environ["CUDA_VISIBLE_DEVICES"] = chosen',
        'x = tf.config.list_physical_devices("CPU")[0]',
        'x = tf.config.list_physical_devices("GPU")',
        "rows[1]",
    ],
)
def test_what_names_no_device(tmp_path: Path, line: str) -> None:
    assert named(tmp_path, f"import os\n{line}\n") == []


def test_a_list_of_devices_by_its_name(tmp_path: Path) -> None:
    source = 'gpus = tf.config.list_physical_devices("GPU")\ndef start():\n    grow(gpus[1])\n    gpus[0] = None\n'
    assert named(tmp_path, source) == [(1, "listed", 3)]


def test_several_devices_of_one_strategy(tmp_path: Path) -> None:
    source = 's = tf.distribute.MirroredStrategy(["/gpu:0", "/gpu:1"])\nos.environ["CUDA_VISIBLE_DEVICES"] = "0, 3"\n'
    assert named(tmp_path, source) == [
        (0, "placed", 1), (1, "placed", 1), (0, "visible", 2), (3, "visible", 2),
    ]  # fmt: skip


def test_soft_placement_turned_off_anywhere(tmp_path: Path) -> None:
    source = 'with tf.device("/GPU:1"):\n    pass\ntf.config.set_soft_device_placement(False)\n'
    assert named(tmp_path, source) == [(1, "required", 1)]
    assert named(tmp_path, source.replace("False", "True")) == [(1, "placed", 1)]


GUARDED = [
    'if tf.config.list_physical_devices("GPU"):\n    with tf.device("/GPU:0"): pass\n',
    'device = "cuda:0" if torch.cuda.is_available() else "cpu"\n',
    'gpus = tf.config.list_physical_devices("GPU")\nx = gpus and gpus[0]\n',
    'gpus = tf.config.list_physical_devices("GPU")\nif not gpus:\n    raise SystemExit\ngrow(gpus[0])\n',
    'def f():\n    if not torch.cuda.is_available():\n        return\n    model.to("cuda:0")\n',
    'gpus = tf.config.list_physical_devices("GPU")\nassert gpus\ngrow(gpus[0])\n',
    'try:\n    model.to("cuda:1")\nexcept RuntimeError:\n    pass\n',
    "while devices:\n    model.cuda(1)\n",
    'device = "cuda"\nif not torch.cuda.is_available():\n    device = "cpu"\nmodel.to(device)\n',
    'device = torch.device("cuda")\nif not torch.cuda.is_available():\n    device = torch.device("cpu")\n',
    'DEVICE = "cuda"\nprint(torch.cuda.device_count())\n',
    'class Options:\n    device = "cuda:1"\n\n    def check(self):\n        return torch.cuda.is_available()\n',
    'device = "/GPU:1"\nif arguments.small:\n    device = "/CPU:0"\n',
    'device = torch.device("cuda")\nif arguments.small:\n    device = torch.device("cpu")\n',
    'match count:\n    case 1 if torch.cuda.is_available():\n        x.to("cuda")\n',
    'match torch.cuda.is_available():\n    case True:\n        x.to("cuda")\n',
]


@pytest.mark.parametrize("source", GUARDED)
def test_code_that_asks_first_is_left_alone(tmp_path: Path, source: str) -> None:
    assert named(tmp_path, source) == []


def test_a_guard_ends_with_its_block(tmp_path: Path) -> None:
    source = 'def f():\n    if not gpus: return\n    model.to("cuda:0")\nmodel.to("cuda:1")\n'
    assert named(tmp_path, source) == [(1, "required", 4)]


def test_another_condition_is_told(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text('def run():\n    if verbose:\n        model.to("cuda:1")\n')
    (found,) = read_device_names([str(tmp_path / "train.py")]).names
    assert found.conditional and found.where.function == "run" and found.where.source == 'model.to("cuda:1")'


def test_a_case_without_a_question_is_a_condition(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text('match mode:\n    case "train":\n        model.to("cuda:1")\n')
    (found,) = read_device_names([str(tmp_path / "train.py")]).names
    assert found.conditional


def test_what_uses_a_device_is_told_although_the_file_asks_elsewhere(tmp_path: Path) -> None:
    source = 'print(torch.cuda.is_available())\nmodel.to("cuda:1")\n'
    assert named(tmp_path, source) == [(1, "required", 2)]


def test_the_main_block_of_a_script_is_no_condition(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text('if __name__ == "__main__":\n    model.to("cuda:1")\n')
    (found,) = read_device_names([str(tmp_path / "train.py")]).names
    assert not found.conditional


def test_odd_escapes_in_the_code_are_not_told(tmp_path: Path) -> None:
    assert named(tmp_path, 'pattern = "\\d"\nmodel.to("cuda:1")\n') == [(1, "required", 2)]


def notebook(tmp_path: Path, *cells: str) -> str:
    file = tmp_path / "train.ipynb"
    code = [
        {
            "cell_type": "code",
            "id": f"c{number}",
            "execution_count": number + 4,
            "source": cell.splitlines(keepends=True),
        }
        for number, cell in enumerate(cells, 1)
    ]
    file.write_text(json.dumps({"cells": [{"cell_type": "markdown", "source": ["# /GPU:1"]}, *code], "nbformat": 4}))
    return str(file)


def test_cells_share_their_names_and_magics_are_no_python(tmp_path: Path) -> None:
    file = notebook(
        tmp_path,
        '%matplotlib inline\n!nvidia-smi\ngpus = tf.config.list_physical_devices("GPU")\n',
        "x = 1\ngrow(gpus[1])\n",
    )
    (found,) = read_device_names([file]).names
    assert (found.index, found.use, found.where.cell, found.where.cell_id, found.where.line) == (
        1,
        "listed",
        "6",
        "c2",
        2,
    )


def test_a_magic_that_sets_the_variable(tmp_path: Path) -> None:
    found = read_device_names([notebook(tmp_path, "%env CUDA_VISIBLE_DEVICES=1\n", "%%bash\necho cuda:1\n")])
    assert [(each.index, each.use) for each in found.names] == [(1, "visible")]
    assert found.faults == ()


def test_one_broken_cell_does_not_hide_the_others(tmp_path: Path) -> None:
    read = read_device_names([notebook(tmp_path, "def (:\n", 'model.to("cuda:1")\n')])
    assert [each.index for each in read.names] == [1]
    assert len(read.faults) == 1 and "cell [5], line 1" in read.faults[0]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"def (:\n", "line 1"),
        (b"x = 'a\0b'\n", "null bytes"),
        (b"(" * 5000 + b")" * 5000, "parenthes"),
        (b"\x80\x81", ""),
    ],
)
def test_what_is_no_python_is_said(tmp_path: Path, content: bytes, said: str) -> None:
    (tmp_path / "train.py").write_bytes(content)
    read = read_device_names([str(tmp_path / "train.py")])
    assert read.names == ()
    assert len(read.faults) == 1 and "train.py" in read.faults[0] and said in read.faults[0]


def test_code_that_is_nested_deeply(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("x = " + "-" * 3000 + "1\n")
    read = read_device_names([str(tmp_path / "train.py")])
    assert read.names == ()


@pytest.mark.parametrize("content", ["", "[]", '{"cells": 3}', '{"cells": [{}]}', "{" * 5000])
def test_what_is_no_notebook(tmp_path: Path, content: str) -> None:
    (tmp_path / "x.ipynb").write_text(content)
    with pytest.raises(CannotCheckError, match="no notebook"):
        read_device_names([str(tmp_path / "x.ipynb")])


def test_a_file_that_is_not_there_and_a_folder(tmp_path: Path) -> None:
    with pytest.raises(CannotCheckError, match="No such file"):
        read_device_names([str(tmp_path / "none.py")])
    with pytest.raises(CannotCheckError, match="Is a directory"):
        read_device_names([str(tmp_path)])


def test_a_name_is_data(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text('model.to("cuda:1")\n')
    (found,) = read_device_names([str(tmp_path / "train.py")]).names
    assert isinstance(found, DeviceName) and found.device == "GPU"


@pytest.mark.parametrize("name", ["train.py", "train.ipynb"])
def test_a_pipe_is_no_code_and_is_not_waited_for(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / name)
    with pytest.raises(CannotCheckError, match="it is a pipe, not a file"):
        read_device_names([str(tmp_path / name)])


@pytest.mark.parametrize("depth", [3_000, 30_000, 300_000])
def test_code_that_is_nested_too_deeply_has_a_reason(tmp_path: Path, depth: int) -> None:
    (tmp_path / "deep.py").write_text("x = " + "-" * depth + "1\n")
    for fault in read_device_names([str(tmp_path / "deep.py")]).faults:
        assert fault.rpartition(": ")[2].strip()
