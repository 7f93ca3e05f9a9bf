"""``test``, ``[`` and ``expr`` of Linux."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence

from engine.base.values import lazy_regex
from engine.shell.arithmetic import ArithmeticMistake, evaluate, number
from engine.shell.call import PROGRAMS, Call, NotSimulated, ShellProcess, command

_NUMERIC: dict[str, Callable[[int, int], bool]] = {
    "-eq": operator.eq, "-ne": operator.ne, "-lt": operator.lt, "-le": operator.le, "-gt": operator.gt,
    "-ge": operator.ge,
}  # fmt: skip
_TEXTUAL: dict[str, Callable[[str, str], bool]] = {
    "=": operator.eq, "!=": operator.ne, "<": operator.lt, ">": operator.gt,
}  # fmt: skip
_OF_FILES = ("-nt", "-ot", "-ef")
_DEPTH_LIMIT = 40


_DEVICES = frozenset({"/dev/full", "/dev/null", "/dev/random", "/dev/tty", "/dev/urandom", "/dev/zero"})


_Test = Callable[[ShellProcess, str], bool]


def _of_file(known: _Test, *, of_devices: bool = True) -> _Test:
    """Return the test of a path, whose key is ``known`` to pass, or a real node may have what is missing (FILE-15)."""

    def test(process: ShellProcess, path: str) -> bool:
        if not path or path in _DEVICES:
            return bool(path) and of_devices
        key = process.key(path)
        return known(process, key) or not (process.files.exists(key) or process.must_know(key))

    return test


_exists = _of_file(lambda process, key: process.files.exists(key))
_is_filled = _of_file(
    lambda process, key: process.files.is_dir(key) or process.files.size(key) > 0 or key in process.run.vague_files
)
_UNARY: dict[str, _Test] = {
    "-n": lambda _, text: bool(text),
    "-z": lambda _, text: not text,
    "-d": _of_file(lambda process, key: process.files.is_dir(key), of_devices=False),
    "-c": lambda _, path: path in _DEVICES,
    "-f": _of_file(lambda process, key: process.files.read(key) is not None, of_devices=False),
    "-s": _is_filled,
    **dict.fromkeys(("-e", "-r", "-w", "-x", "-O", "-G"), _exists),  # no modes
    **dict.fromkeys(("-b", "-g", "-h", "-k", "-L", "-p", "-S", "-t", "-u"), lambda *_: False),
}


@command(PROGRAMS, "test", "[")
def _test(call: Call) -> int:
    """Evaluate an expression: 0 if it is true, 1 if not, 2 if it has no value."""
    words = list(call.args)
    if call.name == "[" and (not words or words.pop() != "]"):
        return call.complain("missing ]", 2)
    try:
        expression = _Expression(call.process, words)
        return int(not expression.value())
    except ArithmeticMistake as mistake:
        return call.complain(str(mistake), 2)


class _Expression:
    """An expression of ``test``, evaluated while it is read. With up to four words their number says what they mean."""

    def __init__(self, process: ShellProcess, words: Sequence[str]) -> None:
        self.process = process
        self.words = words
        self.at = 0
        self.depth = 0
        self.binary = {**_TEXTUAL, "==": operator.eq} if process.bash or not process.plain_echo else _TEXTUAL

    def peek(self) -> str:
        return self.words[self.at] if self.at < len(self.words) else ""

    def value(self) -> bool:
        known = self._of_few(self.words)
        if known is not None:
            return known
        value = self._operation()
        if self.at < len(self.words):
            raise ArithmeticMistake(f"{self.words[self.at - 1]}: unexpected operator")
        return value

    def _of_few(self, words: Sequence[str]) -> bool | None:
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
            raise ArithmeticMistake(f"Illegal number: {text[:80]}")
        return value

    def _operation(self, lowest: int = 1) -> bool:
        """Return the value of an expression of ``-o`` and ``-a``, whose operands are all evaluated."""
        value = self._negated()
        while (binds := {"-o": 1, "-a": 2}.get(self.peek(), 0)) >= lowest:
            self.at += 1
            right = self._operation(binds + 1)
            value = value or right if binds == 1 else value and right
        return value

    def _negated(self) -> bool:
        negations = 0
        while self.peek() == "!" and self.at + 1 < len(self.words):
            negations += 1
            self.at += 1
        return self._primary() is (negations % 2 == 0)

    def _primary(self) -> bool:
        words, at = self.words, self.at
        if at >= len(words):
            raise ArithmeticMistake(f"{words[-1]}: argument expected" if words else "argument expected")
        word = words[at]
        if at + 2 < len(words) and self._is_binary(words[at + 1]):
            self.at += 3
            return self._compared(word, words[at + 1], words[at + 2])
        if word == "(":
            return self._in_parentheses()
        if at + 2 == len(words) and self._is_binary(words[at + 1]) and word not in _UNARY:
            raise ArithmeticMistake(f"{words[at + 1]}: argument expected")
        if word in _UNARY and at + 1 < len(words):
            self.at += 2
            return _UNARY[word](self.process, words[at + 1])
        self.at += 1
        return bool(word)

    def _in_parentheses(self) -> bool:
        self.at += 1
        self.depth += 1
        if self.depth > _DEPTH_LIMIT:
            raise ArithmeticMistake(f"more than {_DEPTH_LIMIT} parentheses")
        found = self._operation()
        if self.peek() != ")":
            raise ArithmeticMistake("closing paren expected")
        self.at += 1
        self.depth -= 1
        return found


_WHOLE = lazy_regex(r"-?\d{1,18}", re.ASCII)
_SIGNS = {sign: sign for sign in ("+", "-", "*", "/", "%", "(", ")", "<", "<=", "==", "!=", ">=", ">")} | {"=": "=="}


@command(PROGRAMS, "expr")
def _expr(call: Call) -> int:
    """Print the value of an expression of whole numbers: 0 if it is not 0, 1 if it is, 2 after a mistake.

    Any other one, such as a comparison of texts, counts as an unknown program.
    """
    if not call.args:
        return call.misuse("missing operand", 2)
    words = [str(int(word)) if _WHOLE.fullmatch(word) else _SIGNS.get(word) for word in call.args]
    if None in words:
        raise NotSimulated
    try:
        value = evaluate(" ".join(filter(None, words)), {})
    except ArithmeticMistake as mistake:
        text = str(mistake)
        return call.fail(f"expr: {text if text.startswith('division') else 'syntax error'}", 2)
    call.process.run.step(len(words))
    call.say(str(value))
    return int(not value)
