"""Whether a file is sound: what it really is, then the check of that format.

Covers: any source (`sound.Source`), named rightly, wrongly or not at all. Never raises for what a file holds (a MemoryError
passes: it may say more about the process than about the file); memory is bounded whatever its size. A library that is
not installed makes its formats *not checked*, never sound.
Does not cover: decoders that crash the process (whoever calls contains that), and judging many files together
(`data/`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from importlib import import_module
from typing import Any

from crashcart.probe.file_content import Content, Faults
from crashcart.probe.file_digest import Running, mark, mark_of, mark_of_head
from crashcart.probe.file_guarded import guarded
from crashcart.probe.file_image import FORMATS as IMAGES
from crashcart.probe.file_image import check_image
from crashcart.probe.file_jpeg import check_jpeg_file
from crashcart.probe.file_magic import TEXTS, by_bytes, by_name, fits, looks_like_text, zlib_stream
from crashcart.probe.file_source import standing, unreadable
from crashcart.sound import DAMAGE, ODD, UNCHECKED, Checked, Source, Wanted

Check = Callable[[Content, Faults, Wanted], dict[str, Any]]

_CHECKS = {
    "tfrecord": "file_tfrecord:check_tfrecord",
    "zlib": "file_gzip:check_zlib_records",
    "npy": "file_array:check_npy",
    "npz": "file_array:check_npz",
    "parquet": "file_arrow:check_parquet",
    "arrow": "file_arrow:check_arrow",
    "arrow-stream": "file_arrow:check_arrow",
    "feather": "file_arrow:check_feather",
    "hdf5": "file_hdf5:check_hdf5",
    "wav": "file_audio:check_wav",
    "flac": "file_audio:check_flac",
}
"""Each is imported with the first file of its format: a folder of pictures needs none of them."""
# TensorFlow's decoders of these look at the content, not at the name or at the op that was called.
_INTERCHANGEABLE = frozenset({"jpeg", "png"})

# Formats known by name and first bytes alone: these may begin otherwise, too (an MP3 file with any of its frames).
_WITHOUT_A_CHECK = frozenset({"mp3", "ogg", "heic", "jpeg-xl"})


def check(source: Source, wanted: Wanted) -> Checked:
    """What can be learnt of one file."""
    if by_name(source.path) == "jpeg" and (known := check_jpeg_file(source, wanted)) is not None:
        return known
    stands = standing(source)
    if stands.fault is not None:
        return Checked(source.path, stands.bytes, stands.modified_ns, faults=(stands.fault,))
    faults, format, facts, digest = Faults(), None, {}, None
    try:
        running = Running() if wanted.duplicates else None
        with Content(source, stands.bytes, running.add if running else None) as content:
            if not content.head:
                _empty(by_name(source.path), faults)
            else:
                format = _format(content, faults)
                facts = _look(format, content, faults, wanted)
                format = facts.pop("format", format)  # a check may know better than the name and the first bytes
            digest = _digest(source, content, running) if running else None
            size_bytes = content.size_bytes
    except OSError as error:
        faults.take((unreadable(error),))
        size_bytes = stands.bytes
    return Checked(source.path, size_bytes, stands.modified_ns, format, digest, faults.all(), facts)


def _empty(promised: str | None, faults: Faults) -> None:
    """A file of no bytes: damage where its format needs a header."""
    if promised == "tfrecord":
        # What tf.io.TFRecordWriter leaves of a shard without records; TensorFlow reads it as such.
        faults.add("zero-bytes", "not one record is inside", weight=ODD)
    else:
        # Marks such as `_SUCCESS`, and label files of pictures that show nothing, are empty on purpose.
        faults.add("zero-bytes", "the file holds nothing", weight=ODD if promised in (None, "text") else DAMAGE)


def _digest(source: Source, content: Content, running: Running) -> str | None:
    """The mark of the content, without reading it again where that can be avoided. None where the rest of it cannot be read."""
    if content.short:
        return mark_of(content.head)
    if content.sought:
        if source.local is not None:
            return mark(source)
        return None if content.size_bytes is None else mark_of_head(content.head, content.size_bytes)
    try:
        content.pass_all()
    except OSError:
        return None
    return running.mark()


def _format(content: Content, faults: Faults) -> str | None:
    """What the file is; a name that promises something else is a fault."""
    promised, found = by_name(content.path), by_bytes(content.head)
    if found is None:
        return _unmarked(promised, content, faults)
    if promised is None or fits(promised, found):
        return "npz" if promised == "npz" and found == "zip" else "tar" if promised == "tar" else found
    if promised in TEXTS and found == "tfrecord":
        return promised
    harmless = {promised, found} <= _INTERCHANGEABLE
    detail = f"the name says {promised}, the content is {found}"
    if harmless:
        faults.add("wrong-extension", f"{detail}; TensorFlow reads it all the same", weight=ODD)
    else:
        faults.add("wrong-extension", detail)
    return found


def _unmarked(promised: str | None, content: Content, faults: Faults) -> str | None:
    """Bytes that show no format: right for text, and for formats without a mark; damage for all others."""
    head = content.head
    if promised == "tfrecord":
        return "zlib" if zlib_stream(head) else promised
    if promised in ("arrow", "tar") or promised in TEXTS:
        return promised
    text = looks_like_text(head)
    if promised is None:
        if text or head[:2] in (b"\xff\xfe", b"\xfe\xff"):
            return "text"
        faults.add("unknown-format", f"begins with {head[:8].hex(' ')}", weight=UNCHECKED)
        return None
    if not any(head[:4096]):
        faults.add("zero-filled", f"the name says {promised}, the file begins with zeros", "byte 0")
    elif text:
        faults.add("wrong-extension", f"the name says {promised}, the content is text")
    elif promised in _WITHOUT_A_CHECK:
        faults.add("not-checked", f"{promised}: there is no check of this format", weight=UNCHECKED)
    else:
        faults.add("not-decodable", f"no {promised} begins with {head[:8].hex(' ')}", "byte 0")
    return None


def _look(format: str | None, content: Content, faults: Faults, wanted: Wanted) -> dict[str, Any]:
    """The check of the format; what keeps it from its end is told."""
    if format is None:
        return {}
    return guarded(format, faults, lambda: _checked(format, content, faults, wanted))


def _checked(format: str, content: Content, faults: Faults, wanted: Wanted) -> dict[str, Any]:
    if format in IMAGES:
        return check_image(format, content, faults, wanted)
    if format in _CHECKS:
        return _check_of(format)(content, faults, wanted)
    if format in TEXTS or format == "html":
        from crashcart.probe.file_text import check_text

        if content.short:  # all of it is here, and is looked at sooner than it was fetched
            wanted = replace(wanted, quick=False)
        return check_text("text" if format == "html" else format, content.blocks(), faults, wanted)
    if format in ("zip", "tar", "gzip"):
        return _packed(format, content, faults, wanted)
    faults.add("not-checked", f"{format}: there is no check of this format", weight=UNCHECKED)
    return {}


@cache
def _check_of(format: str) -> Check:
    module, _, name = _CHECKS[format].partition(":")
    found: Check = getattr(import_module(f"crashcart.probe.{module}"), name)
    return found


def _packed(format: str, content: Content, faults: Faults, wanted: Wanted) -> dict[str, Any]:
    """What holds further files, or a stream."""
    from crashcart.probe.file_archive import check_tar, check_zip
    from crashcart.probe.file_gzip import check_gzip

    if format == "zip":
        return check_zip(content, faults, wanted, check)
    if format == "tar" and not content.head.startswith(b"\x1f\x8b"):
        return check_tar(content, faults, wanted, check)
    return check_gzip(content, faults, wanted, check)
