"""Expectations of the scenario that are broken."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.run.expectations import Judgement
from engine.views.attention.concern import Concern, Severity
from engine.views.pages.expectations import row_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine import Simulation
    from engine.run.expectations import Outcome
    from engine.views.pages.expectations import ExpectationRow


def broken_expectations(simulation: Simulation) -> list[Concern]:
    """Return the expectations that are decided and broken; pending ones are not observed."""
    broken = (judged for judged in simulation.judgements(with_open=False) if not judged.outcome.met)
    return [_concern(row_of(simulation, judged), "is broken", Severity.FAILURE) for judged in broken]


def foreseen(
    simulation: Simulation, at_end: Sequence[Outcome], *, end_ms: int | None = None, is_over: bool = False
) -> list[Concern]:
    """Return the expectations that will be broken, as playing ahead has shown, without those that are decided.

    If the run ``is_over`` they are broken: only the end decides them. If its end is known, ``end_ms``, each has the
    moment at which it will be decided; else that of now.
    """
    known = {judged.expected.index for judged in simulation.judgements(with_open=False)}
    both = zip(simulation.scenario.expect, at_end, strict=False)
    coming = [(one, outcome) for one, outcome in both if not outcome.met and one.index not in known]
    rows = [row_of(simulation, Judgement(one, outcome, None)) for one, outcome in coming]
    verb, severity = ("is broken", Severity.FAILURE) if is_over else ("will be broken", Severity.SHORTAGE)
    if is_over or end_ms is None:
        return [_concern(row, verb, severity)._replace(since_ms=simulation.now_ms) for row in rows]
    limits = (one.within_ms if one.at_ms is None else one.at_ms for one, _ in coming)
    moments = (end_ms if limit is None else min(limit, end_ms) for limit in limits)
    return [
        _concern(row, verb, severity)._replace(since_ms=when_ms, is_coming=True)
        for row, when_ms in zip(rows, moments, strict=True)
    ]


def _concern(row: ExpectationRow, verb: str, severity: Severity) -> Concern:
    return Concern(
        "expectation",
        severity,
        f"expectation {row.number} {verb}: {row.subject}",
        row.decided_ms or 0,
        effect=f"{row.when}: {row.difference}",
        jobs=(row.item_id,) if row.kind == "job" else (),
        pools=(row.item_id,) if row.kind == "pool" else (),
        schedules=(row.item_id,) if row.kind == "job schedule" else (),
    )
