"""Last words on behalf of a kernel that has died: its clients learn the verdict as the outcome of the cell that ran.

Covers: binding the dead kernel's own sockets for a moment, waiting for its clients to come back to them, and sending the
`error` output, the `idle` status and the reply to the request that will never be answered otherwise. Every client that speaks
the protocol shows that: JupyterLab, Notebook, VS Code, nbclient, papermill, consoles. papermill asks afterwards what kernel that
was, and is told.
Does not cover: what the words are (`kernel.py`). It is over within MOST_S and ASKED_S: a new kernel may be started on the same
ports.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from crashcart.jupyter.connection import Connection

if TYPE_CHECKING:
    import zmq

MOST_S = 1.5
GATHERING_S = 0.25
"""A client tries to connect again after a tenth of a second and up to another tenth, by chance: who is not back this long after
the last one is not awaited any more."""
ASKED_S = 1.0
"""papermill asks its question when it has saved the notebook, which took it 30 ms here."""
_DELIMITER = b"<IDS|MSG>"


@dataclass(frozen=True, slots=True)
class Request:
    """The request that was being carried out: its header, and the way back to who asked."""

    header: dict[str, Any]
    idents: tuple[bytes, ...]
    number: int | None


@dataclass(frozen=True, slots=True)
class Words:
    """What is said, in the form of an exception, and what is said about the kernel if somebody asks."""

    name: str
    text: str
    traceback: Sequence[str]
    information: Mapping[str, Any] | None = None

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
        published = _bound(context, zmq.XPUB, connection, connection.iopub_port)
        shell = _bound(context, zmq.ROUTER, connection, connection.shell_port)
        shell.setsockopt(zmq.ROUTER_MANDATORY, 1)
        _publish(published, connection, request, words, until_s)
        reached = _reply(shell, connection, request, words, until_s)
        if reached and words.information is not None:
            control = _bound(context, zmq.ROUTER, connection, connection.control_port)
            _answer(shell, control, connection, words.information)
        return reached
    except zmq.ZMQError:  # the ports are not to be had: a child of the kernel may hold them still
        return False
    finally:
        context.destroy()


def _bound(context: zmq.Context[zmq.Socket[bytes]], kind: int, connection: Connection, port: int) -> zmq.Socket[bytes]:
    socket = context.socket(kind)
    if connection.curve_keys is not None:
        socket.curve_publickey, socket.curve_secretkey = connection.curve_keys
        socket.curve_server = True
    try:
        socket.bind(connection.address(port))
    except BaseException:
        socket.close()
        raise
    return socket


def _publish(socket: zmq.Socket[bytes], connection: Connection, request: Request, words: Words, until_s: float) -> None:
    if not socket.poll(_left_ms(until_s)):
        return
    while socket.poll(min(int(GATHERING_S * 1000), _left_ms(until_s))):
        socket.recv_multipart()  # another who listens
    for kind, content in (("error", words.content()), ("status", {"execution_state": "idle"})):
        socket.send_multipart([kind.encode("ascii"), *_message(connection, request, kind, content)])


def _reply(socket: zmq.Socket[bytes], connection: Connection, request: Request, words: Words, until_s: float) -> bool:
    import zmq

    content = {"status": "error", "execution_count": request.number, **words.content()}
    message = [*request.idents, *_message(connection, request, "execute_reply", content)]
    while True:
        try:
            socket.send_multipart(message)
        except zmq.ZMQError:  # not back yet
            if not _left_ms(until_s):
                return False
            time.sleep(0.02)
        else:
            return True


def _answer(
    shell: zmq.Socket[bytes], control: zmq.Socket[bytes], connection: Connection, information: Mapping[str, Any]
) -> None:
    """Tell the first who asks what kernel this was. On the other channel comes the request to shut down: then all is said."""
    import zmq

    until_s = time.monotonic() + ASKED_S
    poller = zmq.Poller()
    poller.register(shell, zmq.POLLIN)
    poller.register(control, zmq.POLLIN)
    while ready := dict(poller.poll(_left_ms(until_s))):
        request = _question(connection, shell.recv_multipart()) if shell in ready else None
        if request is not None:
            content = {"status": "ok", **information}
            shell.send_multipart([*request.idents, *_message(connection, request, "kernel_info_reply", content)])
        if request is not None or control in ready:
            return


def _question(connection: Connection, message: list[bytes]) -> Request | None:
    """A client's question of what kernel this is; None where it is something else, or signed with another key."""
    if _DELIMITER not in message:
        return None
    split = message.index(_DELIMITER)
    signature, *parts = message[split + 1 : split + 6]
    if len(parts) != 4 or not hmac.compare_digest(signature, _signature(connection, parts)):
        return None
    header = json.loads(parts[0])
    is_question = header.get("msg_type") == "kernel_info_request"
    return Request(header, tuple(message[:split]), None) if is_question else None


def _left_ms(until_s: float) -> int:
    return max(0, int((until_s - time.monotonic()) * 1000))


def _message(connection: Connection, request: Request, kind: str, content: Mapping[str, Any]) -> list[bytes]:
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
