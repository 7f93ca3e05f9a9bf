"""The curves of a run as SVG pictures, for its report."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from engine.views.series.series import Window
from tui.viewmodels.curves.charts import charts_of
from tui.viewmodels.text.styled import Role

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tui.viewmodels.curves.charts import Chart
    from tui.viewmodels.session.session import Session
    from tui.viewmodels.timeline.svg import Paint

_WIDTH, _HEIGHT = 560, 150  # pixels of the plot
_LEFT, _TOP, _BOTTOM = 56, 26, 40  # pixels around it
_COLUMNS = 140
_LETTER = 7.3


def chart_pictures(session: Session, paint: Paint) -> list[tuple[str, str]]:
    """Return the curves of the pool and the job in focus since the start of the run, each with its title."""
    session.series.read_all()
    charts = charts_of(session, session.pool_id, session.job_id, Window.ALL, _COLUMNS)
    return [(chart.title, _picture(session, chart, paint)) for chart in charts if chart.top > 0]


def _picture(session: Session, chart: Chart, paint: Paint) -> str:
    width, height = _LEFT + _WIDTH + 12, _TOP + _HEIGHT + _BOTTOM
    colours = paint.colours
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
        ' font-family="monospace" font-size="12">',
        f"<title>{escape(chart.title)}</title>",
        f'<rect width="100%" height="100%" fill="{paint.ground}"/>',
        _text(_LEFT, 16, colours[Role.STRONG], chart.title),
        _text(2, _TOP + 10, colours[Role.DIM], chart.label(chart.top)),
        _text(2, _TOP + _HEIGHT, colours[Role.DIM], chart.label(0)),
        f'<path stroke="{colours[Role.DIM]}" d="M{_LEFT} {_TOP + _HEIGHT}h{_WIDTH}"/>',
    ]
    below = [0.0] * max((len(layer.values) for layer in chart.layers), default=0)
    for layer in chart.layers:
        above = [low + value for low, value in zip(below, layer.values, strict=True)]
        if any(layer.values):
            parts.append(f'<path fill="{colours[layer.role]}" d="{_area(below, above, chart.top)}"/>')
        below = above
    if chart.line is not None and any(chart.line.values):
        path = "M" + "L".join(_points(chart.line.values, chart.top))
        parts.append(f'<path fill="none" stroke="{colours[chart.line.role]}" stroke-width="1.5" d="{path}"/>')
    begin, end = session.clock(chart.axis.begin_ms), session.clock(min(chart.axis.end_ms, session.now_ms))
    parts.append(_text(_LEFT, _TOP + _HEIGHT + 15, colours[Role.DIM], begin))
    parts.append(_text(_LEFT + _WIDTH - len(end) * _LETTER, _TOP + _HEIGHT + 15, colours[Role.DIM], end))
    return "".join([*parts, *_legend(chart, paint), "</svg>"])


def _points(values: Sequence[float], top: float) -> list[str]:
    step = _WIDTH / max(1, len(values) - 1)
    return [f"{_LEFT + at * step:.1f} {_TOP + _HEIGHT * (1 - value / top):.1f}" for at, value in enumerate(values)]


def _area(below: Sequence[float], above: Sequence[float], top: float) -> str:
    return "M" + "L".join([*_points(above, top), *reversed(_points(below, top))]) + "Z"


def _legend(chart: Chart, paint: Paint) -> list[str]:
    """Return the names of the areas and the line, each beside its colour."""
    x, y = float(_LEFT), _TOP + _HEIGHT + 32
    drawn: list[str] = []
    for layer in (*chart.layers, *([chart.line] if chart.line is not None else [])):
        if any(layer.values):
            drawn.append(f'<rect x="{x:g}" y="{y - 9}" width="10" height="10" fill="{paint.colours[layer.role]}"/>')
            drawn.append(_text(x + 14, y, paint.colours[Role.PLAIN], layer.name))
            x += 30 + len(layer.name) * _LETTER
    return drawn


def _text(x: float, y: float, colour: str, text: str) -> str:
    return f'<text x="{x:g}" y="{y:g}" fill="{colour}">{escape(text)}</text>'
