"""A workflow in WfFormat 1.4 or 1.5 as a scenario: a job whose tasks depend on one another and pass files on.

The file describes tasks with their parents, run times and files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from math import ceil, isfinite
from typing import Any, NamedTuple

from engine.base.errors import Problem, ScenarioError
from engine.base.values import HOUR_MS, SECOND_MS, first_of, quoted, shortened
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
)
from engine.histories.reading import json_document
from engine.histories.swf import NAMED_LIMIT
from engine.scenario.document import Path, format_path
from engine.specs.catalogue import DOWNLOAD_BYTES_PER_SECOND, PROCESS_START_MS, SCHEDULING_LATENCY_MS
from engine.specs.job_refusals import DEPENDENCIES_MAX

_LONGEST_S = 90 * 366 * 86_400
_LARGEST = 2**62
_RUN_TIMES = ("runtimeInSeconds", "runtime")
_CORES = ("coreCount", "cores")
_MACHINE_CORES = ("coreCount", "count")
_SIZES = ("sizeInBytes", "size")


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


class _Node(NamedTuple):
    """A mapping of the file and its path; anything else in its place is an empty one."""

    body: Mapping[str, Any]
    path: Path
    mistakes: Mistakes

    def report(self, message: str, *below: str | int) -> None:
        """Keep a mistake at a value of the mapping, or at itself."""
        self.mistakes.report(message, format_path((*self.path, *below)))

    @property
    def name(self) -> str | None:
        """The id, or the name of what has none; None without either."""
        name = self.body.get("id", self.body.get("name"))
        return str(name) if isinstance(name, str | int) and not isinstance(name, bool) and name != "" else None

    def below(self, *keys: str) -> _Node:
        """Return the mapping at the end of these keys, each of which may be missing."""
        node = self
        for key in keys:
            value = node.body.get(key)
            if value is not None and not isinstance(value, Mapping):
                node.report("must be a mapping", key)
            node = _Node(value if isinstance(value, Mapping) else {}, (*node.path, key), self.mistakes)
        return node

    def listed(self, key: str) -> list[Any]:
        """Return a list, which may be missing."""
        value = self.body.get(key)
        if value is not None and not isinstance(value, list):
            self.report("must be a list", key)
        return value if isinstance(value, list) else []

    def nodes(self, key: str, wanted: str) -> Iterator[_Node]:
        """Yield the mappings of a list; ``wanted`` is what each has beside its name."""
        for at, value in enumerate(self.listed(key)):
            node = _Node(value if isinstance(value, Mapping) else {}, (*self.path, key, at), self.mistakes)
            if node.name is not None:
                yield node
            else:
                node.report(f"must be a mapping with id or name, and {wanted}")

    def by_name(self, key: str, wanted: str) -> dict[str, _Node]:
        """Return the mappings of a list by their names, which must differ."""
        found: dict[str, _Node] = {}
        for node in self.nodes(key, wanted):
            first = found.setdefault(str(node.name), node)
            if first is not node:
                node.report(f"the id {quoted(node.name)} is that of {format_path(first.path)} too")
        return found

    def names(self, key: str, what: str) -> list[str]:
        """Return a list of the ids of something."""
        names = self.listed(key)
        for at, name in enumerate(names):
            if not isinstance(name, str | int):
                self.report(f"must be the id of a {what}", key, at)
        return [str(name) for name in names if isinstance(name, str | int)]

    def number(self, *keys: str) -> float | None:
        """Return the number that the first of these keys has, or None if none has one; report other values."""
        key, value = next(((key, self.body[key]) for key in keys if self.body.get(key) is not None), ("", None))
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if value is None or (is_number and isfinite(value) and value >= 0):
            return value
        self.report(f"must be a number, 0 or above, not {quoted(value)}", key)
        return 0


def workflow_of(document: object, file: str) -> Workflow:
    """Return the workflow in a parsed file.

    Raises:
        ScenarioError: It has mistakes; all of them are listed.
    """
    mistakes = Mistakes(file)
    root = _Node(document if isinstance(document, Mapping) else {}, (), mistakes)
    name = root.body.get("name")
    workflow = Workflow(readable(name) if isinstance(name, str) and name.strip() else "workflow")
    if isinstance(root.body.get("workflow"), Mapping):
        _read(root.below("workflow"), workflow)
    else:
        root.report("is no workflow in WfFormat: it has no 'workflow'")
    if mistakes.problems:
        mistakes.fail()
    return workflow


def _read(body: _Node, workflow: Workflow) -> None:
    """Read the workflow as far as that is possible."""
    is_split = "specification" in body.body  # since 1.5
    described, ran = (body.below("specification"), body.below("execution")) if is_split else (body, body)
    nodes = described.by_name("tasks", "parents")
    if not nodes and not body.mistakes.problems:
        described.report("must be a list of tasks, with at least one", "tasks")
    workflow.tasks |= {name: WorkflowTask(name) for name in nodes}
    runs = ran.by_name("tasks", "runtimeInSeconds") if is_split else nodes
    workflow.unknown_tasks += [name for name in runs if name not in nodes]
    for file in described.nodes("files", "sizeInBytes"):
        _take_size(workflow, file)
    for name, node in nodes.items():
        _take_run(workflow.tasks[name], runs.get(name, node), node)
        _take_files(workflow, workflow.tasks[name], node)
    _take_parents(workflow, nodes)
    for at, machine in enumerate(ran.listed("machines")):
        known = _Node(machine if isinstance(machine, Mapping) else {}, (*ran.path, "machines", at), ran.mistakes)
        workflow.machines.append(max(1, int(known.below("cpu").number(*_MACHINE_CORES) or 1)))
    if not body.mistakes.problems:
        try:
            workflow.levels()
        except CycleError as error:
            names: list[str] = list(reversed(error.args[1]))
            nodes[names[0]].report(f"tasks wait for one another in a circle: {first_of(names)}")


def _take_run(task: WorkflowTask, ran: _Node, described: _Node) -> None:
    """Read how a task ran: for how long, on how many cores, and its command."""
    run_s, cores = ran.number(*_RUN_TIMES), ran.number(*_CORES)
    if run_s is None:
        described.report(f"the run time of {quoted(task.name)} is missing: give it as runtimeInSeconds")
    elif run_s > _LONGEST_S:
        key = next(key for key in _RUN_TIMES if key in ran.body)
        ran.report(f"must be less than a century, not {quoted(run_s)} seconds", key)
    task.run_s, task.cores = run_s or 0, max(1, ceil(cores or 1))
    command = ran.body.get("command")
    if isinstance(command, Mapping):
        arguments = command.get("arguments")
        words = [command.get("program"), *(arguments if isinstance(arguments, list) else [])]
        task.command = readable(" ".join(word for word in words if isinstance(word, str)))


def _take_files(workflow: Workflow, task: WorkflowTask, node: _Node) -> None:
    ways = {"input": task.inputs, "output": task.outputs}
    for file in node.nodes("files", "sizeInBytes"):
        link = file.body.get("link")
        if link in ("input", "output"):
            ways[link][_take_size(workflow, file)] = None
        else:
            file.report(f"must be input or output, not {quoted(link)}", "link")
    for way, files in ways.items():
        files.update(dict.fromkeys(node.names(f"{way}Files", "file")))


def _take_size(workflow: Workflow, file: _Node) -> str:
    """Read the size of a file; return its name."""
    name, size = str(file.name), file.number(*_SIZES)
    if size is not None and size > _LARGEST:
        file.report(f"the size of {quoted(name)} must be at most {_LARGEST:,} bytes")
    elif size is not None:
        workflow.sizes[name] = int(size)
    return name


def _take_parents(workflow: Workflow, nodes: Mapping[str, _Node]) -> None:
    """Connect tasks with their parents. A task may be named by its id, or by its name if no other one has that."""
    tasks, known = workflow.tasks, dict[str, str | None]()
    for task_id, node in nodes.items():
        name = node.body.get("name")
        if isinstance(name, str):
            known[name] = None if name in known else task_id
    known |= {name: name for name in tasks}
    for task_id, node in nodes.items():
        for key in ("parents", "children"):
            for at, name in enumerate(node.names(key, "task")):
                other = known.get(name)
                if other is None:
                    why = "names several tasks" if name in known else "is no task of the workflow"
                    node.report(f"{quoted(name)} {why}", key, at)
                else:
                    child, parent = (task_id, other) if key == "parents" else (other, task_id)
                    tasks[child].parents[parent] = None


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
        "timeline": [emptying(job_id)],
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
