"""Expansion of words: parameters, substitutions, arithmetic, field splitting and wildcards (TASK-22, ENV-3).

A wildcard in a path means the existing files that match the pattern; such files are copied in both shells.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import ChainMap
from functools import lru_cache
from zlib import crc32

from engine.base.paths import WILDCARD, name_of
from engine.base.values import lazy_regex
from engine.shell import patterns
from engine.shell.arithmetic import ArithmeticMistake, IllegalNumber, evaluate
from engine.shell.call import Call, ScriptExit, ShellProcess
from engine.shell.files import FIRST_JOB, PROCESS_ID, Run
from engine.shell.syntax import SHELL_OPTIONS, Arithmetic, Parameter, Part, Piece, Script, Substitution, Word


def matching_paths(process: ShellProcess, pattern: str) -> list[str]:
    """Return the existing paths that match a pattern, sorted; [] if there is none."""
    directories = ["/"] if pattern.startswith("/") else [""]
    parts = [part for part in pattern.split("/") if part]
    for index, part in enumerate(parts):
        last = index == len(parts) - 1
        end = "/" if not last or pattern.endswith("/") else ""
        directories = [
            directory + name + end
            for directory in directories
            for name in _names(process, directory, part)
            if not end or process.files.is_dir(process.key(directory + name)) or not WILDCARD.search(part)
        ]
    return sorted(path for path in directories if process.files.exists(process.key(path)))


def _names(process: ShellProcess, directory: str, pattern: str) -> list[str]:
    if not WILDCARD.search(pattern):
        return [patterns.unescaped(pattern)]
    names = process.files.listdir(process.key(directory or "."))
    process.run.step(4 + (len(names) >> 2))
    hidden = pattern.startswith((".", "\\."))
    return [name for name in names if name.startswith(".") <= hidden and patterns.matches(pattern, name)]


def copy_into(call: Call, source: str, target: str, *, move: bool = False) -> bool:
    """Copy a file or tree to a key, or into it if it is a directory; return False if there is no source."""
    process = call.process
    files, first = process.files, process.key(source)
    if process.read(source) is None and not files.is_dir(first):
        return False
    if files.is_dir(target):
        target = f"{target}/{name_of(first)}" if target else name_of(first)
    if target == first or not first or target.startswith(f"{first}/"):
        return True
    pending = [(first, target)]
    while pending:
        key, copy = pending.pop()
        text = files.read(key)
        if text is None:
            if process.make_directory(copy):
                pending += [(f"{key}/{name}", f"{copy}/{name}") for name in process.listdir(key)]
        elif files.times(key) is None and not files.is_dir(copy):  # a file of the system
            files.write(copy, text)
        elif not files.is_dir(copy):
            files.copy_file(key, copy, moves=move)
        if pending:
            process.run.step()
    if move:
        files.delete(first)
    return True


_BLANKS = lazy_regex(r"[ \t\n]+")
_TO_SPLIT = lazy_regex(r"[ \t\n*?\[\\]")
_ALL = ("@", "*")
_OF_BASH = {
    "BASH": "/bin/bash",
    "BASHPID": str(PROCESS_ID),
    "BASH_VERSION": "5.1.16(1)-release",
    "HOSTTYPE": "x86_64",
    "MACHTYPE": "x86_64-pc-linux-gnu",
    "OSTYPE": "linux-gnu",
    "SHLVL": "1",
}
_NEED_VALUE = ("", "length", "%", "%%", "#", "##")


def random_number(run: Run, place: str) -> int:
    """Return the next number below 32,768, which follows from the start of the run and a place (decided here)."""
    run.step()
    return crc32(f"{place} {run.start_ms} {run.steps_left}".encode(errors="replace")) & 0x7FFF


class _Fields:
    """The fields of a word while its parts are added, as patterns, and which stay although they are empty."""

    def __init__(self) -> None:
        self.patterns = [""]
        self.kept: set[int] = set()

    def add(self, pattern: str, *, keeps: bool) -> None:
        self.patterns[-1] += pattern
        if keeps:
            self.kept.add(len(self.patterns) - 1)

    def add_split(self, text: str, ifs: str, *, bare: bool) -> None:
        """Add text that is split at the characters of IFS; ``bare`` if backslashes in it were written unquoted."""
        for index, (field, keeps) in enumerate(split(text, ifs)):
            if index:
                self.patterns.append("")
            self.add(field if bare else field.replace("\\", "\\\\"), keeps=keeps)


def split(text: str, ifs: str) -> list[tuple[str, bool]]:
    """Return the fields of a text, each with whether it stays although it is empty.

    An empty first or last field means that a blank stands there, which ends the field before.
    """
    if not ifs:
        return [(text, False)]
    if ifs == " \t\n":
        return [(field, False) for field in _BLANKS.split(text)]
    fields: list[tuple[str, bool]] = []
    begin = 0
    for found in delimiter(ifs).finditer(text):
        fields.append((text[begin : found.start()], bool(found[0].strip(" \t\n"))))
        begin = found.end()
    return [*fields, (text[begin:], False)]


@lru_cache(maxsize=64)
def delimiter(ifs: str) -> re.Pattern[str]:
    """Return the expression of a delimiter: blanks of IFS around at most one other character of it."""
    blanks = "".join(re.escape(sign) for sign in ifs if sign in " \t\n")
    others = "".join(re.escape(sign) for sign in ifs if sign not in " \t\n")
    around = f"[{blanks}]*" if blanks else ""
    sign = f"{around}[{others}]{around}" if others else r"(?!)"
    return re.compile(f"{sign}|[{blanks}]+" if blanks else sign)


class Expander(ABC):
    """The expansion of words for one shell process."""

    def __init__(self, process: ShellProcess) -> None:
        self.process = process
        self.substituted: int | None = None  # the status of the last substitution of the present command
        self.is_vague = False  # whether a text of an unknown program is in the present command

    @abstractmethod
    def substitute(self, script: Script) -> str:
        """Run the script in a subshell and return its output without the last ends of lines."""

    @abstractmethod
    def complain(self, text: str) -> None:
        """Write a message of the shell to standard error."""

    # -- words -------------------------------------------------------------------------------------------------------

    def text(self, word: Word) -> str:
        """Return a word with everything replaced, without splitting."""
        if word.constant is not None:
            return word.constant
        text = "".join(self._text_of(part) for part in word.parts)
        self.process.run.check_length(len(text))
        return text

    def pattern(self, word: Word) -> str:
        """Return a word as a pattern, in which what is quoted means itself."""
        return "".join(
            patterns.escaped(self._text_of(part)) if part.quoted else self._text_of(part) for part in word.parts
        )

    def fields(self, word: Word) -> list[str]:
        """Return the fields of a word: everything replaced, split, and wildcards expanded."""
        if word.constant is not None:
            return [word.constant]
        part = word.parts[0]
        if len(word.parts) == 1 and isinstance(part, Parameter) and not part.operator and part.name not in _ALL:
            text = self._parameter(part)
            if part.quoted:
                return [text]
            if "IFS" not in self.process.env and not _TO_SPLIT.search(text):
                return [text] if text else []
        found = _Fields()
        for each in word.parts:
            self._add(found, each, splits=False)
        return self._finished(found)

    def _finished(self, found: _Fields) -> list[str]:
        run = self.process.run
        run.step(len(found.patterns) >> 2)
        texts = [patterns.unescaped(pattern) for pattern in found.patterns]
        run.check_length(max(map(len, texts)))
        ready: list[str] = []
        for index, (text, pattern) in enumerate(zip(texts, found.patterns, strict=True)):
            wild = "noglob" not in self.process.options and ("*" in pattern or "?" in pattern or "[" in pattern)
            if wild and (paths := matching_paths(self.process, pattern)):
                ready += paths
            elif text or index in found.kept:
                ready.append(text)
        return ready

    def _add(self, found: _Fields, part: Part, *, splits: bool) -> None:
        """Add a part of a word to its fields; ``splits`` if bare text is split as well, as in ``${x:-a b}``."""
        if isinstance(part, Piece):
            if part.quoted:
                found.add(patterns.escaped(part.text), keeps=True)
            elif splits:
                found.add_split(part.text, self._separators(), bare=True)
            else:
                found.add(part.text, keeps=False)
            return
        if isinstance(part, Parameter):
            if part.name in _ALL and not part.operator:
                self._add_arguments(found, part)
                return
            if part.word is not None and (word := self._chosen_word(part)) is not None:
                for inner in word.parts:
                    self._add(found, inner, splits=not part.quoted)
                if part.quoted:
                    found.kept.add(len(found.patterns) - 1)
                return
        text = self._text_of(part)
        if part.quoted:
            found.add(patterns.escaped(text), keeps=True)
        else:
            self.process.run.check_length(len(text))
            found.add_split(text, self._separators(), bare=False)

    def _add_arguments(self, found: _Fields, part: Parameter) -> None:
        """Add ``$@`` or ``$*``: quoted, the first keeps the arguments apart and the second joins them."""
        if part.quoted and part.name == "*":
            found.add(patterns.escaped(self._joined()), keeps=True)
            return
        for index, argument in enumerate(self.process.arguments):
            if index:
                found.patterns.append("")
            if part.quoted:
                found.add(patterns.escaped(argument), keeps=True)
            else:
                found.add_split(argument, self._separators(), bare=False)

    def _separators(self) -> str:
        return self.process.env.get("IFS", " \t\n")

    def _joined(self) -> str:
        return self._separators()[:1].join(self.process.arguments)

    # -- parts -------------------------------------------------------------------------------------------------------

    def _text_of(self, part: Part) -> str:
        match part:
            case Piece():
                return part.text
            case Parameter():
                return self._parameter(part)
            case Substitution():
                return self.substitute(part.script)
        return self._arithmetic(part)

    def _arithmetic(self, part: Arithmetic) -> str:
        process = self.process
        text = self.text(part.expression)
        process.run.step(1 + (len(text) >> 4) + max(0, len(text) - 32))  # parsing a long one takes long
        try:
            made = {
                name: str(self._made_value(name)) for name in ("RANDOM", "SECONDS") if process.bash and name in text
            }
            return str(evaluate(text, ChainMap(process.env, made), bash=process.bash))
        except ArithmeticMistake as mistake:
            is_value = isinstance(mistake, IllegalNumber)
            self.complain(str(mistake) if is_value else f'arithmetic expression: {mistake}: "{text[:80]}"')
            raise ScriptExit(1 if process.bash else 2) from None

    def value(self, name: str) -> str | None:
        """Return the value of a variable or special parameter, or None if it is not set."""
        process = self.process
        found = process.env.get(name)
        self.is_vague |= name in process.vague
        if found is None and name.isupper():
            return self._made_value(name)
        if found is not None or name[0].isalpha() or name[0] == "_":
            return found
        if name.isdecimal():
            number = int(name[:9])
            if number == 0:
                return process.name
            return process.arguments[number - 1] if number <= len(process.arguments) else None
        if name in _ALL:
            return self._joined() if process.arguments else None
        return self._special_value(name)

    def _made_value(self, name: str) -> str | None:
        """Return the value of a variable that the shell makes when it is asked for, or None if there is none."""
        process = self.process
        run = process.run
        match name:
            case "LINENO":
                return str(process.line)
            case "RANDOM" if process.bash:
                return str(random_number(run, process.cwd))
            case "SECONDS" if process.bash:
                return str(run.slept_ms // 1000)
            case "EPOCHSECONDS" if process.bash:
                return str(run.clock_ms // 1000)
            case "UID" | "EUID" if process.bash:
                return "1000"
        return _OF_BASH.get(name) if process.bash else None

    def _special_value(self, name: str) -> str:
        process = self.process
        match name:
            case "?":
                return str(process.status)
            case "#":
                return str(len(process.arguments))
            case "$":
                return str(PROCESS_ID)
            case "-":
                return "".join(letter for letter, option in SHELL_OPTIONS.items() if option in process.options)
        return str(FIRST_JOB + len(process.run.jobs) - 1) if process.run.jobs else ""

    def _parameter(self, part: Parameter) -> str:
        value, operator = self.value(part.name), part.operator
        if value is None and operator in _NEED_VALUE and part.name not in _ALL and "nounset" in self.process.options:
            self.complain(f"{part.name}: parameter not set")
            raise ScriptExit(127 if self.process.bash else 2)
        if not operator:
            return value or ""
        if operator == "length":
            if part.name in _ALL and self.process.bash:
                return str(len(self.process.arguments))
            return str(len(value or ""))
        assert part.word is not None
        if operator[0] in "%#":
            return self._trimmed(value or "", operator, self.pattern(part.word))
        word = self._chosen_word(part)
        return (self.value(part.name) or "") if word is None else self.text(word)

    def _chosen_word(self, part: Parameter) -> Word | None:
        """Return the word that takes the place of the value, or None if the value is used.

        ``${name:=word}`` assigns it, and ``${name:?word}`` ends the script with it.
        """
        value, operator = self.value(part.name), part.operator
        if operator[:1] in ("%", "#", ""):
            return None
        absent = value is None or (operator[0] == ":" and not value)
        assert part.word is not None
        kind = operator[-1]
        if kind == "+":
            return Word((), "") if absent else part.word
        if not absent:
            return None
        if kind == "=":
            text = self.text(part.word)
            self.assign(part.name, text)
            return None
        if kind == "?":
            usual = "parameter not set or null" if operator[0] == ":" else "parameter not set"
            self.complain(f"{part.name}: {self.text(part.word) or usual}")
            raise ScriptExit(127 if self.process.bash else 2)
        return part.word

    def _trimmed(self, value: str, operator: str, pattern: str) -> str:
        self.process.run.step(1 + ((len(value) * (len(pattern) + 1)) >> 8))
        longest = len(operator) == 2
        if operator[0] == "#":
            end = patterns.prefix_end(pattern, value, longest=longest)
            return value if end is None else value[end:]
        start = patterns.suffix_start(pattern, value, longest=longest)
        return value if start is None else value[:start]

    def assign(self, name: str, value: str) -> None:
        """Give a variable a value; one that is read-only ends the script."""
        process = self.process
        if name in process.read_only or not (name[:1].isalpha() or name[:1] == "_"):
            self.complain(f"{name}: is read only" if name in process.read_only else f"{name}: bad variable name")
            raise ScriptExit(1 if process.bash else 2)
        process.env[name] = value
        (process.vague.add if self.is_vague else process.vague.discard)(name)
        if "allexport" in process.options:
            process.exported.add(name)
