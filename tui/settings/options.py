"""The options of the dashboard: their names, values and defaults."""

from __future__ import annotations

from typing import NamedTuple

DARK, LIGHT, CONTRAST, ANSI, NO_COLOUR = "dark", "light", "high-contrast", "ansi", "no-colour"
THEME_NAMES = (DARK, LIGHT, CONTRAST, ANSI, NO_COLOUR)

Value = str | float | bool


class Option(NamedTuple):
    """An option. Without ``values`` it is true or false, or any number from 0 on, depending on its default."""

    name: str
    default: Value
    about: str
    values: tuple[str, ...] = ()

    def takes(self, value: object) -> bool:
        """Return True if this is a possible value."""
        if self.values:
            return value in self.values
        if isinstance(self.default, bool) or isinstance(value, bool):
            return isinstance(self.default, bool) and isinstance(value, bool)
        return isinstance(value, int | float) and 0 <= value < float("inf")

    @property
    def choice(self) -> str:
        """The possible values in words."""
        if self.values:
            return ", ".join(self.values)
        return "true, false" if isinstance(self.default, bool) else "a number"


OPTIONS = {
    option.name: option
    for option in (
        Option("theme", DARK, "colours; ansi takes the terminal's own sixteen", THEME_NAMES),
        Option("glyphs", "auto", "characters to draw with; auto asks the terminal", ("auto", "unicode", "ascii")),
        Option("time", "clock", "moments by the clock, since the start, or from now", ("clock", "elapsed", "relative")),
        Option(
            "speed", 60.0, "simulated seconds per real second; 0 is as fast as possible; unset: a run takes a minute"
        ),
        Option("cross_quiet", True, "cross stretches in which nothing happens at once"),
        Option("confirm_quit", True, "q asks before it leaves the dashboard"),
        Option("introduction", True, "show the introduction for new users at the next start"),
    )
}
