"""The blade Events: what happened, newest last."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.views.pages.events import EventPage, EventRow
from tui import format as fmt
from tui.viewmodels.filters import parse_filter
from tui.viewmodels.lists import Block, Column, RowsModel, row
from tui.viewmodels.text import Line, Role, Span, line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tui.viewmodels.session import Session

# A filter looks at so many of the newest entries; there may be millions.
_FILTERED = 20_000

_KINDS = {
    "PoolStateChanged": "pool",
    "PoolAllocationStateChanged": "allocation",
    "NodeStateChanged": "node",
    "NodeSchedulingStateChanged": "scheduling",
    "JobStateChanged": "job",
    "JobScheduleStateChanged": "schedule",
    "TaskStateChanged": "task",
    "SubtaskStateChanged": "subtask",
    "StartTaskStateChanged": "start task",
    "JobPreparationTaskStateChanged": "preparation",
    "JobReleaseTaskStateChanged": "release",
    "PoolResizeStart": "resize",
    "PoolResizeComplete": "resize",
    "AutoScaleEvaluated": "autoscale",
    "TaskScheduleFail": "task",
    "CommandAccepted": "command",
    "CommandRefused": "refused",
    "FaultInjected": "fault",
}
_ROLES = {
    "preparation": Role.PREPARING,
    "release": Role.RELEASING,
    "command": Role.KEY,
    "refused": Role.FAILED,
    "fault": Role.FAILED,
}


class EventsModel(RowsModel):
    """The entries of the event log; tasks that were added together are one."""

    title = "Events"
    identity = 3
    columns = (
        Column("Time", 10),
        Column("Kind", 11),
        Column("Entity", 26, from_width=60),
        Column("What", 30, stretch=True),
        Column("Rule", 8, from_width=96),
    )
    help_text = (
        "Everything that happened, in order. ! shows failures only. A filter looks at the newest 20,000 entries.\n"
        "F follows the newest entry; moving up stops following."
    )

    def __init__(self, session: Session) -> None:
        """An empty list; rows come with ``refresh``."""
        super().__init__(session)
        self._page: EventPage = session.events

    def order(self) -> Sequence[int]:
        """The entries up to now, or only the failures among them."""
        return self._page.failures() if self.only_failed else range(self._page.count)

    def refresh(self) -> None:
        """Look at the log again."""
        rows = self.order()
        if terms := parse_filter(self.filter_text):
            looked_at = rows[-_FILTERED:]
            self._rows = self._keep(terms, looked_at)
        else:
            self._rows = rows
        self._hidden = len(rows) - len(self._rows)

    def index_of(self, key: int) -> int | None:
        """The place of an entry; None where it is not shown."""
        rows = self._rows
        return key if isinstance(rows, range) and key in rows else super().index_of(key)

    def is_failed(self, key: int) -> bool:
        """Whether an entry tells of a failure."""
        return self._page.row(key).is_failure

    def identity_of(self, key: int) -> str:
        """All that a word of a filter can match."""
        return " ".join(span.text for span in self.cells(key)[1:])

    def cells(self, key: int) -> tuple[Span, ...]:
        """Time, kind, whose event, what happened, rule."""
        event = self._page.row(key)
        kind = _KINDS.get(event.event, event.event)
        role = Role.FAILED if event.is_failure else _ROLES.get(kind, Role.PLAIN)
        return (
            Span(self.session.clock(event.t_ms), Role.DIM),
            Span(kind, role),
            Span(self.session.text(self._entity(event)), Role.PLAIN),
            Span(self.session.text(what(event)), Role.FAILED if event.is_failure else Role.PLAIN),
            Span(fmt.optional(event.fields.get("rule")), Role.DIM),
        )

    def one_line(self, key: int) -> Line:
        """An entry in one line, for the Watch view."""
        time, kind, entity, said, _ = self.cells(key)
        return line(time, " ", kind, " ", entity, " ", said)

    def _entity(self, event: EventRow) -> str:
        if event.tasks > 1:
            return f"{event.tasks:,} tasks of {event.job_id}"
        if event.task_id is not None:
            subtask = event.fields.get("subtaskId")
            return event.task_id if subtask is None else f"{event.task_id}, subtask {subtask}"
        if event.node_id is not None:
            return f"{event.job_id} on n{event.position}" if event.job_id is not None else f"n{event.position}"
        return event.job_id or event.pool_id or fmt.optional(event.fields.get("command"))

    def details(self, key: int) -> Sequence[Block]:
        """All fields of an entry."""
        event = self._page.row(key)
        subject = (
            ("Pool", event.pool_id),
            ("Node", event.node_id),
            ("Job", event.job_id),
            ("Task", event.task_id),
        )
        happened = [row(name, value) for name, value in subject if value is not None]
        general = Block(event.event, (row("Number", event.seq), row("Time", self.session.clock(event.t_ms)), *happened))
        return [general, Block("Fields", tuple(row(name, value) for name, value in event.fields.items()))]

    def arrangement(self) -> Line:
        """How the log is filtered, in words."""
        failed = "   only failures" if self.only_failed else ""
        hidden = f"   {self.hidden:,} hidden" if self.hidden else ""
        return line(Span(f"in order of time   filter: {self.filter_text or 'none'}{failed}{hidden}", Role.DIM))

    def empty(self) -> Sequence[str]:
        """Why nothing is there."""
        return ("Nothing has happened yet.", "Press space to let time go by, or . for one event.")


def what(event: EventRow) -> str:
    """What an event says beyond whose it is."""
    fields = event.fields
    words: list[str] = []
    if event.event in ("CommandAccepted", "FaultInjected"):
        body = fields.get("body")
        return " ".join(f"{name} {_short(value)}" for name, value in body.items()) if isinstance(body, dict) else ""
    if event.event in ("CommandRefused", "TaskScheduleFail"):
        return f"{fields.get('code')}: {fields.get('message', '')}"
    if event.event == "AutoScaleEvaluated":
        return _evaluation(fields)
    if "to" in fields:
        old, new = fields.get("from"), fields["to"]
        if new is None:
            words.append(f"{old} → gone" if old else "gone")
        else:
            words.append(f"{old} → {new}" if old else f"{new}")
    if event.task_id is not None and event.node_id is not None:
        words.append(f"on n{event.position}")
    if "exitCode" in fields and (fields["exitCode"] or fields.get("result") == "failure"):
        words.append(f"exit {fields['exitCode']}")
    failure = fields.get("failureInfo")
    if isinstance(failure, dict) and failure.get("code") != "FailureExitCode":
        words.append(str(failure.get("code")))
    attempt = fields.get("attempt")
    if isinstance(attempt, int) and attempt > 1:
        words.append(f"try {attempt}")
    if fields.get("reason"):
        words.append(str(fields["reason"]))
    if "targetDedicatedNodes" in fields:
        words.append(f"{fields.get('currentDedicatedNodes')} of {fields['targetDedicatedNodes']} dedicated")
    return " ".join(words)


def _evaluation(fields: dict[str, object]) -> str:
    error = fields.get("error")
    if isinstance(error, dict):
        said = f"{error['code']}: {error['values'][0]['value']}"
    else:
        said = ", ".join(
            f"{fields[f'current{name}Nodes']} → {fields[f'target{name}Nodes']} {kind}"
            for kind, name in (("dedicated", "Dedicated"), ("Spot", "LowPriority"))
        )
    return f"tried out: {said}" if "trial" in fields else said


def _short(value: object) -> str:
    if isinstance(value, dict | list):
        return "{…}" if isinstance(value, dict) else f"[{len(value)}]"
    return str(value)
