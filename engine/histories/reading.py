"""Reading JSON files: exported objects one at a time, with the names, times and durations of the REST API.

A list may be longer than what fits into memory as Python objects: only its text is held, and one object. Another
program than the service may have written the objects.
"""

from __future__ import annotations

import codecs
import json
import re
import sys
from collections.abc import Iterator
from enum import Enum, auto
from functools import cache, partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, NoReturn

from pydantic.fields import FieldInfo

from engine.base.errors import Position, Problem, ScenarioError
from engine.base.values import format_duration, parse_duration, parse_utc, quoted, shortened, with_short_words
from engine.histories.files import name_of, opened
from engine.scenario.bodies import PRINTED_BY_AZ, fields_of, folded_name, iso_duration, model_of
from engine.scenario.document import format_path
from engine.scenario.text import counted, finite_number, whole_number
from engine.specs.base import Spec, is_duration
from engine.specs.bodies import JobScheduleSpec, JobSpec, PoolSpec, TaskSpec

_BODIES: tuple[type[Spec], ...] = (PoolSpec, JobSpec, JobScheduleSpec, TaskSpec)
# Names that only answers have, and which no body of a request mentions.
_LEFT_OUT = frozenset(
    {
        *("url", "eTag", "lastModified", "nodeUrl", "taskRootDirectory", "taskRootDirectoryUrl", "nodeAgentInfo"),
        *("endpointConfiguration", PRINTED_BY_AZ, "recentTasks", "virtualMachineInfo"),
    }
)
_FREE_MAPPINGS = frozenset({"resourceTags", "settings", "protectedSettings", "tags"})  # their keys are the user's
_MOST_SPELLINGS = 10_000  # that are kept
_WORDS = frozenset(
    {"state", "previousState", "schedulingState", "allocationState", "result", "category", "taskState"}
)  # answered in lower case; some programs print the names of their constants


class _Form(Enum):
    """The ways to normalize the value of a property."""

    LEFT_OUT = auto()
    FREE = auto()  # a mapping whose keys are the user's
    WORD = auto()
    DURATION = auto()
    TIME = auto()
    OTHER = auto()


class Normalizer:
    """A reader of names and values in any dialect. It shares equal small objects between all that it returns."""

    def __init__(self) -> None:
        self._shared: dict[object, dict[str, Any]] = {}

    def normalized(self, value: dict[str, Any]) -> dict[str, Any]:
        """Return an object with the names of the REST API, without nulls and unused properties."""
        body: dict[str, Any] = {}
        for name, inner in value.items():
            known, form = _KNOWN[name]
            if inner is None or form is _Form.LEFT_OUT or known in body:
                continue
            body[known] = _text(inner, form) if type(inner) is str else self._value(inner, form, known)
        return body

    def _value(self, value: Any, form: _Form, name: str = "") -> Any:  # noqa: ANN401 - any JSON
        """Return the value of a property, or one in its list, which has no name."""
        if isinstance(value, str):
            return _text(value, form)
        if form is _Form.FREE:
            return _plain(value)
        if isinstance(value, dict):
            return self._share(name, self.normalized(value))
        return [self._value(each, form) for each in value if each is not None] if isinstance(value, list) else value

    def _share(self, name: str, body: dict[str, Any]) -> dict[str, Any]:
        """Return the object that equals ``body`` and has been returned before: many tasks have equal constraints."""
        if name == "executionInfo":
            return body
        try:
            return self._shared.setdefault((name, *body.items()), body)
        except TypeError:  # it holds lists or objects
            return body


class _Known(dict[str, tuple[str, _Form]]):
    """The spelling of each name that was asked for, and the form of its values."""

    def __missing__(self, name: str) -> tuple[str, _Form]:
        known = _spellings().get(folded_name(name)) or _camel(name)
        forms = {
            _Form.LEFT_OUT: known in _LEFT_OUT or known.startswith(("odata.", "@odata.")),
            _Form.FREE: known in _FREE_MAPPINGS,
            _Form.WORD: known in _WORDS,
            _Form.DURATION: known in _durations(),
            _Form.TIME: known.endswith("Time"),
        }
        form = next((form for form, is_it in forms.items() if is_it), _Form.OTHER)
        if len(self) < _MOST_SPELLINGS:
            self[name] = known, form
        return known, form


_KNOWN = _Known()


def wire_spelling(name: str) -> str:
    """Return the REST API's spelling of a name in any dialect: names of answers may have underscores or a capital."""
    return _KNOWN[name][0]


def _camel(name: str) -> str:
    if "_" not in name.strip("_"):
        return name[:1].lower() + name[1:]
    first, *rest = name.split("_")
    return first + "".join(word[:1].upper() + word[1:] for word in rest)


@cache
def _spellings() -> dict[str, str]:
    of_service = chain.from_iterable(model.SERVICE_NAMES for model in _BODIES)
    names = {*_LEFT_OUT, *_FREE_MAPPINGS, *of_service, *(name for name, _ in _properties())}
    return {folded_name(name): name for name in sorted(names)}


@cache
def _durations() -> frozenset[str]:
    return frozenset(name for name, field in _properties() if is_duration(field))


def _properties() -> Iterator[tuple[str, FieldInfo]]:
    """Yield every property of the bodies of requests, and of the objects in them."""
    seen: set[type[Spec]] = set()
    waiting: list[type[Spec]] = list(_BODIES)
    while waiting:
        model = waiting.pop()
        seen.add(model)
        for name, field in fields_of(model).items():
            yield name, field
            inner = model_of(field)
            if inner is not None and inner not in seen:
                waiting.append(inner)


def _text(text: str, form: _Form) -> str:
    if not text.isascii():
        text = text.encode("utf-8", "replace").decode("utf-8")  # half of a surrogate pair fits into no file
    if form is _Form.OTHER:
        return text
    if form is _Form.WORD:
        return sys.intern(text.rpartition(".")[2].lower())
    if form is _Form.DURATION:
        printed = iso_duration(text)
        return text if printed == text else format_duration(parse_duration(printed))
    if form is _Form.TIME and not (text.endswith("Z") and text[10:11] == "T"):
        return _moment(text)
    return text


def _moment(text: str) -> str:
    try:
        moment = parse_utc(text)
    except ValueError:
        return text  # who needs the time says what is wrong with it
    return moment.isoformat().removesuffix("+00:00") + "Z"


def _plain(value: Any) -> Any:  # noqa: ANN401 - any JSON
    if isinstance(value, str):
        return _text(value, _Form.OTHER)
    if isinstance(value, dict):
        return {_text(str(name), _Form.OTHER): _plain(inner) for name, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, list) else value


JsonPath = tuple[str | int, ...]

STATUS = "jobPreparationAndReleaseTaskStatus"
LISTS = frozenset({"value", "pools", "nodes", "formerNodes", "jobs", "tasks", "jobSchedules", STATUS})
"""Lists of objects in an object: an answer's, and those of the state document of a run."""

_LONG_INSIDE = frozenset({"pools", "jobs"})  # lists whose objects hold long lists themselves
_PIECE, _MOST_PIECES = 1 << 20, 4 << 10  # bytes that are read in one go, and how many of them: 4 GB
_MOST_NAMES = 10_000  # in one object
_DEEPEST = 60  # levels of one object: a scenario, in which it stands a few levels deep, may have a hundred
_BLANKS = re.compile(r"[ \t\r\n]*")
_ZIP = b"PK\x03\x04"
_ENCODINGS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),  # what PowerShell makes of `az ... > file`
    (codecs.BOM_UTF16_BE, "utf-16"),
)


class Source(NamedTuple):
    """The origin of an object: a file, and the path in it."""

    file: str
    path: JsonPath = ()

    def problem(self, message: str, *below: str | int) -> Problem:
        """Return a mistake at this object, or at a value below it."""
        return Problem(with_short_words(message), format_path((*self.path, *below)), file=self.file)


class Found(NamedTuple):
    """An object as a file has it, with the name of the list in which it stands and the object that has the list."""

    body: dict[str, Any]
    source: Source
    list_name: str = ""
    parent: Source | None = None


def json_files(path: Path) -> tuple[Path, ...]:
    """Return the file, or the JSON files in a folder in alphabetical order.

    Raises:
        ScenarioError: The folder cannot be read or has no such file.
    """
    if not path.is_dir():
        return (path,)
    try:
        found = tuple(sorted(inner for inner in path.iterdir() if inner.suffix.lower() == ".json" and inner.is_file()))
    except OSError as error:
        raise _failure(str(path), f"cannot be read: {error.strerror}") from None
    if not found:
        raise _failure(str(path), "has no JSON file: name a folder with what `az batch ... show` or `list` has printed")
    return found


def objects_in(path: Path) -> Iterator[Found]:
    """Yield the objects of a file, plain or packed with gzip; an object comes after those in its lists.

    Raises:
        ScenarioError: The file cannot be read, or is not JSON from here on.
    """
    with opened(str(path)) as stream:
        yield from _Reader(stream, name_of(str(path))).objects()


def json_document(path: str) -> Any:  # noqa: ANN401 - whatever JSON has
    """Return the JSON of a whole file, plain or packed with gzip. Raises ScenarioError if it is none."""
    with opened(path) as stream:
        return _Reader(stream, name_of(path)).document()


def _failure(file: str, message: str, line: int = 0, column: int = 0) -> ScenarioError:
    return ScenarioError([Problem(with_short_words(message), "", line, column, with_short_words(file))])


def _decoded(stream: BinaryIO, file: str) -> str:
    pieces = list(islice(iter(partial(stream.read, _PIECE), b""), _MOST_PIECES + 1))
    if len(pieces) > _MOST_PIECES:
        raise _failure(file, f"has more than {_PIECE * _MOST_PIECES >> 30} GB: an export has less")
    content = b"".join(pieces)
    if content.startswith(_ZIP):
        raise _failure(file, "is an archive (zip): unpack it first")
    encoding = next((name for mark, name in _ENCODINGS if content.startswith(mark)), "utf-8")
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        good = error.object[: error.start].decode(error.encoding, "replace")
        message = f"is not {error.encoding.upper()}: the byte 0x{error.object[error.start]:02x} fits no character"
        raise _failure(file, message, *_end_of(good)) from None
    good, zero, _ = text.partition("\0")
    if zero:
        raise _failure(file, "is a binary file, not JSON: it contains a zero byte", *_end_of(good))
    return text


def _end_of(text: str) -> Position:
    return Position(text.count("\n") + 1, len(text) - text.rfind("\n"))


class _Reader:
    """A reader of the objects of one file."""

    def __init__(self, stream: BinaryIO, file: str) -> None:
        self._text, self._file = _decoded(stream, file), file
        self._at = 0
        self._decode = json.JSONDecoder(
            parse_int=whole_number, parse_float=finite_number, parse_constant=_refuse_constant
        ).raw_decode

    def objects(self) -> Iterator[Found]:
        first = self._next()
        if not first:
            self._fail("the file is empty: an export has one JSON object or a list of them")
        if first == "[":
            yield from self._list((), "", None, has_long_lists=False)
        elif first == "{":
            yield from self._object(Found({}, Source(self._file)))
        else:
            word = self._text[self._at : self._at + 40].split("\n")[0]
            self._fail(f"this is not JSON: it begins with {quoted(word)}; export with `--output json`")
        self._check_end()

    def document(self) -> Any:  # noqa: ANN401 - any JSON
        if not self._next():
            self._fail("the file is empty")
        value = self._value()
        self._check_end()
        return value

    def _check_end(self) -> None:
        if self._next():
            self._fail("there is more after the end of the JSON: write each export into a file of its own")

    def _list(self, path: JsonPath, name: str, parent: Source | None, *, has_long_lists: bool) -> Iterator[Found]:
        """Yield the objects of a list that begins here."""
        self._at += 1
        if self._next() == "]":
            self._at += 1
            return
        index = 0
        while True:
            begin = self._next()
            source = Source(self._file, (*path, index))
            if begin != "{":
                self._fail(_NO_OBJECT if begin else _CUT)
            if has_long_lists:
                yield from self._object(Found({}, source, name, parent))
            else:
                yield from _parts(Found(self._value(), source, name, parent))
            index += 1
            if self._ends("]"):
                return

    def _object(self, found: Found) -> Iterator[Found]:
        """Yield the objects in the lists of an object that begins here, and then the object without them."""
        if len(found.source.path) > _DEEPEST:
            self._fail(_TOO_DEEP)
        self._at += 1
        if self._next() == "}":
            self._at += 1
            yield found
            return
        for _ in range(_MOST_NAMES):
            if self._next() != '"':
                self._fail("a name in double quotes was expected here" if self._next() else _CUT)
            name = self._value()
            if self._next() != ":":
                self._fail(f"a colon was expected after {quoted(name)}" if self._next() else _CUT)
            self._at += 1
            begin = self._next()
            spelling = wire_spelling(name)
            if spelling in LISTS and begin == "[":
                path = (*found.source.path, name)
                inside = spelling in _LONG_INSIDE
                yield from self._list(path, spelling, found.source, has_long_lists=inside)
            else:
                found.body[name] = self._value()
            if self._ends("}"):
                yield found
                return
        self._fail(f"an object with more than {_MOST_NAMES:,} names, which no export has")

    def _ends(self, end: str) -> bool:
        """Return whether a list or object ends here, and consume its end or the comma."""
        character = self._next()
        if character not in (end, ","):
            self._fail(f"a comma or {end!r} was expected here" if character else _CUT)
        self._at += 1
        return character == end

    def _value(self) -> Any:  # noqa: ANN401 - any JSON
        """Return the value that begins here."""
        self._next()
        try:
            value, end = self._decode(self._text, self._at)
        except json.JSONDecodeError as error:
            is_cut = error.pos >= len(self._text.rstrip()) or error.msg.startswith("Unterminated")
            mistake = f"this is not JSON: {error.msg[0].lower()}{error.msg[1:]}"
            self._fail(_CUT if is_cut else mistake, error.pos)
        except RecursionError:
            self._fail(_TOO_DEEP)
        except ValueError as error:
            self._fail(shortened(str(error), 160))
        brackets = self._text.count("{", self._at, end) + self._text.count("[", self._at, end)
        if brackets > _DEEPEST and counted(value)[1] > _DEEPEST:
            self._fail(_TOO_DEEP)
        self._at = end
        return value

    def _next(self) -> str:
        """Return the next character that is not blank, or nothing at the end of the file. It is not consumed."""
        blanks = _BLANKS.match(self._text, self._at)
        self._at = blanks.end() if blanks else self._at
        return self._text[self._at : self._at + 1]

    def _fail(self, message: str, index: int | None = None) -> NoReturn:
        """Report a mistake at a character, by default the current one."""
        raise _failure(self._file, message, *_end_of(self._text[: self._at if index is None else index]))


_TOO_DEEP = "nested too deeply"
_NO_OBJECT = "an object in braces was expected here: export whole objects, without `--query`"
_CUT = "the file ends in the middle of a value: it was cut off"


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")


def _parts(found: Found) -> Iterator[Found]:
    """Yield the objects in the lists of an object, and then the object without them."""
    body = found.body
    for name in [name for name, value in body.items() if wire_spelling(name) in LISTS and isinstance(value, list)]:
        for index, inner in enumerate(body.pop(name)):
            source = Source(found.source.file, (*found.source.path, name, index))
            if not isinstance(inner, dict):
                raise ScenarioError([source.problem(_NO_OBJECT)])
            yield from _parts(Found(inner, source, wire_spelling(name), found.source))
    yield found
