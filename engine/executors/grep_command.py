"""``grep`` of Linux."""

from __future__ import annotations

from engine.executors.commands import Call, NotSimulated, Options
from engine.executors.regular_expressions import Expression, NotExpression
from engine.executors.text_input import WHOLE, inputs, lines_of

_GREP_WORDS = {
    "quiet": "q", "silent": "q", "invert-match": "v", "ignore-case": "i", "count": "c", "line-number": "n",
    "extended-regexp": "E", "fixed-strings": "F", "regexp": "e", "line-regexp": "x", "only-matching": "o",
    "files-with-matches": "l", "no-filename": "h", "with-filename": "H", "no-messages": "s", "max-count": "m",
    "recursive": "r", "word-regexp": "w",
}  # fmt: skip


def grep(call: Call) -> int:
    """Print the lines that match: 0 if there is one, 1 if not, 2 after a mistake."""
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
        self.limit = int(limit) if WHOLE.fullmatch(limit) else None

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
