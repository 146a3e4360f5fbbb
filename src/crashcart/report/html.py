"""A report as one page that stands alone: no script, no request, readable in ten years.

Covers: filling the templates beside this file. Each value that they print passes `_harmless` first and is then escaped
by jinja2; only the style sheet and the chart are taken as they are.
Does not cover: what is shown (`view.py`), the drawing (`chart.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources
from typing import TYPE_CHECKING, Any

from crashcart import __version__
from crashcart.errors import CrashcartError
from crashcart.evidence import Evidence
from crashcart.finding import Report
from crashcart.growth import Growth, Series
from crashcart.report import (
    cells,
    data_words,
    fit_chart,
    fit_words,
    leaks_chart,
    leaks_words,
    pipeline_words,
    safe,
    view,
    words,
)
from crashcart.report.chart import draw
from crashcart.report.series import memory_of
from crashcart.step import StepPeak
from crashcart.units import plural

if TYPE_CHECKING:
    from jinja2 import Environment as Templates
    from markupsafe import Markup

_MOST_CHARS = 8000
"""Of any one value. Messages of TensorFlow reach some thousand characters; nobody reads more on a page."""
_MOST_PROSE_CHARS = 1500


def render_html(report: Report, evidence: Evidence | None, rule_names: Mapping[str, str] | None = None) -> str:
    """The page. `rule_names` gives the names of checked rules by their codes, where the caller has them."""
    evidence = evidence or Evidence()
    page = _templates(evidence).get_template("page.html.j2")
    return page.render(
        report=report,
        evidence=evidence,
        view=view,
        words=words,
        notebook=cells,
        fit=fit_words,
        pipe=pipeline_words,
        data=data_words,
        leaks=leaks_words,
        memory=memory_of(evidence),
        rule_names=rule_names or {},
        version=__version__,
    )


def _templates(evidence: Evidence) -> Templates:
    try:
        import jinja2
    except ImportError as error:
        raise CrashcartError(
            f"the page needs jinja2, which cannot be imported: {error}", "pip install jinja2"
        ) from error
    templates = jinja2.Environment(
        loader=jinja2.FunctionLoader(_resource),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=_harmless,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    cwd = words.cwd_of(evidence)
    templates.filters |= {
        "size": words.size_words,
        "duration": words.duration_words,
        "path": lambda path: words.short_path(str(path), cwd),
        "place": lambda where: words.place_words(where, cwd),
        "spot": lambda where: words.spot(where, cwd),
        "middle": view.middle_out,
        "pairs": view.sorted_pairs,
        "capitalised": lambda text: text[:1].upper() + text[1:],
        "counted": plural,
        "prose": _prose,
        "last_state": lambda text: safe.last_state(str(text)),
        "brief": _brief,
    }
    templates.globals |= {
        "style_sheet": _style_sheet,
        "chart": _chart,
        "step_chart": _step_chart,
        "fit_bands": fit_chart.bands,
        "fit_far_above": fit_chart.far_above,
        "growth_chart": _growth_chart,
        "growth_curves": leaks_chart.memory_series,
        "growth_counts": leaks_chart.rising_counts,
        "count_chart": _count_chart,
    }
    return templates


def _resource(name: str) -> str:
    return resources.files("crashcart.report").joinpath(name).read_text(encoding="utf-8")


def _harmless(value: object) -> object:
    """What a template may print of a value: unknown is said, text is bounded and visible, markup is our own."""
    if hasattr(value, "__html__"):
        return value
    if value is None or (isinstance(value, float) and words.number(value) is None):
        return words.UNKNOWN
    return safe.visible(safe.bounded(str(value), _MOST_CHARS))


def _brief(value: object, most_chars: int) -> str:
    return words.UNKNOWN if value is None else safe.bounded(str(value), most_chars)


def _prose(text: str) -> Markup:
    """A sentence in which `backquotes` set code."""
    from markupsafe import Markup

    pieces = safe.visible(safe.bounded(str(text), _MOST_PROSE_CHARS)).split("`")
    if len(pieces) % 2 == 0:
        return Markup("{}").format("`".join(pieces))
    return Markup("").join(
        Markup("<code>{}</code>").format(piece) if index % 2 else piece for index, piece in enumerate(pieces)
    )


def _style_sheet() -> Markup:
    from markupsafe import Markup

    return Markup(_resource("page.css"))


def _chart(evidence: Evidence, width: int, height: int, name: str) -> Markup:
    from markupsafe import Markup

    memory = memory_of(evidence)
    return Markup(draw(memory, width, height, name) if memory else "")


def _step_chart(step: StepPeak, width: int, height: int, name: str) -> Markup:
    from markupsafe import Markup

    return Markup(fit_chart.draw_step(step, width, height, name))


def _growth_chart(growth: Growth, figures: dict[str, Any], width: int, height: int, name: str) -> Markup:
    from markupsafe import Markup

    return Markup(leaks_chart.draw_growth(growth, figures, width, height, name))


def _count_chart(series: Series, width: int, height: int, name: str) -> Markup:
    from markupsafe import Markup

    return Markup(leaks_chart.draw_count(series, width, height, name))
