"""Sound files: WAV by its chunks, FLAC decoded to the end and against the digest that it carries.

Covers: RIFF and RF64, PCM of all widths, floats, extensible headers, other chunks; the length that the header says
against the file; silence; NaN in floats; whether TensorFlow reads it (`file_wav_tensorflow.py`).
FLAC: every frame decoded, the number of samples, the MD5 of the samples.
Does not cover: clicks, clipping, wrong rates; Ogg and MP3.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator
from typing import Any, Literal

from crashcart.probe.file_content import BLOCK_BYTES, Content, Faults
from crashcart.probe.file_lacking import library
from crashcart.probe.file_wav_tensorflow import refusal
from crashcart.sound import DAMAGE, ODD, UNCHECKED, Wanted

_PCM, _FLOAT, _EXTENSIBLE = 1, 3, 0xFFFE
_UNKNOWN = 0xFFFFFFFF
_NAMES = {1: "PCM", 2: "ADPCM", 3: "float", 6: "A-law", 7: "µ-law", 0x11: "IMA ADPCM", 0x55: "MP3"}
_MOST_CHUNKS = 10_000
_FLAC_BITS = (8, 16, 24)
_CHUNKS = frozenset(
    {b"data", b"fmt ", b"fact", b"LIST", b"JUNK", b"PEAK", b"bext", b"cue ", b"smpl", b"id3 ", b"iXML", b"PAD "}
)
"""Those that are met most."""


def check_wav(content: Content, faults: Faults, wanted: Wanted) -> dict[str, Any]:
    """Header against data, and whether there is anything to hear."""
    file = content.seekable()
    size_bytes = file.seek(0, 2)
    sound = _Wav(file, size_bytes, faults)
    sound.walk()
    if sound.form is None:
        if not faults.any_damage:
            faults.add("not-decodable", "no format chunk: nothing says what the samples are")
        return {}
    facts = sound.facts()
    if sound.data is None:
        if not faults.any_damage:
            faults.add("truncated", "no data chunk", f"byte {size_bytes}")
    elif not faults.any_damage:
        if (reason := refusal(file, size_bytes)) is not None:
            faults.add("not-for-tensorflow", f"tf.audio.decode_wav refuses it: {reason}", weight=ODD)
        if not wanted.quick:
            _listen(sound, faults)
    return facts


class _Wav:
    """The chunks of a RIFF file."""

    def __init__(self, file: Any, size_bytes: int, faults: Faults) -> None:
        self.file, self.size_bytes, self._faults = file, size_bytes, faults
        self.form: tuple[int, int, int, int, int, int] | None = None
        self.data: tuple[int, int] | None = None
        self._long_bytes: int | None = None
        file.seek(0)
        self.order: Literal["little", "big"] = "big" if file.read(4) == b"RIFX" else "little"

    def walk(self) -> None:
        at = 12
        for _ in range(_MOST_CHUNKS):
            self.file.seek(at)
            head = self.file.read(8)
            if len(head) < 8:
                break
            name, length = head[:4], int.from_bytes(head[4:], self.order)
            if name == b"data" and length == _UNKNOWN and self._long_bytes is not None:
                length = self._long_bytes
            if not self._chunk(name, at + 8, length):
                return
            at += 8 + length + self._pad(name, at + 8 + length, length)
        self._claims(at)

    def _pad(self, name: bytes, end: int, length: int) -> int:
        """How many bytes pad a chunk: one after an odd length. Some writers leave it out, as TensorFlow expects it."""
        if not length % 2:
            return 0
        self.file.seek(end)
        following = self.file.read(5)
        if len(following) < 5 or following[1:] in _CHUNKS or not _is_name(following[:4]):
            return 1
        words = name.decode("ascii", "replace")
        detail = f"no pad after chunk {words!r} of {length} bytes: readers that expect one do not find what follows"
        self._faults.add("odd-size", detail, f"byte {end}", ODD)
        return 0

    def _claims(self, at: int) -> None:
        """The length in the first header, where it is one: writers that stream leave it at 0 or at its largest value."""
        self.file.seek(4)
        claimed = 8 + int.from_bytes(self.file.read(4), self.order)
        if claimed not in (8, 8 + _UNKNOWN) and claimed > self.size_bytes + 1 and self._long_bytes is None:
            detail = f"the header says {claimed} bytes, {self.size_bytes} are there"
            self._faults.add("truncated", detail, f"byte {self.size_bytes}", self._beyond_the_samples())
        elif self.size_bytes > max(at, claimed) + 8 and self.data is not None:
            self._faults.add(
                "trailing-bytes", f"{self.size_bytes - at} bytes follow after the last chunk", f"byte {at}", ODD
            )

    def _beyond_the_samples(self) -> str:
        """The weight of a file that ends early: all readers have what they need once the samples are there."""
        return DAMAGE if self.data is None else ODD

    def _chunk(self, name: bytes, at: int, length: int) -> bool:
        """Take note of a chunk; False where nothing can follow."""
        there, weight = self.size_bytes - at, self._beyond_the_samples()
        if name == b"ds64":
            self._long_bytes = int.from_bytes(self.file.read(28)[8:16], "little")
        elif name == b"fmt ":
            self._format(self.file.read(min(length, 40)), at)
        elif name == b"data":
            if length in (0, _UNKNOWN) and there > 0 and (length == _UNKNOWN or there > 8):
                self._faults.add(
                    "odd-size", f"the header gives no length of the data; {there} bytes follow", f"byte {at}", ODD
                )
                length = there
            self.data = (at, length)
        elif not _is_name(name):
            if self.data is None:
                self._faults.add("not-decodable", f"no chunk begins here: {name!r}", f"byte {at - 8}")
            else:
                self._faults.add("trailing-bytes", f"{there + 8} bytes follow after the data", f"byte {at - 8}", ODD)
            return False
        if length > there:
            words = name.decode("ascii", "replace")
            detail = f"chunk {words!r} takes {length} bytes, {there} are there"
            self._faults.add("truncated", detail, f"byte {self.size_bytes}", weight)
            return False
        return True

    def _format(self, given: bytes, at: int) -> None:
        if len(given) < 16:
            self._faults.add("not-decodable", f"the format chunk has {len(given)} bytes, 16 are needed", f"byte {at}")
            return
        layout = "<HHIIHH" if self.order == "little" else ">HHIIHH"
        tag, channels, rate, per_second, align, bits = struct.unpack_from(layout, given)
        if tag == _EXTENSIBLE and len(given) >= 26:
            tag = int.from_bytes(given[24:26], self.order)
        self.form = (tag, channels, rate, per_second, align, bits)
        wrong = tag in (_PCM, _FLOAT) and (align != channels * ((bits + 7) // 8) or not bits)
        if not channels or not rate or wrong:
            detail = f"format: {channels} channels, {rate} Hz, {bits} bits, {align} bytes a frame do not fit together"
            self._faults.add("not-decodable", detail, f"byte {at}")

    def facts(self) -> dict[str, Any]:
        assert self.form is not None
        tag, channels, rate, _, align, bits = self.form
        facts: dict[str, Any] = {
            "rate_hz": rate,
            "channels": channels,
            "bits": bits,
            "coding": _NAMES.get(tag, f"{tag:#06x}"),
        }
        if self.data is not None and align and tag in (_PCM, _FLOAT):
            facts["frames"] = self.data[1] // align
        return facts

    def blocks(self) -> Iterator[bytes]:
        assert self.data is not None
        start, left = self.data
        self.file.seek(start)
        while left > 0:
            block = self.file.read(min(left, BLOCK_BYTES))
            if not block:
                return
            left -= len(block)
            yield block


def _is_name(name: bytes) -> bool:
    return all(0x20 <= byte < 0x7F for byte in name)


def _listen(sound: _Wav, faults: Faults) -> None:
    """Silence, and floats that are not numbers."""
    assert sound.form is not None and sound.data is not None
    tag, _, _, _, align, bits = sound.form
    if not sound.data[1]:
        faults.add("no-content", "not one sample is inside", weight=ODD)
        return
    if tag in (_PCM, _FLOAT) and align and sound.data[1] % align:
        faults.add("truncated", f"the data ends inside of a frame of {align} bytes", f"byte {sum(sound.data)}", ODD)
    quiet = b"\x80" if bits == 8 and tag == _PCM else b"\0"
    silent, strange = True, 0
    for block in sound.blocks():
        silent = silent and not block.strip(quiet)
        if tag == _FLOAT and bits in (32, 64):
            strange += _not_finite(block, bits, sound.order)
    if silent:
        faults.add("silence", "every sample is zero", weight=ODD)
    if strange:
        faults.add("nan", f"{strange} samples are NaN or infinite", weight=ODD, count=strange)


def _not_finite(block: bytes, bits: int, order: str) -> int:
    numpy = library("numpy")
    values = numpy.frombuffer(
        block[: len(block) - len(block) % (bits // 8)], f"{'<' if order == 'little' else '>'}f{bits // 8}"
    )
    return int((~numpy.isfinite(values)).sum())


def check_flac(content: Content, faults: Faults, wanted: Wanted) -> dict[str, Any]:
    """Every frame decoded; the digest of the samples compared."""
    head = content.head
    if len(head) < 42 or head[4] & 0x7F:
        faults.add(
            "truncated" if len(head) < 42 else "not-decodable", "the first block (STREAMINFO) is not whole", "byte 4"
        )
        return {}
    packed = int.from_bytes(head[18:26], "big")
    rate, channels, bits, total = packed >> 44, (packed >> 41 & 7) + 1, (packed >> 36 & 31) + 1, packed & (1 << 36) - 1
    facts = {"rate_hz": rate, "channels": channels, "bits": bits, "frames": total, "coding": "FLAC"}
    if not wanted.quick:
        _decode_flac(content, faults, bits, total, head[26:42])
    return facts


def _decode_flac(content: Content, faults: Faults, bits: int, total: int, digest: bytes) -> None:
    library("numpy")
    soundfile = library("soundfile")
    summed, count, loud = hashlib.md5(usedforsecurity=False), 0, False
    try:
        with soundfile.SoundFile(content.seekable()) as sound:
            for block in sound.blocks(65_536, dtype="int16" if bits == 16 else "int32", always_2d=True):
                count += len(block)
                loud = loud or bool(block.any())
                summed.update(_samples(block, bits))
    except (RuntimeError, OSError, ValueError, TypeError) as error:
        words = " ".join(str(error).split())[:160]
        if bits not in _FLAC_BITS and not count:
            detail = f"FLAC of {bits} bits, which libsndfile does not read: {words}"
            faults.add("not-checked", detail, weight=UNCHECKED)
        else:
            faults.add("not-decodable", f"after {count} samples: {words}", f"sample {count}")
        return
    if total and count < total:
        faults.add("truncated", f"{total} samples are announced, {count} could be read", f"sample {count}")
    elif any(digest) and summed.digest() != digest:
        faults.add("crc-mismatch", "the digest (MD5) of the samples is another than the file says")
    elif not loud and count:
        faults.add("silence", "every sample is zero", weight=ODD)


def _samples(block: Any, bits: int) -> bytes:
    """As FLAC digests them: little-endian, as many bytes as a sample needs. libsndfile gives them at the upper end of 32 bits."""
    if bits == 16:
        return bytes(block.astype("<i2").tobytes())
    wide = (bits + 7) // 8
    shifted = (block >> (32 - bits)).astype("<i4")
    if wide == 4:
        return bytes(shifted.tobytes())
    return bytes(shifted.reshape(-1, 1).view("u1").reshape(-1, 4)[:, :wide].tobytes())
