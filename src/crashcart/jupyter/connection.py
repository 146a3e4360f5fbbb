"""A kernel's connection file: which kernel it is, and how to speak in its place.

Covers: reading the file; the kernel's id, which Jupyter puts into the file's name.
Does not cover: speaking (`last_words.py`).
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

_NAMED = re.compile(r"^(?:kernel-)?(.+)\.json$")


@dataclass(frozen=True, slots=True)
class Connection:
    """What a client needs to know of a kernel."""

    transport: str
    ip: str
    shell_port: int
    iopub_port: int
    control_port: int
    key: bytes
    hash_name: str
    curve_keys: tuple[bytes, bytes] | None
    """Public and secret, where what is said is encrypted."""

    def address(self, port: int) -> str:
        """Where a socket of the kernel lies."""
        return f"{self.transport}://{self.ip}{'-' if self.transport == 'ipc' else ':'}{port}"


def read_connection(file: Path) -> Connection:
    """The file's facts; OSError or ValueError where it is gone or no such file."""
    facts = json.loads(file.read_bytes())
    try:
        curve = tuple(facts[name].encode("ascii") for name in ("curve_publickey", "curve_secretkey") if name in facts)
        return Connection(
            transport=str(facts.get("transport", "tcp")),
            ip=str(facts["ip"]),
            shell_port=int(facts["shell_port"]),
            iopub_port=int(facts["iopub_port"]),
            control_port=int(facts["control_port"]),
            key=str(facts.get("key", "")).encode("utf-8"),
            hash_name=str(facts.get("signature_scheme", "hmac-sha256")).rpartition("-")[2],
            curve_keys=(curve[0], curve[1]) if len(curve) == 2 else None,
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{file.name} is no connection file: {error}") from None


def kernel_id(file: str) -> str:
    """The kernel's id, by the name of its connection file."""
    name = Path(file).name
    match = _NAMED.match(name)
    return match[1] if match else name
