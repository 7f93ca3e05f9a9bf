"""The base of all detail pages: a head, and tabs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

from tui.viewmodels.text.styled import Line, Role, Span, cut, line

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tui.viewmodels.session.session import Session
    from tui.viewmodels.text.styled import ItemRef, Kind

_HEADING_ROWS = 2  # a title and the line above it
_TAB_SIDES = 2  # cells around a title
_LEAST_BELOW = 3  # rows of another tab; fewer say nothing

Page = tuple[str, "Callable[[int], Sequence[Line]]"]


class DetailModel(ABC):
    """An item at the displayed moment. It may not exist yet, for the user can go back in time."""

    kind: ClassVar[Kind]
    view: ClassVar[str]  # the list of its kind
    help_text: str
    EXPLAINED: ClassVar[tuple[str, ...]] = ()
    """The tabs whose links are what w explains, in place of the item."""
    BELOW: ClassVar[tuple[str, ...]] = ()
    """The tabs that the first one or the overview continues with where there is room, the most telling first."""

    def __init__(self, session: Session, subject: ItemRef) -> None:
        """Open the page of this item."""
        self.session = session
        self.subject = subject
        self.rows = 24  # of the room for a tab: drawings fill it
        self.has_grounds = True  # False on a terminal without colours behind text
        self.pages: Sequence[Page] = self._pages()

    @property
    def tabs(self) -> tuple[str, ...]:
        """The titles of the tabs."""
        return tuple(name for name, _ in self.pages)

    @property
    @abstractmethod
    def exists(self) -> bool:
        """True if the item exists at this moment, or did before."""

    @property
    @abstractmethod
    def name(self) -> str:
        """A short name of the item, without its kind."""

    @property
    def identity(self) -> str:
        """The item's whole id."""
        return self.name

    @abstractmethod
    def _head(self, cells: int) -> Sequence[Line]:
        """Return the item's state, in a few lines."""

    @abstractmethod
    def _pages(self) -> Sequence[Page]:
        """Return title and content of each tab."""

    @property
    def title(self) -> str:
        """Kind and name of the item."""
        return self.session.text(f"{self.kind.capitalize()} {self.name}")

    def head(self, cells: int) -> Sequence[Line]:
        """Return the lines above every tab; none while the item does not exist."""
        return [cut(each, cells) for each in self._head(cells)] if self.exists else []

    def lines(self, tab: int, cells: int) -> Sequence[Line]:
        """Return the content of a tab."""
        if not self.exists:
            now = self.session.clock(self.session.now_ms)
            return [line(Span(f"This {self.kind} does not exist yet at {now}.", Role.DIM))]
        found = list(self.pages[tab][1](cells))
        return found if tab else [*found, *self._below(cells, self.rows - len(found))]

    def _below(self, cells: int, rows: int) -> Sequence[Line]:
        """Return the beginnings of other tabs, each below its title, as far as they fill these rows."""
        contents = dict(self.pages)
        found: list[Line] = []
        for title in self.BELOW:
            room = rows - len(found) - _HEADING_ROWS
            if room < _LEAST_BELOW:
                break
            lines = contents[title](cells)
            if len(lines) < 2:
                continue  # a sentence that there is nothing
            more = f"  and {len(lines) - room:,} more in this tab" if len(lines) > room else ""
            found += [(), line(Span(title, Role.STRONG), Span(more, Role.DIM)), *lines[:room]]
        return found


def tab_bar(tabs: Sequence[str], present: int, cells: int) -> Line:
    """Return the titles of the tabs, the present one highlighted; where not all have room, whole ones around it."""
    shown = _shown_tabs(tabs, present, cells)
    spans: list[Span] = [Span("<" if shown.start else " ", Role.DIM)]
    for number in shown:
        is_present = number == present
        text = f"[{tabs[number]}]" if is_present else f" {tabs[number]} "
        spans.append(Span(text, Role.STRONG if is_present else Role.DIM, is_underlined=is_present))
    return (*spans, Span(">", Role.DIM)) if shown.stop < len(tabs) else tuple(spans)


def tab_at(tabs: Sequence[str], present: int, cells: int, cell: int) -> int | None:
    """Return the tab at a cell of ``tab_bar``, a hidden one at the mark that stands for it, or None."""
    shown = _shown_tabs(tabs, present, cells)
    if cell == 0 and shown.start:
        return shown.start - 1
    at = 1
    for number in shown:
        if at <= cell < at + len(tabs[number]) + _TAB_SIDES:
            return number
        at += len(tabs[number]) + _TAB_SIDES
    return shown.stop if cell == at and shown.stop < len(tabs) else None


def _shown_tabs(tabs: Sequence[str], present: int, cells: int) -> range:
    """Return the tabs that have room: the first ones, or those up to the present one."""
    wide = [len(title) + _TAB_SIDES for title in tabs]
    if sum(wide) + 1 <= cells:
        return range(len(tabs))
    room, first = cells - 2, 0
    while first < present and sum(wide[first : present + 1]) > room:
        first += 1
    stop = present + 1
    while stop < len(tabs) and sum(wide[first : stop + 1]) <= room:
        stop += 1
    return range(first, stop)
