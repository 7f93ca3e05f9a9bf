"""``grep`` of Linux."""

from __future__ import annotations

from fnmatch import fnmatchcase

from engine.base.paths import name_of
from engine.executors.shell.programs.call import Call
from engine.executors.shell.programs.options import OptionTable, ProgramOptions
from engine.executors.shell.programs.regular_expressions import Expression, NotExpression, Whole
from engine.executors.shell.programs.text_input import WHOLE, inputs, lines_of

_OPTIONS = OptionTable(
    "qvicynEFGxolLhHsrRawzbIU0123456789",
    "emfABC!@",
    {
        "quiet": "q", "silent": "q", "invert-match": "v", "ignore-case": "i", "count": "c", "line-number": "n",
        "extended-regexp": "E", "fixed-strings": "F", "basic-regexp": "G", "perl-regexp": "P", "regexp": "e",
        "line-regexp": "x", "only-matching": "o", "files-with-matches": "l", "files-without-match": "L",
        "no-filename": "h", "with-filename": "H", "no-messages": "s", "max-count": "m", "recursive": "r",
        "dereference-recursive": "R", "word-regexp": "w", "after-context": "A", "before-context": "B", "context": "C",
        "file": "f", "null-data": "z", "byte-offset": "b", "text": "a", "binary": "U", "include": "!", "exclude": "@",
        "color": "K", "colour": "K", "null": "Z", "initial-tab": "T", "line-buffered": "U", "exclude-dir": "",
        "label": "", "binary-files": "", "directories": "d", "devices": "D", "no-ignore-case": "",
        "group-separator": "", "no-group-separator": "",
    },
    optional="K",
    others="PZTdD",
    usage=2,
    synopsis="Usage: grep [OPTION]... PATTERNS [FILE]...",
)  # fmt: skip
_USAGE = f"{_OPTIONS.synopsis}\nTry 'grep --help' for more information."


def grep(call: Call) -> int:
    """Print the lines that match: 0 if there is one, 1 if not, 2 after a mistake."""
    options = ProgramOptions(call, _OPTIONS)
    operands = options.operands
    sources: list[str] = []
    for letter, value in options.all:
        if letter == "e":
            sources += value.split("\n")
        elif letter == "f":
            text = call.stdin.read() if value == "-" else call.process.read(value)
            if text is None:
                return call.fail(f"grep: {value}: No such file or directory", 2)
            sources += lines_of(text)
    if "e" not in options and "f" not in options:
        if not operands:
            return call.fail(_USAGE, 2)
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
    search = _Search(call, options, expression)
    paths = _files_below(call, options, operands) if deep else operands
    search.named = "H" in options or len(operands) > 1 or deep
    if options.last_of("hH") == "h":
        search.named = False
    return search.run(paths) if paths or not deep else 1


def _expression(call: Call, options: ProgramOptions, sources: list[str]) -> Expression:
    kind = options.last_of("EFG") or {"egrep": "E", "fgrep": "F"}.get(call.name, "G")
    return Expression(
        sources,
        extended=kind == "E",
        ignore_case="i" in options or "y" in options,
        fixed=kind == "F",
        whole=Whole.LINE if "x" in options else Whole.WORD if "w" in options else Whole.PART,
    )


def _files_below(call: Call, options: ProgramOptions, paths: list[str]) -> list[str]:
    """Return the files in directories, and the other operands as they are; without operands those that are here."""
    found: list[str] = []
    process = call.process
    included = [value for letter, value in options.all if letter == "!"]
    excluded = [value for letter, value in options.all if letter == "@"]
    for path in paths or ["."]:
        key = process.key(path)
        if not process.files.is_dir(key):
            found.append(path)
            continue
        inside = [name for name in process.files.walk(key) if process.files.read(name) is not None]
        process.run.step(len(inside) >> 2)
        prefix = f"{path.rstrip('/')}/" if paths else ""
        for name in inside:
            chosen = not included or any(fnmatchcase(name_of(name), pattern) for pattern in included)
            if chosen and not any(fnmatchcase(name_of(name), pattern) for pattern in excluded):
                found.append(prefix + name[len(key) + 1 if key else 0 :])
    return found


class _Search:
    """A search through texts, one after the other."""

    def __init__(self, call: Call, options: ProgramOptions, expression: Expression) -> None:
        self.call = call
        self.options = options
        self.expression = expression
        self.named = False
        self.limit = int(options.values["m"]) if "m" in options else None
        digits = "".join(letter for letter, _ in options.all if letter.isdigit())
        around = int(options.values.get("C", digits[:9]) or 0)
        self.before = int(options.values.get("B", around))
        self.after = int(options.values.get("A", around))
        self.separates = bool({"A", "B", "C"} & options.values.keys()) or bool(digits)
        self.end = "\0" if "z" in options else "\n"
        self.has_shown = False  # some line of this or an earlier text

    def run(self, paths: list[str]) -> int:
        """Search all texts and return the exit code."""
        found, failed = False, False
        for path, text in inputs(self.call, paths, quiet="s" in self.options):
            if text is None:
                failed = True
                continue
            found = self._in(text, "(standard input)" if path == "-" else path) or found
            if found and "q" in self.options:
                return 0
        return 2 if failed else int(not found)

    def _in(self, text: str, name: str) -> bool:
        """Search one text and return whether a line was selected."""
        options = self.options
        run = self.call.process.run
        run.step((len(text) * (1 + (self.expression.size >> 4))) >> 6)
        lines = lines_of(text, self.end)
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
        offsets = self._offsets(lines)
        shown = 0  # the index after the last line shown
        for position, index in enumerate(selected):
            begin = max(index - self.before, shown)
            if self.separates and self.has_shown and (begin > shown or not position):
                self.call.say("--")
            following = selected[position + 1] if position + 1 < len(selected) else len(lines)
            shown = min(index + self.after + 1, following)
            for each in range(begin, shown):
                self._show(lines[each], ":" if each in chosen else "-", name, each, offsets)
            self.has_shown = True

    def _offsets(self, lines: list[str]) -> list[int]:
        """Return where each line begins, in bytes, if that is asked."""
        offsets = [0]
        if "b" in self.options:
            for line in lines:
                offsets.append(offsets[-1] + len(line.encode("utf-8", "surrogatepass")) + 1)
        return offsets

    def _show(self, line: str, sign: str, name: str, index: int, offsets: list[int]) -> None:
        prefix = (name + sign if self.named else "") + (f"{index + 1}{sign}" if "n" in self.options else "")
        if "o" not in self.options:
            offset = f"{offsets[index]}{sign}" if "b" in self.options else ""
            self.call.out.append(f"{prefix}{offset}{line}{self.end}")
        elif "v" not in self.options and sign == ":":
            self.call.process.run.step(len(line))
            for begin, end in self.expression.spans(line):
                offset = f"{offsets[index] + len(line[:begin].encode())}:" if "b" in self.options else ""
                self.call.out.append(f"{prefix}{offset}{line[begin:end]}{self.end}")
