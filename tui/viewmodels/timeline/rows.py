"""The base of all timeline rows: their order, their cells in each column of time, and their items."""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import Enum
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from engine.base.terms import JobState, TaskState
from engine.views.pages.hook_status import HookStatus
from tui.viewmodels.text.glyphs import PREPARATION, RELEASE, TASK, Glyph
from tui.viewmodels.text.styled import ItemRef, Role
from tui.viewmodels.timeline.columns import Extent, TimeColumns

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from engine.views.lanes.lanes import JobStretch, Lanes
    from engine.views.pages.instances import InstancePage
    from engine.views.pages.nodes import NodePage
    from tui.viewmodels.session.session import Session
    from tui.viewmodels.text.styled import ItemRef, Line
    from tui.viewmodels.timeline.bars import Bar

NEVER_MS = 1 << 62  # sorts what has not begun last
NOTHING = Glyph(" ", " ", Role.PLAIN, "")
RUNNING = TASK[TaskState.RUNNING]
PREPARING = PREPARATION[HookStatus.RUNNING]
RETRYING = PREPARATION[HookStatus.RETRYING]
RELEASING = RELEASE[HookStatus.RUNNING]
FAILED = PREPARATION[HookStatus.FAILED]
SUCCEEDED = TASK[TaskState.COMPLETED]


class Sort(Enum):
    """The criteria that rows can be sorted by."""

    NUMBER = "number"
    FIRST_START = "first start"
    BUSY = "busy share"
    TROUBLE = "failures"


class Openable(NamedTuple):
    """Something that can be opened: an item, or its row in the list of a view."""

    text: str
    subject: ItemRef
    view: str = ""


class TimelineRows(ABC):
    """Rows of one kind."""

    name: ClassVar[str]
    sorts: ClassVar[tuple[Sort, ...]]
    view: ClassVar[str] = "timeline"  # the view whose explanations ``w`` shows

    def __init__(self, session: Session, lanes: Lanes) -> None:
        """Start with the rows of a session whose log ``lanes`` reads."""
        self.session = session
        self.lanes = lanes

    @property
    @abstractmethod
    def legend(self) -> tuple[Glyph, ...]:
        """The symbols of the cells, those first that must not be left out where there is little room."""

    @property
    @abstractmethod
    def whose(self) -> str:
        """The pool or job that the rows belong to; empty for all jobs."""

    @abstractmethod
    def order(self, sort: Sort, *, only_failed: bool) -> Sequence[int]:
        """Return the rows as they are now, or only those with a failure.

        They are in order already unless ``value`` returns a sort key.
        """

    def value(self, sort: Sort) -> Callable[[int], Any] | None:  # noqa: ARG002  # most kinds are in order already
        """Return the sort key function, lowest first, or None."""
        return None

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

    def value_text(self, key: int, sort: Sort) -> str:  # noqa: ARG002  # the label has the number
        """Return the sort key of a row in words."""
        return ""

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

    @abstractmethod
    def openables(self, key: int, when_ms: int) -> list[Openable]:
        """Return what can be opened of a row at the present moment."""

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


class RowsByNode(TimelineRows):
    """Rows that each stand for a node, with its index as label."""

    _page: NodePage | InstancePage

    def label(self, key: int) -> str:
        """Return the index of the node in its pool."""
        return f"n{self._page.position_of(key)}"

    def subject(self, key: int) -> ItemRef:
        """Return the node."""
        return ItemRef("node", key)

    def item_to_explain(self, key: int, when_ms: int) -> ItemRef:
        """Return the node, or its pool before the node joined it."""
        has_come = self.lanes.lane(key).has_begun(when_ms)
        return self.subject(key) if has_come else ItemRef("pool", self.session.pool_id)


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
    begin_ms, last = stretches[0].begin_ms, stretches[-1]
    if last.state is None or last.state is JobState.COMPLETED:
        return Extent(begin_ms, last.begin_ms, is_over=True)
    return extent._replace(begin_ms=begin_ms)
