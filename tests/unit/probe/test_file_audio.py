from __future__ import annotations

import io
import json
import random
import struct
import subprocess
import sys
import wave
from pathlib import Path

import numpy
import pytest

from tests.unit.probe.made import checked, flipped, kinds

soundfile = pytest.importorskip("soundfile")

PROGRAM = Path(__file__).with_name("tensorflow_says.py")
TONE = numpy.sin(numpy.arange(8000) / 9) * 0.5


def sound(format: str, subtype: str | None = None, samples: numpy.ndarray = TONE) -> bytes:
    held = io.BytesIO()
    soundfile.write(held, samples, 16_000, format=format, subtype=subtype)
    return held.getvalue()


def by_wave(width: int) -> bytes:
    held = io.BytesIO()
    with wave.open(held, "wb") as file:
        file.setnchannels(2)
        file.setsampwidth(width)
        file.setframerate(8000)
        file.writeframes(bytes(range(1, 241)) * width)
    return held.getvalue()


def with_list(data: bytes) -> bytes:
    """A LIST chunk of an odd length before the data."""
    at = data.index(b"data")
    words = b"INFOISFT\x05\0\0\0hello\0"
    extra = b"LIST" + struct.pack("<I", len(words)) + words
    return b"RIFF" + struct.pack("<I", len(data) + len(extra) - 8) + data[8:at] + extra + data[at:]


def big_endian() -> bytes:
    held = io.BytesIO()
    soundfile.write(held, TONE, 16_000, format="WAV", subtype="FLOAT", endian="BIG")
    assert held.getvalue().startswith(b"RIFX")
    return held.getvalue()


WAVES = {
    "pcm.wav": sound("WAV"),
    "float.wav": sound("WAV", "FLOAT"),
    "double.wav": sound("WAV", "DOUBLE"),
    "24.wav": sound("WAV", "PCM_24"),
    "u8.wav": sound("WAV", "PCM_U8"),
    "mu-law.wav": sound("WAV", "ULAW"),
    "extensible.wav": sound("WAVEX", None, numpy.stack([TONE, TONE], 1)),
    "rf64.wav": sound("RF64"),
    "big-endian.wav": big_endian(),
    "standard-library.wav": by_wave(2),
    "standard-library-24.wav": by_wave(3),
    "list.wav": with_list(sound("WAV")),
    "a.flac": sound("FLAC"),
    "24.flac": sound("FLAC", "PCM_24"),
    "8.flac": sound("FLAC", "PCM_S8"),
    "stereo.flac": sound("FLAC", None, numpy.stack([TONE, TONE * 0.3], 1)),
}


READ = {"pcm.wav", "standard-library.wav", "list.wav"}
"""What `tf.audio.decode_wav` reads: PCM of 16 bits under a plain header."""


@pytest.mark.parametrize("name", WAVES)
def test_clean_sound_has_no_fault(name: str) -> None:
    found = checked(name, WAVES[name])
    plain = name in READ or name.endswith(".flac")
    assert kinds(found, "odd") == kinds(found) == (set() if plain else {"not-for-tensorflow"})
    assert found.facts["rate_hz"] in (8000, 16_000)


@pytest.mark.parametrize("name", WAVES)
def test_sound_that_is_cut_is_damage(name: str) -> None:
    data = WAVES[name]
    for cut in range(50, len(data) - 3, max(1, len(data) // 20)):
        assert checked(name, data[:cut]).damaged, cut


def test_flac_is_held_against_its_digest() -> None:
    data = WAVES["a.flac"]
    for at in range(100, len(data), 997):
        assert checked("a.flac", flipped(data, at, 2)).damaged, at
    assert kinds(checked("a.flac", flipped(data, 30, 2))) == {"crc-mismatch"}


def test_silence_and_values_that_are_not_finite_are_odd() -> None:
    for format, subtype in (("WAV", None), ("WAV", "PCM_U8"), ("FLAC", None)):
        found = kinds(checked(f"a.{format.lower()}", sound(format, subtype, numpy.zeros(4000))), "odd")
        assert found - {"not-for-tensorflow"} == {"silence"}
    strange = TONE.copy()
    strange[7] = numpy.nan
    assert kinds(checked("a.wav", sound("WAV", "FLOAT", strange)), "odd") == {"nan", "not-for-tensorflow"}


def test_headers_that_do_not_fit_together_are_damage() -> None:
    data = WAVES["pcm.wav"]
    assert kinds(checked("a.wav", data[:22] + b"\0\0" + data[24:])) == {"not-decodable"}
    assert kinds(checked("a.wav", data[:12] + b"xxxx" + data[16:]), "damage") == {"not-decodable"}
    assert kinds(checked("a.wav", data[:36])) >= {"truncated"}


def test_a_writer_that_did_not_know_the_length_is_odd() -> None:
    data = WAVES["pcm.wav"]
    at = data.index(b"data") + 4
    streamed = data[:4] + b"\xff\xff\xff\xff" + data[8:at] + b"\xff\xff\xff\xff" + data[at + 4 :]
    found = checked("a.wav", streamed)
    assert kinds(found, "odd") == kinds(found) == {"odd-size", "not-for-tensorflow"}
    zero = data[:at] + bytes(4) + data[at + 4 :]
    assert "odd-size" in kinds(checked("a.wav", zero), "odd")
    assert kinds(checked("a.wav", data + b"\0\1\2" * 20), "odd") == {"trailing-bytes"}


def chunk(name: bytes, content: bytes, pad: bool = True, claimed: int | None = None) -> bytes:
    length = len(content) if claimed is None else claimed
    return name + struct.pack("<I", length) + content + (b"\0" if pad and len(content) % 2 else b"")


def form(coding: int = 1, channels: int = 1, bits: int = 16, rate: int = 16_000, extra: bytes = b"") -> bytes:
    frame = channels * bits // 8
    return chunk(b"fmt ", struct.pack("<HHIIHH", coding, channels, rate, rate * frame, frame, bits) + extra)


def riff(*chunks: bytes, name: bytes = b"RIFF") -> bytes:
    body = b"".join(chunks)
    return name + struct.pack("<I", 4 + len(body)) + b"WAVE" + body


DATA = chunk(b"data", bytes(range(1, 201)))
ODD_NOTE = b"INFOISFT\x05\0\0\0hello"


def test_a_pad_that_is_left_out_is_odd_and_one_that_tensorflow_does_not_skip_is_not_for_it() -> None:
    bare = checked("a.wav", riff(form(), chunk(b"LIST", ODD_NOTE, pad=False), DATA))
    assert kinds(bare, "odd") == kinds(bare) == {"odd-size"} and bare.facts["frames"] == 100
    padded = checked("a.wav", riff(form(), chunk(b"LIST", ODD_NOTE), DATA))
    assert kinds(padded, "odd") == kinds(padded) == {"not-for-tensorflow"}
    assert "does not skip the pad after chunk 'LIST' of 17 bytes" in padded.faults[0].detail
    assert checked("a.wav", riff(form(), DATA, chunk(b"LIST", ODD_NOTE, pad=False))).faults == ()


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (sound("WAV", "PCM_24"), "16 bits alone, not 24"),
        (sound("WAV", "FLOAT"), "PCM alone, not floats"),
        (sound("WAVEX"), "a format chunk of 40 bytes"),
        (sound("RF64"), "RIFF alone, not RF64"),
        (riff(chunk(b"LIST", b"abcd"), form(), DATA), "chunk 'LIST' before the format"),
        (riff(form(), DATA, DATA), "more than one data chunk"),
        (riff(form(), DATA) + b"xyz", "3 bytes after the last chunk"),
    ],
)
def test_sound_that_tensorflow_refuses_is_told_with_the_reason(data: bytes, words: str) -> None:
    for quick in (False, True):
        found = checked("a.wav", data, quick=quick)
        assert not found.damaged
        assert words in next(fault.detail for fault in found.faults if fault.kind == "not-for-tensorflow")


def test_a_file_that_ends_after_its_samples_is_odd_and_within_them_is_damage() -> None:
    data = riff(form(), DATA, chunk(b"LIST", bytes(40)))
    assert kinds(checked("a.wav", data[:-20])) == kinds(checked("a.wav", data[:-20]), "odd") == {"truncated"}
    assert kinds(checked("a.wav", data[:-48]), "odd") == {"truncated"}
    assert kinds(checked("a.wav", data[:-50]), "damage") == {"truncated"}


def some_waves(count: int) -> dict[str, bytes]:
    """Chunks of all kinds in any order, sound and not."""
    chance, made = random.Random(7), {}
    names = [b"LIST", b"JUNK", b"bext", b"iXML", b"qlty", b"mext", b"levl", b"link", b"axml", b"fact", b"abcd"]
    for number in range(count):

        def other() -> bytes:
            return chunk(chance.choice(names), chance.randbytes(chance.randrange(9)), chance.random() < 0.6)

        channels, bits = chance.choice([1, 2, 3]), chance.choice([16] * 9 + [8, 24])
        head = form(chance.choice([1] * 9 + [3]), channels, bits, extra=chance.choice([b"", b"", b"\0\0", b"\2\0\0\0"]))
        data = chunk(b"data", bytes(range(1, 1 + chance.choice([60, 60, 60, 61, 62, 64]))), chance.random() < 0.7)
        before, between, after = ([other() for _ in range(chance.choice([0, 0, 0, 1, 2]))] for _ in range(3))
        tail = bytes(chance.choice([0] * 9 + [1, 7, 8, 9, 16]))
        made[f"{number:03}.wav"] = riff(*before, head, *between, data, *after) + tail
    return made


def test_what_tensorflow_refuses_is_told_and_what_it_reads_is_not_damage(tmp_path: Path) -> None:
    folder = tmp_path / "waves"
    folder.mkdir()
    waves = {**{name: data for name, data in WAVES.items() if name.endswith(".wav")}, **some_waves(400)}
    for name, data in waves.items():
        (folder / name).write_bytes(data)
    answer = tmp_path / "said.json"
    subprocess.run([sys.executable, PROGRAM, folder, answer], check=True, capture_output=True, timeout=110)
    said = json.loads(answer.read_text())
    for name, data in waves.items():
        found = checked(name, data)
        assert (said[name] is None) == (found.damaged or "not-for-tensorflow" in kinds(found)), (
            name,
            said[name],
            found,
        )
    assert 80 < sum(each is not None for each in said.values()) < 360
