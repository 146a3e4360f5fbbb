"""Plans as files have them: what is read, what is said to be unread, and bad input."""

from __future__ import annotations

import codecs
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crashcart.errors import CannotCheckError, CrashcartError, UsageError
from crashcart.installation import Plan, Wanted
from crashcart.probe.plan import is_plan, read_plan
from crashcart.probe.plan_conda import conda_range
from crashcart.probe.plan_poetry import poetry_range


def plan(folder: Path, text: str | bytes, name: str = "requirements.txt") -> Plan:
    file = folder / name
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_plan([str(file)])


def pairs(found: Plan) -> list[tuple[str, str]]:
    return [(each.name, each.specifier) for each in found.wanted]


def only(found: Plan) -> Wanted:
    (each,) = found.wanted
    return each


def test_a_requirements_file_with_all_that_pip_allows(tmp_path: Path) -> None:
    found = plan(
        tmp_path,
        "\ufeff# what we need\r\n"
        "--index-url https://pkg.example/simple\r\n"
        "tensorflow[and-cuda] == 2.15.0  # the GPU build\r\n"
        "numpy>=1.23.5,\\\r\n   <2\r\n"
        "h5py==3.10.0 --hash=sha256:00 \\\r\n    --hash=sha256:11\r\n"
        'scipy; python_version < "3.12"\r\n'
        "Keras_Preprocessing\r\n",
    )
    assert pairs(found) == [
        ("tensorflow", "==2.15.0"),
        ("numpy", "<2,>=1.23.5"),
        ("h5py", "==3.10.0"),
        ("scipy", ""),
        ("keras-preprocessing", ""),
    ]
    assert found.wanted[0].extras == ("and-cuda",)
    assert [each.line for each in found.wanted] == [3, 4, 6, 8, 9]
    assert found.wanted[3].marker == 'python_version < "3.12"'
    assert not found.unread


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "utf-32", "latin-1"])
def test_encodings_that_editors_and_shells_write(tmp_path: Path, encoding: str) -> None:
    found = plan(tmp_path, "# caf\xe9\ntensorflow==2.15.0\n".encode(encoding))
    assert pairs(found) == [("tensorflow", "==2.15.0")]


def test_included_files_are_relative_to_the_file_that_names_them(tmp_path: Path) -> None:
    (tmp_path / "base").mkdir()
    (tmp_path / "base" / "common.txt").write_text("-c limits.txt\nnumpy\n")
    (tmp_path / "base" / "limits.txt").write_text("numpy<2\n")
    found = plan(tmp_path, "-r base/common.txt\ntensorflow\n--requirement=base/common.txt\n")
    assert [(each.name, each.specifier, each.constraint) for each in found.wanted] == [
        ("numpy", "<2", True), ("numpy", "", False), ("tensorflow", "", False),
        ("numpy", "<2", True), ("numpy", "", False),
    ]  # fmt: skip
    assert found.wanted[0].place.endswith("limits.txt line 1")
    assert not found.missing


def test_a_file_that_includes_itself_is_said_and_read_once(tmp_path: Path) -> None:
    (tmp_path / "dev.txt").write_text("-r requirements.txt\npytest\n")
    found = plan(tmp_path, "tensorflow\n-r dev.txt\n")
    assert pairs(found) == [("tensorflow", ""), ("pytest", "")]
    assert not found.missing
    assert [each.split("dev.txt line 1: ")[1] for each in found.circular] == [
        "requirements.txt includes itself, which pip refuses"
    ]


def test_an_included_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    found = plan(tmp_path, "tensorflow\n-r nowhere.txt\n-r https://pkg.example/more.txt\n")
    assert "nowhere.txt cannot be read: No such file" in found.missing[0]
    assert "on the network" in found.unread[0]


def test_addresses_wheels_and_folders(tmp_path: Path) -> None:
    found = plan(
        tmp_path,
        "https://pkg.example/tensorflow_cpu-2.15.0-cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64.whl\n"
        "numpy @ https://pkg.example/numpy-1.26.4-cp311-cp311-manylinux_2_17_x86_64.whl\n"
        "git+https://code.example/keras.git@main#egg=keras\n"
        "-e .\n"
        "./other\n",
    )
    assert [(each.name, each.exact, each.opaque) for each in found.wanted] == [
        ("tensorflow-cpu", "2.15.0", True), ("numpy", "1.26.4", True), ("keras", None, True),
    ]  # fmt: skip
    assert len(found.unread) == 2


@pytest.mark.parametrize("line", ["tensorflow=2.15", "numpy >=> 2", "--no-such-option x", "tensorflow[", "=="])
def test_what_is_not_understood_is_said_with_its_line(tmp_path: Path, line: str) -> None:
    found = plan(tmp_path, f"numpy\n{line}\n")
    assert pairs(found) == [("numpy", "")]
    assert "line 2" in found.unread[0]


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"", "is empty"),
        (b"\n  \n", "is empty"),
        (b"# nothing\n", "asks for nothing"),
        (b"\x7fELF\x02\x01\x00\x00\x00", "not text"),
        (codecs.BOM_UTF16_LE + b"a", "not text"),
    ],
)
def test_no_plan_at_all(tmp_path: Path, raw: bytes, said: str) -> None:
    with pytest.raises(CannotCheckError, match=said):
        plan(tmp_path, raw)


def test_a_file_that_is_not_there_a_folder_and_another_kind(tmp_path: Path) -> None:
    with pytest.raises(CannotCheckError, match="No such file"):
        read_plan([str(tmp_path / "requirements.txt")])
    (tmp_path / "folder.txt").mkdir()
    with pytest.raises(CannotCheckError, match="Is a directory"):
        read_plan([str(tmp_path / "folder.txt")])
    with pytest.raises(UsageError, match="no plan"):
        read_plan([str(tmp_path / "Pipfile")])
    assert is_plan("pyproject.toml[gpu]") and is_plan("environment.yml") and not is_plan("train.py")


PROJECT = """
[project]
name = "x"
requires-python = ">=3.9,<3.12"
dependencies = [
    "tensorflow>=2.15",  # or later
    "numpy<2",
]
[project.optional-dependencies]
text = ["tensorflow-text"]
[dependency-groups]
test = ["pytest", {include-group = "lint"}]
lint = ["ruff", {include-group = "test"}]
"""


def test_a_project_with_its_python_and_the_groups_that_are_asked_for(tmp_path: Path) -> None:
    found = plan(tmp_path, PROJECT, "pyproject.toml")
    assert pairs(found) == [("tensorflow", ">=2.15"), ("numpy", "<2")]
    assert (found.python, [each.line for each in found.wanted]) == (">=3.9,<3.12", [6, 7])
    with_text = read_plan([f"{tmp_path}/pyproject.toml[text,test]"])
    assert [each.name for each in with_text.wanted] == ["tensorflow", "numpy", "tensorflow-text", "pytest", "ruff"]
    with pytest.raises(UsageError, match="no group docs"):
        read_plan([f"{tmp_path}/pyproject.toml[docs]"])


def test_where_only_a_group_has_tensorflow_it_is_judged(tmp_path: Path) -> None:
    found = plan(
        tmp_path, '[project]\nname="x"\n[project.optional-dependencies]\ntf=["tensorflow"]\n', "pyproject.toml"
    )
    assert pairs(found) == [("tensorflow", "")]
    assert found.file.endswith("pyproject.toml[tf]")


def test_poetrys_table(tmp_path: Path) -> None:
    found = plan(
        tmp_path,
        '[tool.poetry.dependencies]\npython = "^3.10"\ntensorflow = "^2.15"\n'
        'numpy = [{version = "1.24.*", python = "<3.11"}, {version = "~1.26", markers = "sys_platform == \'linux\'"}]\n'
        'keras = {git = "https://code.example/keras.git"}\nscipy = {version = "1.11.4", optional = true}\n'
        'h5py = ">=3.8 || <3"\n',
        "pyproject.toml",
    )
    assert found.python == "<4,>=3.10"
    assert [(each.name, each.specifier, each.marker) for each in found.wanted] == [
        ("tensorflow", "<3,>=2.15", None),
        ("numpy", "==1.24.*", 'python_full_version < "3.11"'),
        ("numpy", "<1.27,>=1.26", 'sys_platform == "linux"'),
        ("keras", "", None),
    ]
    assert found.wanted[0].line == 3
    assert "alternatives" in found.unread[0]


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("^1.2.3", "<2,>=1.2.3"), ("^0.2.3", "<0.3,>=0.2.3"), ("^0.0.3", "<0.0.4,>=0.0.3"), ("^0", "<1,>=0"),
        ("~1.2.3", "<1.3,>=1.2.3"), ("~1", "<2,>=1"), ("2.15.0", "==2.15.0"), ("2.15.*", "==2.15.*"), ("*", ""),
        (">=2.1,<3", "<3,>=2.1"), ("~=2.15", "~=2.15"), (">=2.1 <3", "<3,>=2.1"), ("=2.15.1", "==2.15.1"),
    ],
)  # fmt: skip
def test_poetrys_ranges(said: str, meant: str) -> None:
    assert poetry_range(said) == meant


@pytest.mark.parametrize(
    ("text", "said"),
    [("[project", "not valid TOML"), ("[tool.black]\nline-length = 1\n", "no \\[project\\]")],
)
def test_a_project_file_that_says_nothing(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(CannotCheckError, match=said):
        plan(tmp_path, text, "pyproject.toml")


@pytest.mark.parametrize(
    "text",
    [
        "[project]\ndependencies = 5\n",
        '[project]\ndependencies = [5, {a = 1}, ""]\nrequires-python = 3.1\n',
        "[tool.poetry.dependencies]\npython = 3\ntensorflow = 5\n",
        '[tool.poetry.dependencies]\npython = ">=3 || <2"\n',
        "[tool.poetry.dependencies]\ntensorflow = {version = 5, extras = 3, markers = 4, python = 5}\n",
        '[tool.poetry.dependencies]\ntensorflow = {version = "^2", markers = "foo bar"}\n',
    ],
)
def test_values_of_another_type_are_said_to_be_unread(tmp_path: Path, text: str) -> None:
    assert plan(tmp_path, text, "pyproject.toml").unread


@pytest.mark.parametrize(
    "text",
    [
        "[project]\ndynamic = 5\noptional-dependencies = 5\n",
        "[tool.poetry]\ndependencies = 5\nextras = {a = 5}\ngroup = {b = 5}\n",
        "[dependency-groups]\na = 5\nb = [{include-group = 5}, {x = 1}]\n",
    ],
)
def test_tables_of_another_type_have_nothing_in_them(tmp_path: Path, text: str) -> None:
    assert not plan(tmp_path, text, "pyproject.toml").wanted


def test_dependencies_that_a_build_computes_are_said(tmp_path: Path) -> None:
    found = plan(tmp_path, '[project]\nname = "x"\ndynamic = ["dependencies"]\n', "pyproject.toml")
    assert "dynamic" in found.unread[0]


ENVIRONMENT = """\
name: deep
channels: [conda-forge, defaults]
dependencies:
  - python=3.11  # not later
  - conda-forge::numpy=1.26
  - "h5py>=3.8,<3.12"
  - scipy 1.11.*
  - cudnn=8.9.2=cuda11_0
  - pip
  - pip:
      - tensorflow==2.15.0
      - 'tf-keras'
      -  -r more.txt
variables:
  TF_USE_LEGACY_KERAS: "1"
"""


def test_an_environment_of_conda_with_a_list_for_pip(tmp_path: Path) -> None:
    (tmp_path / "more.txt").write_text("keras<3\n")
    found = plan(tmp_path, ENVIRONMENT, "environment.yml")
    assert (found.python, found.tool) == ("==3.11.*", "conda")
    assert [(each.name, each.specifier, each.by) for each in found.wanted] == [
        ("numpy", "==1.26.*", "conda"), ("h5py", "<3.12,>=3.8", "conda"), ("scipy", "==1.11.*", "conda"),
        ("cudnn", "==8.9.2.*", "conda"), ("pip", "", "conda"), ("tensorflow", "==2.15.0", "pip"),
        ("tf-keras", "", "pip"), ("keras", "<3", "pip"),
    ]  # fmt: skip
    assert found.variables == {"TF_USE_LEGACY_KERAS": "1"}
    assert not found.unread


def test_lists_without_indent_and_in_brackets(tmp_path: Path) -> None:
    plain = plan(tmp_path, "dependencies:\n- python=3.10\n- pip:\n  - tensorflow\n- numpy\n", "environment.yml")
    assert [(each.name, each.by) for each in plain.wanted] == [("tensorflow", "pip"), ("numpy", "conda")][::-1]
    flow = plan(tmp_path, 'dependencies: [python=3.10, "numpy>=1,<2"]\n', "environment.yaml")
    assert pairs(flow) == [("numpy", "<2,>=1")]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name: x\n", "no `dependencies:` list"),
        ("dependencies:\n\t- numpy\n", "tab"),
        ("just words\n", "line 1 is not understood"),
        ("dependencies: numpy\n", "no list"),
        ("dependencies:\n", "asks for nothing"),
    ],
)
def test_a_file_of_another_kind(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(CannotCheckError, match=said):
        plan(tmp_path, text, "environment.yml")


def test_yaml_that_is_not_read_is_said(tmp_path: Path) -> None:
    found = plan(tmp_path, "dependencies:\n  - *base\n  - numpy>=1|<3\n  - numpy\n", "environment.yml")
    assert pairs(found) == [("numpy", "")]
    assert [each.split(": ")[0].rpartition(" ")[2] for each in found.unread] == ["2", "3"]


@pytest.mark.parametrize(
    ("said", "meant"),
    [("=1.26", "==1.26.*"), ("==1.26.4", "==1.26.4"), ("=1.26.*", "==1.26.*"), ("1.26*", "==1.26.*"), (">=1.2,<2", "<2,>=1.2"),
     ("=1.26.4=py311_0", "==1.26.4.*"), ("*", ""), ("=*=cpu*", "")],
)  # fmt: skip
def test_condas_ranges(said: str, meant: str) -> None:
    assert conda_range(said) == meant


@settings(max_examples=150, deadline=None)
@given(
    raw=st.one_of(
        st.binary(max_size=200),
        st.lists(
            st.sampled_from(
                ["dependencies:", "- pip:", "  - ", "numpy", "=", "==", "1.2", "[", "]", "\n", "\\\n", "-r ", "-e", "--", "#",
                 '"', "'", "[project]\n", "dependencies=", "[tool.poetry.dependencies]\n", "x", " ", ";", "{", "}", "^", "|",
                 "python", "@", "://", "\t", "\r", "\x00", "é"]
            ),
            max_size=30,
        ).map(lambda parts: "".join(parts).encode()),
    ),
    name=st.sampled_from(["requirements.txt", "pyproject.toml", "environment.yml"]),
)  # fmt: skip
def test_whatever_is_in_the_file_nothing_but_our_own_errors(
    raw: bytes, name: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = tmp_path_factory.getbasetemp() / name
    file.write_bytes(raw)
    try:
        found = read_plan([str(file)])
    except CrashcartError:
        return
    assert found.file


TOKEN = "ghp_" + "aB3" * 12


@pytest.mark.parametrize(
    "line",
    [
        f"-e git+https://{TOKEN}@code.example/me/it.git",
        "https://me:hunter2@pkg.example/bar.tar.gz",
        "-r https://me:hunter2@pkg.example/more.txt",
        "it @ https://me:hunter2@pkg.example/it-1.0.tar.gz",
        f"git+https://{TOKEN}@code.example/me/it.git#egg=it",
        "https://me:hunter2@pkg.example/it-1.0-py3-none-any.whl",
        "it = https://me:hunter2@pkg.example/it.zip",
        f"--find-link https://me:hunter2@pkg.example/{'x' * 200}",
        "--password hunter2",
        f"https://me:{'hunter2' * 20}@pkg.example/bar.tar.gz",
    ],
)
def test_no_secret_of_a_line_gets_into_a_text(tmp_path: Path, line: str) -> None:
    found = plan(tmp_path, f"numpy\n{line}\n")
    texts = [*found.unread, *(each.text for each in found.wanted if each.name != "numpy")]
    assert len(texts) == 1
    assert "hunter2" not in texts[0] and TOKEN[:12] not in texts[0] and "[redacted]" in texts[0]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("environment.yml", "dependencies:\n  - numpy\n  - {url: 'https://me:hunter2@pkg.example/it'}\n"),
        ("environment.yml", "dependencies:\n  - numpy\n  - it=https://me:hunter2@pkg.example/it\n"),
        ("environment.yml", "dependencies:\n  - numpy\n  - pip:\n    - https://me:hunter2@pkg.example/it.zip\n"),
        ("pyproject.toml", "[project]\ndependencies = ['it = https://me:hunter2@pkg.example/it']\n"),
        ("pyproject.toml", "[tool.poetry.dependencies]\nit = 'https://me:hunter2@pkg.example/it'\n"),
    ],
)
def test_no_secret_of_another_file_gets_into_a_text(tmp_path: Path, name: str, text: str) -> None:
    (said,) = plan(tmp_path, text, name).unread
    assert "hunter2" not in said and "[redacted]" in said


@pytest.mark.parametrize("line", ["google-auth=2.17.3", "google-auth-oauthlib = 1.0"])
def test_a_version_is_no_secret(tmp_path: Path, line: str) -> None:
    found = plan(tmp_path, f"numpy\n{line}\ngoogle-auth==2.17.3\n")
    assert line in found.unread[0]
    assert found.wanted[-1].text == "google-auth==2.17.3"


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("-e git+https://code.example/it.git", "is an address"),
        ("https://pkg.example/it.tar.gz", "is an address"),
        ("git+ssh://code.example/it.git", "is an address"),
        ("-e .", "is a folder or a file"),
        ("./it.tar.gz", "is a folder or a file"),
        ("-e", "no folder is named"),
    ],
)
def test_what_is_not_read_is_called_by_its_kind(tmp_path: Path, line: str, what: str) -> None:
    (said,) = plan(tmp_path, f"numpy\n{line}\n").unread
    assert what in said and "line 2" in said


@pytest.mark.parametrize("name", ["requirements.txt", "pyproject.toml", "environment.yml"])
def test_a_pipe_is_no_plan_and_is_not_waited_for(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / name)
    with pytest.raises(CannotCheckError, match="it is a pipe, not a file"):
        read_plan([str(tmp_path / name)])


def test_a_device_is_no_plan_and_an_included_pipe_is_said(tmp_path: Path) -> None:
    (tmp_path / "endless.txt").symlink_to("/dev/zero")
    with pytest.raises(CannotCheckError, match="it is a device, not a file"):
        read_plan([str(tmp_path / "endless.txt")])
    os.mkfifo(tmp_path / "more.txt")
    assert "it is a pipe" in plan(tmp_path, "numpy\n-r more.txt\n").missing[0]
