"""``test`` and ``[`` of Linux."""

from __future__ import annotations

import operator
from collections.abc import Callable

from engine.executors.shell.language.arithmetic import number
from engine.executors.shell.programs.call import Call, ShellProcess

_NUMERIC: dict[str, Callable[[int, int], bool]] = {
    "-eq": operator.eq,
    "-ne": operator.ne,
    "-lt": operator.lt,
    "-le": operator.le,
    "-gt": operator.gt,
    "-ge": operator.ge,
}
_TEXTUAL: dict[str, Callable[[str, str], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
}
_OF_FILES = ("-nt", "-ot", "-ef")
_DEPTH_LIMIT = 40


class _Mistake(Exception):
    """An expression without a value; the text says why."""


_SYSTEM_DIRECTORIES = frozenset(
    {"/", "/bin", "/dev", "/etc", "/home", "/lib", "/mnt", "/opt", "/proc", "/tmp", "/usr", "/usr/bin", "/var"}
)
_DEVICES = frozenset({"/dev/full", "/dev/null", "/dev/random", "/dev/tty", "/dev/urandom", "/dev/zero"})


def _of_system(path: str) -> bool:
    """Return whether a directory is one that every machine has."""
    return (path.rstrip("/") or path[:1]) in _SYSTEM_DIRECTORIES


def _exists(process: ShellProcess, path: str) -> bool:
    return bool(path) and (path in _DEVICES or _of_system(path) or process.files.exists(process.key(path)))


def _is_file(process: ShellProcess, path: str) -> bool:
    return bool(path) and process.files.read(process.key(path)) is not None


def _is_directory(process: ShellProcess, path: str) -> bool:
    return bool(path) and (_of_system(path) or process.files.is_dir(process.key(path)))


def _is_executable(process: ShellProcess, path: str) -> bool:
    """Return True for programs of the system and for directories and files: modes are not simulated."""
    return path.startswith(("/bin/", "/usr/bin/")) or _exists(process, path)


def _has_size(process: ShellProcess, path: str) -> bool:
    return _is_directory(process, path) or process.files.size(process.key(path)) > 0


def _never(_: ShellProcess, __: str) -> bool:
    return False


_UNARY: dict[str, Callable[[ShellProcess, str], bool]] = {
    "-n": lambda _, text: bool(text),
    "-z": lambda _, text: not text,
    "-d": _is_directory,
    "-c": lambda _, path: path in _DEVICES,
    "-e": _exists,
    "-f": _is_file,
    "-r": _exists,
    "-w": _exists,
    "-x": _is_executable,
    "-s": _has_size,
    **dict.fromkeys(("-b", "-g", "-h", "-k", "-L", "-p", "-S", "-t", "-u"), _never),
    "-O": _exists,
    "-G": _exists,
}


def test(call: Call) -> int:
    """Evaluate an expression: 0 if it is true, 1 if not, 2 if it has no value."""
    words = list(call.args)
    if call.name == "[" and (not words or words.pop() != "]"):
        return call.complain("missing ]", 2)
    try:
        expression = _Expression(call.process, words)
        return int(not expression.value())
    except _Mistake as mistake:
        return call.complain(str(mistake), 2)


class _Expression:
    """An expression that is evaluated while it is read. With up to four words their number says what they mean."""

    def __init__(self, process: ShellProcess, words: list[str]) -> None:
        self.process = process
        self.words = words
        self.at = 0
        self.depth = 0
        self.binary = {**_TEXTUAL, "==": operator.eq} if process.bash or not process.plain_echo else _TEXTUAL

    def value(self) -> bool:
        known = self._of_few(self.words)
        if known is not None:
            return known
        value = self._either()
        if self.at < len(self.words):
            raise _Mistake(f"{self.words[self.at - 1]}: unexpected operator")
        return value

    def _of_few(self, words: list[str]) -> bool | None:
        """Return the value of one of the short forms, or None."""
        match words:
            case []:
                return False
            case [word]:
                return bool(word)
            case ["!", word]:
                return not word
            case [left, sign, right] if self._is_binary(sign):
                return self._compared(left, sign, right)
            case ["!", *rest] if len(rest) in (2, 3):
                return not _Expression(self.process, rest).value()
            case ["(", word, ")"]:
                return bool(word)
            case ["(", first, second, ")"]:
                return self._of_few([first, second])
        return None

    def _is_binary(self, sign: str) -> bool:
        return sign in self.binary or sign in _NUMERIC or sign in _OF_FILES

    def _compared(self, left: str, sign: str, right: str) -> bool:
        if sign in self.binary:
            return self.binary[sign](left, right)
        if sign in _OF_FILES:
            first, second = self.process.key(left), self.process.key(right)
            return sign == "-ef" and first == second and _exists(self.process, left)
        return _NUMERIC[sign](self._number(left), self._number(right))

    @staticmethod
    def _number(text: str) -> int:
        digits = text.strip().lstrip("+-")
        value = number(text.strip()[: len(text.strip()) - len(digits)] + (digits.lstrip("0") or digits[:1]))
        if value is None or not digits.isdecimal():
            raise _Mistake(f"Illegal number: {text[:80]}")
        return value

    def _peek(self) -> str | None:
        return self.words[self.at] if self.at < len(self.words) else None

    def _either(self) -> bool:
        value = self._both()
        while self._peek() == "-o":
            self.at += 1
            value = self._both() or value
        return value

    def _both(self) -> bool:
        value = self._negated()
        while self._peek() == "-a":
            self.at += 1
            value = self._negated() and value
        return value

    def _negated(self) -> bool:
        negations = 0
        while self._peek() == "!" and self.at + 1 < len(self.words):
            negations += 1
            self.at += 1
        return self._primary() is (negations % 2 == 0)

    def _primary(self) -> bool:
        words, at = self.words, self.at
        if at >= len(words):
            raise _Mistake(f"{words[-1]}: argument expected" if words else "argument expected")
        word = words[at]
        if at + 2 < len(words) and self._is_binary(words[at + 1]):
            self.at += 3
            return self._compared(word, words[at + 1], words[at + 2])
        if word == "(":
            self.depth += 1
            if self.depth > _DEPTH_LIMIT:
                raise _Mistake(f"more than {_DEPTH_LIMIT} parentheses")
            self.at += 1
            value = self._either()
            if self._peek() != ")":
                raise _Mistake("closing paren expected")
            self.at += 1
            self.depth -= 1
            return value
        if at + 2 == len(words) and self._is_binary(words[at + 1]) and word not in _UNARY:
            raise _Mistake(f"{words[at + 1]}: argument expected")
        if word in _UNARY and at + 1 < len(words):
            self.at += 2
            return _UNARY[word](self.process, words[at + 1])
        self.at += 1
        return bool(word)
