"""``sort`` and ``uniq`` of Linux."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from functools import cmp_to_key

from engine.base.lazy import lazy_regex
from engine.executors.shell.programs.call import Call, WrongUsage
from engine.executors.shell.programs.options import OptionTable, ProgramOptions
from engine.executors.shell.programs.sort_keys import ORDERS, sort_keys
from engine.executors.shell.programs.text_input import WHOLE, all_text, inputs, lines_of

_SORT = OptionTable(
    ORDERS + "cCmsuz",
    "kotST5",
    {
        "ignore-leading-blanks": "b", "dictionary-order": "d", "ignore-case": "f", "general-numeric-sort": "g",
        "human-numeric-sort": "h", "ignore-nonprinting": "i", "month-sort": "M", "numeric-sort": "n",
        "random-sort": "R", "reverse": "r", "version-sort": "V", "check": "6", "merge": "m", "key": "k", "output": "o",
        "stable": "s",
        "field-separator": "t", "unique": "u", "zero-terminated": "z", "sort": "5", "buffer-size": "S",
        "temporary-directory": "T", "parallel": "S", "batch-size": "S", "compress-program": "", "debug": "",
        "files0-from": "", "random-source": "",
    },
    optional="6",
    usage=2,
)  # fmt: skip
_SORTS = {
    "general-numeric": "g", "human-numeric": "h", "month": "M", "numeric": "n", "random": "R", "version": "V",
}  # fmt: skip


class _Order:
    """The order of lines by their keys, and then as a whole unless ``sort`` is stable."""

    def __init__(self, options: ProgramOptions) -> None:
        self.keys = sort_keys(options)
        self.by_keys_only = "s" in options or "u" in options
        self.reverse = "r" in options

    def sort(self, lines: list[str]) -> None:
        """Sort the lines: by the least important key first, since Python's sort keeps the order of equal ones."""
        if not self.by_keys_only:
            lines.sort(reverse=self.reverse)
        for key in reversed(self.keys):
            lines.sort(key=key.value, reverse=key.is_reversed)

    def by_keys(self, first: str, second: str) -> int:
        """Compare two lines by their keys only."""
        for key in self.keys:
            left, right = key.value(first), key.value(second)
            if left != right:
                return 1 if (left < right) is key.is_reversed else -1
        return 0

    def compared(self, first: str, second: str) -> int:
        """Compare two lines."""
        order = self.by_keys(first, second)
        if order == 0 and first != second and not self.by_keys_only:
            return 1 if (first < second) is self.reverse else -1
        return order


def sort(call: Call) -> int:
    """Print the lines in order."""
    options = ProgramOptions(call, _SORT)
    if "5" in options:
        names = [name for name in _SORTS if name.startswith(options.values["5"])]
        if len(names) != 1:
            return call.misuse(f"invalid argument '{options.values['5'][:80]}' for '--sort'", 2)
        options.values[_SORTS[names[0]]] = ""
    try:
        order = _Order(options)
    except WrongUsage as mistake:
        return call.fail(f"sort: {mistake}", 2)
    quiet = "C" in options or options.values.get("6", "") in ("quiet", "silent")
    checks = bool({"c", "C", "6"} & options.values.keys())
    if checks and len(options.operands) > 1:
        letter = "C" if quiet else "c"
        return call.fail(f"sort: extra operand '{options.operands[1][:80]}' not allowed with -{letter}", 2)
    end = "\0" if "z" in options else "\n"
    texts: list[list[str]] = []
    for _, text in inputs(call, options.operands):
        if text is None:
            return 2
        texts.append(lines_of(text, end))
    call.process.run.step(sum(map(len, texts)) * len(order.keys))
    if checks:
        return _check(call, order, texts[0], unique="u" in options, quiet=quiet)
    if "m" in options:
        lines = list(heapq.merge(*texts, key=cmp_to_key(order.compared)))
    else:
        lines = [line for each in texts for line in each]
        order.sort(lines)
    if "u" in options:
        lines = [line for index, line in enumerate(lines) if not index or order.by_keys(lines[index - 1], line)]
    return _write(call, options.values.get("o", ""), "".join(line + end for line in lines))


def _check(call: Call, order: _Order, lines: list[str], *, unique: bool, quiet: bool) -> int:
    """Report the first line that is out of order."""
    for number in range(1, len(lines)):
        difference = order.compared(lines[number - 1], lines[number])
        if difference > 0 or (unique and difference == 0):
            if not quiet:
                name = call.args[-1] if call.args and not call.args[-1].startswith("-") else "-"
                call.fail(f"sort: {name}:{number + 1}: disorder: {lines[number]}")
            return 1
    return 0


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


_UNIQ = OptionTable(
    "cduiz",
    "fsw",
    {
        "count": "c", "repeated": "d", "unique": "u", "ignore-case": "i", "skip-fields": "f", "skip-chars": "s",
        "check-chars": "w", "zero-terminated": "z", "all-repeated": "", "group": "",
    },
    others="D",
)  # fmt: skip
_SKIPPED_FIELD = lazy_regex(r"[ \t]*[^ \t]*")


def uniq(call: Call) -> int:
    """Print each of several equal lines in a row once."""
    options = ProgramOptions(call, _UNIQ)
    if len(options.operands) > 2:
        return call.misuse(f"extra operand '{options.operands[2][:80]}'")
    for letter, what in (("f", "fields to skip"), ("s", "bytes to skip"), ("w", "bytes to compare")):
        if not WHOLE.fullmatch(options.values.get(letter, "0")):
            return call.fail(f"uniq: {options.values[letter][:80]}: invalid number of {what}")
    text, status = all_text(call, options.operands[:1])
    if status:
        return status
    end = "\0" if "z" in options else "\n"
    parts = []
    for line, count in _groups(lines_of(text, end), options):
        if ("d" in options and count == 1) or ("u" in options and count > 1):
            continue
        parts.append(f"{count:7d} {line}{end}" if "c" in options else line + end)
    return _write(call, options.operands[1] if len(options.operands) > 1 else "", "".join(parts))


def _groups(lines: list[str], options: ProgramOptions) -> Iterator[tuple[str, int]]:
    """Yield the first of equal lines in a row, with their number."""
    fields, signs = int(options.values.get("f", "0")), int(options.values.get("s", "0"))
    most = int(options.values["w"]) if "w" in options else None

    def compared(line: str) -> str:
        at = 0
        for _ in range(fields):
            found = _SKIPPED_FIELD.match(line, at)
            if found is None or at == len(line):
                break
            at = found.end()
        part = line[at + signs :][:most]
        return part.lower() if "i" in options else part

    first, count, last = "", 0, ""
    for line in lines:
        value = compared(line)
        if count and value == last:
            count += 1
            continue
        if count:
            yield first, count
        first, count, last = line, 1, value
    if count:
        yield first, count
