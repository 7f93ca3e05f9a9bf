"""Tasks and events of a run as tables for other programs.

Tasks are comma-separated values, one line a task, for spreadsheets and pandas. The event log is a table for pandas,
polars and DuckDB: a row for each event, a column for each member of its JSON.

The log is columns of numbers, and it is exported as such: the ids of a subject are taken from tables of tasks, nodes,
jobs and so on by the numbers that the log holds, and members that events share from a table of the shapes. No text is
made for a single event.

Nothing that the JSON Lines hold is lost. Columns have the order of the members, objects and lists are JSON text. A cell
is null where the event lacks the member; in ``from``, ``to`` and ``error``, which an event has always or never, also
where the member itself is null.
"""

from __future__ import annotations

import csv
from array import array
from io import BytesIO
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow.parquet import ParquetWriter

from engine.base.log import Json, LateJson, LogSubject, plain, to_json
from engine.base.terms import TaskState
from engine.base.values import SECOND_MS, parse_utc, words
from engine.state.files import NO_TASK
from engine.state.tables import NEVER_MS
from engine.state.tasks import COMPLETED, GONE, PREPARING
from engine.views.rest.account import utc
from engine.views.rest.tasks import execution_info

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence, Set

    from engine import Simulation
    from engine.base.log import EventLog, Shape
    from engine.state.jobs import Job
    from engine.state.task_records import TaskBlock
    from engine.world import World


TOGETHER = 1 << 17  # events

_TIME = pa.timestamp("ms", tz="UTC")
_CODED = pa.dictionary(pa.int32(), pa.string())  # each text is stored once, events have its number

_SUBJECT = {
    "poolId": _CODED,
    "nodeId": _CODED,
    "jobId": _CODED,
    "taskId": pa.string(),  # there are so many that a dictionary of them would be most of the memory
    "scheduleId": _CODED,
    "url": pa.string(),
    "bytes": pa.int64(),
}
# The same in all events of a shape.
_SHARED = dict.fromkeys(
    words(
        "subtaskId thumbprint from to attempt exitCode result failureInfo command body category code message values"
        " occurrence reason nodeDeallocationOption currentDedicatedNodes targetDedicatedNodes currentLowPriorityNodes"
        " targetLowPriorityNodes enableAutoScale isAutoPool startTime endTime resultCode resultMessage resizeErrors"
        " formula results error trial rule"
    ),
    _CODED,
)
_NODE_COUNTS = words("currentDedicatedNodes targetDedicatedNodes currentLowPriorityNodes targetLowPriorityNodes")
_SHARED |= dict.fromkeys(("subtaskId", "attempt", "exitCode", "occurrence", *_NODE_COUNTS), pa.int32())
_SHARED |= dict.fromkeys(("enableAutoScale", "isAutoPool", "trial"), pa.bool_())
_SHARED |= {"startTime": _TIME, "endTime": _TIME}
_BY_SHAPE = ("event", *_SHARED)
SCHEMA = pa.schema({"seq": pa.int64(), "t": pa.float64(), "time": _TIME, "event": _CODED} | _SUBJECT | _SHARED)

# Texts that repeat are numbered, numbers that grow are differences; statistics are for what is sorted.
_PARQUET = {
    "compression": "zstd",
    "use_dictionary": [name for name in SCHEMA.names if SCHEMA.field(name).type == _CODED],
    "column_encoding": {"seq": "DELTA_BINARY_PACKED", "time": "DELTA_BINARY_PACKED"},
    "write_statistics": ["seq", "t", "time"],
}

_OF_NODE = {LogSubject.NODE, LogSubject.INSTANCE, LogSubject.TASK, LogSubject.UPLOAD}
_OF_JOB = {LogSubject.JOB, LogSubject.INSTANCE}
_OF_TASK = {LogSubject.TASK, LogSubject.TASKS_ADDED}


def file_pieces(simulation: Simulation, suffix: str) -> Iterator[bytes]:
    """Yield the content of a file of all events, ``.parquet`` or ``.arrow`` (Arrow IPC)."""
    file = BytesIO()
    if suffix == ".parquet":
        writer = ParquetWriter(file, SCHEMA, **_PARQUET)
    else:
        writer = pa.ipc.new_file(file, SCHEMA, options=pa.ipc.IpcWriteOptions(compression="zstd"))
    with writer:
        for batch in event_batches(simulation):
            writer.write_batch(batch)
            yield _taken(file)
    yield _taken(file)


def _taken(file: BytesIO) -> bytes:
    """Return what was written since the last call, and forget it."""
    content = file.getvalue()
    file.seek(0)
    file.truncate()
    return content


def event_batches(simulation: Simulation) -> Iterator[pa.RecordBatch]:
    """Yield all events, a hundred thousand or so at a time. A text has the same number in all batches."""
    log = simulation.log
    table = _EventTable(simulation.world, log)
    for first in range(1, log.count + 1, TOGETHER):
        yield table.batch(first, min(first + TOGETHER, log.count + 1))


class _EventTable:
    """The tables that the numbers of a log refer to, and the events that are read with them."""

    def __init__(self, world: World, log: EventLog) -> None:
        self._log = log
        self._blobs = world.blobs
        self._counted = pa.array(range(min(TOGETHER, log.count)), pa.int64())
        self._start_ms = int(log.start.timestamp()) * SECOND_MS
        self._shapes = _by_shape(log.shapes)
        self._subjects = pa.array([int(shape.subject) for shape in log.shapes], pa.int32())
        self._pools = _coded(pool.id for pool in world.pools.rows)
        self._jobs = _coded(job.id for job in world.jobs.rows)
        self._schedules = _coded(schedule.id for schedule in world.job_schedules.rows)
        nodes = world.nodes.records.rows
        self._nodes = _coded(node.id for node in nodes)
        self._pool_of_node = pa.array([node.pool for node in nodes], pa.int32())
        blocks = world.tasks.blocks
        self._tasks = _joined(map(pa.array, _task_ids(blocks)), pa.string())
        jobs_of_blocks = (pa.repeat(pa.scalar(block.job, pa.int32()), block.source.count) for block in blocks)
        self._job_of_task = _joined(jobs_of_blocks, pa.int32())

    def batch(self, first: int, stop: int) -> pa.RecordBatch:
        """Return the events whose ``seq`` is from ``first`` to before ``stop``."""
        when_ms, shape, a, b = self._rows(first, stop)
        subject = self._subjects.take(shape)
        uploads, url, size = self._uploads(_where(subject, {LogSubject.UPLOAD}, a))
        task = pc.coalesce(_where(subject, _OF_TASK, a), uploads)
        node = _where(subject, _OF_NODE, b)
        pool = pc.coalesce(_where(subject, {LogSubject.POOL}, a), self._pool_of_node.take(node))
        job = pc.coalesce(_where(subject, _OF_JOB, a), self._job_of_task.take(task))
        columns = {
            "seq": pc.add(self._counted[: stop - first], first),
            "t": pc.divide(when_ms.cast(pa.float64()), float(SECOND_MS)),
            "time": pc.add(when_ms, self._start_ms).cast(_TIME),
            "poolId": self._pools.take(pool),
            "nodeId": self._nodes.take(node),
            "jobId": self._jobs.take(job),
            "taskId": self._tasks.take(task),
            "scheduleId": self._schedules.take(_where(subject, {LogSubject.SCHEDULE}, a)),
            "url": url,
            "bytes": size,
            **dict(self._shared(shape)),
        }
        return pa.record_batch([columns[name] for name in SCHEMA.names], schema=SCHEMA)

    def _shared(self, shape: pa.Array) -> Iterator[tuple[str, pa.Array]]:
        """Yield the columns that follow from the shapes. Most are empty, which need not be looked up event by event."""
        for name, each, here in zip(
            _BY_SHAPE, self._shapes.columns, self._shapes.take(shape.unique()).columns, strict=True
        ):
            yield name, _nulls(len(shape), each) if here.null_count == len(here) else each.take(shape)

    def _rows(self, first: int, stop: int) -> tuple[pa.Array, ...]:
        """Return time, shape and both rows of each event; the first row of a new task is its own."""
        log = self._log
        begin, end = log.index_of(first), log.index_of(stop - 1) + 1
        columns = log.recorded_columns(begin, end)
        for entry in reversed(log.blocks(begin, end)):
            at, seq = entry - begin, log.seq_of(entry)
            task, count = (column[at] for column in columns[2:])
            tasks = range(task, task + count)[max(0, first - seq) : stop - seq]
            for column in columns:
                column[at : at + 1] = column[at : at + 1] * len(tasks)
            columns[2][at : at + len(tasks)] = array("i", tasks)
        return tuple(map(_numbers, columns))

    def _uploads(self, rows: pa.Array) -> tuple[pa.Array, pa.Array, pa.Array]:
        """Return task, URL and bytes of uploads."""
        if rows.null_count == len(rows):
            return rows, pa.nulls(len(rows), _SUBJECT["url"]), pa.nulls(len(rows), _SUBJECT["bytes"])
        blobs = [None if row is None else self._blobs[row] for row in rows.to_pylist()]
        return (
            pa.array([blob.task if blob and blob.task != NO_TASK else None for blob in blobs], pa.int32()),
            pa.array([blob and blob.url for blob in blobs], _SUBJECT["url"]),
            pa.array([blob and blob.content.size for blob in blobs], _SUBJECT["bytes"]),
        )


def _by_shape(shapes: Sequence[Shape]) -> pa.RecordBatch:
    """Return a row for each shape: what its events have in common."""
    rows = [{"event": shape.event} | {name: _cell(name, value) for name, value in shape.fields} for shape in shapes]
    columns = [pa.array([row.get(name) for row in rows], SCHEMA.field(name).type) for name in _BY_SHAPE]
    return pa.record_batch(columns, _BY_SHAPE)


def _cell(name: str, value: Hashable) -> object:
    """Return a member of an event as a value of its column. Raises KeyError if it has none."""
    if isinstance(value, Json | LateJson):
        return value.text
    cell = plain(value)
    if isinstance(cell, str) and _SHARED[name] == _TIME:
        return parse_utc(cell)
    return to_json(value) if isinstance(cell, dict | list) else cell


def _coded(texts: Iterable[str]) -> pa.DictionaryArray:
    return pa.array(list(texts), _CODED)


def _task_ids(blocks: Iterable[TaskBlock]) -> Iterator[list[str]]:
    """Yield the ids of all tasks in the order of their rows, a hundred thousand or so at a time."""
    for block in blocks:
        for first in range(0, block.source.count, TOGETHER):
            yield block.source.task_ids(range(first, min(first + TOGETHER, block.source.count)))


def _nulls(count: int, column: pa.Array) -> pa.Array:
    """Return as many nulls of the type of a column; texts have the same numbers as there."""
    if column.type == _CODED:
        return pa.DictionaryArray.from_arrays(pa.nulls(count, pa.int32()), column.dictionary)
    return pa.nulls(count, column.type)


def _joined(arrays: Iterable[pa.Array], kind: pa.DataType) -> pa.Array:
    return pa.chunked_array(list(arrays), kind).combine_chunks()


def _numbers(column: array[int]) -> pa.Array:
    """Return a column of the log without a copy."""
    kind = pa.int64() if column.itemsize == 8 else pa.int32()
    return pa.Array.from_buffers(kind, len(column), [None, pa.py_buffer(column)])


def _where(subject: pa.Array, wanted: Set[LogSubject], rows: pa.Array) -> pa.Array:
    """Return the rows of events with these subjects; null for other events and where there is no row."""
    is_wanted = pc.is_in(subject, value_set=pa.array(map(int, wanted), subject.type))
    return pc.if_else(pc.and_(is_wanted, pc.greater_equal(rows, 0)), rows, None)


COLUMNS = words(
    "jobId taskId state result exitCode poolId nodeId node creationTime startTime endTime waitSeconds runSeconds"
    " retryCount requeueCount"
)
_WIRE = tuple(state.wire for state in TaskState)


class _Line:
    """A file that returns what is written to it: each row of a csv writer is one text."""

    def write(self, text: str) -> str:
        return text


def task_table_lines(simulation: Simulation) -> Iterator[str]:
    """Yield the header, then a line for each task in the order of the state as JSON, without line ends.

    Cells of what is not there are empty. ``waitSeconds`` is from the creation of a task to its latest start, and
    ``runSeconds`` from there to its end; ``node`` is the index of the node in its pool.
    """
    # ``writerow`` returns what ``write`` returns.
    line: Callable[[Any], str] = csv.writer(_Line(), lineterminator="").writerow
    yield line(COLUMNS)
    world = simulation.world
    for job in world.jobs.present():
        yield from map(line, _rows(world, job))


def _rows(world: World, job: Job) -> Iterator[tuple[object, ...]]:
    tasks = world.tasks
    for number in job.blocks:
        block = tasks.blocks[number]
        created = utc(world, block.created_ms)
        for ordinal in range(block.source.count):
            task = block.first + ordinal
            if tasks.state[task] == GONE:
                continue
            info = execution_info(world, task)
            yield (
                job.id,
                block.source.task_id(ordinal),
                _WIRE[tasks.state[task]],
                info.get("result", ""),
                info.get("exitCode", ""),
                *_place(world, task),
                created,
                info.get("startTime", ""),
                info.get("endTime", ""),
                *_times(world, task, block.created_ms),
                info["retryCount"],
                info["requeueCount"],
            )


def _place(world: World, task: int) -> tuple[object, ...]:
    """Return pool, node and the node's index where the task runs or ran last (TASK-11)."""
    if world.tasks.state[task] != PREPARING and world.tasks.started[task] == NEVER_MS:
        return "", "", ""
    record = world.nodes[world.tasks.node[task]]
    return world.pools[record.pool].id, record.id, record.position


def _times(world: World, task: int, created_ms: int) -> tuple[str, str]:
    begun_ms = world.tasks.begun_ms(task)
    if begun_ms is None:
        return "", ""
    is_over = world.tasks.state[task] == COMPLETED
    return _seconds(begun_ms - created_ms), _seconds(world.tasks.ended[task] - begun_ms) if is_over else ""


def _seconds(ms: int) -> str:
    """Return seconds with as many decimals as they have, at most three."""
    whole, fraction = divmod(ms, SECOND_MS)
    return f"{whole}.{fraction:03d}".rstrip("0") if fraction else str(whole)
