"""What was done to the files of an environment after they were installed.

Covers: one function per kind of damage, by its name. Does not cover: which environments have it (`of_files.py`).
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path


def _shadow(site: Path) -> None:
    """A program's own tensorflow.py, in the folder that it is started in (that of the venv)."""
    (site.parents[3] / "tensorflow.py").write_text("print('my experiments')\n")


def _broken_metadata(site: Path) -> None:
    (info,) = site.glob("numpy-*.dist-info")
    (info / "METADATA").write_bytes(bytes(range(256)) * 4)


def _empty_metadata(site: Path) -> None:
    (info,) = site.glob("keras-*.dist-info")
    (info / "METADATA").write_text("")


def _leftover_info(site: Path) -> None:
    """An upgrade that broke off: the older version's metadata lies beside the newer one's."""
    (info,) = site.glob("numpy-*.dist-info")
    shutil.copytree(info, site / "numpy-1.19.5.dist-info")
    text = (info / "METADATA").read_text().splitlines()
    changed = ["Version: 1.19.5" if line.startswith("Version:") else line for line in text]
    (site / "numpy-1.19.5.dist-info" / "METADATA").write_text("\n".join(changed))


def _missing_files(site: Path) -> None:
    shutil.rmtree(site / "tensorflow" / "python")


def _only_a_folder(site: Path) -> None:
    """What an interrupted removal leaves: the metadata, and a folder without `__init__`."""
    shutil.rmtree(site / "tensorflow")
    (site / "tensorflow" / "python").mkdir(parents=True)


def _folded_name(site: Path) -> None:
    """What pip leaves when it is interrupted."""
    (info,) = site.glob("tensorflow-*.dist-info")
    info.rename(site / f"~{info.name[1:]}")
    (site / "tensorflow").rename(site / "~ensorflow")


def _by_conda(site: Path) -> None:
    """No damage: conda brought everything, and wrote that down."""
    for each in site.glob("*.dist-info/INSTALLER"):
        each.write_text("conda\n")


def _from_a_wheel(site: Path) -> None:
    """No damage: TensorFlow was built from source, and pip installed the file."""
    (info,) = site.glob("tensorflow-*.dist-info")
    (info / "direct_url.json").write_text('{"archive_info": {}, "url": "file:///builds/tensorflow.whl"}')


DAMAGE: dict[str, Callable[[Path], None]] = {
    "shadow": _shadow,
    "broken-metadata": _broken_metadata,
    "empty-metadata": _empty_metadata,
    "leftover-info": _leftover_info,
    "missing-files": _missing_files,
    "only-a-folder": _only_a_folder,
    "folded-name": _folded_name,
    "by-conda": _by_conda,
    "from-a-wheel": _from_a_wheel,
}
