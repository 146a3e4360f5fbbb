"""Long runs of zeros in JPEG data: a hole where the codes make coefficients of them, and nothing where they are flat areas."""

from __future__ import annotations

import io
import random
from typing import Any

import numpy
import pytest
from PIL import Image, ImageDraw, ImageFile

from crashcart.probe.file_native import native
from tests.unit.probe.made import checked, kinds, picture, saved

SAVED: dict[str, dict[str, Any]] = {
    "4:2:0": {"subsampling": 2},
    "4:2:2": {"subsampling": 1},
    "4:4:4": {"subsampling": 0},
    "grey": {},
    "restarts": {"restart_marker_rows": 1},
    "high": {"quality": 98},
}


def with_zeros(data: bytes, count: int, place: float) -> bytes:
    at = int(len(data) * place)
    return data[:at] + bytes(count) + data[at + count :]


@pytest.mark.parametrize("name", SAVED)
@pytest.mark.parametrize("count", [200, 600, 2048, 4096])
def test_zeros_in_a_photograph_are_damage(name: str, count: int) -> None:
    image = picture(640, 480).convert("L" if name == "grey" else "RGB")
    data = saved(image, "JPEG", **{"quality": 90, **SAVED[name]})
    assert checked("a.jpg", data).faults == ()
    for place in (0.3, 0.5, 0.7):
        found = checked("a.jpg", with_zeros(data, count, place))
        assert found.damaged and not found.good, place


def test_the_finding_says_where_the_zeros_begin() -> None:
    data = saved(picture(640, 480), "JPEG", quality=90)
    found = checked("a.jpg", with_zeros(data, 2048, 0.4))
    (fault,) = (each for each in found.faults if each.kind == "zero-filled")
    assert abs(int(str(fault.where).split()[1]) - int(len(data) * 0.4)) <= 2
    assert fault.weight == "damage" and "64 zeros" in fault.detail


def zeros_in(data: bytes) -> int:
    """The longest run of zeros after the first scan began."""
    start, longest = data.index(b"\xff\xda"), 0
    while bytes(longest + 1) in data[start:]:
        longest += 1
    return longest


@pytest.mark.parametrize("mode", ["L", "RGB"])
@pytest.mark.parametrize("colour", ["white", "black", "#808080"])
def test_a_flat_picture_is_full_of_zeros_and_clean(mode: str, colour: str) -> None:
    data = saved(Image.new(mode, (1200, 900), colour), "JPEG", optimize=True)
    assert zeros_in(data) >= 64
    assert checked("a.jpg", data).faults == ()
    assert checked("a.jpg", data, quick=True).faults == ()


def test_zeros_after_the_last_block_are_only_odd() -> None:
    data = saved(picture(320, 240), "JPEG", quality=90)
    found = checked("a.jpg", data[:-2] + bytes(600) + data[-2:])
    assert kinds(found, "odd") == {"recovered"} and found.good


def test_zeros_in_a_comment_are_nobodys_business() -> None:
    data = saved(picture(320, 240), "JPEG", comment=bytes(5000))
    assert checked("a.jpg", data).faults == () == checked("a.jpg", data, quick=True).faults


def test_a_ramp_of_flat_blocks_is_clean() -> None:
    """Each block a little darker than the one before: codes of zeros, with differences of DC values."""
    ramp = numpy.repeat(numpy.linspace(255, 0, 256, dtype="uint8"), 8)[None, :].repeat(512, 0)
    for quality in (75, 90, 100):
        assert checked("a.jpg", saved(Image.fromarray(ramp), "JPEG", optimize=True, quality=quality)).faults == ()


def any_picture(number: int) -> bytes:
    """Noise, slopes, patterns, words, flat areas; any size, quality and way of saving."""
    chance = random.Random(number)
    width, height = chance.choice((33, 128, 256, 512, 900)), chance.choice((17, 128, 256, 400))
    image = _drawn(chance, width, height)
    if chance.random() < 0.3:
        image = image.convert("L")
    options: dict[str, Any] = {"quality": chance.randint(1, 100), "optimize": chance.random() < 0.6}
    options["progressive"] = chance.random() < 0.4
    options["subsampling"] = chance.choice((0, 1, 2))
    if chance.random() < 0.2:
        options["restart_marker_blocks"] = chance.randint(1, 40)
    held = io.BytesIO()
    image.save(held, "JPEG", **options)
    return held.getvalue()


def _drawn(chance: random.Random, width: int, height: int) -> Image.Image:
    kind = chance.choice(("noise", "slope", "flat", "words", "pattern", "dots", "half"))
    x, y = numpy.meshgrid(numpy.arange(width), numpy.arange(height))
    if kind == "noise":
        spread = chance.choice((1, 3, 20, 120))
        field = numpy.random.default_rng(chance.randrange(2**32)).normal(128, spread, (height, width, 3))
    elif kind == "slope":
        field = (x * chance.uniform(-1, 1) + y * chance.uniform(-1, 1))[..., None] * [1, 0.5, 0.2] + 128
    elif kind == "pattern":
        period, high = chance.choice((2, 3, 4, 8, 16, 24)), chance.randint(1, 255)
        field = (((x // period + y // chance.choice((1, 8, period))) % 2) * high)[..., None] * [1, 1, 1]
    elif kind == "dots":
        step, place, value = chance.choice((8, 16)), chance.randint(0, 7), chance.choice((0, 60, 127, 200))
        field = numpy.full((height, width, 3), 255.0)
        field[place::step, place::step] = value
    else:
        field = numpy.full((height, width, 3), float(chance.randint(0, 255)))
    if kind == "half":
        field[: height // 2] = numpy.random.default_rng(chance.randrange(2**32)).integers(
            0, 256, (height // 2, width, 3)
        )
    image = Image.fromarray(numpy.clip(field, 0, 255).astype("uint8"))
    if kind == "words":
        draw = ImageDraw.Draw(image)
        for line in range(0, height, 12):
            draw.text(
                (0, line), "".join(chance.choices("abc def  ", k=width // 6)), fill=chance.choice(("white", "black"))
            )
    return image


def test_no_picture_is_accused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sample of what was run over 3,000 pictures of these kinds, 433 of them with such runs of zeros."""
    monkeypatch.setattr(ImageFile, "MAXBLOCK", 1 << 23)  # else Pillow cannot write noise with tables of its own
    assert native() is not None
    for number in range(400):
        data = any_picture(number)
        assert checked("a.jpg", data).faults == (), number
        assert checked("a.jpg", data, quick=True).faults == (), number
