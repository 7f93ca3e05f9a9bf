"""The list of events, newest last; the views and rows that events lead to; the newest events as lines of Watch."""

from __future__ import annotations

import json
from array import array
from bisect import bisect_right
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len

from engine.base.values import read_table, shortened
from engine.views.log.reader import Kept
from engine.views.resources.events import EventPage, EventRow
from engine.views.resources.jobs import has_had_several_pools
from engine.views.rest.lookup import event_wire
from tui.viewmodels import format as fmt
from tui.viewmodels.format import described, refusal_values
from tui.viewmodels.items import KIND_IN, Destination, FileLocation, field_words, files_of_event
from tui.viewmodels.lists.columns import Column
from tui.viewmodels.lists.filters import EventFilter, parse_filter
from tui.viewmodels.lists.order import SlicedSort
from tui.viewmodels.lists.rows import AT_ONCE, RowsModel
from tui.viewmodels.text import Block, ItemRef, Line, Role, Span, block_of, fit, line, row, squeezed, width

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tui.viewmodels.session import Session


_HOOKS = {"JobPreparationTaskStateChanged": "preparation", "JobReleaseTaskStateChanged": "release"}
_MADE = {"createPool": "poolId", "createJob": "jobId", "createJobSchedule": "jobScheduleId"}


def _to_item(view: str, identity: str) -> Destination:
    """Return the destination of an event about a job, pool or job schedule; a schedule is not put in focus."""
    return Destination(view, identity, None if view == "schedules" else ItemRef(KIND_IN[view], identity))


def destination_of(event: EventRow) -> Destination | None:
    """Return the destination of an event, or None. That of a command is what its body names."""
    if event.task is not None:
        return Destination("tasks", event.task, ItemRef("job", str(event.job_id)))
    if event.node is not None:
        if event.event in _HOOKS:
            return Destination(_HOOKS[event.event], event.node, ItemRef("job", str(event.job_id)))
        return Destination("nodes", event.node, ItemRef("pool", str(event.pool_id)))
    named = {"jobs": event.job_id, "schedules": event.schedule_id, "pools": event.pool_id}
    body, command = event.fields.get("body"), str(event.fields.get("command"))
    if not any(named.values()) and isinstance(body, dict):
        body = {_MADE[command]: body["id"]} if command in _MADE else body
        named = {"jobs": body.get("jobId"), "schedules": body.get("jobScheduleId"), "pools": body.get("poolId")}
        if "node" in body and "poolId" in body:
            return Destination("nodes", None, ItemRef("pool", str(body["poolId"])))
    return next((_to_item(view, str(identity)) for view, identity in named.items() if identity), None)


MOST_NEW = 10_000  # entries that a filter judges at once
PIECE = 2000  # entries that are judged together, in less than a millisecond if their ids are known

_KINDS = dict(read_table("events.csv", __file__))
_ROLES = {
    "preparation": Role.PREPARING,
    "release": Role.RELEASING,
    "command": Role.KEY,
    "refused": Role.FAILED,
    "fault": Role.FAILED,
}


class EventsModel(RowsModel):
    """The entries of the event log. Tasks that were added together are one row."""

    title = "Events"
    identity = 2
    at_once = AT_ONCE
    only_order = "Events stand in the order of time."
    columns = (
        Column("Time", 10, "when it happened"),
        Column("Kind", 11, "the kind of event"),
        Column("Event", 30, "what happened; a filter also finds its name in the log", stretch=True, least=28),
        Column("Entity", 24, "the pool, node, job or task of the event", least=10, is_id=True),
        Column("Job", 12, "the job of a task or a node, once there are several", from_width=70, least=9, is_id=True),
        Column("Rule", 8, "the rule behind the event; K shows its text", from_width=96),
    )
    help_text = fmt.help_on("Events")

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._page: EventPage = session.events
        self.is_by_hand = False
        self._filters: Kept[EventFilter] = Kept()
        self._searched: tuple[object, int] = (None, 0)  # for what, and how many entries of ``order``

    def extra_columns(self) -> Iterator[Column[Any]]:
        yield Column("Exit code", 9, "exit code of the process that ended", is_right=True)

    def order(self) -> Sequence[int]:
        """Return the entries up to now: all, those of the user's own commands, or failures."""
        if self.is_by_hand:
            return self._page.by_hand()
        if self.only_failed:
            return self._page.failures()
        return range(self._page.count)

    def _about_words(self) -> Iterator[str]:
        yield from ()  # a word is looked for in all columns

    def update(self) -> None:
        """Read the log again. A filter judges each entry once."""
        rows = self.order()
        if self.is_by_hand or not self.filter_text:
            self._searched = None, 0
            if self.filter_text:
                super().update()  # the user's commands are few, and are judged as they are shown: as script lines
            else:
                self._shown.show(rows)
            return
        session, simulation = self.session, self.session.simulation
        words = session.time_format, session.glyphs.ascii_only, has_had_several_pools(simulation)  # they name nodes
        wanted = (self.filter_text, self.only_failed, simulation.jumps, *words)
        judge = self._filters.get(
            wanted, lambda: EventFilter(session, parse_filter(self.filter_text), self.column_names, self._texts)
        )

        def start() -> SlicedSort:
            known, searched = (self._shown.rows, self._searched[1]) if self._searched[0] == wanted else ((), 0)
            self._searched = wanted, len(rows)
            search = SlicedSort(rows[searched:], judge.keep, None, is_descending=False, piece=PIECE)
            search.early.extend(known)
            return search

        def amend(shown: Sequence[int]) -> Sequence[int] | None:
            new = rows[self._searched[1] :]
            if len(new) > MOST_NEW:
                return None
            self._searched = wanted, len(rows)
            found = judge.keep(new)
            if isinstance(shown, array):
                shown.extend(found)
                return shown
            return array("q", found)

        self._shown.sort_rows(wanted, None, self.moment(), start, self.at_once, amend=amend, total=len(rows))

    def index_of(self, key: int) -> int | None:
        rows = self._shown.rows
        if isinstance(rows, range):
            return key if key in rows else None
        at = bisect_right(rows, key) - 1  # rows are in order
        return at if at >= 0 and rows[at] == key else None

    def _keep_failed(self, rows: Sequence[int]) -> Sequence[int]:
        return rows  # ``order`` returns failures only

    def is_failed(self, key: int) -> bool:
        return self._page.row(key).is_failure

    def identity_of(self, key: int) -> str:
        """Return the texts of an event's cells but the time."""
        return " ".join(span.text for span in self.cells(key)[1:])

    def names_of(self, keys: Sequence[int], word: str) -> Sequence[str]:  # noqa: ARG002  # in all texts of an event
        return [f"{self._page.row(key).event} {self.identity_of(key)}" for key in keys]

    def texts_of(self, keys: Sequence[int], column: int) -> Sequence[str]:
        """Return the texts by which a column is filtered: those of what happened have the event's name as well."""
        texts = super().texts_of(keys, column)
        if column != self.identity:
            return texts
        return [f"{self._page.row(key).event} {text}" for key, text in zip(keys, texts, strict=True)]

    def cells(self, key: int) -> tuple[Span, ...]:
        event = self._page.row(key)
        kind, said, entity, job, rule, exit_code = self._texts(event)
        time, is_failure = Span(self.session.clock(event.t_ms), Role.DIM), event.is_failure
        script = self._page.script_line(key) if self.is_by_hand else None
        return (
            time,
            Span(kind, Role.FAILED if is_failure else _ROLES.get(kind, Role.PLAIN)),
            Span(said if script is None else self.session.text(script), Role.FAILED if is_failure else Role.PLAIN),
            Span(entity, Role.PLAIN),
            Span(job, Role.DIM),
            Span(rule, Role.DIM),
            Span(exit_code),
        )

    def _texts(self, event: EventRow) -> tuple[str, ...]:
        """Return the texts of an event in all columns but the time."""
        is_part = event.task_id is not None or event.node_id is not None  # of a job, which else is the entity
        return (
            _KINDS.get(event.event, event.event),
            self.session.text(described(event)),
            self.session.text(self._entity(event)),
            event.job_id or "" if is_part else "",
            fmt.optional(event.fields.get("rule")),
            fmt.optional(event.fields.get("exitCode")),
        )

    def wire(self, key: int) -> dict[str, Any] | None:
        """Return an entry as a line of the event log."""
        return event_wire(self.session.simulation, key)

    def sentence(self, key: int) -> Line:
        """Return an entry in words, for screens without room for its details."""
        return line(*self.cells(key)[2:3])

    def _entity(self, event: EventRow) -> str:
        if event.tasks > 1:
            return f"{event.tasks:,} tasks"
        if event.task_id is not None:
            subtask = event.fields.get("subtaskId")
            return event.task_id if subtask is None else f"{event.task_id}, subtask {subtask}"
        if event.node_id is not None:
            in_pool = f"{event.pool_id}/" if has_had_several_pools(self.session.simulation) else ""
            return f"{in_pool}n{event.position}"
        named = event.job_id or event.schedule_id or event.pool_id
        return named or _named(event)

    def shown_names(self) -> frozenset[str]:
        """Return the columns that are shown; that of the job only once there are several."""
        names = super().shown_names()
        return names if self.chosen_columns is not None or self.session.has_several_jobs else names - {"Job"}

    def destination(self, key: int) -> Destination | None:
        """Return the destination of an entry, or None."""
        return destination_of(self._page.row(key))

    def files_of(self, key: int) -> FileLocation | str:
        return files_of_event(self.session, self._page.row(key))

    def subject_of(self, key: int) -> ItemRef | None:
        """Return the item of an entry if it belongs to the job and pool in focus."""
        event = self._page.row(key)
        if event.task is not None:
            return ItemRef("task", event.task) if event.job_id == self.session.job_id else None
        if event.node is not None:
            return ItemRef("node", event.node) if event.pool_id == self.session.pool_id else None
        place = destination_of(event)
        kind = None if place is None else KIND_IN.get(place.view)
        return None if place is None or kind is None or place.row is None else ItemRef(kind, place.row)

    def details(self, key: int) -> Sequence[Block]:
        """Return the fields of an entry."""
        event = self._page.row(key)
        subject = (("Pool", event.pool_id), ("Node", event.node_id), ("Job", event.job_id), ("Task", event.task_id))
        happened = [row(name, value) for name, value in subject if value is not None]
        general = Block(event.event, (row("Number", event.seq), row("Time", self.session.clock(event.t_ms)), *happened))
        values = refusal_values(event.fields)
        shown = {name: value for name, value in event.fields.items() if not (values and name == "values")}
        fields = Block("Fields", tuple(row(name, _json(value)) for name, value in shown.items()))
        why = block_of("Refused", (row(field_words(name), value) for name, value in values.items()))
        script = self._page.script_line(key)
        return [general, *why, fields, *([] if script is None else [Block("Script line", (row("", script),))])]

    def arrangement(self) -> Line:
        if self.is_by_hand:
            return line(Span("your commands as script lines   R saves them as a scenario", Role.DIM))
        failed = "   only failures" if self.only_failed else ""
        hidden = f"   {self.hidden:,} hidden" if self.hidden else ""
        hidden += f"   {self._shown.progress:.0%} searched" if self.is_sorting else ""
        more = self._page.lines - self._page.count
        hidden += f"   {more:,} more in the log, of tasks added together" if more else ""
        return line(Span(f"in order of time   filter: {self.filter_text or 'none'}{failed}{hidden}", Role.DIM))

    def empty(self) -> Sequence[str]:
        if self.is_by_hand:
            return ("You have not given any commands.", "a in another view acts on the item under the cursor.")
        if self.only_failed and self.session.simulation.log:
            return ("No event tells of a failure.", "! shows all.")
        return self.session.none_yet("event")


def _named(event: EventRow) -> str:
    """Return the item that a command names, as short as possible."""
    body = event.fields.get("body")
    if not isinstance(body, dict):
        return ""
    if "node" in body:
        return f"n{body['node']}"
    return next(
        (shortened(str(body[name])) for name in ("taskId", "jobId", "jobScheduleId", "poolId", "id") if name in body),
        "",
    )


def _json(value: object) -> object:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list | bool) else value


_WITH_KINDS = 70  # cells of a line in which what happened has a column of its own


def brief_lines(model: EventsModel, keys: Iterable[int], cells: int) -> list[Line]:
    """Return a line of at most ``cells`` for each event: time, kind, what happened, and at the right the ids.

    The job is named once there are several. Ids are cut only where they take more than a third of the line. Where not
    all has room, only the new one of two states is named.
    """
    rows = [model.cells(key)[:5] for key in keys]
    times, kinds = (max((cell_len(row[at].text) for row in rows), default=0) for at in range(2))
    found = []
    for time, kind, said, entity, job in rows:
        names = [entity.text, job.text] if model.session.has_several_jobs and job.text else [entity.text]
        word = f" {fit(kind.text, kinds) if cells >= _WITH_KINDS else kind.text} "
        room = cells - times - cell_len(word) - sum(map(cell_len, names)) - len(names)
        told = said if cell_len(said.text) <= room else _new_state(said)
        left = cells - times - cell_len(word)  # for what happened, a blank, and the ids
        first, *others = squeezed(names, max(cells // 3, left - cell_len(told.text) - 1) - len(names) + 1)
        ids = line(f" {first}", *(Span(f" {each}", Role.DIM) for each in others))
        told = told._replace(text=fit(told.text, max(0, left - width(ids))))
        found.append((time._replace(text=fit(time.text, times, right=True)), kind._replace(text=word), told, *ids))
    return found


def _new_state(said: Span) -> Span:
    """Return what happened without the state before it."""
    old, arrow, new = said.text.partition(" → ")
    return said._replace(text=f"→ {new}") if arrow and old.isalpha() else said
