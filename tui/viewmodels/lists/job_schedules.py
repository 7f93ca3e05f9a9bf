"""The list of job schedules, with the recent job and the next run of each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.views.pages.job_schedules import latest_jobs, missed_occurrences, schedule_ids
from tui.viewmodels.lists.columns import Column
from tui.viewmodels.lists.rows import NamedRowsModel
from tui.viewmodels.text import format as fmt
from tui.viewmodels.text.blocks import Block, block_of, row
from tui.viewmodels.text.glyphs import JOB, JOB_SCHEDULE, STATES_OF_SCHEDULES, glyph_of_job
from tui.viewmodels.text.styled import ItemRef, Line, Role, Span, line, link

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from engine.specs.job import JobSpecification
    from engine.views.pages.job_schedules import JobScheduleRow


_MOST_JOBS, _MOST_MISSED = 8, 5  # jobs and occurrences that the details list


class JobSchedulesModel(NamedRowsModel["JobScheduleRow"]):
    """Job schedules, oldest first."""

    title = "Job schedules"
    kind = "job schedule"
    ids = staticmethod(schedule_ids)
    columns = (
        Column("", 1),
        Column("Job schedule", 16, "the schedule's id", stretch=True, is_id=True),
        Column("State", 11, "only an active schedule creates jobs", words=STATES_OF_SCHEDULES),
        Column("Interval", 11, "how often the schedule creates a job", from_width=90),
        Column("Next run", 14, "when the next job is due", is_whole=True),
        Column("Jobs", 4, "number of jobs created", is_right=True),
        Column(
            "Missed",
            6,
            "occurrences that made no job, for instance because the previous job was still active",
            is_right=True,
            is_derived=True,
        ),
        Column("Failed", 6, "jobs that failed or have failures", is_right=True, is_derived=True),
        Column("Recent job", 10, "the job created last", is_id=True),
    )
    help_text = (
        "A schedule has one active job at a time. While it is active, the next occurrence waits.\n"
        "After the start window the occurrence is missed. w explains the present state.\n"
        "Enter puts the recent job in focus and opens the Watch view."
    )

    def _find(self, identity: str) -> JobScheduleRow | None:
        return self.session.schedule(identity)

    def recent_job(self, key: int) -> str:
        """Return the id of the job that the schedule created last; empty before the first."""
        return self._row(key).recent_job

    def cells(self, key: int) -> tuple[Span, ...]:
        schedule = self._row(key)
        failed = len(self._failed(schedule.schedule_id))
        glyph = JOB_SCHEDULE[schedule.state]
        job = JOB[schedule.recent_job_state]
        run = schedule.recent_job.removeprefix(f"{schedule.schedule_id}:")
        return (
            self.session.glyphs.span(glyph) if not failed else Span(self.session.glyphs.bad, Role.FAILED),
            Span(schedule.schedule_id),
            Span(glyph.name, glyph.role),
            Span(fmt.span(schedule.spec.schedule.recurrence_interval) or "once"),
            Span(self.session.clock(schedule.next_run_ms)),
            Span(f"{schedule.jobs_made:,}"),
            Span(f"{schedule.missed:,}", Role.WARNING if schedule.missed else Role.DERIVED),
            Span(f"{failed:,}", Role.FAILED if failed else Role.DERIVED),
            Span(f"{self.session.glyphs.of(job)} {run}", job.role) if run else Span(""),
        )

    def sentence(self, key: int) -> Line:
        schedule = self._row(key)
        recent = f", {schedule.recent_job} {JOB[schedule.recent_job_state].name}" if schedule.recent_job else ""
        missed = f", {schedule.missed:,} missed" if schedule.missed else ""
        failed = len(self._failed(schedule.schedule_id))
        failures = f", {failed:,} with failures" if failed else ""
        said = f"{schedule.schedule_id}, {JOB_SCHEDULE[schedule.state].name}{recent}{missed}{failures}"
        return line(Span(said, Role.DERIVED))

    def details(self, key: int) -> Sequence[Block]:
        schedule = self._row(key)
        glyph, timing = JOB_SCHEDULE[schedule.state], schedule.spec.schedule
        return (
            Block(
                "General",
                (
                    row("ID", schedule.schedule_id),
                    row("Display name", schedule.spec.display_name),
                    row("State", glyph.name, glyph.role),
                    row("Since", self.session.clock(schedule.since_ms)),
                    row("Previous state", schedule.previous.wire if schedule.previous is not None else None),
                    row("Created", self.session.clock(schedule.created_ms)),
                ),
            ),
            Block(
                "Schedule",
                (
                    row("Do not run until", _moment(timing.do_not_run_until)),
                    row("Do not run after", _moment(timing.do_not_run_after)),
                    row("Start window", fmt.span(timing.start_window) or "no limit"),
                    row("Recurrence interval", fmt.span(timing.recurrence_interval) or "none: one job"),
                ),
            ),
            Block(
                "Jobs",
                (
                    row("Jobs created", f"{schedule.jobs_made:,}"),
                    row("Not deleted", f"{schedule.jobs_left:,}"),
                    row("Missed occurrences", f"{schedule.missed:,}", Role.DERIVED),
                    row("With failures", ", ".join(self._failed(schedule.schedule_id)) or None, Role.FAILED),
                ),
            ),
            *self._latest(schedule.schedule_id),
            *self._missed(schedule.schedule_id),
            _specification(schedule.spec.job_specification, schedule.pool_id),
            Block(
                "Execution information",
                (
                    row("Next run time", self.session.clock(schedule.next_run_ms)),
                    row("Recent job", schedule.recent_job),
                    row("End time", self.session.clock(schedule.end_ms)),
                ),
            ),
        )

    def _failed(self, schedule_id: str) -> list[str]:
        """Return the ids of the schedule's jobs that failed or have failures."""
        failures = [one for one in self.session.attention.concerns() if one.is_failure]
        jobs = dict.fromkeys(job_id for one in failures for job_id in one.jobs)
        return [job_id for job_id in jobs if job_id.rpartition(":")[0] == schedule_id]

    def _latest(self, schedule_id: str) -> list[Block]:
        """Return the last jobs, the newest first, with their times and completed tasks; nothing before the first."""
        session, rows = self.session, []
        for job_id in latest_jobs(session.simulation, schedule_id, _MOST_JOBS):
            job = session.job(job_id)
            if job is not None:
                glyph, tasks = glyph_of_job(job), job.phases.tasks
                until = f" {session.glyphs.arrow} {session.clock(job.end_ms)}" if job.end_ms is not None else ""
                done = f"{tasks.succeeded + tasks.failed:,} of {tasks.total:,}"
                text = f"{session.glyphs.of(glyph)} {session.clock(job.created_ms)}{until}, {done}"
                rows.append((job_id.removeprefix(f"{schedule_id}:"), link(text, ItemRef("job", job_id), glyph.role)))
        return block_of("Latest jobs, and tasks completed", rows)

    def _missed(self, schedule_id: str) -> list[Block]:
        """Return the last occurrences that made no job, with the reason; nothing if there are none (JS-15)."""
        missed = missed_occurrences(self.session.simulation, schedule_id, _MOST_MISSED)
        times = [
            (f"{self.session.clock(each.when_ms)}", f"occurrence {each.occurrence:,}: {each.reason}") for each in missed
        ]
        return [Block("Missed occurrences, newest first", tuple(row(*each) for each in times))] if times else []

    def empty(self) -> Sequence[str]:
        return (
            "There is no job schedule. Scenarios add them under jobSchedules.",
            "Press 4 for jobs without a schedule.",
            "ctrl+n creates a job schedule.",
        )


def _moment(moment: datetime | None) -> str:
    """Return date and time of day, with seconds only if they are not zero."""
    return "" if moment is None else f"{moment:%Y-%m-%d %H:%M:%S}".removesuffix(":00")


def _specification(job: JobSpecification, pool_id: str) -> Block:
    """Return what the schedule's jobs consist of, and their job manager task (JM-3)."""
    auto_pool = job.pool_info.auto_pool_specification
    pool = job.pool_info.pool_id if auto_pool is None else f"one for each {auto_pool.pool_lifetime_option.value}"
    manager = job.job_manager_task
    return Block(
        "Job specification",
        (
            row("Priority", job.priority),
            row("Pool", f"{pool}: {pool_id}" if pool_id else pool),
            row("Job manager task", "none: tasks must be added by others" if manager is None else manager.command_line),
            row(
                "Preparation task", None if job.job_preparation_task is None else job.job_preparation_task.command_line
            ),
            row("Release task", None if job.job_release_task is None else job.job_release_task.command_line),
            row("On all tasks complete", job.on_all_tasks_complete.value),
        ),
    )
