"""`crashcart jupyter` on kernelspecs, and kernels that start whatever has become of crashcart."""

from __future__ import annotations

import json
import shutil
import sys
import venv
from collections.abc import Callable
from pathlib import Path

import pytest
from live_kernels import Place

from bench import kernels

OTHER_LANGUAGE = {"argv": ["julia", "-i", "{connection_file}"], "display_name": "Julia", "language": "julia"}
UNDER_WATCH = "import os; print('CRASHCART_RECORDING' in os.environ)"


def snapshot(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_disable_puts_everything_back_to_the_letter(plain: Place) -> None:
    before = snapshot(plain.spec)
    plain.jupyter("enable")
    assert plain.facts()["metadata"]["debugger"] is True
    plain.jupyter("enable")
    plain.jupyter("enable", "--no-guard", "--limit", "2G")
    assert plain.facts()["metadata"]["crashcart"]["options"] == "--no-guard --limit=2147483648"
    assert "recorded only" in plain.jupyter("status")
    plain.jupyter("enable")
    assert plain.facts()["metadata"]["crashcart"]["options"] == ""
    plain.jupyter("disable")
    assert snapshot(plain.spec) == before
    plain.jupyter("disable")
    assert snapshot(plain.spec) == before


def test_a_kernelspec_that_an_upgrade_replaced_is_the_new_one_that_is_watched_and_put_back(watched: Place) -> None:
    new = json.dumps({"argv": [sys.executable, "-m", "ipykernel", "-f", "{connection_file}"], "language": "python",
                      "display_name": "newer"})  # fmt: skip
    (watched.spec / "kernel.json").write_text(new)
    assert "replaced since" in watched.jupyter("status")
    watched.jupyter("enable")
    assert watched.facts()["display_name"] == "newer"
    watched.jupyter("disable")
    assert (watched.spec / "kernel.json").read_text() == new
    assert not [name for name in snapshot(watched.spec) if "crashcart" in name]


def test_a_lost_copy_of_the_kernelspec_is_made_from_ours(watched: Place) -> None:
    argv = watched.facts()["metadata"]["crashcart"]["argv"]
    (watched.spec / "kernel.json.before-crashcart").unlink()
    watched.jupyter("disable")
    assert watched.facts()["argv"] == argv and "crashcart" not in watched.facts()["metadata"]


def test_a_kernel_of_another_language_is_left_alone(plain: Place) -> None:
    folder = plain.spec.parent / "julia"
    folder.mkdir()
    (folder / "kernel.json").write_text(json.dumps(OTHER_LANGUAGE))
    before = snapshot(folder)
    assert "another language" in plain.crashcart("jupyter", "status").stdout
    refused = plain.crashcart("jupyter", "enable", "--kernel", "julia")
    assert refused.returncode == 3 and "julia is no kernel of Python" in refused.stderr
    assert snapshot(folder) == before


def test_an_unknown_kernel_is_said_and_nothing_is_changed(plain: Place) -> None:
    before = snapshot(plain.spec)
    done = plain.crashcart("jupyter", "enable", "--kernel", "nope")
    assert done.returncode == 3 and "Jupyter knows no kernel nope" in done.stderr
    assert snapshot(plain.spec) == before


def test_a_kernelspec_with_arguments_and_variables_of_its_own(plain: Place) -> None:
    facts = plain.facts()
    facts["argv"] = [sys.executable, "-X", "utf8", *facts["argv"][1:], "--IPKernelApp.capture_fd_output=False"]
    facts["env"] = {"MY_SETTING": "a b"}
    (plain.spec / "kernel.json").write_text(json.dumps(facts))
    plain.jupyter("enable")
    kernel = plain.start()
    code = "import os, sys; print(os.environ['MY_SETTING'], sys.flags.utf8_mode, 'CRASHCART_RECORDING' in os.environ)"
    assert kernel.run(code) == "a b 1 True\n"
    assert (
        kernel.run("from ipykernel.kernelapp import IPKernelApp as App; print(App.instance().capture_fd_output)")
        == "False\n"
    )


def edit(place: Place, change: Callable[[list[str]], list[str]]) -> None:
    facts = place.facts()
    (place.spec / "kernel.json").write_text(json.dumps({**facts, "argv": change(facts["argv"])}))


def copied_package(place: Place) -> Path:
    """A crashcart of the test's own, which the kernelspec is pointed to."""
    import crashcart

    home = Path(crashcart.__file__).parent
    copy = place.folder / "package" / "crashcart"
    shutil.copytree(home, copy, ignore=shutil.ignore_patterns("__pycache__", "*.so"))
    edit(place, lambda argv: [each.replace(str(home), str(copy)) for each in argv])
    return copy


def test_a_kernel_whose_crashcart_is_gone_starts_plainly_and_is_put_back(plain: Place) -> None:
    before = snapshot(plain.spec)
    plain.jupyter("enable")
    shutil.rmtree(copied_package(plain))
    assert plain.start().run(UNDER_WATCH) == "False\n"
    assert snapshot(plain.spec) == before


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("jupyter/kernel.py", "raise RuntimeError('broken')\n"),
        ("jupyter/kernel.py", "this is no Python\n"),
        ("record/session.py", "raise ImportError('broken')\n"),
        ("__init__.py", "raise RuntimeError('broken')\n"),
        ("record/watch.py", "raise RuntimeError('broken')\n"),
    ],
)
def test_a_broken_crashcart_never_keeps_a_kernel_from_starting(watched: Place, file: str, text: str) -> None:
    (copied_package(watched) / file).write_text(text)
    assert watched.start().run("print(1 + 1)") == "2\n"


def test_a_home_that_may_not_be_written(watched: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    (watched.folder / "file").write_text("")
    monkeypatch.setenv("CRASHCART_HOME", str(watched.folder / "file" / "home"))
    kernel = watched.start()
    assert kernel.run(UNDER_WATCH) == "False\n"
    assert kernel.run("print('alive')") == "alive\n"


def test_a_kernel_of_an_environment_without_crashcart(plain: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has ipykernel, and not crashcart: it is watched from outside, and asks the watcher's interpreter why it died."""
    import ipykernel

    folder = plain.folder / "environment"
    venv.create(folder, symlinks=True, with_pip=False)
    packages = plain.folder / "packages"
    packages.mkdir()
    for path in Path(ipykernel.__file__).parent.parent.iterdir():
        if "crashcart" not in path.name and path.suffix != ".pth":
            (packages / path.name).symlink_to(path)
    (next(folder.glob("lib/python*/site-packages")) / "others.pth").write_text(str(packages))
    plain.jupyter("enable")
    monkeypatch.delenv("PYTHONPATH", raising=False)
    edit(
        plain,
        lambda argv: [*argv[: argv.index("--") + 1], str(folder / "bin" / "python"), *argv[argv.index("--") + 2 :]],
    )
    kernel = plain.start()
    assert "ModuleNotFoundError" in kernel.run("import crashcart")
    told = kernel.run("import ctypes\nctypes.string_at(0)")
    assert "native code" in told and "cell [2], line 2" in told
    assert kernels.recordings(plain.folder)
    kernel.manager.restart_kernel(now=True)
    kernel.client.wait_for_ready(timeout=30)
    assert "cell [2], line 2" in kernel.run("%why")


def test_a_copy_of_a_watched_kernelspec_stands_by_itself(watched: Place) -> None:
    """The usual way to make a variant: copy the folder."""
    shutil.copytree(watched.spec, watched.spec.with_name("mine"))
    watched.jupyter("disable")
    kernel = watched.start(name="mine")
    assert "2" in kernel.run("print(1 + 1)")


def test_another_finder_of_modules_does_not_keep_the_kernel_from_starting(
    watched: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = watched.folder / "site"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(
        "import sys\nclass Old:\n    def find_module(self, *a): return None\nsys.meta_path.insert(0, Old())\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(folder))
    assert "2" in watched.start().run("print(1 + 1)")
