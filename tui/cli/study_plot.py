"""The plot of a study: end against cost of each variant, with the spread over its seeds and the Pareto line."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MultipleLocator

from engine.base.values import USD, shortened, visible
from engine.studies.outcome import end_text, percent, time_step_s

if TYPE_CHECKING:
    from engine.studies.outcome import Spread, StudySummary, VariantSummary

_SIZE_INCHES = (8.0, 5.0)
_DPI = 150
_KEEPS, _FAILS, _LINE = "#1f77b4", "#9a9a9a", "#d62728"
_MOST_NUMBERS = 60  # points with their numbers; more cannot be read
_TITLE = 90
_MOST_TICKS = 9


def drawn(summary: StudySummary, kind: str) -> bytes:
    """Return the plot as a file of this kind, ``svg`` or ``png``. The same study gives the same bytes."""
    figure = Figure(figsize=_SIZE_INCHES, layout="constrained")
    axes = figure.add_subplot()
    points = [
        (one.median_cost, one.end_s, one)
        for one in summary.variants
        if one.median_cost is not None and one.end_s is not None
    ]
    for _, _, one in points:
        _draw(axes, one, summary)
    line = sorted((cost, end) for cost, end, one in points if one.pareto)
    axes.plot([cost for cost, _ in line], [end for _, end in line], color=_LINE, linewidth=1, zorder=1)
    name = visible(shortened(summary.scenario, _TITLE))
    axes.set_title(f"{name}, {len(summary.seeds):,} seeds", parse_math=False)  # $ in a name begins no formula
    currencies = {one.currency for one in summary.variants}
    axes.set_xlabel(f"cost in {'US dollars' if currencies == {USD} else ', '.join(currencies)}")
    axes.set_ylabel("end of the last task")
    low, high = axes.get_ylim()
    axes.yaxis.set_major_locator(MultipleLocator(time_step_s(high - low, _MOST_TICKS)))
    axes.yaxis.set_major_formatter(lambda seconds, _: end_text(max(0.0, seconds)))
    axes.grid(visible=True, alpha=0.3)
    figure.legend(handles=_legend(summary), fontsize="small", loc="outside lower center", ncols=2)
    stream = io.BytesIO()
    metadata = {"Date": None} if kind == "svg" else {"Software": None}
    with mpl.rc_context({"svg.hashsalt": "batchdeck"}):  # otherwise the names inside an SVG are drawn by chance
        figure.savefig(stream, format=kind, dpi=_DPI, metadata=metadata)
    return stream.getvalue()


def _draw(axes: Any, one: VariantSummary, summary: StudySummary) -> None:  # noqa: ANN401 - matplotlib has no types here
    """Draw the median of a variant, with bars from the 5th to the 95th percentile."""
    cost, end = one.cost, one.measures["makespanSeconds"]
    is_recommended = one.variant == summary.recommended
    axes.errorbar(
        [cost.median],
        [end.median],
        xerr=_bars(cost),
        yerr=_bars(end),
        fmt="*" if is_recommended else "o",
        markersize=14 if is_recommended else 6,
        color=_color(one, summary),
        elinewidth=0.8,
        alpha=0.9,
        zorder=3 if is_recommended else 2,
    )
    if len(summary.variants) <= _MOST_NUMBERS:
        axes.annotate(str(one.variant), (cost.median, end.median), (5, 5), textcoords="offset points", fontsize=8)


def _bars(spread: Spread) -> list[list[float]]:
    assert spread.p5 is not None
    assert spread.median is not None
    assert spread.p95 is not None
    return [[spread.median - spread.p5], [spread.p95 - spread.median]]


def _color(one: VariantSummary, summary: StudySummary) -> str:
    return _KEEPS if not summary.has_expectations or one.met.share >= summary.confidence else _FAILS


def _legend(summary: StudySummary) -> list[Line2D]:
    def point(color: str, label: str, marker: str = "o") -> Line2D:
        return Line2D([], [], color=color, marker=marker, linestyle="", label=label)

    handles = [Line2D([], [], color=_LINE, linewidth=1, label="no other is both cheaper and earlier")]
    if summary.has_expectations:
        share = percent(summary.confidence)
        handles.append(point(_KEEPS, f"keeps all expectations in {share} of its runs"))
        handles.append(point(_FAILS, "keeps them less often"))
    if summary.recommended is not None:
        handles.append(point(_KEEPS, f"recommended: variant {summary.recommended}", "*"))
    return handles
