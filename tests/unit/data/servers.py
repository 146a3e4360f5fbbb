"""Real servers for the tests of files elsewhere: a web server with faults of its own, and an S3 store."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


class Handler(SimpleHTTPRequestHandler):
    """Serves files whole; a name says what goes wrong with it."""

    asked: list[str]

    def log_message(self, *_: object) -> None:
        """Quiet."""

    def do_GET(self) -> None:
        self.server.asked.append(self.path)  # type: ignore[attr-defined]
        if "refused" in self.path:
            self.send_error(403)
        elif "failing" in self.path:
            self.send_error(500)
        elif "once" in self.path and self.server.asked.count(self.path) == 1:  # type: ignore[attr-defined]
            self.send_error(503)
        elif "broken" in self.path:
            self._break_off()
        elif self.headers.get("Range") and "parts" in self.path:
            self._part()
        else:
            super().do_GET()

    def _break_off(self) -> None:
        """Promises more than it gives."""
        data = Path(self.translate_path(self.path)).read_bytes()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data[: len(data) // 2])
        self.close_connection = True

    def _part(self) -> None:
        data = Path(self.translate_path(self.path)).read_bytes()
        first, _, last = self.headers["Range"].removeprefix("bytes=").partition("-")
        part = data[int(first) : int(last) + 1]
        self.send_response(206)
        self.send_header("Content-Length", str(len(part)))
        self.send_header("Content-Range", f"bytes {first}-{int(first) + len(part) - 1}/{len(data)}")
        self.end_headers()
        self.wfile.write(part)


@contextmanager
def web(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """The address of a web server over a folder, and what it was asked for."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(folder)))
    server.asked = []  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/", server.asked  # type: ignore[attr-defined]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@contextmanager
def s3() -> Iterator[str]:
    """The address of an S3 store in a process of its own."""
    port = free_port()
    server = subprocess.Popen(
        [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, "PYTHONWARNINGS": "ignore"},
    )  # fmt: skip
    address = f"http://127.0.0.1:{port}"
    try:
        _wait_for(address, server)
        yield address
    finally:
        server.kill()
        server.wait()


@contextmanager
def dask(folder: Path, **environment: str) -> Iterator[tuple[str, subprocess.Popen[bytes], subprocess.Popen[bytes]]]:
    """A scheduler and a worker of Dask as programs of their own, as on a real cluster: the address and both."""
    address = f"tcp://127.0.0.1:{free_port()}"
    options = {"cwd": folder, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "start_new_session": True}
    environment = {**os.environ, "PYTHONWARNINGS": "ignore", **environment}
    programs = []
    try:
        for command in (
            [
                "distributed.cli.dask_scheduler",
                "--host",
                "127.0.0.1",
                "--port",
                address.rpartition(":")[2],
                "--no-dashboard",
            ],
            ["distributed.cli.dask_worker", address, "--nthreads", "1", "--no-dashboard", "--death-timeout", "90"],
        ):
            programs.append(subprocess.Popen([sys.executable, "-m", *command], env=environment, **options))  # type: ignore[call-overload]
        yield address, programs[0], programs[1]
    finally:
        for each in programs:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(each.pid, signal.SIGKILL)
            each.wait()


def _wait_for(address: str, server: subprocess.Popen[bytes]) -> None:
    until_s = time.monotonic() + 90
    while time.monotonic() < until_s:
        assert server.poll() is None, "the S3 store has ended"
        try:
            urllib.request.urlopen(address, timeout=5).close()
            return
        except OSError:
            time.sleep(0.1)
    raise AssertionError("the S3 store does not answer")
