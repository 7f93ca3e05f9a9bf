"""The outcome of a study in words: what is recommended, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.units import SECOND_MS, format_clock
from engine.scenario.record import values_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from engine.studies.summary import Share, StudySummary, VariantSummary


def percent(share: float) -> str:
    """Return a share, 0 to 1, as percent: ``95 %``, ``97.5 %``."""
    return f"{100 * share:.3g} %"


def interval_text(met: Share) -> str:
    """Return the interval of a share: ``76–99%``."""
    return f"{100 * met.low:.0f}–{100 * met.high:.0f}%"


def end_text(seconds: float | None) -> str:
    """Return a moment since the start of the run: ``+04:12:00``, ``+1d 02:00:00``; empty if there is none."""
    return "" if seconds is None else format_clock(round(seconds * SECOND_MS))


def duration_text(seconds: float | None) -> str:
    """Return a duration: ``04:12:00``, ``1d 02:00:00``; empty if there is none."""
    return end_text(seconds).removeprefix("+")


def cost_text(usd: float | None) -> str:
    """Return an amount of US dollars, with four decimals below one dollar: ``$0.6400``; empty if there is none."""
    if usd is None:
        return ""
    return f"${usd:,.2f}" if usd >= 1 else f"${usd:.4f}"


def pace_text(done: int, total: int, elapsed_s: float) -> str:
    """Return how fast the runs of a study are played, and when all will be: ``25.3 runs/s  00:00:03 left``."""
    left_s = int((total - done) * elapsed_s / done)
    return f"{done / elapsed_s:,.1f} runs/s  {duration_text(left_s)} left"


def _written(variant: VariantSummary) -> str:
    return values_text(variant.values)


def recommendation(summary: StudySummary, values_of: Callable[[VariantSummary], str] = _written) -> str:
    """Return one line: the cheapest variant that keeps all expectations often enough, or which comes nearest.

    ``values_of`` returns the values of a variant in words.
    """
    wanted = f"all expectations in at least {percent(summary.confidence)} of its runs"
    if not summary.has_expectations:
        return "The scenario expects nothing, so no variant is recommended."
    if summary.recommended is not None:
        chosen = summary.variants[summary.recommended - 1]
        return f"{_named(chosen, values_of)} is the cheapest that keeps {wanted}: {_about(chosen)}."
    if summary.nearest is None:
        return f"No variant keeps {wanted}: no run has a result."
    near = summary.variants[summary.nearest - 1]
    return f"No variant keeps {wanted}. {_named(near, values_of)} comes nearest: {_about(near)}."


def _named(variant: VariantSummary, values_of: Callable[[VariantSummary], str]) -> str:
    values = values_of(variant)
    return f"Variant {variant.variant}" + (f" ({values})" if values else "")


def _about(variant: VariantSummary) -> str:
    met = f"{round(variant.met.share * variant.runs):,} of {variant.runs:,} ({interval_text(variant.met)})"
    return f"{met}, last task ends at {end_text(variant.end_s)}, {cost_text(variant.cost_usd)}"
