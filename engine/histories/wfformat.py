"""A workflow in WfFormat 1.4 or 1.5 as a scenario: a job whose tasks depend on one another and pass files on.

The file describes tasks with their parents, run times and files.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from itertools import chain
from math import ceil
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AliasChoices, AliasPath, BaseModel, BeforeValidator, Field, ValidationError

from engine.base.errors import Problem, ScenarioError
from engine.base.values import HOUR_MS, SECOND_MS, first_of, quoted, shortened, value_at
from engine.histories.files import (
    GANG_NODE_LIMIT,
    LATEST_MS,
    NODES_ARE_READY,
    POOL,
    SLOT_LIMIT,
    Imported,
    Machines,
    Mistakes,
    PoolShape,
    batch_id,
    batch_ids,
    emptying,
    file_name,
    name_of,
    readable,
    seconds_of,
)
from engine.histories.reading import json_document
from engine.histories.swf import NAMED_LIMIT
from engine.scenario.bodies import mistake_text
from engine.scenario.document import format_path
from engine.specs.catalogue import DOWNLOAD_BYTES_PER_SECOND, PROCESS_START_MS, SCHEDULING_LATENCY_MS
from engine.specs.job_refusals import DEPENDENCIES_MAX

_LONGEST_S = 90 * 366 * 86_400
_LARGEST = 2**62


@dataclass(slots=True)
class WorkflowTask:
    """A task of a workflow. ``parents`` are the names of tasks, ``inputs`` and ``outputs`` those of files."""

    name: str
    run_s: float = 0.0
    cores: int = 1
    command: str = ""
    parents: dict[str, None] = field(default_factory=dict)
    inputs: dict[str, None] = field(default_factory=dict)
    outputs: dict[str, None] = field(default_factory=dict)


@dataclass(slots=True)
class Workflow:
    """A workflow: its tasks by name, the bytes of its files by name, and the cores of its machines."""

    name: str
    tasks: dict[str, WorkflowTask] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    machines: list[int] = field(default_factory=list)
    unknown_tasks: list[str] = field(default_factory=list)

    def levels(self) -> list[list[str]]:
        """Return the tasks by the length of the longest chain of parents before them."""
        sorter = TopologicalSorter({name: task.parents.keys() for name, task in self.tasks.items()})
        level: dict[str, int] = {}
        found: list[list[str]] = []
        for name in sorter.static_order():
            level[name] = 1 + max((level[parent] for parent in self.tasks[name].parents), default=-1)
            if level[name] == len(found):
                found.append([])
            found[level[name]].append(name)
        return found


def _as_id(value: object) -> str:
    """Return the id of a task or file, which may be a number."""
    if not isinstance(value, str | int) or isinstance(value, bool) or value == "":
        raise ValueError(f"must be an id, not {quoted(value)}")
    return str(value)


def _as_list(value: object) -> object:
    return [] if value is None else value


_Id = Annotated[str, BeforeValidator(_as_id)]
_Ids = Annotated[list[_Id], BeforeValidator(_as_list)]
_Number = Annotated[float, Field(ge=0)]


class _Part(BaseModel, strict=True):
    """Something with an id, or with a name in its place."""

    id: _Id = Field(validation_alias=AliasChoices("id", "name"))


_PartT = TypeVar("_PartT", bound=_Part)


class _File(_Part):
    size: Annotated[_Number, Field(le=_LARGEST)] | None = Field(
        None, validation_alias=AliasChoices("sizeInBytes", "size")
    )


class _Link(_File):
    """A file of a task."""

    link: Literal["input", "output"]


class _Run(_Part):
    """A task that has run."""

    run_s: Annotated[_Number, Field(le=_LONGEST_S)] | None = Field(
        None, validation_alias=AliasChoices("runtimeInSeconds", "runtime")
    )
    cores: _Number | None = Field(None, validation_alias=AliasChoices("coreCount", "cores"))
    command: Any = None


class _Task(_Run):
    name: Any = None
    parents: _Ids = []
    children: _Ids = []
    input_files: _Ids = Field([], validation_alias="inputFiles")
    output_files: _Ids = Field([], validation_alias="outputFiles")
    files: Annotated[list[_Link], BeforeValidator(_as_list)] = []


class _Machine(BaseModel, strict=True):
    cores: _Number | None = Field(
        None, validation_alias=AliasChoices(AliasPath("cpu", "coreCount"), AliasPath("cpu", "count"))
    )


class _Described(BaseModel, strict=True):
    """What a workflow says of its tasks."""

    tasks: Annotated[list[_Task], Field(min_length=1)]
    files: Annotated[list[_File], BeforeValidator(_as_list)] = []


class _Ran(BaseModel, strict=True):
    """What a workflow says of the machines on which it ran, and of the runs of its tasks."""

    tasks: Annotated[list[_Run], BeforeValidator(_as_list)] = []
    machines: Annotated[list[_Machine], BeforeValidator(_as_list)] = []


class _Parts(BaseModel, strict=True):
    """The parts of a workflow since 1.5."""

    specification: _Described
    execution: _Ran = _Ran()


def workflow_of(document: object, file: str) -> Workflow:
    """Return the workflow in a parsed file.

    Raises:
        ScenarioError: It has mistakes; all of them are listed, those of its form alone if there are any.
    """
    mistakes = Mistakes(file)
    name, body = value_at(document, "name"), value_at(document, "workflow")
    if not isinstance(body, dict):
        mistakes.refuse("is no workflow in WfFormat: it has no 'workflow'")
    is_split = "specification" in body
    parts = body if is_split else {"specification": body, "execution": {"machines": body.get("machines")}}
    try:
        found = _Parts.model_validate(parts)
    except ValidationError as error:
        for details in error.errors(include_url=False):
            what = "is missing and required" if details["type"] == "missing" else mistake_text(details)
            mistakes.report(what, format_path(("workflow", *details["loc"][0 if is_split else 1 :])))
        mistakes.fail()
    workflow = Workflow(readable(name) if isinstance(name, str) and name.strip() else "workflow")
    workflow.machines = [max(1, int(machine.cores or 1)) for machine in found.execution.machines]
    path = f"workflow{'.specification' * is_split}.tasks"
    ran = _by_id(found.execution.tasks, "workflow.execution.tasks", mistakes)
    _take_tasks(workflow, _by_id(found.specification.tasks, path, mistakes), ran, mistakes)
    files = chain(found.specification.files, *(task.files for task in found.specification.tasks))
    workflow.sizes = {file.id: int(file.size) for file in files if file.size is not None}
    mistakes.check()
    return workflow


_Tasks = Mapping[str, tuple[str, _PartT]]
"""Tasks with their paths, by their ids."""


def _by_id(items: Iterable[_PartT], path: str, mistakes: Mistakes) -> _Tasks[_PartT]:
    """Return tasks by their ids, which must differ."""
    found: dict[str, tuple[str, _PartT]] = {}
    for at, item in enumerate(items):
        first, known = found.setdefault(item.id, (f"{path}[{at}]", item))
        if known is not item:
            mistakes.report(f"the id {quoted(item.id)} is that of {first} too", f"{path}[{at}]")
    return found


def _take_tasks(workflow: Workflow, described: _Tasks[_Task], ran: _Tasks[_Run], mistakes: Mistakes) -> None:
    """Add the tasks, whose runs are described with them if they are not in ``ran``."""
    workflow.unknown_tasks = [name for name in ran if name not in described]
    for name, (path, task) in described.items():
        _, run = ran.get(name, (path, task))
        if run.run_s is None:
            mistakes.report(f"the run time of {quoted(name)} is missing: give it as runtimeInSeconds", path)
        links = {way: [file.id for file in task.files if file.link == way] for way in ("input", "output")}
        inputs, outputs = [*links["input"], *task.input_files], [*links["output"], *task.output_files]
        of_files = dict.fromkeys(inputs), dict.fromkeys(outputs)
        cores = max(1, ceil(run.cores or 1))
        workflow.tasks[name] = WorkflowTask(name, run.run_s or 0, cores, _command(run.command), {}, *of_files)
    _take_parents(workflow, described, mistakes)
    if not mistakes.problems:
        try:
            workflow.levels()
        except CycleError as error:
            names: list[str] = list(reversed(error.args[1]))
            mistakes.report(f"tasks wait for one another in a circle: {first_of(names)}", described[names[0]][0])


def _command(command: object) -> str:
    arguments = value_at(command, "arguments")
    words = [value_at(command, "program"), *(arguments if isinstance(arguments, list) else [])]
    return readable(" ".join(word for word in words if isinstance(word, str)))


def _take_parents(workflow: Workflow, described: _Tasks[_Task], mistakes: Mistakes) -> None:
    """Connect tasks with their parents. A task may be named by its id, or by its name if no other one has that."""
    known = dict[str, str | None]()
    for task_id, (_, task) in described.items():
        if isinstance(task.name, str):
            known[task.name] = None if task.name in known else task_id
    known |= {name: name for name in described}
    for task_id, (path, task) in described.items():
        for key, names in (("parents", task.parents), ("children", task.children)):
            for at, name in enumerate(names):
                other = known.get(name)
                if other is None:
                    why = "names several tasks" if name in known else "is no task of the workflow"
                    mistakes.report(f"{quoted(name)} {why}", f"{path}.{key}[{at}]")
                else:
                    child, parent = (task_id, other) if key == "parents" else (other, task_id)
                    workflow.tasks[child].parents[parent] = None


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
    mistakes = Mistakes(file)
    _warn(workflow, machines, mistakes)
    return Imported(document, _assumptions(workflow, machines, named), tuple(mistakes.warnings))


class _Names:
    """The ids of tasks, and the names of files, that Batch allows.

    If some task has more parents than a list of such ids may name, ids are numbers, which are shorter.
    """

    def __init__(self, workflow: Workflow) -> None:
        self._workflow = workflow
        self.ids = batch_ids(workflow.tasks)
        self.are_numbers = any(self._is_long(task) for task in workflow.tasks.values())
        if self.are_numbers:
            self.ids = {name: str(number) for number, name in enumerate(workflow.tasks, 1)}
        used = (name for task in workflow.tasks.values() for name in (*task.inputs, *task.outputs))
        self.files = batch_ids(used, file_name)
        self._made = {name for task in workflow.tasks.values() for name in task.outputs}

    @property
    def changed(self) -> dict[str, str]:
        """The ids that differ from the names of their tasks."""
        return {name: task_id for name, task_id in self.ids.items() if name != task_id}

    def check(self, file: str) -> None:
        """Raise ScenarioError for the tasks with more parents than even a list of numbers can name."""
        problems = [
            Problem(f"task {shortened(task.name)} has more parents than Batch allows", file=name_of(file))
            for task in self._workflow.tasks.values()
            if self._is_long(task)
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

    def _is_long(self, task: WorkflowTask) -> bool:
        return sum(len(self.ids[parent]) for parent in task.parents) > DEPENDENCIES_MAX


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
        "timeline": [emptying(job_id)],
    }


def _tasks(workflow: Workflow, machines: Machines, named: _Names) -> Iterator[dict[str, object]]:
    for name, task in workflow.tasks.items():
        outputs = {named.files[file]: workflow.sizes.get(file, 0) for file in task.outputs}
        simulate: dict[str, object] = {"duration": seconds_of(round(task.run_s * SECOND_MS))}
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
            body["dependsOn"] = {"taskIds": [named.ids[parent] for parent in task.parents]}
        if task.inputs:
            files = ({"httpUrl": named.url(file), "filePath": named.files[file]} for file in task.inputs)
            body["resourceFiles"] = list(files)
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
    sentences = [
        f"A workflow of {len(workflow.tasks):,} tasks in WfFormat.",
        machines.assumption,
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


def _warn(workflow: Workflow, machines: Machines, mistakes: Mistakes) -> None:
    wide = [task for task in workflow.tasks.values() if machines.slots > 1 and task.cores > machines.slots]
    for task in wide[:NAMED_LIMIT]:
        cores = f"task {shortened(task.name)} needs {task.cores:,} cores, but a node has {machines.slots:,} task slots"
        mistakes.warn(f"{cores}: it gets all of them")
    if len(wide) > NAMED_LIMIT:
        mistakes.warn(f"{len(wide) - NAMED_LIMIT:,} more tasks need more cores than a node has task slots")
    if workflow.unknown_tasks:
        mistakes.warn(f"is left out, because no such tasks are specified: {first_of(workflow.unknown_tasks)}")
