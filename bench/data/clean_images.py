"""Clean images by three writers (Pillow, TensorFlow, libjpeg-turbo through simplejpeg), the odd but legal among them.

Covers: JPEG, PNG, GIF, BMP, WebP, TIFF. Does not cover: other formats (`clean_tables.py`, `clean_others.py`).
"""

from __future__ import annotations

import io
import struct
from collections.abc import Callable
from typing import Any

import simplejpeg
from PIL import Image, PngImagePlugin

from bench.data.pictures import picture
from bench.data.sample import Sample, clean, of_bytes

WIDTH, HEIGHT = 160, 120
COMMENT = b"made by the bench, \xe4 \xff\xd9 inside"


def shown(seed: int, mode: str = "RGB", width: int = WIDTH, height: int = HEIGHT) -> Image.Image:
    """A picture in a mode of Pillow."""
    rgb = Image.fromarray(picture(seed, width, height))
    if mode in ("RGBA", "LA"):
        rgb.putalpha(Image.fromarray(picture(seed + 7, width, height)[:, :, 0]))
    if mode == "I;16":
        import numpy as np

        return Image.fromarray(picture(seed, width, height)[:, :, 0].astype(np.uint16) * 257)
    return rgb.convert(mode)


def saved(image: Image.Image, form: str, **options: Any) -> bytes:
    """The file that Pillow writes."""
    out = io.BytesIO()
    image.save(out, form, **options)
    return out.getvalue()


def pillow(
    form: str, mode: str = "RGB", width: int = WIDTH, height: int = HEIGHT, **options: Any
) -> Callable[[int], bytes]:
    """A writer through Pillow."""
    return lambda seed: saved(shown(seed, mode, width, height), form, **options)


def turbo(**options: Any) -> Callable[[int], bytes]:
    """A writer through libjpeg-turbo."""
    return lambda seed: bytes(simplejpeg.encode_jpeg(picture(seed, WIDTH, HEIGHT), **options))


def tensorflow(op: str, channels: int = 3, **options: Any) -> Callable[[int], bytes]:
    """A writer of TensorFlow's own."""

    def encode(seed: int) -> bytes:
        import tensorflow as tf

        pixels = picture(seed, WIDTH, HEIGHT)[:, :, :channels]
        if options.get("deep"):
            return bytes(tf.io.encode_png(pixels.astype("uint16") * 200).numpy())
        return bytes(getattr(tf.io, op)(pixels, **options).numpy())

    return encode


def _one_pixel(seed: int) -> bytes:
    return saved(Image.new("RGB", (1, 1), (seed * 60 % 256, 99, 130)), "JPEG", quality=100)


def _with_exif(seed: int) -> bytes:
    exif = Image.Exif()
    exif[0x0112] = 1 + seed % 8
    exif[0x010E] = "a description"
    return saved(shown(seed), "JPEG", exif=exif.tobytes(), icc_profile=b"\0" * 3000, comment=COMMENT, dpi=(300, 300))


def _with_thumbnail(seed: int) -> bytes:
    """A whole JPEG inside of the header, as cameras write it; its end is not the end of the file."""
    small = saved(shown(seed, width=32, height=24), "JPEG")
    return saved(shown(seed), "JPEG", exif=b"Exif\0\0" + b"MM\0*\0\0\0\x08\0\0\0\0\0\0" + small)


def _with_texts(seed: int) -> bytes:
    info = PngImagePlugin.PngInfo()
    info.add_text("Title", "one")
    info.add_itxt("Comment", "zwölf Boxkämpfer", zip=True)
    return saved(shown(seed), "PNG", pnginfo=info, dpi=(72, 72), icc_profile=b"\1" * 400)


def _frames(form: str) -> Callable[[int], bytes]:
    def made(seed: int) -> bytes:
        first, *rest = (shown(seed + number) for number in range(3))
        return saved(first, form, save_all=True, append_images=rest, duration=80, loop=0)

    return made


def _webp_with_zeros(seed: int) -> bytes:
    """Transparency stored plainly, of an area that is clear, and notes that are empty: zeros that are meant."""
    coded = saved(shown(seed), "WEBP")[12:]
    sides = (WIDTH - 1).to_bytes(3, "little") + (HEIGHT - 1).to_bytes(3, "little")
    parts = ((b"VP8X", bytes([0x18, 0, 0, 0]) + sides), (b"ALPH", bytes(1 + WIDTH * HEIGHT)), (b"EXIF", bytes(6000)))
    first, alpha, notes = (name + struct.pack("<I", len(each)) + each + bytes(len(each) % 2) for name, each in parts)
    body = b"WEBP" + first + alpha + coded + notes
    return b"RIFF" + struct.pack("<I", len(body)) + body


def _plotted(seed: int) -> bytes:
    """As matplotlib saves a figure."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib.figure import Figure

    figure = Figure((2, 1.5))
    figure.subplots().plot(range(seed % 50 + 2))
    out = io.BytesIO()
    figure.savefig(out, format="png")
    return out.getvalue()


def _jpegs() -> list[Sample]:
    made = [
        ("quality 30", pillow("JPEG", quality=30)), ("quality 95", pillow("JPEG", quality=95)),
        ("quality 100, 4:4:4", pillow("JPEG", quality=100, subsampling=0)), ("4:2:2", pillow("JPEG", subsampling=1)),
        ("progressive", pillow("JPEG", progressive=True)), ("optimized", pillow("JPEG", optimize=True)),
        ("grey", pillow("JPEG", "L")), ("grey, progressive", pillow("JPEG", "L", progressive=True)),
        ("restart markers", pillow("JPEG", restart_marker_blocks=4)),
        ("restart markers, progressive", pillow("JPEG", restart_marker_rows=1, progressive=True)),
        ("EXIF, profile and comment", _with_exif), ("thumbnail in the header", _with_thumbnail),
        ("odd sides", pillow("JPEG", width=61, height=33)), ("libjpeg-turbo", turbo(quality=88)),
        ("libjpeg-turbo, 4:1:1", turbo(quality=80, colorsubsampling="411")),
        ("TensorFlow", tensorflow("encode_jpeg", quality=90)),
        ("TensorFlow, progressive", tensorflow("encode_jpeg", progressive=True, optimize_size=True)),
    ]  # fmt: skip
    usual = [clean("JPEG", f"JPEG, {name}", ".jpg", of_bytes(make), images=True) for name, make in made]
    return [
        *usual,
        clean("JPEG", "JPEG, one pixel", ".jpeg", of_bytes(_one_pixel), "odd-size", True),
        clean("JPEG", "JPEG, CMYK", ".jpg", of_bytes(pillow("JPEG", "CMYK")), "odd-mode", True),
        clean("JPEG", "JPEG, capital extension", ".JPG", of_bytes(pillow("JPEG")), images=True),
    ]


def _pngs() -> list[Sample]:
    made = [
        ("RGB", pillow("PNG")), ("RGBA", pillow("PNG", "RGBA")), ("grey", pillow("PNG", "L")), ("palette", pillow("PNG", "P")),
        ("stored", pillow("PNG", compress_level=0)), ("texts and profile", _with_texts), ("of matplotlib", _plotted),
        ("of TensorFlow", tensorflow("encode_png")),
    ]  # fmt: skip
    odd = [
        ("one bit", pillow("PNG", "1")), ("16 bits", pillow("PNG", "I;16")), ("grey with alpha", pillow("PNG", "LA")),
        ("16 bits of TensorFlow", tensorflow("encode_png", deep=True)), ("one pixel", pillow("PNG", width=1, height=1)),
    ]  # fmt: skip
    return [
        *(clean("PNG", f"PNG, {name}", ".png", of_bytes(make), images=True) for name, make in made),
        *(clean("PNG", f"PNG, {name}", ".png", of_bytes(make), "odd-mode odd-size", True) for name, make in odd),
    ]


def samples() -> list[Sample]:
    """All of them."""
    made: list[tuple[str, str, str, Callable[[int], bytes], str]] = [
        ("GIF", "GIF", ".gif", pillow("GIF"), ""), ("GIF", "GIF, not interlaced", ".gif", pillow("GIF", interlace=0), ""),
        ("GIF", "GIF, grey", ".gif", pillow("GIF", "L"), ""), ("GIF", "GIF, animated", ".gif", _frames("GIF"), "animated"),
        ("BMP", "BMP", ".bmp", pillow("BMP"), ""), ("BMP", "BMP, grey", ".bmp", pillow("BMP", "L"), "odd-mode"),
        ("BMP", "BMP, one bit", ".bmp", pillow("BMP", "1"), "odd-mode not-for-tensorflow"),
        ("BMP", "BMP, palette", ".bmp", pillow("BMP", "P"), "odd-mode not-for-tensorflow"),
        ("WebP", "WebP", ".webp", pillow("WEBP"), "not-for-tensorflow"),
        ("WebP", "WebP, lossless", ".webp", pillow("WEBP", lossless=True), "not-for-tensorflow"),
        ("WebP", "WebP, alpha", ".webp", pillow("WEBP", "RGBA"), "not-for-tensorflow"),
        ("WebP", "WebP, animated", ".webp", _frames("WEBP"), "animated not-for-tensorflow"),
        ("WebP", "WebP, zeros that are meant", ".webp", _webp_with_zeros, "not-for-tensorflow"),
        ("PNG", "PNG, animated", ".png", _frames("PNG"), "animated"), ("TIFF", "TIFF", ".tif", pillow("TIFF"), "not-for-tensorflow"),
        ("TIFF", "TIFF, LZW", ".tiff", pillow("TIFF", compression="tiff_lzw"), "not-for-tensorflow"),
        ("TIFF", "TIFF, pages", ".tif", _frames("TIFF"), "animated not-for-tensorflow"),
    ]  # fmt: skip
    others = [clean(family, name, end, of_bytes(make), odd, True) for family, name, end, make, odd in made]
    return [*_jpegs(), *_pngs(), *others]
