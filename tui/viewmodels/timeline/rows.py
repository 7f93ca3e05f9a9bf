"""The rows of the timeline, of whatever kind: what each did in each column of time, in which orders they may stand."""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import Enum
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from tui.viewmodels.text.glyphs import Glyph
from tui.viewmodels.text.styled import ItemRef, Role

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from engine.views.lanes.lanes import Lanes
    from engine.views.pages.instances import InstancePage
    from engine.views.pages.nodes import NodePage
    from tui.viewmodels.session.session import Session
    from tui.viewmodels.text.styled import ItemRef, Line

NEVER_MS = 1 << 62  # later than any moment: what has not begun is sorted last
NOTHING = Glyph(" ", " ", Role.PLAIN, "")
RUNNING = Glyph("█", "#", Role.RUNNING, "task")
PREPARING = Glyph("▒", "p", Role.PREPARING, "preparing")
RETRYING = Glyph("▚", "/", Role.PREPARING, "retrying")
RELEASING = Glyph("▓", "v", Role.RELEASING, "releasing")
FAILED = Glyph("✗", "X", Role.FAILED, "failed")
SUCCEEDED = Glyph("✓", "+", Role.OK, "succeeded")


class Sort(Enum):
    """What rows are in order of."""

    NUMBER = "number"
    FIRST_START = "first start"
    BUSY = "busy share"
    TROUBLE = "trouble"


class Columns(NamedTuple):
    """Columns of the timeline: each lasts ``step_ms``, the first one begins ``first`` steps after the start."""

    first: int
    number: int
    step_ms: int

    def begin_ms(self, column: int) -> int:
        """When a column begins, counted from the first one shown."""
        return (self.first + column) * self.step_ms

    def column_at(self, when_ms: int) -> int:
        """The column of a moment, counted from the first one shown; it may lie outside."""
        return when_ms // self.step_ms - self.first

    def begun(self, known_ms: int) -> int:
        """How many of the columns have begun in what is known up to a moment."""
        return max(0, min(self.number, self.column_at(known_ms) + 1))


class There(NamedTuple):
    """What can be opened: a thing, or where a view is named the row of its list that is about it."""

    text: str
    subject: ItemRef
    view: str = ""


class LaneRows(ABC):
    """Rows of one kind."""

    name: ClassVar[str]
    legend: ClassVar[tuple[Glyph, ...]]
    sorts: ClassVar[tuple[Sort, ...]]
    view: ClassVar[str] = "timeline"  # as which ``w`` asks

    def __init__(self, session: Session, lanes: Lanes) -> None:
        """Rows of a session whose log ``lanes`` reads."""
        self.session = session
        self.lanes = lanes

    @property
    @abstractmethod
    def whose(self) -> str:
        """The pool or the job whose rows they are; empty where they are all there are."""

    @abstractmethod
    def order(self, sort: Sort, *, only_failed: bool) -> Sequence[int]:
        """The rows as they are now, or those among them where something has failed.

        They are in order already where there is no ``value`` to sort them by.
        """

    def value(self, sort: Sort) -> Callable[[int], Any] | None:  # noqa: ARG002  # most are in order already
        """What rows are sorted by, lowest first."""
        return None

    def value_text(self, key: int, sort: Sort) -> str:  # noqa: ARG002  # a number is in the label
        """What a row is sorted by, in words."""
        return ""

    @abstractmethod
    def label(self, key: int) -> str:
        """What a row is called."""

    @abstractmethod
    def cells(self, key: int, columns: Columns) -> list[Glyph]:
        """What filled each column, as far as it is known; fewer than asked for where it is not."""

    @abstractmethod
    def moment_ms(self, key: int, begin_ms: int, end_ms: int) -> int:
        """The moment that a cell stands for: when what it shows began, if that was within the cell."""

    @abstractmethod
    def told(self, key: int, when_ms: int) -> Line:
        """What a row did at a moment, in words."""

    @abstractmethod
    def subject(self, key: int) -> ItemRef:
        """What is acted on."""

    def asked(self, key: int, when_ms: int) -> ItemRef:  # noqa: ARG002  # most are there at any time
        """What is to be explained where a row did this at a moment."""
        return self.subject(key)

    @abstractmethod
    def there(self, key: int, when_ms: int) -> list[There]:
        """What can be opened that was in a row at a moment, which is the present one."""

    def planned_ms(self, key: int) -> int | None:  # noqa: ARG002  # a job plans nothing
        """Until when what a row does now is planned; None where nothing is."""
        return None

    @abstractmethod
    def estimated_ms(self, key: int) -> int | None:
        """Until when something is estimated to go on in a row; None where nobody can tell."""

    @abstractmethod
    def is_over(self, key: int) -> bool:
        """Whether nothing more can come in a row."""

    def is_read(self, key: int) -> bool:  # noqa: ARG002  # only the lanes of nodes are long
        """Whether all that is recorded of a row has been read; reads on where it has not."""
        return self.lanes.unread_from_ms() is None

    @property
    def recorded_ms(self) -> int:
        """How far the recording goes, in ms since the start."""
        return max(self.lanes.recorded_ms, self.session.newest_ms)

    def known_ms(self, node: int | None = None) -> int:
        """How far the recording has been read, that of a node's lane if one is named, in ms since the start."""
        unread_ms = self.lanes.unread_from_ms(node)
        return self.recorded_ms if unread_ms is None else unread_ms - 1


class RowsByNode(LaneRows):
    """Rows that are called by the index of a node in its pool, and lead to that node."""

    _page: NodePage | InstancePage

    def label(self, key: int) -> str:
        """The index of the node in its pool."""
        return f"n{self._page.position_of(key)}"

    def subject(self, key: int) -> ItemRef:
        """The node."""
        return ItemRef("node", key)

    def asked(self, key: int, when_ms: int) -> ItemRef:
        """The node; before it came, its pool."""
        has_come = self.lanes.lane(key).has_begun(when_ms)
        return self.subject(key) if has_come else ItemRef("pool", self.session.pool_id)


def filled(number: int, marks: Sequence[tuple[int, Glyph]]) -> list[Glyph]:
    """So many cells; from each marked column on there is another glyph. Marks are in order and may lie outside."""
    cells: list[Glyph] = []
    for (column, glyph), (following, _) in pairwise([(0, NOTHING), *marks, (number, NOTHING)]):
        cells += [glyph] * (min(following, number) - max(column, len(cells)))
    return cells
