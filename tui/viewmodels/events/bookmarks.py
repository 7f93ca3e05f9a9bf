"""Bookmarked moments, and runs kept when another one branches off, or something is done by hand."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, NamedTuple

from engine.views.log.tally import LogColumns, all_job_ids, node_prices_usd, recorded_columns
from engine.views.pages.expectations import broken_rows
from engine.views.results.document import given_by_hand
from tui.viewmodels.events.command_words import summed_up

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine import Simulation
    from engine.specs.command import Command
    from engine.views.pages.expectations import ExpectationRow
    from tui.viewmodels.session.session import Session

_MOST_RUNS = 4


class Recording(NamedTuple):
    """A run as far as it is recorded, and a moment of it. It stays what it was when the run goes on or is dropped."""

    name: str
    until_ms: int  # the moment to compare
    end_ms: int  # the last moment that is recorded
    is_whole: bool  # the recording ends where the run ends
    simulation: Simulation  # has the shapes of the log, which are never dropped
    columns: LogColumns
    jobs: tuple[str, ...]  # their ids by row number
    prices: Sequence[float]  # of an hour of each node, in US dollars
    by_hand: tuple[tuple[int, Command], ...]
    broken: tuple[ExpectationRow, ...]  # expectations, as far as the run is recorded

    def stop(self, when_ms: int) -> int:
        """Return the number of log entries up to a moment."""
        return bisect_right(self.columns.when, when_ms)


class Bookmarks:
    """The moments and runs that the user kept. They are not saved."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.moments_ms = session.bookmarked_ms
        self._runs: list[Recording] = []
        self._untouched: Recording | None = None

    def add(self) -> int:
        """Bookmark the present moment. Return the number of its bookmark, from 1."""
        now_ms = self._session.now_ms
        if now_ms not in self.moments_ms:
            self.moments_ms.append(now_ms)
        return self.moments_ms.index(now_ms) + 1

    def keep_untouched(self) -> None:
        """Keep the run to which nothing has been done by hand yet; the first action will change it."""
        if not given_by_hand(self._session.simulation):
            self._untouched = self._recording("the run without what was done by hand", self._session.newest_ms)

    def keep_run(self) -> None:
        """Keep the run, which a branch will drop."""
        session = self._session
        here = self._recording("", session.newest_ms)
        done = summed_up([command for _, command in here.by_hand])
        name = (
            f"the run before the branch at {session.clock(session.now_ms)}, {f'after: {done}' if done else 'untouched'}"
        )
        self._runs = [*self._runs, here._replace(name=name)][-_MOST_RUNS:]

    def here(self) -> Recording:
        """Return the run at the displayed moment."""
        return self._recording("this moment", self._session.now_ms)

    def others(self) -> list[Recording]:
        """Return what can be compared: bookmarks, the newest moment, and runs kept before an action or a branch."""
        session = self._session
        moments = [
            self._recording(f"bookmark {number}, {session.clock(when_ms)}", when_ms)
            for number, when_ms in enumerate(self.moments_ms, 1)
            if when_ms != session.now_ms and when_ms <= session.newest_ms
        ]
        if session.is_past:
            moments.append(self._recording("the newest moment", session.newest_ms))
        has_acted = bool(given_by_hand(session.simulation))
        untouched = [self._untouched] if has_acted and self._untouched is not None else []
        return [*moments, *untouched, *self._runs]

    def _recording(self, name: str, when_ms: int) -> Recording:
        """Return the run to its end if that is known, else as far as it has been played."""
        session = self._session
        by_hand = tuple(given_by_hand(session.simulation))
        future = session.ahead.future
        if future is not None:
            return _recorded(name, when_ms, future, future.now_ms, by_hand, is_whole=True)
        with session.at(session.newest_ms):
            here = session.simulation
            return _recorded(name, when_ms, here, session.now_ms, by_hand, is_whole=here.finished)


def _recorded(
    name: str,
    when_ms: int,
    simulation: Simulation,
    end_ms: int,
    by_hand: tuple[tuple[int, Command], ...],
    *,
    is_whole: bool,
) -> Recording:
    columns, jobs, prices = recorded_columns(simulation), all_job_ids(simulation), node_prices_usd(simulation)
    broken = tuple(broken_rows(simulation))
    return Recording(name, when_ms, end_ms, is_whole, simulation, columns, jobs, prices, by_hand, broken)
