"""The console of Rich, which shows control characters in text from outside as escapes.

A stream cannot tell them from the control sequences of our own colours any more. So text is escaped before it is laid
out and styled.
"""

from __future__ import annotations

import sys
from itertools import accumulate
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Span, Text

from engine.base.values import visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import ConsoleOptions, RenderableType
    from rich.segment import Segment

PIPED_WIDTH = 80


class SafeConsole(Console):
    """A console on which no text moves the cursor or changes the terminal."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        """Yield the segments of what is shown, parts of it included. Texts are escaped before they are broken."""
        shown = visible_text(renderable) if isinstance(renderable, Text) else renderable
        for segment in super().render(shown, options):
            yield segment if segment.control else segment._replace(text=visible(segment.text))


def visible_text(text: Text) -> Text:
    """Return a styled text with control characters as escapes."""
    if text.plain.isprintable():
        return text
    shown = text.blank_copy(visible(text.plain))
    places = list(accumulate((len(visible(each)) for each in text.plain), initial=0))
    shown.spans = [Span(places[start], places[end], style) for start, end, style in text.spans]
    return shown


def console(*, to_stderr: bool) -> SafeConsole:
    """Return a console on stderr or stdout without markup. Honours NO_COLOR and COLUMNS."""
    stream = sys.stderr if to_stderr else sys.stdout
    width = None if stream.isatty() else PIPED_WIDTH
    return SafeConsole(file=stream, width=width, markup=False, emoji=False, highlight=False)
