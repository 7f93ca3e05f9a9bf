"""A workflow in WfFormat as a scenario: a job whose tasks depend on one another and pass files on."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING

from engine.base.errors import Problem, ScenarioError, Severity
from engine.base.shortening import first_of, shortened
from engine.base.units import HOUR_MS, SECOND_MS
from engine.histories.files import json_document, name_of, readable
from engine.histories.ids import batch_id, batch_ids, file_name
from engine.histories.imported import Imported, PoolShape
from engine.histories.machines import GANG_NODE_LIMIT, LATEST_MS, NODES_ARE_READY, POOL, SLOT_LIMIT, Machines
from engine.histories.swf_log import NAMED_LIMIT
from engine.histories.workflow import Workflow, WorkflowTask, workflow_of
from engine.specs.catalogue import DOWNLOAD_BYTES_PER_SECOND, PROCESS_START_MS, SCHEDULING_LATENCY_MS
from engine.specs.refusals.job import DEPENDENCIES_MAX

if TYPE_CHECKING:
    from collections.abc import Iterator

_STORAGE = "https://workflow.blob.core.windows.net"
_BROUGHT, _MADE = f"{_STORAGE}/inputs", f"{_STORAGE}/files"  # the containers of files that are there, and of made ones
_LONGEST_COMMAND = 1_000
_MOST_NODES = GANG_NODE_LIMIT  # of a pool that nobody has asked for


def imported(file: str, shape: PoolShape) -> Imported:
    """Return the scenario of a workflow, plain or packed with gzip.

    Raises:
        ScenarioError: The file has mistakes; all of them are listed.
    """
    workflow = workflow_of(json_document(file), file)
    machines = _machines(workflow, shape)
    named = _Names(workflow)
    named.check(file)
    document = _document(workflow, machines, named)
    return Imported(document, _assumptions(workflow, machines, named), tuple(_warnings(workflow, machines, file)))


class _Names:
    """The ids of tasks, and the names of files, that Batch allows.

    If some task has more parents than a list of ids may name, ids are numbers, of which ranges can be named.
    """

    def __init__(self, workflow: Workflow) -> None:
        self._workflow = workflow
        self.ids = batch_ids(workflow.tasks)
        self.are_numbers = any(self._is_long(task) for task in workflow.tasks.values())
        if self.are_numbers:
            in_order = [name for level in workflow.levels() for name in level]
            self.ids = {name: str(number) for number, name in enumerate(in_order, 1)}
        used = (name for task in workflow.tasks.values() for name in (*task.inputs, *task.outputs))
        self.files = batch_ids(used, file_name)
        self._made = {name for task in workflow.tasks.values() for name in task.outputs}

    @property
    def changed(self) -> dict[str, str]:
        """The ids that differ from the names of their tasks."""
        return {name: task_id for name, task_id in self.ids.items() if name != task_id}

    def check(self, file: str) -> None:
        """Raise ScenarioError for the tasks with more parents than even ranges can name."""
        problems = [
            Problem(f"task {shortened(task.name)} has more parents than Batch allows", file=name_of(file))
            for task in self._workflow.tasks.values()
            if self.are_numbers and sum(len(f"{first}{last}") for first, last in self._ranges(task)) > DEPENDENCIES_MAX
        ]
        if problems:
            raise ScenarioError(problems)

    @property
    def brought(self) -> list[str]:
        """The files that no task makes."""
        return [name for name in self.files if name not in self._made]

    def url(self, file: str) -> str:
        """Return the URL of a file."""
        return f"{_MADE if file in self._made else _BROUGHT}/{self.files[file]}"

    def depends_on(self, task: WorkflowTask) -> dict[str, object]:
        """Return the dependencies of a task as its body has them."""
        if self.are_numbers:
            return {"taskIdRanges": [{"start": first, "end": last} for first, last in self._ranges(task)]}
        return {"taskIds": [self.ids[parent] for parent in task.parents]}

    def _is_long(self, task: WorkflowTask) -> bool:
        return sum(len(self.ids[parent]) for parent in task.parents) > DEPENDENCIES_MAX

    def _ranges(self, task: WorkflowTask) -> list[tuple[int, int]]:
        """Return the numbers of a task's parents as ranges, both ends included."""
        found: list[tuple[int, int]] = []
        for number in sorted(int(self.ids[parent]) for parent in task.parents):
            if found and found[-1][1] == number - 1:
                found[-1] = (found[-1][0], number)
            else:
                found.append((number, number))
        return found


def _machines(workflow: Workflow, shape: PoolShape) -> Machines:
    """Return the nodes of the pool: those asked for, those of the workflow, or as many as tasks can run at once."""
    slots = shape.slots or (min(*workflow.machines, SLOT_LIMIT) if workflow.machines else 1)
    nodes = shape.nodes or len(workflow.machines)
    if not nodes:
        nodes = min(_MOST_NODES, ceil(max(map(len, workflow.levels())) / slots))
    return Machines(nodes, slots)


def _document(workflow: Workflow, machines: Machines, named: _Names) -> dict[str, object]:
    job_id = batch_id(workflow.name)
    brought = {named.files[name]: workflow.sizes.get(name, 0) for name in named.brought}
    job = {
        "id": job_id,
        "poolInfo": {"poolId": POOL},
        "usesTaskDependencies": True,
        "onAllTasksComplete": "terminatejob",
        "tasks": _tasks(workflow, machines, named),
    }
    return {
        "scenario": shortened(workflow.name),
        "until": _latest_end_ms(workflow) // SECOND_MS,
        **machines.account(),
        "simulate": NODES_ARE_READY | ({"storage": {_BROUGHT: {"blobs": brought}}} if brought else {}),
        "pools": [machines.pool()],
        "jobs": [job],
        "timeline": [
            {
                "when": {"jobId": job_id, "state": "completed"},
                "resizePool": {"poolId": POOL, "targetDedicatedNodes": 0},
            }
        ],
    }


def _tasks(workflow: Workflow, machines: Machines, named: _Names) -> Iterator[dict[str, object]]:
    for name, task in workflow.tasks.items():
        outputs = {named.files[file]: workflow.sizes.get(file, 0) for file in task.outputs}
        simulate: dict[str, object] = {"duration": round(task.run_s, 3)}
        if outputs:
            simulate["writes"] = outputs
        body: dict[str, object] = {
            "id": named.ids[name],
            "commandLine": shortened(task.command.strip(), _LONGEST_COMMAND) or readable(name),
            "simulate": simulate,
        }
        slots = min(task.cores, machines.slots)
        if slots > 1:
            body["requiredSlots"] = slots
        if task.parents:
            body["dependsOn"] = named.depends_on(task)
        if task.inputs:
            body["resourceFiles"] = [
                {"httpUrl": named.url(file), "filePath": named.files[file]} for file in task.inputs
            ]
        if outputs:
            body["outputFiles"] = [_upload(file) for file in outputs]
        yield body


def _upload(file: str) -> dict[str, object]:
    return {
        "filePattern": file,
        "destination": {"container": {"containerUrl": _MADE, "path": file}},
        "uploadOptions": {"uploadCondition": "tasksuccess"},
    }


def _latest_end_ms(workflow: Workflow) -> int:
    """Return a time at which all tasks have ended, even if they run one after the other."""
    overhead_ms = SCHEDULING_LATENCY_MS + PROCESS_START_MS
    total_ms = HOUR_MS
    for task in workflow.tasks.values():
        moved = sum(workflow.sizes.get(file, 0) for file in (*task.inputs, *task.outputs))
        total_ms += ceil(task.run_s * SECOND_MS) + overhead_ms + ceil(moved * SECOND_MS / DOWNLOAD_BYTES_PER_SECOND)
    return min(total_ms, LATEST_MS)


def _assumptions(workflow: Workflow, machines: Machines, named: _Names) -> tuple[str, ...]:
    nodes = f"{machines.nodes:,} {'node' if machines.nodes == 1 else 'nodes'}"
    slots = f"{machines.slots:,} task {'slot' if machines.slots == 1 else 'slots'}"
    sentences = [
        f"A workflow of {len(workflow.tasks):,} tasks in WfFormat.",
        f"Assumed: a pool of {nodes} with {slots} each, which are ready at the start.",
        "Durations are the run times of the workflow: a second for the start of each process comes on top.",
    ]
    if named.files:
        sentences.append("Assumed: files are blobs, and transfers of 50 MB a second come on top of the run times.")
    unsized = [name for name in named.files if name not in workflow.sizes]
    if unsized:
        sentences.append(f"Assumed: {len(unsized):,} files without a size are empty, such as {first_of(unsized[:3])}.")
    if named.are_numbers:
        sentences.append("Ids of tasks are numbers: a task has more parents than a list of ids may name.")
    elif named.changed:
        examples = (f"{shortened(name)} is {task_id}" for name, task_id in list(named.changed.items())[:3])
        sentences.append(f"Changed: {len(named.changed):,} ids that Batch does not allow: {'; '.join(examples)}.")
    return tuple(sentences)


def _warnings(workflow: Workflow, machines: Machines, file: str) -> Iterator[Problem]:
    wide = [task for task in workflow.tasks.values() if machines.slots > 1 and task.cores > machines.slots]
    for task in wide[:NAMED_LIMIT]:
        cores = f"task {shortened(task.name)} needs {task.cores:,} cores, but a node has {machines.slots:,} task slots"
        yield _warning(f"{cores}: it gets all of them", file)
    if len(wide) > NAMED_LIMIT:
        yield _warning(f"{len(wide) - NAMED_LIMIT:,} more tasks need more cores than a node has task slots", file)
    if workflow.unknown_tasks:
        yield _warning(f"is left out, because no such tasks are specified: {first_of(workflow.unknown_tasks)}", file)


def _warning(message: str, file: str) -> Problem:
    return Problem(message, file=name_of(file), severity=Severity.WARNING)
