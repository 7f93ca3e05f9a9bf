"""The text of a scenario: where it is found, its scalars and JSON, and words for messages about it.

A text is a file, or a bundled scenario by its name. Scalars follow the core schema of YAML 1.2, which is JSON's.

JSON is YAML too and has the same meaning, but the parser of YAML takes twenty times as long. Texts that it would read
in another way, or with a mistake, are left to it. Long lists of which each item is a line of JSON, ``- {"at": 5,
...}``, as an import writes them, are lifted out of the text and read with the JSON parser before the rest is parsed as
YAML.
"""

from __future__ import annotations

import codecs
import json
import os
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from difflib import get_close_matches
from errno import EINVAL
from functools import cached_property
from itertools import accumulate
from math import isfinite
from pathlib import Path
from stat import S_ISREG
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import yaml

from engine.base.errors import Position, Problem, ScenarioError
from engine.base.values import first_of, lazy_regex, quoted, shortened, with_short_words

if TYPE_CHECKING:
    from engine.specs.prices import PriceFile

_LONGEST = 100  # the cost is the product of the lengths, and names are shorter than this


def shown(value: object) -> str:
    """Return a short form of a value as in the file."""
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list | tuple):
        return "a list"
    return quoted(value)


def nearest(word: str, names: Iterable[str]) -> str | None:
    """Return the name most similar to ``word``, without regard to case, or None."""
    if len(word) > _LONGEST:
        return None
    by_folded = {name.casefold(): name for name in names}
    found = get_close_matches(word.casefold(), by_folded, 1)
    return by_folded[found[0]] if found else None


def did_you_mean(word: str, names: Iterable[str]) -> str:
    """Return ``: did you mean 'x'?``, or an empty text if no name is near."""
    near = nearest(word, names)
    return f": did you mean {shown(near)}?" if near else ""


def one_of(word: str, names: Iterable[str]) -> str:
    """Return ``did_you_mean``, or a list of a few names if none is near."""
    listed = list(names)
    if nearest(word, listed) or not listed:
        return did_you_mean(word, listed)
    return f": can be {first_of(listed)}"


def does_not_exist(word: object, names: Iterable[str]) -> str:
    """Return the message about a word that is none of ``names``."""
    return f"{shown(word)} does not exist here" + one_of(word if isinstance(word, str) else "", names)


BYTE_LIMIT = 64 * 1024 * 1024
_MOST_NAMED = 6
SUFFIXES = (".yaml", ".yml", ".json")
_OTHER_ENCODINGS = (
    (codecs.BOM_UTF32_LE, "UTF-32"),
    (codecs.BOM_UTF32_BE, "UTF-32"),
    (codecs.BOM_UTF16_LE, "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16"),
)


@dataclass(frozen=True, slots=True)
class ScenarioSource:
    """The source of a scenario: a path or bundled name, the text, and the prices that win over those that it names."""

    path: str
    text: str = field(repr=False)
    prices: PriceFile | None = field(default=None, repr=False)


def bundled() -> dict[str, Path]:
    """Return the bundled scenarios by name, in alphabetical order."""
    return dict(sorted((path.stem, path) for path in (Path(__file__).parents[2] / "scenarios").glob("*.yaml")))


def headline(text: str) -> tuple[str, list[str]]:
    """Return the description of a scenario, without reading the rest of it, and the comments at its beginning."""
    lines = text.splitlines()
    body = next((at for at, line in enumerate(lines) if line.strip() and not line.startswith(("#", "---"))), len(lines))
    comments = [line.removeprefix("#").removeprefix(" ") for line in lines[:body] if line.startswith("#")]
    first = next((at for at in range(body, len(lines)) if lines[at].startswith("description:")), None)
    if first is None:
        return "", comments
    rest = range(first + 1, len(lines))
    stop = next((at for at in rest if lines[at].strip() and not lines[at].startswith((" ", "\t"))), len(lines))
    try:  # without tags and types: nothing but the syntax can be wrong
        described = yaml.load("\n".join(lines[first:stop]), Loader=yaml.BaseLoader)
    except (yaml.YAMLError, RecursionError):
        return "", comments
    about = described.get("description") if isinstance(described, dict) else None
    return " ".join(about.split()) if isinstance(about, str) else "", comments


def read_source(path_or_name: str) -> ScenarioSource:
    """Return the text of a scenario; an existing path wins over a bundled name.

    Raises:
        ScenarioError: There is no such scenario, or it is not UTF-8 text.
    """
    content = _read_path(path_or_name)
    if content is None:
        shipped = bundled()
        if path_or_name not in shipped:
            raise _failure(
                with_short_words(path_or_name),
                f"no such file, and no bundled scenario of this name{_near(path_or_name, shipped)}",
            )
        content = shipped[path_or_name].read_bytes()
    return ScenarioSource(path_or_name, decode(content, path_or_name))


def decode(content: bytes, file: str) -> str:
    """Decode a file's bytes as UTF-8; raise ScenarioError with the position of the first wrong byte."""
    if len(content) > BYTE_LIMIT:
        raise _failure(file, f"larger than {BYTE_LIMIT // 1024 // 1024} MB, which no scenario is")
    for mark, name in _OTHER_ENCODINGS:
        if content.startswith(mark):
            raise _failure(file, f"is written in {name}: save it as UTF-8", 1, 1)
    zero = content.find(0)
    if zero >= 0:
        raise _failure(file, "is a binary file, not YAML: it contains a zero byte", *_position(content, zero))
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        message = f"is not UTF-8: the byte 0x{content[error.start]:02x} fits no character; save it as UTF-8"
        raise _failure(file, message, *_position(content, error.start)) from None


def _position(content: bytes, index: int) -> tuple[int, int]:
    begin = content.rfind(b"\n", 0, index) + 1
    return content.count(b"\n", 0, index) + 1, len(content[begin:index].decode("utf-8", "replace")) + 1


def _failure(file: str, message: str, line: int = 0, column: int = 0) -> ScenarioError:
    return ScenarioError([Problem(message, "", line, column, file)])


def content_of(path: str | Path, most: int = BYTE_LIMIT) -> bytes:
    """Return the bytes of a regular file, at most one more than ``most``. Raises OSError, also for a pipe or a device.

    Opening waits for nobody, as that of a pipe without a writer would.
    """

    def at_once(name: str, flags: int) -> int:
        return os.open(name, flags | getattr(os, "O_NONBLOCK", 0))

    with open(path, "rb", opener=at_once) as stream:
        if not S_ISREG(os.fstat(stream.fileno()).st_mode):
            raise OSError(EINVAL, "it is a pipe or a device, not a file", str(path))
        return stream.read(most + 1)


def _read_path(path: str) -> bytes | None:
    """Return the bytes of a file or pipe, at most one more than the limit, or None if there is none."""
    try:
        with open(path, "rb") as stream:
            return stream.read(BYTE_LIMIT + 1)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        if isinstance(error, IsADirectoryError | PermissionError) and Path(path).is_dir():  # either, by the platform
            names = listed(Path(path))
            more = f": name one of the files in it, such as {Path(path) / names[0]}" if names else ""
            raise _failure(path, f"is a directory, not a scenario{more}") from None
        if isinstance(error, PermissionError):
            raise _failure(path, "may not be read: permission denied") from None
        raise _failure(with_short_words(path), f"cannot be read: {getattr(error, 'strerror', None) or error}") from None


def listed(directory: Path) -> list[str]:
    """Return the names of the files in a directory that may be scenarios; none if it cannot be read."""
    try:
        return sorted(path.name for path in directory.iterdir() if path.suffix in SUFFIXES)
    except OSError:
        return []


def _near(path_or_name: str, shipped: dict[str, Path]) -> str:
    """Return which scenarios may be meant: those whose names begin so, else the most similar ones."""
    path = Path(path_or_name)
    file = nearest(path.name, listed(path.parent))
    names = [name for name in shipped if path_or_name and name.startswith(path_or_name.casefold())]
    if not names:
        names = get_close_matches(path_or_name.casefold()[:_LONGEST], shipped)
    candidates = ([str(path.parent / file)] if file else []) + names
    every = "`batchdeck scenarios` lists the bundled ones"
    if not candidates:
        return f"; {every}"
    return f": did you mean {' or '.join(map(quoted, candidates[:_MOST_NAMED]))}? {every}"


DIGIT_LIMIT = 60

Scalar: TypeAlias = "bool | int | float | str | None"
Report: TypeAlias = Callable[[str, Position], None]

_CORE = (
    (lazy_regex(r"~|null|Null|NULL|"), lambda _: None),
    (lazy_regex(r"true|True|TRUE"), lambda _: True),
    (lazy_regex(r"false|False|FALSE"), lambda _: False),
    (lazy_regex(r"[-+]?[0-9]+"), int),
    (lazy_regex(r"0o[0-7]+"), lambda text: int(text[2:], 8)),
    (lazy_regex(r"0x[0-9a-fA-F]+"), lambda text: int(text, 16)),
    (lazy_regex(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?"), float),
    (lazy_regex(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)"), lambda text: float(text.replace(".", ""))),
)
_TAGS: dict[str, type | tuple[type, ...]] = {
    "tag:yaml.org,2002:null": type(None),
    "tag:yaml.org,2002:bool": bool,
    "tag:yaml.org,2002:int": int,
    "tag:yaml.org,2002:float": (int, float),
}
_STR_TAGS = ("tag:yaml.org,2002:str", "!")


def scalar_of(event: yaml.ScalarEvent, position: Position, report: Report) -> Scalar:
    """Return the value of a scalar; report one that does not fit its tag."""
    text: str = event.value
    if event.tag in _STR_TAGS or (event.tag is None and not event.implicit[0]):
        return text
    value = _resolved(text, position, report)
    if event.tag is None:
        return value
    wanted = _TAGS.get(event.tag)
    if wanted is None:
        report(f"the tag {shown(event.tag)} has no meaning here: remove it", position)
    elif not isinstance(value, wanted):
        report(f"{shown(text)} is no {event.tag.rpartition(':')[2]}, as its tag says", position)
    return value


def _resolved(text: str, position: Position, report: Report) -> Scalar:
    if text and text[0] not in "~nNtTfF-+.0123456789":
        return text
    for expression, make in _CORE:
        if not expression.fullmatch(text):
            continue
        if len(text) > DIGIT_LIMIT:
            report(f"a number of {len(text)} digits; put it in quotes if text is meant", position)
            return 0
        value = make(text)
        if isinstance(value, float) and not isfinite(value):
            report(f"{text} is not a finite number; put it in quotes if text is meant", position)
            return 0
        return value
    return text


_BLANK = lazy_regex(r"[ \t\r\n]*")
# Ends of lines in YAML alone, a mark that it drops, and escapes of half a character.
_OTHERWISE = lazy_regex(r"[\x85\u2028\u2029\ufeff]|\r(?!\n)|\\u[dD][89a-fA-F]")


class JsonPart(NamedTuple):
    """A member of an object or an item of a list: where its key and its value begin. An item has no key."""

    key: str
    key_start: int
    start: int


class JsonText:
    """A text, perhaps with JSON in it, with the positions of its characters."""

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def _lines(self) -> list[int]:
        """The beginnings of the lines."""
        return [0, *(end.end() for end in re.finditer("\n", self._text))]

    def position(self, at: int) -> Position:
        """Return line and column of a character."""
        line = bisect_right(self._lines, at)
        return Position(line, at - self._lines[line - 1] + 1)

    def parts(self, start: int) -> Iterator[JsonPart]:
        """Yield the parts of the object or list that begins there."""
        has_keys = self._text[start] == "{"
        at = self._after_blanks(start + 1)
        while self._text[at] not in "]}":
            key, key_start = "", at
            if has_keys:
                key, at = _PLAIN.raw_decode(self._text, at)
                at = self._after_blanks(self._after_blanks(at) + 1)  # behind the colon
            yield JsonPart(key, key_start, at)
            at = self._after_blanks(_PLAIN.raw_decode(self._text, at)[1])
            if self._text[at] == ",":
                at = self._after_blanks(at + 1)

    def _after_blanks(self, at: int) -> int:
        blank = _BLANK.match(self._text, at)
        assert blank is not None
        return blank.end()


def json_value(text: str) -> object:
    """Return the value of a text of JSON. Raises ValueError if it is none, or if YAML could read it otherwise."""
    may_differ = "\r" in text or "\\u" in text or not text.isascii()  # which is faster than the expression
    if may_differ and _OTHERWISE.search(text):
        raise ValueError("YAML reads it in another way")
    return strict_json(text)


def strict_json(text: str) -> object:
    """Return the value of a text of JSON without duplicate keys, endless nesting, or numbers beyond all bounds.

    Raises:
        ValueError: It is not.
    """
    try:
        return _STRICT.decode(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def counted(value: object) -> tuple[int, int]:
    """Return the number of values in a value, itself included, and how many levels they are nested."""
    size, depth = 1, 0
    level = [value]
    while level := [one for one in level if isinstance(one, dict | list)]:
        level = [inner for one in level for inner in (one.values() if isinstance(one, dict) else one)]
        size += len(level)
        depth += 1
    return size, depth


def nesting(text: str, begins: str, ends: str) -> int:
    """Return how deep brackets are nested in an expression, those within its literals included."""
    return max(accumulate((character in begins) - (character in ends) for character in text), default=0)


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    mapping = dict(pairs)
    if len(mapping) != len(pairs) or "" in mapping:
        raise ValueError("a key is empty or a duplicate")
    return mapping


def whole_number(text: str) -> int:
    """Return a whole number of JSON. Raises ValueError if it is too long."""
    if len(text) > DIGIT_LIMIT:
        raise ValueError("too many digits")
    return int(text)


def finite_number(text: str) -> float:
    """Return a number of JSON. Raises ValueError if it is too long, or not finite."""
    number = float(text)
    if len(text) > DIGIT_LIMIT or not isfinite(number):
        raise ValueError("too many digits, or not a finite number")
    return number


_PLAIN = json.JSONDecoder()
_STRICT = json.JSONDecoder(
    object_pairs_hook=_unique, parse_int=whole_number, parse_float=finite_number, parse_constant=finite_number
)


FEWEST_LINES = 100
"""Shorter lists are not worth it."""

_LINE = lazy_regex('^(?P<indent> *)- (?P<json>\\{"[^\\\\\n\t\ufeff]*\\})$', re.MULTILINE)
_OTHER_BREAKS = ("\r", "\x85", "\u2028", "\u2029")  # which count as ends of lines in YAML
_MOST_BRACKETS = 60
_TOKEN = "lines of JSON, "


class JsonLine(NamedTuple):
    """A line of JSON: its value, and its place in the text."""

    plain: object
    start: int
    end: int


class Lifted(NamedTuple):
    """A text with a short item in place of each long list, and the lines of these lists by the text of the item."""

    text: str
    runs: dict[str, list[JsonLine]]


def lifted(text: str) -> Lifted | None:
    """Return the text without its long lists of lines of JSON; None if it has none.

    The lines that are lifted become empty ones, so that the others keep their positions.
    """
    if '- {"' not in text or _TOKEN in text or any(end in text for end in _OTHER_BREAKS):
        return None
    pieces: list[str] = []
    runs: dict[str, list[JsonLine]] = {}
    done = 0
    for run in _runs(text):
        found = _read(run)
        if found is None:
            continue
        name = f"{_TOKEN}{len(runs)}"
        pieces += [text[done : run[0].start()], f'{run[0]["indent"]}- "{name}"', "\n" * (len(run) - 1)]
        runs[name] = found
        done = run[-1].end()
    return Lifted("".join([*pieces, text[done:]]), runs) if runs else None


def _runs(text: str) -> Iterator[list[re.Match[str]]]:
    """Yield the lines of JSON that follow one another with the same indentation, where they are many."""
    run: list[re.Match[str]] = []
    for match in _LINE.finditer(text):
        if run and (match.start() != run[-1].end() + 1 or match["indent"] != run[0]["indent"]):
            if len(run) >= FEWEST_LINES:
                yield run
            run = []
        run.append(match)
    if len(run) >= FEWEST_LINES:
        yield run


def _read(run: list[re.Match[str]]) -> list[JsonLine] | None:
    """Return the lines of a run; None if YAML could read one of them in another way."""
    found = []
    for match in run:
        text = match["json"]
        if text.count("{") + text.count("[") > _MOST_BRACKETS:
            return None
        try:
            found.append(JsonLine(json_value(text), match.start("json"), match.end()))
        except ValueError:
            return None
    return found


MESSAGE_LIMIT = 240
"""The most characters of a message of the parser's, which may quote the file."""

_UNPRINTABLE = lazy_regex("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_SURROGATES = lazy_regex(r"(?<!\\)((?:\\\\)*)\\u(d[89ab][0-9a-f]{2})\\u(d[c-f][0-9a-f]{2})", re.IGNORECASE)
_LEADING_BLANKS = lazy_regex(r"^[ \t]+", re.MULTILINE)


def unprintable(text: str) -> tuple[str, Position] | None:
    """Return what is wrong with the first character that YAML does not allow, and its position; None if all are."""
    found = None if text.replace("\n", "").isprintable() else _UNPRINTABLE.search(text)
    if found is None:
        return None
    return f"the character U+{ord(found[0]):04X} is not allowed in YAML", JsonText(text).position(found.start())


def _joined(surrogates: re.Match[str]) -> str:
    high, low = int(surrogates[2], 16), int(surrogates[3], 16)
    return f"{surrogates[1]}\\U{0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00):08x}"


def as_yaml(text: str) -> str:
    """Return JSON as valid YAML: without tabs for indentation and surrogate pairs in escapes."""
    if not text.lstrip().startswith(("{", "[")):
        return text
    text = _LEADING_BLANKS.sub(lambda blanks: blanks[0].replace("\t", " "), text)
    return _SURROGATES.sub(_joined, text)


def syntax_message(error: yaml.MarkedYAMLError, position: Position, text: str) -> str:
    """Return the parser's message as a sentence, with advice for the most common mistakes."""
    message = ", ".join(part for part in (error.context, error.problem) if part) or "this is not YAML"
    lines = text.splitlines()[: position.line]
    if len(lines) == position.line and lines[-1][position.column - 1 : position.column] == "\t":
        message = "a tab: YAML is indented with spaces only"
    elif "mapping values are not allowed" in message:
        message += ": is the indentation right, or does text with ': ' need quotes?"
    elif "expected <document start>" in message:
        message = "the scenario has ended before this line: a file is one mapping, of YAML or of JSON"
    return shortened(message, MESSAGE_LIMIT)
