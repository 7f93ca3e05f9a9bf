"""A cache of drawn lines that composes the frame beside them once for all lines."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from rich.segment import Segment
from rich.style import Style
from textual._styles_cache import StylesCache
from textual.strip import Strip

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from rich.terminal_theme import TerminalTheme
    from textual.color import Color
    from textual.content import Content
    from textual.css.styles import StylesBase
    from textual.geometry import Size, Spacing
    from textual.style import Style as TitleStyle


class _Sides(NamedTuple):
    """The frame beside each line of content, below ``top`` lines; no ``left`` if an effect changes content, too."""

    top: int
    left: Sequence[Segment] | None
    right: Sequence[Segment]


class _NothingKept:
    """A cache that keeps nothing."""

    def get(self, _: object) -> None:
        return None

    def __setitem__(self, _: object, __: object) -> None:
        pass


_NOTHING_KEPT = _NothingKept()


class LightStrip(Strip):
    """A strip that remembers only how it was divided last, and what it is for the terminal.

    Textual makes seven caches for each strip, which takes longer than to divide it: most are drawn once.
    """

    __slots__ = ("_pieces",)
    _divide_cache = _crop_cache = _style_cache = _filter_cache = _NOTHING_KEPT  # type: ignore[assignment]
    _line_length_cache = _crop_extend_cache = _offsets_cache = _NOTHING_KEPT  # type: ignore[assignment]

    def __init__(self, segments: Iterable[Segment], cell_length: int) -> None:
        """Show these segments, which are so many cells wide."""
        self._segments = list(segments)
        self._cell_length = cell_length
        self._render_cache = self._link_ids = self._cell_count = None
        self._pieces: tuple[Sequence[int], Sequence[Strip]] | None = None

    def divide(self, cuts: Iterable[int]) -> Sequence[Strip]:
        """Return the strip in pieces that end at these cells; a cut beyond its end makes none."""
        ends = [cut for cut in cuts if cut <= self.cell_length]
        if ends == [self.cell_length]:
            return (self,)
        if self._pieces is None or self._pieces[0] != ends:
            widths = [end - start for start, end in pairwise((0, *ends))]
            pieces = map(LightStrip, Segment.divide(self._segments, ends), widths)
            self._pieces = ends, list(pieces)
        return self._pieces[1]


class KeptStrip(LightStrip):
    """A drawn line of content, with the line that was composed of it and the frame beside it."""

    __slots__ = ("frame", "framed")

    def __init__(self, segments: Iterable[Segment], cell_length: int) -> None:
        super().__init__(segments, cell_length)
        self.frame: _Sides | None = None  # with which ``framed`` was composed
        self.framed: Strip = self


class LineCache(StylesCache):
    """Keeps drawn lines, as Textual does, but does not compose border and padding for each line anew."""

    _sides: _Sides | None = None

    def clear(self) -> None:
        """Forget all lines, and the frame."""
        super().clear()
        self._sides = None

    def render_line(  # noqa: PLR0913, PLR0917  # as Textual declares it
        self,
        styles: StylesBase,
        y: int,
        size: Size,
        content_size: Size,
        padding: Spacing,
        base_background: Color,
        background: Color,
        render_content_line: Callable[[int], Strip],
        border_title: tuple[Content, Color, Color, TitleStyle] | None,
        border_subtitle: tuple[Content, Color, Color, TitleStyle] | None,
        opacity: float,
        ansi_theme: TerminalTheme,
        native_ansi: bool,
    ) -> Strip:
        """Draw a line of the widget, counted with its frame."""

        def framed(y: int, content: Callable[[int], Strip]) -> Strip:
            before = styles, y, size, content_size, padding, base_background, background
            titles = border_title, border_subtitle
            return super(LineCache, self).render_line(*before, content, *titles, opacity, ansi_theme, native_ansi)

        width, height = content_size
        if self._sides is None:
            top, content = styles.gutter.top, Segment(" " * width, Style.null())
            segments = list(framed(top, lambda _: Strip([content], width)))
            at = next((at for at, each in enumerate(segments) if each is content), None)
            self._sides = _Sides(top, None, ()) if at is None else _Sides(top, segments[:at], segments[at + 1 :])
        top, left, right = self._sides
        if left is None or not top <= y < top + height:
            return framed(y, render_content_line)
        line = render_content_line(y - top)
        if line.cell_length != width:
            return framed(y, lambda _: line)
        if not left and not right:
            return line
        if not isinstance(line, KeptStrip):
            return LightStrip([*left, *line, *right], size.width)
        if line.frame is not self._sides:
            line.frame, line.framed = self._sides, LightStrip([*left, *line, *right], size.width)
        return line.framed
