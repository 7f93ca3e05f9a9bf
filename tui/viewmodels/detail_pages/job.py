"""The detail page of a job."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.views.explain.waits_for import job_waits_for
from engine.views.log.state_spans import JobHistory
from engine.views.pages.critical_path import critical_path, deciding_task
from engine.views.pages.jobs import row_of_job
from engine.views.rest.jobs import counts_of
from engine.views.rest.lookup import job_wire
from tui.viewmodels.curves.curves import CurvesModel
from tui.viewmodels.detail_pages.dependencies import path_lines
from tui.viewmodels.detail_pages.layout import columns, curves, listing, state_history, tabular
from tui.viewmodels.detail_pages.page import DetailModel, Page
from tui.viewmodels.detail_pages.statistics import statistics_lines
from tui.viewmodels.lists.preparation import PreparationModel
from tui.viewmodels.lists.release import ReleaseModel
from tui.viewmodels.lists.tasks import TasksModel
from tui.viewmodels.properties import job as blocks
from tui.viewmodels.properties.rest_fields import parts
from tui.viewmodels.properties.storage import job_transfers
from tui.viewmodels.text.glyphs import JOB, glyph_of_job
from tui.viewmodels.text.styled import Line, Role, Span, line, link
from tui.viewmodels.watch.phase_rail import rail

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.views.pages.jobs import JobRow
    from tui.viewmodels.session.session import Session
    from tui.viewmodels.text.styled import ItemRef

_RAIL_LINES = 4
_LEAST_CURVES = 8  # lines; lower ones say little
_ASKED = "  w explains what the one at the cursor waited for"
_PARTS = (
    "constraints",
    "jobManagerTask",
    "jobPreparationTask",
    "jobReleaseTask",
    "commonEnvironmentSettings",
    "executionInfo",
    "metadata",
    "poolInfo",
)


STATISTICS_TAB = "Statistics"
CRITICAL_PATH_TAB = "Critical path"


class JobDetailModel(DetailModel):
    """A job, in focus while its page is open."""

    kind = "job"
    view = "jobs"
    EXPLAINED = (STATISTICS_TAB, CRITICAL_PATH_TAB)
    help_text = (
        "A job, in tabs. Curves shows how it went up to now.\n"
        "Approximate task count is the service's count. Preparing tasks count as running there. "
        "Beside it are the exact numbers and the difference.\n"
        "Statistics shows run times, waiting times, failures by exit code, and the cost. "
        "There and on Critical path w explains what the task at the cursor waited for.\n"
        "Tasks, Preparation tasks and Release tasks show the first rows. Enter on the first line opens the list."
    )

    def __init__(self, session: Session, subject: ItemRef) -> None:
        super().__init__(session, subject)
        self._curves = CurvesModel(session)
        self._tasks = TasksModel(session)
        self._preparation = PreparationModel(session)
        self._release = ReleaseModel(session)

    @property
    def exists(self) -> bool:
        return self.session.job(self.name) is not None

    @property
    def name(self) -> str:
        return str(self.subject.key)

    @property
    def _row(self) -> JobRow:
        found = self.session.job(self.name)
        assert found is not None
        return found

    def _head(self, cells: int) -> Sequence[Line]:  # noqa: ARG002  # as on every page
        """Return state, priority, pool, and the reason to wait."""
        job = self._row
        glyph = glyph_of_job(job)
        words = f"   priority {job.priority}   on pool {job.pool_id or 'none'}"
        spans = [self.session.glyphs.span(glyph), Span(f" {glyph.name}", glyph.role), Span(words)]
        waits = job_waits_for(job, self.session.pool(job.pool_id))
        return [line(*spans, Span(f"   waits for {waits}" if waits else "", Role.DERIVED))]

    def _pages(self) -> Sequence[Page]:
        return (
            ("Curves", lambda cells: curves(self._curves, self, cells, self.rows)),
            ("Overview", self._overview),
            ("Tasks", lambda cells: listing(self._tasks, "tasks", cells)),
            ("Preparation tasks", lambda cells: listing(self._preparation, "preparation", cells)),
            ("Release tasks", lambda cells: listing(self._release, "release", cells)),
            (STATISTICS_TAB, self._statistics),
            (CRITICAL_PATH_TAB, self._critical_path),
            ("Properties", self._properties),
            ("Timeline", self._timeline),
        )

    def _statistics(self, cells: int) -> Sequence[Line]:
        return self._with_curves(statistics_lines(self.session, self.name, cells, self.rows), cells)

    def _with_curves(self, lines: Sequence[Line], cells: int) -> Sequence[Line]:
        """Return the lines and, where there is room below them, the curves."""
        rest = self.rows - len(lines) - 1
        return [*lines, (), *curves(self._curves, self, cells, rest)] if rest >= _LEAST_CURVES else lines

    def _critical_path(self, cells: int) -> Sequence[Line]:
        task = deciding_task(self.session.simulation, self.name)
        if task is None:
            return [line(Span("The job has no tasks yet.", Role.DIM))]
        links = critical_path(self.session.simulation, task)
        one = "It depends on no other task. w says which tasks had the slots." if len(links) == 1 else ""
        heading = line(Span("The chain of tasks that decides the end", Role.STRONG), Span(_ASKED, Role.DIM))
        lines = [heading, *path_lines(self.session, links, cells), *([line(Span(one, Role.DIM))] if one else [])]
        return self._with_curves(lines, cells)

    def _overview(self, cells: int) -> Sequence[Line]:
        job, session = self._row, self.session
        shown = [blocks.general(session, job), blocks.execution(session, job), blocks.constraints(job)]
        shown += job_transfers(session, job.job_id)
        shown += blocks.options(session.options)
        return [*rail(session, cells, _RAIL_LINES), (), *self._counts(cells), (), *columns(shown, cells)]

    def _counts(self, cells: int) -> list[Line]:
        tasks = self._row.phases.tasks
        approximate = counts_of(*tasks[:-1])
        exact = {
            "active": tasks.active,
            "preparing": tasks.preparing,
            "running": tasks.running,
            "completed": tasks.succeeded + tasks.failed,
            "succeeded": tasks.succeeded,
            "failed": tasks.failed,
        }
        rows = []
        for state, number in exact.items():
            told = approximate.get(state)
            differs = 0 if told is None else told - number
            why = Span("preparing tasks count as running (PREP-21)" if differs else "", Role.DERIVED)
            said = Span(f"{'–':>11}", Role.DIM) if told is None else Span(f"{told:>11,}")
            difference = Span(f"{differs:>+10,}", Role.WARNING) if differs else Span(f"{'0':>10}", Role.DIM)
            rows.append((Span(state), said, Span(f"{number:>9,}"), difference, why))
        heading = line(Span("Approximate task count", Role.STRONG))
        return [heading, *tabular(("State", "Approximate", "    Exact", "Difference", ""), rows, cells)]

    def _properties(self, cells: int) -> Sequence[Line]:
        return columns(parts(self.session, job_wire(self.session.simulation, self.name) or {}, _PARTS), cells)

    def _timeline(self, cells: int) -> Sequence[Line]:
        job = row_of_job(self.session.simulation, self.name)
        assert job is not None
        opens = link("Open the timeline", "show_view('timeline')", Role.KEY)
        states = self.session.history(JobHistory, job).states()
        return [line(opens, Span(" of its nodes.", Role.DIM)), (), *state_history(self.session, states, JOB, cells)]
