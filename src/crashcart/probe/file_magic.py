"""What a file really is: by its first bytes, whatever its name says; and what its name says.

Covers: the formats that are checked, those that are often met under a wrong name, text by its bytes, TFRecord by the
checksum of its first length.
Does not cover: whether the content is sound (`file_check.py`).
"""

from __future__ import annotations

import re

from crashcart.probe.file_crc import masked

_STARTS: tuple[tuple[bytes, str], ...] = (
    (b"\xff\xd8\xff", "jpeg"),
    (b"\x89PNG\r\n\x1a\n", "png"),
    (b"GIF87a", "gif"),
    (b"GIF89a", "gif"),
    (b"PAR1", "parquet"),
    (b"PARE", "parquet"),
    (b"ARROW1\x00\x00", "arrow"),
    (b"FEA1", "feather"),
    (b"\x89HDF\r\n\x1a\n", "hdf5"),
    (b"\x0e\x03\x13\x01", "hdf4"),
    (b"\x93NUMPY", "npy"),
    (b"PK\x03\x04", "zip"),
    (b"PK\x05\x06", "zip"),
    (b"\x1f\x8b", "gzip"),
    (b"fLaC", "flac"),
    (b"OggS", "ogg"),
    (b"ID3\x02", "mp3"),
    (b"ID3\x03", "mp3"),
    (b"ID3\x04", "mp3"),
    (b"II*\x00", "tiff"),
    (b"MM\x00*", "tiff"),
    (b"II+\x00", "tiff"),
    (b"MM\x00+", "tiff"),
    (b"\xfd7zXZ\x00", "xz"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"7z\xbc\xaf\x27\x1c", "7z"),
    (b"Rar!\x1a\x07", "rar"),
    (b"%PDF-", "pdf"),
    (b"SQLite format 3\x00", "sqlite"),
    (b"\x7fELF", "elf"),
    (b"\xff\x0a", "jpeg-xl"),
    (b"\x00\x00\x00\x0cJXL \r\n\x87\n", "jpeg-xl"),
)
# Marks that a text may begin with as well; in files of these formats, bytes that no text has follow at once.
_SPELT = frozenset({b"PAR1", b"PARE", b"FEA1", b"OggS", b"fLaC"})
_BZIP2 = re.compile(rb"BZh[1-9](?:1AY&SY|\x17rE8P\x90)")
_MOST_SCHEMA_BYTES = 256 << 20
_BY_FIRST: dict[int, tuple[tuple[bytes, str], ...]] = {
    first: tuple((start, name) for start, name in _STARTS if start[0] == first) for first in {s[0] for s, _ in _STARTS}
}
_BRANDS = {b"avif": "avif", b"avis": "avif", b"heic": "heic", b"heix": "heic", b"mif1": "heic"}
_RIFF = {b"WAVE": "wav", b"WEBP": "webp", b"AVI ": "avi"}
_PAGE = re.compile(rb"\s*(?:\xef\xbb\xbf)?\s*<(?:!doctype html|html|head|body|\?xml|error|svg)", re.IGNORECASE)

BY_EXTENSION: dict[str, str] = {
    **dict.fromkeys(("jpg", "jpeg", "jpe", "jfif"), "jpeg"),
    "png": "png",
    "gif": "gif",
    **dict.fromkeys(("bmp", "dib"), "bmp"),
    "webp": "webp",
    **dict.fromkeys(("tif", "tiff"), "tiff"),
    "avif": "avif",
    **dict.fromkeys(("heic", "heif"), "heic"),
    "jxl": "jpeg-xl",
    **dict.fromkeys(("tfrecord", "tfrecords", "tfrec", "tfr", "record", "records"), "tfrecord"),
    **dict.fromkeys(
        ("txt", "text", "md", "rst", "log", "html", "htm", "xml", "svg", "yaml", "yml", "py", "cfg", "ini"), "text"
    ),
    "csv": "csv",
    "tsv": "tsv",
    **dict.fromkeys(("jsonl", "ndjson"), "jsonl"),
    **dict.fromkeys(("json", "geojson", "ipynb"), "json"),
    "npy": "npy",
    "npz": "npz",
    **dict.fromkeys(("parquet", "pq"), "parquet"),
    **dict.fromkeys(("arrow", "ipc"), "arrow"),
    **dict.fromkeys(("feather", "ftr"), "feather"),
    **dict.fromkeys(("h5", "hdf5", "he5", "nc4"), "hdf5"),
    "hdf": "hdf",
    **dict.fromkeys(("wav", "wave"), "wav"),
    "flac": "flac",
    **dict.fromkeys(("ogg", "oga", "opus"), "ogg"),
    "mp3": "mp3",
    **dict.fromkeys(("zip",), "zip"),
    "tar": "tar",
    **dict.fromkeys(("tgz", "tbz", "tbz2", "txz"), "tar"),
    **dict.fromkeys(("gz", "gzip"), "gzip"),
}
_COMPRESSED = frozenset({"gz", "bz2", "xz"})
TEXTS = frozenset({"text", "csv", "tsv", "jsonl", "json"})
# Names whose content may rightly be one of several formats.
_ALSO: dict[str, frozenset[str]] = {
    "tfrecord": frozenset({"gzip", "zlib"}),
    "npz": frozenset({"zip"}),
    "feather": frozenset({"arrow"}),
    "arrow": frozenset({"arrow-stream", "feather"}),
    "tar": frozenset({"gzip", "bzip2", "xz"}),
    "text": frozenset({"html"}),
    "hdf": frozenset({"hdf4", "hdf5"}),
    # The brand at the beginning may be a general one; which codec follows is told later in the file.
    "avif": frozenset({"heic"}),
    "heic": frozenset({"avif", "mp4"}),
}
_SHARD = re.compile(r"-\d{5}-of-\d{5}$")


def by_name(path: str) -> str | None:
    """The format that the name promises: by its extension, or the one before a number of shards (`x.tfrecord-00001-of-00010`)."""
    name = path.rpartition("/")[2]
    if "-of-" in name:
        name = _SHARD.sub("", name)
    stem, dot, extension = name.rpartition(".")
    if not dot:
        return None
    found = BY_EXTENSION.get(extension.lower())
    return "tar" if stem.lower().endswith(".tar") and extension.lower() in _COMPRESSED else found


def by_bytes(head: bytes) -> str | None:
    """The format that the first bytes show; None where they show none."""
    if not head:
        return None
    # First: the length that a TFRecord begins with may look like any other mark, and its checksum is no accident.
    if _is_record(head):
        return "tfrecord"
    for start, name in _BY_FIRST.get(head[0], ()):
        if head.startswith(start) and not (start in _SPELT and _goes_on_as_text(head[4:8])):
            return name
    return _by_place(head)


def _is_record(head: bytes) -> bool:
    return head[4:8] == bytes(4) and len(head) >= 12 and masked(head[:8]) == int.from_bytes(head[8:12], "little")


def _goes_on_as_text(following: bytes) -> bool:
    return (
        len(following) == 4 and following.isascii() and all(32 <= byte < 127 or byte in b"\t\n\r" for byte in following)
    )


def _is_arrow_stream(head: bytes) -> bool:
    """A first message: its length, a multiple of 8, then the place of its root inside of it."""
    length, root = int.from_bytes(head[4:8], "little"), int.from_bytes(head[8:12], "little")
    whole = head[:4] == b"\xff\xff\xff\xff" and len(head) >= 12
    return whole and length % 8 == 0 and 4 <= root < length <= _MOST_SCHEMA_BYTES


def _by_place(head: bytes) -> str | None:
    """Formats whose mark is not at the beginning, or too short to be trusted alone."""
    if head[:4] in (b"RIFF", b"RF64", b"RIFX"):
        return _RIFF.get(head[8:12])
    if head[4:8] == b"ftyp":
        return _BRANDS.get(head[8:12], "mp4")
    if any(head[at : at + 8] == b"\x89HDF\r\n\x1a\n" for at in (512, 1024, 2048)):  # after a user block
        return "hdf5"
    if head[257:262] == b"ustar":
        return "tar"
    if head[:2] == b"BM" and len(head) >= 18 and head[14] in (12, 40, 52, 56, 64, 108, 124) and not any(head[15:18]):
        return "bmp"
    if _is_arrow_stream(head):
        return "arrow-stream"
    if _BZIP2.match(head):
        return "bzip2"
    if _PAGE.match(head[:200]):
        return "html"
    if head[:4] == b"Obj\x01":
        return "avro"
    return None


def zlib_stream(head: bytes) -> bool:
    """Whether the bytes may begin a zlib stream, as compressed TFRecord files do."""
    return len(head) >= 2 and head[0] & 0x0F == 8 and head[0] >> 4 <= 7 and (head[0] << 8 | head[1]) % 31 == 0


def fits(promised: str, found: str) -> bool:
    """Whether a file of this name may hold this."""
    return promised == found or found in _ALSO.get(promised, ()) or (promised in TEXTS and found in TEXTS)


def looks_like_text(head: bytes) -> bool:
    """Printable characters: valid UTF-8, or mostly ASCII as text of one byte per character is."""
    sample = head[:HEAD_SAMPLE]
    if not sample or b"\0" in sample or len(sample.translate(None, _TEXT_BYTES)) * 20 > len(sample):
        return False
    beyond = len(sample) - len(sample.translate(None, _BEYOND_ASCII))
    return beyond * 4 < len(sample) or not _INVALID.search(sample.decode("utf-8", "surrogateescape")[:-4])


HEAD_SAMPLE = 1024
_BEYOND_ASCII = bytes(range(0x80, 0x100))
_TEXT_BYTES = bytes(range(0x20, 0x7F)) + b"\t\n\r\f\x1b" + _BEYOND_ASCII
_INVALID = re.compile("[\udc80-\udcff]")
