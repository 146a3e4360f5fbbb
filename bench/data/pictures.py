"""Pictures that compress as photographs do, made from a seed.

Covers: smooth textures at several scales with a little grain: at 500 × 375 and quality 90 they take 50 to 110 KB as JPEG, as the
photographs of ImageNet do.
Does not cover: files (`clean.py`, `speed.py`).
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

Pixels = Any
_SIDE = 1024


@cache
def _sheet(number: int) -> Pixels:
    """A large sheet of texture, from which pictures are cut."""
    chance = np.random.default_rng(number)
    sheet = np.zeros((_SIDE, _SIDE, 3), np.float32)
    for step, strength in ((128, 70.0), (32, 40.0), (8, 22.0), (2, 10.0)):
        coarse = chance.normal(0, strength, (_SIDE // step, _SIDE // step, 3)).astype(np.float32)
        sheet += _smooth(coarse.repeat(step, 0).repeat(step, 1), step)
    sheet += chance.normal(0, 4.0, sheet.shape).astype(np.float32)
    return np.clip(sheet + 128, 0, 255).astype(np.uint8)


def _smooth(field: Pixels, width: int) -> Pixels:
    """Each axis averaged over a window, around the edges: blocks become slopes."""
    for _ in range(2):
        total = np.cumsum(np.concatenate([field, field[:width]]), axis=0, dtype=np.float64)
        total = np.concatenate([np.zeros_like(total[:1]), total])
        field = ((total[width:] - total[:-width])[:_SIDE] / width).swapaxes(0, 1)
    return field.astype(np.float32)


def picture(seed: int, width: int = 500, height: int = 375) -> Pixels:
    """RGB pixels; no two seeds give the same."""
    chance = np.random.default_rng(seed + 1_000_003)
    sheet = _sheet(seed % 8)
    top, left = int(chance.integers(_SIDE - height + 1)), int(chance.integers(_SIDE - width + 1))
    cut = sheet[top : top + height, left : left + width].astype(np.float32)
    shades = cut * chance.uniform(0.8, 1.1, 3).astype(np.float32) + np.float32(chance.uniform(-12, 12))
    pixels = np.clip(shades, 0, 255).astype(np.uint8)
    pixels[0, 0] = [seed & 255, seed >> 8 & 255, seed >> 16 & 255]
    return np.ascontiguousarray(pixels[:, ::-1] if seed & 1 else pixels)
