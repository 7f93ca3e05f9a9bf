"""Warnings: content that a scenario may have, but that its author has probably not meant.

The collector is given what is read. It warns of command lines that the small shell cannot read and that have no
``simulate``, or that every shell refuses; of tasks that require more slots than a node of their pool has (SCHED-10); of
properties that change nothing in a simulation, and of values that the service may not know. Warnings about cores are in
``quota_warnings``.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import date, timedelta
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from pydantic import ValidationError

from engine.autoscale import ignored_slots, unknown_names
from engine.base.terms import OnAllTasksComplete, OsFamily
from engine.base.values import DAY_MS, LONGEST_RUN_MS, text_at
from engine.scenario.bodies import fields_of, model_of
from engine.scenario.conditions import pools_at_quota
from engine.scenario.document import DocumentPlace, format_path
from engine.scenario.limit_warnings import CoreQuotas, Process, ProcessLimits
from engine.scenario.names import DeclaredIds, NodeOwner, TaskNeeds, nodes_in, owner_in
from engine.scenario.timeline import is_ordinary
from engine.shell.simulated import mistakes_in
from engine.shell.small_shell import needs_a_look, system_of
from engine.specs import images
from engine.specs.base import Spec, has_effect
from engine.specs.bodies import (
    JobManagerTask,
    JobScheduleSpec,
    JobSpec,
    MultiInstanceSettings,
    PoolInfo,
    PoolSpec,
    PoolSpecification,
    TaskSpec,
)
from engine.specs.catalogue import has_list_price, is_listed, nearest_sizes, vm_size
from engine.specs.command import OnJob, OnPool
from engine.specs.commands import COMMANDS, AddTasks, DeletePool, DisablePoolAutoScale, EvaluatePoolAutoScale
from engine.specs.common import CommandLine, ResourceFile
from engine.specs.conditions import ConditionSubject, SubjectKind
from engine.specs.machine import ImageReference

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from pydantic.fields import FieldInfo

    from engine.base.terms import Plain
    from engine.scenario.conditions import Asked
    from engine.scenario.document import Path
    from engine.scenario.factory import TaskFactory
    from engine.scenario.locations import Factor
    from engine.scenario.model import WorldSimulation
    from engine.specs.account import Account
    from engine.specs.prices import PriceList


_RETIRED_BY = date(2026, 1, 5)  # a size that was retired by then is told even in a scenario of an earlier year
# The bodies of what commands create, and what an auto pool in them belongs to.
_CREATED: dict[str, tuple[type[Spec], str]] = {
    "createPool": (PoolSpec, ""),
    "createJob": (JobSpec, "job"),
    "createJobSchedule": (JobScheduleSpec, "job schedule"),
}
_NEEDS = frozenset({"dependsOn", "multiInstanceSettings", "requiredSlots"})
_MISSING = {
    "poolId": "unknown-pool",
    "node": "unknown-node",
    "jobId": "unknown-job",
    "taskId": "unknown-task",
    "jobScheduleId": "unknown-schedule",
}


def _check_line(body: DocumentPlace, name: str, text: str, os: OsFamily, *, is_simulated: bool) -> None:
    """Warn of a command line that cannot be what its author means, or that the small shell cannot read.

    A ``simulate`` says what a line does that cannot be read, and hides what is wrong with others. The text of the body
    is looked into only for a warning, since that costs time.
    """
    found = mistakes_in(text, os, is_simulated=is_simulated)
    if found and (place := body.get(name)) is not None:
        for code, reason in found:
            place.warn(f"{reason}; 'simulate' hides this here" if is_simulated else reason, code)


class _Body(NamedTuple):
    """One body while it is searched, with the properties found in it that change nothing."""

    place: DocumentPlace
    owner: NodeOwner
    without_effect: list[DocumentPlace]


def _check_size(place: DocumentPlace, first: date, last: date, prices: PriceList | None) -> None:
    """Warn of a size that the table lacks, or has no price of, and of one that is retired (VM-2, VM-6).

    Args:
        place: The name of the size.
        first: The day on which the run begins, or a later one by which retired sizes are known.
        last: The latest day of the run.
        prices: What counts in place of list prices.
    """
    name = str(place.plain)
    size = vm_size(name)
    if size is None or _is_returned(place):
        return
    if not is_listed(name):
        near = nearest_sizes(name)
        hint = f"; the nearest of the listed sizes is {near[0]}" if near else ""
        place.warn(
            f"{name} is not one of the listed sizes: its cores, memory and price are derived from its name, and the"
            f" service may not have it{hint}",
            "size-unknown",
        )
    elif not has_list_price(name) and not (prices is not None and prices.has(name)):
        basis = "its price is derived from its name" if size.has_price else "it counts as free"
        place.warn(f"{name} has no list price: {basis}", "price-missing")
    if size.retires is not None and size.retires <= last:
        said = "was retired" if size.retires <= first else "is retired within the run,"
        instead = f"the service recommends {size.replacement} instead" if size.replacement else "it has no replacement"
        place.warn(f"{name} {said} on {size.retires}: {instead}", "size-retired")


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
        f"{_listed(names)} {verb} nothing in a simulation",
        first.key_position or first.tree.position,
        body.place.path,
        "no-effect",
    )


def _relative(path: Path, base: Path) -> Path:
    """Return a path from where it leaves another: parts of a resource stand beside its ``properties`` too."""
    common = next((index for index, part in enumerate(base) if path[index] != part), len(base))
    return path[common:]


def _listed(names: list[str]) -> str:
    return ", ".join(names[:-1]) + " and " + names[-1] if len(names) > 1 else names[0]


def _values(place: DocumentPlace) -> Iterable[DocumentPlace]:
    """Return the mappings of a property: itself, or those in its list."""
    return place.entries() if isinstance(place.plain, list) else (place,)


@cache
def _line_of(model: type[Spec]) -> str:
    """Return the property of a model that is a command line with a `simulate` beside it; empty if there is none."""
    if issubclass(model, CommandLine):
        return "commandLine"
    return "coordinationCommandLine" if issubclass(model, MultiInstanceSettings) else ""


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
    if model is not None and isinstance(value, dict):
        with suppress(ValidationError):
            return model.from_wire(value) == model.from_wire({})
    return False


class WarningCollector:
    """A collector of the warnings about one document."""

    def __init__(self, names: DeclaredIds, start: datetime, account: Account, simulate: WorldSimulation) -> None:
        """Create it for a document whose ``names`` are being read."""
        self._names = names
        self._start = start
        self._has_storage_account = account.storage_account is not None
        self._tasks_are_simulated = bool(simulate.tasks.model_fields_set)  # a default speaks for all tasks of jobs
        self._quotas = CoreQuotas(account.quotas, has_subnets=bool(simulate.network))
        self._limits = ProcessLimits(start, simulate, names)
        self._asked: list[tuple[DocumentPlace, ConditionSubject, int | None]] = []  # what commands and jobs name
        self._named: dict[str, DocumentPlace] = {}  # jobs in long lists of additions
        self._kinds: set[tuple[str, str, bool]] = set()  # of tasks in such lists
        self._ending: list[tuple[DocumentPlace, str]] = []  # jobs that end with their last task
        self._formulas: list[tuple[DocumentPlace, NodeOwner]] = []
        self._stopped: set[str] = set()  # folded ids of pools whose formula something ends
        self._scaled: dict[str, DocumentPlace] = {}  # the first formula that a pool keeps, by its folded id
        self._has_jobs = False
        self._needs = TaskNeeds(names)
        self._at_ms: int | None = None  # of the command that is searched
        self._schedule: Plain = None
        self.sizes: list[DocumentPlace] = []  # the names of all VM sizes
        # Command lines on nodes that are not known yet: body, property, text, and whether the outcome is simulated.
        self._waiting: list[tuple[DocumentPlace, str, str, NodeOwner, bool]] = []

    def command(
        self, name: str, place: DocumentPlace, factory: TaskFactory | None, at_ms: int | None, *, is_refused: bool
    ) -> None:
        """Search the body of a command that is given at a moment, or at an unknown one if ``at_ms`` is None.

        One that is expected to be refused changes nothing, and may name a pool that does not exist.
        """
        model = COMMANDS.get(name)
        self._at_ms = at_ms
        self._schedule = place.plain.get("schedule") if isinstance(place.plain, dict) else None
        if not is_refused:
            self._limits.command(name, place.plain, at_ms)
        if name in _CREATED:
            self._creation(name, place, factory, at_ms, is_refused=is_refused)
        elif model is not None:
            owner = NodeOwner(text_at(place.plain, "poolId"), text_at(place.plain, "jobId"))
            if not is_refused:
                self._quotas.command(name, place, at_ms)
                self._note_formula(place, owner, is_kept=not issubclass(model, EvaluatePoolAutoScale))
                if issubclass(model, DeletePool | DisablePoolAutoScale):
                    self._stopped.add((owner.pool_id or "").casefold())
            if issubclass(model, AddTasks):
                self._search_tasks(place, owner, factory)
            elif issubclass(model, OnPool | OnJob) or name == "updateJobSchedule":
                self._search(place, model, owner)

    def name(self, place: DocumentPlace, at_ms: int | None = None) -> None:
        """Note the things that a command names, which something has to create before its time, if that is known."""
        ids = [text_at(place.plain, key) for key in ("poolId", "jobId", "taskId", "jobScheduleId")]
        index = place.plain.get("node") if isinstance(place.plain, dict) else None
        subject = ConditionSubject(SubjectKind.JOB, ids[0], None, index if isinstance(index, int) else None, *ids[1:])
        self._asked.append((place, subject, at_ms))

    def add_line(self, body: Mapping[str, Plain], place: DocumentPlace) -> None:
        """Note what a line of a long list adds: of tasks that need the same of their pool the first one."""
        job_id, tasks = str(body["jobId"]), body["tasks"]
        self._named.setdefault(job_id, place)
        for index, task in enumerate(tasks if isinstance(tasks, list) else ()):
            if not isinstance(task, dict) or not task.keys() & _NEEDS:
                continue
            kind = job_id, str(task.get("requiredSlots")), "multiInstanceSettings" in task
            listed = place.at("addTasks", "tasks")
            if listed is not None and ("dependsOn" in task or kind not in self._kinds):
                self._kinds.add(kind)
                self._needs.take(next(islice(listed.entries(), index, None)), NodeOwner(job_id=job_id))

    def _note_formula(self, place: DocumentPlace, owner: NodeOwner, *, is_kept: bool = True) -> None:
        formula = place.get("autoScaleFormula")
        if formula is not None and isinstance(formula.plain, str):
            self._formulas.append((formula, owner))
            if is_kept and owner.pool_id is not None:
                self._scaled.setdefault(owner.pool_id.casefold(), formula)

    def _creation(
        self, name: str, place: DocumentPlace, factory: TaskFactory | None, at_ms: int | None, *, is_refused: bool
    ) -> None:
        """Search the body that creates a pool, a job with its tasks, or a job schedule."""
        model, kind = _CREATED[name]
        self._has_jobs |= bool(kind)
        own_id = text_at(place.plain, "id")
        specification = place.get("jobSpecification") if name == "createJobSchedule" else place
        owner = owner_in(specification.plain if specification is not None else None)
        auto = specification and specification.at("poolInfo", "autoPoolSpecification", "pool")
        pool = auto if kind else place
        if pool is not None and not is_refused:
            when_ms = None if name == "createJobSchedule" else at_ms
            self._quotas.create(pool, when_ms, f"{kind} {own_id}" if kind else "")
        if kind and not is_refused and own_id is not None and specification is not None:
            ends = specification.get("onAllTasksComplete")
            if ends is not None and str(ends.plain).lower() == OnAllTasksComplete.TERMINATE_JOB:
                self._ending.append((ends, own_id))
        owner = owner._replace(job_id=own_id) if kind else NodeOwner(own_id)
        self._search(place, model, owner)
        if name == "createJob":
            self._search_tasks(place, owner, factory)

    def finish(self, asked: Asked, factors: Iterable[Factor], until_ms: int | None, prices: PriceList | None) -> None:
        """Report what could be decided only now that the whole document has been read, with its end and prices.

        A shortage of cores that a condition asks for, or whose quota is a factor of the study, is meant.
        """
        self._check_named()
        self._limits.finish(until_ms)
        lasts = timedelta(milliseconds=LONGEST_RUN_MS if until_ms is None else until_ms)
        last = (self._start + lasts).date()
        for place in self.sizes:
            _check_size(place, max(self._start.date(), _RETIRED_BY), max(last, _RETIRED_BY), prices)
        for place, name, text, owner, is_simulated in self._waiting:
            nodes = self._names.nodes_of(owner)
            _check_line(place, name, text, nodes.os if nodes else system_of(text), is_simulated=is_simulated)
        self._check_formulas(self._needs.finish())
        if until_ms is None and self._has_jobs:
            self._check_endless()
        varied = {factor.steps[2] for factor in factors if factor.steps[:2] == ("account", "quotas")}
        self._quotas.finish(pools_at_quota(asked), varied)

    def _check_named(self) -> None:
        """Warn of things that commands name and nothing creates, and of jobs that end at once."""
        for place, subject, at_ms in self._asked:
            missing = self._names.missing(subject)
            if missing is None and at_ms is not None:
                missing = self._names.too_early(subject, at_ms)
            if missing is None and subject.pool_id is not None and subject.node_index is not None:
                missing = self._names.missing_node(subject.pool_id, subject.node_index)
            if missing is not None and (named := place.get(missing[0])) is not None:
                named.warn(missing[1], _MISSING[missing[0]])
        for job_id, place in self._named.items():
            missing = self._names.missing(ConditionSubject(SubjectKind.JOB, job_id=job_id))
            if missing is not None:
                place.warn(missing[1], _MISSING["jobId"])
        for place, job_id in self._ending:
            if not self._names.gets_tasks(job_id):
                place.warn(
                    "the job has no task and no job manager, and nothing adds one: it ends as soon as it is created"
                    " (JOB-7)",
                    "job-without-tasks",
                )

    def _check_formulas(self, more_slots: Mapping[str, int]) -> None:
        """Warn of formulas that fail or ignore slots; ``more_slots`` is what tasks of pools require beyond one each."""
        for place, owner in self._formulas:
            for mistake in unknown_names(str(place.plain)):
                place.warn(f"an evaluation fails that comes to {mistake} (AS-66)", "formula-unknown-name")
            slots = max((nodes.slots for nodes in self._names.all_nodes_of(owner)), default=1)
            count = self._names.task_count(owner.pool_id or "")
            needed = count + more_slots.get((owner.pool_id or "").casefold(), 0)
            reason = ignored_slots(str(place.plain), self._start, slots, count, needed)
            if reason is not None:
                place.warn(reason, "formula-ignores-slots")

    def _check_endless(self) -> None:
        """Warn once for each pool whose formula nothing ends, in a run that is to end when nothing more can happen."""
        endless = (place for pool_id, place in self._scaled.items() if pool_id not in self._stopped)
        for place in () if self._names.anything else endless:
            place.warn(
                "the formula goes on being evaluated when all work is done, so the run lasts"
                f" {LONGEST_RUN_MS // DAY_MS} days: set `until`, or delete the pool in the timeline",
                "endless-formula",
            )

    def _search_tasks(self, place: DocumentPlace, owner: NodeOwner, factory: TaskFactory | None) -> None:
        is_limited = owner.job_id in self._limits.of_jobs
        for name in ("tasks", "value"):
            listed = place.get(name)
            if listed is None or not isinstance(listed.plain, list):
                continue
            for index, task in enumerate(listed.plain):
                if not is_ordinary(task):
                    self._search(listed.find((index,))[0], TaskSpec, owner)
                elif is_limited or needs_a_look(str(task.get("commandLine"))) or not _NEEDS.isdisjoint(task):
                    found, _ = listed.find((index,))
                    self._needs.take(found, owner)
                    self._visit_line(found, TaskSpec, owner)
        template = place.at("taskFactory", "repeatTask")
        if template is not None and factory is not None:
            self._search(template, TaskSpec, owner, factory)
        listed = place.at("taskFactory", "tasks")
        if listed is not None:
            self._search(listed, TaskSpec, owner)

    # --- the walk through one body

    def _search(
        self, place: DocumentPlace, model: type[Spec], owner: NodeOwner, factory: TaskFactory | None = None
    ) -> None:
        """Search one body, or a list of them that counts as one, or the template of a ``factory``."""
        body = _Body(place, owner, [])
        for each in _values(place):
            self._visit(each, model, body, factory)
        _report_without_effect(body)

    def _visit(self, place: DocumentPlace, model: type[Spec], body: _Body, factory: TaskFactory | None = None) -> None:
        """Look at the watched properties of a mapping of ``model``."""
        if not isinstance(place.plain, dict):
            return
        if issubclass(model, PoolSpecification):
            body = body._replace(owner=body.owner._replace(nodes=nodes_in(place.plain)))
            self._note_formula(place, body.owner)
        self._visit_values(place, model)
        if issubclass(model, TaskSpec | JobManagerTask):
            self._needs.take(place, body.owner, factory)
        self._visit_line(place, model, body.owner, factory)
        watched = _watched(model)
        for name in filter(watched.__contains__, place.plain):
            known, inner = watched[name], place.get(name)
            if inner is None:
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
        if issubclass(model, PoolInfo):
            self.name(place)
        if issubclass(model, PoolSpecification) and (size := place.get("vmSize")) is not None:
            self.sizes.append(size)
        if issubclass(model, ResourceFile) and not self._has_storage_account:
            container = place.get("autoStorageContainerName")
            if container is not None:
                container.warn(
                    "the account has no storage account for this container: name it as account.storageAccount",
                    "no-storage-account",
                )

    def _visit_image(self, place: DocumentPlace) -> None:
        """Warn of a marketplace image that the catalogue does not know, or whose support has ended (POOL-26)."""
        publisher, offer, sku = (text_at(place.plain, name) for name in ("publisher", "offer", "sku"))
        if publisher and offer and sku:
            found = images.warning(publisher, offer, sku, self._start, exists=_is_returned(place))
            if found is not None:
                place.warn(*found)

    def _visit_line(
        self, place: DocumentPlace, model: type[Spec], owner: NodeOwner, factory: TaskFactory | None = None
    ) -> None:
        """Check the process of a body and its command line, of which a template makes the first one."""
        name = _line_of(model)
        body = place.plain
        given = body.get(name) if isinstance(body, dict) else None
        if not isinstance(body, dict) or not isinstance(given, str):
            return
        if body.get("execute") is True and (asked := place.get("execute")) is not None:
            asked.warn("the line is simulated: it runs with --execute alone", "not-executed")
        text = given if factory is None else factory.command_line(0)
        if issubclass(model, CommandLine):
            count = 1 if factory is None else factory.count
            self._limits.take(Process(place, model, text, owner, self._at_ms or 0, count, self._schedule))
        if not needs_a_look(text):
            return
        is_simulated = self._tasks_are_simulated and issubclass(model, TaskSpec | JobManagerTask)
        is_simulated = is_simulated or bool(body.get("simulate"))
        nodes = self._names.nodes_of(owner)
        if nodes is None:
            self._waiting.append((place, name, text, owner, is_simulated))
        else:
            _check_line(place, name, text, nodes.os, is_simulated=is_simulated)
