"""The base class of the dialogs, through which the main screen shows faded."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar, TypeVar

from rich.segment import Segment
from rich.style import Style
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.renderables.background_screen import BackgroundScreen
from textual.screen import ModalScreen

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import ConsoleRenderable, RichCast
    from textual.color import Color

ResultT = TypeVar("ResultT")


@lru_cache(maxsize=1024)
def _faded(style: Style | None, color: Color) -> Style | None:
    """Return a style as it shows through this colour."""
    if color.a == 0:  # the terminal's own colours cannot be mixed
        return (style or Style()) + Style(dim=True)
    segments = BackgroundScreen.process_segments([Segment(" ", style)], color)
    return next(segment.style for segment in segments)


class _Backdrop(BackgroundScreen):
    """Textual's faded screen below, with each style mixed once instead of in every cell."""

    @classmethod
    def process_segments(cls, segments: Iterable[Segment], color: Color) -> Iterable[Segment]:
        for text, style, control in segments:
            yield Segment(text, style if control else _faded(style, color), control)


class Frame(Vertical):
    """A frame with a title and a hint about keys."""

    def __init__(self, title: str, keys: str, *, id: str = "actions", classes: str = "") -> None:  # noqa: A002  # Textual's own name
        super().__init__(id=id, classes=classes)
        self.border_title = Content(title)
        self.border_subtitle = Content(keys)


class Modal(ModalScreen[ResultT]):
    """A dialog. The main screen is drawn below it in every frame, so fading it must be quick."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+c", "app.interrupt", "quit", show=False, id="dialog.interrupt"),
    ]

    def update(self) -> None:
        """Bring the dialog up to date. Most dialogs show one moment and have nothing to do."""

    def render(self) -> ConsoleRenderable | RichCast | str:
        """Return the screen below, faded."""
        below = super().render()
        return _Backdrop(below.screen, below.color) if isinstance(below, BackgroundScreen) else below
