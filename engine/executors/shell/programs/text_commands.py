"""The Linux programs that read text and print some of it."""

from __future__ import annotations

import re

from engine.base.lazy import lazy_regex
from engine.executors.shell.programs.call import Builtin, Call, NotSimulated
from engine.executors.shell.programs.grep_command import grep
from engine.executors.shell.programs.head_and_tail import head, tail
from engine.executors.shell.programs.options import OptionTable, ProgramOptions
from engine.executors.shell.programs.seq_command import seq
from engine.executors.shell.programs.sort_commands import sort, uniq
from engine.executors.shell.programs.streams import FileStream
from engine.executors.shell.programs.text_input import all_text, inputs, lines_of, with_ends

_WC = OptionTable(
    "lwcmL", "", {"lines": "l", "words": "w", "bytes": "c", "chars": "m", "max-line-length": "L", "files0-from": ""}
)


def _wc(call: Call) -> int:
    options = ProgramOptions(call, _WC)
    shown = [letter for letter in "lwmcL" if letter in options] or ["l", "w", "c"]
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
        counts = {"l": text.count("\n"), "w": len(text.split()), "m": len(text), "c": size, "L": _longest(text)}
        rows.append(([counts[letter] for letter in shown], "" if not options.operands else path))
    if len(options.operands) > 1:
        rows.append(([_total(letter, [row[index] for row, _ in rows]) for index, letter in enumerate(shown)], "total"))
    width = len(str(sizes))
    if (not options.operands and not call.stdin.regular) or "-" in options.operands:
        width = max(width, 7)
    if len(shown) == 1 and len(options.operands) <= 1:
        width = 1
    for row, name in rows:
        call.say(" ".join(str(number).rjust(width) for number in row) + (f" {name}" if name else ""))
    return status


def _total(letter: str, counts: list[int]) -> int:
    return max(counts, default=0) if letter == "L" else sum(counts)


def _longest(text: str) -> int:
    """Return the width of the longest line, with tabs up to the next eighth column."""
    return max((len(line.expandtabs(8)) for line in re.split(r"[\n\r\f]", text)), default=0)


_CUT = OptionTable(
    "sn",
    "dfcb",
    {
        "delimiter": "d",
        "fields": "f",
        "characters": "c",
        "bytes": "b",
        "only-delimited": "s",
        "complement": "",
        "output-delimiter": "",
        "zero-terminated": "z",
    },
    others="z",
)


def _cut(call: Call) -> int:
    options = ProgramOptions(call, _CUT)
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


_TR = OptionTable(
    "dscC", "", {"delete": "d", "squeeze-repeats": "s", "complement": "c", "truncate-set1": "t"}, others="t"
)


def _tr(call: Call) -> int:
    options = ProgramOptions(call, _TR)
    given = options.operands
    if not given:
        return call.misuse("missing operand")
    if len(given) < 2 and "d" not in options and "s" not in options:
        return call.misuse(f"missing operand after '{given[0][:80]}'\nTwo strings must be given when translating.")
    if len(given) > 2:
        return call.misuse(f"extra operand '{given[2][:80]}'")
    sets = [_set(text) for text in options.operands]
    deletes, squeezes = "d" in options, "s" in options
    if deletes and len(sets) == 2 and not squeezes:
        return call.misuse(
            f"extra operand '{given[1][:80]}'\nOnly one string may be given when deleting without squeezing repeats."
        )
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


_TEE = OptionTable("aip", "", {"append": "a", "ignore-interrupts": "i", "output-error": ""})


def _tee(call: Call) -> int:
    options = ProgramOptions(call, _TEE)
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
        stream = FileStream(process.run, process.files, key, appends=True)
        stream.append(text)
        stream.flush()
    return status


_CAT = OptionTable(
    "nu",
    "",
    {
        "number": "n",
        "show-all": "A",
        "number-nonblank": "b",
        "squeeze-blank": "s",
        "show-nonprinting": "v",
        "show-tabs": "T",
        "show-ends": "E",
    },
    others="AbsvTEet",
)


def _cat(call: Call) -> int:
    options = ProgramOptions(call, _CAT)
    status, number = 0, 0
    for path, text in inputs(call, options.operands):
        if text is None:
            status = 1
        elif text and isinstance(call.out, FileStream) and call.process.key(path) == call.out.key and path != "-":
            status = call.fail(f"cat: {path}: input file is output file")
        elif "n" in options:
            for line in with_ends(text):
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
    "head": head,
    "seq": seq,
    "sort": sort,
    "tail": tail,
    "tee": _tee,
    "tr": _tr,
    "uniq": uniq,
    "wc": _wc,
}
