"""The Linux programs that read text and print some of it."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal

from engine.executors.commands import Builtin, Call, NotSimulated, Options
from engine.executors.grep_command import grep
from engine.executors.sort_commands import sort, uniq
from engine.executors.streams import FileStream
from engine.executors.text_input import WHOLE, all_text, inputs, lines_of


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
    if not WHOLE.fullmatch(number):
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
    text, status = all_text(call, options.operands)
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
    "egrep": grep,
    "fgrep": grep,
    "grep": grep,
    "head": _head,
    "seq": _seq,
    "sort": sort,
    "tail": _tail,
    "tee": _tee,
    "tr": _tr,
    "uniq": uniq,
    "wc": _wc,
}
