"""The Linux programs that read text and print some of it, such as ``grep``, ``cut``, ``sort``, ``tr`` and ``wc``."""

from __future__ import annotations

import re
import string
from decimal import Decimal
from itertools import groupby

from engine.base.values import lazy_regex
from engine.shell.call import (
    Call,
    NotSimulated,
    Program,
    ProgramOptions,
    all_text,
    inputs,
    lines_of,
    read_input,
)
from engine.shell.files import FileStream
from engine.shell.patterns import Expression, NotExpression


@Program(
    "grep egrep fgrep",
    "q/quiet/silent v/invert-match i/ignore-case c/count y n/line-number E/extended-regexp F/fixed-strings "
    "G/basic-regexp x/line-regexp l/files-with-matches h/no-filename H/with-filename s/no-messages a/text e=/regexp "
    "I U/binary/line-buffered K?/color/colour",
)
def _grep(call: Call, options: ProgramOptions) -> int:
    """Print the lines that match: 0 if there is one, 1 if not, 2 after a mistake."""
    operands = options.operands
    sources = [source for letter, value in options.all if letter == "e" for source in value.split("\n")]
    if not sources:
        if not operands:
            return call.fail("Usage: grep [OPTION]... PATTERNS [FILE]...\nTry 'grep --help' for more information.", 2)
        sources, operands = operands[0].split("\n"), operands[1:]
    kind = options.last_of("EFG") or {"egrep": "E", "fgrep": "F"}.get(call.name, "G")
    ignore_case, whole = "i" in options or "y" in options, "x" in options
    try:
        expression = Expression(sources, kind == "E", ignore_case=ignore_case, fixed=kind == "F", whole=whole)
    except NotExpression as mistake:
        return call.fail(f"grep: {mistake}", 2)
    named = options.last_of("hH") != "h" and ("H" in options or len(operands) > 1)
    is_found = False
    for path, text in inputs(call, operands, quiet="s" in options):
        call.process.run.step((len(text) * (1 + (expression.size >> 3))) >> 6)
        chosen = [each for each in enumerate(lines_of(text), 1) if expression.found_in(each[1]) is not ("v" in options)]
        is_found |= bool(chosen)
        if "q" not in options:
            _show(call, options, chosen, "(standard input)" if path == "-" else path, named=named)
        elif is_found:
            return 0
    return 2 if call.status else int(not is_found)


def _show(call: Call, options: ProgramOptions, chosen: list[tuple[int, str]], name: str, *, named: bool) -> None:
    """Print the chosen lines of one text, which have numbers, or what the options ask for about them."""
    prefix = f"{name}:" if named else ""
    if "l" in options:
        call.out.append(f"{name}\n" if chosen else "")
    elif "c" in options:
        call.say(f"{prefix}{len(chosen)}")
    else:
        for number, line in chosen:
            call.say(prefix + (f"{number}:" if "n" in options else "") + line)


@Program("wc", "l/lines w/words c/bytes m/chars")
def _wc(call: Call, options: ProgramOptions) -> int:
    shown = [letter for letter in "lwmc" if letter in options] or ["l", "w", "c"]
    rows: list[tuple[list[int], str]] = []
    sizes = 0
    for path, text in inputs(call, options.operands):
        size = len(text.encode("utf-8", "surrogatepass"))
        if path != "-" and not text:
            size = call.process.files.size(call.process.key(path))  # of a downloaded file
        sizes += size
        counts = {"l": text.count("\n"), "w": len(text.split()), "m": len(text), "c": size}
        rows.append(([counts[letter] for letter in shown], "" if not options.operands else path))
    if len(options.operands) > 1:
        columns = list(zip(*(row for row, _ in rows), strict=True)) or [(0,)] * len(shown)
        rows.append((list(map(sum, columns)), "total"))
    width = len(str(sizes))
    if (not options.operands and not call.stdin.regular) or "-" in options.operands:
        width = max(width, 7)
    if len(shown) == 1 and len(options.operands) <= 1:
        width = 1
    for row, name in rows:
        call.say(" ".join(str(number).rjust(width) for number in row) + (f" {name}" if name else ""))
    return call.status


@Program("cut", "s/only-delimited n d=/delimiter f=/fields c=/characters b=/bytes")
def _cut(call: Call, options: ProgramOptions) -> int:
    listed = options.values.get("f") or options.values.get("c") or options.values.get("b") or ""
    ranges: list[tuple[int, int | None]] = []
    for item in listed.split(","):
        found = re.fullmatch(r"(\d{0,9})(-?)(\d{0,9})", item)
        if found is None or not (found[1] or found[3]):
            return call.misuse("you must specify a list of bytes, characters, or fields")
        low = int(found[1] or 1)
        ranges.append((low, int(found[3]) if found[3] else None if found[2] else low))
    delimiter = options.values.get("d", "\t")
    if len(delimiter) != 1:
        return call.misuse("the delimiter must be a single character")
    for line in lines_of(all_text(call, options.operands)):
        if "f" not in options:
            call.say("".join(_picked(list(line), ranges)))
        elif delimiter in line:
            call.say(delimiter.join(_picked(line.split(delimiter), ranges)))
        elif "s" not in options:
            call.say(line)
    return call.status


def _picked(parts: list[str], ranges: list[tuple[int, int | None]]) -> list[str]:
    return [
        part
        for index, part in enumerate(parts, start=1)
        if any(low <= index and (high is None or index <= high) for low, high in ranges)
    ]


_SETS = {
    "upper": string.ascii_uppercase, "lower": string.ascii_lowercase, "digit": string.digits, "space": " \t\n\v\f\r",
    "blank": " \t", "punct": string.punctuation, "alpha": string.ascii_uppercase + string.ascii_lowercase,
    "alnum": string.digits + string.ascii_uppercase + string.ascii_lowercase,
}  # fmt: skip
_SET_ITEM = lazy_regex(
    r"\[:(?P<named>[a-z]+):\]|(?P<low>\\[0-7]{1,3}|\\.|[^\\])-(?P<high>\\[0-7]{1,3}|\\.|[^\\])|(?P<one>\\[0-7]{1,3}|\\.|.)",
    re.DOTALL,
)
_SIGNS = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}


def _sign(text: str) -> str:
    if len(text) < 2:
        return text
    return chr(int(text[1:], 8) & 0xFF) if text[1] in "01234567" else _SIGNS.get(text[1], text[1])


def _set(text: str) -> str:
    found = []
    for item in _SET_ITEM.finditer(text):
        if item["named"]:
            if item["named"] not in _SETS:
                raise NotSimulated
            found.append(_SETS[item["named"]])
        elif item["low"]:
            low, high = ord(_sign(item["low"])), ord(_sign(item["high"]))
            found.append("".join(map(chr, range(low, min(high, low + 2000) + 1))))
        else:
            found.append(_sign(item["one"]))
    return "".join(found)


@Program("tr", "d/delete s/squeeze-repeats", least=1, most=2)
def _tr(call: Call, options: ProgramOptions) -> int:
    given = options.operands
    if len(given) < 2 and "d" not in options and "s" not in options:
        return call.misuse(f"missing operand after '{given[0][:80]}'\nTwo strings must be given when translating.")
    sets = [_set(text) for text in given]
    deletes, squeezes = "d" in options, "s" in options
    if deletes and len(sets) == 2 and not squeezes:
        reason = "Only one string may be given when deleting without squeezing repeats."
        return call.misuse(f"extra operand '{given[1][:80]}'\n{reason}")
    text = all_text(call, [])
    if deletes:
        text = text.translate(dict.fromkeys(map(ord, sets[0])))
    elif len(sets) == 2:
        second = sets[1]
        if not second:
            return call.fail("tr: when not truncating set1, string2 must be non-empty")
        table = {ord(sign): second[min(index, len(second) - 1)] for index, sign in enumerate(sets[0])}
        text = text.translate(table)
    if squeezes:
        repeated = set(sets[-1])
        text = "".join(
            sign for index, sign in enumerate(text) if not index or sign != text[index - 1] or sign not in repeated
        )
    call.out.append(text)
    return 0


@Program("tee", "a/append i/ignore-interrupts p")
def _tee(call: Call, options: ProgramOptions) -> int:
    text = call.stdin.read()
    call.out.append(text)
    process = call.process
    for path, key in call.keys(options.operands):
        if path == "/dev/null":
            continue
        if path in ("/dev/stderr", "/dev/stdout"):
            (call.err if path.endswith("err") else call.out).append(text)
            continue
        if process.files.is_dir(key) or not process.holds(key):
            call.fail(f"tee: {path}: No such file or directory")
            continue
        if "a" not in options:
            process.files.write(key, "")
        stream = FileStream(process.run, process.files, key, appends=True)
        stream.append(text)
        stream.flush()
    return call.status


@Program("cat", "u")
def _cat(call: Call, options: ProgramOptions) -> int:
    call.out.append(all_text(call, options.operands))
    return call.status


_NUMBER = lazy_regex(r"[ \t]*(-?)(\d*(?:\.\d*)?)", re.ASCII)


def _numeric(text: str) -> Decimal:
    found = _NUMBER.match(text)
    assert found is not None
    value = Decimal(found[2]) if found[2].strip(".") else Decimal(0)
    return -value if found[1] else value


@Program(
    "sort",
    "b/ignore-leading-blanks f/ignore-case n/numeric-sort r/reverse s/stable u/unique "
    "S=/buffer-size/parallel/batch-size T=/temporary-directory",
)
def _sort(call: Call, options: ProgramOptions) -> int:
    """Print the lines in order."""
    lines = list[str]()
    for path in options.operands or ["-"]:
        text = read_input(call, path)
        if text is None:
            return 2
        lines += lines_of(text)
    call.process.run.step(len(lines))

    def value(line: str) -> Decimal | str:
        line = line.lstrip(" \t") if "b" in options else line
        line = line.upper() if "f" in options else line
        return _numeric(line) if "n" in options else line

    if not {"s", "u"} & options.values.keys():
        lines.sort(reverse="r" in options)
    lines.sort(key=value, reverse="r" in options)
    if "u" in options:
        lines = [next(same) for _, same in groupby(lines, value)]
    call.out.append("".join(f"{line}\n" for line in lines))
    return 0


@Program("uniq", "c/count d/repeated u/unique i/ignore-case")
def _uniq(call: Call, options: ProgramOptions) -> int:
    """Print each of several equal lines in a row once."""
    if len(options.operands) > 1:  # the second one is a file to write
        raise NotSimulated
    text = all_text(call, options.operands)
    if call.status:
        return call.status
    parts = []
    for _, group in groupby(lines_of(text), str.lower if "i" in options else str):
        line, *others = group
        count = len(others) + 1
        if ("d" in options and count == 1) or ("u" in options and count > 1):
            continue
        parts.append(f"{count:7d} {line}\n" if "c" in options else f"{line}\n")
    call.out.append("".join(parts))
    return 0
