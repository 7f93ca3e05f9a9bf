"""A log in the Standard Workload Format as a scenario: each job is a task, added when the job was submitted."""

from __future__ import annotations

from datetime import UTC, datetime
from heapq import heapreplace
from math import ceil
from pathlib import PurePath
from typing import TYPE_CHECKING

from engine.base.shortening import shortened
from engine.base.units import HOUR_MS, SECOND_MS
from engine.histories.files import STDIN
from engine.histories.ids import batch_id
from engine.histories.imported import Imported, PoolShape
from engine.histories.machines import GANG_NODE_LIMIT, LATEST_MS, NODES_ARE_READY, POOL, SLOT_LIMIT, Machines
from engine.histories.swf_log import NAMED_LIMIT, Log, no_job, read_log, skipped_words
from engine.specs.catalogue import PROCESS_START_MS, SCHEDULING_LATENCY_MS
from engine.specs.refusals.job import COLLECTION_MAX_TASKS

if TYPE_CHECKING:
    from collections.abc import Iterator

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
    _warn_of_narrowed(log, machines)
    stem = "log" if file == STDIN else PurePath(file).name.removesuffix(".gz").removesuffix(".swf")
    return Imported(_document(log, machines, stem), _assumptions(log, machines), tuple(log.warnings))


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
    nodes = nodes or ceil(max(log.processors) / slots)
    gangs = slots == 1 and max(log.processors) > 1
    return Machines(nodes, slots, gangs)


def _leave_out_wide(log: Log, machines: Machines) -> None:
    """Leave out the jobs that no node has room for, or not all nodes together.

    Raises:
        ScenarioError: No job is left.
    """
    widest = machines.widest
    wide = [row for row, processors in enumerate(log.processors) if processors > widest]
    if not wide:
        return
    room = f"the pool has {widest:,} nodes" if machines.gangs else f"a node has {widest:,} task slots"
    for row in wide[:NAMED_LIMIT]:
        log.warn(
            f"job {log.numbers[row]} needs {log.processors[row]:,} processors, but {room}: it is left out",
            log.lines[row],
        )
    if len(wide) > NAMED_LIMIT:
        log.warn(f"{len(wide) - NAMED_LIMIT:,} more jobs are too wide, and are left out")
    left_out = set(wide)
    log.skipped["wider than the pool"] = len(wide)
    log.keep(row for row in range(len(log)) if row not in left_out)
    if not log.numbers:
        raise no_job(log)


def _narrowed(log: Log, machines: Machines) -> list[int]:
    """Return the jobs with more processors than a pool may have nodes that reach one another (ACC-5)."""
    return [row for row, processors in enumerate(log.processors) if machines.gangs and processors > GANG_NODE_LIMIT]


def _warn_of_narrowed(log: Log, machines: Machines) -> None:
    rows = _narrowed(log, machines)
    if rows:
        first = f"job {log.numbers[rows[0]]}"
        jobs = f"{first} gets" if len(rows) == 1 else f"{len(rows):,} jobs such as {first} get"
        log.warn(
            f"{jobs} {GANG_NODE_LIMIT} nodes: more cannot run one task (ACC-5)."
            " Fewer --nodes with several --slots have room",
            log.lines[rows[0]],
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
    if max(log.processors) > 1:
        one_by_one_ms = log.submitted_ms[-1] + sum(log.run_ms) + _STARTS * PROCESS_START_MS * len(log)
        return min(one_by_one_ms + overheads_ms, LATEST_MS)
    free_ms = [0] * min(machines.nodes * machines.slots, len(log))
    for submitted_ms, run_ms in zip(log.submitted_ms, log.run_ms, strict=True):
        heapreplace(free_ms, max(submitted_ms, free_ms[0]) + max(run_ms, PROCESS_START_MS))
    return min(max(free_ms) + overheads_ms, LATEST_MS)


def _timeline(log: Log, machines: Machines, job_id: str) -> Iterator[dict[str, object]]:
    """Yield an entry for all jobs that were submitted together, then what ends the job and empties the pool."""
    tasks: list[dict[str, object]] = []
    at_ms = log.submitted_ms[0]
    for row, submitted_ms in enumerate(log.submitted_ms):
        if submitted_ms != at_ms or len(tasks) == COLLECTION_MAX_TASKS:
            yield _added(at_ms, job_id, tasks)
            tasks, at_ms = [], submitted_ms
        tasks.append(_task(log, row, machines))
    yield _added(at_ms, job_id, tasks)
    yield {"at": _seconds(at_ms), "updateJob": {"jobId": job_id, "onAllTasksComplete": "terminatejob"}}
    yield {
        "when": {"jobId": job_id, "state": "completed"},
        "resizePool": {"poolId": POOL, "targetDedicatedNodes": 0},
    }


def _added(at_ms: int, job_id: str, tasks: list[dict[str, object]]) -> dict[str, object]:
    return {"at": _seconds(at_ms), "addTasks": {"jobId": job_id, "tasks": tasks}}


def _task(log: Log, row: int, machines: Machines) -> dict[str, object]:
    """Return the body of a task that is in the state running for as long as the job ran."""
    processors = log.processors[row]
    is_gang = machines.gangs and processors > 1
    starting_ms = PROCESS_START_MS * (_STARTS if is_gang else 1)
    simulate: dict[str, object] = {"duration": _seconds(max(0, log.run_ms[row] - starting_ms))}
    if log.failed[row]:
        simulate["exitCode"] = 1
    task: dict[str, object] = {"id": str(log.numbers[row]), "commandLine": _COMMAND, "simulate": simulate}
    if is_gang:
        together = {"coordinationCommandLine": "start", "simulate": {"duration": 0}}
        task["multiInstanceSettings"] = {"numberOfInstances": min(processors, GANG_NODE_LIMIT), **together}
    elif processors > 1:
        task["requiredSlots"] = processors
    return task


def _seconds(ms: int) -> float:
    return ms // SECOND_MS if ms % SECOND_MS == 0 else ms / SECOND_MS


def _assumptions(log: Log, machines: Machines) -> tuple[str, ...]:
    failed = sum(log.failed)
    nodes = f"{machines.nodes:,} {'node' if machines.nodes == 1 else 'nodes'}"
    slots = f"{machines.slots:,} task {'slot' if machines.slots == 1 else 'slots'}"
    sentences = [
        f"A log of {len(log):,} jobs in the Standard Workload Format: each is a task, added when it was submitted.",
        f"Assumed: a pool of {nodes} with {slots} each, which are ready at the start.",
    ]
    if machines.gangs:
        sentences.append("Assumed: a job of several processors is a multi-instance task with a node for each.")
        narrowed = len(_narrowed(log, machines))
        if narrowed:
            sentences.append(f"Assumed: {narrowed:,} jobs of more than {GANG_NODE_LIMIT} nodes run on so many (ACC-5).")
    elif machines.slots > 1:
        sentences.append("Assumed: a job needs a task slot for each processor, all on one node.")
    sentences.append(
        "Run times are those of the log: a second that a process takes to start is left out of each duration."
    )
    sentences.append("A task is ready a second after it was added (TIME-9): each start is a second later.")
    if failed:
        sentences.append(f"Assumed: {failed:,} jobs that failed or were cancelled end with exit code 1.")
    if log.with_preceding:
        sentences.append(f"Not taken over: {log.with_preceding:,} jobs name a job that came before them.")
    sentences += [f"Left out: {words}." for words in skipped_words(log)]
    if log.comments:
        sentences += ["", "The header of the log:", *log.comments]
    return tuple(sentences)
