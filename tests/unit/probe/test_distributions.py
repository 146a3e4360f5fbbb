"""Metadata on disk, with all that can be wrong with it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from crashcart.probe.distributions import read_conda, read_distributions

GOOD = "Metadata-Version: 2.1\nName: demo\nVersion: 1.2\nRequires-Python: >=3.9\nRequires-Dist: numpy<2\n\nRequires-Dist: not-a-header\n"


def _entry(site: Path, name: str, metadata: bytes | str | None = GOOD, **files: str) -> Path:
    entry = site / name
    entry.mkdir(parents=True)
    if metadata is not None:
        (entry / "METADATA").write_bytes(metadata if isinstance(metadata, bytes) else metadata.encode())
    for file, text in files.items():
        (entry / file).write_text(text)
    return entry


def test_where_a_wheel_came_from_and_what_it_is_for(tmp_path: Path) -> None:
    wheel = "Wheel-Version: 1.0\nTag: cp311-cp311-linux_x86_64\nTag: cp311-cp311-manylinux1_x86_64\n"
    address = '{"archive_info": {}, "url": "https://ada:secret@example.org/tensorflow.whl"}'
    _entry(tmp_path, "demo-1.2.dist-info", WHEEL=wheel, **{"direct_url.json": address})
    (found,) = read_distributions([str(tmp_path)]).distributions
    assert found.tags == ("cp311-cp311-linux_x86_64", "cp311-cp311-manylinux1_x86_64")
    assert found.origin is not None and found.origin.endswith("example.org/tensorflow.whl")
    assert "secret" not in found.origin


@pytest.mark.parametrize("text", ["", "[]", "{" * 9000, '{"url": 3}', "\x00"])
def test_an_origin_that_cannot_be_read_is_one_all_the_same(tmp_path: Path, text: str) -> None:
    _entry(tmp_path, "demo-1.2.dist-info", **{"direct_url.json": text})
    (found,) = read_distributions([str(tmp_path)]).distributions
    assert (found.origin, found.tags, found.fault) == ("direct_url.json", (), None)


def test_what_an_index_gave_has_no_origin(tmp_path: Path) -> None:
    _entry(tmp_path, "demo-1.2.dist-info")
    (found,) = read_distributions([str(tmp_path)]).distributions
    assert (found.origin, found.tags) == (None, ())


def test_what_metadata_says(tmp_path: Path) -> None:
    _entry(tmp_path, "Demo_Thing-1.2.dist-info", INSTALLER="pip\n")
    (found,) = read_distributions([str(tmp_path)]).distributions
    assert (found.name, found.version, found.installer, found.fault) == ("demo-thing", "1.2", "pip", None)
    assert found.requires == ("numpy<2",) and found.requires_python == ">=3.9"
    assert (found.folder, found.entry) == (str(tmp_path), "Demo_Thing-1.2.dist-info")


@pytest.mark.parametrize(
    ("metadata", "fault"),
    [
        (None, "METADATA cannot be read: No such file or directory"),
        ("", "METADATA names no version"),
        ("Name: demo\n\nVersion: 1\n", "METADATA names no version"),
        ("Version: 1.2\n", "METADATA names no name"),
        (bytes(range(256)) * 64, "METADATA names no version"),
    ],
    ids=["no-file", "empty", "version-in-the-body", "no-name", "binary-junk"],
)
def test_broken_metadata_is_said_and_the_name_of_the_folder_still_tells(
    tmp_path: Path, metadata: bytes | str | None, fault: str
) -> None:
    _entry(tmp_path, "demo-1.2.dist-info", metadata)
    (found,) = read_distributions([str(tmp_path)]).distributions
    assert (found.name, found.version, found.fault, found.requires) == ("demo", "1.2", fault, None)


def test_a_metadata_file_that_is_a_folder_or_a_loop_is_a_fault(tmp_path: Path) -> None:
    _entry(tmp_path, "one-1.0.dist-info", None).joinpath("METADATA").mkdir()
    loop = _entry(tmp_path, "two-1.0.dist-info", None) / "METADATA"
    loop.symlink_to(loop)
    assert all(
        each.fault and "cannot be read" in each.fault for each in read_distributions([str(tmp_path)]).distributions
    )


def test_huge_metadata_is_read_in_part(tmp_path: Path) -> None:
    _entry(tmp_path, "demo-1.2.dist-info", GOOD + "x" * (4 << 20))
    (found,) = read_distributions([str(tmp_path)]).distributions
    assert found.fault is None and found.requires == ("numpy<2",)


def test_egg_info_as_a_folder_and_as_a_file(tmp_path: Path) -> None:
    egg = tmp_path / "old-0.9-py3.8.egg-info"
    egg.mkdir()
    (egg / "PKG-INFO").write_text("Name: old\nVersion: 0.9\n")
    (egg / "requires.txt").write_text("six>=1\n\n[extra]\nother\n")
    (tmp_path / "flat-2.0.egg-info").write_text("Name: flat\nVersion: 2.0\n")
    flat, old = read_distributions([str(tmp_path)]).distributions
    assert (old.name, old.requires, old.fault) == ("old", ("six>=1",), None)
    assert (flat.name, flat.requires, flat.fault) == ("flat", (), None)


def test_of_two_entries_the_later_one_comes_first_and_neither_is_hidden(tmp_path: Path) -> None:
    for version, at in (("1.9", 1000), ("1.10", 2000), ("1.8", 500)):
        entry = _entry(tmp_path, f"demo-{version}.dist-info", f"Name: demo\nVersion: {version}\n")
        os.utime(entry, (at, at))
    found = read_distributions([str(tmp_path)]).distributions
    assert [(each.version, each.shadowed) for each in found] == [("1.10", False), ("1.9", False), ("1.8", False)]


def test_an_earlier_directory_hides_a_later_one(tmp_path: Path) -> None:
    _entry(tmp_path / "a", "demo-1.2.dist-info")
    _entry(tmp_path / "b", "demo-1.3.dist-info", GOOD.replace("1.2", "1.3"))
    found = read_distributions([str(tmp_path / "a"), str(tmp_path / "b"), str(tmp_path / "a")]).distributions
    assert [(each.version, each.shadowed) for each in found] == [("1.2", False), ("1.3", True)]


def test_directories_that_are_not_there_are_no_fault(tmp_path: Path) -> None:
    (tmp_path / "file.zip").write_text("")
    found = read_distributions([str(tmp_path / "none"), str(tmp_path / "file.zip")])
    assert found.distributions == () and found.unreadable == ()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every directory")
def test_a_directory_that_may_not_be_read_is_said(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o000)
    try:
        assert read_distributions([str(closed)]).unreadable == (f"{closed}: Permission denied",)
    finally:
        closed.chmod(0o700)


def test_a_directory_that_cannot_be_read_is_said_also_to_root(tmp_path: Path) -> None:
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    assert read_distributions([str(loop)]).unreadable == (f"{loop}: Too many levels of symbolic links",)


def _left(directory: Path, *modules: str) -> list[str]:
    return [Path(each).name for each in read_distributions([str(directory)], modules).leftovers]


def test_what_pip_left_behind(tmp_path: Path) -> None:
    site = tmp_path / "site-packages"
    _entry(site, "~umpy-1.26.4.dist-info")
    for name in ("~umpy", "~ensorflow", "~-ras", "keras"):
        (site / name).mkdir()
    assert read_distributions([str(site)]).distributions == ()
    assert _left(site, "tensorflow") == ["~-ras", "~ensorflow", "~umpy", "~umpy-1.26.4.dist-info"]
    assert _left(site) == ["~-ras", "~umpy", "~umpy-1.26.4.dist-info"]


def test_what_the_user_named_with_a_tilde_is_not_pip_s(tmp_path: Path) -> None:
    """Neither in a project on PYTHONPATH, whatever it is called, nor where packages are installed."""
    project, site = tmp_path / "project", tmp_path / "site-packages"
    for folder in (project, site):
        for name in ("~old-results", "~data", "numpy"):
            (folder / name).mkdir(parents=True)
        (folder / "~$report.docx").write_text("")
        (folder / "notes.dist-info~").write_text("")
    (project / "~umpy").mkdir()
    _entry(project, "~umpy-1.26.4.dist-info")
    assert _left(project, "numpy") == []
    assert _left(site, "numpy") == []


def _develop(source: Path, name: str = "my_lib", version: str = "0.3") -> Path:
    egg = source / f"{name}.egg-info"
    egg.mkdir(parents=True)
    (egg / "PKG-INFO").write_text(f"Name: {name}\nVersion: {version}\n")
    (egg / "requires.txt").write_text("six\n")
    return egg


def test_a_development_install_beside_its_source(tmp_path: Path) -> None:
    _develop(tmp_path / "src")
    (found,) = read_distributions([str(tmp_path / "src")]).distributions
    assert (found.name, found.version, found.requires, found.fault) == ("my-lib", "0.3", ("six",), None)
    assert found.origin == str(tmp_path / "src")


def test_a_link_to_a_source_folder_is_followed_once(tmp_path: Path) -> None:
    site, source = tmp_path / "site-packages", tmp_path / "src"
    _develop(source)
    site.mkdir()
    (site / "my-lib.egg-link").write_text(f"{source}\n../")
    for path in ([site], [site, source], [source, site]):
        (found,) = read_distributions(map(str, path)).distributions
        assert (found.name, found.version, found.folder, found.shadowed) == ("my-lib", "0.3", str(source), False)


@pytest.mark.parametrize("text", ["/none/of/this\n.", "", "\0\xff", "x" * 9000], ids=["gone", "empty", "junk", "long"])
def test_a_link_to_nowhere_still_names_what_is_installed(tmp_path: Path, text: str) -> None:
    (tmp_path / "mylib.egg-link").write_text(text)
    found = read_distributions([str(tmp_path)])
    assert [(each.name, each.version) for each in found.distributions] == [("mylib", None)]
    assert found.unreadable == ()


@pytest.mark.parametrize(
    ("text", "origin"),
    [
        (
            '{"url": "https://ada:hush@x.example/a.git", "vcs_info": {"vcs": "git", "commit_id": "ab12"}}',
            "git+https://[redacted]@x.example/a.git@ab12",
        ),
        ('{"url": "file:///home/ada/demo-1.2.whl", "archive_info": {}}', "file:///home/ada/demo-1.2.whl"),
        ('{"url": 3}', "direct_url.json"),
        ("[]", "direct_url.json"),
        ("{", "direct_url.json"),
    ],
    ids=["repository", "file", "wrong-type", "list", "broken"],
)
def test_where_it_was_installed_from(tmp_path: Path, text: str, origin: str) -> None:
    _entry(tmp_path, "demo-1.2.dist-info", **{"direct_url.json": text})
    _entry(tmp_path, "plain-1.2.dist-info")
    assert [each.origin for each in read_distributions([str(tmp_path)]).distributions] == [origin, None]


def test_what_conda_wrote_down(tmp_path: Path) -> None:
    folder = tmp_path / "conda-meta"
    folder.mkdir()
    for name in ("numpy-1.26.4-py311h64a7726_0.json", "typing_extensions-4.12.2-pyha770c72_0.json", "history"):
        (folder / name).write_text("{}")
    assert read_conda(str(tmp_path)) == {"numpy": "1.26.4", "typing-extensions": "4.12.2"}
    assert read_conda(str(tmp_path / "none")) is None and read_conda(None) is None


def test_a_pipe_in_the_place_of_metadata_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(_entry(tmp_path, "numpy-1.26.4.dist-info", None) / "METADATA")
    (found,) = read_distributions([str(tmp_path)]).distributions
    assert (found.name, found.version) == ("numpy", "1.26.4")
    assert found.fault == "METADATA cannot be read: it is a pipe, not a file"
