"""What an import would find, in real folders."""

from __future__ import annotations

import os
from pathlib import Path

from crashcart.installation import Distribution
from crashcart.probe.distributions import read_distributions
from crashcart.probe.modules import read_module, read_shadows, recorded_files


def _install(site: Path, name: str, files: dict[str, str], version: str = "1.0") -> None:
    """A distribution with its RECORD; its files replace those that lie there, as pip does."""
    record = []
    for path, text in files.items():
        (site / path).parent.mkdir(parents=True, exist_ok=True)
        (site / path).write_text(text)
        record.append(f"{path},sha256=x,{len(text)}")
    entry = site / f"{name.replace('-', '_')}-{version}.dist-info"
    entry.mkdir(parents=True)
    (entry / "METADATA").write_text(f"Name: {name}\nVersion: {version}\n")
    (entry / "RECORD").write_text("\n".join([*record, f"{entry.name}/RECORD,,"]) + "\n")


def _distributions(site: Path) -> tuple[Distribution, ...]:
    return read_distributions([str(site)]).distributions


FILES = {"tensorflow/__init__.py": "a", "tensorflow/core.py": "bb", "tensorflow/tests/x.py": "c"}


def test_a_module_and_its_owner(tmp_path: Path) -> None:
    _install(tmp_path, "tensorflow", FILES)
    (tmp_path / "tensorflow/tests/x.py").unlink()
    module = read_module("tensorflow", [str(tmp_path)], _distributions(tmp_path))
    assert module.file == str(tmp_path / "tensorflow/__init__.py")
    assert (module.owners, module.whole, module.missing_files, module.looked_for) == (
        ("tensorflow",),
        ("tensorflow",),
        0,
        2,
    )


def test_of_two_owners_the_last_one_is_whole(tmp_path: Path) -> None:
    _install(tmp_path, "tensorflow-cpu", FILES)
    _install(tmp_path, "tensorflow", FILES | {"tensorflow/core.py": "longer"})
    module = read_module("tensorflow", [str(tmp_path)], _distributions(tmp_path))
    assert sorted(module.owners) == ["tensorflow", "tensorflow-cpu"] and module.whole == ("tensorflow",)


def test_files_that_are_gone_are_counted(tmp_path: Path) -> None:
    _install(tmp_path, "tensorflow", FILES)
    (tmp_path / "tensorflow/core.py").unlink()
    module = read_module("tensorflow", [str(tmp_path)], _distributions(tmp_path))
    assert (module.missing_files, module.whole) == (1, ())


def test_a_folder_that_remains_is_a_remnant_and_keeps_its_claimant(tmp_path: Path) -> None:
    _install(tmp_path, "tensorflow-cpu", FILES)
    (tmp_path / "tensorflow/__init__.py").unlink()
    module = read_module("tensorflow", [str(tmp_path)], _distributions(tmp_path))
    assert (module.file, module.remnant, module.owners) == (None, str(tmp_path / "tensorflow"), ("tensorflow-cpu",))


def test_a_folder_does_not_come_before_a_real_module(tmp_path: Path) -> None:
    (tmp_path / "a/tensorflow").mkdir(parents=True)
    _install(tmp_path / "b", "tensorflow", FILES)
    module = read_module("tensorflow", [str(tmp_path / "a"), str(tmp_path / "b")], _distributions(tmp_path / "b"))
    assert module.remnant is None and module.file == str(tmp_path / "b/tensorflow/__init__.py")


def test_nothing_at_all(tmp_path: Path) -> None:
    module = read_module("tensorflow", [str(tmp_path)], [])
    assert (module.file, module.remnant, module.owners) == (None, None, ())


def test_a_record_with_odd_lines(tmp_path: Path) -> None:
    _install(tmp_path, "demo", {"demo.py": "x"})
    (tmp_path / "demo-1.0.dist-info/RECORD").write_bytes(b'"a,b.py",sha256=x,12\nlonely\n\xff\xfe,,\nsize.py,x,many\n')
    (found,) = _distributions(tmp_path)
    files = recorded_files(found)
    assert files["a,b.py"] == 12 and files["lonely"] is None and files["size.py"] is None


def test_without_a_record_nobody_owns_the_module(tmp_path: Path) -> None:
    _install(tmp_path, "tensorflow", FILES)
    (tmp_path / "tensorflow-1.0.dist-info/RECORD").unlink()
    assert read_module("tensorflow", [str(tmp_path)], _distributions(tmp_path)).owners == ()


def _layout(tmp_path: Path) -> tuple[str, str]:
    here, site = tmp_path / "work", tmp_path / "lib/site-packages"
    here.mkdir()
    _install(site, "tensorflow", FILES)
    return str(here), str(site)


def test_a_file_in_the_current_directory_hides_the_installed_module(tmp_path: Path) -> None:
    here, site = _layout(tmp_path)
    Path(here, "tensorflow.py").write_text("")
    (found,) = read_shadows(["tensorflow", "keras"], [], here, [site], site)
    assert (found.name, found.file) == ("tensorflow", str(Path(here, "tensorflow.py")))
    assert found.hidden == str(Path(site, "tensorflow/__init__.py")) and found.place == "the current directory"


def test_a_folder_without_init_hides_nothing(tmp_path: Path) -> None:
    here, site = _layout(tmp_path)
    Path(here, "tensorflow").mkdir()
    assert read_shadows(["tensorflow"], [], here, [site], site) == ()


def test_a_package_of_the_user_that_hides_nothing_is_left_alone(tmp_path: Path) -> None:
    here, site = _layout(tmp_path)
    Path(here, "keras.py").write_text("")
    assert read_shadows(["keras"], [], here, [site], site) == ()


def test_pythonpath_hides_and_a_directory_with_installations_does_not(tmp_path: Path) -> None:
    here, site = _layout(tmp_path)
    plain, target = tmp_path / "plain", tmp_path / "target"
    plain.mkdir()
    (plain / "tensorflow.py").write_text("")
    _install(target, "tensorflow", FILES)
    (found,) = read_shadows(["tensorflow"], [], here, [str(plain), site], site)
    assert found.place == f"{plain}, which is on PYTHONPATH"
    assert read_shadows(["tensorflow"], [], here, [str(target), site], site) == ()
    assert read_shadows(["tensorflow"], [], here, [site, str(plain)], site) == ()


def test_a_file_with_the_name_of_a_standard_module(tmp_path: Path) -> None:
    here, site = _layout(tmp_path)
    Path(here, "random.py").write_text("")
    (found,) = read_shadows([], ["random", "queue"], here, [site], site)
    assert (found.name, found.hidden) == ("random", None)


def test_the_standard_library_does_not_hide_itself(tmp_path: Path) -> None:
    here, site = _layout(tmp_path)
    for name in ("os.py", "random.py"):
        Path(here, name).write_text("")
    assert read_shadows([], ["random"], here, [site], site) == ()


def test_without_a_current_directory(tmp_path: Path) -> None:
    _, site = _layout(tmp_path)
    assert read_shadows(["tensorflow"], ["random"], "", [site], site) == ()


def test_a_pipe_in_the_place_of_a_record_is_not_waited_for(tmp_path: Path) -> None:
    _install(tmp_path, "numpy", {"numpy/__init__.py": ""})
    (distribution,) = _distributions(tmp_path)
    record = Path(distribution.folder, distribution.entry, "RECORD")
    record.unlink()
    os.mkfifo(record)
    assert read_module("numpy", [str(tmp_path)], [distribution]).owners == ()
