"""Which CPU feature an x86-64 instruction needs, from its bytes.

Covers: the encodings that decide between generations (VEX: AVX, AVX2, FMA, BMI, AMX; EVEX: AVX-512; a few SSE4 and
bit instructions), which is what prebuilt numeric libraries trip over.
Does not cover: a full disassembly, other architectures. No rule is declared here.
"""

from __future__ import annotations

_LEGACY_PREFIXES = frozenset({0x66, 0xF2, 0xF3, 0x2E, 0x36, 0x3E, 0x26, 0x64, 0x65, 0xF0})


def is_trap(code: bytes) -> bool:
    """Whether it is `ud2` or `int3`: put there by a compiler on purpose, not a missing feature."""
    return code[:2] == b"\x0f\x0b" or code[:1] == b"\xcc" or code[:2] == b"\x0f\xff"


def needed_features(code: bytes) -> tuple[str, ...]:
    """Names as /proc/cpuinfo spells them, any of which the instruction may need; empty where it is not known."""
    body = code
    while body and body[0] in _LEGACY_PREFIXES:
        body = body[1:]
    if not body:
        return ()
    if body[0] == 0x62:
        return ("avx512f",)
    if body[0] == 0xC5 and len(body) >= 3:
        return _vex(1, body[2], wide=bool(body[1] & 0x04), prefix=body[1] & 0x03)
    if body[0] == 0xC4 and len(body) >= 4:
        return _vex(body[1] & 0x1F, body[3], wide=bool(body[2] & 0x04), prefix=body[2] & 0x03)
    return _legacy(code, body)


def _vex(table: int, opcode: int, wide: bool, prefix: int) -> tuple[str, ...]:
    if table == 2 and 0x96 <= opcode <= 0xBF:
        return ("fma",)
    if table == 2 and opcode in (0x49, 0x4B, 0x5C, 0x5E, 0x6C):
        return ("amx_tile",)
    if table == 2 and opcode in (0xF2, 0xF3, 0xF5, 0xF6, 0xF7):
        return ("bmi1", "bmi2")
    if table == 3 and opcode == 0xF0:
        return ("bmi2",)
    if table == 2 and opcode in (0x50, 0x51, 0x52, 0x53):
        return ("avx_vnni", "avx512_vnni")
    if table == 2 and (opcode in (0x58, 0x59, 0x5A, 0x78, 0x79, 0x36, 0x46, 0x47) or 0x90 <= opcode <= 0x93):
        return ("avx2",)
    integer = table == 1 and prefix == 1 and (0x60 <= opcode <= 0x6D or 0xD1 <= opcode <= 0xFE)
    if wide and (integer or (table == 2 and opcode <= 0x0B) or (table == 2 and 0x1C <= opcode <= 0x41)):
        return ("avx2",)
    return ("avx",)


def _legacy(code: bytes, body: bytes) -> tuple[str, ...]:
    if body[0] & 0xF0 == 0x40:
        body = body[1:]
    if body[:2] == b"\x0f\xb8" and 0xF3 in code[:3]:
        return ("popcnt",)
    if body[:2] == b"\x0f\x38" and len(body) >= 3:
        if 0xC8 <= body[2] <= 0xCD:
            return ("sha_ni",)
        if body[2] in (0xF0, 0xF1):
            return ("sse4_2", "movbe")
        if 0xDB <= body[2] <= 0xDF:
            return ("aes",)
        return ("sse4_1", "ssse3")
    if body[:2] == b"\x0f\x3a":
        return ("sse4_1", "sse4_2")
    return ()
