"""The Linux commands that print arguments, numbers, or the begin and end of files.

They are ``echo``, ``printf``, ``seq``, ``head`` and ``tail``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal

from engine.base.values import lazy_regex
from engine.shell.arithmetic import number
from engine.shell.call import PROGRAMS, Call, NotSimulated, Program, ProgramOptions, command, inputs, with_ends

_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "\\": "\\", "e": "\x1b"}
_ESCAPE = lazy_regex(
    r"\\(?:(?P<sign>[abfnrtv\\e])|(?P<octal>0[0-7]{0,3})|(?P<plain>[1-7][0-7]{0,2})|(?P<stop>c.*))", re.DOTALL
)
_FIELD = lazy_regex(r"%(?P<flags>[-+ #0]*)(?P<width>\d+|\*)?(?:\.(?P<precision>\d*|\*))?(?P<kind>[a-zA-Z%])")
_INTEGER = lazy_regex(r"\s*[-+]?(?:0[xX][0-9a-fA-F]+|[0-9]+)", re.ASCII)


def unescaped(text: str, *, plain_octal: bool = False, escape_sign: bool = True) -> tuple[str, bool]:
    r"""Return a text with its escapes replaced up to ``\c``, and whether that was there.

    ``plain_octal`` allows octal numbers without a leading 0, as the format of ``printf`` does.
    """
    if "\\" not in text:
        return text, False
    stops = False

    def one(found: re.Match[str]) -> str:
        nonlocal stops
        if found["stop"]:
            stops = True
            return ""
        if found["sign"]:
            return _ESCAPES[found["sign"]] if escape_sign or found["sign"] != "e" else found[0]
        if found["plain"]:
            return chr(int(found["plain"], 8) & 0xFF) if plain_octal else found[0]
        digits = found["octal"][:3] if plain_octal else found["octal"]
        return chr(int(digits, 8) & 0xFF) + found["octal"][len(digits) :]

    return _ESCAPE.sub(one, text), stops


@command(PROGRAMS, "echo")
def _echo(call: Call) -> int:
    """Print the arguments. ``echo`` of sh replaces escapes always, the other ones only after ``-e``."""
    words, newline = call.args, "\n"
    escapes = plain = call.process.plain_echo
    if plain and words[:1] == ["-n"]:
        words, newline = words[1:], ""
    while not plain and words and re.fullmatch(r"-[neE]+", words[0]):
        newline = "" if "n" in words[0] else newline
        escapes = words[0].rfind("e") > words[0].rfind("E") or (escapes and "E" not in words[0])
        words = words[1:]
    text, stops = " ".join(words), False
    if escapes:
        text, stops = unescaped(text, escape_sign=not plain)
    call.out.append(text if stops else text + newline)
    return 0


@command(PROGRAMS, "printf")
def _printf(call: Call) -> int:
    """Print the arguments by a format, which is used again while there are arguments left."""
    args = call.args[1:] if call.args[:1] == ["--"] else call.args
    if not args:
        return call.complain("usage: printf format [arg ...]", 2)
    printer = _Printer(call, args[0], args[1:])
    return printer.run()


class _Printer:
    def __init__(self, call: Call, form: str, arguments: list[str]) -> None:
        self.call = call
        self.arguments: Iterator[str] = iter(arguments)
        self.left = len(arguments)
        self.status = 0
        self.parts: list[tuple[str, re.Match[str] | None]] = []
        self.stops = False
        at = 0
        for found in _FIELD.finditer(form):
            self._plain(form[at : found.start()])
            if self.stops:
                return
            self.parts.append(("", found))
            at = found.end()
        self._plain(form[at:])

    def _plain(self, text: str) -> None:
        ready, self.stops = unescaped(text, plain_octal=True, escape_sign=False)
        self.parts.append((ready.replace('\\"', '"'), None))

    def run(self) -> int:
        run = self.call.process.run
        while True:
            before = self.left
            for text, field in self.parts:
                if field is None:
                    self.call.out.append(text)
                elif self._print(field):
                    return self.status
            run.step(len(self.parts) >> 3)
            if not self.left or self.left == before or self.stops:
                return self.status

    def _next(self) -> str:
        text = next(self.arguments, None)
        self.left -= text is not None
        return text or ""

    def _print(self, field: re.Match[str]) -> bool:
        """Print one field; return True if ``%b`` ends the output."""
        kind, flags, width, precision = field["kind"], field["flags"], field["width"] or "", field["precision"]
        if kind == "%":
            self.call.out.append("%")
            return False
        if "*" in field[0] or "#" in flags or kind in "aAeEfFgG":
            raise NotSimulated
        for digits in (width, precision or ""):
            self.call.process.run.check_length(int(digits[:9] or 0))
        value: str | int
        stops = False
        if kind in "sbc":
            value = self._next()
            if kind == "b":
                value, stops = unescaped(value, plain_octal=True, escape_sign=False)
            value = value[:1] if kind == "c" else value
        elif kind in "diouxX":
            value = self._integer(self._next())
            value += 2**64 if value < 0 and kind in "ouxX" else 0
        else:
            self.call.complain(f"%{kind}: invalid directive")
            self.status = 2
            return True
        if kind in "sbc" or precision is not None:  # zeros fill up numbers only, and those without a precision
            flags = flags.replace("0", "")
        form = f"%{flags}{width}{'' if precision is None else f'.{precision}'}{'s' if kind in 'bc' else kind}"
        self.call.out.append(form % value)
        return stops

    def _integer(self, text: str) -> int:
        if not text:
            return 0
        if text[0] in "'\"":
            return ord(text[1]) if len(text) > 1 else 0
        value = number(text)
        if value is None:
            found = _INTEGER.match(text)
            self.call.complain(f"{text}: {'not completely converted' if found else 'expected numeric value'}")
            self.status = 1
            value = (number(found[0]) if found else None) or 0
        return value


_SEQ_NUMBER = lazy_regex(r"[-+]?(?:\d{1,15}(?:\.\d{0,9})?|\.\d{1,9})(?:[eE][-+]?\d{1,2})?", re.ASCII)


@Program("seq", "w/equal-width s=/separator", stops=True, least=1, most=3)
def _seq(call: Call, options: ProgramOptions) -> int:
    """Print the numbers from the first to the last; one below 0 can stand first only after ``--``."""
    given = options.operands
    for argument in given:
        if not _SEQ_NUMBER.fullmatch(argument):
            return call.misuse(f"invalid floating point argument: '{argument[:80]}'")
    numbers = [Decimal(argument) for argument in given]
    first = numbers[0] if len(numbers) > 1 else Decimal(1)
    increment = numbers[1] if len(numbers) == 3 else Decimal(1)
    if not increment:
        return call.misuse(f"invalid Zero increment value: '{given[1]}'")
    count = int((numbers[-1] - first) / increment) + 1 if (numbers[-1] - first) * increment >= 0 else 0
    call.process.run.step(min(count, 10**9) >> 5)
    places = max((max(-int(number.as_tuple().exponent), 0) for number in numbers[:-1]), default=0)
    texts = [f"{first + index * increment:.{places}f}" for index in range(count)]
    if "w" in options and texts:
        width = max(len(texts[0]), len(texts[-1]), len(f"{numbers[-1]:.{places}f}"))
        texts = [text.zfill(width) for text in texts]
    if texts:
        call.out.append(options.values.get("s", "\n").join(texts) + "\n")
    return 0


_PART = Program("head tail", "q/quiet/silent v/verbose n=/lines")
_COUNT = lazy_regex(r"([-+]?)(\d{1,15})([bkKMG]i?B?)?", re.ASCII)
_OLD_FORM = lazy_regex(r"([-+])(\d{1,9})")


def _modern(args: list[str], *, is_head: bool) -> list[str]:
    """Return the arguments with ``-3`` as ``-n 3``."""
    found = _OLD_FORM.fullmatch(args[0]) if args else None
    if found is None or (found[1] == "+" and is_head):
        return args
    return ["-n", found[0] if found[1] == "+" else found[2], *args[1:]]


@command(PROGRAMS, "head", "tail")
def _print_part(call: Call) -> int:
    """Print the first or last part of each text, as ``head`` or ``tail``."""
    is_head = call.name == "head"
    options = ProgramOptions(_modern(call.args, is_head=is_head), _PART)
    given = options.values.get("n", "10")
    found = _COUNT.fullmatch(given)
    if found is None:
        return call.fail(f"{call.name}: invalid number of lines: '{given.lstrip('+-')[:80]}'")
    if found[3]:
        raise NotSimulated
    number = int(found[2])
    if is_head and found[1] != "-" and not options.operands and "v" not in options:
        return _first_lines(call, number)
    if is_head:
        part = slice(-number or None) if found[1] == "-" else slice(number)
    else:
        part = slice(max(number - 1, 0), None) if found[1] == "+" else slice(-number, None) if number else slice(0)
    several = options.last_of("qv") == "v" or (len(options.operands) > 1 and "q" not in options)
    separator = ""
    for path, text in inputs(call, options.operands):
        if several:
            call.out.append(f"{separator}==> {'standard input' if path == '-' else path} <==\n")
        separator = "\n"
        call.out.append("".join(with_ends(text)[part]))
    return call.status


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
