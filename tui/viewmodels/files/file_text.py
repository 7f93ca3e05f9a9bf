"""A text to read: of all its lines only those are drawn that are seen."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

from rich.cells import chop_cells

from tui.viewmodels.files.line_index import LineIndex, pattern_of
from tui.viewmodels.files.log_times import other_line
from tui.viewmodels.text.styled import Line, Role, Span, cut

if TYPE_CHECKING:
    import re
    from collections.abc import Sequence

_SHIFT = 8  # cells to the side at a time
_LEAST_CELLS = 8


class TextModel:
    """A text in a window: which lines are shown, from where on, and what is marked in them.

    Lines are numbered from 0; ``mark`` is the line that was looked for last.
    """

    def __init__(self, cursor: str) -> None:
        """An empty text; line numbers are shown, and ``cursor`` beside the mark."""
        self.index = LineIndex()
        self._cursor = cursor
        self.cells, self.height = 80, 24
        self.wraps, self.has_numbers, self.follows = False, True, False
        self.mark: int | None = None
        self.found: array[int] = array("q")  # the lines in which what is looked for stands
        self.sought, self.filter_text = "", ""
        self._lines: Sequence[int] = range(0)  # those that the filter lets through
        self._top, self._part, self._left = 0, 0, 0
        self._is_held = False  # it follows the end, but was scrolled away from it
        self._pattern: re.Pattern[str] | None = None

    # -- what is shown -------------------------------------------------------------------------------------------

    def show(self, text: str, *, is_other: bool = False) -> None:
        """Show this text; ``is_other`` says that it is not the one of before as it is now, and is read from its top."""
        if is_other:
            self._top = self._part = self._left = 0
            self.mark, self._is_held = None, False
        elif text == self.index.text:
            return
        self.index.show(text)
        self._find_again()
        self._filter_again()
        if self.follows and not self._is_held:
            self._go_to(*self._end())

    def fit(self, cells: int, height: int) -> None:
        """Draw in a window of this size."""
        self.cells, self.height = cells, max(1, height)
        self._go_to(self._top, self._part)

    def _find_again(self) -> None:
        self.found = self.index.containing(self.sought) if self.sought else array("q")

    def _filter_again(self) -> None:
        wanted, everything = self.filter_text, range(len(self.index))
        if not wanted.removeprefix("!"):
            self._lines = everything
        else:
            found = self.index.containing(wanted.removeprefix("!"))
            self._lines = found if not wanted.startswith("!") else _others(found, everything)
        self._go_to(self._top, self._part)

    @property
    def total(self) -> int:
        """How many lines the text has."""
        return len(self.index)

    @property
    def count(self) -> int:
        """How many lines the filter lets through."""
        return len(self._lines)

    @property
    def first(self) -> int:
        """The number of the first line that is seen; 0 where there is none."""
        return self._lines[self._top] if self._lines else 0

    @property
    def is_following(self) -> bool:
        """Whether it moves on as the text grows."""
        return self.follows and not self._is_held

    def rows(self) -> list[Line]:
        """The window, row by row; no other line is looked at."""
        drawn: list[Line] = []
        at, part = self._top, self._part
        while at < self.count and len(drawn) < self.height:
            drawn += self._drawn(self._lines[at])[part:]
            at, part = at + 1, 0
        return drawn[: self.height]

    @property
    def _gutter(self) -> int:
        return len(str(self.total)) + 3 if self.has_numbers else 1

    def _parts(self, number: int) -> list[str]:
        """A line as it is drawn: all of it in one row or several, or the part that is seen."""
        text, room = printable(self.index.line(number)), max(_LEAST_CELLS, self.cells - self._gutter)
        if self.wraps:
            return folded(text, room)
        return [text[self._left : self._left + room + 1]]  # what is too long is cut with a sign of it

    def _drawn(self, number: int) -> list[Line]:
        drawn: list[Line] = []
        is_mark = number == self.mark
        at = self._left
        text = printable(self.index.line(number))
        matches = [] if self._pattern is None else [match.span() for match in self._pattern.finditer(text)]
        for part in self._parts(number):
            label = f"{number + 1:>{self._gutter - 2}} " if self.has_numbers and not drawn else ""
            gutter = Span((self._cursor if is_mark and not drawn else " ") + label, Role.KEY if is_mark else Role.DIM)
            gutter = gutter._replace(text=gutter.text.ljust(self._gutter))
            drawn.append(cut((gutter, *_marked(part, at, matches)), self.cells))
            at += len(part)
        return drawn

    # -- moving --------------------------------------------------------------------------------------------------

    def scroll(self, rows: int) -> None:
        """Move the window by so many rows; up stops following."""
        self._is_held = self._is_held or rows < 0
        at, part = self._top, self._part + rows
        if not self.wraps:
            self._go_to(at + part, 0)
            return
        while part < 0 and at > 0:
            at -= 1
            part += len(self._parts(self._lines[at]))
        while at < self.count and part >= (height := len(self._parts(self._lines[at]))):
            at, part = at + 1, part - height
        self._go_to(at, max(0, part))

    def shift(self, by: int) -> None:
        """Move the window to the side, where lines are not wrapped."""
        self._left = 0 if self.wraps else max(0, self._left + by * _SHIFT)

    def home(self) -> None:
        """To the first line."""
        self._is_held, self._left = True, 0
        self._go_to(0, 0)

    def end(self) -> None:
        """To the last line; following goes on."""
        self._is_held = False
        self._go_to(*self._end())

    def _end(self) -> tuple[int, int]:
        """Where the window stands when the last line is its last row."""
        if not self.wraps:
            return max(0, self.count - self.height), 0
        at, room = self.count, self.height
        while at > 0 and room > 0:
            at -= 1
            room -= len(self._parts(self._lines[at]))
        return at, max(0, -room)

    def _go_to(self, at: int, part: int) -> None:
        self._top, self._part = max((0, 0), min((at, part), self._end()))

    def go_to_line(self, number: int) -> None:
        """Mark a line, or the next one that is shown, and bring it into view."""
        if not self.count:
            return
        at = min(bisect_left(self._lines, number), self.count - 1)
        self.mark = self._lines[at]
        self._is_held = True
        if not self._top <= at < self._top + self.height or self.wraps:
            self._go_to(max(0, at - self.height // 3), 0)

    # -- looking for something -----------------------------------------------------------------------------------

    def find(self, text: str) -> bool:
        """Look for a text from the marked or first line on, in any case of letters; returns whether it is found."""
        self.sought, self._pattern = text, pattern_of(text) if text else None
        self._find_again()
        return not text or self._go_to_match(bisect_left(self.found, self._here), 1)

    def next_match(self, step: int) -> bool:
        """To the next line with what is looked for, or with step -1 to the one before; after the last, the first."""
        at = bisect_right(self.found, self._here) if step > 0 else bisect_left(self.found, self._here) - 1
        return self._go_to_match(at, step)

    def _go_to_match(self, at: int, step: int) -> bool:
        """To this match, or the nearest from there on that the filter lets through."""
        for offset in range(len(self.found)):
            number = self.found[(at + step * offset) % len(self.found)]
            place = bisect_left(self._lines, number)
            if place < self.count and self._lines[place] == number:
                self.go_to_line(number)
                return True
        return False

    @property
    def match_number(self) -> int | None:
        """Which of the lines found is marked, counted from 1."""
        at = -1 if self.mark is None else bisect_left(self.found, self.mark)
        return at + 1 if 0 <= at < len(self.found) and self.found[at] == self.mark else None

    @property
    def _here(self) -> int:
        return self.first if self.mark is None else self.mark

    def filter(self, text: str) -> None:
        """Show only the lines with this text, or with ``!`` before it only the others; empty shows all."""
        here = self._here
        self.filter_text = text
        self._filter_again()
        if self._lines:
            self._go_to(min(bisect_left(self._lines, here), self.count - 1), 0)

    def jump(self, seconds: int) -> str | None:
        """To the first line that begins with a time so much later, or earlier; returns why there is none."""
        found = other_line(lambda at: self.index.line(self._lines[at]), self.count, self._place_of_here(), seconds)
        if isinstance(found, str):
            return found
        self.go_to_line(self._lines[found])
        return None

    def _place_of_here(self) -> int:
        return min(bisect_left(self._lines, self._here), max(0, self.count - 1))

    # -- how it is shown -----------------------------------------------------------------------------------------

    def turn_wrap(self) -> None:
        """Break long lines, or cut them off."""
        self.wraps, self._left, self._part = not self.wraps, 0, 0
        self._go_to(self._top, 0)

    def turn_numbers(self) -> None:
        """Show the numbers of the lines, or not."""
        self.has_numbers = not self.has_numbers
        self._go_to(self._top, 0)

    def turn_follow(self) -> None:
        """Stay at the end while the text grows, or not."""
        self.follows = not self.follows
        if self.follows:
            self.end()


def printable(text: str) -> str:
    """A line as a terminal can show it."""
    text = text.expandtabs()
    return text if text.isprintable() else "".join(each if each.isprintable() else "?" for each in text)


def folded(text: str, cells: int) -> list[str]:
    """The text in rows of at most so many cells, broken after a blank where a row has one in its second half."""
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


def _others(found: array[int], everything: range) -> array[int]:
    """All line numbers that are not among these."""
    others = bytearray(b"\1") * len(everything)
    for number in found:
        others[number] = 0
    return array("q", (number for number in everything if others[number]))


def _marked(text: str, first: int, matches: Sequence[tuple[int, int]]) -> list[Span]:
    """Part of a line that begins at its character ``first``, with the matches in it underlined."""
    spans: list[Span] = []
    done = 0
    for start, end in matches:
        start, end = max(0, start - first), min(len(text), end - first)  # noqa: PLW2901  # within the part
        if start < end:
            spans += [Span(text[done:start]), Span(text[start:end], Role.KEY, is_underlined=True)]
            done = end
    return [span for span in (*spans, Span(text[done:])) if span.text]
