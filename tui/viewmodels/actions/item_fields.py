"""The fields for the usual properties of pools, jobs, tasks and job schedules."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from engine.base.terms import OsFamily
from engine.specs.catalogue import vm_size
from tui.viewmodels import format as fmt
from tui.viewmodels.actions.action import (
    COUNT,
    DISPLAY_NAME,
    DURATION,
    EACH,
    FIRST_ID,
    ID,
    AnyField,
    Body,
    Field,
    pools,
    whole,
)

if TYPE_CHECKING:
    pass


def about_size(name: str) -> str:
    """Return what a VM size has and costs, and when it is retired; empty for a name that is no size."""
    size = vm_size(name.strip())
    if size is None:
        return ""
    usd = size.price_usd(OsFamily.LINUX, dedicated=True)
    price = f", {fmt.money(usd)} an hour with Linux" if usd else ""
    retired = f", retirement {size.retires}" if size.retires is not None else ""
    return f"{size.cores} core{'s' if size.cores != 1 else ''}, {size.memory_gib:g} GiB{price}{retired}"


_MACHINE, _CLOUD_SERVICE = "virtualMachineConfiguration", "cloudServiceConfiguration"
# The configurations that the field offers, by its texts; the first one is the service's default.
_IMAGES: dict[str, dict[str, Any]] = {
    "Ubuntu 22.04": {},
    "Ubuntu 24.04": {
        _MACHINE: {
            "imageReference": {"publisher": "Canonical", "offer": "ubuntu-24_04-lts", "sku": "server"},
            "nodeAgentSKUId": "batch.node.ubuntu 24.04",
        }
    },
    "Windows Server 2022": {
        _MACHINE: {
            "imageReference": {
                "publisher": "MicrosoftWindowsServer",
                "offer": "WindowsServer",
                "sku": "2022-datacenter",
            },
            "nodeAgentSKUId": "batch.node.windows amd64",
        }
    },
    **{f"cloud service, family {family}": {_CLOUD_SERVICE: {"osFamily": family}} for family in ("6", "5")},
}
_OTHER = "as in the body"


@dataclass(frozen=True)
class ImageField(Field[Any]):
    """The operating system of a pool's nodes: a few common ones; any other is written in the body."""

    def text_in(self, body: Body) -> str:
        """Return the name of the image, or that the body has another one."""
        present = {name: body[name] for name in (_MACHINE, _CLOUD_SERVICE) if body.get(name) is not None}
        return next((text for text, each in _IMAGES.items() if each == present), _OTHER)

    def put_into(self, body: Body, text: str, _command: str) -> dict[str, Any]:
        """Return the body with the configuration of this image."""
        if text == _OTHER:
            return dict(body)
        kept = {name: each for name, each in body.items() if name not in (_MACHINE, _CLOUD_SERVICE)}
        return kept | _IMAGES.get(text, {})


@dataclass(frozen=True)
class FormulaField(Field[Any]):
    """The autoscale formula of a pool, which takes the place of the targets."""

    def put_into(self, body: Body, text: str, _command: str) -> dict[str, Any]:
        """Return the body with the formula and without targets, or without autoscale."""
        if not text.strip():
            names = ("enableAutoScale", "autoScaleFormula", "autoScaleEvaluationInterval")
            return {name: value for name, value in body.items() if name not in names}
        targets = ("targetDedicatedNodes", "targetLowPriorityNodes")
        kept = {name: value for name, value in body.items() if name not in targets}
        return kept | {"enableAutoScale": True, "autoScaleFormula": text}


def _inside(body: str, section: str, *fields: AnyField) -> tuple[AnyField, ...]:
    """Return the fields for properties of a body inside another one, below a heading."""
    inner = [replace(field, name=f"{body}.{field.name}") for field in fields]
    return (replace(inner[0], section=section), *inner[1:])


_RUNS_FOR = Field[Any]("simulate.duration", "Runs for", f"{DURATION}; in the simulation")
_EXIT_CODE = Field[Any]("simulate.exitCode", "Exit code", "0 if empty; {0: 0.9, 1: 0.1} draws one")
_WAIT = Field[Any](
    "waitForSuccess", "Wait for success", "yes if empty: no task starts on a node before it has succeeded"
)
_RETRIES = Field[Any]("constraints.maxTaskRetryCount", "Retries", "the job's if empty; -1 is no limit")
_LIMIT = Field[Any]("constraints.maxWallClockTime", "Time limit", f"no limit if empty; {DURATION}")
_SLOTS = Field[Any]("taskSlotsPerNode", "Task slots per node", "1 if empty; so many tasks run at once")
_FILL = Field[Any](
    "taskSchedulingPolicy.nodeFillType",
    "Node fill type",
    "spread: the emptiest node gets the next task; pack: the fullest one",
)
_START_COMMAND = Field[Any]("commandLine", "Command line", "runs at each start of a node")
_START = _inside("startTask", "Start task", _START_COMMAND, _RUNS_FOR, _WAIT)
_PACKAGES = Field[Any]("applicationPackageReferences", "Packages", "such as: pricer 1.2, tools; installed on each node")
_CERTIFICATES = Field[Any]("certificateReferences", "Certificates", "their thumbprints; of certificates of the account")

POOL_FIELDS: tuple[AnyField, ...] = (
    ID,
    Field("vmSize", "VM size", "such as standard_d2s_v3", is_required=True, about=about_size),
    ImageField(
        _MACHINE, "Image", "the operating system of the nodes; others in the body", options=lambda _: tuple(_IMAGES)
    ),
    Field("targetDedicatedNodes", "Dedicated nodes", "how many to have", section="Scale"),
    Field("targetLowPriorityNodes", "Spot nodes", "how many to have; cheaper, may be preempted"),
    FormulaField("autoScaleFormula", "Autoscale formula", "instead of numbers; such as $TargetDedicatedNodes = 4;"),
    Field("resizeTimeout", "Resize timeout", f"PT15M if empty; at least PT5M; {DURATION}"),
    replace(_SLOTS, section="Tasks on its nodes"),
    _FILL,
    Field("enableInterNodeCommunication", "Nodes communicate", "yes: for multi-instance tasks"),
    *_START,
    replace(_PACKAGES, section="More"),
    _CERTIFICATES,
    DISPLAY_NAME,
)

_WITHOUT_NODES = "only while it has no nodes"
POOL_CHANGES: tuple[AnyField, ...] = (
    *_START,
    replace(_PACKAGES, section="Installed"),
    _CERTIFICATES,
    replace(DISPLAY_NAME, hint=_WITHOUT_NODES, section="While it has no nodes"),
    replace(_SLOTS, hint=f"{_WITHOUT_NODES}; so many tasks run at once"),
    replace(_FILL, hint=f"{_WITHOUT_NODES}; {_FILL.hint}"),
    Field("targetNodeCommunicationMode", "Communication mode", f"{_WITHOUT_NODES}; how nodes and the service talk"),
)

POOL_PROPERTIES: tuple[AnyField, ...] = (*_START, replace(_PACKAGES, section="More"), _CERTIFICATES)


_PRIORITY = Field[Any]("priority", "Priority", "-1000 to 1000; 0 if empty")
_PARALLEL = Field[Any]("maxParallelTasks", "Parallel tasks", "at most so many at once; no limit if empty")
_ALL_COMPLETE = Field[Any](
    "onAllTasksComplete", "When all are complete", "terminatejob ends the job, and then its release tasks run"
)
_JOB_RETRIES = Field[Any]("constraints.maxTaskRetryCount", "Retries of tasks", "0 if empty; -1 is no limit")
_JOB_LIMIT = Field[Any]("constraints.maxWallClockTime", "Time limit", f"the job is terminated after it; {DURATION}")


_PREPARATION = _inside(
    "jobPreparationTask",
    "Preparation task",
    Field("commandLine", "Command line", "runs ahead of tasks; before the job's first task on a node"),
    _RUNS_FOR,
    _EXIT_CODE,
    replace(_RETRIES, hint="0 if empty; -1 is no limit"),
    _WAIT,
    Field("rerunOnNodeRebootAfterSuccess", "Again after a reboot", "yes if empty"),
)
_RELEASE = _inside(
    "jobReleaseTask",
    "Release task",
    Field("commandLine", "Command line", "runs at the end of the job; on each node where its tasks ran"),
    _RUNS_FOR,
    _EXIT_CODE,
)


def _count(text: str) -> int:
    number = whole(text)
    if not 1 <= number <= MOST_NEW_TASKS:
        raise ValueError(f"{number:,} must be between 1 and {MOST_NEW_TASKS:,}")
    return number


MOST_NEW_TASKS = 1_000_000

TASK_FIELDS: tuple[AnyField, ...] = (
    Field(f"{EACH}.id", "Id", "its name in the job; several tasks get a number as well", is_required=True),
    Field(COUNT, "How many", f"1 to {MOST_NEW_TASKS:,}; several are a task factory", read=_count),
    *_inside(
        EACH,
        "",
        Field("commandLine", "Command line", "what runs; of several, {0} is the task's number", is_required=True),
        _RUNS_FOR,
        _EXIT_CODE,
        Field("requiredSlots", "Required slots", "1 if empty; task slots on the node"),
        Field("dependsOn.taskIds", "Depends on", "ids of tasks; separated by blanks"),
        _RETRIES,
        _LIMIT,
    ),
)

JOB_FIELDS: tuple[AnyField, ...] = (
    ID,
    Field("poolInfo.poolId", "Pool", "where its tasks run; an auto pool in the body", options=pools, is_required=True),
    _PRIORITY,
    _ALL_COMPLETE,
    *_PREPARATION,
    *_RELEASE,
    Field(f"{EACH}.id", "Id", f"{FIRST_ID} if empty; several tasks get a number as well", section="Tasks"),
    TASK_FIELDS[1],
    replace(TASK_FIELDS[2], is_required=False),
    *TASK_FIELDS[3:7],
    replace(_PARALLEL, section="Limits"),
    _JOB_RETRIES,
    _JOB_LIMIT,
    Field("usesTaskDependencies", "Dependencies", "yes: tasks may depend on others"),
    DISPLAY_NAME,
)
JOB_CHANGES: tuple[AnyField, ...] = (
    _PRIORITY,
    Field("poolInfo.poolId", "Pool", "another one only while the job is disabled", options=pools),
    _PARALLEL,
    _ALL_COMPLETE,
    _JOB_RETRIES,
    _JOB_LIMIT,
    Field("allowTaskPreemption", "May be preempted", "by jobs of a higher priority"),
)
TASK_CHANGES: tuple[AnyField, ...] = (
    _RETRIES,
    _LIMIT,
    Field("constraints.retentionTime", "Files are kept", f"P7D if empty; {DURATION}"),
)

SCHEDULE_CHANGES: tuple[AnyField, ...] = (
    Field("schedule.recurrenceInterval", "Every", f"a job each time; once if empty; {DURATION}"),
    Field("schedule.doNotRunUntil", "Not before", "2026-01-06T08:00:00Z; at once if empty"),
    Field("schedule.doNotRunAfter", "Not after", "2026-01-07T08:00:00Z; for ever if empty"),
    Field("schedule.startWindow", "Start window", f"how late a job may begin; {DURATION}"),
    *_inside(
        "jobSpecification",
        "Its jobs",
        JOB_FIELDS[1],
        _PRIORITY,
        _ALL_COMPLETE,
        *_inside(
            "jobManagerTask",
            "Job manager task",
            Field("commandLine", "Command line", "the first task of each job; it may add others"),
            Field("id", "Id", "needed with a command line"),
            _RUNS_FOR,
        ),
        *_PREPARATION[:3],
        *_RELEASE,
    ),
)
SCHEDULE_FIELDS: tuple[AnyField, ...] = (ID, *SCHEDULE_CHANGES)
