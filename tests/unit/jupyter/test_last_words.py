"""Last words over real sockets, taken by Jupyter's own client code."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from crashcart.jupyter.connection import Connection, kernel_id, read_connection
from crashcart.jupyter.last_words import Request, Words, deliver

zmq = pytest.importorskip("zmq")
jupyter_session = pytest.importorskip("jupyter_client.session")

KEY = "a-secret"
WORDS = Words("KernelDied", "it was killed, at cell [3], line 1 (certain)", ["crashcart: it was killed"])
HEADER = {"msg_id": "m-1", "msg_type": "execute_request", "session": "client", "username": "me", "version": "5.3"}


def free_port() -> int:
    with closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def connection_file(folder: Path, **more: Any) -> Path:
    ports = {f"{name}_port": free_port() for name in ("shell", "iopub", "control")}
    facts = {"transport": "tcp", "ip": "127.0.0.1", "key": KEY, **ports}
    path = folder / "kernel-1234-abcd.json"
    path.write_text(json.dumps({**facts, "signature_scheme": "hmac-sha256", **more}))
    return path


class Client:
    """What a front end has: a socket for what is published, and one for its requests, both connected before anyone binds."""

    def __init__(self, connection: Connection, identity: bytes = b"client") -> None:
        self.context = zmq.Context()
        self.published, self.shell = self.context.socket(zmq.SUB), self.context.socket(zmq.DEALER)
        self.published.subscribe(b"")
        self.shell.identity = identity
        for each in (self.published, self.shell):
            if connection.curve_keys is not None:
                each.curve_publickey, each.curve_secretkey = zmq.curve_keypair()
                each.curve_serverkey = connection.curve_keys[0]
        self.published.connect(connection.address(connection.iopub_port))
        self.shell.connect(connection.address(connection.shell_port))
        self.session = jupyter_session.Session(key=connection.key)

    def take(self, channel: Any) -> dict[str, Any]:
        assert channel.poll(3000), "nothing came"
        _, parts = self.session.feed_identities(channel.recv_multipart())
        return dict(self.session.deserialize(parts))

    def close(self) -> None:
        self.context.destroy(linger=0)


@pytest.fixture
def clients() -> Iterator[list[Client]]:
    made: list[Client] = []
    yield made
    for each in made:
        each.close()


def told(connection: Connection, identity: bytes = b"client", words: Words = WORDS) -> bool:
    return deliver(connection, Request(HEADER, (identity,), 3), words)


@pytest.mark.parametrize("encrypted", [False, True])
def test_the_client_gets_output_status_and_reply(tmp_path: Path, clients: list[Client], encrypted: bool) -> None:
    public, secret = zmq.curve_keypair()
    keys = {"curve_publickey": public.decode(), "curve_secretkey": secret.decode()} if encrypted else {}
    connection = read_connection(connection_file(tmp_path, **keys))
    client = Client(connection)
    clients.append(client)
    results: list[bool] = []
    teller = threading.Thread(target=lambda: results.append(told(connection)))
    teller.start()
    output, status, reply = client.take(client.published), client.take(client.published), client.take(client.shell)
    teller.join(5)
    assert results == [True]
    assert [each["parent_header"]["msg_id"] for each in (output, status, reply)] == ["m-1"] * 3
    assert (output["msg_type"], output["content"]) == ("error", WORDS.content())
    assert status["content"] == {"execution_state": "idle"}
    assert reply["msg_type"] == "execute_reply"
    assert reply["content"] == {"status": "error", "execution_count": 3, **WORDS.content()}


@pytest.mark.alone
def test_two_front_ends_both_see_the_output(tmp_path: Path, clients: list[Client]) -> None:
    connection = read_connection(connection_file(tmp_path))
    clients.extend([Client(connection), Client(connection, b"other")])
    teller = threading.Thread(target=lambda: told(connection))
    teller.start()
    kinds = [each.take(each.published)["msg_type"] for each in clients]
    teller.join(5)
    assert kinds == ["error", "error"]


def test_who_asks_afterwards_is_told_what_kernel_it_was(tmp_path: Path, clients: list[Client]) -> None:
    connection = read_connection(connection_file(tmp_path))
    client = Client(connection)
    clients.append(client)
    words = replace(WORDS, information={"language_info": {"name": "python"}})
    teller = threading.Thread(target=lambda: told(connection, words=words))
    teller.start()
    assert client.take(client.shell)["msg_type"] == "execute_reply"
    jupyter_session.Session(key=b"another").send(client.shell, "kernel_info_request")
    client.session.send(client.shell, "comm_info_request")
    asked = client.session.send(client.shell, "kernel_info_request")
    answer = client.take(client.shell)
    teller.join(5)
    assert (answer["msg_type"], answer["parent_header"]["msg_id"]) == ("kernel_info_reply", asked["header"]["msg_id"])
    assert answer["content"] == {"status": "ok", "language_info": {"name": "python"}}


def test_nobody_is_there(tmp_path: Path) -> None:
    assert told(read_connection(connection_file(tmp_path))) is False


def test_a_port_that_somebody_holds(tmp_path: Path) -> None:
    connection = read_connection(connection_file(tmp_path))
    with closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", connection.iopub_port))
        taken.listen()
        assert told(connection) is False


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"ip": "127.0.0.1", "shell_port": "x", "iopub_port": 1}'])
def test_no_connection_file(tmp_path: Path, text: str) -> None:
    path = tmp_path / "kernel.json"
    path.write_text(text)
    with pytest.raises(ValueError):
        read_connection(path)


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("/run/user/1/jupyter/kernel-6f0a-11.json", "6f0a-11"),
        ("/tmp/tmpabc.json", "tmpabc"),
        ("kernel-v3-9.json", "v3-9"),
        ("odd", "odd"),
    ],
)
def test_the_kernels_id_is_in_the_files_name(file: str, name: str) -> None:
    assert kernel_id(file) == name
