from __future__ import annotations

from pathlib import Path

from crashcart.probe.named_paths import cuda_folder, preloaded, read_named_paths


def test_what_is_there_and_what_is_not(tmp_path: Path) -> None:
    (tmp_path / "opt").mkdir()
    (tmp_path / "opt/lib.so").write_bytes(b"12345")
    variables = {
        "LD_PRELOAD": "/opt/lib.so /opt/gone.so:libnowhere.so",
        "PYTHONPATH": "/opt:/none:",
        "XLA_FLAGS": "--xla_dump_to=/x --xla_gpu_cuda_data_dir=/usr/local/cuda",
        "TMPDIR": "/opt",
        "HOME": "/root",
    }
    found = read_named_paths(variables, tmp_path)
    assert {name: each is not None for name, each in found.items()} == {
        "/opt/lib.so": True, "/opt/gone.so": False, "libnowhere.so": False, "/opt": True, "/none": False,
        "/usr/local/cuda": False,
    }  # fmt: skip
    assert found["/opt/lib.so"] == 5


def test_a_name_is_looked_up_as_the_loader_does(tmp_path: Path) -> None:
    (tmp_path / "opt").mkdir()
    (tmp_path / "opt/libx.so").touch()
    assert read_named_paths({"LD_PRELOAD": "libx.so", "LD_LIBRARY_PATH": "/a:/opt"}, tmp_path) == {"libx.so": 0}


def test_settings_that_name_nothing(tmp_path: Path) -> None:
    assert read_named_paths({"LD_PRELOAD": " : ", "XLA_FLAGS": "--xla_dump_to=/x"}, tmp_path) == {}
    assert read_named_paths({"TMPDIR": "/a\0b"}, tmp_path) == {"/a\0b": None}


def test_the_parts_of_a_setting() -> None:
    assert preloaded("a.so:/b.so  c.so") == ["a.so", "/b.so", "c.so"]
    assert cuda_folder("--xla_gpu_cuda_data_dir='/opt/cuda'") == "/opt/cuda"
    assert cuda_folder("") is None
