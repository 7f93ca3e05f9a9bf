"""The list of the Preparation tasks blade: one row for each node."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.specs.job import JobPreparationTask
from engine.views.log.node_history import trigger_of
from engine.views.pages.hook_status import Hook
from engine.views.pages.option_words import eligible_again
from tui.viewmodels.lists.columns import Column
from tui.viewmodels.lists.instances import EXTRA_COLUMNS, FIRST_COLUMNS, InstancesModel, settings_line
from tui.viewmodels.properties import instance as blocks
from tui.viewmodels.properties.job import no_limit, yes
from tui.viewmodels.text import format as fmt
from tui.viewmodels.text.styled import Line, Role, Span

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.specs.job import JobReleaseTask
    from engine.views.pages.instances import InstanceRow
    from tui.viewmodels.session.session import Session


class PreparationModel(InstancesModel):
    """The list of the Preparation tasks blade."""

    title = "Preparation tasks"
    hook = Hook.PREPARATION
    columns = (
        *FIRST_COLUMNS,
        Column("Retries", 7, "runs repeated after a failure", from_width=62),
        Column(
            "Duration",
            17,
            "end time minus start time, or time since the start",
            from_width=100,
            is_derived=True,
            is_whole=True,
        ),
        *EXTRA_COLUMNS,
        Column("Last retry time", 15, "when it was last retried", is_extra=True),
        Column(
            "Triggered by",
            18,
            "the task whose assignment started the preparation",
            is_extra=True,
            is_derived=True,
            is_id=True,
        ),
        Column(
            "Ineligible",
            14,
            "preparation failed: until when the node gets no task of the job",
            is_extra=True,
            is_derived=True,
        ),
    )

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._triggers: tuple[object, dict[int, int | None]] = (None, {})
        again = eligible_again(session.options)
        self.help_text = (
            "One row for each node that prepared, even if it has left.\n"
            "A node prepares before its first task of the job. If preparation fails, the node becomes ineligible: "
            f"it gets no task of this job until {again.until} ({again.rule}). Other jobs still use it.\n"
            "Duration, Runs, Triggered by and Ineligible are derived. A bar is full at the 95th percentile."
        )

    def _retries(self, count: int) -> tuple[Span, ...]:
        return (Span(str(count) if count else ""),)

    def _more(self, record: InstanceRow) -> tuple[Span, ...]:
        session = self.session
        task = self._trigger(record.node) if self.shows("Triggered by") else None
        return (
            Span(session.clock(record.last_retry_ms)),
            Span(session.tasks(session.job_id).id_of(task) if task is not None else "", Role.DERIVED),
            Span(blocks.short_until(session, session.job_id) if record.is_ineligible else "", Role.FAILED),
        )

    def _trigger(self, node: int) -> int | None:
        """Return the task that triggered the preparation, cached until the user goes back in time."""
        session = self.session
        asked = session.simulation.jumps, session.job_id
        if self._triggers[0] != asked:
            self._triggers = asked, {}
        found = self._triggers[1]
        if node not in found:
            found[node] = trigger_of(session.simulation, session.job_id, node)
        return found[node]

    def _settings(self, task: JobPreparationTask | JobReleaseTask) -> Line:
        assert isinstance(task, JobPreparationTask)
        limits = task.constraints
        return settings_line(
            ("wait for success", yes(task.wait_for_success)),
            ("rerun on node reboot", yes(task.rerun_on_node_reboot_after_success)),
            ("max retries", no_limit(limits.max_task_retry_count)),
            ("max wall-clock", fmt.span(limits.max_wall_clock_time) or "no limit"),
            ("retention", fmt.span(limits.retention_time) or "no limit"),
        )

    def empty(self) -> Sequence[str]:
        if not self.session.job_id:
            return self.session.none_yet("job")
        if self._page.definition() is None:
            return (
                f"Job {self.session.job_id} has no job preparation task.",
                "The service responds 409 JobPreparationTaskNotSpecified.",
            )
        return (
            "No node has prepared: no task has been assigned yet.",
            "A node prepares before its first task (PREP-3, PREP-4). w explains the wait.",
        )
