"""What the blades of nodes, pools, jobs and tasks have in common: pages that are changed like tabs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

from tui.viewmodels.text.styled import Line, Role, Span, cut, line

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tui.viewmodels.session.session import Session
    from tui.viewmodels.text.styled import ItemRef, Kind

Page = tuple[str, "Callable[[int], Sequence[Line]]"]


class Thing(ABC):
    """One thing at the moment that is looked at. It may not be there yet, for time goes back."""

    kind: ClassVar[Kind]
    view: ClassVar[str]  # the list to which it belongs
    help_text: ClassVar[str]

    def __init__(self, session: Session, subject: ItemRef) -> None:
        """The thing that the subject names."""
        self.session = session
        self.subject = subject
        self.pages: Sequence[Page] = self._pages()

    @property
    def tabs(self) -> tuple[str, ...]:
        """What the pages are called."""
        return tuple(name for name, _ in self.pages)

    @property
    @abstractmethod
    def is_there(self) -> bool:
        """Whether there is such a thing at this moment, or has been before."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The thing in a word or two, after its kind."""

    @property
    def identity(self) -> str:
        """The thing's id, whole."""
        return self.name

    @abstractmethod
    def _head(self, cells: int) -> Sequence[Line]:
        """How the thing is doing."""

    @abstractmethod
    def _pages(self) -> Sequence[Page]:
        """The pages by the titles of their tabs."""

    @property
    def title(self) -> str:
        """Kind and name."""
        return self.session.text(f"{self.kind.capitalize()} {self.name}")

    def head(self, cells: int) -> Sequence[Line]:
        """What stands above every page; nothing while the thing is not there."""
        return [cut(each, cells) for each in self._head(cells)] if self.is_there else []

    def lines(self, tab: int, cells: int) -> Sequence[Line]:
        """One of the pages in so many cells."""
        if not self.is_there:
            return [
                line(Span(f"{self.title} is not there yet at {self.session.clock(self.session.now_ms)}.", Role.DIM))
            ]
        return self.pages[tab][1](cells)


def tab_bar(tabs: Sequence[str], present: int) -> Line:
    """The titles of the pages; the present one stands out."""
    spans: list[Span] = [Span(" ")]
    for number, title in enumerate(tabs):
        is_present = number == present
        text = f"[{title}]" if is_present else f" {title} "
        spans.append(Span(text, Role.STRONG if is_present else Role.DIM, is_underlined=is_present))
    return tuple(spans)


def tab_at(tabs: Sequence[str], cell: int) -> int | None:
    """The tab under a cell of ``tab_bar``; None beside them."""
    at = 1
    for number, title in enumerate(tabs):
        if at <= cell < at + len(title) + 2:
            return number
        at += len(title) + 2
    return None
