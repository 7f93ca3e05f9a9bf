"""Bookmarked moments and runs that were left, commands taken back, and the comparison of two moments or runs.

A run is kept when another one branches off, or something is done by hand. What is done by hand can be taken back and
done again: each is a way to another run, whose inputs differ, and a run that was left can be opened again. The
comparison has two columns with their difference, at the same moment and at both ends. As in ``batchdeck compare``, the
difference is that from the left column to the right one, and percent are of the left.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, NamedTuple

from engine.base.values import SECOND_MS
from engine.run.simulation import differing
from engine.studies.measures import LABELS, Row
from engine.studies.outcome import change_text, end_label, label, percent_text, value_text
from engine.views.diagnosis.expectations import broken_rows, newly_broken
from engine.views.log.tally import LogColumns, Measure, all_job_ids, hook_times, node_use, recorded_columns, tally
from engine.views.results import refused_codes
from tui.viewmodels import format as fmt
from tui.viewmodels.format import summed_up
from tui.viewmodels.text import Line, Role, Span, fit, line, squeeze, wrapped

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engine import Input, Simulation
    from engine.specs.command import Command
    from engine.views.diagnosis.expectations import ExpectationRow
    from engine.views.log.tally import NodeUse, Tally
    from tui.viewmodels.session import Session


_MOST_RUNS = 4


class LeftRun(NamedTuple):
    """A run that was left: its inputs given by hand, the moment that was shown, and how far it had come."""

    inputs: Sequence[Input]
    shown_ms: int
    newest_ms: int

    def is_in(self, inputs: Sequence[Input]) -> bool:
        """Return whether a run with these inputs given by hand has the same past at the moment that was shown."""
        return not any(one.when_ms <= self.shown_ms for side in differing(self.inputs, inputs) for one in side)


class TakingBack(NamedTuple):
    """The commands that are taken back together, and what else goes with them."""

    commands: Sequence[Command]
    to_ms: int  # the moment before them
    later: Sequence[Command]  # given by hand on this screen
    of_clients: Sequence[Command]

    def summary(self, session: Session) -> str:
        """Return what is taken back, and when it was done."""
        return f"{_summed_up(session, self.commands)}, at {session.clock(self.to_ms)}"

    def losses(self, session: Session) -> list[str]:
        """Return what else this undoes, a sentence each; empty if it is nothing, not even time."""
        back_ms = session.newest_ms - self.to_ms
        found = [f"Time goes back by {fmt.span(back_ms)}, to {session.clock(self.to_ms)}."] if back_ms > 1 else []
        if self.later:
            found.append(f"It undoes what was done later: {_summed_up(session, self.later)}.")
        if self.of_clients:
            found.append(f"It undoes what clients have done since: {_summed_up(session, self.of_clients)}.")
        return found


def _summed_up(session: Session, commands: Sequence[Command]) -> str:
    return summed_up(commands, refused_codes(session.simulation))


class Recording(NamedTuple):
    """A run as far as it is recorded, and a moment of it. It stays what it was when the run goes on or is dropped."""

    name: str
    until_ms: int  # the moment to compare
    end_ms: int  # the last moment that is recorded
    is_whole: bool  # the recording ends where the run ends
    simulation: Simulation  # has the shapes of the log, which are never dropped
    columns: LogColumns
    jobs: tuple[str, ...]  # their ids by row number
    nodes: NodeUse
    left: LeftRun
    refused: Mapping[int, str]  # the codes of those that were refused, by the identity of the command
    broken: tuple[ExpectationRow, ...]  # expectations, as far as the run is recorded

    def stop(self, when_ms: int) -> int:
        """Return the number of log entries up to a moment."""
        return bisect_right(self.columns.when, when_ms)


class Bookmarks:
    """The moments and runs that the user kept, and the runs that "do it again" goes back to. They are not saved."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.moments: list[LeftRun] = []  # that are bookmarked, each with the run that was the present one
        self.runs: list[Recording] = []  # that were left, oldest first
        self._untouched: Recording | None = None
        self._given: list[Command] = []  # on this screen: clients give commands too
        self._taken_back: list[LeftRun] = []
        self._focuses: list[tuple[str, str]] = []  # before each time that commands were given

    def add(self) -> int:
        """Bookmark the present moment. Return the number of its bookmark, from 1."""
        now_ms = self._session.now_ms
        for number, moment in enumerate(self.moments, 1):
            if moment.shown_ms == now_ms and self.is_here(moment):
                return number
        self.moments.append(LeftRun(self._session.simulation.by_hand, now_ms, self._session.newest_ms))
        self._session.bookmarked_ms.append(now_ms)
        return len(self.moments)

    def is_here(self, moment: LeftRun) -> bool:
        """Return whether a bookmarked moment is one of the present run."""
        return moment.is_in(self._session.simulation.by_hand)

    def run_of(self, moment: LeftRun) -> LeftRun:
        """Return the run in which a moment was bookmarked, as it was when it was left last if that is kept."""
        kept = self._kept_run_of(moment)
        return moment if kept is None else kept.left._replace(shown_ms=moment.shown_ms)

    def _kept_run_of(self, moment: LeftRun) -> Recording | None:
        """Return the run that was left last of those that have the past of a moment; None if none is kept."""
        return next((run for run in reversed(self.runs) if moment.is_in(run.left.inputs)), None)

    def note(self, commands: Sequence[Command]) -> None:
        """Note that these commands are about to be given; keep the run to which nothing has been done by hand yet."""
        if not self._session.simulation.by_hand:
            self._untouched = self._recording("the run without what was done by hand", self._session.newest_ms)
        self._given += commands
        self._focuses.append(self._session.focus)
        self._taken_back.clear()

    # -- taking back ---------------------------------------------------------------------------------------------

    def last(self) -> TakingBack | None:
        """Return what was given last on this screen up to the displayed moment; None without any."""
        session = self._session
        mine = {id(command) for command in self._given}
        inputs = session.simulation.by_hand
        when_ms = max((one.when_ms for one in inputs if self._is_done(one) and id(one.command) in mine), default=None)
        if when_ms is None:
            return None
        dropped = [one for one in inputs if one.when_ms >= when_ms]
        own = [one for one in dropped if id(one.command) in mine]
        return TakingBack(
            [one.command for one in own if one.when_ms == when_ms],
            when_ms - 1,
            [one.command for one in own if one.when_ms > when_ms],
            [one.command for one in dropped if id(one.command) not in mine],
        )

    def _is_done(self, one: Input) -> bool:
        return one.when_ms <= self._session.now_ms

    @property
    def taken_back(self) -> LeftRun | None:
        """The run that was left last by taking something back, None without any."""
        return self._taken_back[-1] if self._taken_back else None

    def lost_by_opening(self, run: LeftRun) -> list[str]:
        """Return what a way to this run undoes, a sentence each."""
        lost = [one.command for one in differing(self._session.simulation.by_hand, run.inputs)[0]]
        return [f"It undoes what was done since: {_summed_up(self._session, lost)}."] if lost else []

    def branch(self, shown_ms: int) -> int:
        """Make the displayed moment the present; keep the run that is left, in which ``shown_ms`` was shown last.

        Return the number of commands that this takes back.
        """
        session = self._session
        self.keep_run(shown_ms)
        taken_back = len(session.simulation.branch())
        if taken_back:
            self._taken_back.append(self.runs[-1].left)
        session.update()
        while self._focuses and not session.has_focus:  # what was created is no more
            session.focus = self._focuses.pop()
        self._forget_crossed()
        return taken_back

    def open(self, run: LeftRun) -> None:
        """Go on in a run that was left. The present one is kept, unless all that it has is in the other one too."""
        session = self._session
        self._taken_back = self._taken_back[: self._taken_back.index(run)] if run in self._taken_back else []
        self.runs = [each for each in self.runs if each.left.inputs != run.inputs]
        if differing(session.simulation.by_hand, run.inputs)[0]:
            self.keep_run(session.now_ms)
        session.simulation.give_instead(run.inputs, run.newest_ms)
        self._forget_crossed()

    def _forget_crossed(self) -> None:
        crossed, now_ms = self._session.crossed, self._session.now_ms
        crossed[:] = [stretch for stretch in crossed if stretch[1] <= now_ms]
        self._session.bookmarked_ms[:] = [moment.shown_ms for moment in self.moments if self.is_here(moment)]

    def keep_run(self, shown_ms: int) -> None:
        """Keep the run, which a branch will drop, and the moment that was shown last in it."""
        session = self._session
        here = self._recording("", session.newest_ms)
        done = summed_up([one.command for one in here.left.inputs], here.refused)
        when, after = session.clock(session.now_ms), f"after: {done}" if done else "untouched"
        name = f"the run before the branch at {when}, {after}"
        left = here.left._replace(shown_ms=shown_ms)
        self.runs = [*self.runs, here._replace(name=name, left=left)][-_MOST_RUNS:]

    # -- what can be compared ------------------------------------------------------------------------------------

    def here(self) -> Recording:
        """Return the run at the displayed moment."""
        return self._recording("this moment", self._session.now_ms)

    def others(self) -> list[Recording]:
        """Return what can be compared: bookmarks, the newest moment, and runs kept before an action or a branch."""
        session = self._session
        moments = []
        for number, moment in enumerate(self.moments, 1):
            name, when_ms = f"bookmark {number}, {session.clock(moment.shown_ms)}", moment.shown_ms
            if not self.is_here(moment):
                kept = self._kept_run_of(moment)
                moments += [] if kept is None else [kept._replace(name=name, until_ms=when_ms)]
            elif when_ms != session.now_ms and when_ms <= session.newest_ms:
                moments.append(self._recording(name, when_ms))
        if session.is_past:
            moments.append(self._recording("the newest moment", session.newest_ms))
        has_acted = bool(session.simulation.by_hand)
        untouched = [self._untouched] if has_acted and self._untouched is not None else []
        return [*moments, *untouched, *self.runs]

    def _recording(self, name: str, when_ms: int) -> Recording:
        """Return the run to its end if that is known, else as far as it has been played."""
        session = self._session
        left = LeftRun(session.simulation.by_hand, session.now_ms, session.newest_ms)

        def recorded(run: Simulation, end_ms: int, *, is_whole: bool) -> Recording:
            columns, jobs, nodes = recorded_columns(run), all_job_ids(run), node_use(run)
            broken = tuple(broken_rows(run))
            refused = refused_codes(session.simulation) | refused_codes(run)
            return Recording(name, when_ms, end_ms, is_whole, run, columns, jobs, nodes, left, refused, broken)

        future = session.ahead.future
        if future is not None:
            return recorded(future, future.now_ms, is_whole=True)
        with session.at(session.newest_ms):
            return recorded(session.simulation, session.now_ms, is_whole=session.simulation.finished)


_MOST_LABEL = 40
_WHOLE_FROM = 90  # cells; narrower screens are low, too
_LEAST_DIFFERENCE = 0.005  # half of what two decimals show
_MOST_BROKEN = 5  # expectations that are told


class _Widths(NamedTuple):
    """The cells of the columns: of each value, of the difference and of the percentage."""

    value: int
    difference: int
    percent: int

    def label(self, cells: int) -> int:
        """Return the cells that remain for the label."""
        return max(8, min(_MOST_LABEL, cells - 2 * self.value - self.difference - self.percent))


_NARROW, _WIDE = _Widths(12, 11, 10), _Widths(16, 14, 10)  # wide: a moment with its date has room, and a gap


class _Row(NamedTuple):
    """A line of the table: the label, both values as text, their difference as text and in percent."""

    label: str
    a: str
    b: str
    difference: str = ""
    percent: str = ""


def compare_lines(session: Session, one: Recording, other: Recording, cells: int) -> list[Line]:
    """Return the comparison of two runs at the same moment and at their ends, or of two moments of one run.

    ``one`` is the run that is shown, ``other`` an earlier run or another moment. What was first stands on the left.
    """
    parted = _parting(one, other)
    if parted is None:
        first, second = sorted((one, other), key=lambda moment: moment.until_ms)
        heads = (_moment(session, first), _moment(session, second))
        table = _table(session, first, first.until_ms, second, second.until_ms)
        return [*_heads(heads, cells), *_lines(table, cells), (), line("Both are moments of the same run.")]
    when_ms, here, there = parted
    texts = [
        f"The runs part at {session.clock(when_ms)}.",
        f"A: {_done('the earlier run', there)}.",
        f"B: {_done('this run', here)}.",
    ]
    lines = [line(each) for text in texts for each in wrapped(session.text(text), cells)]
    same_ms = min(one.until_ms, other.end_ms)
    is_behind = not other.is_whole and other.end_ms < one.until_ms
    if is_behind:
        text = f"A has not been played as far as {_moment(session, one)}: both are compared at its last moment."
        lines += [line(each) for each in wrapped(session.text(text), cells)]
    same: list[Line] = [(), *_heads(("A", "B"), cells, f"At {session.clock(same_ms)}, the same moment")]
    same += _changes(session, _table(session, other, same_ms, one, same_ms), cells)
    if is_behind:  # the rest would be of two moments: A at this one, and B later
        return [*lines, *same]
    ends = other.end_ms, one.end_ms
    heading = "At the end of each run" if one.is_whole and other.is_whole else "As far as each run was played"
    if one.is_whole and one.end_ms > session.newest_ms:
        heading += ", simulated"
    told = [*_broken_lines(session, "A", one, other, cells), *_broken_lines(session, "B", other, one, cells)]
    table = [_span_row(session, "until", *ends), *_table(session, other, ends[0], one, ends[1])]
    lines += [(), *told] if told else []
    return [*lines, (), *_heads(("A", "B"), cells, heading), *_changes(session, table, cells), *same]


def _broken_lines(session: Session, side: str, without: Recording, run: Recording, cells: int) -> list[Line]:
    """Return the expectations that only one side breaks."""
    broken = newly_broken(without.broken, run.broken)
    texts = [f"Only {side} breaks {row.text}." for row in broken[:_MOST_BROKEN]]
    if len(broken) > _MOST_BROKEN:
        texts.append(f"Only {side} breaks {len(broken) - _MOST_BROKEN:,} more.")
    return [line(Span(each, Role.FAILED)) for text in texts for each in wrapped(session.text(text), cells)]


def _moment(session: Session, run: Recording) -> str:
    return session.clock(run.until_ms)


def _done(run: str, commands: str) -> str:
    return f"{run}, after: {commands}" if commands else f"{run}, without further commands by hand"


def _parting(one: Recording, other: Recording) -> tuple[int, str, str] | None:
    """Return when two runs part, and what was done by hand in each from there on; None for moments of one run."""
    here, there = differing(one.left.inputs, other.left.inputs)
    if not here and not there:
        return None
    when_ms = min(each.when_ms for each in (*here[:1], *there[:1]))
    mine, others = [each.command for each in here], [each.command for each in there]
    return when_ms, summed_up(mine, one.refused), summed_up(others, other.refused)


# -- the table ---------------------------------------------------------------------------------------------------


def _table(session: Session, a: Recording, a_ms: int, b: Recording, b_ms: int) -> list[_Row]:
    """Return the ends of jobs, cost, node hours, and the counts and times that are not zero in both.

    Each side is as of its moment.
    """
    left, right = _tally(a, a_ms), _tally(b, b_ms)
    ended = {**left.completed_ms, **right.completed_ms}
    rows = [
        _span_row(session, end_label(job), left.completed_ms.get(job), right.completed_ms.get(job)) for job in ended
    ]
    costs = a.nodes.cost(a_ms), b.nodes.cost(b_ms)
    if any(costs):
        rows.append(_money_row(session, LABELS["costUsd"], *costs))
    rows.append(_number_row(LABELS["nodeHours"], a.nodes.hours(a_ms), b.nodes.hours(b_ms), decimals=2))
    counts = ((measure, left.counts[measure], right.counts[measure]) for measure in Measure)
    rows += [_number_row(measure.value, before, after) for measure, before, after in counts if before or after]
    return [*rows, *_time_rows(_times(a, a_ms), _times(b, b_ms))]


def _tally(run: Recording, until_ms: int) -> Tally:
    return tally(run.simulation, run.columns, 0, run.stop(until_ms), run.jobs)


def _times(run: Recording, until_ms: int) -> dict[str, float]:
    found = hook_times(run.simulation.log, run.columns, run.stop(until_ms))
    return {f"{name}Seconds": ms / SECOND_MS for name, ms in found._asdict().items()}


def _time_rows(a: dict[str, float], b: dict[str, float]) -> list[_Row]:
    """Return the times of preparation and release that are not zero in both, as ``batchdeck compare`` does."""
    found = [Row(name, a[name], b[name]) for name in a if a[name] or b[name]]
    return [
        _Row(
            label(one),
            value_text(one, one.a),
            value_text(one, one.b),
            change_text(one, one.difference) if one.difference else "",
            percent_text(one.percent),
        )
        for one in found
    ]


def _number_row(label: str, a: float, b: float, *, decimals: int = 0) -> _Row:
    texts = f"{a:,.{decimals}f}", f"{b:,.{decimals}f}"
    row = Row(label, a, b)
    if row.difference is None or abs(row.difference) < _LEAST_DIFFERENCE:
        return _Row(label, *texts)
    return _Row(label, *texts, f"{row.difference:+,.{decimals}f}", percent_text(row.percent))


def _money_row(session: Session, label: str, a: float, b: float) -> _Row:
    one, other, difference = fmt.compared_money(a, b, session.simulation.scenario.currency)
    return _Row(label, one, other, difference, percent_text(Row(label, a, b).percent) if difference else "")


def _span_row(session: Session, label: str, a_ms: int | None, b_ms: int | None) -> _Row:
    """Return a row of two moments; the percent are of the time since the start."""
    texts = session.clock(a_ms) or "not yet", session.clock(b_ms) or "not yet"
    row = Row(label, a_ms, b_ms)
    if not row.difference:
        return _Row(label, *texts)
    sign = "+" if row.difference > 0 else "-"
    return _Row(label, *texts, f"{sign}{fmt.span(abs(round(row.difference)))}", percent_text(row.percent))


def _heads(names: tuple[str, str], cells: int, heading: str = "") -> list[Line]:
    """Return the heads of the columns, beside a heading."""
    widths = _widths(cells)
    heads = [fit(name, widths.value, right=True) for name in names]
    heads += [fit("difference", widths.difference, right=True), fit("percent", widths.percent, right=True)]
    label_cells = widths.label(cells)
    above = [line(Span(heading, Role.STRONG))] if len(heading) > label_cells else []
    shown = "" if above else heading
    return [*above, line(Span(fit(shown, label_cells), Role.STRONG), Span("".join(heads), Role.DIM))]


def _lines(rows: list[_Row], cells: int) -> list[Line]:
    widths = _widths(cells)
    label_cells = widths.label(cells)
    lines: list[Line] = []
    for row in rows:
        role = Role.KEY if row.a != row.b else Role.PLAIN
        values = fit(row.a, widths.value, right=True) + fit(row.b, widths.value, right=True)
        change = fit(row.difference, widths.difference, right=True) + fit(row.percent, widths.percent, right=True)
        label = fit(squeeze(row.label, label_cells - 1), label_cells)
        lines.append(line(Span(label, Role.DIM), Span(values), Span(change, role)))
    return lines


def _changes(session: Session, rows: list[_Row], cells: int) -> list[Line]:
    """Return the rows; on a small screen only those that differ, and the names of the others."""
    if cells >= _WHOLE_FROM:
        return _lines(rows, cells)
    same = ", ".join(row.label for row in rows if row.a == row.b)
    names = wrapped(session.text(f"The same in both: {same}."), cells) if same else []
    return [*_lines([row for row in rows if row.a != row.b], cells), *(line(Span(each, Role.DIM)) for each in names)]


def _widths(cells: int) -> _Widths:
    return _WIDE if cells >= _WHOLE_FROM else _NARROW
