"""A log in the Standard Workload Format as a scenario: each job is a task, added when the job was submitted.

Of the log its header is read, and of each job what a simulation needs.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from heapq import heapreplace
from itertools import accumulate
from math import ceil, isfinite
from operator import attrgetter
from pathlib import PurePath
from typing import TYPE_CHECKING, NamedTuple

from engine.base.errors import Problem, ScenarioError
from engine.base.values import HOUR_MS, SECOND_MS, quoted, shortened
from engine.histories.files import (
    GANG_NODE_LIMIT,
    LATEST_MS,
    NODES_ARE_READY,
    POOL,
    SLOT_LIMIT,
    STDIN,
    Imported,
    Machines,
    Mistakes,
    PoolShape,
    batch_id,
    emptying,
    name_of,
    numbered_lines,
    opened,
    seconds_of,
)
from engine.specs.catalogue import PROCESS_START_MS, SCHEDULING_LATENCY_MS
from engine.specs.job_refusals import COLLECTION_MAX_TASKS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


JOB_LIMIT = 250_000
"""The most jobs of a log: a scenario of more could not be read again."""

LINE_LIMIT = 5_000_000
"""The most lines of a log, with those that are left out."""

NAMED_LIMIT = 20
"""So many jobs with the same flaw are named; the others are counted."""

_FIELDS = 18
_NUMBER, _SUBMIT, _RUN, _ALLOCATED, _REQUESTED, _STATUS, _PRECEDING = 0, 1, 3, 4, 7, 10, 16
_FIELD_NAMES = (
    "job number", "submit time", "wait time", "run time", "allocated processors", "CPU time", "used memory",
    "requested processors", "requested time", "requested memory", "status", "user", "group", "executable", "queue",
    "partition", "preceding job", "think time",
)  # fmt: skip
_FAILED, _CANCELLED = 0, 5
_PARTS = (2, 3, 4)  # of a job that was checkpointed, which has a line of its own
_WRONG_FIELDS = 4  # a line with more of them is something else
_LATEST_S = 90 * 366 * 86_400
_MOST_PROCESSORS = 2**31 - 1
_LARGEST_NUMBER = 10**18
_HEADER = re.compile(r";+\s*([A-Za-z]+)\s*:\s*(\S.*)")
_HEADER_LIMIT = 200


class LogJob(NamedTuple):
    """A job of a log, and the line that it has there."""

    line: int
    number: int
    submitted_ms: int
    run_ms: int
    processors: int
    has_failed: bool


@dataclass(slots=True)
class Log:
    """The jobs of a log, in the order of their submission, and its header. Mistakes in its lines are collected."""

    file: str
    mistakes: Mistakes
    header: dict[str, str] = field(default_factory=dict)
    comments: list[str] = field(default_factory=list)
    jobs: list[LogJob] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)
    with_preceding: int = 0
    _seen: set[int] = field(default_factory=set)  # the numbers of jobs

    @property
    def most_processors(self) -> int:
        """The processors of the widest job."""
        return max(job.processors for job in self.jobs)

    def header_number(self, key: str) -> int | None:
        """Return a number above zero of the header, or None."""
        match = re.match(r"\d{1,12}(?!\d)", self.header.get(key, ""), re.ASCII)
        return int(match[0]) or None if match else None

    def take(self, number: int, content: bytes) -> None:
        """Read the next line. Raises ScenarioError if there are too many mistakes, or jobs."""
        if number > LINE_LIMIT:
            self.mistakes.refuse(f"has more than {LINE_LIMIT:,} lines before: import a part of the log", number)
        text, fields = content.strip(), content.split()
        if text.startswith((b";", b"#")):
            self._take_comment(text.decode("utf-8", "replace"))
        elif 0 < len(fields) < _FIELDS:
            self._report(number, f"has {len(fields)} fields: a job has {_FIELDS} numbers")
        elif fields:
            self._take_fields(number, fields[:_FIELDS])

    def _take_comment(self, text: str) -> None:
        if len(self.comments) < _HEADER_LIMIT:
            self.comments.append(text)
        match = _HEADER.match(text)
        if match:
            self.header.setdefault(match[1], match[2].strip())

    def _take_fields(self, line: int, fields: Sequence[bytes]) -> None:
        try:
            values: list[float] = [*map(int, fields)]
        except ValueError:
            parsed = [*map(_number, fields)]
            wrong = [at for at, value in enumerate(parsed) if value is None]
            if len(wrong) > _WRONG_FIELDS:
                self._report(line, f"{len(wrong)} of its fields are no numbers: this is no job")
                return
            for at in wrong:
                shown = quoted(fields[at].decode("utf-8", "replace"))
                self._report(line, f"field {at + 1} ({_FIELD_NAMES[at]}) must be a number, not {shown}")
            values = [value for value in parsed if value is not None]
        if len(values) == _FIELDS:
            self._take_job(line, values)

    def _take_job(self, line: int, values: list[float]) -> None:
        number, status = int(values[_NUMBER]), int(values[_STATUS])
        submit, run = values[_SUBMIT], values[_RUN]
        processors = int(values[_REQUESTED] if values[_REQUESTED] > 0 else values[_ALLOCATED])
        if status in _PARTS:
            self.skipped["parts of checkpointed jobs"] += 1
        elif run <= 0:
            self.skipped["without a run time"] += 1
        elif processors <= 0:
            self.skipped["without processors"] += 1
        elif submit < 0:
            self._leave_out(line, number, "a negative submit time")
        elif number in self._seen:
            self._leave_out(line, number, "a number that an earlier job has")
        elif abs(number) > _LARGEST_NUMBER:
            self._report(line, f"the job number {shortened(str(number))} must be below {_LARGEST_NUMBER:,}")
        elif max(submit, run) > _LATEST_S or processors > _MOST_PROCESSORS:
            self._report(line, f"job {number}: times and processors must be below a century and {_MOST_PROCESSORS:,}")
        elif len(self.jobs) >= JOB_LIMIT:
            self.mistakes.refuse(f"has more than {JOB_LIMIT:,} jobs before: import a part of the log", line)
        else:
            self._seen.add(number)
            has_failed = status in (_FAILED, _CANCELLED)
            times_ms = round(submit * SECOND_MS), round(run * SECOND_MS)
            self.jobs.append(LogJob(line, number, *times_ms, processors, has_failed))
            self.with_preceding += values[_PRECEDING] > 0

    def _leave_out(self, line: int, number: int, flaw: str) -> None:
        kind = f"with {flaw}"
        self.skipped[kind] += 1
        if self.skipped[kind] <= NAMED_LIMIT:
            self.mistakes.warn(f"job {number} has {flaw}, and is left out", line)
        elif self.skipped[kind] >= JOB_LIMIT:
            self.mistakes.refuse(f"has {JOB_LIMIT:,} jobs {kind} before: this is no log", line)

    def sort(self) -> None:
        """Bring the jobs into the order of their submission, with a warning at the first that stands behind others."""
        latest = accumulate((job.submitted_ms for job in self.jobs), max)
        behind = [job for job, latest_ms in zip(self.jobs, latest, strict=True) if job.submitted_ms < latest_ms]
        if behind:
            first, more = behind[0], f", and {len(behind) - 1:,} more" if len(behind) > 1 else ""
            told = f"job {first.number} stands behind later ones{more}: jobs are sorted by their submit time"
            self.mistakes.warn(told, first.line)
            self.jobs.sort(key=attrgetter("submitted_ms"))

    def _report(self, line: int, message: str) -> None:
        self.mistakes.report(shortened(message, 400), line=line)


def read_log(file: str) -> Log:
    """Read a log, plain or packed with gzip.

    Raises:
        ScenarioError: It cannot be read, has mistakes, or no job that could run.
    """
    log = Log(file, Mistakes(file))
    with opened(file) as stream:
        for number, content in numbered_lines(stream, file):
            log.take(number, content)
    log.mistakes.check()
    if not log.jobs:
        raise no_job(log)
    log.sort()
    return log


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
    return ScenarioError([Problem(f"has no job that could run{why}", file=name_of(log.file))], log.mistakes.warnings)


def skipped_words(log: Log) -> list[str]:
    """Return how many jobs of each kind are left out."""
    return [f"{count:,} {kind}" for kind, count in log.skipped.items()]


_COMMAND = "job"
_LATEST_START = 253_000_000_000  # of a log, in seconds since 1970
_STARTS = 2  # of the processes of a multi-instance task, one after the other: coordination command, command


def imported(file: str, shape: PoolShape) -> Imported:
    """Return the scenario of a log, plain or packed with gzip.

    Raises:
        ScenarioError: The log has mistakes; all of them are listed.
    """
    log = read_log(file)
    machines = _machines(log, shape)
    _leave_out_wide(log, machines)
    # More processors than a pool may have nodes that reach one another (ACC-5).
    narrowed = [job for job in log.jobs if machines.gangs and job.processors > GANG_NODE_LIMIT]
    _warn_of_narrowed(log, narrowed)
    assumptions = _assumptions(log, machines, len(narrowed))
    stem = "log" if file == STDIN else PurePath(file).name.removesuffix(".gz").removesuffix(".swf")
    return Imported(_document(log, machines, stem), assumptions, tuple(log.mistakes.warnings))


def _machines(log: Log, shape: PoolShape) -> Machines:
    """Return the nodes of the pool: those asked for, else those of the header, else as many as the widest job needs."""
    processors = log.header_number("MaxProcs")
    nodes = log.header_number("MaxNodes") or processors
    slots = shape.slots
    if slots is None:
        slots = min(ceil(processors / nodes), SLOT_LIMIT) if processors and nodes else 1
    if shape.nodes is not None:
        nodes = shape.nodes
    elif processors and (shape.slots is not None or processors > slots * (nodes or 0)):
        nodes = ceil(processors / slots)
    nodes = nodes or ceil(log.most_processors / slots)
    gangs = slots == 1 and log.most_processors > 1
    return Machines(nodes, slots, gangs)


def _leave_out_wide(log: Log, machines: Machines) -> None:
    """Leave out the jobs that no node has room for, or not all nodes together.

    Raises:
        ScenarioError: No job is left.
    """
    widest = machines.widest
    wide = [job for job in log.jobs if job.processors > widest]
    if not wide:
        return
    room = f"the pool has {widest:,} nodes" if machines.gangs else f"a node has {widest:,} task slots"
    for job in wide[:NAMED_LIMIT]:
        needed = f"job {job.number} needs {job.processors:,} processors"
        log.mistakes.warn(f"{needed}, but {room}: it is left out", job.line)
    if len(wide) > NAMED_LIMIT:
        log.mistakes.warn(f"{len(wide) - NAMED_LIMIT:,} more jobs are too wide, and are left out")
    log.skipped["wider than the pool"] = len(wide)
    log.jobs = [job for job in log.jobs if job.processors <= widest]
    if not log.jobs:
        raise no_job(log)


def _warn_of_narrowed(log: Log, narrowed: Sequence[LogJob]) -> None:
    if narrowed:
        first = f"job {narrowed[0].number}"
        jobs = f"{first} gets" if len(narrowed) == 1 else f"{len(narrowed):,} jobs such as {first} get"
        log.mistakes.warn(
            f"{jobs} {GANG_NODE_LIMIT} nodes: more cannot run one task (ACC-5)."
            " Fewer --nodes with several --slots have room",
            narrowed[0].line,
        )


def _document(log: Log, machines: Machines, stem: str) -> dict[str, object]:
    job_id = batch_id(stem)
    start_s = log.header_number("UnixStartTime")
    document: dict[str, object] = {"scenario": shortened(stem) or "log"}
    computer = " at ".join(filter(None, (log.header.get("Computer"), log.header.get("Installation"))))
    if computer:
        document["description"] = f"Log of {shortened(computer, 200)}."
    if start_s and start_s < _LATEST_START:
        document["startTime"] = datetime.fromtimestamp(start_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        **document,
        "until": _latest_end_ms(log, machines) // SECOND_MS,
        **machines.account(),
        "simulate": NODES_ARE_READY,
        "pools": [machines.pool()],
        "jobs": [{"id": job_id, "poolInfo": {"poolId": POOL}}],
        "timeline": _timeline(log, machines, job_id),
    }


def _latest_end_ms(log: Log, machines: Machines) -> int:
    """Return a time at which all jobs have ended.

    Jobs of one processor run first come, first served. The ends of wider ones depend on how they are packed: they have
    ended even if they run one after the other from the last submission on.
    """
    overheads_ms = SCHEDULING_LATENCY_MS + HOUR_MS
    if log.most_processors > 1:
        one_by_one_ms = log.jobs[-1].submitted_ms + sum(job.run_ms + _STARTS * PROCESS_START_MS for job in log.jobs)
        return min(one_by_one_ms + overheads_ms, LATEST_MS)
    free_ms = [0] * min(machines.nodes * machines.slots, len(log.jobs))
    for job in log.jobs:
        heapreplace(free_ms, max(job.submitted_ms, free_ms[0]) + max(job.run_ms, PROCESS_START_MS))
    return min(max(free_ms) + overheads_ms, LATEST_MS)


def _timeline(log: Log, machines: Machines, job_id: str) -> Iterator[dict[str, object]]:
    """Yield an entry for all jobs that were submitted together, then what ends the job and empties the pool."""
    tasks: list[dict[str, object]] = []
    at_ms = log.jobs[0].submitted_ms
    for job in log.jobs:
        if job.submitted_ms != at_ms or len(tasks) == COLLECTION_MAX_TASKS:
            yield _added(at_ms, job_id, tasks)
            tasks, at_ms = [], job.submitted_ms
        tasks.append(_task(job, machines))
    yield _added(at_ms, job_id, tasks)
    yield {"at": seconds_of(at_ms), "updateJob": {"jobId": job_id, "onAllTasksComplete": "terminatejob"}}
    yield emptying(job_id)


def _added(at_ms: int, job_id: str, tasks: list[dict[str, object]]) -> dict[str, object]:
    return {"at": seconds_of(at_ms), "addTasks": {"jobId": job_id, "tasks": tasks}}


def _task(job: LogJob, machines: Machines) -> dict[str, object]:
    """Return the body of a task that is in the state running for as long as the job ran."""
    processors = job.processors
    is_gang = machines.gangs and processors > 1
    starting_ms = PROCESS_START_MS * (_STARTS if is_gang else 1)
    simulate: dict[str, object] = {"duration": seconds_of(max(0, job.run_ms - starting_ms))}
    if job.has_failed:
        simulate["exitCode"] = 1
    task: dict[str, object] = {"id": str(job.number), "commandLine": _COMMAND, "simulate": simulate}
    if is_gang:
        together = {"coordinationCommandLine": "start", "simulate": {"duration": 0}}
        task["multiInstanceSettings"] = {"numberOfInstances": min(processors, GANG_NODE_LIMIT), **together}
    elif processors > 1:
        task["requiredSlots"] = processors
    return task


def _assumptions(log: Log, machines: Machines, narrowed: int) -> tuple[str, ...]:
    jobs, failed = len(log.jobs), sum(job.has_failed for job in log.jobs)
    sentences = [
        f"A log of {jobs:,} jobs in the Standard Workload Format: each is a task, added when it was submitted.",
        machines.assumption,
    ]
    if machines.gangs:
        sentences.append("Assumed: a job of several processors is a multi-instance task with a node for each.")
        if narrowed:
            sentences.append(f"Assumed: {narrowed:,} jobs of more than {GANG_NODE_LIMIT} nodes run on so many (ACC-5).")
    elif machines.slots > 1:
        sentences.append("Assumed: a job needs a task slot for each processor, all on one node.")
    sentences += [
        "Run times are those of the log: a second that a process takes to start is left out of each duration.",
        "A task is ready a second after it was added (TIME-9): each start is a second later.",
    ]
    if failed:
        sentences.append(f"Assumed: {failed:,} jobs that failed or were cancelled end with exit code 1.")
    if log.with_preceding:
        sentences.append(f"Not taken over: {log.with_preceding:,} jobs name a job that came before them.")
    sentences += [f"Left out: {words}." for words in skipped_words(log)]
    if log.comments:
        sentences += ["", "The header of the log:", *log.comments]
    return tuple(sentences)
