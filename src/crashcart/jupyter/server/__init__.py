"""The part of crashcart inside Jupyter's server: it answers the Lab extension's questions about kernels.

Covers: being found and loaded by jupyter_server. Every answer needs the user's own authentication.
Does not cover: starting kernels under the watcher, which works without this part, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jupyter_server.serverapp import ServerApp
    from tornado.web import Application


def _jupyter_server_extension_points() -> list[dict[str, str]]:
    """Where jupyter_server finds the extension."""
    return [{"module": "crashcart.jupyter.server"}]


def _load_jupyter_server_extension(server: ServerApp) -> None:
    """Add our addresses to the server's own."""
    from crashcart.jupyter.server.handlers import addresses

    application: Application = server.web_app
    application.add_handlers(".*$", [*addresses(application.settings["base_url"])])
