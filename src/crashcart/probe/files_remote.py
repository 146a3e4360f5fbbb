"""Finds the files of a data set elsewhere: what lies below an address, through fsspec.

Covers: one file, everything below a prefix, patterns; S3 in pages of a thousand names, other stores folder by folder,
so that memory does not grow with their number; a listing that breaks off, which is told. A web address that ends in `/`
is taken for a page of links.
Does not cover: reading files (`file_remote.py`), files of this machine (`files_found.py`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any, NamedTuple

from crashcart.errors import CannotCheckError, UsageError
from crashcart.probe.file_remote import CarriedFile, RemoteFile, fault_of, protocol, system, true_cause, words
from crashcart.sound import UNCHECKED, Fault

_WEB = ("http", "https")
_TIMES = ("LastModified", "mtime", "updated", "last_modified", "created", "last_commit")


class Listed(NamedTuple):
    """A file that was listed."""

    source: RemoteFile
    bytes: int | None = None
    modified_ns: int | None = None
    fault: Fault | None = None


def is_remote(path: str) -> bool:
    """Whether the path is an address of somewhere else."""
    return protocol(path) not in (None, "file", "local")


def local_path(path: str) -> str:
    """A path of this machine without `file://`."""
    head, mark, rest = path.partition("://")
    return rest if mark and head.lower() in ("file", "local") else path


def refuse_what_is_not_there(path: str) -> None:
    """UsageError where nothing is there; CannotCheckError where nobody answers, or a driver is missing."""
    if "::" in path:
        raise UsageError(
            f"received {path}; addresses inside of addresses are not followed",
            "Name the archive: its members are checked.",
        )
    file_system = system(protocol(path) or "")
    if _has_magic(path):
        return
    page = protocol(path) in _WEB and path.endswith("/")
    try:
        (file_system.ls if page else file_system.info)(file_system._strip_protocol(path))
    except Exception as error:
        raise _refusal(path, error) from error


def _refusal(path: str, error: Exception) -> Exception:
    fault = fault_of(true_cause(error))
    if fault.kind == "missing":
        return UsageError(
            f"there is no {path}", "Look for a typing error; a prefix must have at least one file below it."
        )
    told = "may not be read" if fault.kind == "unreadable" else "cannot be reached"
    return CannotCheckError(f"{path} {told}: {fault.detail.partition(': ')[2]}", _help(protocol(path) or ""))


def _help(name: str) -> str:
    if name in ("s3", "s3a"):
        return "Look at AWS_PROFILE, AWS_ENDPOINT_URL and the network; a public bucket needs FSSPEC_S3_ANON=true."
    if name in ("gs", "gcs"):
        return "Look at GOOGLE_APPLICATION_CREDENTIALS and the network; a public bucket needs FSSPEC_GS_TOKEN=anon."
    return "Look at the address, the credentials and the network."


def find_remote(path: str) -> Iterator[Listed]:
    """Every file that the address names."""
    file_system = system(protocol(path) or "")
    return _until_it_breaks(path, lambda: (_matching if _has_magic(path) else _below)(file_system, path))


def _matching(file_system: Any, path: str) -> Iterator[Listed]:
    found = file_system.glob(file_system._strip_protocol(path), detail=True)
    return (_listed(path, found[name]) for name in sorted(found) if found[name].get("type") == "file")


def look_remote(path: str) -> Listed:
    """One file by its name; nothing is asked: whether it is there is seen when it is read."""
    return Listed(_source(path, None))


def _until_it_breaks(path: str, begin: Callable[[], Iterator[Listed]]) -> Iterator[Listed]:
    """What is listed; where that breaks off, a last entry that says so."""
    count = 0
    try:
        for each in begin():
            count += 1
            yield each
    except (UsageError, CannotCheckError, GeneratorExit, MemoryError):
        raise
    except Exception as error:
        told = f"the listing broke off after {count} files: {words(true_cause(error))}; nobody knows what else is there"
        yield Listed(RemoteFile(path), fault=Fault("not-fetched", told, weight=UNCHECKED))


def _below(file_system: Any, path: str) -> Iterator[Listed]:
    name = protocol(path)
    inner = file_system._strip_protocol(path)
    if name in _WEB:
        return _linked(file_system, path) if path.endswith("/") else iter((look_remote(path),))
    info = file_system.info(inner)
    if info.get("type") == "file":
        return iter((_listed(path, info),))
    if name in ("s3", "s3a") and hasattr(file_system, "call_s3"):
        return _pages(file_system, path, inner)
    return _walked(file_system, path, inner)


def _linked(file_system: Any, root: str) -> Iterator[Listed]:
    """The links of a page, and of the pages below it; never above it."""
    pages, seen = [root], {root}
    while pages:
        for each in _until_it_breaks(page := pages.pop(), lambda page=page: _links(file_system, page)):  # type: ignore[misc]
            name = each.source.path
            if each.fault is None and (name in seen or not name.startswith(root) or "?" in name or "#" in name):
                continue
            if each.fault is None and name.endswith("/"):
                seen.add(name)
                pages.append(name)
            else:
                yield each


def _links(file_system: Any, page: str) -> Iterator[Listed]:
    found = sorted(file_system.ls(page, detail=True), key=lambda info: str(info["name"]))
    return (_listed(page, info) for info in found)


def _pages(file_system: Any, path: str, inner: str) -> Iterator[Listed]:
    """The objects of S3 in pages: their number does not matter."""
    bucket, _, prefix = inner.partition("/")
    asked: dict[str, Any] = {"Bucket": bucket, "Prefix": prefix.rstrip("/") + "/" if prefix else ""}
    while True:
        page = file_system.call_s3("list_objects_v2", **asked)
        for each in page.get("Contents", ()):
            if not each["Key"].endswith("/"):  # a mark that stands for a folder
                info = {
                    "name": f"{bucket}/{each['Key']}",
                    "size": each["Size"],
                    "LastModified": each.get("LastModified"),
                }
                yield _listed(path, info)
        if not page.get("IsTruncated"):
            return
        asked["ContinuationToken"] = page["NextContinuationToken"]


def _walked(file_system: Any, path: str, inner: str) -> Iterator[Listed]:
    for _, folders, files in file_system.walk(inner, detail=True, on_error="raise"):
        folders_sorted = dict(sorted(folders.items()))
        folders.clear()
        folders.update(folders_sorted)
        for _, info in sorted(files.items()):
            yield _listed(path, info)


def _listed(path: str, info: dict[str, Any]) -> Listed:
    name = str(info["name"])
    full = name if "://" in name else f"{protocol(path)}://{name.lstrip('/') if protocol(path) != 'memory' else name}"
    size_bytes = info.get("size")
    try:
        os.fsencode(full)
    except UnicodeEncodeError as error:  # half of a pair of UTF-16: no request, file or database can hold it
        shown = full.encode("utf-8", "backslashreplace").decode()
        return Listed(
            RemoteFile(shown), size_bytes, fault=Fault("unreadable", f"the name cannot be used: {error.reason}")
        )
    return Listed(_source(full, size_bytes), size_bytes, _modified_ns(info))


def _source(path: str, size_bytes: int | None) -> RemoteFile:
    return (CarriedFile if protocol(path) == "memory" else RemoteFile)(path, size_bytes)


def _modified_ns(info: dict[str, Any]) -> int | None:
    """When it was written, where the store says so."""
    for key in _TIMES:
        found = info.get(key)
        if isinstance(found, str):
            try:
                found = datetime.fromisoformat(found.replace("Z", "+00:00"))
            except ValueError:
                continue
        if isinstance(found, datetime):
            return int(found.timestamp() * 1_000_000) * 1000
        if isinstance(found, (int, float)) and not isinstance(found, bool):
            return int(found * 1_000_000) * 1000
    return None


def _has_magic(path: str) -> bool:
    """A question mark begins a query in a web address, and is part of no pattern."""
    return any(each in path for each in ("*[" if protocol(path) in _WEB else "*?["))
