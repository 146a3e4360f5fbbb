from __future__ import annotations

import json
import struct
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from PIL import Image

from crashcart.probe import file_jpeg
from crashcart.probe.file_native import native
from tests.unit.probe.made import checked, chunk, damages, flipped, jpegs, kinds, picture, pngs, saved, with_chunk


def clear(seed: int) -> Image.Image:
    """A picture with some transparency."""
    image = picture(seed=seed)
    image.putalpha(99)
    return image


PROGRAM = Path(__file__).with_name("tensorflow_says.py")
IMAGES = {
    **jpegs(),
    **pngs(),
    "a.gif": saved(picture().convert("P"), "GIF"),
    **{f"{mode}.bmp": saved(picture().convert(mode), "BMP") for mode in ("L", "RGB", "RGBA")},
    "lossy.webp": saved(picture(), "WEBP"),
    "lossless.webp": saved(picture(), "WEBP", lossless=True),
}
ODD = {
    "cmyk.jpg": ("odd-mode", saved(picture().convert("CMYK"), "JPEG")),
    "sixteen.png": ("odd-mode", saved(picture().convert("I;16"), "PNG")),
    "palette.bmp": ("odd-mode", saved(picture().convert("P"), "BMP")),
    "one-bit.bmp": ("not-for-tensorflow", saved(picture().convert("1"), "BMP")),
    "animated.gif": ("animated", saved(picture().convert("P"), "GIF", save_all=True, append_images=[picture(seed=1)])),
    "animated.webp": ("animated", saved(clear(0), "WEBP", save_all=True, append_images=[clear(1)])),
    "animated.png": ("animated", saved(picture(), "PNG", save_all=True, append_images=[picture(seed=1)])),
    "pixel.png": ("odd-size", saved(picture(1, 1), "PNG")),
    "scan.tiff": ("not-for-tensorflow", saved(picture(), "TIFF")),
}


@pytest.mark.parametrize("name", IMAGES)
def test_clean_images_have_no_fault(name: str) -> None:
    found = checked(name, IMAGES[name])
    assert found.faults == ()
    assert found.facts["width"] > 0 and found.facts["height"] > 0


@pytest.mark.parametrize("name", ODD)
def test_odd_images_are_told_and_not_damaged(name: str) -> None:
    kind, data = ODD[name]
    found = checked(name, data)
    assert kinds(found, "odd") == kinds(found) == {kind}


def tensorflow(folder: Path) -> dict[str, object]:
    """What TensorFlow says of every file in a folder."""
    answer = folder.with_suffix(".json")
    subprocess.run([sys.executable, PROGRAM, folder, answer], check=True, capture_output=True, timeout=110)
    said: dict[str, object] = json.loads(answer.read_text())
    return said


def test_what_tensorflow_refuses_is_damage_and_what_it_reads_unchanged_is_not(tmp_path: Path) -> None:
    folder = tmp_path / "damaged"
    folder.mkdir()
    held: dict[str, tuple[str, str, bytes]] = {}
    for place, (name, data) in enumerate(IMAGES.items()):
        (folder / name).write_bytes(data)
        for number, (kind, changed) in enumerate(damages(data, 6, place)):
            held[f"{number:03d}-{kind}-{name}"] = (name, kind, changed)
            (folder / f"{number:03d}-{kind}-{name}").write_bytes(changed)
    said = tensorflow(folder)
    assert all(said[name] is not None for name in IMAGES)
    missed, accused, seen = [], [], Counter()
    for path, (name, kind, changed) in held.items():
        found = checked(name, changed)
        seen[kind, said[path] is None, found.damaged] += 1
        if said[path] is None and not found.damaged and not found.unchecked:
            missed.append(path)
        if kind in ("tail", "zero-tail") and said[path] == said[name] and found.damaged:
            accused.append(path)
    assert missed == []
    assert accused == []
    assert sum(count for (_, refused, damaged), count in seen.items() if refused and damaged) > 250


def test_a_truncated_image_is_told_wherever_it_is_cut() -> None:
    for name, data in IMAGES.items():
        for cut in range(60, len(data) - 1, max(1, len(data) // 25)):
            assert checked(name, data[:cut]).damaged, (name, cut)


def test_data_that_libjpeg_warns_of_is_garbage_and_padding_is_only_odd() -> None:
    data = IMAGES["baseline.jpg"]
    middle = len(data) // 2
    holed = checked("a.jpg", data[:middle] + b"\x55" * 500 + data[middle + 500 :])
    assert kinds(holed, "damage") == {"recovered"}
    padded = checked("a.jpg", data[:-2] + b"\0" * 40 + data[-2:])
    assert kinds(padded) == {"recovered"} and padded.good
    assert "extraneous" in padded.faults[0].detail


def test_films_and_further_pictures_after_a_jpeg_are_meant_and_other_bytes_are_odd() -> None:
    data = IMAGES["baseline.jpg"]
    assert checked("a.jpg", data + b"\0\0\0\x18ftypmp42" + bytes(90)).faults == ()
    assert checked("a.jpg", data + data).faults == ()
    assert kinds(checked("a.jpg", data + b"x" * 100), "odd") == {"trailing-bytes"}


def test_an_unusual_version_of_jfif_hides_nothing() -> None:
    data = IMAGES["baseline.jpg"]
    assert data[6:11] == b"JFIF\0"
    odd = data[:11] + b"\x09" + data[12:]
    assert checked("a.jpg", odd).faults == ()
    assert checked("a.jpg", odd[: len(odd) // 2]).damaged


def test_the_walk_calls_nothing_sound_that_libjpeg_complains_of(monkeypatch: pytest.MonkeyPatch) -> None:
    walker = native()
    if walker is None:
        pytest.skip("the native library is not built")
    simplejpeg = pytest.importorskip("simplejpeg")
    agreed = 0
    for place, data in enumerate(jpegs().values()):
        for _, changed in damages(data, 25, 100 + place):
            if not walker.jpeg(changed)[0]:
                continue
            try:
                simplejpeg.decode_jpeg(changed, "GRAY", strict=True, min_factor=8, min_height=1, min_width=1)
            except ValueError as error:
                assert "JFIF revision" in str(error) or "Adobe" in str(error)
            agreed += 1
    assert agreed > 500


def test_without_the_native_library_the_same_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    for place, (name, data) in enumerate(jpegs().items()):
        for kind, changed in (("clean", data), *damages(data, 2, place)):
            fast = checked(name, changed)
            with monkeypatch.context() as patch:
                patch.setattr(file_jpeg, "native", lambda: None)
                slow = checked(name, changed)
            assert fast.damaged == slow.damaged, (name, kind)


def test_pixels_that_are_claimed_are_not_decoded_beyond_the_limit() -> None:
    png = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 100_000, 100_000, 8, 6, 0, 0, 0))
    assert kinds(checked("a.png", png + chunk(b"IDAT", b"") + chunk(b"IEND", b""))) == {"too-large"}
    jpeg = bytearray(IMAGES["progressive.jpg"])
    at = bytes(jpeg).index(b"\xff\xc2")
    jpeg[at + 5 : at + 9] = b"\xff\xff\xff\xff"
    assert "too-large" in kinds(checked("a.jpg", bytes(jpeg)))
    gif = IMAGES["a.gif"]
    assert "too-large" in kinds(checked("a.gif", gif[:6] + b"\xff\xff\xff\xff" + gif[10:]))
    assert "too-large" in kinds(checked("a.png", IMAGES["RGB.png"], most_pixels=100))
    assert checked("a.png", IMAGES["RGB.png"], most_pixels=160 * 120).faults == ()


def test_a_wrong_checksum_of_a_png_is_damage_only_where_a_decoder_minds() -> None:
    png = with_chunk(IMAGES["RGB.png"], b"tEXt", b"Title\0x")
    broken_text = png[: png.index(b"Title")] + b"titlE" + png[png.index(b"Title") + 5 :]
    found = checked("a.png", broken_text)
    assert kinds(found, "odd") == {"crc-mismatch"} and found.good
    assert kinds(checked("a.png", flipped(png, png.index(b"IDAT") + 40, 0)), "damage") == {"crc-mismatch"}


def test_webp_is_for_newer_releases_of_tensorflow() -> None:
    assert "not-for-tensorflow" in kinds(checked("a.webp", IMAGES["lossy.webp"], tensorflow=(2, 15)))
    assert checked("a.webp", IMAGES["lossy.webp"], tensorflow=(2, 20)).faults == ()


@pytest.mark.parametrize(
    ("format", "words"),
    [
        ("GIF", "3 frames: decode_image gives 3 pictures in one more dimension"),
        ("WEBP", "3 frames: decode_image gives 3 pictures in one more dimension, and refuses channels=3"),
        ("PNG", "3 frames: decode_image gives the first alone"),
        ("TIFF", "3 pages: most readers give the first alone"),
    ],
)
def test_several_frames_are_told_as_tensorflow_reads_them(format: str, words: str) -> None:
    """Compared with TensorFlow 2.21: (20, 20, 3) of an animated PNG, (3, 20, 20, 3) of a GIF, TIFF not at all."""
    data = saved(picture(20, 20), format, save_all=True, append_images=[picture(20, 20, 1), picture(20, 20, 2)])
    found = checked(f"a.{format.lower()}", data)
    assert not found.damaged and words in [fault.detail for fault in found.faults if fault.kind == "animated"]


def test_an_animated_webp_without_transparency_is_not_for_tensorflow() -> None:
    """It corrupts the memory of TensorFlow 2.21: `free(): corrupted unsorted chunks`."""
    plain = saved(picture(), "WEBP", save_all=True, append_images=[picture(seed=1)])
    assert kinds(checked("a.webp", plain), "odd") == {"animated", "not-for-tensorflow"}
    assert kinds(checked("a.webp", ODD["animated.webp"][1])) == {"animated"}


@pytest.mark.parametrize("name", jpegs())
def test_a_jpeg_that_ends_in_its_header_is_truncated(name: str) -> None:
    data = jpegs()[name]
    for cut in range(4, data.index(b"\xff\xda") + 14, 7):
        assert kinds(checked(name, data[:cut]), "damage") == {"truncated"}, cut


def chunks(*given: tuple[bytes, bytes]) -> bytes:
    """A WebP of these chunks."""
    body = b"".join(name + struct.pack("<I", len(each)) + each + bytes(len(each) % 2) for name, each in given)
    return b"RIFF" + struct.pack("<I", 4 + len(body)) + b"WEBP" + body


def test_zeros_in_a_webp_are_damage_in_coded_pixels_alone() -> None:
    lossy = saved(picture(300, 200), "WEBP", quality=100)
    coded = lossy[20 : 20 + int.from_bytes(lossy[16:20], "little")]
    header = bytes([0x18, 0, 0, 0]) + (299).to_bytes(3, "little") + (199).to_bytes(3, "little")
    clear_area = chunks((b"VP8X", header), (b"ALPH", bytes(1 + 300 * 200)), (b"VP8 ", coded), (b"EXIF", bytes(9000)))
    assert checked("a.webp", clear_area).faults == ()
    holed = coded[:9000] + bytes(5000) + coded[14_000:]
    found = checked("a.webp", chunks((b"VP8X", header), (b"ALPH", bytes(1 + 300 * 200)), (b"VP8 ", holed)))
    assert kinds(found, "damage") == {"zero-filled"}
    for lossless in (False, True):
        frames = saved(clear(0), "WEBP", save_all=True, append_images=[clear(1)], lossless=lossless, quality=100)
        middle = frames.rindex(b"VP8L" if lossless else b"VP8 ") + 1000
        found = checked("a.webp", frames[:middle] + bytes(5000) + frames[middle + 5000 :])
        assert "zero-filled" in kinds(found, "damage"), lossless
        over = frames.rindex(b"ANMF") - 2500
        assert "zero-filled" in kinds(checked("a.webp", frames[:over] + bytes(5000) + frames[over + 5000 :]), "damage")


def test_a_webp_of_no_known_chunk_is_damage_where_pillow_reads_webp(monkeypatch: pytest.MonkeyPatch) -> None:
    from PIL import WebPImagePlugin, features

    data = IMAGES["lossy.webp"]
    assert kinds(checked("a.webp", data[:12] + b"\x07zz\x9d" + data[16:]), "damage") == {"not-decodable"}
    Image.init()
    monkeypatch.setitem(Image.OPEN, "WEBP", (WebPImagePlugin.WebPImageFile, lambda prefix: "not installed"))
    monkeypatch.setattr(features, "check", lambda name: False)
    assert kinds(checked("a.webp", data), "unchecked") == {"not-checked"}


def test_quick_checks_see_the_header_and_the_end() -> None:
    for name in ("baseline.jpg", "RGB.png", "a.gif", "RGB.bmp", "lossy.webp"):
        data = IMAGES[name]
        assert checked(name, data, quick=True).faults == ()
        assert checked(name, data[: len(data) // 2], quick=True).damaged


@pytest.mark.parametrize("transform", [0, 2])
def test_four_colours_are_odd_and_no_damage_with_libjpeg_too(transform: int) -> None:
    """CMYK and YCCK, without our own walk: what that does not know comes here."""
    from crashcart.probe.file_content import Faults
    from crashcart.probe.file_jpeg import _decode

    for progressive in (False, True):
        data = bytearray(saved(picture().convert("CMYK"), "JPEG", progressive=progressive))
        data[data.index(b"Adobe") + 11] = transform
        faults = Faults()
        _decode(bytes(data), faults)
        assert faults.all() == () and kinds(checked("a.jpg", bytes(data))) == {"odd-mode"}
        _decode(bytes(data[:-900]), faults)
        assert faults.any_damage
