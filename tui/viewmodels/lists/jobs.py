"""The lists of jobs and of job schedules.

A schedule is shown with its recent job and its next run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.values import called
from engine.views.diagnosis.questions import job_waits_for
from engine.views.hook_status import HookStatus
from engine.views.log.reader import Kept
from engine.views.resources.account import latest_jobs, missed_occurrences, schedule_ids
from engine.views.resources.jobs import job_ids
from tui.viewmodels import format as fmt
from tui.viewmodels import properties as blocks
from tui.viewmodels.glyphs import JOB, JOB_SCHEDULE, STATES_OF_JOBS, STATES_OF_SCHEDULES, glyph_of_job
from tui.viewmodels.items import NOT_TOLD, job_transfers, rest_blocks
from tui.viewmodels.lists.columns import Column
from tui.viewmodels.lists.rows import NamedRowsModel
from tui.viewmodels.properties import no_limit, previous_state, yes
from tui.viewmodels.text import WHOLE, Block, ItemRef, Line, Role, Span, bar, block, block_of, line, link, plain, row

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from engine.views.resources.account import JobScheduleRow
    from engine.views.resources.jobs import JobRow
    from tui.viewmodels.session import Session


_BAR_CELLS, _NUMBER_CELLS = 10, 8
_BAR_SIGNS = "━╍─=~- "


class JobsModel(NamedRowsModel["JobRow"]):
    """Jobs, oldest first. The cursor chooses the job in focus."""

    title = "Jobs"
    kind = "job"
    ids = staticmethod(job_ids)
    help_text = fmt.help_on("Jobs")

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._parts: Kept[list[Block]] = Kept()  # of the job whose details were shown last

    def usual_columns(self) -> Iterator[Column[JobRow]]:
        session = self.session
        yield Column("", 1, cell=lambda job: session.glyphs.span(glyph_of_job(job)))
        yield Column("Job", 12, "the job's id", self._name, stretch=True, is_id=True)
        yield Column("State", 11, "the service's state; all states are listed below", _state, words=STATES_OF_JOBS)
        said = "-1000 to 1000; higher priorities are scheduled first"
        yield Column("Priority", 8, said, lambda job: str(job.record.priority), 76, is_right=True)
        said = "the pool's id"
        yield Column("Pool", 12, said, lambda job: job.record.pool_id, 72, least=9, is_id=True)
        said = "nodes on which it has run, of all on which it may; then the failures"
        yield Column("Preparation", 12, said, self._preparation, is_whole=True, short="Prep")
        said = "completed tasks (thick), running ones (dashed) and others, of all; then the failures"
        yield Column("Tasks", 28, said, self._tasks, least=13, is_whole=True)
        said = "nodes that have released, of all that owe it so far; then the failures"
        yield Column("Release", 10, said, self._release, 60, least=9)
        said = "when it was completed, or will be, which is derived"
        yield Column("End", 8, said, self._end, 70, is_whole=True)

    def extra_columns(self) -> Iterator[Column[JobRow]]:
        session = self.session
        yield Column("Started", 8, "when it started", lambda job: session.clock(job.record.created_ms), is_whole=True)
        said = "limit of its running tasks; empty without a limit"
        yield Column("Max parallel tasks", 18, said, lambda job: no_limit(job.record.max_parallel), is_right=True)
        said = "what happens to the job when all tasks are completed"
        yield Column("On all tasks complete", 21, said, lambda job: job.record.on_all_tasks_complete.value)
        said = "what happens to the job when a task fails"
        yield Column("On task failure", 24, said, lambda job: job.record.spec.on_task_failure.value)
        said = "whether its tasks may depend on each other"
        yield Column("Uses task dependencies", 22, said, lambda job: yes(job.record.spec.uses_task_dependencies))
        said = "whether tasks of higher-priority jobs may preempt its tasks"
        yield Column("Allow task preemption", 21, said, lambda job: yes(job.record.preemptible))
        said = "why the job was terminated"
        yield Column("Termination reason", 22, said, lambda job: job.record.terminate_reason or "")
        yield Column("Previous state", 14, "the state before this one", lambda job: previous_state(job) or "")
        yield Column("Waiting for", 30, "what it waits for; w explains more", self._waits_for, is_derived=True)

    def find_item(self, identity: str) -> JobRow | None:
        return self.session.job(identity)

    def key_in_focus(self) -> int | None:
        job_id = self.session.job_id
        return self._ids.index(job_id) if job_id in self._ids else None

    def put_in_focus(self, key: int) -> None:
        if self._ids[key] != self.session.job_id:
            self.session.focus_job(self._ids[key])

    def _name(self, job: JobRow) -> Span:
        return Span(job.job_id, Role.STRONG if job.job_id == self.session.job_id else Role.PLAIN)

    def _waits_for(self, job: JobRow) -> Span:
        concerns = self.session.attention.about(job.job_id)
        return Span(job_waits_for(job, self.session.pool(job.record.pool_id), concerns), Role.DERIVED)

    def _tasks(self, job: JobRow) -> Span:
        """Return the completed tasks of all, and a bar of completed, running and other ones; failures have a sign."""
        counts, glyphs = job.phases.tasks, self.session.glyphs
        total = counts.total
        done, busy = counts.succeeded + counts.failed, counts.running + counts.preparing
        parts = [(done, Role.PLAIN, glyphs.meter), (busy, Role.PLAIN, glyphs.meter_running)]
        filled = plain(bar([*parts, (total - done - busy, Role.PLAIN, glyphs.meter_rest)], _BAR_CELLS))
        sign = f" {glyphs.bad}{counts.failed:,}" if counts.failed else ""
        numbers = f"{done:,} of {total:,}{sign}" if total else "none"
        return Span(f"{numbers:<{_NUMBER_CELLS}} {filled}".strip(), Role.FAILED if counts.failed else Role.PLAIN)

    def texts_of(self, keys: Sequence[int], column: int) -> Sequence[str]:
        """Return the texts of the cells, of tasks without the bar."""
        return [text.rstrip(_BAR_SIGNS) for text in super().texts_of(keys, column)]

    def _end(self, job: JobRow) -> Span:
        """Return when the job was completed, else when it will be; nothing of one that stays active."""
        if job.record.end_ms is not None:
            return Span(self.session.clock(job.record.end_ms))
        coming = self.session.job_end(job.job_id)
        return Span("" if coming is None or coming.is_of_tasks else self.session.clock(coming.when_ms), Role.DERIVED)

    def _preparation(self, job: JobRow) -> Span:
        """Return the counts that the strip of jobs has."""
        progress = self.session.progress(job.job_id)
        counts = None if progress is None else progress.preparation
        if counts is None:
            return Span("none", Role.DIM)
        return self._of_nodes(counts.done + counts.failed, counts.total, counts.failed)

    def _release(self, job: JobRow) -> Span:
        counts = job.phases.release
        if not counts.is_specified:
            return Span("none", Role.DIM)
        return self._of_nodes(counts.ran, counts.due, counts[HookStatus.FAILED])

    def _of_nodes(self, ran: int, of: int, failed: int) -> Span:
        sign = f" {self.session.glyphs.bad}{failed:,}" if failed else ""
        return Span(f"{ran:,}/{of:,}{sign}", Role.FAILED if failed else Role.PLAIN)

    def summary(self, cells: int = WHOLE) -> Line:  # noqa: ARG002  # it is short
        """Return when the next job is added."""
        return line(Span(self.session.coming_jobs if self._ids else "", Role.DERIVED))

    def sentence(self, key: int) -> Line:
        job = self.row(key)
        where, priority = called("pool", job.record.pool_id), f"priority {job.record.priority}"
        return line(Span(f"{job.job_id}, {glyph_of_job(job).name}, {where}, {priority}", Role.DERIVED))

    def details(self, key: int) -> Sequence[Block]:
        job, session = self.row(key), self.session
        told = session.glyphs.ascii_only, job.record.spec, job.record.max_retries, job.record.max_wall_clock_ms
        return [
            blocks.job_general(session, job),
            *self._parts.get(told, lambda: blocks.job_parts(session, self.wire(key) or {}, session.options)),
            blocks.job_execution(session, job),
            *job_transfers(session, job.job_id),
        ]


def _state(job: JobRow) -> Span:
    return Span(glyph_of_job(job).name, glyph_of_job(job).role)


_NO_MANAGER = "none: tasks must be added by others (JM-3)"
_MOST_JOBS, _MOST_MISSED = 8, 5  # jobs and occurrences that the details list


class JobSchedulesModel(NamedRowsModel["JobScheduleRow"]):
    """Job schedules, oldest first."""

    title = "Job schedules"
    kind = "job schedule"
    ids = staticmethod(schedule_ids)
    help_text = fmt.help_on("Job schedules")

    def usual_columns(self) -> Iterator[Column[JobScheduleRow]]:
        clock = self.session.clock
        yield Column("", 1, cell=self._sign)
        yield Column("Job schedule", 16, "the schedule's id", lambda one: one.schedule_id, stretch=True, is_id=True)
        yield Column("State", 11, "only an active schedule creates jobs", _schedule_state, words=STATES_OF_SCHEDULES)
        yield Column("Interval", 11, "how often the schedule creates a job", _interval, 90)
        yield Column("Next run", 14, "when the next job is due", lambda one: clock(one.next_run_ms), is_whole=True)
        yield Column("Jobs", 4, "number of jobs created", lambda one: f"{one.record.jobs_made:,}", is_right=True)
        said = "occurrences that made no job, for instance because the previous job was still active"
        yield Column("Missed", 6, said, _missed_cell, is_right=True, is_derived=True)
        said = "jobs that failed or have failures"
        yield Column("Failed", 6, said, self._failed_cell, is_right=True, is_derived=True)
        yield Column("Recent job", 10, "the job created last", self._recent_cell, is_id=True)

    def find_item(self, identity: str) -> JobScheduleRow | None:
        return self.session.schedule(identity)

    def _sign(self, schedule: JobScheduleRow) -> Span:
        if self._failed(schedule.schedule_id):
            return Span(self.session.glyphs.bad, Role.FAILED)
        return self.session.glyphs.span(JOB_SCHEDULE[schedule.state])

    def _failed_cell(self, schedule: JobScheduleRow) -> Span:
        failed = len(self._failed(schedule.schedule_id))
        return Span(f"{failed:,}", Role.FAILED if failed else Role.DERIVED)

    def _recent_cell(self, schedule: JobScheduleRow) -> Span | str:
        job, run = JOB[schedule.recent_job_state], schedule.recent_job.removeprefix(f"{schedule.schedule_id}:")
        return Span(f"{self.session.glyphs.of(job)} {run}", job.role) if run else ""

    def sentence(self, key: int) -> Line:
        schedule = self.row(key)
        recent = f", {schedule.recent_job} {JOB[schedule.recent_job_state].name}" if schedule.recent_job else ""
        missed = f", {schedule.missed:,} missed" if schedule.missed else ""
        failed = len(self._failed(schedule.schedule_id))
        failures = f", {failed:,} with failures" if failed else ""
        said = f"{schedule.schedule_id}, {JOB_SCHEDULE[schedule.state].name}{recent}{missed}{failures}"
        return line(Span(said, Role.DERIVED))

    def details(self, key: int) -> Sequence[Block]:
        schedule = self.row(key)
        body = {name: value for name, value in (self.wire(key) or {}).items() if name not in NOT_TOLD}
        specification = body["jobSpecification"]
        if schedule.record.pool_id:
            specification["poolInfo"] = {"poolId": schedule.record.pool_id, **specification["poolInfo"]}
        general, *parts = rest_blocks(self.session, body, ("schedule", "executionInfo"))
        return (
            general,
            block(
                "Jobs",
                row("Jobs created", f"{schedule.record.jobs_made:,}"),
                row("Not deleted", f"{schedule.jobs_left:,}"),
                row("Missed occurrences", f"{schedule.missed:,}", Role.DERIVED),
                row("With failures", ", ".join(self._failed(schedule.schedule_id)) or None, Role.FAILED),
                *(() if "jobManagerTask" in specification else (row("Job manager task", _NO_MANAGER),)),
            ),
            *self._latest(schedule.schedule_id),
            *self._missed(schedule.schedule_id),
            *parts,
        )

    def _failed(self, schedule_id: str) -> list[str]:
        """Return the ids of the schedule's jobs that failed or have failures."""
        attention = self.session.attention
        jobs = dict.fromkeys(job_id for one in attention.concerns() for job_id in one.items.jobs)
        return [each for each in jobs if each.rpartition(":")[0] == schedule_id and attention.has_failed(each)]

    def _latest(self, schedule_id: str) -> list[Block]:
        """Return the last jobs, the newest first, with their times and completed tasks; nothing before the first."""
        session, rows = self.session, []
        for job_id in latest_jobs(session.simulation, schedule_id, _MOST_JOBS):
            job = session.job(job_id)
            if job is not None:
                glyph, tasks = glyph_of_job(job), job.phases.tasks
                end_ms = job.record.end_ms
                until = "" if end_ms is None else f" {session.glyphs.arrow} {session.clock(end_ms)}"
                done = f"{tasks.succeeded + tasks.failed:,} of {tasks.total:,}"
                text = f"{session.glyphs.of(glyph)} {session.clock(job.record.created_ms)}{until}, {done}"
                rows.append((job_id.removeprefix(f"{schedule_id}:"), link(text, ItemRef("job", job_id), glyph.role)))
        return block_of("Latest jobs, and tasks completed", rows)

    def _missed(self, schedule_id: str) -> list[Block]:
        """Return the last occurrences that made no job, with the reason; nothing if there are none (JS-15)."""
        missed = missed_occurrences(self.session.simulation, schedule_id, _MOST_MISSED)
        clock = self.session.clock
        rows = (row(clock(each.when_ms), f"occurrence {each.occurrence:,}: {each.reason}") for each in missed)
        return block_of("Missed occurrences, newest first", rows)

    def empty(self) -> Sequence[str]:
        return (
            "There is no job schedule. Scenarios add them under jobSchedules.",
            "Press 4 for jobs without a schedule.",
            "ctrl+n creates a job schedule.",
        )


def _schedule_state(schedule: JobScheduleRow) -> Span:
    return Span(JOB_SCHEDULE[schedule.state].name, JOB_SCHEDULE[schedule.state].role)


def _interval(schedule: JobScheduleRow) -> str:
    return fmt.span(schedule.record.spec.schedule.recurrence_interval) or "once"


def _missed_cell(schedule: JobScheduleRow) -> Span:
    return Span(f"{schedule.missed:,}", Role.WARNING if schedule.missed else Role.DERIVED)
