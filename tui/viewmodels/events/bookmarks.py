"""Bookmarked moments and runs, and their comparison with the displayed moment."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, NamedTuple

from engine.base.units import HOUR_MS
from engine.views.log.tally import (
    LogColumns,
    Measure,
    event_and_moment,
    first_difference,
    node_ms,
    recorded_columns,
    tally,
)
from tui.viewmodels.events.event_list import EventsModel
from tui.viewmodels.text.styled import Line, Role, Span, fit, line, wrapped

if TYPE_CHECKING:
    from tui.viewmodels.session.session import Session

_MOST_RUNS = 4
_LABEL_CELLS = 36
_NUMBER_CELLS = 14


class Recording(NamedTuple):
    """A run up to a moment."""

    name: str
    until_ms: int
    columns: LogColumns

    def stop(self) -> int:
        """Return the number of log entries up to the moment."""
        return bisect_right(self.columns.when, self.until_ms)


class Bookmarks:
    """The moments and runs that the user kept. They are not saved."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.moments_ms: list[int] = []
        self._runs: list[Recording] = []

    def add(self) -> int:
        """Bookmark the present moment. Return the number of its bookmark, from 1."""
        now_ms = self._session.now_ms
        if now_ms not in self.moments_ms:
            self.moments_ms.append(now_ms)
        return self.moments_ms.index(now_ms) + 1

    def keep_run(self) -> None:
        """Keep the recorded run, which a branch will drop."""
        session = self._session
        name = f"the previous run at {session.clock(session.now_ms)}"
        self._runs = [*self._runs, Recording(name, session.newest_ms, self._recorded())][-_MOST_RUNS:]

    def _recorded(self) -> LogColumns:
        return recorded_columns(self._session.simulation)

    def here(self) -> Recording:
        """Return the run up to the displayed moment."""
        return Recording("this moment", self._session.now_ms, self._recorded())

    def others(self) -> list[Recording]:
        """Return what can be compared: bookmarks, the newest moment, and runs kept before a branch."""
        session, columns = self._session, self._recorded()
        moments = [
            Recording(f"bookmark {number}, {session.clock(when_ms)}", when_ms, columns)
            for number, when_ms in enumerate(self.moments_ms, 1)
            if when_ms != session.now_ms and when_ms <= session.newest_ms
        ]
        if session.is_past:
            moments.append(Recording("the newest moment", session.newest_ms, columns))
        return [*moments, *self._runs]


def compare_lines(session: Session, one: Recording, other: Recording, cells: int) -> list[Line]:
    """Return a table of the results of both runs, and the event at which they diverge."""
    left, right = (tally(session.simulation, run.columns, 0, run.stop()) for run in (one, other))
    rows = [("up to", session.clock(one.until_ms), session.clock(other.until_ms))]
    for measure in Measure:
        counted = left.counts[measure], right.counts[measure]
        if any(counted):
            rows.append((measure.value, f"{counted[0]:,}", f"{counted[1]:,}"))
    for job in {**left.completed_ms, **right.completed_ms}:
        here, there = (session.clock(each.completed_ms.get(job)) or "not yet" for each in (left, right))
        rows.append((f"{job} completed", here, there))
    here, there = (f"{node_ms(session.simulation, run.columns, run.until_ms) / HOUR_MS:.2f}" for run in (one, other))
    rows.append(("node-hours", here, there))
    label_cells = min(_LABEL_CELLS, cells - 2 * _NUMBER_CELLS)
    lines = [line(Span(f"{one.name} beside {other.name}", Role.STRONG)), ()]
    for label, here, there in rows:
        role = Role.PLAIN if here == there else Role.KEY
        numbers = Span(fit(here, _NUMBER_CELLS, right=True) + fit(there, _NUMBER_CELLS, right=True), role)
        lines.append(line(Span(fit(label, label_cells), Role.DIM), numbers))
    return [*lines, (), *(line(each) for each in wrapped(_parting(session, one, other), cells))]


def _parting(session: Session, one: Recording, other: Recording) -> str:
    """Return the first event at which two runs diverge, in words."""
    at = first_difference(one.columns, other.columns)
    if at is None:
        return "Both are moments of the same run."
    _, here_ms = event_and_moment(session.simulation, one.columns, at)
    there, there_ms = event_and_moment(session.simulation, other.columns, at)
    said = f"They differ from {session.clock(min(here_ms, there_ms))}."
    if at < session.events.count:
        said += f" Here: {''.join(span.text for span in EventsModel(session).one_line(at))}."
    return f"{said} There: {there}."
