"""JupyterLab as a user sees it: notebooks, cells, the status bar, in a window of the browser."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.served import TOKEN, Served

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext

_NUMBERS = itertools.count()

# Moments as the page saw them: when Jupyter noticed the death, and when the verdict was there.
_CLOCK = """
() => {
  const app = window.jupyterapp;
  window.crashcartMoments = {};
  for (const panel of app.shell.widgets('main')) {
    panel.sessionContext?.statusChanged.connect((_, status) => {
      if (status === 'autorestarting') window.crashcartMoments.noticed ??= performance.now();
    });
  }
  new MutationObserver(() => {
    if (document.querySelector('.crashcart-Verdict')) window.crashcartMoments.shown ??= performance.now();
  }).observe(document.body, { childList: true, subtree: true });
}
"""


class Lab(Served):
    """A JupyterLab of its own."""

    OPTIONS = ("--LabApp.expose_app_in_browser=True",)

    def __init__(self, scratch: Path) -> None:
        super().__init__(scratch)
        for name in ("settings", "workspaces"):
            self.environment[f"JUPYTERLAB_{name.upper()}_DIR"] = str(self._folder(name))
        self.set("@jupyterlab/apputils-extension:notification", {"fetchNews": "false", "checkForUpdates": False})

    def set(self, plugin: str, settings: dict[str, Any]) -> None:
        """Settings that the next window will have."""
        extension, _, name = plugin.partition(":")
        folder = self.scratch / "settings" / extension
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.jupyterlab-settings").write_text(json.dumps(settings))

    @contextmanager
    def settings(self, plugin: str, settings: dict[str, Any]) -> Iterator[None]:
        """Settings of the windows that are opened meanwhile."""
        self.set(plugin, settings)
        try:
            yield
        finally:
            self.set(plugin, {})

    def notebook(self, kernel: str, *cells: str) -> str:
        """A new notebook; its cells have the ids cell-1, cell-2…"""
        name = f"{kernel}-{next(_NUMBERS)}.ipynb"
        document = {
            "cells": [_cell(number, source) for number, source in enumerate(cells, 1)],
            "metadata": {"kernelspec": {"name": kernel, "display_name": kernel, "language": "python"}},
            "nbformat": 4,
            "nbformat_minor": 5,
        }
        (self.notebooks / name).write_text(json.dumps(document))
        return name


def _cell(number: int, source: str) -> dict[str, Any]:
    return {
        "cell_type": "code",
        "id": f"cell-{number}",
        "metadata": {},
        "execution_count": None,
        "outputs": [],
        "source": source,
    }


class Window:
    """One window of the browser, in a workspace of its own."""

    def __init__(self, lab: Lab, browser: BrowserContext) -> None:
        self.lab = lab
        self.page = browser.new_page()
        self.complaints: list[str] = []
        self.questions: list[str] = []
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", self._on_request)

    def _on_request(self, request: Any) -> None:
        if "/crashcart/kernels/" in request.url:
            self.questions.append(request.url)

    def close(self) -> None:
        self.page.close()

    def open(self, *names: str) -> None:
        """Open notebooks side by side in tabs; the first one is in front at the end."""
        workspace = f"window-{next(_NUMBERS)}"
        self.page.goto(f"{self.lab.url}/lab/workspaces/{workspace}/tree/{names[0]}?token={TOKEN}")
        self.page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=60_000)
        for name in names[1:]:
            self.command("docmanager:open", {"path": name})
        for name in reversed(names):
            self.turn_to(name)
            self.await_idle()
        self.page.evaluate(_CLOCK)

    def await_idle(self) -> None:
        """Wait until the kernel of the notebook in front takes requests."""
        self.page.wait_for_function(
            "() => window.jupyterapp.shell.currentWidget?.sessionContext?.session?.kernel?.status === 'idle'",
            timeout=60_000,
        )

    def turn_to(self, name: str) -> None:
        self.command("docmanager:open", {"path": name})
        self.page.wait_for_function(
            "name => window.jupyterapp.shell.currentWidget?.context?.path === name", arg=name, timeout=30_000
        )

    def command(self, name: str, arguments: dict[str, Any] | None = None) -> None:
        """Run a command of Lab without waiting for its end."""
        self.page.evaluate(
            "([name, args]) => { void window.jupyterapp.commands.execute(name, args ?? {}); }", [name, arguments]
        )

    def run_all(self) -> None:
        self.command("notebook:run-all-cells")

    def run_cell(self, number: int) -> None:
        """Run one cell of the notebook in front by keyboard."""
        self.page.evaluate(
            """number => {
              const notebook = window.jupyterapp.shell.currentWidget.content;
              notebook.activeCellIndex = number - 1;
              notebook.mode = 'command';
              notebook.activate();
            }""",
            number,
        )
        self.page.keyboard.press("Control+Enter")

    def output(self, number: int, timeout_s: float = 30) -> str:
        """What the cell of the notebook in front printed."""
        found = self.page.locator(f".jp-NotebookPanel:not(.lm-mod-hidden) .jp-Cell >> nth={number - 1}")
        output = found.locator(".jp-OutputArea-output").first
        output.wait_for(timeout=timeout_s * 1000)
        return str(output.inner_text())

    def verdict(self, timeout_s: float = 30) -> Any:
        """The panel with the verdict, as soon as it is there."""
        panel = self.page.locator(".crashcart-Verdict").first
        panel.wait_for(timeout=timeout_s * 1000)
        return panel

    def seconds_to_verdict(self) -> float:
        """From Jupyter's own notice of the death to the verdict on the page."""
        moments = self.page.evaluate("() => window.crashcartMoments")
        return float(moments["shown"] - moments["noticed"]) / 1000

    @property
    def indicator(self) -> Any:
        return self.page.locator(".crashcart-Memory")

    def await_indicator(self, pattern: str, timeout_s: float = 20) -> str:
        self.page.wait_for_function(
            "pattern => new RegExp(pattern).test(document.querySelector('.crashcart-Memory')?.textContent ?? '')",
            arg=pattern,
            timeout=timeout_s * 1000,
        )
        return str(self.indicator.inner_text())

    def dismiss_dialog(self) -> None:
        self.page.locator(".jp-Dialog .jp-Dialog-footer button").first.click()

    def picture(self, path: Path) -> None:
        self.page.screenshot(path=str(path))
