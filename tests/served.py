"""A real Jupyter server of a test's own: a free port, a token, private folders, kernels watched by this checkout."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.conftest import ROOT

LAB_EXTENSION = ROOT / "src/crashcart/jupyter/labextension"
TOKEN = "a-token-of-the-tests"
PLAIN_ARGV = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]


@dataclass(frozen=True)
class Answer:
    """What the server said."""

    status: int
    headers: dict[str, str]
    text: str

    @property
    def document(self) -> Any:
        return json.loads(self.text)


class Served:
    """The server's folders, its address, and questions to it."""

    def __init__(self, scratch: Path) -> None:
        self.scratch = scratch
        self.notebooks = self._folder("notebooks")
        self.home = self._folder("recordings")
        self.shared = self._folder("share")
        self.port = _free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.pid = 0
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("JUPYTER")},
            "CRASHCART_HOME": str(self.home),
            "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)]),
            "HOME": str(self._folder("home")),
            "JUPYTER_CONFIG_DIR": str(self._folder("config")),
            "JUPYTER_DATA_DIR": str(self._folder("data")),
            "JUPYTER_RUNTIME_DIR": str(self._folder("runtime")),
            "JUPYTER_PATH": str(self.shared),
            "JUPYTER_CONFIG_PATH": str(ROOT / "etc/jupyter"),
            "IPYTHONDIR": str(self._folder("ipython")),
        }
        self.add_kernel("plain", PLAIN_ARGV)

    def _folder(self, name: str) -> Path:
        folder = self.scratch / name
        folder.mkdir()
        return folder

    def add_kernel(self, name: str, argv: Sequence[str], language: str = "python") -> None:
        folder = self.shared / "kernels" / name
        folder.mkdir(parents=True)
        facts = {"argv": list(argv), "display_name": name, "language": language, "metadata": {"debugger": False}}
        (folder / "kernel.json").write_text(json.dumps(facts))

    def watch_kernel(self, name: str, *options: str) -> None:
        """Add a kernel, and have crashcart watch it as a user would."""
        self.add_kernel(name, PLAIN_ARGV)
        command = [sys.executable, "-m", "crashcart", "jupyter", "enable", "--kernel", name, *options]
        subprocess.run(command, env=self.environment, check=True, capture_output=True, timeout=60)

    def confine_kernel(self, name: str, group: Path) -> None:
        """Have the kernel start in a memory group, with its watcher, as in a container."""
        path = self.shared / "kernels" / name / "kernel.json"
        facts = json.loads(path.read_text())
        enter = f'echo $$ > {group / "cgroup.procs"}; exec "$@"'
        path.write_text(json.dumps({**facts, "argv": ["sh", "-c", enter, "sh", *facts["argv"]]}))

    def link_lab_extension(self) -> None:
        (self.shared / "labextensions").mkdir()
        (self.shared / "labextensions" / "crashcart").symlink_to(LAB_EXTENSION)

    @contextmanager
    def running(self, module: str, *options: str) -> Iterator[Served]:
        with (self.scratch / "server.log").open("w") as log:
            server = subprocess.Popen(
                [sys.executable, "-m", module, *self._options(), *options],
                env=self.environment, cwd=self.notebooks, stdout=log, stderr=subprocess.STDOUT,
            )  # fmt: skip
            try:
                self._await(server)
                self.pid = server.pid
                yield self
            finally:
                _end(server)

    def _options(self) -> list[str]:
        chosen = {
            "port": self.port,
            "port_retries": 0,
            "open_browser": False,
            "root_dir": self.notebooks,
            "allow_root": True,
            "ip": "127.0.0.1",
        }
        return [f"--ServerApp.{name}={value}" for name, value in chosen.items()] + [f"--IdentityProvider.token={TOKEN}"]

    def _await(self, server: subprocess.Popen[bytes]) -> None:
        for _ in range(300):
            assert server.poll() is None, self.log
            try:
                if self.ask("api").status == 200:
                    return
            except OSError:
                time.sleep(0.1)
        raise AssertionError(f"the server does not answer\n{self.log}")

    @property
    def log(self) -> str:
        return (self.scratch / "server.log").read_text(errors="replace")

    def ask(self, path: str, token: str | None = TOKEN, method: str = "GET", body: object = None) -> Answer:
        request = urllib.request.Request(f"{self.url}/{path}", method=method)
        if token is not None:
            request.add_header("Authorization", f"token {token}")
        data = None if body is None else json.dumps(body).encode()
        try:
            with urllib.request.urlopen(request, data, timeout=30) as reply:
                return Answer(reply.status, dict(reply.headers), reply.read().decode())
        except urllib.error.HTTPError as error:
            with error:
                return Answer(error.code, dict(error.headers), error.read().decode(errors="replace"))

    def end_kernels(self) -> None:
        for kernel in self.ask("api/kernels").document:
            self.ask(f"api/kernels/{kernel['id']}", method="DELETE")

    def start_kernel(self, name: str) -> str:
        return str(self.ask("api/kernels", method="POST", body={"name": name}).document["id"])


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _end(server: subprocess.Popen[bytes]) -> None:
    server.terminate()
    try:
        server.wait(20)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()
