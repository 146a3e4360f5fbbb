"""Finding files: every kind of thing that a folder may hold, and nothing dropped in silence."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from crashcart.data.state import State
from crashcart.errors import CannotCheckError, UsageError
from crashcart.probe.files_found import WITHIN, Aside, Found, find
from crashcart.probe.files_listed import names_in
from crashcart.probe.files_matched import HIDDEN, LINKED, LOOPED
from crashcart.sound import Wanted


def names(found: list[Found], root: Path) -> list[str]:
    return [os.path.relpath(each.source.path, root) for each in found]


def all_of(*paths: object, hidden: bool = False) -> tuple[list[Found], Aside]:
    aside = Aside()
    return list(find([str(each) for each in paths], aside, hidden)), aside


def test_a_folder_is_walked_in_order_with_sizes_and_times(tmp_path: Path) -> None:
    for name in ("b/2", "b/10", "a", "c"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    found, aside = all_of(tmp_path)
    assert names(found, tmp_path) == ["a", "b/10", "b/2", "c"]
    assert found[0].bytes == 1 and found[0].modified_ns == (tmp_path / "a").stat().st_mtime_ns
    assert not aside.counts


def test_hidden_files_are_looked_at_and_hidden_folders_are_named(tmp_path: Path) -> None:
    (tmp_path / "._a.jpg").touch()
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").touch()
    found, aside = all_of(tmp_path)
    assert names(found, tmp_path) == ["._a.jpg"]
    assert aside.counts == {HIDDEN: 1} and aside.examples[HIDDEN] == [str(tmp_path / ".git")]
    found, aside = all_of(tmp_path, hidden=True)
    assert names(found, tmp_path) == ["._a.jpg", ".git/HEAD"] and not aside.counts


def test_circles_of_links_are_told_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "file").touch()
    (tmp_path / "a" / "b" / "up").symlink_to(tmp_path)
    (tmp_path / "a" / "b" / "here").symlink_to(".")
    (tmp_path / "self").symlink_to("self")
    found, aside = all_of(tmp_path)
    assert names(found, tmp_path) == ["a/b/file", "self"], "a folder is no file, and nobody can read it"
    assert aside.counts == {LOOPED: 2}
    assert aside.examples[LOOPED] == [str(tmp_path / "a" / "b" / name) for name in ("here", "up")]
    by_pattern = Aside()
    assert [each.source.path for each in find([f"{tmp_path}/**/file"], by_pattern)] == [str(tmp_path / "a/b/file")]
    assert by_pattern.counts == {LOOPED: 2}


def test_a_link_to_a_folder_is_followed_once_and_only_where_it_leads_elsewhere(tmp_path: Path) -> None:
    data, other = tmp_path / "data", tmp_path / "other"
    (data / "real").mkdir(parents=True)
    other.mkdir()
    (data / "real" / "file").touch()
    (other / "file").touch()
    (other / "back").symlink_to(data / "real")
    (data / "again").symlink_to("real")
    (data / "out").symlink_to(other)
    (data / "out2").symlink_to(other)
    (data / "link").symlink_to("real/file")
    found, aside = all_of(data)
    assert names(found, data) == ["link", "out/file", "real/file"]
    assert aside.counts == {LINKED: 3}


def test_many_links_do_not_multiply(tmp_path: Path) -> None:
    """Thirty folders, each with two links to the next: a billion ways to the last one."""
    for number in range(30):
        folder = tmp_path / "chain" / str(number)
        folder.mkdir(parents=True)
        for name in ("l", "r"):
            (folder / name).symlink_to(tmp_path / "chain" / str(number + 1))
    (tmp_path / "chain" / "30").mkdir()
    (tmp_path / "chain" / "30" / "file").touch()
    found, _ = all_of(tmp_path / "chain" / "0")
    assert len([each for each in found if each.source.path.endswith("file")]) == 1


def test_special_files_and_dangling_links_are_found_and_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "dangling").symlink_to("nowhere")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "socket"))
        found, _ = all_of(tmp_path)
    assert names(found, tmp_path) == ["dangling", "fifo", "socket"]
    assert [each.bytes for each in found] == [None, None, None]


def test_names_of_any_bytes(tmp_path: Path) -> None:
    odd = [b"new\nline", b"\xff\xfe", b"tab\t", b"  ", b"-x", b"\xf0\x9f\x8d\x8e"]
    for name in odd:
        with open(os.path.join(os.fsencode(tmp_path), name), "wb") as file:
            file.write(b"x")
    found, _ = all_of(tmp_path)
    assert {os.fsencode(os.path.basename(each.source.path)) for each in found} == set(odd)
    assert all(each.bytes == 1 for each in found)


AS_NOBODY = """
import os, sys
from crashcart.probe import file_text  # imported before the rights are gone
from crashcart.probe.file_check import check
from crashcart.probe.files_found import Aside, find
from crashcart.sound import Wanted
os.setgid(65534); os.setuid(65534)
for each in find([sys.argv[1]], Aside()):
    fault = each.fault or next(iter(check(each.source, Wanted()).faults), None)
    print(os.path.basename(each.source.path), fault and fault.kind, fault and fault.weight, fault and fault.detail)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody who may not read")
def test_what_may_not_be_read_is_a_fault_and_no_gap() -> None:
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        root.chmod(0o755)
        (root / "closed").mkdir(mode=0o700)
        (root / "closed" / "file").touch()
        (root / "open.txt").write_text("text\n")
        (root / "secret.txt").write_text("text\n")
        (root / "secret.txt").chmod(0o600)
        done = subprocess.run([sys.executable, "-c", AS_NOBODY, name], capture_output=True, text=True, timeout=60)
    lines = done.stdout.splitlines()
    assert lines[0].startswith("closed unreadable damage the folder cannot be listed: Permission denied"), done.stderr
    assert lines[1:] == ["open.txt None None None", "secret.txt unreadable damage Permission denied (errno 13)"]


def test_files_patterns_and_lists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("x/a.jpg", "x/b.png", "y/c.jpg"):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).touch()
    assert names(all_of("x/a.jpg")[0], tmp_path) == ["x/a.jpg"]
    assert sorted(names(all_of("*/*.jpg")[0], tmp_path)) == ["x/a.jpg", "y/c.jpg"]
    assert sorted(names(all_of("**")[0], tmp_path)) == ["x/a.jpg", "x/b.png", "y/c.jpg"]
    Path("list.txt").write_text("x/a.jpg\n\nnot-there\r\n")
    assert [(each.source.path, each.bytes) for each in all_of("@list.txt")[0]] == [("x/a.jpg", 0), ("not-there", None)]


def test_a_folder_that_lies_in_another_is_looked_at_once_whatever_it_is_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("x/y").mkdir(parents=True)
    Path("x/y/file").touch()
    for paths in (["x", "./x"], ["x/y", str(tmp_path / "x")], ["x", "x/y/../y"]):
        found, aside = all_of(*paths)
        assert len(found) == 1 and aside.counts == {WITHIN: 1}, paths


def test_a_hidden_folder_that_was_named_is_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("x/.h/deep").mkdir(parents=True)
    Path("x/.h/deep/file").touch()
    Path("x/.other").mkdir()
    for paths in (["x", "x/.h"], ["x/.h", "x"], ["x", "x/.h/deep"]):
        found, aside = all_of(*paths)
        assert names(found, tmp_path) == ["x/.h/deep/file"], paths
        assert WITHIN not in aside.counts and "x/.other" in aside.examples[HIDDEN]
        assert ("x/.h" in aside.examples[HIDDEN]) is (paths[-1] == "x/.h/deep")
        found, aside = all_of(*paths, hidden=True)
        assert len(found) == 1 and aside.counts == {WITHIN: 1}, paths


def test_a_link_to_a_folder_behind_a_hidden_one_is_followed(tmp_path: Path) -> None:
    (tmp_path / ".h" / "deep").mkdir(parents=True)
    (tmp_path / ".h" / "deep" / "file").touch()
    (tmp_path / "link").symlink_to(".h/deep")
    found, aside = all_of(tmp_path)
    assert names(found, tmp_path) == ["link/file"] and aside.counts == {HIDDEN: 1}
    found, aside = all_of(tmp_path, hidden=True)
    assert names(found, tmp_path) == [".h/deep/file"] and aside.counts == {LINKED: 1}


def test_a_pattern_that_matches_nothing_is_told_beside_others_too(tmp_path: Path) -> None:
    (tmp_path / "a.png").touch()
    with pytest.raises(UsageError, match="nothing matches"):
        find([str(tmp_path / "a.png"), str(tmp_path / "*.jpg")], Aside())
    assert len(all_of(tmp_path / "a.png", tmp_path / "*.png")[0]) == 2


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("d/a/train/1.jpg", "d/b/train/2.jpg", "d/b/.h/3.jpg", "d/.h/train/4.jpg", "d/b/._5.jpg", "d/x.txt"):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).touch()
    return tmp_path


@pytest.mark.parametrize(
    ("pattern", "expected", "left"),
    [
        ("d/**/train", ["d/a/train/1.jpg", "d/b/train/2.jpg"], ["d/.h", "d/b/.h"]),
        ("d/**/t*n/*.jpg", ["d/a/train/1.jpg", "d/b/train/2.jpg"], ["d/.h", "d/b/.h"]),
        ("d/**/*.jpg", ["d/a/train/1.jpg", "d/b/._5.jpg", "d/b/train/2.jpg"], ["d/.h", "d/b/.h"]),
        ("d/b/*", ["d/b/._5.jpg", "d/b/train/2.jpg"], ["d/b/.h"]),
        ("d/*/*.jpg", ["d/b/._5.jpg"], ["d/.h"]),
        ("d/.*/**", ["d/.h/train/4.jpg"], []),
        ("d/**", ["d/a/train/1.jpg", "d/b/._5.jpg", "d/b/train/2.jpg", "d/x.txt"], ["d/.h", "d/b/.h"]),
        ("./d/[ab]/train/?.jpg", ["d/a/train/1.jpg", "d/b/train/2.jpg"], []),
        ("d/?.txt", ["d/x.txt"], []),
    ],
)
def test_what_a_pattern_leaves_out_is_told(tree: Path, pattern: str, expected: list[str], left: list[str]) -> None:
    found, aside = all_of(pattern)
    assert sorted(names(found, tree)) == expected
    assert aside.examples.get(HIDDEN, []) == left
    found, aside = all_of(tree / pattern)
    assert sorted(names(found, tree)) == expected


def test_patterns_look_into_hidden_folders_on_request(tree: Path) -> None:
    found, aside = all_of("d/**/[34].jpg", hidden=True)
    assert names(found, tree) == ["d/.h/train/4.jpg", "d/b/.h/3.jpg"] and not aside.counts
    found, aside = all_of("d/b/*h")
    assert found == [] and aside.counts == {HIDDEN: 1}


def test_circles_of_links_below_a_pattern_are_not_followed(tree: Path) -> None:
    (tree / "d" / "up").symlink_to(".")
    (tree / "other").mkdir()
    (tree / "other" / "6.jpg").touch()
    (tree / "d" / "a" / "out").symlink_to(tree / "other")
    found, aside = all_of("d/**/[16].jpg")
    assert names(found, tree) == ["d/a/out/6.jpg", "d/a/train/1.jpg"]
    assert aside.counts == {HIDDEN: 2, LOOPED: 1}


@pytest.mark.parametrize("path", ["nothing-here", "@nothing-here", "", "nonsense://bucket/key"])
def test_a_path_that_cannot_be_meant_is_told_before_anything_is_walked(path: str) -> None:
    with pytest.raises(UsageError):
        find([path], Aside())


def test_lists_with_nul_json_and_odd_names(tmp_path: Path) -> None:
    plain, zeros, lines = tmp_path / "plain.txt", tmp_path / "zeros", tmp_path / "list.jsonl"
    plain.write_bytes(b"a\n\xff\n" + b"n" * 100 + b"\nlast")
    zeros.write_bytes(b"a\nb\0c\0")
    lines.write_text('"a\\nb"\n{"path": "\\udcff", "kind": "truncated"}\n')
    assert list(names_in(str(plain))) == ["a", "\udcff", "n" * 100, "last"]
    assert list(names_in(str(zeros))) == ["a\nb", "c"]
    assert list(names_in(str(lines))) == ["a\nb", "\udcff"]


@pytest.mark.parametrize("name", ["\\ud800.jpg", "s3://bucket/\\ud800.jpg"])
def test_a_name_that_no_file_can_have_is_told_and_ends_nothing(tmp_path: Path, name: str) -> None:
    (tmp_path / "list.jsonl").write_text(f'"a"\n"{name}"\n"\\udcff"\n')
    found, _ = all_of(f"@{tmp_path}/list.jsonl")
    assert [each.source.path for each in found] == ["a", name, "\udcff"]
    assert [each.fault and each.fault.kind for each in found] == [None, "missing", None]
    state = State.passing(Wanted())
    assert len(state.claim(found)[0]) == 2
    assert [each.path for each in state.faulty()] == [name]


@pytest.mark.parametrize(("name", "content"), [("x.jsonl", "not json\n"), ("y.jsonl", "17\n"), ("z", "n" * 200_000)])
def test_what_is_no_list_is_said(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(CannotCheckError):
        list(names_in(str(tmp_path / name)))


def test_a_long_list_is_read_in_blocks(tmp_path: Path) -> None:
    wanted = [f"folder/{number:07d}" for number in range(30_000)]
    (tmp_path / "list").write_text("\n".join(wanted))
    assert list(names_in(str(tmp_path / "list"))) == wanted
