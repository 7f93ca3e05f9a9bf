"""Colours and strips of cells: how lines and scrollbars are drawn with few objects and few messages.

Each theme has a colour for each role. The nine categories can be told apart with every common colour vision. The
cache of drawn lines composes the frame beside them once for all lines. A scrollbar has few different cells, each of
which is drawn once. Widgets ask the screen to draw them without the two messages that Textual would send.
"""

from __future__ import annotations

from asyncio import get_running_loop
from functools import cache, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from rich.color import Color as RichColor
from rich.segment import Segment
from rich.style import Style
from textual._styles_cache import StylesCache
from textual.scrollbar import ScrollBar, ScrollBarRender
from textual.strip import Strip
from textual.theme import BUILTIN_THEMES, Theme
from textual.widget import _RenderCache

from tui.saving.settings import ANSI, CONTRAST, DARK, LIGHT, NO_COLOUR, THEME_NAMES
from tui.viewmodels.text import Role, Span

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Self

    from rich.terminal_theme import TerminalTheme
    from textual.color import Color
    from textual.content import Content
    from textual.css.styles import StylesBase
    from textual.geometry import Region, Size, Spacing
    from textual.message import Message
    from textual.message_pump import MessagePump
    from textual.style import Style as TitleStyle
    from textual.widget import Widget


# The colour of each role in the themes dark, light, with more contrast, and with the terminal's own colours, whose
# background may be dark or light, so that neither black nor white is among them.
_BY_ROLE = {
    Role.QUIET: "#9CA4AF #5A5F78 #D0D0D0 default",
    Role.RUNNING: "#3995FF #2A63E8 #7FBFFF bright_blue",
    Role.PREPARING: "#FFC81B #946800 #FFE000 yellow",
    Role.RELEASING: "#FCF2FF #B405C2 #FFFFFF magenta",
    Role.OK: "#48F9A6 #087B4A #66FFB3 green",
    Role.FAILED: "#DF5656 #C8202F #FF7A7A red",
    Role.TRANSITION: "#C37B00 #613000 #FFB347 cyan",
    Role.OFF: "#7388AB #656A73 #A9BBDD bright_black",
    Role.PREEMPTED: "#E1AFFF #46106B #B84DFF bright_magenta",
    Role.PLAIN: "#DCE3EC #14181F #FFFFFF default",
    Role.STRONG: "#DCE3EC #14181F #FFFFFF default",
    Role.DIM: "#7B8798 #5C6470 #C8C8C8 bright_black",
    Role.DERIVED: "#A9B8CC #3D4B5E #E0E0E0 default",
    Role.KEY: "#8AB8FF #0B46C8 #9AD0FF bright_blue",
    Role.WARNING: "#FF9650 #B34A00 #FF9A50 bright_yellow",
    Role.ALERT: "#DF5656 #C8202F #FF7A7A red",
    Role.CURSOR: "#DCE3EC #14181F #FFFFFF default",
}
_COLOURS = {
    theme: {role: each.split()[at] for role, each in _BY_ROLE.items()}
    for at, theme in enumerate((DARK, LIGHT, CONTRAST, ANSI))
}
_COLOURS[NO_COLOUR] = _COLOURS[CONTRAST]
_GROUNDS = {
    DARK: ("#0E1218", "#151B24", "#22304A"),
    LIGHT: ("#FBFBF9", "#F1F1EC", "#CFE0FF"),
    CONTRAST: ("#000000", "#0A0A0A", "#0040A0"),
    ANSI: ("default", "default", "default"),
}
_GROUNDS[NO_COLOUR] = _GROUNDS[CONTRAST]


class Look(NamedTuple):
    """The look of a widget's lines, which with their spans decides how they are drawn."""

    theme: str
    is_ascii: bool
    cells: int  # the width of the widget


def look_of(widget: Widget) -> Look:
    """Return how lines of a widget are drawn now."""
    app = widget.app
    theme = app.theme if app.theme in THEME_NAMES else DARK
    return Look(theme, app.has_class("-ascii"), widget.size.width)


def themes() -> list[Theme]:
    """Return the themes for Textual."""
    return [_theme(name) for name in THEME_NAMES]


def _theme(name: str) -> Theme:
    is_ansi = name == ANSI
    colours = {role: f"ansi_{each}" if is_ansi else each for role, each in _COLOURS[name].items()}
    background, surface, cursor = (f"ansi_{each}" if is_ansi else each for each in _GROUNDS[name])
    return Theme(
        name=name,
        primary=colours[Role.RUNNING],
        secondary=colours[Role.DIM],
        accent=colours[Role.KEY],
        foreground=colours[Role.PLAIN],
        background=background,
        surface=surface,
        panel=surface,
        error=colours[Role.FAILED],
        warning=colours[Role.WARNING],
        success=colours[Role.OK],
        dark=name != LIGHT,
        ansi=is_ansi,
        variables={
            **(BUILTIN_THEMES["ansi-dark"].variables if is_ansi else {}),
            "cursor-ground": cursor,
            "frame": colours[Role.DIM],
            "frame-focus": colours[Role.KEY],
        },
    )


def has_grounds(theme: str) -> bool:
    """Return True if the colour of a role can be the background of another one."""
    return theme in THEME_NAMES and theme not in (ANSI, NO_COLOUR)


@lru_cache(maxsize=1024)
def style(theme: str, role: Role, is_fill: bool = False, is_underlined: bool = False, is_cursor: bool = False) -> Style:
    """Return the style of a role, always with a background."""
    colour = _COLOURS[theme][role]
    ground, _, cursor = _GROUNDS[theme]
    if is_fill:
        on_fill = "black" if theme == ANSI else _readable_on(colour)
        return Style(color=on_fill, bgcolor=colour, bold=role is Role.FAILED, reverse=theme == NO_COLOUR)
    without_colour = theme == NO_COLOUR
    return Style(
        color=colour,
        bgcolor=cursor if is_cursor else ground,
        bold=role in (Role.STRONG, Role.FAILED, Role.ALERT, Role.KEY),
        dim=without_colour and role in (Role.OFF, Role.DIM),
        italic=role is Role.DERIVED,
        underline=is_underlined,
        reverse=(is_cursor and not has_grounds(theme)) or role is Role.ALERT,
    )


def span_style(theme: str, span: Span, *, is_cursor: bool = False) -> Style:
    """Return the style of a span."""
    found = style(theme, span.role, span.is_fill, span.is_underlined, is_cursor)
    return found if span.ground is None else _on(found, theme, span.ground)


@lru_cache(maxsize=256)
def _on(found: Style, theme: str, ground: Role) -> Style:
    return found + Style(bgcolor=_COLOURS[theme][ground])


def ground(theme: str) -> str:
    """Return the background as #rrggbb; for the terminal's own colours that of the dark theme."""
    return _GROUNDS[DARK if theme == ANSI else theme][0]


def colours(theme: str) -> dict[Role, str]:
    """Return the colour of each role as #rrggbb; for the terminal's own colours those of the dark theme."""
    return dict(_COLOURS[DARK if theme == ANSI else theme])


def on_colours(theme: str) -> dict[Role, str]:
    """Return black or white for each role, whichever can be read on its colour."""
    return {role: _readable_on(colour) for role, colour in colours(theme).items()}


def _readable_on(colour: str) -> str:
    """Return black or white, whichever has more contrast."""
    red, green, blue = (_linear(part) for part in RichColor.parse(colour).triplet or (0, 0, 0))
    luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    return "#000000" if (luminance + 0.05) / 0.05 > 1.05 / (luminance + 0.05) else "#FFFFFF"


def _linear(part: int) -> float:
    share = part / 255
    return share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4


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


@cache
def handles(kind: type[MessagePump], name: str, beside: tuple[type, ...] = ()) -> bool:
    """Return whether a class has a handler of this name; those of the classes ``beside`` do not count."""
    parts = [each.__dict__ for each in kind.__mro__ if each not in beside]
    return any(
        name in part
        or f"_{name}" in part
        or any(event.handler_name == name for event in part.get("_decorated_handlers", ()))
        for part in parts
    )


def post_around(widget: Widget, message: Message) -> None:
    """Post a message to the widgets around that handle it. Bubbling, it would be posted to all of them in turn."""
    message.stop()
    for each in widget.ancestors:
        if handles(type(each), message.handler_name):
            each.post_message(message)


def ask_screen(widget: Widget) -> bool:
    """Ask the screen to draw a widget, if that is all it needs. Return whether it is.

    In place of ``check_idle``, with which Textual takes two messages for it: to the widget, and to the screen.
    """
    needs_more = widget._layout_required or widget._scroll_required or widget._refresh_styles_required
    is_there = widget._is_mounted and widget._parent is not None and not widget._closing and widget.display
    if needs_more or not widget._repaint_required or not is_there:
        return False
    widget._repaint_required, screen = False, widget.screen
    if screen in screen._compositor:  # it has been laid out
        screen._dirty_widgets.add(widget)
        # As late as after a message: other widgets may be drawn, or laid out, because of messages.
        get_running_loop().call_soon(screen.check_idle)
    return True


class _Cells(ScrollBarRender):
    """Gives the cells one below the other. Textual's own come through a console of Rich, one line after the other."""

    def cells(self, size: int) -> list[Segment]:
        """Return the cells of a bar of this size; equal ones are mostly the same object."""
        style = self.style
        assert not isinstance(style, str)
        assert style.bgcolor is not None
        assert style.color is not None
        bar = self.render_bar(
            size=size,
            window_size=self.window_size,
            virtual_size=self.virtual_size,
            position=self.position,
            thickness=self.thickness,
            back_color=style.bgcolor,
            bar_color=style.color,
        )
        return list(bar.segments)


class CellScrollBar(ScrollBar):
    """A vertical scrollbar that is drawn cell by cell."""

    renderer = _Cells

    def __init__(self, *, thickness: int) -> None:
        super().__init__(vertical=True, name="vertical", thickness=thickness)
        self._styles_cache = LineCache()

    @property
    def is_blank(self) -> bool:
        """True if there is nothing to scroll: then what it would cover is drawn in its place."""
        return self.window_size >= self.window_virtual_size

    def _render_content(self) -> None:
        bar = self.render()
        assert isinstance(bar, _Cells)
        ground = self.visual_style.rich_style
        strips: dict[int, Strip] = {}
        lines = []
        for cell in bar.cells(self.size.height):
            strip = strips.get(id(cell))
            if strip is None:
                strip = Strip(Segment.apply_style([cell], ground), self.thickness)
                strips[id(cell)] = strip
            lines.append(strip)
        self._render_cache = _RenderCache(self.size, lines)
        self._dirty_regions.clear()

    def refresh(self, *regions: Region, repaint: bool = True, layout: bool = False, recompose: bool = False) -> Self:  # noqa: ARG002
        """Draw the bar. It asks for no layout: the widget that it scrolls does so when it shows or hides the bar.

        Textual's own asks for another layout after each one that gives it a size. A bar that is made in a layout does
        not receive messages yet, and so would ask only when it is moved for the first time.
        """
        return super().refresh(*regions, repaint=repaint, recompose=recompose)

    def check_idle(self) -> None:
        """Bring about what was asked for."""
        if not ask_screen(self):
            super().check_idle()
