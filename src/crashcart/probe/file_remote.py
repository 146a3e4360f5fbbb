"""Files elsewhere as sources of the checks: object stores and web servers, through fsspec.

Covers: a small file in one request, a large one in blocks; a server that cannot give parts of a file; tries again where a
connection breaks; what went wrong, kept apart from what is wrong with the file: a connection that fails is never called damage.
Does not cover: which files there are (`files_remote.py`), or credentials: fsspec and its drivers read their own
settings and environment variables.
"""

from __future__ import annotations

import errno
import io
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any, BinaryIO, TypeVar, cast

from crashcart.errors import CannotCheckError, UsageError
from crashcart.probe.file_source import unreadable
from crashcart.sound import UNCHECKED, Checked, Fault

# One request for a file costs as much as one for a block of it; beyond this, memory would be felt.
_WHOLE_BYTES = 8 << 20
_BLOCK_BYTES = 4 << 20
# Three tries with a pause of a quarter, then half a second: what is gone for longer is not there now. With the time that a
# request may take, all three end before the time for a small file is over (60 s), which would be told as the file's own slowness.
_TRIES = 3
_PAUSE_S = 0.25
_ANSWER_S = 15
DRIVERS = {
    "s3": "s3fs", "s3a": "s3fs", "gs": "gcsfs", "gcs": "gcsfs", "http": "aiohttp", "https": "aiohttp", "abfs": "adlfs",
    "az": "adlfs", "abfss": "adlfs", "adl": "adlfs", "hf": "huggingface_hub", "hdfs": "pyarrow", "sftp": "paramiko",
    "ssh": "paramiko", "oci": "ocifs", "oss": "ossfs", "webdav": "webdav4", "smb": "smbprotocol",
}  # fmt: skip
"""The package that each kind of address needs."""
_MOST_WORDS_CHARS = 200
Answer = TypeVar("Answer")


def protocol(path: str) -> str | None:
    """What stands before `://`; None for a path of this machine."""
    head, mark, _ = path.partition("://")
    return head.lower() if mark and head and head.replace("+", "").replace("-", "").isalnum() else None


@cache
def system(name: str) -> Any:
    """The file system behind a protocol. UsageError where nobody knows it, CannotCheckError where its driver is missing."""
    try:
        import fsspec
    except ModuleNotFoundError:
        raise CannotCheckError(
            f"{name}:// needs fsspec, which is not installed", "pip install 'crashcart[data]'"
        ) from None
    try:
        kind = fsspec.get_filesystem_class(name)
        return kind(**_settings(name), use_listings_cache=False, skip_instance_cache=True)
    except ImportError as error:
        package = DRIVERS.get(name)
        help = f"pip install {package}" if package else str(error)
        raise CannotCheckError(f"{name}:// needs {package or 'a driver'}, which is not installed", help) from error
    except ValueError as error:
        known = "Known are file, http, https, s3, gs and what else fsspec knows."
        raise UsageError(f"nobody knows {name}://: {error}", known) from error


def _settings(name: str) -> dict[str, Any]:
    """How long a server may take to answer; everything else is for the user to set."""
    if name in ("http", "https"):
        import aiohttp

        return {"client_kwargs": {"timeout": aiohttp.ClientTimeout(sock_connect=_ANSWER_S, sock_read=_ANSWER_S)}}
    if name in ("s3", "s3a"):
        return {"config_kwargs": {"connect_timeout": _ANSWER_S, "read_timeout": _ANSWER_S}}
    return {}


@dataclass
class RemoteFile:
    """A file elsewhere."""

    path: str
    """With its protocol, as the user would type it."""
    known_bytes: int | None = None
    error: Exception | None = field(default=None, compare=False, repr=False)
    """Why it could not be read, where it could not."""

    @property
    def local(self) -> None:
        """It has no path on this machine."""
        return

    def size(self) -> int | None:
        """Its size; asked for where the listing did not say it. None where the server does not say it either."""
        if self.known_bytes is None:
            try:
                self.known_bytes = self._asked(lambda: self._system.info(self._inner)).get("size")
            except OSError:
                return None
        return self.known_bytes

    def open(self) -> BinaryIO:
        """Open it. OSError where that fails; `verdict` tells why."""
        if self.error is not None:
            raise OSError(errno.EIO, words(self.error))
        size_bytes = self.size()
        if self.error is not None:
            raise OSError(errno.EIO, words(self.error))
        if size_bytes is not None and size_bytes <= _WHOLE_BYTES:
            return io.BytesIO(self._asked(lambda: self._system.cat_file(self._inner)))
        return cast("BinaryIO", _Reader(self, *self._asked(lambda: self._opened(size_bytes))))

    def verdict(self, checked: Checked) -> Checked:
        """What was learnt; where it could not be read, that alone, whatever a decoder made of the broken end."""
        if self.error is None:
            return checked
        return Checked(self.path, self.known_bytes, faults=(fault_of(self.error),))

    def __getstate__(self) -> dict[str, Any]:
        """On its way to another process, without what happened in this one."""
        return {"path": self.path, "known_bytes": self.known_bytes, "error": None}

    @property
    def _system(self) -> Any:
        return system(protocol(self.path) or "file")

    @property
    def _inner(self) -> str:
        """As the file system itself calls it."""
        return str(self._system._strip_protocol(self.path))

    def _opened(self, size_bytes: int | None) -> tuple[Any, bool]:
        """The file, and whether it can be sought in."""
        if size_bytes is not None:
            file = self._system.open(
                self._inner, "rb", block_size=_BLOCK_BYTES, cache_type="readahead", size=size_bytes
            )
            if self._gives_parts(file):
                return file, True
            file.close()
        return self._system.open(self._inner, "rb", block_size=0), False

    def _gives_parts(self, file: Any) -> bool:
        """Web servers may know whole files only."""
        if protocol(self.path) not in ("http", "https"):
            return True
        try:
            return getattr(file, "_fetch_range", None) is not None and len(file._fetch_range(1, 2)) == 1
        except ValueError:
            return False

    def _asked(self, ask: Callable[[], Answer]) -> Answer:
        """The answer, after some tries; OSError, and `error` set, where there is none."""
        for left in reversed(range(_TRIES)):
            try:
                return ask()
            except MemoryError:
                raise
            except Exception as error:
                if not left or not _passing(error):
                    self.error = true_cause(error)
                    raise OSError(errno.EIO, words(self.error)) from error
            time.sleep(_PAUSE_S * (_TRIES - left))
        raise AssertionError("not reached")


class CarriedFile(RemoteFile):
    """A file in the memory of this process (memory://): its bytes go along to whoever checks it."""

    def __reduce__(self) -> tuple[Any, ...]:
        """With the bytes. What cannot be read is left for the check to say."""
        try:
            data = self._asked(lambda: self._system.cat_file(self._inner))
        except OSError:
            return RemoteFile, (self.path, self.known_bytes)
        return GivenFile, (self.path, data)


@dataclass(frozen=True)
class GivenFile:
    """A name with the bytes."""

    path: str
    data: bytes

    @property
    def local(self) -> None:
        """It has no path on this machine."""
        return

    def size(self) -> int:
        """How many there are."""
        return len(self.data)

    def open(self) -> BinaryIO:
        """The bytes as a file."""
        return io.BytesIO(self.data)


class _Reader(io.RawIOBase):
    """A file elsewhere, read in blocks; a block that fails is asked for again."""

    def __init__(self, source: RemoteFile, file: Any, seeks: bool) -> None:
        super().__init__()
        self._source, self._file, self._seeks = source, file, seeks

    def readable(self) -> bool:
        """It is."""
        return True

    def seekable(self) -> bool:
        """Unless the server gives it as a whole only."""
        return self._seeks

    def readinto(self, buffer: Any) -> int:
        """The next bytes."""
        view = memoryview(buffer).cast("B")
        data = self._block(len(view))
        view[: len(data)] = data
        return len(data)

    def _block(self, count_bytes: int) -> bytes:
        if self._source.error is not None:  # some decoders go on after an error
            raise OSError(errno.EIO, words(self._source.error))
        if self._seeks:  # a block that failed leaves the place where it was
            return bytes(self._source._asked(lambda: self._file.read(count_bytes)))
        try:
            return bytes(self._file.read(count_bytes))
        except Exception as error:
            self._source.error = true_cause(error)
            raise OSError(errno.EIO, words(error)) from error

    def seek(self, offset: int, whence: int = 0) -> int:
        """Go to a place."""
        if not self._seeks:
            raise io.UnsupportedOperation("the server gives this file as a whole only")
        return int(self._file.seek(offset, whence))

    def tell(self) -> int:
        """The place."""
        return int(self._file.tell())

    def close(self) -> None:
        """Let go of the connection."""
        if not self.closed:
            self._file.close()
        super().close()


def fault_of(error: Exception) -> Fault:
    """What an error of the transport says of the file: that it is not there, may not be read, or nothing at all."""
    if isinstance(error, FileNotFoundError):
        return Fault("missing", "the server has no file by this name")
    if isinstance(error, PermissionError) or _status(error) in (401, 403):
        return Fault("unreadable", f"the server does not give it: {words(error)}")
    plain = isinstance(error, OSError) and error.errno not in (None, errno.EIO)
    told = unreadable(error).detail if plain and isinstance(error, OSError) else words(error)
    return Fault("not-fetched", told, weight=UNCHECKED)


def words(error: Exception) -> str:
    """The error in one line."""
    told = " ".join(str(error).split())[:_MOST_WORDS_CHARS]
    return f"{type(error).__name__}: {told}" if told else type(error).__name__


def true_cause(error: Exception) -> Exception:
    """Fsspec calls a web server that cannot be reached a file that is not found; the cause knows better."""
    cause = error.__cause__
    if isinstance(error, FileNotFoundError) and isinstance(cause, Exception) and _status(cause) not in (404, 410):
        return cause
    return error


def _status(error: Exception) -> int | None:
    found = getattr(error, "status", None)
    return found if isinstance(found, int) else None


def _passing(error: Exception) -> bool:
    """Whether it may be gone a moment later."""
    true = true_cause(error)
    if isinstance(true, (FileNotFoundError, PermissionError, NotImplementedError, TypeError)):
        return False
    status = _status(true)
    return status is None or status >= 500 or status in (408, 429)
