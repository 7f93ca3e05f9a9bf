"""The text of a file in a window. Only the visible lines are drawn."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

from engine.base.values import printable
from tui.viewmodels.text import Line, Role, Span, cut

if TYPE_CHECKING:
    from collections.abc import Sequence


class TextLines:
    """The lines of a text, of which the last one may go on."""

    def __init__(self) -> None:
        self.text = ""
        self._parts = [""]

    def __len__(self) -> int:
        return len(self._parts) - (not self._parts[-1])

    def show(self, text: str) -> None:
        """Take a text; of one that has only grown, what has come."""
        if not text.startswith(self.text):
            self.text, self._parts = "", [""]
        last = self._parts.pop()
        self._parts += text[len(self.text) - len(last) :].split("\n")
        self.text = text

    def line(self, number: int) -> str:
        """Return a line, counted from 0, without its line break."""
        return self._parts[number].rstrip("\r")

    def containing(self, text: str) -> list[int]:
        """Return the numbers of the lines that contain a text, ignoring case."""
        wanted = text.lower()
        return [number for number, line in enumerate(self._parts) if wanted in line.lower()]


def pattern_of(text: str) -> re.Pattern[str]:
    """Return a pattern that finds a text, ignoring case."""
    return re.compile(re.escape(text), re.IGNORECASE)


class TextModel:
    """A text in a window: scrolling and search.

    Lines are numbered from 0; ``found_line`` is the line of the last match.
    """

    def __init__(self, cursor: str) -> None:
        """Start with an empty text; ``cursor`` is the sign beside the line that was found."""
        self.lines = TextLines()
        self._cursor = cursor
        self.cells, self.height = 80, 24
        self.found_line: int | None = None
        self.found: list[int] = []  # the lines that contain the searched text
        self.sought = ""
        self.first, self._left = 0, 0  # the visible line at the top, and the character at the left
        self._pattern: re.Pattern[str] | None = None

    # -- what is shown -------------------------------------------------------------------------------------------

    def show(self, text: str, *, is_other: bool = False) -> None:
        """Show a text. ``is_other`` starts at its top; otherwise it is a newer version of the same text."""
        if is_other:
            self.first, self._left, self.found_line = 0, 0, None
        elif text == self.lines.text:
            return
        self.lines.show(text)
        self._find_again()
        self.scroll(0)

    def fit(self, cells: int, height: int) -> None:
        """Set the size of the window."""
        self.cells, self.height = cells, max(1, height)
        self.scroll(0)

    def _find_again(self) -> None:
        self.found = self.lines.containing(self.sought) if self.sought else []

    @property
    def total(self) -> int:
        """The number of lines of the text."""
        return len(self.lines)

    def rows(self) -> list[Line]:
        """Return the visible lines."""
        return [self._drawn(at) for at in range(self.first, min(self.first + self.height, self.total))]

    def _drawn(self, number: int) -> Line:
        text, gutter_cells = printable(self.lines.line(number).expandtabs(), "?"), len(str(self.total)) + 3
        is_found, matches = number == self.found_line, () if self._pattern is None else self._pattern.finditer(text)
        label = f"{self._cursor if is_found else ' '}{number + 1:>{gutter_cells - 2}} "
        part = text[self._left : self._left + self.cells]  # more than has room, so that the cut shows
        marked = _marked(part, self._left, [match.span() for match in matches])
        return cut((Span(label, Role.KEY if is_found else Role.DIM), *marked), self.cells)

    # -- moving --------------------------------------------------------------------------------------------------

    def scroll(self, rows: int, columns: int = 0) -> None:
        """Scroll by rows, and by characters to the side, as far as the text goes."""
        self.first = max(0, min(self.first + rows, self.total - self.height))
        self._left = max(0, self._left + columns)

    def go_to_line(self, number: int) -> None:
        """Go to a line, at most to the last one."""
        if not self.total:
            return
        self.found_line = at = max(0, min(number, self.total - 1))
        if not self.first <= at < self.first + self.height:
            self.scroll(at - self.height // 3 - self.first)

    # -- looking for something -----------------------------------------------------------------------------------

    def find(self, text: str) -> bool:
        """Search from the current line on, ignoring case. Return True if there is a match."""
        self.sought, self._pattern = text, pattern_of(text) if text else None
        self._find_again()
        return not text or self._go_to_match(bisect_left(self.found, self._here))

    def next_match(self, step: int) -> bool:
        """Go to the next match, or with step -1 to the previous one, wrapping around."""
        at = bisect_right(self.found, self._here) if step > 0 else bisect_left(self.found, self._here) - 1
        return self._go_to_match(at)

    def _go_to_match(self, at: int) -> bool:
        """Go to this match, counted round the text; return False if there is none."""
        if self.found:
            self.go_to_line(self.found[at % len(self.found)])
        return bool(self.found)

    @property
    def match_number(self) -> int | None:
        """The number of the current match, from 1."""
        at = -1 if self.found_line is None else bisect_left(self.found, self.found_line)
        return at + 1 if 0 <= at < len(self.found) and self.found[at] == self.found_line else None

    @property
    def _here(self) -> int:
        return self.first if self.found_line is None else self.found_line


def _marked(text: str, first: int, matches: Sequence[tuple[int, int]]) -> list[Span]:
    """Return a part of a line that begins at character ``first``, with its matches underlined."""
    spans: list[Span] = []
    done = 0
    for start, end in matches:
        start, end = max(0, start - first), min(len(text), end - first)  # noqa: PLW2901  # within the part
        if start < end:
            spans += [Span(text[done:start]), Span(text[start:end], Role.KEY, is_underlined=True)]
            done = end
    return [span for span in (*spans, Span(text[done:])) if span.text]
