"""Reading a log in the Standard Workload Format: its header, and of each job what a simulation needs."""

from __future__ import annotations

import re
from array import array
from collections import Counter
from dataclasses import dataclass, field
from math import isfinite
from typing import TYPE_CHECKING

from engine.base.errors import Problem, ScenarioError, Severity
from engine.base.shortening import quoted, shortened
from engine.base.units import SECOND_MS
from engine.histories.files import name_of, numbered_lines, opened

if TYPE_CHECKING:
    from collections.abc import Iterable

    from engine.histories.files import Line

JOB_LIMIT = 250_000
"""The most jobs of a log: a scenario of more could not be read again."""

LINE_LIMIT = 5_000_000
"""The most lines of a log, with those that are left out."""

NAMED_LIMIT = 20
"""So many jobs with the same flaw are named; the others are counted."""

_FIELDS = 18
_NUMBER, _SUBMIT, _RUN, _ALLOCATED, _REQUESTED, _STATUS, _PRECEDING = 0, 1, 3, 4, 7, 10, 16
_FIELD_NAMES = (
    "job number",
    "submit time",
    "wait time",
    "run time",
    "allocated processors",
    "CPU time",
    "used memory",
    "requested processors",
    "requested time",
    "requested memory",
    "status",
    "user",
    "group",
    "executable",
    "queue",
    "partition",
    "preceding job",
    "think time",
)
_FAILED, _CANCELLED = 0, 5
_PARTS = (2, 3, 4)  # of a job that was checkpointed, which has a line of its own
_MISTAKE_LIMIT = 100
_WRONG_FIELDS = 4  # a line with more of them is something else
_LATEST_S = 90 * 366 * 86_400
_MOST_PROCESSORS = 2**31 - 1
_HEADER = re.compile(r";+\s*([A-Za-z]+)\s*:\s*(\S.*)")
_HEADER_LIMIT = 200


@dataclass(slots=True)
class Log:
    """The jobs of a log as columns, in the order of their submission, and its header."""

    file: str
    header: dict[str, str] = field(default_factory=dict)
    comments: list[str] = field(default_factory=list)
    lines: array[int] = field(default_factory=lambda: array("q"))
    numbers: array[int] = field(default_factory=lambda: array("q"))
    submitted_ms: array[int] = field(default_factory=lambda: array("q"))
    run_ms: array[int] = field(default_factory=lambda: array("q"))
    processors: array[int] = field(default_factory=lambda: array("q"))
    failed: array[int] = field(default_factory=lambda: array("b"))
    skipped: Counter[str] = field(default_factory=Counter)
    cancelled: int = 0
    with_preceding: int = 0
    warnings: list[Problem] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.numbers)

    def header_number(self, key: str) -> int | None:
        """Return a number above zero of the header, or None."""
        match = re.match(r"\d{1,12}(?!\d)", self.header.get(key, ""), re.ASCII)
        return int(match[0]) or None if match else None

    def warn(self, message: str, line: int = 0) -> None:
        """Add a warning about a line, or about the file."""
        self.warnings.append(
            Problem(message, "", line, 1 if line else 0, name_of(self.file), severity=Severity.WARNING)
        )

    def keep(self, rows: Iterable[int]) -> None:
        """Keep these jobs, in this order."""
        order = list(rows)
        for name in ("lines", "numbers", "submitted_ms", "run_ms", "processors", "failed"):
            column = getattr(self, name)
            setattr(self, name, array(column.typecode, map(column.__getitem__, order)))


def read_log(file: str) -> Log:
    """Read a log, plain or packed with gzip.

    Raises:
        ScenarioError: It cannot be read, has mistakes, or no job that could run.
    """
    reader = _Reader(Log(file))
    with opened(file) as stream:
        for line in numbered_lines(stream, file):
            reader.take(line)
    return reader.finished()


class _Reader:
    """A reader of the lines of a log; mistakes are collected."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._problems: list[Problem] = []
        self._seen: set[int] = set()
        self._backwards: Counter[str] = Counter()
        self._before = (0, 0)  # submit time and line of the job before

    def take(self, line: Line) -> None:
        """Take the next line. Raises ScenarioError if there are too many mistakes, or jobs."""
        if line.number > LINE_LIMIT:
            self._report(line.number, f"has more than {LINE_LIMIT:,} lines before: import a part of the log")
            raise ScenarioError(self._problems, self._log.warnings)
        text = line.content.strip()
        if not text:
            return
        if text.startswith((b";", b"#")):
            self._take_comment(text.decode("utf-8", "replace"))
            return
        fields = text.split()
        if len(fields) < _FIELDS:
            self._report(line.number, f"has {len(fields)} fields: a job has {_FIELDS} numbers")
            return
        try:
            values: list[float] = [*map(int, fields[:_FIELDS])]
        except ValueError:
            parsed = [*map(_number, fields[:_FIELDS])]
            wrong = [at for at, value in enumerate(parsed) if value is None]
            if len(wrong) > _WRONG_FIELDS:
                self._report(line.number, f"{len(wrong)} of its fields are no numbers: this is no job")
                return
            for at in wrong:
                shown = quoted(fields[at].decode("utf-8", "replace"))
                self._report(line.number, f"field {at + 1} ({_FIELD_NAMES[at]}) must be a number, not {shown}")
            values = [value for value in parsed if value is not None]
            if wrong:
                return
        self._take_job(line.number, values)

    def finished(self) -> Log:
        """Return the log. Raises ScenarioError if there were mistakes, or nothing is left."""
        log = self._log
        if not self._problems and not log.numbers:
            raise no_job(log)
        if self._problems:
            raise ScenarioError(self._problems, log.warnings)
        if self._backwards:
            count = self._backwards.total()
            log.warn(f"{count:,} jobs stand behind later ones: jobs are sorted by their submit time")
            log.keep(sorted(range(len(log)), key=log.submitted_ms.__getitem__))
        return log

    def _take_comment(self, text: str) -> None:
        log = self._log
        if len(log.comments) < _HEADER_LIMIT:
            log.comments.append(text)
        match = _HEADER.match(text)
        if match:
            log.header.setdefault(match[1], match[2].strip())

    def _take_job(self, line: int, values: list[float]) -> None:
        log = self._log
        number, status = int(values[_NUMBER]), int(values[_STATUS])
        submit, run = values[_SUBMIT], values[_RUN]
        processors = int(values[_REQUESTED] if values[_REQUESTED] > 0 else values[_ALLOCATED])
        if status in _PARTS:
            log.skipped["parts of checkpointed jobs"] += 1
        elif run <= 0:
            log.skipped["without a run time"] += 1
        elif processors <= 0:
            log.skipped["without processors"] += 1
        elif submit < 0:
            self._leave_out(line, number, "a negative submit time")
        elif number in self._seen:
            self._leave_out(line, number, "a number that an earlier job has")
        elif max(submit, run) > _LATEST_S or processors > _MOST_PROCESSORS:
            self._report(line, f"job {number}: times and processors must be below a century and {_MOST_PROCESSORS:,}")
        else:
            self._add(line, number, round(submit * SECOND_MS), round(run * SECOND_MS))
            log.processors.append(processors)
            log.failed.append(status in (_FAILED, _CANCELLED))
            log.cancelled += status == _CANCELLED
            log.with_preceding += values[_PRECEDING] > 0

    def _add(self, line: int, number: int, submitted_ms: int, run_ms: int) -> None:
        log = self._log
        if len(log) >= JOB_LIMIT:
            self._report(line, f"has more than {JOB_LIMIT:,} jobs before: import a part of the log")
            raise ScenarioError(self._problems, log.warnings)
        self._seen.add(number)
        before_ms, before_line = self._before
        if submitted_ms < before_ms:
            if not self._backwards:
                log.warn(f"job {number} was submitted before the job of line {before_line:,}", line)
            self._backwards["jobs"] += 1
        else:
            self._before = submitted_ms, line
        log.lines.append(line)
        log.numbers.append(number)
        log.submitted_ms.append(submitted_ms)
        log.run_ms.append(run_ms)

    def _leave_out(self, line: int, number: int, flaw: str) -> None:
        kind = f"with {flaw}"
        self._log.skipped[kind] += 1
        if self._log.skipped[kind] <= NAMED_LIMIT:
            self._log.warn(f"job {number} has {flaw}, and is left out", line)
        elif self._log.skipped[kind] >= JOB_LIMIT:
            self._report(line, f"has {JOB_LIMIT:,} jobs {kind} before: this is no log")
            raise ScenarioError(self._problems, self._log.warnings)

    def _report(self, line: int, message: str) -> None:
        self._problems.append(Problem(shortened(message, 400), "", line, 1, name_of(self._log.file)))
        if len(self._problems) >= _MISTAKE_LIMIT:
            raise ScenarioError(self._problems, self._log.warnings)


def _number(field: bytes) -> float | None:
    text = field.decode("utf-8", "replace")
    try:
        value = float(text)
    except ValueError:
        return None
    return value if isfinite(value) and "_" not in text else None


def no_job(log: Log) -> ScenarioError:
    """Return the mistake of a log in which no job is left."""
    why = f": it has {', '.join(skipped_words(log))}" if log.skipped else ""
    return ScenarioError([Problem(f"has no job that could run{why}", file=name_of(log.file))], log.warnings)


def skipped_words(log: Log) -> list[str]:
    """Return how many jobs of each kind are left out."""
    return [f"{count:,} {kind}" for kind, count in log.skipped.items()]
