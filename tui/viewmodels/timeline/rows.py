"""The base of all timeline rows: columns of time, heights, bars with names, order, cells and items.

Unless somebody zooms, the timeline shows all there is, in at least 80 % of the width. Few rows grow, many take a line
each. A bar that has room for its name shows it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar, Generic, NamedTuple, TypeVar

from rich.cells import cell_len

from engine.base.terms import JobState, TaskState
from engine.base.values import DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS
from engine.views.hook_status import HookStatus
from engine.views.log.reader import KeptByKey
from tui.viewmodels.glyphs import PREPARATION, RELEASE, TASK, Glyph
from tui.viewmodels.text import ItemRef, Role, squeeze

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from engine.views.log.lanes import JobStretch, Lanes
    from tui.viewmodels.session import Session
    from tui.viewmodels.text import Line


ValueT = TypeVar("ValueT")
_MOST_CACHED = 500  # rows


class TimeColumns(NamedTuple):
    """Columns of the timeline: each lasts ``step_ms``, and the first one begins ``first`` steps after the start."""

    first: int
    number: int
    step_ms: int

    def begin_ms(self, column: int) -> int:
        """Return the begin of a column, counted from the first one shown."""
        return (self.first + column) * self.step_ms

    def column_at(self, when_ms: int) -> int:
        """Return the column of a moment, counted from the first one shown. It may lie outside."""
        return when_ms // self.step_ms - self.first

    def place_of(self, when_ms: int) -> float:
        """Return the place of a moment in columns and parts of them, counted from the begin of the first one."""
        return when_ms / self.step_ms - self.first

    def begun(self, known_ms: int) -> int:
        """Return the number of columns that have begun at ``known_ms``."""
        return max(0, min(self.number, self.column_at(known_ms) + 1))


class Extent(NamedTuple):
    """The time that rows fill, in ms since the start. Nothing follows if it ``is_over``."""

    begin_ms: int
    end_ms: int
    is_over: bool

    def between(self, begin_ms: int, end_ms: int | None) -> Extent:
        """Return the part from one moment to another; without ``end_ms`` it goes on as this one does."""
        return self._replace(begin_ms=begin_ms) if end_ms is None else Extent(begin_ms, end_ms, is_over=True)


_AHEAD_SHARE = 0.1  # of the time so far, for what is planned

_UP_TO_EIGHT = (1, 1.25, 1.5, 1.75, 2, 2.5, 3, 3.5, 4, 5, 6, 7, 8)
_UP_TO_SIXTY = (*_UP_TO_EIGHT, 10, 12, 15, 18, 20, 25, 30, 36, 45, 50)
# The round durations of a column. Each is at most a quarter longer than the one before, so that at least 80 % of the
# columns are used.
ROUND_STEPS_MS = tuple(
    round(each * unit_ms)
    for unit_ms, numbers in (
        (SECOND_MS / 10, _UP_TO_EIGHT),
        (SECOND_MS, _UP_TO_SIXTY),
        (MINUTE_MS, _UP_TO_SIXTY),
        (HOUR_MS, (*_UP_TO_EIGHT, 10, 12, 15, 18, 20)),
        (DAY_MS, _UP_TO_SIXTY),
    )
    for each in numbers
)


def fitted(extent: Extent, cells: int) -> TimeColumns:
    """Return columns of a round duration that show the whole extent, with some room for what is planned after it."""
    span_ms = extent.end_ms - extent.begin_ms
    if not extent.is_over:
        span_ms = round(span_ms * (1 + _AHEAD_SHARE))
    for step_ms in ROUND_STEPS_MS:
        found = TimeColumns(extent.begin_ms // step_ms, cells, step_ms)
        if found.column_at(extent.begin_ms + span_ms) < cells:
            return found
    return found


_MOST_TRACK_LINES = 3
_MOST_BAND_LINES = 12  # of one curve


class Height(NamedTuple):
    """The lines of a row. Without ``track`` lines the row shows cells, not bars."""

    track: int  # lines of each track
    body: int
    gap: int  # empty lines after it

    @property
    def lines(self) -> int:
        """All lines of a row."""
        return self.body + self.gap


def height_of(rows: int, lines: int, tracks: int) -> Height:
    """Return the height of a row. Rows that are higher than a line all fit on the screen.

    Args:
        rows: The number of rows.
        lines: The lines that there are for them.
        tracks: The tracks of a row.
    """
    room = lines // max(1, rows)
    if tracks > max(1, room):
        body = max(1, min(room - 1, 2))
        return Height(0, body, int(room > body > 1))
    track = max(1, min(_MOST_TRACK_LINES, room // tracks))
    if track > 1 and room < track * tracks + 1:  # a gap tells rows apart better than one line more
        track -= 1
    body = track * tracks
    return Height(track, body, int(room > body > 1))


def band_lines(curves: int, left: int) -> int:
    """Return the lines of each curve of the pool band: one, and an equal share of the ``left`` lines that are free."""
    return min(_MOST_BAND_LINES, 1 + max(0, left) // max(1, curves))


_LEAST_NAME = 3  # cells: a shorter name says nothing
LEAST_CUT = 5  # cells of what is cut in the middle; of a name less shows only the end, which tells it apart


class Bar(NamedTuple):
    """Something that lasted: a task, an attempt, a phase. It goes on without ``end_ms``."""

    begin_ms: int
    end_ms: int | None
    glyph: Glyph  # fills the bar
    name: str
    notes: tuple[str, ...] = ()  # below the name, the first one beside it in a single line, where there is room
    ending: Glyph | None = None  # in the last cell
    is_id: bool = False  # the name may be cut in the middle
    short: str = ""  # in place of the name where that has no room


def name_in(bar: Bar, cells: int) -> str:
    """Return the name of a bar in at most so many cells; empty if they are too few for it."""
    if cells < _LEAST_NAME or cell_len(bar.name) != len(bar.name):  # wide letters would not stay put
        return ""
    if len(bar.name) <= cells or (bar.is_id and cells >= LEAST_CUT):
        return squeeze(bar.name, cells)
    if bar.is_id:
        return f"…{bar.name[1 - cells :]}"
    return bar.short if len(bar.short) <= cells else ""


NEVER_MS = 1 << 62  # sorts what has not begun last
NOTHING = Glyph(" ", " ", Role.PLAIN, "")
RUNNING = TASK[TaskState.RUNNING]
PREPARING = PREPARATION[HookStatus.RUNNING]
RETRYING = PREPARATION[HookStatus.RETRYING]
RELEASING = RELEASE[HookStatus.RUNNING]
FAILED = PREPARATION[HookStatus.FAILED]
SUCCEEDED = TASK[TaskState.COMPLETED]


class Openable(NamedTuple):
    """Something that can be opened: an item, or its row in the list of a view."""

    text: str
    subject: ItemRef
    view: str = ""


class TimelineRows(ABC):
    """Rows of one kind."""

    name: ClassVar[str]

    def __init__(self, session: Session, lanes: Lanes) -> None:
        """Start with the rows of a session whose log ``lanes`` reads."""
        self.session = session
        self.lanes = lanes

    @property
    def whose(self) -> str:
        """The pool or job that the rows belong to, by default the job in focus; empty for all jobs."""
        return self.session.job_id

    @abstractmethod
    def order(self, *, only_failed: bool) -> Sequence[int]:
        """Return the rows as they are now, or only those with a failure."""

    def extent(self) -> Extent:
        """Return the time that the rows fill."""
        return Extent(0, self.recorded_ms, self.session.is_past or self.session.simulation.finished)

    def tracks_wanted(self) -> int:
        """Return the number of bars that a row may have at the same time."""
        return 1

    def tracks(self, key: int, columns: TimeColumns) -> Sequence[Sequence[Bar]]:  # noqa: ARG002  # of some kinds
        """Return the bars of a row, those that overlap on different tracks. Without bars ``cells`` are all."""
        return ()

    def ground(self, key: int, columns: TimeColumns) -> list[Glyph]:
        """Return the cells behind the bars, up to the last one that is known."""
        return [NOTHING] * columns.begun(self.known_ms(key))

    @abstractmethod
    def label(self, key: int) -> str:
        """Return the name of a row."""

    def note(self, key: int) -> str:  # noqa: ARG002  # the label says all of most rows
        """Return a few words below the name of a row that has more lines than one."""
        return ""

    @abstractmethod
    def cells(self, key: int, columns: TimeColumns) -> list[Glyph]:
        """Return the glyph of each column, up to the last one that is known."""

    @abstractmethod
    def moment_ms(self, key: int, begin_ms: int, end_ms: int) -> int:
        """Return the moment of a cell: the begin of what it shows, if that lies within the cell."""

    @abstractmethod
    def description_at(self, key: int, when_ms: int) -> Line:
        """Return what a row did at a moment, in words."""

    @abstractmethod
    def subject(self, key: int) -> ItemRef:
        """Return the item that actions concern."""

    def item_to_explain(self, key: int, when_ms: int) -> ItemRef:  # noqa: ARG002  # most rows always have an item
        """Return the item to explain for a row at a moment."""
        return self.subject(key)

    def openables(self, key: int, when_ms: int) -> list[Openable]:  # noqa: ARG002  # only existing items have a row
        """Return what can be opened of a row at the present moment."""
        subject = self.subject(key)
        return [Openable(f"{subject.kind} {self.label(key)}", subject)]

    def planned_ms(self, key: int) -> int | None:  # noqa: ARG002  # jobs have no planned end
        """Return the planned end of what a row does now, or None."""
        return None

    @abstractmethod
    def estimated_ms(self, key: int) -> int | None:
        """Return the estimated end of a row, or None if there is no estimate."""

    @abstractmethod
    def is_over(self, key: int) -> bool:
        """Return True if nothing more can follow in a row."""

    def unread_from_ms(self, key: int) -> int | None:  # noqa: ARG002  # only rows of nodes are read in slices
        """Return when the first unread event of a row happened, in ms since the start; None if all are read."""
        return self.lanes.unread_from_ms()

    def is_read(self, key: int) -> bool:
        """Return True if the recorded part of a row has been read; read on otherwise."""
        return self.unread_from_ms(key) is None

    def recorded_of(self, keys: Sequence[int]) -> object:  # noqa: ARG002  # likewise
        """Return a value that differs when something else is recorded of these rows.

        None while the log is being read, and of most kinds of rows.
        """
        return None

    def ends_of(self, keys: Sequence[int], columns: TimeColumns) -> object:  # noqa: ARG002  # likewise
        """Return what decides, with what is recorded of these rows, on their cells and on what is drawn after them."""
        return None

    @property
    def recorded_ms(self) -> int:
        """The end of the recording, in ms since the start."""
        return max(self.lanes.recorded_ms, self.session.newest_ms)

    def known_ms(self, node: int | None = None) -> int:
        """Return how far the recording has been read, for a node's row or for all, in ms since the start."""
        unread_ms = self.lanes.unread_from_ms(node)
        return self.recorded_ms if unread_ms is None else unread_ms - 1


def filled(number: int, changes: Sequence[tuple[int, Glyph]]) -> list[Glyph]:
    """Return ``number`` cells. Each change gives the glyph from a column on; changes may lie outside."""
    cells: list[Glyph] = []
    for (column, glyph), (following, _) in pairwise([(0, NOTHING), *changes, (number, NOTHING)]):
        cells += [glyph] * (min(following, number) - max(column, len(cells)))
    return cells


def cut_to_job(extent: Extent, stretches: Sequence[JobStretch]) -> Extent:
    """Return the part of the time in which a job was there and not completed."""
    if not stretches:
        return extent
    last = stretches[-1]
    return extent.between(stretches[0].begin_ms, last.begin_ms if last.state in (None, JobState.COMPLETED) else None)


class ColumnCache(Generic[ValueT]):
    """Values by row and column of time. Those of columns that are over do not change, and are kept."""

    def __init__(self) -> None:
        self._rows: KeptByKey[tuple[int, list[ValueT]]] = KeptByKey()  # the first column, and the values from there on

    def get(
        self, sources: object, row: int, columns: TimeColumns, known_ms: int, value: Callable[[int], ValueT]
    ) -> list[ValueT]:
        """Return the value of each column that has begun at ``known_ms``; ``value`` counts them from the run's start.

        ``sources`` decide on the values beside row and column.
        """
        rows, stop = self._rows.at((sources, columns.step_ms)), columns.first + columns.begun(known_ms)
        if len(rows) > _MOST_CACHED:
            rows.clear()
        first, over = rows.get(row, (columns.first, []))
        if not first <= columns.first <= first + len(over):
            first, over = columns.first, []
        over += map(value, range(first + len(over), min(stop, known_ms // columns.step_ms)))
        rows[row] = first, over
        shown = over[columns.first - first : stop - first]
        return [*shown, *map(value, range(columns.first + len(shown), stop))]
