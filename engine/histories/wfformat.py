"""A workflow in WfFormat 1.4 or 1.5 as a scenario: a job whose tasks depend on one another and pass files on.

The file describes tasks with their parents, run times and files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from math import ceil, isfinite
from typing import Any

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
    json_document,
    name_of,
    readable,
)
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
    path: Path
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


def workflow_of(document: object, file: str) -> Workflow:
    """Return the workflow in a parsed file.

    Raises:
        ScenarioError: It has mistakes; all of them are listed.
    """
    reader = _Reader(file)
    reader.read(document)
    if reader.mistakes.problems:
        reader.mistakes.fail()
    return reader.workflow


class _Reader:
    """A reader of one file, which collects mistakes."""

    def __init__(self, file: str) -> None:
        self.mistakes = Mistakes(file)
        self.workflow = Workflow("workflow")

    def read(self, document: object) -> None:
        """Read the workflow as far as that is possible."""
        body = document.get("workflow") if isinstance(document, Mapping) else None
        if not isinstance(document, Mapping) or not isinstance(body, Mapping):
            self._report((), "is no workflow in WfFormat: it has no 'workflow'")
            return
        name = document.get("name")
        if isinstance(name, str) and name.strip():
            self.workflow.name = readable(name)
        path: Path = ("workflow",)
        described, ran = body, body
        if "specification" in body:  # since 1.5
            described, ran = self._mapping(body, "specification", path), self._mapping(body, "execution", path)
            tasks_path: Path = (*path, "specification", "tasks")
            machines_path: Path = (*path, "execution", "machines")
        else:
            tasks_path, machines_path = (*path, "tasks"), (*path, "machines")
        bodies = list(self._tasks(described, tasks_path))
        if not bodies and not self.mistakes.problems:
            self._report(tasks_path, "must be a list of tasks, with at least one")
        runs = self._runs(ran, (*path, "execution", "tasks")) if described is not ran else {}
        for task, task_body in bodies:
            self._take_run(task, *runs.get(task.name, (task_body, task.path)))
        for task, _ in bodies:
            if task.run_s < 0:
                self._report(task.path, f"the run time of {quoted(task.name)} is missing: give it as runtimeInSeconds")
        for at, file in enumerate(self._list(described, "files", (*tasks_path[:-1], "files"))):
            self._take_file(file, (*tasks_path[:-1], "files", at))
        for task, task_body in bodies:
            self._take_files(task, task_body)
        self._take_parents(bodies)
        for at, machine in enumerate(self._list(ran, "machines", machines_path)):
            cpu = machine.get("cpu") if isinstance(machine, Mapping) else None
            known = cpu if isinstance(cpu, Mapping) else {}
            cores = self._number(known, _MACHINE_CORES, (*machines_path, at, "cpu"))
            self.workflow.machines.append(max(1, int(cores or 1)))
        if not self.mistakes.problems:
            self._check_cycles()

    def _tasks(self, described: Mapping[str, Any], path: Path) -> Iterator[tuple[WorkflowTask, Mapping[str, Any]]]:
        tasks = self.workflow.tasks
        for at, body in enumerate(self._list(described, "tasks", path)):
            here = (*path, at)
            if not isinstance(body, Mapping):
                self._report(here, "must be a mapping with name and parents")
                continue
            name = body.get("id", body.get("name"))
            if isinstance(name, int) and not isinstance(name, bool):
                name = str(name)
            if not isinstance(name, str) or not name:
                self._report(here, "must have an id, or a name, which is text")
            elif name in tasks:
                self._report(here, f"the id {quoted(name)} is that of {format_path(tasks[name].path)} too")
            else:
                tasks[name] = WorkflowTask(name, here)
                yield tasks[name], body

    def _runs(self, ran: Mapping[str, Any], path: Path) -> dict[str, tuple[Mapping[str, Any], Path]]:
        """Return what is known of the execution of each task."""
        found: dict[str, tuple[Mapping[str, Any], Path]] = {}
        for at, body in enumerate(self._list(ran, "tasks", path)):
            here = (*path, at)
            name = body.get("id") if isinstance(body, Mapping) else None
            if not isinstance(name, str | int):
                self._report(here, "must be a mapping with id and runtimeInSeconds")
            elif str(name) in found:
                self._report(here, f"the execution of {quoted(name)} stands at {format_path(found[str(name)][1])} too")
            else:
                found[str(name)] = body, here
                if str(name) not in self.workflow.tasks:
                    self.workflow.unknown_tasks.append(str(name))
        return found

    def _take_run(self, task: WorkflowTask, body: Mapping[str, Any], path: Path) -> None:
        run_s = self._number(body, _RUN_TIMES, path)
        task.run_s = -1 if run_s is None else run_s
        cores = self._number(body, _CORES, path)
        task.cores = max(1, -int(-(cores or 1) // 1))
        command = body.get("command")
        if isinstance(command, Mapping):
            arguments = command.get("arguments")
            words = [command.get("program"), *(arguments if isinstance(arguments, list) else [])]
            task.command = readable(" ".join(word for word in words if isinstance(word, str)))

    def _take_files(self, task: WorkflowTask, body: Mapping[str, Any]) -> None:
        for at, file in enumerate(self._list(body, "files", (*task.path, "files"))):
            here = (*task.path, "files", at)
            name = self._take_file(file, here)
            link = file.get("link") if isinstance(file, Mapping) else None
            if name is not None and link not in ("input", "output"):
                self._report((*here, "link"), f"must be input or output, not {quoted(link)}")
            elif name is not None:
                (task.inputs if link == "input" else task.outputs)[name] = None
        task.inputs |= dict.fromkeys(self._names(body, "inputFiles", (*task.path, "inputFiles")))
        task.outputs |= dict.fromkeys(self._names(body, "outputFiles", (*task.path, "outputFiles")))

    def _take_file(self, body: object, path: Path) -> str | None:
        """Read the size of a file; return its name."""
        name = body.get("id", body.get("name")) if isinstance(body, Mapping) else None
        if not isinstance(body, Mapping) or not isinstance(name, str) or not name:
            self._report(path, "must be a mapping with id or name, and sizeInBytes")
            return None
        size = self._number(body, _SIZES, path)
        if size is not None and size > _LARGEST:
            self._report(path, f"the size of {quoted(name)} must be at most {_LARGEST:,} bytes")
        elif size is not None:
            self.workflow.sizes[name] = int(size)
        return name

    def _take_parents(self, bodies: list[tuple[WorkflowTask, Mapping[str, Any]]]) -> None:
        """Connect tasks with their parents. A task may be named by its id, or by its name if no other one has that."""
        known: dict[str, str | None] = {}
        for task, body in bodies:
            name = body.get("name")
            if isinstance(name, str):
                known[name] = None if name in known else task.name
        known |= {name: name for name in self.workflow.tasks}
        for task, body in bodies:
            for key in ("parents", "children"):
                for at, name in enumerate(self._names(body, key, (*task.path, key))):
                    other = known.get(name)
                    if other is None:
                        why = "names several tasks" if name in known else "is no task of the workflow"
                        self._report((*task.path, key, at), f"{quoted(name)} {why}")
                    elif key == "parents":
                        task.parents[other] = None
                    else:
                        self.workflow.tasks[other].parents[task.name] = None

    def _check_cycles(self) -> None:
        try:
            self.workflow.levels()
        except CycleError as error:
            names: list[str] = list(reversed(error.args[1]))
            self._report(
                self.workflow.tasks[names[0]].path, f"tasks wait for one another in a circle: {first_of(names)}"
            )

    def _mapping(self, body: Mapping[str, Any], key: str, path: Path) -> Mapping[str, Any]:
        value = body.get(key)
        if value is not None and not isinstance(value, Mapping):
            self._report((*path, key), "must be a mapping")
        return value if isinstance(value, Mapping) else {}

    def _list(self, body: Mapping[str, Any], key: str, path: Path) -> list[Any]:
        value = body.get(key)
        if value is not None and not isinstance(value, list):
            self._report(path, "must be a list")
        return value if isinstance(value, list) else []

    def _names(self, body: Mapping[str, Any], key: str, path: Path) -> list[str]:
        names = self._list(body, key, path)
        for at, name in enumerate(names):
            if not isinstance(name, str | int):
                self._report((*path, at), f"must be the id of a {'file' if 'Files' in key else 'task'}")
        return [str(name) for name in names if isinstance(name, str | int)]

    def _number(self, body: Mapping[str, Any], keys: tuple[str, ...], path: Path) -> float | None:
        """Return the number that the first of these keys has, or None if none has one; report other values."""
        key = next((key for key in keys if body.get(key) is not None), None)
        if key is None:
            return None
        value = body[key]
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or (isinstance(value, float) and not isfinite(value)) or value < 0:
            self._report((*path, key), f"must be a number, 0 or above, not {quoted(value)}")
            return 0
        if key in _RUN_TIMES and value > _LONGEST_S:
            self._report((*path, key), f"must be less than a century, not {quoted(value)} seconds")
            return 0
        number: float = value
        return number

    def _report(self, path: Path, message: str) -> None:
        self.mistakes.report(message, format_path(path))


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
