"""``sort`` and ``uniq`` of Linux.

A key of ``sort`` is the part of a line that is compared, and the value that its order is by.
"""

from __future__ import annotations

import re
from decimal import Decimal
from itertools import groupby
from typing import Any, NamedTuple

from engine.base.values import lazy_regex
from engine.shell.call import Call, NotSimulated, Program, ProgramOptions, WrongUsage, all_text, lines_of, read_input

ORDERS = "bfnr"
"""The letters of orders, which a key may have too."""

_KEY = lazy_regex(rf"(\d{{1,9}})([{ORDERS}]*)(?:,(\d{{1,9}})([{ORDERS}]*))?", re.ASCII)
_NUMBER = lazy_regex(r"[ \t]*(-?)(\d*(?:\.\d*)?)", re.ASCII)
_FIELD = lazy_regex(r"[ \t]*[^ \t]*")


def _numeric(text: str) -> Decimal:
    found = _NUMBER.match(text)
    assert found is not None
    value = Decimal(found[2]) if found[2].strip(".") else Decimal(0)
    return -value if found[1] else value


class SortKey(NamedTuple):
    """A key: from one field to another, or to the end of the line if ``last`` is 0; all of it if ``first`` is 0."""

    first: int
    last: int
    letters: str
    separator: str

    def value(self, line: str) -> Any:  # noqa: ANN401 (a string, a number or a tuple)
        """Return the value of a line, which is of one kind for all lines."""
        begin = self._span(line, self.first)[0] if self.first else 0
        text = line[begin : self._span(line, self.last)[1] if self.last else len(line)]
        letters = self.letters
        if "b" in letters:
            text = text.lstrip(" \t")
        if "f" in letters:
            text = text.upper()
        return _numeric(text) if "n" in letters else text

    def _span(self, line: str, number: int) -> tuple[int, int]:
        """Return where a field begins and ends; blanks before it belong to it if there is no separator."""
        begin, end = 0, self._end(line, 0)
        for _ in range(number - 1):
            if end >= len(line):
                return len(line), len(line)
            begin = end + len(self.separator)
            end = self._end(line, begin)
        return begin, end

    def _end(self, line: str, begin: int) -> int:
        if self.separator:
            end = line.find(self.separator, begin)
            return len(line) if end < 0 else end
        found = _FIELD.match(line, begin)
        assert found is not None
        return found.end()


def sort_keys(options: ProgramOptions) -> list[SortKey]:
    """Return the keys that the options of ``sort`` name.

    Raises:
        WrongUsage: A key or the separator is none.
        NotSimulated: A key counts characters, or has an order that is not known here.
    """
    separator = options.values.get("t", "")
    separator = "\0" if separator == "\\0" else separator
    if len(separator) > 1 or ("t" in options and not separator):
        raise WrongUsage(f"multi-character tab '{separator[:80]}'" if separator else "empty tab", 2)
    letters = "".join(letter for letter in ORDERS if letter in options)
    keys = [_key(text, letters, separator) for letter, text in options.all if letter == "k"]
    return keys or [SortKey(0, 0, letters, separator)]


def _key(text: str, letters: str, separator: str) -> SortKey:
    found = _KEY.fullmatch(text)
    if found is None:
        raise NotSimulated
    first, last = int(found[1]), int(found[3] or 0)
    if not first or (found[3] and not last):
        raise WrongUsage(f"field number is zero: invalid field specification '{text[:80]}'", 2)
    own = found[2] + (found[4] or "")
    given = own or letters
    if own and "b" not in found[2]:
        given = given.replace("b", "")
    return SortKey(first, last, given, separator)


@Program(
    "sort",
    "b/ignore-leading-blanks f/ignore-case n/numeric-sort r/reverse s/stable "
    "u/unique z!/zero-terminated k=/key o=/output t=/field-separator S=/buffer-size/parallel/batch-size "
    "T=/temporary-directory d!/dictionary-order g!/general-numeric-sort h!/human-numeric-sort i!/ignore-nonprinting "
    "M!/month-sort V!/version-sort R!/random-sort m!/merge c!/check C! /sort /compress-program /debug /files0-from "
    "/random-source",
    usage=2,
)
def _sort(call: Call, options: ProgramOptions) -> int:
    """Print the lines in order."""
    try:
        keys = sort_keys(options)
    except WrongUsage as mistake:
        return call.fail(f"sort: {mistake}", 2)
    lines = list[str]()
    for path in options.operands or ["-"]:
        text = read_input(call, path)
        if text is None:
            return 2
        lines += lines_of(text)
    call.process.run.step(len(lines) * len(keys))
    if not {"s", "u"} & options.values.keys():
        lines.sort(reverse="r" in options)
    for key in reversed(keys):  # the least important one first, since Python's sort keeps the order of equal lines
        lines.sort(key=key.value, reverse="r" in key.letters)
    if "u" in options:
        lines = [next(same) for _, same in groupby(lines, lambda line: [key.value(line) for key in keys])]
    return _write(call, options.values.get("o", ""), "".join(f"{line}\n" for line in lines))


def _write(call: Call, path: str, text: str) -> int:
    if not path:
        call.out.append(text)
        return 0
    process, key = call.process, call.process.key(path)
    if path == "/dev/null":
        return 0
    if process.files.is_dir(key) or not process.holds(key):
        reason = "Is a directory" if process.files.is_dir(key) else "No such file or directory"
        return call.fail(f"sort: open failed: {path}: {reason}", 2)
    process.files.write(key, text)
    return 0


@Program(
    "uniq",
    "c/count d/repeated u/unique i/ignore-case z!/zero-terminated f!/skip-fields s!/skip-chars w!/check-chars D! "
    "/all-repeated /group",
    most=2,
)
def _uniq(call: Call, options: ProgramOptions) -> int:
    """Print each of several equal lines in a row once."""
    text = all_text(call, options.operands[:1])
    if call.status:
        return call.status
    parts = []
    for _, group in groupby(lines_of(text), str.lower if "i" in options else str):
        line, *others = group
        count = len(others) + 1
        if ("d" in options and count == 1) or ("u" in options and count > 1):
            continue
        parts.append(f"{count:7d} {line}\n" if "c" in options else f"{line}\n")
    return _write(call, options.operands[1] if len(options.operands) > 1 else "", "".join(parts))
