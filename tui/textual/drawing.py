"""Colours and strips of cells: how lines and scrollbars are drawn with few objects and few messages.

Each theme has a colour for each role. The nine categories can be told apart with every common colour vision. The
cache of drawn lines composes the frame beside them once for all lines. A scrollbar has few different cells, each of
which is drawn once. Widgets ask the screen to draw them without the two messages that Textual would send.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from rich.color import Color as RichColor
from rich.style import Style
from textual.theme import BUILTIN_THEMES, Theme

from tui.saving.settings import ANSI, CONTRAST, DARK, LIGHT, NO_COLOUR, THEME_NAMES
from tui.viewmodels.text import Role, Span

if TYPE_CHECKING:
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
    theme = Theme(
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
        variables={
            **((BUILTIN_THEMES.get("ansi-dark") or BUILTIN_THEMES["textual-ansi"]).variables if is_ansi else {}),
            "cursor-ground": cursor,
            "frame": colours[Role.DIM],
            "frame-focus": colours[Role.KEY],
        },
    )
    theme.ansi = is_ansi  # Textual 8.1 has no such attribute, and does not look at it
    return theme


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
