"""A real JupyterLab and a real headless Chromium, one of each for all browser tests."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from bench import group
from tests.browser.lab import Lab, Window
from tests.served import LAB_EXTENSION

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)
SMALL_MB = 400


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    reason = _unavailable()
    for item in items:
        if reason is not None and Path(item.path).parent == Path(__file__).parent:
            item.add_marker(pytest.mark.skip(reason=reason))


def _unavailable() -> str | None:
    if CHROMIUM is None:
        return "needs Chromium (tools/system-packages installs it)"
    if not (LAB_EXTENSION / "package.json").exists():
        return "the JupyterLab extension is not built (make lab, which needs Node)"
    for module in ("jupyterlab", "playwright"):
        try:
            __import__(module)
        except ImportError:
            return f"needs {module} (pip install 'crashcart[test]')"
    return None


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    lab = Lab(tmp_path_factory.mktemp("lab"))
    lab.link_lab_extension()
    lab.watch_kernel("watched")
    lab.watch_kernel("unguarded", "--no-guard")
    with group.memory_group(None if group.unavailable() else SMALL_MB) as small:
        if small is not None:
            lab.watch_kernel("small", "--no-guard")
            lab.watch_kernel("small-guarded")
            lab.confine_kernel("small", small)
            lab.confine_kernel("small-guarded", small)
        with lab.running("jupyterlab", *Lab.OPTIONS):
            yield lab


@pytest.fixture(scope="session")
def browser(lab: Lab) -> Iterator[BrowserContext]:
    """One profile for all windows, so that Lab's files are fetched once."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser.new_context(viewport={"width": 1280, "height": 900})
        browser.close()


@pytest.fixture
def window(lab: Lab, browser: BrowserContext) -> Iterator[Window]:
    window = Window(lab, browser)
    yield window
    window.close()
    lab.end_kernels()


@pytest.fixture(scope="session")
def pictures() -> Path:
    folder = Path(tempfile.gettempdir()) / "crashcart-pictures"
    folder.mkdir(exist_ok=True)
    return folder
