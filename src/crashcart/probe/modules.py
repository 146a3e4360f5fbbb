"""What an import would find in a search path, and who owns the files; nothing is imported.

Covers: a top-level module's file, the distributions whose RECORD lists it, which of their files are there, a folder that
remains where a module was, and files that hide an installed or standard module.
Does not cover: modules in archives, or those that an import hook would find (editable installations of that kind).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from crashcart.installation import HERE, Distribution, Module, Shadow
from crashcart.probe._read import read_regular

# TensorFlow's RECORD has 2 MB.
_MOST_RECORD_BYTES = 32 << 20
# A look at a file takes a few microseconds; TensorFlow has 3,000 modules.
_MOST_FILES_LOOKED_FOR = 400
_SUFFIXES = (".py", ".so", ".pyd")


def read_module(name: str, directories: Iterable[str], distributions: Iterable[Distribution]) -> Module:
    """What `import name` would find, by whom it is owned, and whether its files are there."""
    path = tuple(dict.fromkeys(directories))
    owners = tuple(distributions)
    for directory in path:
        file = module_file(name, directory)
        if file is not None:
            return _owned(name, file, directory, owners)
    folder = next((str(Path(each, name)) for each in path if _is(Path(each, name), folder=True)), None)
    claimed = tuple(each.name for each in owners if f"{name}/__init__.py" in recorded_files(each))
    return Module(name, None, claimed, remnant=folder)


def module_file(name: str, directory: str) -> Path | None:
    """The file that an import of the name would take from this directory: a package comes before a plain file."""
    candidates = (Path(directory, name, "__init__.py"), Path(directory, f"{name}.py"))
    return next((each for each in candidates if _is(each)), None)


def read_shadows(
    names: Iterable[str], standard: Iterable[str], here: str, path: Sequence[str], site: str | None
) -> tuple[Shadow, ...]:
    """What hides a module of the site-packages, or of the standard library, from programs that start `here`.

    The path's directories before `site` come from PYTHONPATH. A folder without `__init__` hides nothing: an import prefers a
    real module that comes later.
    """
    before = list(path[: path.index(site)]) if site in path else []
    places = {here: HERE} | {each: f"{each}, which is on PYTHONPATH" for each in before}
    places = {each: words for each, words in places.items() if each and not _is_site(each) and not _is_library(each)}
    behind = [each for each in path if each not in places]
    found = [shadow for name in names for shadow in _shadow(name, places, behind)]
    for name in standard:
        file = module_file(name, here) if here in places else None
        if file is not None:
            found.append(Shadow(name, str(file), None, places[here]))
    return tuple(found)


def _shadow(name: str, places: dict[str, str], behind: list[str]) -> Iterator[Shadow]:
    for directory, words in places.items():
        file = module_file(name, directory)
        if file is None:
            continue
        hidden = next(filter(None, (module_file(name, each) for each in behind)), None)
        if hidden is not None:
            yield Shadow(name, str(file), str(hidden), words)
        return


def _is_site(directory: str) -> bool:
    """A directory that holds installations: what lies there was installed, and hides nothing by accident."""
    if Path(directory).name in ("site-packages", "dist-packages"):
        return True
    try:
        return next(Path(directory).glob("*.dist-info"), None) is not None
    except OSError:
        return False


def _is_library(directory: str) -> bool:
    """The standard library's own directory."""
    return _is(Path(directory, "os.py")) or _is(Path(directory, "_bisect.so")) or Path(directory).name == "lib-dynload"


def _owned(name: str, file: Path, directory: str, distributions: Iterable[Distribution]) -> Module:
    relative = file.relative_to(directory).as_posix()
    records = {each.name: recorded_files(each) for each in distributions if each.folder == directory}
    owners = tuple(each for each, files in records.items() if relative in files)
    missing = looked_for = 0
    whole = []
    for owner in owners:
        own = [path for path in records[owner] if path.startswith(f"{name}/") and _matters(path)]
        chosen = own[:: max(1, len(own) // _MOST_FILES_LOOKED_FOR)]
        sizes = [(_size(Path(directory, path)), records[owner][path]) for path in chosen]
        looked_for += len(sizes)
        missing += sum(there is None for there, _ in sizes)
        if all(there is not None and said in (None, there) for there, said in sizes):
            whole.append(owner)
    return Module(name, str(file), owners, missing, looked_for, tuple(whole))


def _matters(path: str) -> bool:
    """Code, without the tests that slimmed images drop."""
    return path.endswith(_SUFFIXES) and not any(
        part in path for part in ("/tests/", "/test/", "_test.py", "/examples/")
    )


def recorded_files(distribution: Distribution) -> dict[str, int | None]:
    """The files that a distribution's RECORD lists, with their sizes; empty where there is no RECORD."""
    try:
        raw = read_regular(Path(distribution.folder, distribution.entry, "RECORD"), _MOST_RECORD_BYTES)
    except OSError:
        return {}
    return dict(map(_recorded, raw.decode("utf-8", "replace").splitlines()))


def _recorded(line: str) -> tuple[str, int | None]:
    """`path,sha256=…,size`, where a path with a comma is in quotes."""
    path, _, size = [*line.rsplit(",", 2), "", ""][:3]
    return path.strip('"'), int(size) if size.isascii() and size.isdigit() else None


def _size(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except OSError:
        return None


def _is(path: Path, *, folder: bool = False) -> bool:
    try:
        return path.is_dir() if folder else path.is_file()
    except (OSError, ValueError):
        return False
