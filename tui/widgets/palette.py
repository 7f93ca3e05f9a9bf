"""Colours of the roles in each theme. The nine categories can be told apart with every common colour vision."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from rich.color import Color
from rich.style import Style
from textual.theme import BUILTIN_THEMES, Theme

from tui.settings.options import ANSI, CONTRAST, DARK, LIGHT, NO_COLOUR, THEME_NAMES
from tui.viewmodels.text.styled import Role, Span

if TYPE_CHECKING:
    from textual.widget import Widget

_CATEGORIES = (
    Role.QUIET,
    Role.RUNNING,
    Role.PREPARING,
    Role.RELEASING,
    Role.OK,
    Role.FAILED,
    Role.TRANSITION,
    Role.OFF,
    Role.PREEMPTED,
)


def _colours(
    categories: str, plain: str, dim: str, derived: str, key: str, off_text: str, warning: str
) -> dict[Role, str]:
    colours = dict(zip(_CATEGORIES, categories.split(), strict=True))
    return colours | {
        Role.OFF: off_text,  # as text; the fill is darker
        Role.PLAIN: plain,
        Role.STRONG: plain,
        Role.DIM: dim,
        Role.DERIVED: derived,
        Role.KEY: key,
        Role.WARNING: warning,
        Role.ALERT: colours[Role.FAILED],
        Role.CURSOR: plain,
    }


_COLOURS = {
    DARK: _colours(
        "#9CA4AF #3995FF #FFC81B #FCF2FF #48F9A6 #DF5656 #C37B00 #47597A #E1AFFF",
        "#DCE3EC",
        "#7B8798",
        "#A9B8CC",
        "#8AB8FF",
        "#7388AB",
        "#FF9650",
    ),
    LIGHT: _colours(
        "#5A5F78 #2A63E8 #946800 #B405C2 #087B4A #C8202F #613000 #B3B6BC #46106B",
        "#14181F",
        "#5C6470",
        "#3D4B5E",
        "#0B46C8",
        "#656A73",
        "#B34A00",
    ),
    CONTRAST: _colours(
        "#D0D0D0 #7FBFFF #FFE000 #FFFFFF #66FFB3 #FF7A7A #FFB347 #8FA3C8 #B84DFF",
        "#FFFFFF",
        "#C8C8C8",
        "#E0E0E0",
        "#9AD0FF",
        "#A9BBDD",
        "#FF9A50",
    ),
}
# The terminal's own colours. Its background may be dark or light, so neither black nor white.
_COLOURS[ANSI] = _colours(
    "default bright_blue yellow magenta green red cyan bright_black bright_magenta",
    "default",
    "bright_black",
    "default",
    "bright_blue",
    "bright_black",
    "bright_yellow",
)
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
    red, green, blue = (_linear(part) for part in Color.parse(colour).triplet or (0, 0, 0))
    luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    return "#000000" if (luminance + 0.05) / 0.05 > 1.05 / (luminance + 0.05) else "#FFFFFF"


def _linear(part: int) -> float:
    share = part / 255
    return share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4
