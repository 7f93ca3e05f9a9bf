"""An index of the lines of a text, for fast access and search."""

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
