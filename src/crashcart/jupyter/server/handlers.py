"""The addresses under `<base_url>/crashcart/`: what the Lab extension asks, and who may ask it.

Covers: authentication and authorization as for Jupyter's own kernels; kernels and recordings are named only, and a name
that this server does not know is refused: no path comes from the client. Files are read in a thread.
Does not cover: the answers themselves (`present.py`, `deaths.py`).
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any, TypeVar

from jupyter_client.kernelspec import NoSuchKernel
from jupyter_server.auth.decorator import authorized
from jupyter_server.base.handlers import APIHandler
from jupyter_server.gateway.managers import GatewayMappingKernelManager
from jupyter_server.utils import url_path_join
from tornado import web

from crashcart.errors import CrashcartError
from crashcart.jupyter.server.deaths import Deaths, full
from crashcart.jupyter.server.present import present
from crashcart.jupyter.server.recordings import Recording, Recordings

Answer = TypeVar("Answer")

_KERNEL = r"(?P<kernel_id>[\w-]+)"
_RECORDING = r"(?P<name>[^/]+)"


class Room:
    """What the handlers of one server share."""

    def __init__(self) -> None:
        self.recordings = Recordings()
        self.deaths = Deaths()
        self.seen: set[str] = set()
        """Kernels that this server has had: one that died for good is asked about after the server forgot it."""


def addresses(base_url: str) -> list[tuple[str, type[APIHandler], dict[str, Any]]]:
    """The addresses and their handlers."""
    shared = {"room": Room()}
    kernel = url_path_join(base_url, "crashcart", "kernels", _KERNEL)
    return [(kernel, KernelHandler, shared), (url_path_join(kernel, "deaths", _RECORDING), DeathHandler, shared)]


class _Handler(APIHandler):
    """What both questions have in common."""

    auth_resource = "kernels"

    def initialize(self, room: Room) -> None:
        """Take what the handlers share."""
        super().initialize()
        self.room = room

    def refuse_unknown(self, kernel_id: str) -> None:
        """Answer 404 unless the kernel is, or was, one of this server's."""
        self.room.seen.update(self.kernel_manager.list_kernel_ids())
        if kernel_id not in self.room.seen:
            raise web.HTTPError(404, reason="No such kernel")

    async def of_kernel(self, kernel_id: str) -> list[Recording]:
        """The kernel's recordings, newest first."""
        return await self.read(lambda: self.room.recordings.of_kernel(kernel_id))

    async def read(self, question: Callable[[], Answer]) -> Answer:
        """Read in a thread. What cannot be read is said, not a failure of the server."""
        try:
            return await asyncio.to_thread(question)
        except Exception as error:  # a damaged recording may fail anywhere, and Jupyter has nothing to do with it
            words = str(error) if isinstance(error, CrashcartError) else f"{type(error).__name__}: {error}"
            raise web.HTTPError(422, words, reason="The recording cannot be read") from error

    def answer(self, document: dict[str, Any]) -> None:
        """Send the document."""
        self.set_header("Cache-Control", "no-store")
        self.finish(json.dumps(document))


class KernelHandler(_Handler):
    """Memory, guard and deaths of one kernel."""

    @web.authenticated
    @authorized
    async def get(self, kernel_id: str) -> None:
        """Answer; `?history=1` adds the curve of its memory."""
        self.refuse_unknown(kernel_id)
        found = await self.of_kernel(kernel_id)
        unwatched = self._why_unwatched(kernel_id)
        with_history = self.get_query_argument("history", "") == "1"
        newest = found[0] if found else None
        state = await self.read(lambda: present(newest, unwatched, with_history))
        deaths = await self.read(lambda: self.room.deaths.of(found))
        self.answer(state | {"deaths": deaths})

    def _why_unwatched(self, kernel_id: str) -> str:
        """Why a kernel has no recording, as far as the server can tell."""
        if isinstance(self.kernel_manager, GatewayMappingKernelManager):
            return "The kernel runs on another machine (a gateway); crashcart watches kernels of this one."
        language = self._language(kernel_id)
        if language and language != "python":
            return f"crashcart watches Python kernels; this one is for {language}."
        return (
            "The kernel was not started under crashcart. Run `crashcart jupyter enable`, then start the kernel again."
        )

    def _language(self, kernel_id: str) -> str | None:
        """The language of the kernel's specification; None where it has none (any more)."""
        if kernel_id not in self.kernel_manager:
            return None
        try:
            spec = self.kernel_manager.get_kernel(kernel_id).kernel_spec
        except NoSuchKernel:
            return None
        return str(spec.language).lower() if spec is not None else None


class DeathHandler(_Handler):
    """One death of a kernel, in full."""

    @web.authenticated
    @authorized
    async def get(self, kernel_id: str, name: str) -> None:
        """Answer with the report as a document and as a page."""
        self.refuse_unknown(kernel_id)
        found = await self.of_kernel(kernel_id)
        recording = next((each for each in found if each.folder.name == name), None)
        if recording is None:
            raise web.HTTPError(404, reason="No such recording of this kernel")
        self.answer(await self.read(lambda: full(recording)))
