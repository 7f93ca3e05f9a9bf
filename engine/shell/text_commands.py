"""The Linux programs that read text and print some of it, such as ``grep``, ``cut``, ``tr`` and ``wc``."""

from __future__ import annotations

import re
import string

from engine.base.values import lazy_regex
from engine.shell.call import WHOLE, Call, NotSimulated, Program, ProgramOptions, all_text, inputs, lines_of, with_ends
from engine.shell.files import FileStream
from engine.shell.patterns import Expression, NotExpression, Whole

_GREP_SYNOPSIS = "Usage: grep [OPTION]... PATTERNS [FILE]..."


@Program(
    "grep egrep fgrep",
    "q/quiet/silent v/invert-match i/ignore-case c/count y n/line-number E/extended-regexp F/fixed-strings "
    "G/basic-regexp x/line-regexp o/only-matching l/files-with-matches L/files-without-match h/no-filename "
    "H/with-filename s/no-messages r/recursive R/dereference-recursive a/text w/word-regexp z!/null-data "
    "b!/byte-offset I U/binary/line-buffered 0! 1! 2! 3! 4! 5! 6! 7! 8! 9! e=/regexp m=/max-count f!/file "
    "A=/after-context B=/before-context C=/context K?/color/colour P!/perl-regexp Z!/null T!/initial-tab "
    "d!/directories D!/devices /include /exclude /exclude-dir /label /binary-files /no-ignore-case /group-separator "
    "/no-group-separator",
    usage=2,
    synopsis=_GREP_SYNOPSIS,
)
def _grep(call: Call, options: ProgramOptions) -> int:
    """Print the lines that match: 0 if there is one, 1 if not, 2 after a mistake."""
    operands = options.operands
    sources = [source for letter, value in options.all if letter == "e" for source in value.split("\n")]
    if not sources:
        if not operands:
            return call.fail(f"{_GREP_SYNOPSIS}\nTry 'grep --help' for more information.", 2)
        sources, operands = operands[0].split("\n"), operands[1:]
    for letter, what in (("m", "max count"), ("A", ""), ("B", ""), ("C", "")):
        if not WHOLE.fullmatch(options.values.get(letter, "0")):
            given = options.values[letter][:80]
            return call.fail(f"grep: invalid {what}" if what else f"grep: {given}: invalid context length argument", 2)
    try:
        expression = _expression(call, options, sources)
    except NotExpression as mistake:
        return call.fail(f"grep: {mistake}", 2)
    deep = "r" in options or "R" in options
    paths = _files_below(call, operands) if deep else operands
    named = options.last_of("hH") != "h" and ("H" in options or len(operands) > 1 or deep)
    return _GrepSearch(call, options, expression, named=named).run(paths) if paths or not deep else 1


def _expression(call: Call, options: ProgramOptions, sources: list[str]) -> Expression:
    kind = options.last_of("EFG") or {"egrep": "E", "fgrep": "F"}.get(call.name, "G")
    return Expression(
        sources,
        extended=kind == "E",
        ignore_case="i" in options or "y" in options,
        fixed=kind == "F",
        whole=Whole.LINE if "x" in options else Whole.WORD if "w" in options else Whole.PART,
    )


def _files_below(call: Call, paths: list[str]) -> list[str]:
    """Return the files in directories, and the other operands as they are; without operands those that are here."""
    found: list[str] = []
    process = call.process
    for path in paths or ["."]:
        key = process.key(path)
        if not process.files.is_dir(key):
            found.append(path)
            continue
        inside = [name for name in process.files.walk(key) if process.files.read(name) is not None]
        process.run.step(len(inside) >> 2)
        prefix = f"{path.rstrip('/')}/" if paths else ""
        found += [prefix + name[len(key) + 1 if key else 0 :] for name in inside]
    return found


class _GrepSearch:
    """A search through texts, one after the other."""

    def __init__(self, call: Call, options: ProgramOptions, expression: Expression, *, named: bool) -> None:
        self.call = call
        self.options = options
        self.expression = expression
        self.named = named
        self.limit = int(options.values["m"]) if "m" in options else None
        around = int(options.values.get("C", 0))
        self.before = int(options.values.get("B", around))
        self.after = int(options.values.get("A", around))
        self.separates = bool({"A", "B", "C"} & options.values.keys())
        self.has_shown = False  # some line of this or an earlier text

    def run(self, paths: list[str]) -> int:
        """Search all texts and return the exit code."""
        found = False
        for path, text in inputs(self.call, paths, quiet="s" in self.options):
            found = self._in(text, "(standard input)" if path == "-" else path) or found
            if found and "q" in self.options:
                return 0
        return 2 if self.call.status else int(not found)

    def _in(self, text: str, name: str) -> bool:
        """Search one text and return whether a line was selected."""
        options = self.options
        run = self.call.process.run
        run.step((len(text) * (1 + (self.expression.size >> 3))) >> 6)
        lines = lines_of(text)
        selected = self._selected(lines)
        if "q" in options:
            return bool(selected)
        kind = options.last_of("lL")
        if kind:
            if bool(selected) is (kind == "l"):
                self.call.say(name)
        elif "c" in options:
            self.call.say(f"{name}:{len(selected)}" if self.named else str(len(selected)))
        else:
            self._show_all(lines, selected, name)
        return bool(selected)

    def _selected(self, lines: list[str]) -> list[int]:
        """Return the indices of the lines that match, or do not match with ``-v``."""
        inverse, one_is_enough = "v" in self.options, bool({"q", "l", "L"} & self.options.values.keys())
        selected: list[int] = []
        for index, line in enumerate(lines):
            if self.limit is not None and len(selected) >= self.limit:
                break
            if self.expression.found_in(line) is not inverse:
                selected.append(index)
                if one_is_enough:
                    break
        return selected

    def _show_all(self, lines: list[str], selected: list[int], name: str) -> None:
        """Print the selected lines and those around them, with a line of dashes between groups."""
        chosen = set(selected)
        shown = 0  # the index after the last line shown
        for position, index in enumerate(selected):
            begin = max(index - self.before, shown)
            if self.separates and self.has_shown and (begin > shown or not position):
                self.call.say("--")
            following = selected[position + 1] if position + 1 < len(selected) else len(lines)
            shown = min(index + self.after + 1, following)
            for each in range(begin, shown):
                self._show(lines[each], ":" if each in chosen else "-", name, each)
            self.has_shown = True

    def _show(self, line: str, sign: str, name: str, index: int) -> None:
        prefix = (name + sign if self.named else "") + (f"{index + 1}{sign}" if "n" in self.options else "")
        if "o" not in self.options:
            self.call.say(prefix + line)
        elif "v" not in self.options and sign == ":":
            self.call.process.run.step(len(line))
            for begin, end in self.expression.spans(line):
                self.call.say(prefix + line[begin:end])


@Program("wc", "l/lines w/words c/bytes m/chars L!/max-line-length /files0-from")
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


@Program(
    "cut",
    "s/only-delimited n d=/delimiter f=/fields c=/characters b=/bytes z!/zero-terminated /complement /output-delimiter",
)
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


@Program("tr", "d/delete s/squeeze-repeats c/complement C t!/truncate-set1", least=1, most=2)
def _tr(call: Call, options: ProgramOptions) -> int:
    given = options.operands
    if len(given) < 2 and "d" not in options and "s" not in options:
        return call.misuse(f"missing operand after '{given[0][:80]}'\nTwo strings must be given when translating.")
    sets = [_set(text) for text in given]
    deletes, squeezes = "d" in options, "s" in options
    if deletes and len(sets) == 2 and not squeezes:
        reason = "Only one string may be given when deleting without squeezing repeats."
        return call.misuse(f"extra operand '{given[1][:80]}'\n{reason}")
    complement = "c" in options or "C" in options
    text = all_text(call, [])
    chosen = set(sets[0])
    if deletes:
        text = "".join(sign for sign in text if (sign in chosen) is complement)
    elif len(sets) == 2:
        second = sets[1]
        if not second:
            return call.fail("tr: when not truncating set1, string2 must be non-empty")
        if complement:
            text = "".join(sign if sign in chosen else second[-1] for sign in text)
        else:
            table = {ord(sign): second[min(index, len(second) - 1)] for index, sign in enumerate(sets[0])}
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


@Program("tee", "a/append i/ignore-interrupts p /output-error")
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


@Program(
    "cat",
    "n/number u A!/show-all b!/number-nonblank s!/squeeze-blank v!/show-nonprinting T!/show-tabs E!/show-ends e! t!",
)
def _cat(call: Call, options: ProgramOptions) -> int:
    number = 0
    for path, text in inputs(call, options.operands):
        if text and isinstance(call.out, FileStream) and call.process.key(path) == call.out.key and path != "-":
            call.fail(f"cat: {path}: input file is output file")
        elif "n" in options:
            for line in with_ends(text):
                number += 1
                call.out.append(f"{number:6d}\t{line}")
        else:
            call.out.append(text)
    return call.status
