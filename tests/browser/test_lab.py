"""What a user of JupyterLab sees: real kernels that really die, in a real browser."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from bench import group
from tests.browser.lab import Lab, Window

NEEDS_GROUP = pytest.mark.skipif(group.unavailable() is not None, reason=group.unavailable() or "")

SEGFAULT = "import ctypes\n\nctypes.string_at(0)"
GROW = "import numpy as np\nkept = []\nfor _ in range(100):\n    kept.append(np.ones(4_000_000))\n"
EAT = "import numpy as np\nheld = np.ones({mb} * 2**17)\nprint(held.nbytes)"


def test_a_crash_names_cell_line_and_cause(lab: Lab, window: Window) -> None:
    window.open(lab.notebook("watched", "before = 1", SEGFAULT))
    window.run_all()
    panel = window.verdict()
    assert window.seconds_to_verdict() < 3
    words = panel.inner_text()
    assert "cell [2], line 3" in words
    assert "ctypes.string_at(0)" in words
    assert "native-crash" in words
    assert "certain" in words
    note = window.page.locator(".jp-Dialog .crashcart-DialogNote").inner_text()
    assert "crashed in native code" in note
    assert "cell [2], line 3" in note
    said = window.page.locator(".crashcart-Announcement[aria-live=assertive]").inner_text()
    assert "cell [2], line 3" in said
    assert window.complaints == []


def test_the_way_from_the_dialog_to_the_cell_by_keyboard(lab: Lab, window: Window) -> None:
    filler = "\n".join(f"value_{number} = {number}" for number in range(30))
    window.open(lab.notebook("watched", SEGFAULT, *[filler] * 6))
    window.run_cell(1)
    window.verdict()
    died = window.page.locator(".jp-Cell.crashcart-mod-died")
    assert died.count() == 1
    assert "gradient" in died.evaluate("cell => getComputedStyle(cell).backgroundImage"), "the mark is to be seen"
    window.page.evaluate("() => window.jupyterapp.shell.widgets('main').next().value.content.scrollToItem(6)")
    window.page.locator(".crashcart-DialogNote button").focus()
    window.page.keyboard.press("Enter")
    window.page.wait_for_selector(".jp-Dialog", state="detached")
    assert focus(window).startswith("crashcart-Verdict")
    window.page.keyboard.press("Tab")
    assert focus(window).startswith("Go to the cell")
    window.page.keyboard.press("Enter")
    window.page.wait_for_function("() => document.activeElement.closest('.crashcart-mod-died') !== null")
    box, notebook = died.bounding_box(), window.page.locator(".jp-WindowedPanel-outer").first.bounding_box()
    assert notebook["y"] - 5 <= box["y"] < notebook["y"] + notebook["height"]


def focus(window: Window) -> str:
    return window.page.evaluate(
        "() => (document.activeElement.matches('button') ? document.activeElement.textContent"
        " : document.activeElement.className.replace('lm-Widget ', ''))"
    )


@NEEDS_GROUP
def test_an_out_of_memory_kill_names_cell_line_and_cause(lab: Lab, window: Window) -> None:
    window.open(lab.notebook("small", "start = 1", GROW))
    window.run_all()
    panel = window.verdict(60)
    assert window.seconds_to_verdict() < 3
    words = panel.inner_text()
    assert "cell [2], line 4" in words
    assert "container-memory" in words
    assert "kept.append(np.ones(4_000_000))" in words
    assert panel.locator("svg.crashcart-Curve path.curve").count() == 1


@NEEDS_GROUP
def test_with_the_guard_the_cell_fails_and_its_variables_live(lab: Lab, window: Window) -> None:
    window.open(lab.notebook("small-guarded", "precious = 'still here'", GROW, "print(precious)"))
    window.run_cell(1)
    window.run_cell(2)
    assert "MemoryGuardError" in window.output(2, 60)
    window.run_cell(3)
    assert "still here" in window.output(3)
    assert window.page.locator(".crashcart-Verdict").count() == 0


def test_an_ordinary_error_and_a_restart_are_left_alone(lab: Lab, window: Window) -> None:
    window.open(lab.notebook("watched", "raise ValueError('as ever')", "print(40 + 2)"))
    window.run_cell(1)
    assert "ValueError" in window.output(1)
    window.page.evaluate("() => window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart()")
    window.run_cell(2)
    assert window.output(2).strip() == "42"
    window.page.evaluate("() => window.jupyterapp.shell.currentWidget.sessionContext.shutdown()")
    time.sleep(1)
    for trace in (".crashcart-Verdict", ".jp-Dialog", ".crashcart-mod-died", ".crashcart-Announcement"):
        assert window.page.locator(trace).count() == 0, trace
    assert window.complaints == []


def test_two_notebooks_are_not_confused(lab: Lab, window: Window) -> None:
    one = lab.notebook("watched", SEGFAULT)
    two = lab.notebook("watched", "a = 1", "import os\nos.abort()")
    window.open(one, two)
    window.run_all()
    window.turn_to(two)
    window.run_all()
    window.page.locator(".crashcart-Verdict >> nth=1").wait_for(state="attached", timeout=40_000)
    panels = window.page.evaluate(
        "() => Object.fromEntries([...document.querySelectorAll('.crashcart-Verdict')]"
        ".map(panel => [panel.getAttribute('aria-label'), panel.textContent]))"
    )
    assert len(panels) == 2
    first = next(text for label, text in panels.items() if one in label)
    second = next(text for label, text in panels.items() if two in label)
    assert "cell [1], line 3" in first
    assert "SIGSEGV" in first
    assert "cell [2], line 2" in second
    assert "SIGABRT" in second


@NEEDS_GROUP
def test_the_indicator_moves_warns_and_tells_its_history(lab: Lab, window: Window, pictures: Path) -> None:
    window.open(lab.notebook("small", EAT.format(mb=60), EAT.format(mb=280)))
    before = megabytes(window.await_indicator(r"Mem [\d.]+ / 400 MiB"))
    assert window.indicator.get_attribute("data-level") == "normal"
    window.run_cell(1)
    window.output(1)
    window.page.wait_for_function(MEGABYTES + f" > {before + 40}", timeout=10_000)
    window.run_cell(2)
    window.page.wait_for_selector(".crashcart-Memory[data-level=warning], .crashcart-Memory[data-level=alarm]")
    toast = window.page.locator(".jp-Notification-List, .Toastify__toast").first
    toast.wait_for(timeout=5_000)
    assert "Memory runs short" in toast.inner_text()
    assert re.search(r"\d+ % of the memory limit", window.indicator.get_attribute("title"))
    window.indicator.click()
    popup = window.page.locator(".crashcart-Popup")
    popup.locator("svg.crashcart-Curve path.curve").wait_for()
    assert "400 MiB" in popup.inner_text()
    window.picture(pictures / "memory.png")
    window.page.keyboard.press("Escape")
    assert popup.count() == 0
    window.page.wait_for_timeout(2500)
    assert window.page.locator(".Toastify__toast").count() == 1, "one rise is one warning"


MEGABYTES = "() => Number(/Mem ([\\d.]+)/.exec(document.querySelector('.crashcart-Memory').textContent)?.[1] ?? 0)"


def megabytes(words: str) -> float:
    found = re.search(r"Mem ([\d.]+)", words)
    assert found
    return float(found[1])


def test_a_hidden_tab_asks_nothing(lab: Lab, window: Window) -> None:
    with lab.settings("crashcart:plugin", {"pollSeconds": 1}):
        window.open(lab.notebook("watched", "1"))
    window.await_indicator("Mem .*iB")
    window.page.evaluate(HIDE, True)
    window.page.wait_for_timeout(300)  # what was under way may end
    before = len(window.questions)
    window.page.wait_for_timeout(4_000)
    assert len(window.questions) == before
    window.page.evaluate(HIDE, False)
    window.page.wait_for_timeout(2_500)
    assert len(window.questions) > before


# A headless browser has no tab that could be put in front; this is what a page sees of one.
HIDE = """hidden => {
  Object.defineProperty(document, 'hidden', { configurable: true, get: () => hidden });
  Object.defineProperty(document, 'visibilityState', { configurable: true, get: () => (hidden ? 'hidden' : 'visible') });
  document.dispatchEvent(new Event('visibilitychange'));
}"""


def test_an_unwatched_kernel_says_so_and_the_palette_shows_nothing(lab: Lab, window: Window) -> None:
    window.open(lab.notebook("plain", "print(1)"))
    assert window.await_indicator("Not watched") == "Not watched"
    assert "crashcart jupyter enable" in window.indicator.get_attribute("title")
    window.command("crashcart:why")
    window.page.locator("text=No death of this kernel is known.").first.wait_for(timeout=5_000)
    assert window.complaints == []


def test_without_the_server_part_the_indicator_says_what_is_missing(lab: Lab, window: Window) -> None:
    window.page.route(
        "**/crashcart/kernels/**",
        lambda route: route.fulfill(status=404, content_type="text/html", body="<h1>404 : Not Found</h1>"),
    )
    window.open(lab.notebook("unguarded", SEGFAULT))
    window.await_indicator("Not watched")
    assert "has no crashcart" in window.indicator.get_attribute("title")
    window.run_cell(1)
    window.page.wait_for_selector(".jp-Dialog", timeout=30_000)
    window.page.wait_for_timeout(1_000)
    assert window.page.locator(".jp-Dialog .crashcart-DialogNote").count() == 0
    assert window.complaints == []


def test_settings_turn_the_panel_and_the_indicator_off(lab: Lab, window: Window) -> None:
    with lab.settings("crashcart:plugin", {"openPanel": False, "indicator": False}):
        window.open(lab.notebook("unguarded", SEGFAULT))
    assert not window.indicator.is_visible()
    assert window.questions == []
    window.run_cell(1)
    window.page.locator(".jp-Dialog .crashcart-DialogNote button").wait_for(timeout=30_000)
    assert window.page.locator(".crashcart-Verdict").count() == 0
    window.dismiss_dialog()
    window.command("crashcart:why")
    assert "cell [1], line 3" in window.verdict().inner_text()


@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
def test_both_themes(lab: Lab, window: Window, pictures: Path, theme: str) -> None:
    """Text stands out from what is behind it (4.5 to 1, as WCAG asks); the report in its frame has no script."""
    window.open(lab.notebook("unguarded", "weights = [0.5] * 10", SEGFAULT))
    window.command("apputils:change-theme", {"theme": theme})
    window.run_all()
    panel = window.verdict()
    dark = theme.endswith("Dark")
    window.picture(pictures / f"dialog-{'dark' if dark else 'light'}.png")
    window.dismiss_dialog()
    window.picture(pictures / f"verdict-{'dark' if dark else 'light'}.png")
    for part in ("h2", ".crashcart-Badges span", ".crashcart-Place", "h3", "li"):
        assert panel.locator(part).first.evaluate(CONTRAST) >= 4.5, part
    panel.locator("summary").click()
    frame = panel.locator("iframe")
    assert frame.get_attribute("sandbox") == ""
    heading = frame.content_frame.locator("h1")
    heading.wait_for()
    assert (heading.evaluate(BRIGHTNESS) > 128) == dark
    assert frame.content_frame.locator("script").count() == 0
    frame.scroll_into_view_if_needed()
    window.picture(pictures / f"report-{'dark' if dark else 'light'}.png")


_COLOURS = """
  const parts = colour => (colour.match(/[\\d.]+/g) ?? [0, 0, 0, 0]).map(Number);
  const behind = node => {
    const found = parts(getComputedStyle(node).backgroundColor);
    return (found[3] ?? 1) > 0.5 || !node.parentElement ? found : behind(node.parentElement);
  };
  const light = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map(v => ((v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
"""
CONTRAST = (
    "node => {"
    + _COLOURS
    + """
  const [a, b] = [light(parts(getComputedStyle(node).color)), light(behind(node))].sort((x, y) => y - x);
  return (a + 0.05) / (b + 0.05);
}"""
)
BRIGHTNESS = (
    "node => " + "(getComputedStyle(node).color.match(/[\\d.]+/g).map(Number).slice(0, 3).reduce((a, b) => a + b) / 3)"
)
