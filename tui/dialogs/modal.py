"""Screens above the deck, which shows through them."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, TypeVar

from rich.segment import Segment
from rich.style import Style
from textual.renderables.background_screen import BackgroundScreen
from textual.screen import ModalScreen

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import ConsoleRenderable, RichCast
    from textual.color import Color

ResultT = TypeVar("ResultT")


@lru_cache(maxsize=1024)
def _faded(style: Style | None, color: Color) -> Style | None:
    """The style as it shows through this colour."""
    if color.a == 0:  # the terminal's own colours cannot be mixed
        return (style or Style()) + Style(dim=True)
    segments = BackgroundScreen.process_segments([Segment(" ", style)], color)
    return next(segment.style for segment in segments)


class _Backdrop(BackgroundScreen):
    """What Textual shows of the screen below, each style mixed once and not in every cell."""

    @classmethod
    def process_segments(cls, segments: Iterable[Segment], color: Color) -> Iterable[Segment]:
        for text, style, control in segments:
            yield Segment(text, style if control else _faded(style, color), control)


class Modal(ModalScreen[ResultT]):
    """A screen above the deck. While it is open the deck is drawn below it in every frame, so that must be quick."""

    def update(self) -> None:
        """Time may have moved; what stands still has nothing to look at."""

    def render(self) -> ConsoleRenderable | RichCast | str:
        """The screen below, faded."""
        below = super().render()
        return _Backdrop(below.screen, below.color) if isinstance(below, BackgroundScreen) else below
