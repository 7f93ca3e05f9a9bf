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
from textual.strip import Strip
from textual.widget import _RenderCache

from tui.widgets.compositor import ScreenCompositor
from tui.widgets.later import ActsWhileShown

if TYPE_CHECKING:
    from textual.color import Color

ResultT = TypeVar("ResultT")


@lru_cache(maxsize=1024)
def _faded(style: Style | None, color: Color, base: Style) -> Style:
    """Return a style as it shows through this colour, on a base style."""
    if color.a == 0:  # the terminal's own colours cannot be mixed
        return base + (style or Style()) + Style(dim=True)
    segments = BackgroundScreen.process_segments([Segment(" ", style)], color)
    return base + next(segment.style for segment in segments)


class Frame(Vertical):
    """A frame with a title and a hint about keys."""

    def __init__(self, title: str, keys: str, *, id: str = "actions", classes: str = "") -> None:  # noqa: A002  # Textual's own name
        super().__init__(id=id, classes=classes)
        self.border_title = Content(title)
        self.border_subtitle = Content(keys)


class Modal(ActsWhileShown, ModalScreen[ResultT]):
    """A dialog. The main screen is drawn below it in every frame, so fading it must be quick."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+c", "app.interrupt", "quit", show=False, id="dialog.interrupt"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._compositor = ScreenCompositor()

    def update(self) -> None:
        """Bring the dialog up to date. Most dialogs show one moment and have nothing to do."""

    def _render_content(self) -> None:
        """Draw the screen below, faded. Textual's own has Rich draw it cell by cell."""
        below = self.render()
        if not isinstance(below, BackgroundScreen):
            super()._render_content()
            return
        base, color = self.visual_style.rich_style, below.color
        self._render_cache = _RenderCache(
            self.size,
            [
                Strip([Segment(text, _faded(style, color, base)) for text, style, _ in strip], strip.cell_length)
                for strip in below.screen._compositor.render_strips()
            ],
        )
        self._dirty_regions.clear()
