"""The report of a run as the lines of one file.

HTML has its pictures inside. Markdown has them as text: many of its viewers, GitHub among them, show no picture that is
inside a file, and its reader may be an editor.
"""

from __future__ import annotations

from base64 import b64encode
from html import escape
from typing import TYPE_CHECKING

from engine.views.series.series import Window
from tui.viewmodels.curves.curves import CurvesModel
from tui.viewmodels.frame.report import sections
from tui.viewmodels.frame.report_pictures import chart_pictures
from tui.viewmodels.text.styled import Role, plain
from tui.viewmodels.timeline.svg import drawn
from tui.viewmodels.timeline.timeline import TimelineModel

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tui.viewmodels.frame.report import Section
    from tui.viewmodels.session.session import Session
    from tui.viewmodels.text.styled import Line
    from tui.viewmodels.timeline.svg import Paint

_MOST_ROWS = 1_000  # nodes in the picture of the timeline
_TIMELINE_CELLS = 130
_TEXT_CELLS = 100


def report_lines(session: Session, paint: Paint, *, is_html: bool) -> Iterator[list[str]]:
    """Yield the lines of the file in portions. An empty portion lets the caller yield to the event loop."""
    scenario = session.simulation.scenario
    variant = "" if scenario.variant is None else f", variant {scenario.variant.number:,}"
    title = f"{scenario.name}{variant}: report of the run"
    parts = sections(session)
    yield _html_head(title, paint) if is_html else [f"# {_plain(title)}", ""]
    yield _section(parts[0], is_html=is_html)
    yield from _pictures(session, paint) if is_html else _drawings(session)
    for part in parts[1:]:
        yield _section(part, is_html=is_html)
    if is_html:
        yield ["</body></html>"]


def _pictures(session: Session, paint: Paint) -> Iterator[list[str]]:
    """Yield the curves and the timeline as pictures."""
    for name, svg in chart_pictures(session, paint):
        yield [_image(name, svg)]
    model = _timeline(session)
    if model is not None:
        lines: list[str] = []
        for portion in drawn(model, paint):
            lines += portion
            yield []
        yield [_image("Timeline", "".join(lines))]


def _drawings(session: Session) -> Iterator[list[str]]:
    """Yield the curves and the timeline as text."""
    session.series.read_all()
    curves = CurvesModel(session, Window.ALL)
    curves.has_grounds = False
    if not curves.is_empty:
        curves.lines(_TEXT_CELLS, 1)  # counts the charts
        yield _drawing(curves.title, curves.lines(_TEXT_CELLS, curves.best_rows(_TEXT_CELLS)))
    model = _timeline(session)
    if model is not None:
        lines = [model.axis()]
        for at in range(len(model.keys)):
            lines += model.row_lines(at, is_cursor=False)
            yield []
        yield _drawing("Timeline", [*lines, (), model.legend(_TEXT_CELLS)])


def _drawing(title: str, lines: Sequence[Line]) -> list[str]:
    return [f"## {_plain(title)}", "", "```text", *(plain(each).rstrip() for each in lines), "```", ""]


def _timeline(session: Session) -> TimelineModel | None:
    """Return the timeline of the whole run; None without nodes or with very many of them."""
    model = TimelineModel(session)
    model.update(_TIMELINE_CELLS)
    model.fit()
    return model if 0 < len(model.keys) <= _MOST_ROWS else None


def _html_head(title: str, paint: Paint) -> list[str]:
    plain, dim, strong = (paint.colours[role] for role in (Role.PLAIN, Role.DIM, Role.KEY))
    return [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        f"<title>{escape(title)}</title>",
        "<style>",
        f"body{{background:{paint.ground};color:{plain};font-family:sans-serif}}",
        "body{margin:2em auto;max-width:80em;padding:0 1em}",
        f"h1,h2{{color:{strong}}}th,td{{text-align:left;padding:.2em 1em .2em 0;border-bottom:1px solid {dim}}}",
        "table{border-collapse:collapse}img{max-width:100%}",
        "</style></head><body>",
        f"<h1>{escape(title)}</h1>",
    ]


def _section(part: Section, *, is_html: bool) -> list[str]:
    return _html_section(part) if is_html else _markdown_section(part)


def _html_section(part: Section) -> list[str]:
    lines = [f"<h2>{escape(part.title)}</h2>", *(f"<p>{escape(each)}</p>" for each in part.sentences)]
    if part.rows:
        lines += ["<table>", _html_row(part.heads, "th"), *(_html_row(row, "td") for row in part.rows), "</table>"]
    return lines


def _html_row(cells: Sequence[str], tag: str) -> str:
    return f"<tr>{''.join(f'<{tag}>{escape(cell)}</{tag}>' for cell in cells)}</tr>"


def _markdown_section(part: Section) -> list[str]:
    lines = [f"## {part.title}", ""]
    for each in part.sentences:
        lines += [_plain(each), ""]
    if part.rows:
        rows = [part.heads, ["---"] * len(part.heads), *([_plain(cell) for cell in row] for row in part.rows)]
        lines += [*(f"| {' | '.join(row)} |" for row in rows), ""]
    return lines


def _plain(text: str) -> str:
    """Return a text so that Markdown shows it as it is, in one line."""
    for sign in "\\|*_`<[":
        text = text.replace(sign, f"\\{sign}")
    return " ".join(text.split())


def _image(name: str, svg: str) -> str:
    source = f"data:image/svg+xml;base64,{b64encode(svg.encode()).decode()}"
    return f'<p><img alt="{escape(name)}" src="{source}"></p>'
