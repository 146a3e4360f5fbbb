from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser
from importlib import resources
from itertools import pairwise

import pytest

from crashcart.errors import CrashcartError
from crashcart.evidence import Evidence, Frame, Stack, StackDump
from crashcart.finding import Cause, Level, Report
from crashcart.report.html import render_html

from . import examples

VOID = {"meta", "link", "br", "hr", "img", "input"}
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


class Page(HTMLParser):
    """The elements of a page, with a complaint for each that is not closed in order."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.complaints: list[str] = []
        self._open: list[str] = []
        self.words: list[str] = []
        self.feed(page)
        self.close()
        self.complaints += [f"<{tag}> stays open" for tag in self._open]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if not self._open or self._open.pop() != tag:
            self.complaints.append(f"</{tag}> closes nothing")

    def handle_data(self, data: str) -> None:
        if "style" not in self._open:
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())

    def tags(self) -> Counter[str]:
        return Counter(tag for tag, _ in self.elements)


@pytest.fixture(scope="module", params=list(examples.EXAMPLES))
def page(request: pytest.FixtureRequest) -> str:
    return render_html(*examples.EXAMPLES[request.param]())


def page_of(name: str) -> Page:
    return Page(render_html(*examples.EXAMPLES[name]()))


def test_elements_are_closed_and_ids_unique(page: str) -> None:
    parsed = Page(page)
    assert parsed.complaints == []
    ids = Counter(attributes["id"] for _, attributes in parsed.elements if "id" in attributes)
    assert [name for name, count in ids.items() if count > 1] == []


def test_headings_are_in_order(page: str) -> None:
    levels = [int(tag[1]) for tag, _ in Page(page).elements if re.fullmatch(r"h[1-6]", tag)]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_the_page_stands_alone(page: str) -> None:
    parsed = Page(page)
    assert not parsed.tags().keys() & {"script", "iframe", "object", "embed", "img", "form", "base", "audio", "video"}
    policy = [each for tag, each in parsed.elements if tag == "meta" and "http-equiv" in each]
    assert policy == [{"http-equiv": "Content-Security-Policy", "content": POLICY}]
    for _, attributes in parsed.elements:
        assert not [
            name for name in attributes if name.startswith("on") or name in ("src", "srcset", "action", "xlink:href")
        ]
        assert (attributes.get("href") or "#").startswith(("#", "data:image/svg+xml,"))
    css = resources.files("crashcart.report").joinpath("page.css").read_text(encoding="utf-8")
    assert css in page
    assert "url(" not in css and "@import" not in css and "</" not in css


def test_the_language_and_the_title_are_said(page: str) -> None:
    elements = Page(page).elements
    assert elements[0] == ("html", {"lang": "en"})
    assert "title" in [tag for tag, _ in elements]


def test_hostile_evidence_stays_text() -> None:
    page = render_html(*examples.hostile())
    assert "<script" not in page.lower()
    assert not set(page) & {"\x1b", "\x07", "\x9b", "\u202e", "\u202c", "\udce9", "\x00"}
    parsed = Page(page)
    assert examples.SCRIPT in parsed.text
    assert "{{ 7*7 }}" in parsed.text
    assert "&amp; {{" in parsed.text
    assert len(page) < 2_000_000
    page.encode("utf-8")


def test_the_verdict_comes_first() -> None:
    text = page_of("oom").text
    order = [
        "its container ran out of memory certain",
        "Where",
        "train.py:5 in load",
        examples.SOURCE,
        "Because",
        "Held",
    ]
    order += [
        "Try",
        "Peak memory",
        "Memory over time",
        "What held the memory",
        "Other findings",
        "What the threads were doing",
    ]
    places = [text.index(words) for words in order[1:]]
    assert places == sorted(places)
    assert order[0] in text


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("oom", "anon-rss:2925011kB"),
        ("oom", "large_tensor 2.24 GiB"),
        ("oom", "shuffle(10000) 588 KiB each"),
        ("oom", "prefetch(AUTOTUNE)"),
        ("oom", "17.8 KiB came before"),
        ("oom", "Looked at, and there was nothing: uncaught errors"),
        ("oom", "Not recorded: native crash"),
        ("oom", "W301 native-crash-in-library native crash"),
        ("segfault", "Kernel log not recorded: permission denied; run as root"),
        ("segfault", "tensorflow::ScatterNdUpdateOp<Eigen::ThreadPoolDevice, float, int>::Compute + 0x2f0"),
        ("segfault", "no symbol + 0x8609"),
        ("segfault", "The instruction: c5 fe 6f"),
        ("segfault", "The limit, 24.0 GiB (/proc/meminfo MemTotal), lies far above what the chart shows."),
        ("shape_error", "In[0]: [32,128], In[1]: [256,10]"),
        ("shape_error", "It was raised from or during this one: KeyError 'weights'"),
        ("shape_error", "cell [7], line 3, op MatMul"),
        ("nothing", "3 rules looked at the evidence below and found nothing to report."),
    ],
)
def test_the_page_says(name: str, words: str) -> None:
    assert words in page_of(name).text


def test_own_frames_stand_out() -> None:
    classes = Counter(
        each.get("class") for tag, each in page_of("segfault").elements if tag == "li" and "class" in each
    )
    assert classes["own"] == 2 and classes["foreign"] == 3


def test_a_missing_section_is_never_shown_as_empty() -> None:
    parsed = Page(render_html(examples.oom_report(), None))
    headings = [each["id"] for tag, each in parsed.elements if tag == "section"]
    assert headings == ["verdict", "also", "checked"]
    assert "Not recorded: program, machine, environment, memory over time" in parsed.text


def test_nothing_checked_is_not_a_pass() -> None:
    assert "This is not a pass." in Page(render_html(Report("x", ()), None)).text


def test_names_of_checked_rules_are_shown_where_the_caller_has_them() -> None:
    report, evidence = examples.oom()
    assert "W101 killed-by-group-limit" in Page(render_html(report, evidence, {"W101": "killed-by-group-limit"})).text


def test_backquotes_set_code_and_an_odd_one_stays() -> None:
    finding = replace(examples.oom_finding(), remedy=("type `a < b` here", "it`s"))
    page = render_html(Report("x", (finding,)), None)
    assert "<code>a &lt; b</code>" in page
    assert "it`s" in page


def test_a_deep_recursion_shows_both_ends() -> None:
    frames = tuple(Frame("/a.py", line, "again", own=True) for line in range(1, 1001))
    page = render_html(
        examples.oom_report(), Evidence(stacks=(StackDump(1.0, 1, (Stack("MainThread", frames, True),)),))
    )
    assert "/a.py:1<" in page and "/a.py:1000<" in page and "/a.py:500<" not in page
    assert "940 frames are not shown" in page


def test_a_clean_exit_is_no_alarm() -> None:
    clean = replace(examples.oom_finding(), cause=Cause.CLEAN_EXIT)
    assert 'class="card verdict calm"' in render_html(Report("x", (clean,)), None)
    assert 'class="card verdict"' in render_html(Report("x", (examples.oom_finding(),)), None)


def test_without_jinja_the_error_helps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(CrashcartError, match="jinja2") as caught:
        render_html(*examples.oom())
    assert caught.value.help == "pip install jinja2"


def test_nothing_heavy_is_imported_before_it_is_needed() -> None:
    modules = "crashcart.report.text, crashcart.report.json, crashcart.report.html, crashcart.report.chart"
    heavy = {"rich", "jinja2", "markupsafe", "numpy", "tensorflow"}
    code = f"import sys, {modules}; print(*sorted({heavy!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == ""


def colours() -> list[dict[str, str]]:
    css = resources.files("crashcart.report").joinpath("page.css").read_text(encoding="utf-8")
    light, dark = re.findall(r":root \{(.*?)\}", css, re.DOTALL)[:2]
    first = dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6})", light))
    return [first, first | dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6})", dark))]


def luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


INK_ON = [
    *[(ink, ground) for ink in ("ink", "soft") for ground in ("page", "card", "sunk", "amber-soft", "red-soft")],
    *[("red", "card"), ("accent", "blue-soft"), ("accent", "card"), ("green", "green-soft"), ("amber", "amber-soft")],
]


@pytest.mark.parametrize("theme", [0, 1])
@pytest.mark.parametrize(("ink", "ground"), INK_ON)
def test_text_has_the_contrast_of_wcag_aa(theme: int, ink: str, ground: str) -> None:
    colour = colours()[theme]
    darker, lighter = sorted((luminance(colour[ink]), luminance(colour[ground])))
    assert (lighter + 0.05) / (darker + 0.05) >= 4.5


@pytest.mark.parametrize(
    ("level", "shown", "calm"), [("problem", False, False), ("risk", True, False), ("note", True, True)]
)
def test_a_level_below_a_problem_is_shown_and_a_note_is_calm(level: str, shown: bool, calm: bool) -> None:
    report = examples.oom_report()
    first = replace(report.findings[0], level=Level(level))
    parsed = Page(render_html(replace(report, findings=(first,)), None))
    badges = [each.get("class") for tag, each in parsed.elements if tag == "span"]
    verdict = next(each for tag, each in parsed.elements if each.get("id") == "verdict")
    assert ("badge level" in badges) is shown
    assert ("calm" in verdict["class"].split()) is calm
