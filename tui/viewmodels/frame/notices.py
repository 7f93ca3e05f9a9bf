"""Notices while time passes: failures, one line for each cause, and the ends of phases."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, NamedTuple

from engine.base.terms import JobState
from engine.views.pages.instances import HookStatus

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.views.pages.events import EventRow
    from tui.viewmodels.session.session import Session

# At higher speeds only failures are reported.
CALM_SPEED = 60
_MOST_LOOKED_AT = 2_000  # failures of one notice: the newest are listed by cause, the others are counted
_MOST_CAUSES = 3
_MOST_NAMES = 3
_NOUNS = {
    "TaskStateChanged": "task",
    "SubtaskStateChanged": "subtask",
    "JobPreparationTaskStateChanged": "preparation",
    "JobReleaseTaskStateChanged": "release",
    "StartTaskStateChanged": "start task",
    "NodeStateChanged": "node",
    "JobStateChanged": "job ended",
    "PoolResizeComplete": "resize",
    "CertificateStateChanged": "certificate",
    "AutoScaleEvaluated": "formula",
    "CommandRefused": "command refused",
    "FaultInjected": "fault",
    "TaskScheduleFail": "task not scheduled",
    "JobScheduleOccurrenceMissed": "occurrence missed",
}


class Notice(NamedTuple):
    """A notification on the screen."""

    text: str
    is_failure: bool


class _Phases(NamedTuple):
    """The progress of the job in focus: running preparation, unfinished tasks, and its state."""

    job_id: str
    prepares: bool
    has_tasks: bool
    state: JobState | None


class Notices:
    """Reports the events since the last call."""

    def __init__(self, session: Session) -> None:
        """Start now: earlier events are not reported."""
        self._session = session
        self._from = 0
        self._jumps = -1
        self._counts: dict[str, int] = {}  # by cause: the failures so far
        self._phases: _Phases | None = None  # at the last call; None if playback was too fast
        self.skip()

    def skip(self) -> None:
        """Do not report what has happened so far."""
        self._from = self._session.events.count
        if self._jumps != self._session.simulation.jumps:
            self._counts.clear()
        self._jumps = self._session.simulation.jumps
        self._phases = self._phases_now()

    def take(self, speed: float | None) -> Notice | None:
        """Return the notice for the time since the last call. At high speed (None: maximum) only failures count."""
        if self._jumps != self._session.simulation.jumps:
            self.skip()
            return None
        events = self._session.events
        failures = events.failures()
        new = failures[bisect_left(failures, self._from) :]
        self._from = events.count
        is_calm = speed is not None and speed <= CALM_SPEED
        before, self._phases = self._phases, self._phases_now() if is_calm else None
        ends = [] if before is None or self._phases is None else self._ends(before, self._phases)
        lines = [*self._failed(new), *ends]
        return Notice(self._session.text("\n".join(lines)), bool(new)) if lines else None

    # -- failures ------------------------------------------------------------------------------------------------

    def _failed(self, new: Sequence[int]) -> list[str]:
        """Return the failures by cause, the most frequent first. A recurring cause is reported now and then."""
        events = self._session.events
        causes: dict[str, list[str]] = {}
        for index in new[-_MOST_LOOKED_AT:]:
            event = events.row(index)
            causes.setdefault(cause(event), []).append(_name(event))
        ordered = sorted(causes.items(), key=lambda pair: -len(pair[1]))
        told = [(why, names) for why, names in ordered if self._is_news(why, len(names))][:_MOST_CAUSES]
        lines = [f"{self._counts[why]:,} × {why} ({_some(names)})" for why, names in told]
        rest = len(new) - sum(len(names) for _, names in told)
        return [*lines, f"and {rest:,} more failures: press 9, then !"] if told and rest else lines

    def _is_news(self, why: str, more: int) -> bool:
        """Count failures of a cause. Return True the first time, and when their number has grown tenfold."""
        before = self._counts.get(why, 0)
        self._counts[why] = before + more
        return not before or len(str(before)) < len(str(before + more))

    # -- phases --------------------------------------------------------------------------------------------------

    def _phases_now(self) -> _Phases:
        job = self._session.job(self._session.job_id)
        if job is None:
            return _Phases("", False, False, None)
        preparation, tasks = job.phases.preparation, job.phases.tasks
        running = preparation[HookStatus.RUNNING] + preparation[HookStatus.RETRYING]
        return _Phases(job.job_id, running > 0, tasks.active + tasks.preparing + tasks.running > 0, job.state)

    def _ends(self, before: _Phases, now: _Phases) -> list[str]:
        """Return the phases of the job in focus that have ended since."""
        job = self._session.job(now.job_id)
        if job is None or now.job_id != before.job_id:
            return []
        preparation, tasks = job.phases.preparation, job.phases.tasks
        lines = []
        if before.prepares and not now.prepares and not preparation.without_record:
            done, failed = preparation[HookStatus.SUCCEEDED], preparation[HookStatus.FAILED]
            lines.append(f"Preparation of {now.job_id} is done: {done:,} succeeded, {failed:,} failed.")
        if before.has_tasks and not now.has_tasks:
            lines.append(f"Tasks of {now.job_id} are done: {tasks.succeeded:,} succeeded, {tasks.failed:,} failed.")
        if now.state is not before.state and now.state is JobState.TERMINATING:
            lines.append(f"{now.job_id} is terminating: {job.terminate_reason}.")
        if now.state is not before.state and now.state is JobState.COMPLETED:
            lines.append(f"{now.job_id} is completed: {job.terminate_reason}.")
        return lines


def cause(event: EventRow) -> str:
    """Return the cause of a failure, equal for all failures of the same kind."""
    fields, noun = event.fields, _NOUNS.get(event.event, event.event)
    failure = fields.get("failureInfo")
    if isinstance(failure, dict) and failure.get("code") != "FailureExitCode":
        return f"{noun}: {failure['code']}"
    if "exitCode" in fields:
        return f"{noun}: exit code {fields['exitCode']}"
    if "code" in fields:
        return f"{noun}: {fields['code']}"
    error = fields.get("error")
    if isinstance(error, dict):
        return f"{noun}: {error.get('code')}"
    if fields.get("resizeErrors"):
        return f"{noun}: {fields['resultCode']}"
    if event.event == "JobStateChanged":
        return f"{noun}: {fields.get('reason')}"
    said = fields.get("to") or fields.get("command")
    return f"{noun}: {said}" if said else noun


def _name(event: EventRow) -> str:
    if event.task_id is not None:
        return event.task_id
    if event.position is not None:
        return f"n{event.position}"
    return event.pool_id or event.job_id or event.schedule_id or str(event.fields.get("command", ""))


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:_MOST_NAMES]) + (" …" if len(names) > _MOST_NAMES else "")
