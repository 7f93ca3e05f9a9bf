"""``echo`` and ``printf`` of Linux."""

from __future__ import annotations

import re
from collections.abc import Iterator

from engine.base.lazy import lazy_regex
from engine.executors.shell.language.arithmetic import number
from engine.executors.shell.programs.call import Call

_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "\\": "\\", "e": "\x1b"}
_ESCAPE = lazy_regex(r"\\(?:(?P<sign>[abfnrtv\\e])|(?P<octal>0[0-7]{0,3})|(?P<plain>[1-7][0-7]{0,2})|(?P<stop>c))")
_FIELD = lazy_regex(r"%(?P<flags>[-+ #0]*)(?P<width>\d+|\*)?(?:\.(?P<precision>\d*|\*))?(?P<kind>[a-zA-Z%])")
_INTEGER = lazy_regex(r"\s*[-+]?(?:0[xX][0-9a-fA-F]+|[0-9]+)", re.ASCII)
_REAL = lazy_regex(r"\s*[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?", re.ASCII)


def unescaped(text: str, *, plain_octal: bool = False, escape_sign: bool = True) -> tuple[str, bool]:
    r"""Return a text with its escapes replaced up to ``\c``, and whether that was there.

    ``plain_octal`` allows octal numbers without a leading 0, as the format of ``printf`` does.
    """
    if "\\" not in text:
        return text, False
    parts: list[str] = []
    at = 0
    for found in _ESCAPE.finditer(text):
        parts.append(text[at : found.start()])
        at = found.end()
        if found["stop"]:
            return "".join(parts), True
        if found["sign"]:
            known = escape_sign or found["sign"] != "e"
            parts.append(_ESCAPES[found["sign"]] if known else found[0])
        elif found["octal"]:
            digits = found["octal"][:3] if plain_octal else found["octal"]
            parts.append(chr(int(digits, 8) & 0xFF))
            at -= len(found["octal"]) - len(digits)
        else:
            parts.append(chr(int(found["plain"], 8) & 0xFF) if plain_octal else found[0])
    return "".join(parts) + text[at:], False


def echo(call: Call) -> int:
    """Print the arguments. ``echo`` of sh replaces escapes always, the other ones only after ``-e``."""
    words = call.args
    newline = "\n"
    if call.process.plain_echo:
        if words[:1] == ["-n"]:
            words, newline = words[1:], ""
        text, stops = unescaped(" ".join(words), escape_sign=False)
        call.out.append(text if stops else text + newline)
        return 0
    escapes = False
    while words and re.fullmatch(r"-[neE]+", words[0]):
        newline = "" if "n" in words[0] else newline
        escapes = words[0].rfind("e") > words[0].rfind("E") or (escapes and "E" not in words[0])
        words = words[1:]
    text = " ".join(words)
    stops = False
    if escapes:
        text, stops = unescaped(text)
    call.out.append(text if stops else text + newline)
    return 0


def printf(call: Call) -> int:
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

    def _next(self) -> str | None:
        text = next(self.arguments, None)
        self.left -= text is not None
        return text

    def _size(self, text: str | None) -> int:
        size = int(text[:9]) if text and text != "*" else 0
        if text == "*":
            size = self._integer(self._next())
        self.call.process.run.check_length(abs(size))
        return size

    def _print(self, field: re.Match[str]) -> bool:
        """Print one field; return True if ``%b`` ends the output."""
        kind = field["kind"]
        if kind == "%":
            self.call.out.append("%")
            return False
        flags, width = field["flags"], self._size(field["width"])
        precision = None if field["precision"] is None else self._size(field["precision"] or "0")
        if width < 0:
            flags, width = flags + "-", -width
        stops = False
        if kind in "sbc":
            text = self._next() or ""
            if kind == "b":
                text, stops = unescaped(text, plain_octal=True, escape_sign=False)
            text = text[:1] if kind == "c" else text
            text = text if precision is None else text[:precision]
            flags = flags.replace("0", "")
        elif kind in "diouxX":
            text = self._whole(kind, flags, precision)
            flags = flags if precision is None else flags.replace("0", "")
        elif kind in "eEfFgG":
            sign, digits = "+" if "+" in flags else "", 6 if precision is None else precision
            text = f"{self._real(self._next()):{sign}.{digits}{kind}}"
        else:
            self.call.complain(f"%{kind}: invalid directive")
            self.status = 2
            return True
        self.call.out.append(_padded(text, flags, width))
        return stops

    def _whole(self, kind: str, flags: str, precision: int | None) -> str:
        value = self._integer(self._next())
        if kind in "ouxX" and value < 0:
            value += 2**64
        digits = f"{abs(value):{'d' if kind in 'diu' else kind}}".rjust(precision or 0, "0")
        if "#" in flags and value:
            digits = {"o": "0", "x": "0x", "X": "0X"}.get(kind, "") + digits
        sign = "-" if value < 0 else "+" if "+" in flags else " " if " " in flags else ""
        return sign + digits

    def _integer(self, text: str | None) -> int:
        if not text:
            return 0
        if text[0] in "'\"":
            return ord(text[1]) if len(text) > 1 else 0
        value = number(text)
        if value is None:
            found = _INTEGER.match(text)
            self._expected(text, begins=found is not None)
            value = (number(found[0]) if found else None) or 0
        return value

    def _real(self, text: str | None) -> float:
        found = _REAL.match(text or "")
        if text and (found is None or found.end() != len(text)):
            self._expected(text, begins=found is not None)
        return float(found[0]) if found else 0.0

    def _expected(self, text: str, *, begins: bool) -> None:
        self.call.complain(f"{text}: {'not completely converted' if begins else 'expected numeric value'}")
        self.status = 1


def _padded(text: str, flags: str, width: int) -> str:
    if "-" in flags:
        return text.ljust(width)
    if "0" in flags:
        sign = text[:1] if text[:1] in ("+", "-", " ") else ""
        return sign + text[len(sign) :].rjust(width - len(sign), "0")
    return text.rjust(width)
