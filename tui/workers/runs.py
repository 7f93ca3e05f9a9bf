"""The results of a study as workers play its runs, and the file that collects them.

Lines are added to the file as runs end, and stay if the study is interrupted. A lock keeps a second program from
writing the same file; it ends with the program, however that ends. Since anybody may have changed the file, each line
is checked by a model before it is used again, and has to be a result of the same study.
"""

from __future__ import annotations

import json
import re
from codecs import BOM_UTF8
from contextlib import AbstractContextManager, ExitStack, suppress
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO, NoReturn, Self, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model, model_validator

from engine.base.errors import Problem
from engine.base.partial_files import is_locked
from engine.base.values import lazy_regex, shortened
from engine.scenario.bodies import mistake_text
from engine.scenario.document import Path as Location
from engine.scenario.document import format_path
from engine.scenario.model import MEASURES
from engine.scenario.text import BYTE_LIMIT, strict_json
from engine.specs.base import Text, wire_name
from engine.studies.runs import BEGINNING, Result, Run, read
from tui.saving.targets import TargetError, reported
from tui.workers.dispatch import Dispatcher

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from engine.studies.runs import Study
    from tui.workers.dispatch import Workers


@dataclass(frozen=True, slots=True)
class Kept:
    """The results in a file, and its length in bytes without a half-written last line.

    ``ends_open`` says that the last line lacks its line end.
    """

    results: dict[Run, Result] = field(default_factory=dict)
    length: int = 0
    ends_open: bool = False


class NoResults(Exception):
    """A file that does not hold results of this study. ``problem`` says what is wrong, and where."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        super().__init__(str(problem))


class _Part(BaseModel):
    """A part of a line of results. Keys that no part has are let be."""

    model_config = ConfigDict(strict=True, alias_generator=wire_name, defer_build=True)


_LARGEST = 1e15  # of a measure: the sum of any number of them is finite
_Measure = Annotated[float, Field(ge=0, le=_LARGEST)] | None


class _End(_Part):
    end_seconds: _Measure


class _Identity(_Part):
    scenario: Text
    factors: Text
    version: Text


class _Cost(_Part):
    amount: _Measure
    currency: Text


_MEASURED: dict[str, Any] = dict.fromkeys(MEASURES, (_Measure, ...)) | {"cost": (_Cost | None, None)}
_Summary = create_model("_Summary", __base__=_Part, **_MEASURED)


class _Line(_Part):
    """A line of a file of results, which anybody may have changed: what a summary and a table of results use."""

    variant: int
    values: dict[str, Any]
    seed: int
    expectations: list[bool]
    summary: _Summary | None
    jobs: dict[str, _End]
    error: Text | None
    study: _Identity | None = None

    @model_validator(mode="after")
    def _has_failed_or_not(self) -> Self:
        if (self.summary is None) is (self.error is None):
            raise ValueError("must have either a summary or an error")
        return self


_LONGEST = BYTE_LIMIT  # bytes of a line, which is not longer than the scenario whose values and jobs it has
_TOKEN = lazy_regex(r"[-+.\\\w]{0,7}", re.ASCII)  # of a number, a word or an escape, of which the rest may be cut off
_OTHER_FILE = "name another file, or delete this one"


def kept(stream: BinaryIO, study: Study, file: str) -> Kept:
    """Return the results of earlier runs in a file; a last line that is half written is dropped.

    A byte order mark at the beginning, which editors add, is ignored.

    Raises:
        NoResults: The file holds something else, or results of another study.
    """
    found: dict[Run, Result] = {}
    counts: dict[int, tuple[int, int]] = {}  # of expectations, and the line that has so many, by variant
    length, ends_open = 0, False
    for number, raw, is_last in _lines(stream):

        def refuse(message: str, path: Location = (), number: int = number) -> NoReturn:
            raise NoResults(Problem(f"{message}; {_OTHER_FILE}", format_path(path), number, 1, file)) from None

        content = raw.removeprefix(BOM_UTF8) if number == 1 else raw
        if len(content) > _LONGEST:
            refuse(f"has more than {_LONGEST >> 20} MB, which no result has")
        if content.strip():
            line = _read_line(content.rstrip(b"\r\n"), refuse, may_be_cut=is_last)
            if line is None:
                break
            result, own = line
            if problem := _foreign(own, study):
                refuse(problem)
            if own.error is None:
                count, first = counts.setdefault(own.variant, (len(own.expectations), number))
                if len(own.expectations) != count:
                    refuse(f"must have {count:,} items, as line {first:,} has", ("expectations",))
            found.setdefault(Run(own.variant, own.seed), result)
        length += len(raw)
        ends_open = not raw.endswith(b"\n")
    return Kept(found, length, ends_open)


def _lines(stream: BinaryIO) -> Iterator[tuple[int, bytes, bool]]:
    """Yield the lines of a file with their numbers, from 1, and whether each is the last one."""
    raw, number = stream.readline(_LONGEST + 4), 0
    while raw:
        following, number = stream.readline(_LONGEST + 4), number + 1
        yield number, raw, not following
        raw = following


def _read_line(raw: bytes, refuse: Callable[..., NoReturn], *, may_be_cut: bool) -> tuple[Result, _Line] | None:
    """Return the result in a line; None if the line is the beginning of one, which is allowed with ``may_be_cut``.

    Anything else is refused.
    """
    try:
        result = strict_json(raw.decode())
    except ValueError as error:
        if may_be_cut and _is_beginning(raw, error):
            return None
        is_json = not isinstance(error, json.JSONDecodeError | UnicodeDecodeError)
        refuse(f"is not a result of a study: {error}" if is_json else "is not a result of a study")
    if not isinstance(result, dict) or not Result.__annotations__.keys() <= result.keys():
        refuse("is not a result of a study")
    try:
        return cast("Result", result), _Line.model_validate(result)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        refuse("is missing" if first["type"] == "missing" else mistake_text(first), first["loc"])


def _is_beginning(raw: bytes, error: ValueError) -> bool:
    """Return whether a line is the beginning of a result: its only mistake is that it ends."""
    beginning = BEGINNING.encode()
    if not raw.startswith(beginning):
        return beginning.startswith(raw)
    if isinstance(error, UnicodeDecodeError):
        return error.end == len(raw) and error.reason == "unexpected end of data"
    if not isinstance(error, json.JSONDecodeError):
        return False
    return error.msg.startswith("Unterminated") or bool(_TOKEN.fullmatch(error.doc, error.pos))


def _foreign(line: _Line, study: Study) -> str:
    """Return why a result is none of this study's; empty if it is one."""
    own, other = study.identity, line.study
    if other is None:
        return "does not say of which study it is a result"
    if other.version != own.version:
        return f"is a result of version {shortened(other.version)} of batchdeck, this is {own.version}"
    if other.scenario != own.scenario:
        return "is a result of another scenario text"
    is_one = other.factors == own.factors and 1 <= line.variant <= study.variants
    return "" if is_one and line.values == study.values(line.variant) else "is a result of other factors"


_IN_USE = "another study adds its results to it: wait for that one, or name another file"


class ResultsFile(AbstractContextManager["ResultsFile"]):
    """A file of results. It is checked before a run begins, and what is in it stays until the first line is added.

    Until the end of the ``with`` block the file is locked: another study that wants to use it is refused.
    """

    def __init__(self, path: Path, study: Study) -> None:
        """Read what is there.

        Raises:
            NoResults: The file holds something else, or results of another study.
            TargetError: It cannot be read, or another study uses it.
        """
        self._path = path
        self._open = ExitStack()
        self._stream: BinaryIO | None = None
        self._is_clean = False
        with ExitStack() as stack:
            with reported(path, before_run=True):
                if path.exists() and not path.is_file():
                    raise TargetError(path, "it is not a file", before_run=True)
                self._is_there = path.exists()
                stream = stack.enter_context(self._locked("rb")) if self._is_there else None
                self._kept = Kept() if stream is None else kept(stream, study, str(path))
            self._open = stack.pop_all()

    def _locked(self, mode: str) -> BinaryIO:
        """Open the file and lock it. Raises OSError, and TargetError if another study uses it."""
        stream = cast("BinaryIO", self._path.open(mode, buffering=-1 if mode == "rb" else 0))
        if is_locked(stream):
            stream.close()
            raise TargetError(self._path, _IN_USE, before_run=True)
        return stream

    @property
    def results(self) -> dict[Run, Result]:
        """The results of earlier runs of this study."""
        return self._kept.results

    def open(self) -> None:
        """Open the file for writing, or make it, before the first run begins. Raises TargetError."""
        with reported(self._path, before_run=True):
            try:
                stream = self._path.open("r+b", buffering=0) if self._is_there else self._locked("xb")
            except FileExistsError:  # since it was read
                raise TargetError(self._path, _IN_USE, before_run=True) from None
            self._stream = self._open.enter_context(stream)

    def add(self, lines: Iterable[str]) -> None:
        """Add lines; they are in the file when this returns, even if the program is killed.

        Raises:
            TargetError: They cannot be written. Then the file is as long as before.
        """
        stream = self._stream
        assert stream is not None
        with reported(self._path):
            if not self._is_clean:
                self._drop_cut_line(stream)
            length, rest = stream.tell(), "".join(f"{line}\n" for line in lines).encode()
            try:
                while rest:
                    rest = rest[stream.write(rest) :]
            except OSError:
                stream.truncate(length)
                raise

    def _drop_cut_line(self, stream: BinaryIO) -> None:
        """Go behind the last whole line, and end the file there."""
        stream.truncate(self._kept.length)
        stream.seek(self._kept.length)
        if self._kept.ends_open:
            stream.write(b"\n")
        self._is_clean = True

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):  # every line was flushed
            self._open.close()


def results_of(
    study: Study, rounds: Iterable[Iterable[Run]], workers: Workers[Run, str], file: ResultsFile | None
) -> Iterator[list[Result]]:
    """Yield the results of runs, batch by batch; they are in the file then, if there is one. Raises TargetError.

    A round of runs begins when all results of the one before it have been taken.
    """
    dispatcher = Dispatcher(study, workers)
    for lines in chain.from_iterable(dispatcher.play(runs) for runs in rounds):
        if lines and file is not None:
            file.add(lines)
        yield [read(line) for line in lines]
