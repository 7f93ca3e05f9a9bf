"""The runs of a variant: a line for each seed, so that the best, the usual and the worst can be opened."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.studies.wording import cost_text, end_text
from engine.views.pages.expectations import ExpectationState
from tui.viewmodels.lists.columns import Column
from tui.viewmodels.lists.rows import RowsModel
from tui.viewmodels.text.glyphs import EXPECTATION
from tui.viewmodels.text.styled import Role, Span

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from engine.studies.results import Result
    from tui.viewmodels.lists.sorting import SortValues
    from tui.viewmodels.session.session import Session
    from tui.viewmodels.study.model import StudyModel

SEED, END, COST, BROKEN, ERROR = "Seed", "End", "USD", "Broken", "Error"
_MARKS = {True: EXPECTATION[ExpectationState.MET], False: EXPECTATION[ExpectationState.BROKEN]}


class RunsModel(RowsModel):
    """The runs of a variant that have results, the earliest end first. The key of a row is its seed."""

    title = "Runs"
    own_order = "end, the earliest first"
    columns = (
        Column("", 1),
        Column(SEED, 6, "the seed", is_right=True, is_whole=True),
        Column(END, 9, "when the last task ended", is_right=True, is_whole=True),
        Column(COST, 8, "what the nodes cost", is_right=True, is_whole=True),
        Column(BROKEN, 18, "the expectations that were broken, by number"),
        Column(ERROR, 20, "why the run failed", stretch=True, is_extra=False, from_width=50),
    )

    def __init__(self, session: Session, study: StudyModel, variant: int) -> None:
        """Show the runs of a variant, as they are now."""
        super().__init__(session)
        self.study = study
        self.variant = variant
        self._results: dict[int, Result] = {}

    def order(self) -> Sequence[int]:
        self._results = {one["seed"]: one for one in self.study.results_by_end(self.variant)}
        return list(self._results)

    def moment(self) -> object:
        return self.study.summary

    def cells(self, key: int) -> tuple[Span, ...]:
        one = self._results[key]
        summary = one["summary"] or {}
        met = one["error"] is None and all(one["expectations"])
        has_mark = bool(one["expectations"]) or one["error"] is not None
        return (
            self.session.glyphs.span(_MARKS[met]) if has_mark else Span(" "),
            Span(f"{key}"),
            Span(end_text(summary.get("makespanSeconds"))),
            Span(cost_text(summary.get("costUsd"))),
            Span(_broken(one), Role.FAILED),
            Span(one["error"] or "", Role.FAILED),
        )

    def identity_of(self, key: int) -> str:
        return f"{key}"

    def is_failed(self, key: int) -> bool:
        one = self._results[key]
        return one["error"] is not None or not all(one["expectations"])

    def empty(self) -> Sequence[str]:
        return ("No run of this variant has ended yet.",)

    def sort_values(self, name: str) -> SortValues:
        value: Callable[[Result], float | None] = {
            SEED: lambda one: one["seed"],
            END: lambda one: (one["summary"] or {}).get("makespanSeconds"),
            COST: lambda one: (one["summary"] or {}).get("costUsd"),
            BROKEN: lambda one: one["expectations"].count(False),
            ERROR: lambda one: one["error"] is not None,
        }[name]

        def values(keys: Sequence[int]) -> list[tuple[bool, float]]:
            found = [value(self._results[key]) for key in keys]
            return [(one is None, one or 0.0) for one in found]

        return values


def _broken(one: Result) -> str:
    """Return the numbers of the expectations that were broken: ``1, 3 of 4``."""
    broken = [str(at) for at, is_met in enumerate(one["expectations"], start=1) if not is_met]
    return f"{', '.join(broken)} of {len(one['expectations'])}" if broken else ""
