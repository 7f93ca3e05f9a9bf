"""Where the lines of a text begin, however many there are, and which of them have something in them."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class LineIndex:
    """Where the lines of a text begin. A text that has only grown is indexed from its last line on."""

    def __init__(self) -> None:
        """Of an empty text."""
        self.text = ""
        self._starts = array("q")
        self._lower: str | None = None  # in small letters, once that is asked for

    def __len__(self) -> int:
        return len(self._starts)

    def show(self, text: str) -> None:
        """Index this text."""
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
        """One line, counted from 0, without its end."""
        end = self._starts[number + 1] if number + 1 < len(self._starts) else len(self.text) + 1
        return self.text[self._starts[number] : end].rstrip("\r\n")

    def containing(self, text: str) -> array[int]:
        """The numbers of the lines in which a text stands, in any case of letters."""
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
        """Where a text stands next from a character on; -1 is nowhere. Plain search is many times as fast."""
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
    """What finds a text in any case of letters."""
    return re.compile(re.escape(text), re.IGNORECASE)
