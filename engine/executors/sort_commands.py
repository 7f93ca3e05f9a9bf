"""``sort`` and ``uniq`` of Linux."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from functools import cmp_to_key
from itertools import pairwise

from engine.executors.commands import Call, NotSimulated, Options
from engine.executors.text_input import all_text, lines_of, write_lines

_LEADING = re.compile(r"[ \t]*(-?\d*(?:\.\d*)?)")
_KEY = re.compile(r"(\d{1,4})(?:\.\d+)?([bnrfg]*)(?:,(\d{1,4})(?:\.\d+)?([bnrfg]*))?")


def _value(text: str) -> Decimal:
    found = _LEADING.match(text)
    try:
        return Decimal(found[1]) if found else Decimal(0)
    except InvalidOperation:
        return Decimal(0)


class _Key:
    """A key of ``sort``: fields from first to last, and letters of options."""

    def __init__(self, first: int, last: int, letters: str, separator: str) -> None:
        self.first = first
        self.last = last
        self.letters = letters
        self.separator = separator

    def of(self, line: str) -> str | Decimal:
        if self.first:
            parts = line.split(self.separator) if self.separator else re.findall(r"[ \t]*[^ \t]+", line)
            line = (self.separator or "").join(parts[self.first - 1 : self.last or None])
        if "b" in self.letters:
            line = line.lstrip(" \t")
        if "n" in self.letters or "g" in self.letters:
            return _value(line)
        return line.upper() if "f" in self.letters else line


def _keys(options: Options) -> list[tuple[_Key, bool]]:
    """Return the keys of ``sort``, each with whether its order is reversed."""
    letters = "".join(letter for letter in "nfbg" if letter in options)
    keys: list[tuple[_Key, bool]] = []
    for _, text in [pair for pair in options.all if pair[0] == "k"]:
        found = _KEY.fullmatch(text)
        if found is None:
            raise NotSimulated
        given = found[2] + (found[4] or "")
        key = _Key(int(found[1]), int(found[3] or 0), given or letters, options.values.get("t", ""))
        keys.append((key, "r" in given if given else "r" in options))
    return keys or [(_Key(0, 0, letters, ""), "r" in options)]


class _Order:
    """The order of lines by their keys, and then as a whole unless ``sort`` is stable."""

    def __init__(self, options: Options) -> None:
        self.keys = _keys(options)
        self.by_keys_only = "s" in options or "u" in options
        self.reverse = "r" in options

    def by_keys(self, first: str, second: str) -> int:
        for key, reverse in self.keys:
            left, right = key.of(first), key.of(second)
            if left != right:
                less = left < right  # type: ignore[operator]  # both are of one kind
                return 1 if less is reverse else -1
        return 0

    def compared(self, first: str, second: str) -> int:
        order = self.by_keys(first, second)
        if order == 0 and first != second and not self.by_keys_only:
            return 1 if (first < second) is self.reverse else -1
        return order


def sort(call: Call) -> int:
    """Print the lines in order."""
    words = {"numeric-sort": "n", "reverse": "r", "unique": "u", "key": "k", "field-separator": "t", "stable": "s"}
    options = Options(call, "nrufbgsc", "kto", words)
    order = _Order(options)
    text, failed = all_text(call, options.operands)
    if failed:
        return 2
    lines = lines_of(text)
    call.process.run.step(len(lines) * len(order.keys))
    if "c" in options:
        if any(order.compared(first, second) > 0 for first, second in pairwise(lines)):
            return call.fail(f"sort: {options.operands[0] if options.operands else '-'}: disorder")
        return 0
    lines.sort(key=cmp_to_key(order.compared))
    if "u" in options:
        lines = [line for index, line in enumerate(lines) if not index or order.by_keys(lines[index - 1], line)]
    if target := options.values.get("o"):
        call.process.files.write(call.process.key(target), "".join(line + "\n" for line in lines))
    else:
        write_lines(call, lines)
    return 0


def uniq(call: Call) -> int:
    """Print each of several equal lines in a row once."""
    options = Options(call, "cdui", "", {"count": "c", "repeated": "d", "unique": "u", "ignore-case": "i"})
    if len(options.operands) > 1:
        raise NotSimulated
    text, status = all_text(call, options.operands)
    groups: list[tuple[str, int]] = []
    for line in lines_of(text):
        same = groups and (line.lower() == groups[-1][0].lower() if "i" in options else line == groups[-1][0])
        if same:
            groups[-1] = (groups[-1][0], groups[-1][1] + 1)
        else:
            groups.append((line, 1))
    for line, count in groups:
        if ("d" in options and count == 1) or ("u" in options and count > 1):
            continue
        call.say(f"{count:7d} {line}" if "c" in options else line)
    return status
