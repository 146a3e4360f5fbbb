"""Last words on behalf of a kernel that has died: its clients learn the verdict as the outcome of the cell that ran.

Covers: binding the dead kernel's own sockets for a moment, waiting for its clients to come back to them, and sending the
`error` output, the `idle` status and the reply to the request that will never be answered otherwise. Every client that speaks
the protocol shows that: JupyterLab, Notebook, VS Code, nbclient, papermill, consoles.
Does not cover: what the words are (`kernel.py`). It is over within MOST_S: a new kernel may be started on the same ports.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from crashcart.jupyter.connection import Connection

if TYPE_CHECKING:
    import zmq

MOST_S = 1.5
GATHERING_S = 0.15
"""Clients try to connect again every tenth of a second; after the first, the others are given this long."""
_DELIMITER = b"<IDS|MSG>"


@dataclass(frozen=True, slots=True)
class Request:
    """The request that was being carried out: its header, and the way back to who asked."""

    header: dict[str, Any]
    idents: tuple[bytes, ...]
    number: int | None


@dataclass(frozen=True, slots=True)
class Words:
    """What is said, in the form of an exception."""

    name: str
    text: str
    traceback: Sequence[str]

    def content(self) -> dict[str, Any]:
        """The fields of the protocol."""
        return {"ename": self.name, "evalue": self.text, "traceback": list(self.traceback)}


def deliver(connection: Connection, request: Request, words: Words) -> bool:
    """Say it to whoever listens; whether the one who asked was reached."""
    import zmq

    context = zmq.Context()
    context.linger = 300
    until_s = time.monotonic() + MOST_S
    try:
        published, shell = context.socket(zmq.XPUB), context.socket(zmq.ROUTER)
        shell.setsockopt(zmq.ROUTER_MANDATORY, 1)
        for socket, port in ((published, connection.iopub_port), (shell, connection.shell_port)):
            if connection.curve_keys is not None:
                socket.curve_publickey, socket.curve_secretkey = connection.curve_keys
                socket.curve_server = True
            socket.bind(connection.address(port))
        _publish(published, connection, request, words, until_s)
        return _reply(shell, connection, request, words, until_s)
    except zmq.ZMQError:  # the ports are not to be had: a child of the kernel may hold them still
        return False
    finally:
        context.destroy()


def _publish(socket: zmq.Socket[bytes], connection: Connection, request: Request, words: Words, until_s: float) -> None:
    if not socket.poll(max(0, int((until_s - time.monotonic()) * 1000))):
        return
    time.sleep(GATHERING_S)
    for kind, content in (("error", words.content()), ("status", {"execution_state": "idle"})):
        socket.send_multipart([kind.encode("ascii"), *_message(connection, request, kind, content)])


def _reply(socket: zmq.Socket[bytes], connection: Connection, request: Request, words: Words, until_s: float) -> bool:
    import zmq

    content = {"status": "error", "execution_count": request.number, **words.content()}
    message = [*request.idents, *_message(connection, request, "execute_reply", content)]
    while time.monotonic() < until_s:
        try:
            socket.send_multipart(message)
        except zmq.ZMQError:  # not back yet
            time.sleep(0.02)
        else:
            return True
    return False


def _message(connection: Connection, request: Request, kind: str, content: dict[str, Any]) -> list[bytes]:
    header = {
        "msg_id": uuid.uuid4().hex,
        "msg_type": kind,
        "username": "crashcart",
        "session": uuid.uuid4().hex,
        "date": datetime.now(timezone.utc).isoformat(),
        "version": "5.3",
    }
    parts = [json.dumps(each, default=str).encode("utf-8") for each in (header, request.header, {}, content)]
    return [_DELIMITER, _signature(connection, parts), *parts]


def _signature(connection: Connection, parts: Sequence[bytes]) -> bytes:
    if not connection.key:
        return b""
    return hmac.new(connection.key, b"".join(parts), getattr(hashlib, connection.hash_name)).hexdigest().encode("ascii")
