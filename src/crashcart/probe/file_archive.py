"""Archives: every member of a zip or tar file read to its end, and checked as a file of its own.

Covers: directory and headers, checksums of zip members and of tar headers, names that lead out of the folder, members
of one name, encrypted members, an end that is missing. The faults of a member carry its name as their place.
Does not cover: archives inside of archives beyond their own soundness.
"""

from __future__ import annotations

import bz2
import io
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, BinaryIO

from crashcart.probe.file_content import BLOCK_BYTES, Content, Faults
from crashcart.probe.file_schema import widen
from crashcart.probe.file_source import BrokenError
from crashcart.sound import ODD, UNCHECKED, Checked, Source, Wanted

Check = Callable[[Source, Wanted], Checked]

_BOMB_RATIO, _BOMB_BYTES = 200, 4 << 30
"""Deflate cannot pack better than 1032 to 1; files that are meant to be read seldom reach 50 to 1."""

_METHODS = {
    0: "nothing", 1: "Shrink", 2: "Reduce", 3: "Reduce", 4: "Reduce", 5: "Reduce", 6: "Implode", 7: "Tokenize", 8: "Deflate",
    9: "Deflate64", 10: "Implode of IBM", 12: "bzip2", 14: "LZMA", 16: "CMPSC", 18: "TERSE", 19: "LZ77 of IBM", 20: "Zstandard",
    93: "Zstandard", 94: "MP3", 95: "XZ", 96: "JPEG", 97: "WavPack", 98: "PPMd", 99: "AES",
}  # fmt: skip
"""As the description of the format (APPNOTE 4.4.5) lists them."""


class _Drained(io.RawIOBase):
    """A member that is read to its end when it is closed, so that its checksum is looked at whatever the check needed."""

    def __init__(self, file: Any, quick: bool) -> None:
        self._file, self._quick = file, quick

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            return int(self._file.readinto(buffer) or 0)
        except zipfile.BadZipFile as error:
            raise BrokenError("crc-mismatch", _words(error)) from None
        except (EOFError, tarfile.ReadError) as error:
            raise BrokenError("truncated", f"the data of the member ends early ({_words(error)})") from None
        except (zlib.error, lzma.LZMAError, NotImplementedError, RuntimeError, ValueError) as error:
            raise BrokenError("not-decodable", _words(error)) from None

    def close(self) -> None:
        if self.closed:
            return
        try:
            buffer = bytearray(BLOCK_BYTES)
            while not self._quick and self.readinto(buffer):
                pass
        finally:
            super().close()
            self._file.close()


def drained(file: Any, quick: bool) -> BinaryIO:
    """A member to read from; what breaks in it is a BrokenError."""
    return io.BufferedReader(_Drained(file, quick), BLOCK_BYTES)


@dataclass(frozen=True)
class _Member:
    """A member as a source of its own."""

    path: str
    bytes: int | None
    opener: Callable[[], Any]
    quick: bool
    local: None = None

    def size(self) -> int | None:
        return self.bytes

    def open(self) -> BinaryIO:
        return drained(self.opener(), self.quick)


class _Members:
    """Gathers what the members are."""

    def __init__(self, faults: Faults, wanted: Wanted, check: Check) -> None:
        self._faults, self._check = faults, check
        self._wanted = replace(wanted, members=False, duplicates=False)
        self._names: set[str] = set()
        self.count = 0
        self.formats: dict[str, int] = {}
        self._labels: dict[str, Any] = {}

    def name(self, name: str) -> None:
        """A member's name: doubled, or leading elsewhere."""
        if name in self._names:
            self._faults.add("duplicate-member", f"{name!r} comes twice; readers take the last", f"member {name}", ODD)
        self._names.add(name)
        parts = name.replace("\\", "/").split("/")
        if name.startswith(("/", "\\")) or ".." in parts or (len(name) > 1 and name[1] == ":"):
            self._faults.add(
                "unsafe-name", f"{name!r} leads out of the folder that it is unpacked into", f"member {name}"
            )

    def take(self, name: str, size_bytes: int | None, opener: Callable[[], Any]) -> Checked:
        """Check one member."""
        self.count += 1
        found = self._check(_Member(name, size_bytes, opener, self._wanted.quick), self._wanted)
        if found.format is not None:
            self.formats[found.format] = self.formats.get(found.format, 0) + 1
        widen(self._labels, found.facts)
        for fault in found.faults:
            where = f"member {name}" if fault.where is None else f"member {name}, {fault.where}"
            self._faults.add(fault.kind, fault.detail, where, fault.weight, fault.count)
        return found

    def facts(self) -> dict[str, Any]:
        """How many, of which formats."""
        return {"members": self.count, "formats": self.formats, **self._labels}


def check_zip(content: Content, faults: Faults, wanted: Wanted, check: Check) -> dict[str, Any]:
    """Every member of a zip file."""
    members = _Members(faults, wanted, check)
    walk_zip(content, faults, wanted, members.name, lambda name, size, opener: members.take(name, size, opener))
    return members.facts()


def walk_zip(
    content: Content, faults: Faults, wanted: Wanted, named: Callable[[str], None], take: Callable[[str, int, Any], Any]
) -> None:
    """Call `take` for each member that can be read."""
    try:
        archive = zipfile.ZipFile(content.seekable())
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError, UnicodeDecodeError) as error:
        words = _words(error)
        if "not a zip" in words:
            faults.add("truncated", "the directory at the end of the archive is missing", f"byte {content.size_bytes}")
        elif isinstance(error, NotImplementedError):
            faults.add("not-checked", f"zip: {words}", weight=UNCHECKED)
        else:
            faults.add("not-decodable", words)
        return
    with archive:
        for info in archive.infolist():
            if info.is_dir():
                continue
            named(info.filename)
            if info.flag_bits & 1:
                faults.add("encrypted", "needs a password", f"member {info.filename}", UNCHECKED)
            elif info.file_size > _BOMB_BYTES and info.file_size > _BOMB_RATIO * max(1, info.compress_size):
                detail = f"{info.compress_size} bytes unpack to {info.file_size}"
                faults.add("too-large", detail, f"member {info.filename}", UNCHECKED)
            elif wanted.members or not wanted.quick:
                _open_member(archive, info, faults, take)


def _open_member(
    archive: zipfile.ZipFile, info: zipfile.ZipInfo, faults: Faults, take: Callable[[str, int, Any], Any]
) -> None:
    where = f"member {info.filename}"
    try:
        opened = archive.open(info)
    except (NotImplementedError, RuntimeError) as error:
        _not_known(info, error, faults, where)
        return
    except (zipfile.BadZipFile, OSError, ValueError) as error:
        faults.add("not-decodable", _words(error), where)
        return
    take(info.filename, info.file_size, lambda: opened)


def _not_known(info: zipfile.ZipInfo, error: Exception, faults: Faults, where: str) -> None:
    """A member that Python does not unpack. A method that no zip file has is damage; all others may be read elsewhere."""
    method = _METHODS.get(info.compress_type)
    if method is None:
        faults.add("not-decodable", f"no method of compression has the number {info.compress_type}", where)
    else:
        detail = f"packed by {method} (method {info.compress_type}), which Python does not unpack here: {_words(error)}"
        faults.add("not-checked", detail, where, UNCHECKED)


def check_tar(content: Content, faults: Faults, wanted: Wanted, check: Check) -> dict[str, Any]:
    """Every member of a tar file, plain or compressed by bzip2 or xz; the compressed stream is read to its own end."""
    file = content.seekable()
    if not content.head.startswith((b"BZh", b"\xfd7zXZ")):
        return check_tar_stream(file, faults, wanted, check)
    with bz2.open(file) if content.head.startswith(b"BZh") else lzma.open(file) as packed:
        facts = check_tar_stream(packed, faults, wanted, check)
        try:
            while not faults.any_damage and packed.read(BLOCK_BYTES):
                pass
        except (EOFError, OSError, lzma.LZMAError) as error:
            kind = "truncated" if isinstance(error, EOFError) else "not-decodable"
            faults.add(kind, f"the compressed stream: {_words(error)}")
    return facts


def check_tar_stream(file: Any, faults: Faults, wanted: Wanted, check: Check) -> dict[str, Any]:
    """The same of a file that is only read forwards."""
    members = _Members(faults, wanted, check)
    noted: list[str] = []

    class Header(tarfile.TarInfo):
        """`tarfile` takes a broken header for the end of the archive; here it is noted."""

        @classmethod
        def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> tarfile.TarInfo:  # type: ignore[override]
            try:
                return super().frombuf(buf, encoding, errors)
            except tarfile.HeaderError as error:
                noted.append(type(error).__name__)
                raise

    try:
        with tarfile.open(fileobj=file, mode="r|", tarinfo=Header) as archive:
            for info in archive:
                members.name(info.name)
                if info.isreg() and (wanted.members or not wanted.quick):
                    members.take(info.name, info.size, partial(archive.extractfile, info))
                archive.members = []  # type: ignore[attr-defined]
    except (tarfile.TarError, EOFError, zlib.error, lzma.LZMAError, OSError, ValueError) as error:
        _tar_broken(error, faults, members.count)
        return members.facts()
    _tar_end(noted, faults, members.count)
    return members.facts()


def _tar_broken(error: Exception, faults: Faults, count: int) -> None:
    words = _words(error)
    if "seeking backwards" in words:  # tarfile looks for the next member where it believes the last one to have ended
        words = "the data ends before the member does"
    ends = ("the data ends", "end of data", "truncated", "end-of-stream")
    cut = isinstance(error, EOFError) or any(each in words for each in ends)
    kind = "truncated" if cut else "crc-mismatch" if "CRC" in words or "data check" in words else "not-decodable"
    faults.add(kind, f"the archive breaks off after {count} members: {words}")


def _tar_end(noted: list[str], faults: Faults, count: int) -> None:
    """An archive ends with blocks of zeros. A header that is broken ends it silently for most readers."""
    last = noted[-1] if noted else "EmptyHeaderError"
    if last == "InvalidHeaderError":
        faults.add(
            "crc-mismatch", f"the header after {count} members is broken; readers take it for the end of the archive"
        )
    elif last == "TruncatedHeaderError":
        faults.add("truncated", f"the archive ends inside of the header after {count} members")
    elif last == "EmptyHeaderError":
        faults.add(
            "truncated", f"no end-of-archive blocks after {count} members: its writer may not have finished", weight=ODD
        )


def _words(error: BaseException) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
