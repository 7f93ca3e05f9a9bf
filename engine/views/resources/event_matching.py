"""Entries of the log found by their texts, of which there may be millions: few of these texts are made.

An entry's texts are those of its shape, with the ids of its subject in them. So marks take the place of the ids in the
texts of each shape once. A text in which nothing was marked is judged once for the shape; any other is judged once for
each task, node, job, pool or job schedule.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from functools import cache, partial
from itertools import compress
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from engine.base.log import LogSubject
from engine.base.values import equals, picked, tally, values
from engine.views.log.reader import kinds_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from engine import Simulation
    from engine.state.jobs import Job, JobSchedule
    from engine.state.pools import Pool
    from engine.views.resources.events import EventPage, EventRow
    from engine.world import World

    Texts = Callable[[EventRow], Sequence[str]]
    Judge = Callable[[Sequence[str]], Sequence[bool]]


# Plans of shapes: their entries fail, pass, stand for themselves, or it is not known yet.
_NO, _YES, _EACH, _UNREAD = 0, 1, 2, 255
_MOST_PLANS = 250  # beyond them entries stand for themselves
_TASK, _JOB, _POSITION, _NODE, _POOL, _SCHEDULE = map(chr, range(0xE000, 0xE006))  # marks, which occur in no id


@dataclass(frozen=True, slots=True, eq=False)
class _Source:
    """A table whose ids are in texts: the fields of an event's row with their marks, and the ids of many rows."""

    marks: dict[str, Any]
    count: Callable[[World], int]
    ids: dict[str, Callable[[World, Sequence[int]], Sequence[str]]]  # by mark


_TASKS = _Source(
    {"task": 0, "task_id": _TASK, "job_id": _JOB},
    lambda world: world.tasks.length,
    {
        _TASK: lambda world, tasks: world.tasks.task_ids(tasks),
        _JOB: lambda world, tasks: world.tasks.texts_of(
            tasks, lambda block, ordinals: [world.jobs[block.job].id] * len(ordinals)
        ),
    },
)
_NODES = _Source(
    {"node": 0, "node_id": _NODE, "position": _POSITION, "pool_id": _POOL},
    lambda world: world.nodes.length,
    {
        _NODE: lambda world, nodes: [world.nodes[node].id for node in nodes],
        _POSITION: lambda world, nodes: [str(world.nodes[node].position) for node in nodes],
        _POOL: lambda world, nodes: [world.pools[world.nodes[node].pool].id for node in nodes],
    },
)


def _named(field: str, mark: str, rows_of: Callable[[World], Sequence[Job | JobSchedule | Pool]]) -> _Source:
    """Return the source of a table of which only the ids are in texts."""

    def ids(world: World, numbers: Sequence[int]) -> list[str]:
        rows = rows_of(world)
        return [rows[number].id for number in numbers]

    return _Source({field: mark}, lambda world: len(rows_of(world)), {mark: ids})


_JOBS = _named("job_id", _JOB, lambda world: world.jobs.rows)
_POOLS = _named("pool_id", _POOL, lambda world: world.pools.rows)
_SCHEDULES = _named("schedule_id", _SCHEDULE, lambda world: world.job_schedules.rows)


class _Sources(NamedTuple):
    """The sources of an entry's two row numbers, and the one of them, 0 or 1, that not all entries of a shape have."""

    of_rows: tuple[_Source | None, _Source | None]
    optional: int | None = None


# Entries of other subjects have texts of their own.
_SOURCES = {
    LogSubject.RUN: _Sources((None, None)),
    LogSubject.POOL: _Sources((_POOLS, None)),
    LogSubject.NODE: _Sources((None, _NODES)),
    LogSubject.JOB: _Sources((_JOBS, None)),
    LogSubject.TASK: _Sources((_TASKS, _NODES), 1),
    LogSubject.INSTANCE: _Sources((_JOBS, _NODES), 0),
    LogSubject.SCHEDULE: _Sources((_SCHEDULES, None)),
}


class _Verdicts:
    """Judgements of texts that differ by the rows of one source; each row is judged once."""

    _UNKNOWN, _FAILS, _PASSES = 0, 1, 2

    def __init__(
        self, world: World, source: _Source, templates: Sequence[str], without: Sequence[str], judge: Judge
    ) -> None:
        """Judge texts with marks: a row passes if one of its texts does.

        ``without`` has the texts of entries that have no row.
        """
        self._world = world
        self._source = source
        self._templates = templates
        self._judge = judge
        self._known = bytearray(1)  # the last item is that of the number -1: there is no row
        self._known[-1] = self._PASSES if any(judge(without)) else self._FAILS

    @property
    def can_pass(self) -> bool:
        """False once all rows have been judged, and none passes."""
        missing = self._source.count(self._world) + 1 - len(self._known)
        if missing > 0:
            self._known[-1:-1] = bytes(missing)
        return self._UNKNOWN in self._known or self._PASSES in self._known

    def of(self, numbers: Sequence[int]) -> bytes:
        """Return 1 for each row that passes, and 0 for the others; empty if none does."""
        found = bytes(picked(self._known, numbers))
        if self._UNKNOWN in found:
            self._judge_rows(list(compress(numbers, found.translate(equals(self._UNKNOWN)))))
            found = bytes(picked(self._known, numbers))
        return found.translate(equals(self._PASSES)) if self._PASSES in found else b""

    def _judge_rows(self, rows: Sequence[int]) -> None:
        known, fails, passes = self._known, self._FAILS, self._PASSES
        for row in rows:
            known[row] = fails
        for template in self._templates:
            texts = self._texts(template, rows)
            if texts[0] == texts[-1]:  # such as the ids of jobs, which many share
                judged = list(dict.fromkeys(texts))
                passed = set(compress(judged, self._judge(judged)))
                found = compress(rows, map(passed.__contains__, texts)) if passed else iter(())
            else:
                found = compress(rows, self._judge(texts))
            for row in found:
                known[row] = passes

    def _texts(self, template: str, rows: Sequence[int]) -> Sequence[str]:
        """Return a text with the ids of each of the rows in it."""
        texts: Sequence[str] = [template] * len(rows)
        for mark, ids_of in self._source.ids.items():
            if mark == template:
                return ids_of(self._world, rows)
            if mark in template:
                found = ids_of(self._world, rows)
                texts = [text.replace(mark, each) for text, each in zip(texts, found, strict=True)]
        return texts


_Plan = list[tuple[int, _Verdicts]]  # for each column of row numbers by which texts differ: 0 or 1, and its verdicts


class EventMatcher:
    """Finds the entries of which a text passes a test. It holds until time goes back."""

    def __init__(self, simulation: Simulation, page: EventPage, texts: Texts, judge: Judge) -> None:
        """Create a matcher that has judged nothing yet.

        Args:
            simulation: The run.
            page: Its events.
            texts: Makes the texts of an event's row that are judged.
            judge: Says of many texts which ones pass.
        """
        self._simulation = simulation
        self._page = page
        self._texts = texts
        self._judge = judge
        self._plan_of = bytearray()  # by shape
        self._plans: dict[int, _Plan] = {}
        # Verdicts on texts, which shapes with the same texts share.
        self._verdicts = cache(partial(_Verdicts, simulation.world, judge=judge))

    def flags(self, entries: Sequence[int]) -> bytes:
        """Return 1 for each of some entries of which a text passes, and 0 for the others."""
        log = self._simulation.log
        plans = self._plans_of(entries)
        found = bytearray(plans.translate(equals(_YES)))
        for number in tally(plans):
            if number in (_NO, _YES):
                continue
            is_planned = plans.translate(equals(number))
            if number == _EACH:
                for at in compress(range(len(entries)), is_planned):
                    found[at] = any(self._judge(self._texts(self._page.row(entries[at]))))
                continue
            for column, verdicts in self._plans[number]:
                if verdicts.can_pass:
                    rows = _values((log.row_a, log.row_b)[column], entries)
                    passes = verdicts.of(list(compress(rows, is_planned)))
                    for at in compress(compress(range(len(entries)), is_planned), passes):
                        found[at] = True
        return bytes(found)

    def _plans_of(self, entries: Sequence[int]) -> bytes:
        """Return the plan of each entry; those of shapes that have not been met are made."""
        log, by_number = self._simulation.log, self._plan_of
        by_number.extend(bytes([_UNREAD]) * (len(log.shapes) - len(by_number)))
        shapes = _values(log.shape_of, entries)
        plans = kinds_of(by_number, shapes)
        if _UNREAD in plans:
            for shape, entry in dict(zip(shapes, entries, strict=True)).items():
                if by_number[shape] == _UNREAD:
                    by_number[shape] = self._plan(entry)
            plans = kinds_of(by_number, shapes)
        return plans

    def _plan(self, entry: int) -> int:
        """Return the number of the plan for entries of the same shape as this one."""
        log, row = self._simulation.log, self._page.row(entry)
        sources = _SOURCES.get(log.shapes[log.shape_of[entry]].subject)
        if sources is None:
            return _EACH
        texts = dict.fromkeys(self._texts(_marked(row, sources.of_rows)))
        absent = dict.fromkeys(() if sources.optional is None else self._texts(_without(row, sources)))
        shared: list[str] = []  # texts that all entries of the shape have
        by_column: tuple[list[str], list[str]] = ([], [])  # and those that depend on a row number
        for text in texts:
            columns = [
                column
                for column, source in enumerate(sources.of_rows)
                if source is not None and any(mark in text for mark in source.ids)
            ]
            if not columns and sources.optional is not None and text not in absent:
                columns = [sources.optional]
            if len(columns) > 1:
                return _EACH
            (by_column[columns[0]] if columns else shared).append(text)
        if any(self._judge(shared)):
            return _YES
        plan = []
        for column, found in enumerate(by_column):
            without = [text for text in absent if text not in texts] if column == sources.optional else []
            if found or without:
                plan.append((column, self._verdicts(sources.of_rows[column], tuple(found), tuple(without))))
        return self._number_of(plan)

    def _number_of(self, plan: _Plan) -> int:
        """Return the number of a plan, which is added if it is new."""
        if not plan:
            return _NO
        known = next((number for number, each in self._plans.items() if each == plan), None)
        if known is not None:
            return known
        if len(self._plans) == _MOST_PLANS:
            return _EACH
        number = _EACH + 1 + len(self._plans)
        self._plans[number] = plan
        return number


def _values(column: array[int], entries: Sequence[int]) -> array[int]:
    """Return the values of a column in these entries, which are in ascending order."""
    found = values(column, entries)
    return found if isinstance(found, array) else array(column.typecode, found)


def _marked(row: EventRow, sources: Sequence[_Source | None]) -> EventRow:
    """Return a row in which marks stand for all ids, however many of them the row has."""
    for source in sources:
        if source is not None:
            row = row._replace(**source.marks)
    return row


def _without(row: EventRow, sources: _Sources) -> EventRow:
    """Return a marked row of an entry that lacks its optional row number."""
    absent = sources.of_rows[sources.optional or 0]
    assert absent is not None
    blank = row._replace(**cast("dict[str, Any]", dict.fromkeys(absent.marks)))
    return _marked(blank, [source for source in sources.of_rows if source is not absent])
