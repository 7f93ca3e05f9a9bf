"""News while time passes that the present view does not show: failures by cause, and the ends of phases."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, NamedTuple

from engine.base.terms import JobState
from engine.views.pages.hook_status import HookStatus
from tui.viewmodels.text import format as fmt

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.views.pages.events import EventRow
    from tui.viewmodels.session.session import Session

# At higher speeds only failures are reported.
CALM_SPEED = 60
_MOST_LOOKED_AT = 2_000  # failures of one notice: the newest are listed by cause, the others are counted
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
_EVERYTHING = frozenset({"*"})
# The nouns of the failures, and the phases, that a view shows anyway.
_SHOWN_BY: dict[str, frozenset[str]] = {
    "watch": _EVERYTHING,
    "events": _EVERYTHING,
    "pools": frozenset({"resize", "formula"}),
    "nodes": frozenset({"node", "start task"}),
    "jobs": frozenset({"preparation ends", "tasks end", "job"}),
    "tasks": frozenset({"task", "subtask", "task not scheduled", "tasks end"}),
    "preparation": frozenset({"preparation", "preparation ends"}),
    "release": frozenset({"release"}),
    "schedules": frozenset({"occurrence missed"}),
}


class Notice(NamedTuple):
    """News for the message line."""

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

    def take(self, speed: float | None, view: str = "") -> Notice | None:
        """Return the news since the last call that the view does not show.

        At high speed (``speed`` None: maximum) only failures are news.
        """
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
        shown = _SHOWN_BY.get(view, frozenset())
        if shown is _EVERYTHING:
            self._count(new)
            return None
        failed = self._failed(new, shown)
        news = [*failed, *(text for phase, text in ends if phase not in shown)]
        return Notice(self._session.text("; ".join(news)), bool(failed)) if news else None

    # -- failures ------------------------------------------------------------------------------------------------

    def _count(self, new: Sequence[int]) -> dict[str, list[str]]:
        """Count the failures by cause. Return the causes that are news, each with its names, the most frequent first.

        A cause is news the first time, and when the number of its failures has grown tenfold.
        """
        events = self._session.events
        causes: dict[str, list[str]] = {}
        for index in new[-_MOST_LOOKED_AT:]:
            event = events.row(index)
            causes.setdefault(cause(event), []).append(_name(event))
        ordered = sorted(causes.items(), key=lambda pair: -len(pair[1]))
        return {why: names for why, names in ordered if self._is_news(why, len(names))}

    def _failed(self, new: Sequence[int], shown: frozenset[str]) -> list[str]:
        """Return the most frequent cause that is news and not ``shown``, and the number of the other failures."""
        news = {why: names for why, names in self._count(new).items() if why.partition(":")[0] not in shown}
        if not news:
            return []
        why, names = next(iter(news.items()))
        rest = sum(map(len, news.values())) - len(names)
        more = [f"{fmt.counted(rest, 'other failure')}: press 9, then !"] if rest else []
        return [f"{self._counts[why]:,} × {why} ({_some(names)})", *more]

    def _is_news(self, why: str, more: int) -> bool:
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

    def _ends(self, before: _Phases, now: _Phases) -> list[tuple[str, str]]:
        """Return the phases of the job in focus that have ended since, each with a sentence."""
        job = self._session.job(now.job_id)
        if job is None or now.job_id != before.job_id:
            return []
        preparation, tasks = job.phases.preparation, job.phases.tasks
        ends = []
        if before.prepares and not now.prepares and not preparation.without_record:
            done, failed = preparation[HookStatus.SUCCEEDED], preparation[HookStatus.FAILED]
            said = f"Preparation of {now.job_id} is done: {done:,} succeeded, {failed:,} failed"
            ends.append(("preparation ends", said))
        if before.has_tasks and not now.has_tasks:
            said = f"Tasks of {now.job_id} are done: {tasks.succeeded:,} succeeded, {tasks.failed:,} failed"
            ends.append(("tasks end", said))
        if now.state is not before.state and now.state in (JobState.TERMINATING, JobState.COMPLETED):
            ends.append(("job", f"{now.job_id} is {now.state.wire}: {job.terminate_reason}"))
        return ends


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
