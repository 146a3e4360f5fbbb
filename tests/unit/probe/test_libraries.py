from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from crashcart.installation import Interpreter, SharedLibrary
from crashcart.probe.libraries import loader_cache, offered_versions, read_libraries

SITE = "/env/lib/python3.11/site-packages"
HERE = Interpreter("3.11.7", "/env/bin/python", "/env", kind="venv")
CONDA = Interpreter("3.11.7", "/env/bin/python", "/env", kind="conda")


def place(root: Path, *paths: str) -> None:
    for path in paths:
        file = root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()


def found(root: Path, interpreter: Interpreter = HERE, **variables: str) -> dict[str, str | None]:
    libraries = read_libraries(interpreter, [SITE], variables, root)
    return {each.path: each.owner for each in libraries}


def test_the_loaders_cache_says_what_ldconfig_says() -> None:
    ldconfig = shutil.which("ldconfig", path="/usr/sbin:/sbin:/usr/bin:/bin")
    cached = loader_cache()
    if ldconfig is None or cached is None:
        pytest.skip("no loader's cache on this machine")
    lines = subprocess.run([ldconfig, "-p"], capture_output=True, text=True, check=True).stdout.splitlines()
    assert list(cached) == [line.partition(" => ")[2] for line in lines if " => " in line]


@pytest.mark.parametrize(
    "junk", [b"", b"no cache", b"glibc-ld.so.cache1.1", b"glibc-ld.so.cache1.1" + b"\xff" * 300, b"\0" * 5000]
)
def test_a_cache_that_is_junk(tmp_path: Path, junk: bytes) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/ld.so.cache").write_bytes(junk)
    assert not loader_cache(tmp_path)


def test_what_packages_bring_and_what_nobody_looks_at(tmp_path: Path) -> None:
    place(
        tmp_path,
        f"{SITE}/nvidia/cudnn/lib/libcudnn.so.9",
        f"{SITE}/nvidia/cudnn/lib/libcudnn_graph.so.9",
        f"{SITE}/scikit_learn.libs/libgomp-a34b3233.so.1.0.0",
        f"{SITE}/torch/lib/libiomp5.so",
        f"{SITE}/torch/lib/libtorch.so",
        f"{SITE}/numpy-2.0.2.dist-info/METADATA",
        "/usr/local/cuda/lib64/libcudart.so.12",
        "/opt/old/libstdc++.so.6",
    )
    assert found(tmp_path, LD_LIBRARY_PATH="/opt/old:/nowhere::relative") == {
        "/opt/old/libstdc++.so.6": "LD_LIBRARY_PATH",
        f"{SITE}/nvidia/cudnn/lib/libcudnn.so.9": "nvidia/cudnn",
        f"{SITE}/scikit_learn.libs/libgomp-a34b3233.so.1.0.0": "scikit_learn",
        f"{SITE}/torch/lib/libiomp5.so": "torch",
        "/usr/local/cuda/lib64/libcudart.so.12": None,
    }


def test_an_environments_own_lib_counts_in_conda_alone(tmp_path: Path) -> None:
    place(tmp_path, "/env/lib/libiomp5.so")
    assert found(tmp_path, CONDA) == {"/env/lib/libiomp5.so": "conda"}
    assert found(tmp_path) == {"/env/lib/libiomp5.so": None}


def test_links_are_followed_to_the_full_name(tmp_path: Path) -> None:
    place(tmp_path, "/opt/cudnn/libcudnn.so.9.1.0")
    (tmp_path / "opt/cudnn/libcudnn.so.9").symlink_to("libcudnn.so.9.1.0")
    libraries = read_libraries(HERE, [], {"LD_LIBRARY_PATH": "/opt/cudnn"}, tmp_path)
    assert libraries[0] == SharedLibrary("libcudnn.so.9", "/opt/cudnn/libcudnn.so.9.1.0", "LD_LIBRARY_PATH")


def test_folders_that_cannot_be_read_and_cycles_of_links(tmp_path: Path) -> None:
    site = tmp_path / SITE.lstrip("/")
    site.mkdir(parents=True)
    (site / "loop").symlink_to("loop")
    (site / "nvidia").symlink_to("nvidia")
    (site / "lib").write_bytes(b"a file")
    assert found(tmp_path, LD_LIBRARY_PATH="/\0/x") == {}


def test_without_a_cache_the_usual_folders_are_looked_into(tmp_path: Path) -> None:
    place(tmp_path, "/usr/lib64/libcuda.so.1")
    assert found(tmp_path) == {"/usr/lib64/libcuda.so.1": "system"}


@pytest.fixture
def old_library(tmp_path: Path) -> Path:
    """A real shared library that defines versions as libstdc++ does."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    (tmp_path / "one.c").write_text("int first(void) { return 1; }\nint second(void) { return 2; }\n")
    (tmp_path / "versions").write_text(
        "GLIBCXX_3.4.9 { global: first; local: *; };\nGLIBCXX_3.4.13 { global: second; } GLIBCXX_3.4.9;\nCXXABI_1.3.3 { };\n"
    )
    library = tmp_path / "libstdc++.so.6"
    command = [compiler, "-shared", "-fPIC", f"-Wl,--version-script={tmp_path / 'versions'}", "-o", str(library)]
    subprocess.run([*command, str(tmp_path / "one.c")], check=True, timeout=60)
    return library


def test_the_newest_versions_of_a_library(old_library: Path) -> None:
    assert offered_versions(str(old_library)) == ("CXXABI_1.3.3", "GLIBCXX_3.4.13")


def test_versions_of_what_is_no_library(tmp_path: Path) -> None:
    (tmp_path / "junk").write_bytes(
        b"GLIBCXX_" + bytes(range(256)) * 50 + b"GLIBCXX_3.4.x\0GLIBCXX_DEBUG_MESSAGE_LENGTH\0"
    )
    assert offered_versions(str(tmp_path / "junk")) == ()
    assert offered_versions(str(tmp_path / "nothing")) == ()
    os.mkfifo(tmp_path / "pipe")
    assert offered_versions(str(tmp_path / "pipe")) == (), "nobody would ever write to it"


def test_the_systems_own_library_offers_both_families() -> None:
    own = next((each for each in loader_cache() or () if each.endswith("/libstdc++.so.6")), None)
    if own is None:
        pytest.skip("no libstdc++ in the loader's cache")
    assert [each.partition("_")[0] for each in offered_versions(own)] == ["CXXABI", "GLIBCXX"]
