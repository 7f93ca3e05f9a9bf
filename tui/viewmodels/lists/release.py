"""The list of the Release tasks blade: one row for each node."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.terms import JobState
from engine.specs.job import JobReleaseTask
from engine.views.pages.hook_status import Hook, HookStatus
from engine.views.pages.option_words import is_released_after_preparation, released_where
from tui.viewmodels.lists.columns import Column
from tui.viewmodels.lists.instances import EXTRA_COLUMNS, FIRST_COLUMNS, InstancesModel, settings_line
from tui.viewmodels.properties import instance as blocks
from tui.viewmodels.text import format as fmt
from tui.viewmodels.text.styled import Line, Role, Span

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.specs.job import JobPreparationTask
    from tui.viewmodels.session.session import Session


class ReleaseModel(InstancesModel):
    """The list of the Release tasks blade."""

    title = "Release tasks"
    hook = Hook.RELEASE
    columns = (
        *FIRST_COLUMNS,
        Column(
            "Duration",
            17,
            "end time minus start time, or time since the start",
            from_width=90,
            is_derived=True,
            is_whole=True,
        ),
        *EXTRA_COLUMNS,
    )

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        where = released_where(session.options)
        self.help_text = (
            "One row for each node on which the job's release task ran.\n"
            f"It runs at the job's end, on nodes where {where} (REL-3). It is not retried. "
            "Its failure does not affect the job. v also shows the nodes without a record."
        )

    def _settings(self, task: JobPreparationTask | JobReleaseTask) -> Line:
        assert isinstance(task, JobReleaseTask)
        words = f"runs where {released_where(self.session.options)} (REL-3, REL-4)"
        limits = settings_line(
            ("max wall-clock", fmt.span(task.max_wall_clock_time) or "no limit"),
            ("retention", fmt.span(task.retention_time) or "no limit"),
        )
        return (*limits, Span(words, Role.DERIVED))

    def _awaited(self) -> tuple[Span, ...]:
        is_ending = self._page.job_state in (JobState.TERMINATING, JobState.DELETING)
        if not is_ending or not self._page.counts().get(HookStatus.WILL_RUN):
            return ()
        return (Span(f"{blocks.awaited(self.session, self._page)}   ", Role.DIM),)

    def empty(self) -> Sequence[str]:
        if not self.session.job_id:
            return self.session.none_yet("job")
        if self._page.definition() is None:
            return (f"Job {self.session.job_id} has no job release task.",)
        if self._page.job_state in (JobState.COMPLETED, JobState.TERMINATING, JobState.DELETING):
            is_wide = is_released_after_preparation(self.session.options)
            why = "no preparation was started" if is_wide else "no task ran after preparation"
            return (f"Nothing to release: {why} (REL-3).",)
        owed = self._page.counts().get(HookStatus.WILL_RUN, 0)
        if not owed:
            return ("Release tasks run when the job ends.", "At present no node would run it. a terminates the job.")
        nodes = "1 node would run it." if owed == 1 else f"{owed:,} nodes would run it."
        return ("Release tasks run when the job ends.", f"At present {nodes} v shows them, a terminates the job.")
