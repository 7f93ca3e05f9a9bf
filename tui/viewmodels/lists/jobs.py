"""The list of jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.views.explain.waits_for import job_waits_for
from engine.views.pages.hook_status import HookStatus
from engine.views.pages.jobs import job_ids
from tui.viewmodels.lists.columns import Column
from tui.viewmodels.lists.rows import NamedRowsModel
from tui.viewmodels.properties import job as blocks
from tui.viewmodels.properties.storage import job_transfers
from tui.viewmodels.text.blocks import Block
from tui.viewmodels.text.glyphs import STATES_OF_JOBS, glyph_of_job
from tui.viewmodels.text.styled import Line, Role, Span, bar, line, plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.views.pages.jobs import JobRow
    from engine.views.pages.phases import HookCounts, TaskCounts

_BAR_CELLS, _NUMBER_CELLS = 10, 8
_BAR_SIGNS = "━╍─=~- "


class JobsModel(NamedRowsModel["JobRow"]):
    """Jobs, oldest first. The cursor chooses the job in focus."""

    title = "Jobs"
    kind = "job"
    ids = staticmethod(job_ids)
    columns = (
        Column("", 1),
        Column("Job", 12, "the job's id", stretch=True, is_id=True),
        Column("State", 11, "the service's state; all states are listed below", words=STATES_OF_JOBS),
        Column(
            "Priority",
            8,
            "-1000 to 1000; higher priorities are scheduled first",
            from_width=76,
            is_right=True,
            is_common=True,
        ),
        Column("Pool", 12, "the pool's id", from_width=72, least=9, is_id=True, is_common=True),
        Column(
            "Preparation",
            12,
            "nodes on which it has run, of all on which it may; then the failures",
            is_whole=True,
            short="Prep",
        ),
        Column(
            "Tasks",
            28,
            "completed tasks (thick), running ones (dashed) and others, of all; then the failures",
            least=13,
            is_whole=True,
        ),
        Column(
            "Release",
            10,
            "nodes that have released, of all that owe it so far; then the failures",
            from_width=60,
            least=9,
        ),
        Column("End", 8, "when it was completed, or will be, which is derived", from_width=70, is_whole=True),
        Column("Started", 8, "when it started", is_extra=True, is_whole=True),
        Column(
            "Max parallel tasks", 18, "limit of its running tasks; empty without a limit", is_extra=True, is_right=True
        ),
        Column("On all tasks complete", 21, "what happens to the job when all tasks are completed", is_extra=True),
        Column("On task failure", 24, "what happens to the job when a task fails", is_extra=True),
        Column("Uses task dependencies", 22, "whether its tasks may depend on each other", is_extra=True),
        Column(
            "Allow task preemption", 21, "whether tasks of higher-priority jobs may preempt its tasks", is_extra=True
        ),
        Column("Termination reason", 22, "why the job was terminated", is_extra=True),
        Column("Previous state", 14, "the state before this one", is_extra=True),
        Column("Waiting for", 30, "what it waits for; w explains more", is_extra=True, is_derived=True),
    )
    help_text = (
        "Preparation and Release show the completed nodes of all, then the failures. "
        "Tasks shows the completed ones of all. Its bar has completed, running and other tasks. "
        "Waiting for is derived.\n"
        "The job under the cursor is in focus, also in other views. Enter opens its page."
    )

    def _find(self, identity: str) -> JobRow | None:
        return self.session.job(identity)

    def key_in_focus(self) -> int | None:
        job_id = self.session.job_id
        return self._ids.index(job_id) if job_id in self._ids else None

    def put_in_focus(self, key: int) -> None:
        if self._ids[key] != self.session.job_id:
            self.session.focus_job(self._ids[key])

    def cells(self, key: int) -> tuple[Span, ...]:
        job = self._row(key)
        glyph = glyph_of_job(job)
        tasks = job.phases.tasks
        return (
            self.session.glyphs.span(glyph),
            Span(job.job_id, Role.STRONG if job.job_id == self.session.job_id else Role.PLAIN),
            Span(glyph.name, glyph.role),
            Span(str(job.priority)),
            Span(job.pool_id),
            self._preparation(job.job_id),
            self._tasks(tasks),
            self._release(job.phases.release),
            self._end(job),
            Span(self.session.clock(job.created_ms)),
            Span(blocks.no_limit(job.max_parallel_tasks)),
            Span(job.on_all_tasks_complete),
            Span(job.spec.on_task_failure.value),
            Span(blocks.yes(job.spec.uses_task_dependencies)),
            Span(blocks.yes(job.is_preemptible)),
            Span(job.terminate_reason or ""),
            Span(job.previous.wire if job.previous is not None else ""),
            Span(job_waits_for(job, self.session.pool(job.pool_id)), Role.DERIVED),
        )

    def _tasks(self, counts: TaskCounts) -> Span:
        """Return the completed tasks of all, and a bar of completed, running and other ones; failures have a sign."""
        glyphs, total = self.session.glyphs, counts.total
        done, busy = counts.succeeded + counts.failed, counts.running + counts.preparing
        parts = [(done, Role.PLAIN, glyphs.meter), (busy, Role.PLAIN, glyphs.meter_running)]
        filled = plain(bar([*parts, (total - done - busy, Role.PLAIN, glyphs.meter_rest)], _BAR_CELLS))
        sign = f" {glyphs.bad}{counts.failed:,}" if counts.failed else ""
        numbers = f"{done:,} of {total:,}{sign}" if total else "none"
        return Span(f"{numbers:<{_NUMBER_CELLS}} {filled}".strip(), Role.FAILED if counts.failed else Role.PLAIN)

    def text_of(self, key: int, column: int) -> str:
        """Return the text of a cell, of tasks without the bar."""
        return super().text_of(key, column).rstrip(_BAR_SIGNS)

    def _end(self, job: JobRow) -> Span:
        """Return when the job was completed, else when it will be; nothing of one that stays active."""
        if job.end_ms is not None:
            return Span(self.session.clock(job.end_ms))
        coming = self.session.job_end(job.job_id)
        return Span("" if coming is None or coming.is_of_tasks else self.session.clock(coming.when_ms), Role.DERIVED)

    def _preparation(self, job_id: str) -> Span:
        """Return the counts that the strip of jobs has."""
        progress = self.session.progress(job_id)
        counts = None if progress is None else progress.preparation
        if counts is None:
            return Span("none", Role.DIM)
        return self._of_nodes(counts.done + counts.failed, counts.total, counts.failed)

    def _release(self, counts: HookCounts) -> Span:
        if not counts.is_specified:
            return Span("none", Role.DIM)
        return self._of_nodes(counts.ran, counts.due, counts[HookStatus.FAILED])

    def _of_nodes(self, ran: int, of: int, failed: int) -> Span:
        sign = f" {self.session.glyphs.bad}{failed:,}" if failed else ""
        return Span(f"{ran:,}/{of:,}{sign}", Role.FAILED if failed else Role.PLAIN)

    def sentence(self, key: int) -> Line:
        job = self._row(key)
        return line(
            Span(f"{job.job_id}, {glyph_of_job(job).name}, pool {job.pool_id}, priority {job.priority}", Role.DERIVED)
        )

    def details(self, key: int) -> Sequence[Block]:
        job, session = self._row(key), self.session
        return [
            blocks.general(session, job),
            blocks.constraints(job),
            *blocks.hooks(job, self.session.options),
            blocks.execution(session, job),
            *job_transfers(session, job.job_id),
        ]

    def empty(self) -> Sequence[str]:
        said = self.session.none_yet("job")
        return said if self.session.is_empty else (*said, "ctrl+n creates one.")
