"""The text of a file in a window. Only the visible lines are drawn.

An index of the lines gives fast access and search.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left, bisect_right
from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING

from rich.cells import chop_cells

from engine.base.values import printable
from tui.viewmodels.text import Line, Role, Span, cut

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class LineIndex:
    """The offsets of the lines of a text. A text that has only grown is indexed from its last line on."""

    def __init__(self) -> None:
        self.text = ""
        self._starts = array("q")
        self._lower: str | None = None  # the text in lower case, once needed

    def __len__(self) -> int:
        return len(self._starts)

    def show(self, text: str) -> None:
        """Index a text."""
        first = 0
        if self._starts and text.startswith(self.text):
            first = self._starts.pop()
        else:
            self._starts = array("q")
        lengths = (len(line) + 1 for line in text[first:].split("\n"))
        starts = array("q", accumulate(lengths, initial=first))
        self._starts += starts[:-1] if starts[-2] < len(text) else starts[:-2]
        self.text, self._lower = text, None

    def line(self, number: int) -> str:
        """Return a line, counted from 0, without its line break."""
        end = self._starts[number + 1] if number + 1 < len(self._starts) else len(self.text) + 1
        return self.text[self._starts[number] : end].rstrip("\r\n")

    def containing(self, text: str) -> array[int]:
        """Return the numbers of the lines that contain a text, ignoring case."""
        found = array("q")
        find = self._finder(text)
        at = find(0)
        while at >= 0:
            number = bisect_right(self._starts, at) - 1
            found.append(number)
            if number + 1 == len(self._starts):
                break
            at = find(self._starts[number + 1])
        return found

    def _finder(self, text: str) -> Callable[[int], int]:
        """Return a function from an offset to the next match, or -1. Plain search is far faster than a pattern."""
        if self.text.isascii():
            if self._lower is None:
                self._lower = self.text.lower()
            return partial(self._lower.find, text.lower())
        pattern = pattern_of(text)

        def find(start: int) -> int:
            match = pattern.search(self.text, start)
            return -1 if match is None else match.start()

        return find


def pattern_of(text: str) -> re.Pattern[str]:
    """Return a pattern that finds a text, ignoring case."""
    return re.compile(re.escape(text), re.IGNORECASE)


_SHIFT = 8  # cells to scroll to the side
_LEAST_CELLS = 8


class TextModel:
    """A text in a window: scrolling and search.

    Lines are numbered from 0; ``found_line`` is the line of the last match.
    """

    def __init__(self, cursor: str) -> None:
        """Start with an empty text and line numbers; ``cursor`` is the sign beside the line that was found."""
        self.index = LineIndex()
        self._cursor = cursor
        self.cells, self.height = 80, 24
        self.wraps, self.has_numbers, self.follows = False, True, False
        self.found_line: int | None = None
        self.found: array[int] = array("q")  # the lines that contain the searched text
        self.sought = ""
        self._top, self._part, self._left = 0, 0, 0
        self._is_held = False  # following was interrupted by scrolling up
        self._pattern: re.Pattern[str] | None = None

    # -- what is shown -------------------------------------------------------------------------------------------

    def show(self, text: str, *, is_other: bool = False) -> None:
        """Show a text. ``is_other`` starts at its top; otherwise it is a newer version of the same text."""
        if is_other:
            self._top = self._part = self._left = 0
            self.found_line, self._is_held = None, False
        elif text == self.index.text:
            return
        self.index.show(text)
        self._find_again()
        self._go_to(self._top, self._part)
        if self.follows and not self._is_held:
            self._go_to(*self._end())

    def fit(self, cells: int, height: int) -> None:
        """Set the size of the window."""
        self.cells, self.height = cells, max(1, height)
        self._go_to(self._top, self._part)

    def _find_again(self) -> None:
        self.found = self.index.containing(self.sought) if self.sought else array("q")

    @property
    def total(self) -> int:
        """The number of lines of the text."""
        return len(self.index)

    @property
    def first(self) -> int:
        """The number of the first visible line."""
        return self._top

    @property
    def is_following(self) -> bool:
        """True if the window follows the end of the text."""
        return self.follows and not self._is_held

    def rows(self) -> list[Line]:
        """Return the visible rows."""
        drawn: list[Line] = []
        at, part = self._top, self._part
        while at < self.total and len(drawn) < self.height:
            drawn += self._drawn(at)[part:]
            at, part = at + 1, 0
        return drawn[: self.height]

    @property
    def _gutter(self) -> int:
        return len(str(self.total)) + 3 if self.has_numbers else 1

    def _parts(self, number: int) -> list[str]:
        """Return the rows of a line: several if it is wrapped, else the visible part."""
        text, room = printable(self.index.line(number).expandtabs(), "?"), max(_LEAST_CELLS, self.cells - self._gutter)
        if self.wraps:
            return folded(text, room)
        return [text[self._left : self._left + room + 1]]  # one cell more, so that the cut shows

    def _drawn(self, number: int) -> list[Line]:
        drawn: list[Line] = []
        is_found = number == self.found_line
        at = self._left
        text = printable(self.index.line(number).expandtabs(), "?")
        matches = [] if self._pattern is None else [match.span() for match in self._pattern.finditer(text)]
        for part in self._parts(number):
            label = f"{number + 1:>{self._gutter - 2}} " if self.has_numbers and not drawn else ""
            gutter = Span((self._cursor if is_found and not drawn else " ") + label, Role.KEY if is_found else Role.DIM)
            gutter = gutter._replace(text=gutter.text.ljust(self._gutter))
            drawn.append(cut((gutter, *_marked(part, at, matches)), self.cells))
            at += len(part)
        return drawn

    # -- moving --------------------------------------------------------------------------------------------------

    def scroll(self, rows: int) -> None:
        """Scroll by rows. Scrolling up stops following."""
        self._is_held = self._is_held or rows < 0
        at, part = self._top, self._part + rows
        if not self.wraps:
            self._go_to(at + part, 0)
            return
        while part < 0 and at > 0:
            at -= 1
            part += len(self._parts(at))
        while at < self.total and part >= (height := len(self._parts(at))):
            at, part = at + 1, part - height
        self._go_to(at, max(0, part))

    def shift(self, by: int) -> None:
        """Scroll to the side, unless lines are wrapped."""
        self._left = 0 if self.wraps else max(0, self._left + by * _SHIFT)

    def home(self) -> None:
        """Go to the first line."""
        self._is_held, self._left = True, 0
        self._go_to(0, 0)

    def end(self) -> None:
        """Go to the last line, and follow again."""
        self._is_held = False
        self._go_to(*self._end())

    def _end(self) -> tuple[int, int]:
        """Return the position of the window at the end of the text."""
        if not self.wraps:
            return max(0, self.total - self.height), 0
        at, room = self.total, self.height
        while at > 0 and room > 0:
            at -= 1
            room -= len(self._parts(at))
        return at, max(0, -room)

    def _go_to(self, at: int, part: int) -> None:
        self._top, self._part = max((0, 0), min((at, part), self._end()))

    def go_to_line(self, number: int) -> None:
        """Go to a line, at most to the last one."""
        if not self.total:
            return
        self.found_line = at = max(0, min(number, self.total - 1))
        self._is_held = True
        if not self._top <= at < self._top + self.height or self.wraps:
            self._go_to(max(0, at - self.height // 3), 0)

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
        return self._top if self.found_line is None else self.found_line

    # -- how it is shown -----------------------------------------------------------------------------------------

    def turn_wrap(self) -> None:
        """Toggle wrapping of long lines."""
        self.wraps, self._left, self._part = not self.wraps, 0, 0
        self._go_to(self._top, 0)

    def turn_numbers(self) -> None:
        """Toggle line numbers."""
        self.has_numbers = not self.has_numbers
        self._go_to(self._top, 0)

    def turn_follow(self) -> None:
        """Toggle following the end of the text."""
        self.follows = not self.follows
        if self.follows:
            self.end()


def folded(text: str, cells: int) -> list[str]:
    """Return the text in rows of at most ``cells``, broken after a space in the second half of a row."""
    rows: list[str] = []
    at = 0
    while at < len(text) or not rows:
        row = text[at : at + cells]
        if not row.isascii():
            row = chop_cells(row, cells)[0]
        if at + len(row) < len(text) and text[at + len(row)] != " ":
            blank = row.rfind(" ")
            row = row[: blank + 1] if blank * 2 >= len(row) else row
        rows.append(row)
        at += len(row)
    return rows


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
