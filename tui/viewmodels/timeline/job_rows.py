"""Timeline rows of the jobs of the account."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engine.base.terms import JobState
from engine.views.pages.jobs import job_ids
from tui.viewmodels.text.glyphs import JOB, Glyph
from tui.viewmodels.text.styled import ItemRef, Line, Span, line
from tui.viewmodels.timeline.rows import NOTHING, Openable, Sort, TimeColumns, TimelineRows, filled

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class JobRows(TimelineRows):
    """The jobs of the account, without deleted ones."""

    name = "jobs"
    legend = tuple(glyph for state, glyph in JOB.items() if state is not None)
    sorts = (Sort.NUMBER, Sort.TROUBLE)

    _ids: Sequence[str] = ()

    @property
    def whose(self) -> str:
        return ""

    def order(self, sort: Sort, *, only_failed: bool) -> Sequence[int]:  # noqa: ARG002  # trouble has a sort key
        """Return the jobs, oldest first, or only those with a failed task."""
        self._ids = job_ids(self.session.simulation)
        rows = range(len(self._ids))
        return [row for row in rows if self._failed(row)] if only_failed else rows

    def _failed(self, row: int) -> int:
        job = self.session.job(self._ids[row])
        return 0 if job is None else job.phases.tasks.failed

    def value(self, sort: Sort) -> Callable[[int], Any] | None:
        """Return the sort key: most failed tasks first."""
        return (lambda row: -self._failed(row)) if sort is Sort.TROUBLE else None

    def value_text(self, key: int, sort: Sort) -> str:
        return f"{self._failed(key):,} failed" if sort is Sort.TROUBLE else ""

    def label(self, key: int) -> str:
        return self._ids[key]

    def cells(self, key: int, columns: TimeColumns) -> list[Glyph]:
        """Return the state at the end of each column."""
        stretches = self.lanes.job(self._ids[key])
        changes = [(columns.column_at(each.begin_ms), JOB[each.state]) for each in stretches]
        return filled(columns.begun(self.known_ms()), changes)

    def moment_ms(self, key: int, begin_ms: int, end_ms: int) -> int:
        """Return the last change of state within the cell, or its begin."""
        changes = [each.begin_ms for each in self.lanes.job(self._ids[key]) if begin_ms <= each.begin_ms < end_ms]
        return changes[-1] if changes else begin_ms

    def description_at(self, key: int, when_ms: int) -> Line:
        """Return the job's state, and since when it lasts."""
        begun = [each for each in self.lanes.job(self._ids[key]) if each.begin_ms <= when_ms]
        glyph = JOB[begun[-1].state] if begun else NOTHING
        since = f" since {self.session.clock(begun[-1].begin_ms)}" if begun else "not added yet"
        return line(Span(glyph.name, glyph.role), Span(since))

    def subject(self, key: int) -> ItemRef:
        return ItemRef("job", self._ids[key])

    def openables(self, key: int, when_ms: int) -> list[Openable]:  # noqa: ARG002  # only existing jobs have a row
        return [Openable(f"job {self.label(key)}", self.subject(key))]

    def estimated_ms(self, key: int) -> int | None:
        """Return the estimated end of the job in focus; None for other jobs."""
        return self.session.forecast().job_ms if self._ids[key] == self.session.job_id else None

    def is_over(self, key: int) -> bool:
        stretches = self.lanes.job(self._ids[key])
        return bool(stretches) and stretches[-1].state is JobState.COMPLETED
