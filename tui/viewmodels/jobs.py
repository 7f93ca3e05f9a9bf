"""The blade Jobs: one line for each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.views.pages.instances import HookStatus
from engine.views.pages.jobs import job_ids
from tui.viewmodels.blocks import job as blocks
from tui.viewmodels.lists import Block, Column, RowsModel
from tui.viewmodels.text import Line, Role, Span, line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.views.pages.jobs import JobRow
    from engine.views.phases import HookCounts
    from tui.viewmodels.session import Session


class JobsModel(RowsModel):
    """Jobs, oldest first."""

    title = "Jobs"
    kind = "job"
    columns = (
        Column("", 1),
        Column("Job", 16, stretch=True),
        Column("State", 11),
        Column("Priority", 8, from_width=80, is_right=True),
        Column("Pool", 12, from_width=88),
        Column("Preparation", 12),
        Column("Tasks", 16),
        Column("Release", 10, from_width=70),
        Column("Ended", 8, from_width=112),
        Column("Created", 8, is_extra=True),
        Column("Reason", 18, is_extra=True),
    )
    help_text = (
        "Preparation, Tasks and Release show done of all, and failures after a cross.\n"
        "Enter puts a job in focus and opens its blade; 1 watches it then."
    )

    def __init__(self, session: Session) -> None:
        """An empty list; rows come with ``refresh``."""
        super().__init__(session)
        self._ids: list[str] = []

    def order(self) -> Sequence[int]:
        """The jobs that have not been deleted."""
        self._ids = job_ids(self.session.simulation)
        return range(len(self._ids))

    def identity_of(self, key: int) -> str:
        """The job's id."""
        return self._ids[key]

    def _row(self, key: int) -> JobRow:
        found = self.session.job(self._ids[key])
        assert found is not None
        return found

    def cells(self, key: int) -> tuple[Span, ...]:
        """Glyph, id, state, priority, pool and the three phases."""
        job = self._row(key)
        glyph = blocks.glyph_of(job)
        tasks = job.phases.tasks
        bad = self.session.glyphs.bad
        failed = f" {bad}{tasks.failed:,}" if tasks.failed else ""
        return (
            self.session.glyphs.span(glyph),
            Span(job.job_id, Role.STRONG if job.job_id == self.session.job_id else Role.PLAIN),
            Span(glyph.name, glyph.role),
            Span(str(job.priority)),
            Span(job.pool_id),
            self._phase(job.phases.preparation),
            Span(
                f"{tasks.succeeded + tasks.failed:,}/{tasks.total:,}{failed}",
                Role.FAILED if tasks.failed else Role.PLAIN,
            ),
            self._phase(job.phases.release),
            Span(self.session.clock(job.end_ms)),
            Span(self.session.clock(job.created_ms)),
            Span(job.terminate_reason or ""),
        )

    def _phase(self, counts: HookCounts) -> Span:
        if not counts.is_specified:
            return Span("none", Role.DIM)
        done, failed = counts[HookStatus.SUCCEEDED] + counts[HookStatus.FAILED], counts[HookStatus.FAILED]
        mark = f" {self.session.glyphs.bad}{failed:,}" if failed else ""
        return Span(f"{done:,}/{counts.total:,}{mark}", Role.FAILED if failed else Role.PLAIN)

    def sentence(self, key: int) -> Line:
        """A job in one line."""
        job = self._row(key)
        return line(
            Span(
                f"{job.job_id}, {blocks.glyph_of(job).name}, pool {job.pool_id}, priority {job.priority}", Role.DERIVED
            )
        )

    def details(self, key: int) -> Sequence[Block]:
        """General, constraints, preparation, release, execution."""
        job, session = self._row(key), self.session
        return [
            blocks.general(session, job),
            blocks.constraints(job),
            *blocks.hooks(job),
            blocks.execution(session, job),
        ]

    def empty(self) -> Sequence[str]:
        """Why there are no jobs."""
        return ("There is no job yet, or all have been deleted.", "Press space to let time go by, or . for one event.")
