"""Warnings: things that a scenario may say, but that its author has probably not meant.

They are collected while the bodies are read, and completed at the end, when everything that it creates is known.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from pydantic import ValidationError

from engine.base.lazy import lazy_regex
from engine.base.terms import OsFamily, Plain
from engine.executors.shell.small_shell import syntax_error, unreadable
from engine.scenario.added_tasks import is_ordinary
from engine.scenario.body_models import fields_of, model_of
from engine.scenario.document import DocumentPlace, Path, format_path
from engine.scenario.names import DeclaredIds, text_at
from engine.specs import images
from engine.specs.base import Spec, has_effect
from engine.specs.catalogue import is_listed, nearest_sizes, os_of, vm_size
from engine.specs.command import OnJob, OnPool
from engine.specs.commands import COMMANDS, AddTasks, CreateJob
from engine.specs.common import CommandLine, ResourceFile
from engine.specs.job import JobManagerTask, JobSpec, PoolInfo
from engine.specs.machine import ImageReference
from engine.specs.pool import PoolSpecification
from engine.specs.schedule import JobScheduleSpec
from engine.specs.task import MultiInstanceSettings, TaskSpec

if TYPE_CHECKING:
    from datetime import datetime

    from pydantic.fields import FieldInfo

    from engine.scenario.factory import TaskFactory
    from engine.specs.account import Quotas

_SHELL = lazy_regex(r"sh\b|cmd", re.IGNORECASE)
# Each names a command line and has a `simulate` beside it.
_WITH_LINES: dict[type[Spec], str] = {CommandLine: "commandLine", MultiInstanceSettings: "coordinationCommandLine"}

# Kinds of nodes: the word, a pool's target, and the account's quota.
_TARGETS = (
    ("dedicated", "targetDedicatedNodes", "dedicatedCores"),
    ("Spot", "targetLowPriorityNodes", "lowPriorityCores"),
)


class _Nodes(NamedTuple):
    """The nodes of a pool, as its body tells of them."""

    os: OsFamily
    slots: int  # of each node


class _NodeOwner(NamedTuple):
    """The owner of the nodes on which a task runs: a pool, the pool of a job, or the job with a pool of its own."""

    pool_id: str | None = None
    job_id: str | None = None
    nodes: _Nodes | None = None


@dataclass(slots=True)
class _Body:
    """One body while it is searched."""

    place: DocumentPlace
    runs: _NodeOwner
    without_effect: list[DocumentPlace] = field(default_factory=list)


class WarningCollector:
    """A collector of the warnings about one document."""

    def __init__(
        self,
        start: datetime,
        *,
        tasks_are_simulated: bool = False,
        has_storage_account: bool = False,
        quotas: Quotas | None = None,
    ) -> None:
        """Create it.

        Args:
            start: The start of the scenario, at which the support of an image counts.
            tasks_are_simulated: A default ``simulate`` speaks for all tasks of jobs.
            has_storage_account: The account has a storage account for containers that are given by name.
            quotas: What the account allows; None where a pool may want more than that.
        """
        self._start = start
        self._tasks_are_simulated = tasks_are_simulated
        self._has_storage_account = has_storage_account
        self._quotas = quotas
        self._pools: dict[str, _Nodes] = {}
        self._jobs: dict[str, _NodeOwner] = {}
        self._asked: list[DocumentPlace] = []
        self._lines: list[tuple[DocumentPlace, str, _NodeOwner]] = []
        # Of tasks that require several slots: how many in a list require as many, and where the first one says so.
        self._slots: Counter[tuple[Path, int, _NodeOwner]] = Counter()
        self._first_slots: dict[tuple[Path, int, _NodeOwner], DocumentPlace] = {}

    def pool(self, place: DocumentPlace, model: type[Spec]) -> None:
        """Search the body that creates a pool."""
        pool_id = text_at(place.plain, "id")
        if pool_id is not None:
            self._add_pool(pool_id, _nodes_in(place.plain))
        self._search(place, model, _NodeOwner())

    def job(self, place: DocumentPlace, model: type[Spec], factory: TaskFactory | None) -> None:
        """Search the body that creates a job, and its tasks."""
        runs = _runs_of(place.plain)
        job_id = text_at(place.plain, "id")
        if job_id is not None:
            self._jobs[job_id.casefold()] = runs
        self._search(place, model, runs)
        self._search_tasks(place, runs, factory)

    def schedule(self, place: DocumentPlace, model: type[Spec]) -> None:
        """Search the body that creates a job schedule."""
        specification = place.get("jobSpecification")
        runs = _runs_of(specification.plain if specification is not None else None)
        schedule_id = text_at(place.plain, "id")
        if schedule_id is not None:
            self._jobs[schedule_id.casefold()] = runs
        self._search(place, model, runs)

    def command(
        self,
        name: str,
        place: DocumentPlace,
        factory: TaskFactory | None,
        *,
        is_refused: bool = False,
        own_job: str | None = None,
    ) -> None:
        """Search the body of a command.

        One that is expected to be refused may name a pool that does not exist. A process's command without ``jobId``
        is about ``own_job``.
        """
        model = COMMANDS.get(name)
        if model is None:
            return
        if name == "createPool":
            self.pool(place, model)
        elif issubclass(model, CreateJob):
            self.job(place, JobSpec, factory)
        elif name == "createJobSchedule":
            self.schedule(place, JobScheduleSpec)
        else:
            runs = _NodeOwner(text_at(place.plain, "poolId"), text_at(place.plain, "jobId") or own_job)
            pool = place.get("poolId")
            if name == "updatePool" and runs.pool_id is not None:
                self._add_pool(runs.pool_id, _nodes_in(place.plain))
            if issubclass(model, OnPool) and pool is not None and not is_refused:
                self._asked.append(pool)
            if issubclass(model, AddTasks):
                self._search_tasks(place, runs, factory)
            elif issubclass(model, OnPool | OnJob) or name == "updateJobSchedule":
                self._search(place, model, runs)

    def finish(self, names: DeclaredIds) -> None:
        """Report what could be decided only now that all pools and jobs are known."""
        for place in self._asked:
            reason = names.missing_pool(str(place.plain)) if isinstance(place.plain, str) else None
            if reason is not None:
                place.warn(reason)
        for place, text, runs in self._lines:
            nodes = self._nodes(runs)
            _check_line(place, text, nodes.os if nodes is not None else OsFamily.LINUX)
        for alike, place in self._first_slots.items():
            _, required, runs = alike
            nodes = self._nodes(runs)
            if nodes is not None and required > nodes.slots:
                more = f" ({self._slots[alike] - 1:,} more like it)" if self._slots[alike] > 1 else ""
                place.warn(
                    f"the task requires {required:,} slots and never runs, since a node of its pool has {nodes.slots:,}"
                    f" (SCHED-10): give the pool taskSlotsPerNode: {required}{more}"
                )

    def _add_pool(self, pool_id: str, nodes: _Nodes) -> None:
        """Note the nodes of a pool. An update may give them more slots: the largest number counts."""
        known = self._pools.setdefault(pool_id.casefold(), nodes)
        self._pools[pool_id.casefold()] = known._replace(slots=max(known.slots, nodes.slots))

    def _nodes(self, runs: _NodeOwner) -> _Nodes | None:
        """Return the nodes of an owner; None if nothing that has been read yet tells of them."""
        if runs.pool_id is None and runs.nodes is None and runs.job_id is not None:
            job_id = runs.job_id.casefold()
            runs = self._jobs.get(job_id) or self._jobs.get(job_id.rpartition(":")[0]) or _NodeOwner()
        return runs.nodes or self._pools.get((runs.pool_id or "").casefold())

    def _search_tasks(self, place: DocumentPlace, runs: _NodeOwner, factory: TaskFactory | None) -> None:
        for name in ("tasks", "value"):
            listed = place.get(name)
            for task in listed.entries() if listed is not None else ():
                if is_ordinary(task.plain):
                    self._visit_slots(task, runs)
                else:
                    self._search(task, TaskSpec, runs)
        written = place.get("taskFactory")
        template = written.get("repeatTask") if written is not None else None
        if template is not None and factory is not None:
            self._search(template, TaskSpec, runs, line=factory.command_line(0))
        listed = written.get("tasks") if written is not None else None
        if listed is not None:
            body = _Body(listed, runs)
            for task in listed.entries():
                self._visit(task, TaskSpec, body)
            _report_without_effect(body)

    def _search(self, place: DocumentPlace, model: type[Spec], runs: _NodeOwner, line: str | None = None) -> None:
        body = _Body(place, runs)
        self._visit(place, model, body, line)
        _report_without_effect(body)

    def _visit(self, place: DocumentPlace, model: type[Spec], body: _Body, line: str | None = None) -> None:
        """Look at the watched properties of a mapping of ``model``; ``line`` is the text of a command line template."""
        if not isinstance(place.plain, dict):
            return
        if issubclass(model, PoolSpecification):
            body = replace(body, runs=_NodeOwner(nodes=_nodes_in(place.plain)))
        self._visit_values(place, model)
        if issubclass(model, TaskSpec | JobManagerTask):
            self._visit_slots(place, body.runs)
        for kind, name in _WITH_LINES.items():
            if issubclass(model, kind):
                self._visit_line(place, model, name, body.runs, line)
        watched = _watched(model)
        for name in place.plain:
            known = watched.get(name)
            inner = place.get(name) if known is not None else None
            if known is None or inner is None:
                continue
            if not has_effect(known):
                if not _says_nothing(inner.plain, known):
                    body.without_effect.append(inner)
                continue
            for value in _values(inner):
                self._visit(value, model_of(known) or Spec, body)

    def _visit_values(self, place: DocumentPlace, model: type[Spec]) -> None:
        """Look at the models of which some values are worth a warning."""
        if issubclass(model, ImageReference):
            self._visit_image(place)
        if issubclass(model, PoolInfo) and (pool := place.get("poolId")) is not None:
            self._asked.append(pool)
        if issubclass(model, PoolSpecification) and (size := place.get("vmSize")) is not None:
            self._visit_size(size)
            self._visit_targets(place)
        if issubclass(model, ResourceFile) and not self._has_storage_account:
            self._visit_resource_file(place)

    def _visit_resource_file(self, place: DocumentPlace) -> None:
        container = place.get("autoStorageContainerName")
        if container is not None:
            container.warn("the account has no storage account for this container: name it as account.storageAccount")

    def _visit_size(self, place: DocumentPlace) -> None:
        """Warn of a size whose name is possible but not listed: the service may not have it (VM-2)."""
        name = place.plain
        if not isinstance(name, str) or is_listed(name) or vm_size(name) is None or _is_returned(place):
            return
        near = nearest_sizes(name)
        hint = f"; the nearest of the listed sizes is {near[0]}" if near else ""
        place.warn(
            f"{name} is not one of the listed sizes: its cores, memory and price are derived from its name, and the"
            f" service may not have it{hint}"
        )

    def _visit_targets(self, place: DocumentPlace) -> None:
        """Warn of a pool that wants more cores than the account has for all pools together (ACC-6)."""
        size = vm_size(text_at(place.plain, "vmSize") or "")
        if self._quotas is None or size is None:
            return
        quotas = self._quotas.dedicated_cores, self._quotas.low_priority_cores
        for (kind, target, name), quota in zip(_TARGETS, quotas, strict=True):
            written = place.get(target)
            cores = written.plain * size.cores if written is not None and isinstance(written.plain, int) else 0
            if written is not None and cores > quota:
                written.warn(
                    f"these nodes have {cores:,} cores, but the account's quota of {kind} cores is {quota:,}: no"
                    f" more than {quota // size.cores:,} of them come (ACC-6). Write account: {{quotas: {{{name}:"
                    f" {cores}}}}}"
                )

    def _visit_image(self, place: DocumentPlace) -> None:
        """Warn of a marketplace image that the catalogue does not know, or whose support has ended (POOL-26)."""
        publisher, offer, sku = (text_at(place.plain, name) for name in ("publisher", "offer", "sku"))
        if publisher and offer and sku:
            reason = images.warning(publisher, offer, sku, self._start, exists=_is_returned(place))
            if reason is not None:
                place.warn(reason)

    def _visit_slots(self, place: DocumentPlace, runs: _NodeOwner) -> None:
        required = place.plain.get("requiredSlots") if isinstance(place.plain, dict) else None
        if not isinstance(required, int) or required <= 1:
            return
        alike = place.path[:-1], required, runs
        self._slots[alike] += 1
        if self._slots[alike] == 1 and (written := place.get("requiredSlots")) is not None:
            self._first_slots[alike] = written

    def _visit_line(
        self, place: DocumentPlace, model: type[Spec], name: str, runs: _NodeOwner, line: str | None
    ) -> None:
        given = text_at(place.plain, name)
        is_simulated = isinstance(place.plain, dict) and place.plain.get("simulate")
        is_job_task = issubclass(model, TaskSpec | JobManagerTask)
        if given is None or is_simulated or (is_job_task and self._tasks_are_simulated):
            return
        text = line or given
        if not _SHELL.search(text):  # a program with arguments can always be read
            return
        written, nodes = place.get(name), self._nodes(runs)
        assert written is not None
        if nodes is None:
            self._lines.append((written, text, runs))
        else:
            _check_line(written, text, nodes.os)


def _is_returned(place: DocumentPlace) -> bool:
    """Return whether a place belongs to a body that the service has returned, so that it knows the values."""
    return any(place.path[:length] in place.document.returned for length in range(len(place.path)))


def _report_without_effect(body: _Body) -> None:
    """Warn of all properties of a body that change nothing, at the line of the first."""
    if not body.without_effect:
        return
    names = [format_path(_relative(place.path, body.place.path)) for place in body.without_effect]
    verb = "is accepted and changes" if len(names) == 1 else "are accepted and change"
    first = body.without_effect[0]
    body.place.document.warn(
        f"{_listed(names)} {verb} nothing in a simulation", first.key_position or first.tree.position, body.place.path
    )


def _relative(path: Path, base: Path) -> Path:
    """Return a path from where it leaves another: parts of a resource stand beside its ``properties`` too."""
    common = next((index for index, part in enumerate(base) if path[index] != part), len(base))
    return path[common:]


def _listed(names: list[str]) -> str:
    return ", ".join(names[:-1]) + " and " + names[-1] if len(names) > 1 else names[0]


def _values(place: DocumentPlace) -> Iterable[DocumentPlace]:
    """Return the mappings of a property: itself, or those in its list."""
    return place.entries() if isinstance(place.tree.value, list) else (place,)


@cache
def _watched(model: type[Spec]) -> dict[str, FieldInfo]:
    """Return the properties of a model that have no effect, or in which there is something to look at."""
    return {name: field for name, field in fields_of(model).items() if not has_effect(field) or _leads_on(field, ())}


def _leads_on(field: FieldInfo, above: tuple[type[Spec], ...]) -> bool:
    model = model_of(field)
    if model is None or model in above:
        return False
    if issubclass(model, ImageReference | PoolInfo | ResourceFile | CommandLine | MultiInstanceSettings):
        return True
    return any(not has_effect(inner) or _leads_on(inner, (*above, model)) for inner in model.model_fields.values())


def _says_nothing(value: Plain, field: FieldInfo) -> bool:
    """Return whether a value is the default, so that leaving it out would say as much."""
    if value in (False, [], {}):
        return True
    if isinstance(value, str) and isinstance(field.default, str):
        return value.lower() == field.default.lower()
    model = model_of(field)
    if model is None or not isinstance(value, dict):
        return False
    try:
        return model.from_wire(value) == model.from_wire({})
    except ValidationError:
        return False


def _check_line(place: DocumentPlace, text: str, os: OsFamily) -> None:
    """Warn of a command line that the small shell cannot read, or that every shell refuses."""
    mistake = syntax_error(text, os)
    reason = unreadable(text, os) if mistake is None else None
    if mistake is not None:
        place.warn(f"the shell refuses this command line, {mistake}: its process ends with exit code 2")
    elif reason is not None:
        place.warn(
            f"the small shell cannot read this command line: {reason}. It counts as a program that takes its default"
            " time and succeeds; say with 'simulate' what it does"
        )


def _nodes_in(body: Plain) -> _Nodes:
    """Return what a pool's body tells of its nodes, as written."""
    cloud_service = isinstance(body, dict) and body.get("cloudServiceConfiguration") is not None
    agent = text_at(body, "virtualMachineConfiguration", "nodeAgentSKUId")
    slots = body.get("taskSlotsPerNode", body.get("maxTasksPerNode")) if isinstance(body, dict) else None
    os = os_of(node_agent_sku_id=agent, cloud_service=cloud_service)
    return _Nodes(os, slots if isinstance(slots, int) else 1)


def _runs_of(specification: Plain) -> _NodeOwner:
    """Return the nodes on which the tasks of a job with this body run."""
    info = specification.get("poolInfo") if isinstance(specification, dict) else None
    automatic = info.get("autoPoolSpecification") if isinstance(info, dict) else None
    pool = automatic.get("pool") if isinstance(automatic, dict) else None
    return _NodeOwner(text_at(info, "poolId"), nodes=_nodes_in(pool) if isinstance(pool, dict) else None)
