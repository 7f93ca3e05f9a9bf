"""Job schedules: occurrences that made no job, and jobs that nobody gives tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.terms import JobScheduleState
from engine.rules.job_schedules import missed
from engine.views.attention.concern import Concern, Severity, some
from engine.views.log.reader import LogReader, of_kind
from engine.views.pages.job_schedules import is_loss

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engine import Simulation
    from engine.state.job_schedules import JobSchedule


class ScheduleConcerns:
    """Concerns about all job schedules, completed ones too. Each entry of the log is read once."""

    def __init__(self, simulation: Simulation) -> None:
        """Begin with nothing read."""
        self._simulation = simulation
        self._losses = LogReader(simulation, of_kind(is_loss))

    def concerns(self) -> list[Concern]:
        """Return the occurrences that made no job, of deleted schedules too, and schedules whose jobs get no tasks."""
        return [concern for each in self._simulation.world.job_schedules.rows for concern in self._of(each)]

    def _of(self, schedule: JobSchedule) -> Iterator[Concern]:
        spec = schedule.spec
        is_active = schedule.state is JobScheduleState.ACTIVE
        if is_active and spec.job_specification.job_manager_task is None and spec.schedule.recurrence_interval:
            text = f"job schedule {schedule.id}: its jobs have no job manager task"
            effect = "others must add their tasks and end them (JM-3)"
            since_ms, names = schedule.created_ms, (schedule.id,)
            yield Concern("job schedule", Severity.NOTICE, text, since_ms, effect, schedules=names)
        if schedule.missed_ms is not None:
            yield self._missed(schedule, schedule.missed_ms)

    def _missed(self, schedule: JobSchedule, when_ms: int) -> Concern:
        """Return the occurrences that made no job (JS-15), with the reason of the last one."""
        count = missed(self._simulation.world, schedule, self._simulation.now_ms)
        last = ", the last one" if count > 1 else ""
        text = (
            f"job schedule {schedule.id}: {some(count, 'occurrence')} missed{last}: {self._last_reason(schedule.row)}"
        )
        effect = f"no job was created{' for them' if count > 1 else ''}"
        return Concern("job schedule", Severity.SHORTAGE, text, when_ms, effect, schedules=(schedule.id,))

    def _last_reason(self, row: int) -> str:
        log = self._simulation.log
        at = next(at for at in reversed(self._losses.entries()) if log.row_a[at] == row)
        return str(dict(log.shapes[log.shape_of[at]].fields)["reason"])
