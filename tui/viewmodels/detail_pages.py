"""The detail pages of jobs and tasks, and the table of all detail pages.

The output of a task is shown as the last lines of both files of its last attempt.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.paths import task_directory
from engine.base.terms import TaskState
from engine.views.diagnosis.questions import job_waits_for
from engine.views.log.histories import JobHistory, TaskHistory
from engine.views.resources.jobs import row_of_job
from engine.views.resources.processes import output_ends, task_needs
from engine.views.resources.statistics import critical_path, deciding_task, last_deletion
from engine.views.rest.account import counts_of
from engine.views.rest.lookup import task_settings
from tui.viewmodels import format as fmt
from tui.viewmodels import properties as blocks
from tui.viewmodels.detail_model import DetailModel, Page, columns, curves, listing, state_history, tabular
from tui.viewmodels.glyphs import JOB, TASK, glyph_of_job, glyph_of_task, task_glyph
from tui.viewmodels.items import job_transfers, rest_blocks, rest_body
from tui.viewmodels.job_graphs import dependency_lines, path_lines, statistics_lines
from tui.viewmodels.lists.instances import PreparationModel, ReleaseModel
from tui.viewmodels.lists.tasks import TasksModel, task_environment, task_overview
from tui.viewmodels.pool_pages import AccountDetailModel, NodeDetailModel, PoolDetailModel
from tui.viewmodels.text import ItemRef, Line, Role, Span, block_lines, fit, line, link, wrapped
from tui.viewmodels.watch.curves import CurvesModel
from tui.viewmodels.watch.job_strip import rail

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from engine.views.log.histories import Attempt
    from engine.views.resources.jobs import JobRow
    from engine.views.resources.tasks import TaskPage, TaskRow
    from tui.viewmodels.session import Session


_RAIL_LINES = 4
_LEAST_CURVES = 8  # lines; lower ones say little
_ASKED = "  w explains what the one at the cursor waited for"
_JOB_PARTS = (
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
    EXPLAINED = (STATISTICS_TAB, CRITICAL_PATH_TAB)
    help_text = fmt.help_on("Job")

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
    def _row(self) -> JobRow:
        found = self.session.job(self.name)
        assert found is not None
        return found

    def _head(self, cells: int) -> Sequence[Line]:  # noqa: ARG002  # as on every page
        """Return state, priority, pool, and the reason to wait."""
        job = self._row
        glyph = glyph_of_job(job)
        words = f"   priority {job.record.priority}   on pool {job.record.pool_id or 'none'}"
        spans = [self.session.glyphs.span(glyph), Span(f" {glyph.name}", glyph.role), Span(words)]
        pool, concerns = self.session.pool(job.record.pool_id), self.session.attention.about(job.job_id)
        waits = job_waits_for(job, pool, concerns)
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
        heading = line(Span("The chain of tasks that ends last", Role.STRONG), Span(_ASKED, Role.DIM))
        lines = [heading, *path_lines(self.session, links, cells), *([line(Span(one, Role.DIM))] if one else [])]
        lines += self._after(links[-1].end_ms)
        return self._with_curves(lines, cells)

    def _after(self, last_ms: int | None) -> Iterator[Line]:
        """Yield when and why the job ended after its last task."""
        job, clock = self._row.record, self.session.clock
        if last_ms is not None and job.end_ms is not None:
            found = last_deletion(self.session.simulation, job)
            deleted = ""
            if found is not None and found[1] > last_ms:
                deleted = f"; {self.session.tasks(self.name).id_of(found[0])} was deleted at {clock(found[1])}"
            after = f"{fmt.span(job.end_ms - last_ms)} after it: {job.terminate_reason}{deleted}"
            yield line(Span(f"The job ended at {clock(job.end_ms)}, {after}", Role.DERIVED))

    def _overview(self, cells: int) -> Sequence[Line]:
        job, session = self._row, self.session
        shown = [blocks.job_general(session, job), blocks.job_execution(session, job)]
        shown += blocks.job_parts(session, rest_body(session, self.subject) or {}, session.options)
        shown += job_transfers(session, job.job_id)
        shown += blocks.job_options(session.options)
        return [*rail(session, cells, _RAIL_LINES), (), *self._counts(cells), (), *columns(shown, cells)]

    def _counts(self, cells: int) -> list[Line]:
        tasks = self._row.phases.tasks
        approximate = counts_of(*tasks[:-1])
        exact = {"active": tasks.active, "preparing": tasks.preparing}
        exact |= counts_of(tasks.active, 0, tasks.running, tasks.succeeded, tasks.failed)
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
        return columns(rest_blocks(self.session, rest_body(self.session, self.subject) or {}, _JOB_PARTS), cells)

    def _timeline(self, cells: int) -> Sequence[Line]:
        job = row_of_job(self.session.simulation, self.name)
        assert job is not None
        opens = link("Open the timeline", "show_view('timeline')", Role.KEY)
        states = self.session.history(JobHistory, job).states()
        return [line(opens, Span(" of its nodes.", Role.DIM)), (), *state_history(self.session, states, JOB, cells)]


_MOST_LINES = 200  # of each file
_FILES = link("Open all its files", "do('row.files')", Role.KEY)


def output_lines(session: Session, task: int, row: TaskRow, cells: int) -> list[Line]:
    """Return the last lines of both output files of the last attempt, as they are at this moment."""
    attempts = session.history(TaskHistory, task).attempts()
    started = next((each for each in reversed(attempts) if each.start_ms is not None), None)
    if started is None:
        return [line(Span("It has not started on a node yet: no output. w explains why.", Role.DIM))]
    node = session.nodes().row(started.node).record
    lines = [
        line(
            Span(f"Attempt {started.number:,} on "),
            link(fmt.node_name(node.position, node.id), ItemRef("node", started.node)),
            Span("   "),
            _FILES,
        )
    ]
    directory = task_directory(row.job_id, row.brief.task_id)
    ends = output_ends(session.simulation, started.node, directory, _MOST_LINES)
    for each in ends:
        above = f"  {fmt.counted(each.above, 'line')} above" if each.above else ""
        empty = "  empty so far" if started.end_ms is None else "  empty"
        name = Span(each.path.rpartition("/")[2], Role.STRONG)
        lines += [(), line(name, Span(above if each.lines else empty, Role.DIM))]
        lines += [line(Span(part)) for text in each.lines for part in wrapped(text.expandtabs(), cells)]
    return lines if ends else [*lines, (), line(Span("Its files have been deleted.", Role.DIM))]


_ALL_FROM, _FEW = 104, 6  # cells for all columns of the attempts; columns on narrower pages
_TASK_PARTS = (
    "constraints",
    "resourceFiles",
    "outputFiles",
    "environmentSettings",
    "exitConditions",
    "multiInstanceSettings",
)


class TaskDetailModel(DetailModel):
    """A task of any job."""

    kind = "task"
    help_text = fmt.help_on("Task")
    BELOW = ("Attempts", "Dependencies", "Output", "History", "Environment")
    ENDS = ("Output",)

    @property
    def _task(self) -> int:
        return int(self.subject.key)

    @property
    def exists(self) -> bool:
        return self._page.has(self._task)

    @property
    def name(self) -> str:
        return self._page.id_of(self._task) if self.exists else "not created yet"

    @property
    def _page(self) -> TaskPage:
        return self.session.tasks(self.session.job_id)

    @property
    def _row(self) -> TaskRow:
        return self._page.row(self._task)

    # -- the strip -----------------------------------------------------------------------------------------------

    def _head(self, cells: int) -> Sequence[Line]:
        """Return the four states: when the task first entered each, how long it was there in all, and how often."""
        glyphs, clock = self.session.glyphs, self.session.clock
        row, stays = self._row, self.session.history(TaskHistory, self._task).times()
        stage_cells = max(12, (cells - 2) // len(TaskState))
        names: list[Span] = [Span(" ")]
        times: list[Span] = [Span(" ")]
        for state in TaskState:
            stay, is_present = stays.get(state), row.brief.state is state
            glyph = glyph_of_task(row.brief) if is_present else task_glyph(state)
            role = glyph.role if stay is not None else Role.OFF
            is_last = state is TaskState.COMPLETED  # whose sign is that of success
            arrow = "" if is_last else glyphs.arrow
            text = f"{glyphs.dot if is_last and not is_present else glyphs.of(glyph)} {state.wire}"
            names.append(Span(text, role, is_underlined=is_present))
            names.append(Span(f" {arrow} ".ljust(stage_cells - len(text)), Role.DIM))
            spent = "" if stay is None or is_last else fmt.span(stay.spent_ms)
            entered = clock(stay.entered_ms) if stay is not None else ""
            often = f" {glyphs.times}{stay.times:,}" if stay is not None and stay.times > 1 else ""
            text = f" {entered} {spent}"
            text += often if len(text + often) < stage_cells else ""
            times.append(Span(fit(text, stage_cells), Role.DERIVED))
        return [tuple(names), tuple(times)]

    # -- pages ---------------------------------------------------------------------------------------------------

    def _pages(self) -> Sequence[Page]:
        return (
            ("Overview", self._overview),
            ("Properties", self._properties),
            ("Environment", self._environment),
            ("Attempts", self._attempts),
            ("Dependencies", self._dependencies),
            ("Output", self._output),
            ("History", self._history),
        )

    def _overview(self, cells: int) -> Sequence[Line]:
        needs = task_needs(self.session.simulation, self._task)
        return columns(task_overview(self.session, self._page, self._task, needs), cells)

    def _environment(self, cells: int) -> Sequence[Line]:
        """Return the variables of the process."""
        drawn = block_lines(task_environment(self._page.environment(self._task)), cells)
        return drawn or [line(Span("It has not started yet: it has no variables.", Role.DIM))]

    def _properties(self, cells: int) -> Sequence[Line]:
        settings = task_settings(self.session.simulation, self._task)
        return columns(rest_blocks(self.session, settings, _TASK_PARTS), cells)

    def _attempts(self, cells: int) -> Sequence[Line]:
        attempts = self.session.history(TaskHistory, self._task).attempts()
        if not attempts:
            return [line(Span("It has not been assigned to a node yet. w explains why.", Role.DIM))]
        names = ["Attempt", "Node", "Started", "Ended", "Exit code", "Then", "On node since", "Took", "Rule"]
        shown = len(names) if cells >= _ALL_FROM else _FEW
        return tabular(names[:shown], [self._attempt(each)[:shown] for each in attempts], cells)

    def _attempt(self, attempt: Attempt) -> Sequence[Span]:
        clock, node = self.session.clock, self.session.nodes().row(attempt.node).record
        took_ms = None if attempt.start_ms is None else (attempt.end_ms or self.session.now_ms) - attempt.start_ms
        again = "active again" if attempt.exit_code is None else "retried"
        then = {None: "", TaskState.ACTIVE: again, TaskState.COMPLETED: "completed"}.get(attempt.ended_as, "")
        code = attempt.failure.code if attempt.failure else ""
        return (
            Span("" if attempt.start_ms is None and attempt.end_ms is not None else str(attempt.number)),
            link(f"n{node.position} {fmt.short_node(node.id)}", ItemRef("node", attempt.node)),
            Span(clock(attempt.start_ms)),
            Span(clock(attempt.end_ms)),
            Span(fmt.optional(attempt.exit_code), Role.FAILED if attempt.exit_code else Role.PLAIN),
            Span(code or then or "on the node", Role.FAILED if code else Role.PLAIN),
            Span(clock(attempt.placed_ms)),
            Span(fmt.span(took_ms), Role.DERIVED),
            Span(attempt.rule, Role.DIM),
        )

    def _dependencies(self, cells: int) -> Sequence[Line]:
        return dependency_lines(self.session, self._task, cells)

    def _output(self, cells: int) -> Sequence[Line]:
        return output_lines(self.session, self._task, self._row, cells)

    def _history(self, cells: int) -> Sequence[Line]:
        return state_history(self.session, self.session.history(TaskHistory, self._task).states(), TASK, cells)


DETAIL_MODELS: tuple[type[DetailModel], ...] = (
    AccountDetailModel,
    NodeDetailModel,
    PoolDetailModel,
    JobDetailModel,
    TaskDetailModel,
)
_BY_KIND = {thing.kind: thing for thing in DETAIL_MODELS}


def detail_model_of(session: Session, subject: ItemRef) -> DetailModel | None:
    """Return the detail page of an item, or None if its kind has none."""
    found = _BY_KIND.get(subject.kind)
    return None if found is None else found(session, subject)
