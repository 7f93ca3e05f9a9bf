"""The Linux programs that read text and print some of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from decimal import Decimal, InvalidOperation
from functools import cmp_to_key
from itertools import pairwise

from engine.executors.commands import Builtin, Call, NotSimulated, Options
from engine.executors.regular_expressions import Expression, NotExpression
from engine.executors.streams import FileStream

_WHOLE = re.compile(r"\d{1,9}")


def lines_of(text: str) -> list[str]:
    """Return the lines of a text without their ends; a last one may have none."""
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    return lines


def inputs(call: Call, paths: list[str]) -> Iterator[tuple[str, str | None]]:
    """Yield each operand with its text, standard input for ``-`` and without operands; None if it cannot be read."""
    for path in paths or ["-"]:
        if path in ("-", "/dev/stdin"):
            text: str | None = call.stdin.read()
        else:
            text = call.process.read(path)
            if text is None:
                directory = call.process.files.is_dir(call.process.key(path))
                call.fail(f"{call.name}: {path}: {'Is a directory' if directory else 'No such file or directory'}")
        call.process.run.step(len(text or "") >> 6)
        yield path, text


def _all_text(call: Call, paths: list[str]) -> tuple[str, int]:
    """Return the text of all operands together, and 1 if one of them cannot be read."""
    texts: list[str] = []
    status = 0
    for _, text in inputs(call, paths):
        status = status if text is not None else 1
        texts.append(text or "")
    return "".join(texts), status


def _write_lines(call: Call, lines: list[str]) -> None:
    if lines:
        call.out.append("\n".join(lines) + "\n")


# -- head, tail, wc --------------------------------------------------------------------------------------------------


def _part(call: Call, default_sign: str) -> tuple[bool, str, int, Options]:
    """Return whether bytes count, the sign of the number, the number and the options of ``head`` and ``tail``."""
    args = call.args
    if args and (old := re.fullmatch(r"[-+](\d{1,9})", args[0])) and (args[0][0] == "-" or call.name == "tail"):
        call = Call(call.process, call.name, ["-n", args[0].lstrip("-"), *args[1:]], "", call.stdin, call.out, call.err)
        del old
    options = Options(call, "qv", "nc", {"lines": "n", "bytes": "c", "quiet": "q"})
    given = options.values.get("c", options.values.get("n", "10"))
    sign = given[:1] if given[:1] in ("+", "-") else default_sign
    number = given.lstrip("+-")
    if not _WHOLE.fullmatch(number):
        raise NotSimulated
    return "c" in options, sign, int(number), options


def _of_each(call: Call, options: Options, chosen: Callable[[str], str]) -> int:
    status, first = 0, True
    several = (len(options.operands) > 1 and "q" not in options) or "v" in options
    for path, text in inputs(call, options.operands):
        if text is None:
            status = 1
            continue
        if several:
            name = "standard input" if path == "-" else path
            call.out.append(f"{'' if first else chr(10)}==> {name} <==\n")
        first = False
        call.out.append(chosen(text))
    return status


def _head(call: Call) -> int:
    in_bytes, sign, number, options = _part(call, "+")
    if not options.operands and not in_bytes and sign == "+":
        return _first_lines(call, number)

    def chosen(text: str) -> str:
        parts: str | list[str] = (
            text if in_bytes else text.splitlines(keepends=True) if "\r" not in text else _kept(text)
        )
        return "".join(parts[:-number] if sign == "-" and number else parts if sign == "-" else parts[:number])

    return _of_each(call, options, chosen)


def _first_lines(call: Call, number: int) -> int:
    """Print the first lines of standard input and leave a regular file after them."""
    for _ in range(number):
        line = call.stdin.line()
        if not line:
            break
        call.out.append(line)
        call.process.run.step(len(line) >> 6)
    if not call.stdin.regular:
        call.stdin.read()
    return 0


def _kept(text: str) -> list[str]:
    """Return the lines of a text with their ends, which are line feeds only."""
    return [line for line in re.split(r"(?<=\n)", text) if line]


def _tail(call: Call) -> int:
    in_bytes, sign, number, options = _part(call, "-")

    def chosen(text: str) -> str:
        parts: str | list[str] = text if in_bytes else _kept(text)
        if sign == "+":
            return "".join(parts[max(number - 1, 0) :])
        return "".join(parts[-number:] if number else parts[:0])

    return _of_each(call, options, chosen)


def _wc(call: Call) -> int:
    options = Options(call, "lwcm", "", {"lines": "l", "words": "w", "bytes": "c", "chars": "m"})
    shown = [letter for letter in "lwmc" if letter in options] or ["l", "w", "c"]
    rows: list[tuple[list[int], str]] = []
    status = 0
    sizes = 0
    for path, text in inputs(call, options.operands):
        if text is None:
            status = 1
            continue
        size = len(text.encode("utf-8", "surrogatepass"))
        if path != "-" and not text:
            size = call.process.files.size(call.process.key(path))  # of a downloaded file
        sizes += size
        counts = {"l": text.count("\n"), "w": len(text.split()), "m": len(text), "c": size}
        rows.append(([counts[letter] for letter in shown], "" if not options.operands else path))
    if len(options.operands) > 1:
        rows.append(
            ([sum(column) for column in zip(*(row for row, _ in rows), strict=True)] or [0] * len(shown), "total")
        )
    width = len(str(sizes))
    if (not options.operands and not call.stdin.regular) or "-" in options.operands:
        width = max(width, 7)
    if len(shown) == 1 and len(options.operands) <= 1:
        width = 1
    for row, name in rows:
        call.say(" ".join(str(number).rjust(width) for number in row) + (f" {name}" if name else ""))
    return status


# -- grep ------------------------------------------------------------------------------------------------------------

_GREP_WORDS = {
    "quiet": "q", "silent": "q", "invert-match": "v", "ignore-case": "i", "count": "c", "line-number": "n",
    "extended-regexp": "E", "fixed-strings": "F", "regexp": "e", "line-regexp": "x", "only-matching": "o",
    "files-with-matches": "l", "no-filename": "h", "with-filename": "H", "no-messages": "s", "max-count": "m",
    "recursive": "r", "word-regexp": "w",
}  # fmt: skip


def _grep(call: Call) -> int:
    options = Options(call, "qvicnEFGxolLhHsrRaw", "em", _GREP_WORDS)
    expressions = [value for letter, value in options.all if letter == "e"]
    operands = options.operands
    if not expressions:
        if not operands:
            return call.fail("Usage: grep [OPTION]... PATTERNS [FILE]...", 2)
        expressions, operands = [operands[0]], operands[1:]
    if "w" in options or "L" in options:
        raise NotSimulated
    extended = "E" in options or call.name == "egrep"
    fixed = "F" in options or call.name == "fgrep"
    try:
        expression = Expression("\n".join(expressions), extended=extended, ignore_case="i" in options, fixed=fixed)
    except NotExpression as mistake:
        return call.fail(f"grep: {mistake}", 2)
    deep = "r" in options or "R" in options
    search = _Search(call, options, expression)
    paths = _files_below(call, operands or ["."]) if deep else operands
    search.named = ("H" in options or len(operands) > 1 or deep) and "h" not in options
    return search.run(paths)


def _files_below(call: Call, paths: list[str]) -> list[str]:
    """Return the files in directories, and the other operands as they are."""
    found: list[str] = []
    process = call.process
    for path in paths:
        key = process.key(path)
        if not process.files.is_dir(key):
            found.append(path)
            continue
        inside = [name for name in process.files.walk(key) if process.files.read(name) is not None]
        process.run.step(len(inside) >> 2)
        found += [f"{path}/{name[len(key) + 1 if key else 0 :]}" for name in inside]
    return found


class _Search:
    def __init__(self, call: Call, options: Options, expression: Expression) -> None:
        self.call = call
        self.options = options
        self.expression = expression
        self.named = False
        limit = options.values.get("m", "")
        self.limit = int(limit) if _WHOLE.fullmatch(limit) else None

    def run(self, paths: list[str]) -> int:
        found, failed = False, False
        errors = len(self.call.err.parts)
        for path, text in inputs(self.call, paths):
            if text is None:
                failed = True
                if "s" in self.options:
                    del self.call.err.parts[errors:]
                continue
            found = self._in(text, "(standard input)" if path == "-" else path) or found
            if found and "q" in self.options:
                return 0
        return 2 if failed else int(not found)

    def _in(self, text: str, name: str) -> bool:
        options, count = self.options, 0
        prefix = f"{name}:" if self.named else ""
        run = self.call.process.run
        run.step((len(text) * (1 + (self.expression.size >> 4))) >> 6)
        for number, line in enumerate(lines_of(text), start=1):
            if self.limit is not None and count >= self.limit:
                break
            if self._matches(line) is ("v" in options):
                continue
            count += 1
            if "q" in options or "l" in options:
                break
            if "c" not in options:
                self._show(prefix + (f"{number}:" if "n" in options else ""), line)
        if "q" not in options and "l" in options and count:
            self.call.say(name)
        elif "q" not in options and "l" not in options and "c" in options:
            self.call.say(f"{prefix}{count}")
        return count > 0

    def _matches(self, line: str) -> bool:
        if "x" in self.options:
            return self.expression.match_end(line, 0) == len(line)
        return self.expression.found_in(line)

    def _show(self, prefix: str, line: str) -> None:
        if "o" not in self.options:
            self.call.say(prefix + line)
        elif "v" not in self.options:
            self.call.process.run.step(len(line))
            for begin, end in self.expression.spans(line):
                self.call.say(prefix + line[begin:end])


# -- sort, uniq ------------------------------------------------------------------------------------------------------

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


def _sort(call: Call) -> int:
    words = {"numeric-sort": "n", "reverse": "r", "unique": "u", "key": "k", "field-separator": "t", "stable": "s"}
    options = Options(call, "nrufbgsc", "kto", words)
    order = _Order(options)
    text, failed = _all_text(call, options.operands)
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
        _write_lines(call, lines)
    return 0


def _uniq(call: Call) -> int:
    options = Options(call, "cdui", "", {"count": "c", "repeated": "d", "unique": "u", "ignore-case": "i"})
    if len(options.operands) > 1:
        raise NotSimulated
    text, status = _all_text(call, options.operands)
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


# -- cut, tr, tee, seq -----------------------------------------------------------------------------------------------


def _cut(call: Call) -> int:
    options = Options(call, "s", "dfcb", {"delimiter": "d", "fields": "f", "characters": "c", "bytes": "b"})
    listed = options.values.get("f") or options.values.get("c") or options.values.get("b") or ""
    ranges: list[tuple[int, int | None]] = []
    for item in listed.split(","):
        found = re.fullmatch(r"(\d{0,9})(-?)(\d{0,9})", item)
        if found is None or not (found[1] or found[3]):
            return call.fail("cut: you must specify a list of bytes, characters, or fields")
        low = int(found[1] or 1)
        ranges.append((low, int(found[3]) if found[3] else None if found[2] else low))
    delimiter = options.values.get("d", "\t")
    if len(delimiter) != 1:
        return call.fail("cut: the delimiter must be a single character")
    text, status = _all_text(call, options.operands)
    for line in lines_of(text):
        if "f" not in options:
            call.say("".join(_picked(list(line), ranges)))
        elif delimiter in line:
            call.say(delimiter.join(_picked(line.split(delimiter), ranges)))
        elif "s" not in options:
            call.say(line)
    return status


def _picked(parts: list[str], ranges: list[tuple[int, int | None]]) -> list[str]:
    return [
        part
        for index, part in enumerate(parts, start=1)
        if any(low <= index and (high is None or index <= high) for low, high in ranges)
    ]


_SETS = {
    "upper": "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "lower": "abcdefghijklmnopqrstuvwxyz",
    "digit": "0123456789",
    "space": " \t\n\v\f\r",
    "blank": " \t",
    "punct": "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~",
}
_SETS["alpha"] = _SETS["upper"] + _SETS["lower"]
_SETS["alnum"] = _SETS["digit"] + _SETS["alpha"]
_SET_ITEM = re.compile(
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


def _tr(call: Call) -> int:
    options = Options(call, "dscC", "", {"delete": "d", "squeeze-repeats": "s", "complement": "c"})
    sets = [_set(text) for text in options.operands]
    deletes, squeezes = "d" in options, "s" in options
    if not sets or len(sets) > 2 or (len(sets) < 2 and not (deletes or squeezes)):
        return call.fail("tr: missing operand")
    if deletes and len(sets) == 2 and not squeezes:
        return call.fail("tr: extra operand")
    first = sets[0]
    complement = "c" in options or "C" in options
    ((_, text),) = inputs(call, [])
    text = text or ""
    chosen = set(first)
    if deletes:
        text = "".join(sign for sign in text if (sign in chosen) is complement)
    elif len(sets) == 2:
        second = sets[1]
        if not second:
            return call.fail("tr: when not truncating set1, string2 must be non-empty")
        if complement:
            text = "".join(sign if sign in chosen else second[-1] for sign in text)
        else:
            table = {ord(sign): second[min(index, len(second) - 1)] for index, sign in enumerate(first)}
            text = text.translate(table)
    if squeezes:
        repeated = set(sets[-1])
        inverse = complement and len(sets) == 1
        text = "".join(
            sign
            for index, sign in enumerate(text)
            if not index or sign != text[index - 1] or (sign in repeated) is inverse
        )
    call.out.append(text)
    return 0


def _tee(call: Call) -> int:
    options = Options(call, "ai", "", {"append": "a"})
    text = call.stdin.read()
    call.out.append(text)
    process, status = call.process, 0
    for path in options.operands:
        if path == "/dev/null":
            continue
        if path in ("/dev/stderr", "/dev/stdout"):
            (call.err if path.endswith("err") else call.out).append(text)
            continue
        key = process.key(path)
        if process.files.is_dir(key) or not process.holds(key):
            status = call.fail(f"tee: {path}: No such file or directory")
            continue
        if "a" not in options:
            process.files.write(key, "")
        stream = FileStream(process.run, process.files, key)
        stream.append(text)
        stream.flush()
    return status


_NUMBER = re.compile(r"[-+]?(?:\d{1,15}(?:\.\d{0,9})?|\.\d{1,9})")


def _seq(call: Call) -> int:
    separator, wide = "\n", False
    args = list(call.args)
    while args and args[0].startswith("-") and not _NUMBER.fullmatch(args[0]):
        option = args.pop(0)
        if option == "-w":
            wide = True
        elif option.startswith("-s"):
            separator = option[2:] or (args.pop(0) if args else "")
        else:
            raise NotSimulated
    if not 1 <= len(args) <= 3 or not all(_NUMBER.fullmatch(argument) for argument in args):
        return call.fail("seq: a number is missing or invalid")
    numbers = [Decimal(argument) for argument in args]
    first = numbers[0] if len(numbers) > 1 else Decimal(1)
    increment = numbers[1] if len(numbers) == 3 else Decimal(1)
    last = numbers[-1]
    if not increment:
        return call.fail("seq: invalid Zero increment value: '0'")
    given = args[:-1] if len(args) > 1 else []
    places = max((len(argument.partition(".")[2]) for argument in given), default=0)
    count = int((last - first) / increment) + 1 if (last - first) * increment >= 0 else 0
    call.process.run.step(min(count, 10**9) >> 5)
    texts = [f"{first + index * increment:.{places}f}" for index in range(count)]
    if wide and texts:
        width = max(map(len, texts))
        texts = [text.zfill(width) for text in texts]
    if texts:
        call.out.append(separator.join(texts) + "\n")
    return 0


def _cat(call: Call) -> int:
    options = Options(call, "nuAbsvTeEt", "", {"number": "n"})
    if any(letter in options for letter in "AbsvTeEt"):
        raise NotSimulated
    status, number = 0, 0
    for _, text in inputs(call, options.operands):
        if text is None:
            status = 1
        elif "n" in options:
            for line in _kept(text):
                number += 1
                call.out.append(f"{number:6d}\t{line}")
        else:
            call.out.append(text)
    return status


TEXT_COMMANDS: dict[str, Builtin] = {
    "cat": _cat,
    "cut": _cut,
    "egrep": _grep,
    "fgrep": _grep,
    "grep": _grep,
    "head": _head,
    "seq": _seq,
    "sort": _sort,
    "tail": _tail,
    "tee": _tee,
    "tr": _tr,
    "uniq": _uniq,
    "wc": _wc,
}
