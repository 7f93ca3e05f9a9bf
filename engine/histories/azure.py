"""A history of Azure Batch as a scenario: the same pools, jobs and tasks, which do what they really did.

The account of the scenario has what pools, jobs and tasks ask for. What a scenario cannot have is taken out of the
bodies, and named.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from itertools import chain
from typing import Any

from engine.base import runtime
from engine.base.errors import TRAPS, Problem, ScenarioError, Severity
from engine.base.values import format_duration, format_utc, value_at
from engine.histories.files import Imported, PoolShape, batch_id, batch_ids, scenario_lines, without_mistakes
from engine.histories.history import History, Kind, Record, subject
from engine.histories.jobs import HOOKS, JobStory, created_ms, job_story
from engine.histories.nodes import NodeLife, Untold, find_readiness, lives, most_at_once, pool_of
from engine.histories.pools import TARGETS, VM_SIZE, Event, Occupancy, PoolStory, count, fitted, pool_story
from engine.histories.reading import Source
from engine.scenario.document import Path, format_path
from engine.scenario.load import load
from engine.scenario.record import document_text
from engine.scenario.text import BYTE_LIMIT
from engine.specs.account import Quotas
from engine.specs.catalogue import current_size, vm_size
from engine.views.diagnosis.model import some

PLAIN = frozenset({"id", "commandLine", "simulate", "dependsOn", "displayName", "requiredSlots"})
"""The properties of a task that ask for nothing and may have any value."""


def account_of(
    pools: Sequence[PoolStory], jobs: Sequence[Mapping[str, Any]], stories: Sequence[JobStory]
) -> dict[str, Any]:
    """Return the account: quotas, applications and certificates that pools, jobs and tasks ask for."""
    account: dict[str, Any] = {}
    needed = {"dedicatedCores": 0, "lowPriorityCores": 0}
    for pool in pools:
        size = vm_size(str(pool.body.get("vmSize")))
        cores = size.cores if size is not None else 2
        for name, (target, dedicated) in zip(needed, TARGETS.items(), strict=True):
            needed[name] += cores * max(count(pool.nodes, dedicated=dedicated), int(pool.body.get(target) or 0))
    needed |= {"pools": len(pools), "activeJobsAndSchedules": len(jobs)}
    enough = Quotas().wire()
    more = {name: count for name, count in needed.items() if count > enough[name]}
    if more:
        account["quotas"] = more
    lists = chain.from_iterable(story.task_lists for story in stories)
    tasks = [task for task in chain.from_iterable(lists) if not PLAIN.issuperset(task)]
    bodies = [{name: value for name, value in job.items() if name != "tasks"} for job in jobs]
    everything = ([pool.body for pool in pools], bodies, tasks)
    applications: dict[str, set[str]] = {}
    for reference in _found("applicationPackageReferences", everything):
        applications.setdefault(str(reference.get("applicationId")), set()).add(str(reference.get("version") or "1"))
    if applications:
        account["applications"] = [
            {"id": name, "versions": sorted(versions), "defaultVersion": max(versions)}
            for name, versions in sorted(applications.items())
        ]
    thumbprints = {str(reference.get("thumbprint")) for reference in _found("certificateReferences", everything)}
    if thumbprints:
        account["certificates"] = [{"thumbprint": thumbprint} for thumbprint in sorted(thumbprints)]
    if any(True for _ in _found("autoStorageContainerName", everything)):
        account["storageAccount"] = "history"
    return account


def _found(name: str, value: object) -> Iterator[Mapping[str, Any]]:
    """Yield the mappings in each list of this name, however deep; for any other value an empty one."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if key == name:
                yield from (each for each in inner) if isinstance(inner, list) else ({},)
            elif key != "simulate":
                yield from _found(name, inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _found(name, inner)


_OWN = ("id", "commandLine", "simulate")  # the properties of a task in which others that are alike differ
_NEEDED = frozenset({"id", "commandLine", "poolInfo", "vmSize", "pools", "jobs", "tasks", "simulate", "addTasks"})


def _problems(document: dict[str, Any]) -> list[Problem]:
    """Return what ``check --strict`` does not accept. A trap stays, since it is what happened, and so do commands."""
    try:
        warnings: Iterable[Problem] = load("the imported scenario", text=document_text(document)).warnings
        mistakes: list[Problem] = []
    except ScenarioError as error:
        warnings, mistakes = error.warnings, error.problems
    of_bodies = (each for each in warnings if not each.path.startswith("timeline") or "].addTasks.tasks[" in each.path)
    return [*mistakes, *(warning for warning in of_bodies if warning.code not in TRAPS)]


def _stand_in(name: str, value: object) -> str | None:
    """Return what takes the place of a size that a scenario cannot have: a similar one, then the usual ones."""
    if name != "vmSize" or value == _CLOUD_SERVICE_SIZE:
        return None
    similar = None if value == VM_SIZE else current_size(str(value))
    return similar if similar not in (None, value) else VM_SIZE if value != VM_SIZE else _CLOUD_SERVICE_SIZE


def _named(document: Mapping[str, Any], path: Path) -> str:
    """Return the path of a value from what has it on, and the id of that: a pool, a job or a task."""
    job_id, length = None, 2
    if path[2:4] == ("addTasks", "tasks"):
        job_id, length = value_at(document, *path[:3], "jobId"), 5
    elif path[0] == "jobs" and path[2] == "tasks":
        job_id, length = value_at(document, *path[:2], "id"), 4
    own_id = value_at(document, *path[:length], "id")
    kind = Kind.TASK if length > 2 else Kind.POOL if path[0] == "pools" else Kind.JOB
    return f"{format_path(path[length:])} of {subject(kind, own_id, job_id)}" if own_id else format_path(path)


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_CLOUD_SERVICE_SIZE = "small"


def imported(history: History, shape: PoolShape | None = None) -> Imported:
    """Return the scenario of a history.

    Times count from the creation of the first job. ``shape`` overrides the nodes and task slots of all pools.

    Raises:
        ScenarioError: There is no job, or no time of any.
    """
    begins = {job.id: created_ms(job, history.tasks.get(job.id, ())) for job in history.jobs}
    known = [moment for moment in begins.values() if moment is not None]
    if not known:
        first = history.jobs[0].source if history.jobs else Source(history.files)
        untold, nothing = "nothing tells when the jobs were created", "there is no job and no task in the files"
        what = untold if history.jobs else nothing
        mistake = first.problem(f"{what}: a scenario begins with the first job")
        raise ScenarioError([mistake], list(history.warnings))
    jobs = sorted(history.jobs, key=lambda job: begins[job.id] or 0)
    with runtime.gc_paused():
        return _Importer(history._replace(jobs=tuple(jobs)), shape or PoolShape(), min(known)).imported()


class _Importer:
    """Makes the scenario of one history."""

    def __init__(self, history: History, shape: PoolShape, zero_ms: int) -> None:
        self._history = history
        self._shape = shape
        self._zero_ms = zero_ms
        self._sentences: list[str] = []
        self._untold = Untold()
        self._doubts: list[Problem] = []  # about what a replay may do otherwise
        self._lives = lives(history)
        find_readiness(history, self._lives)
        self._ids = batch_ids(job.id for job in history.jobs)

    def imported(self) -> Imported:
        """Return the scenario."""
        bodies, automatic = self._pool_bodies()
        stories = {key: self._pool_story(body) for key, body in (bodies | automatic).items()}
        jobs = self._job_stories(bodies | automatic)
        self._cap_slots(jobs, stories)
        pools = [stories[key] for key in bodies]
        document = self._document(pools, jobs, stories)
        every = (event for part in (pools, jobs) for story in part for event in story.events)
        events = sorted(every, key=lambda event: event.at_ms)
        if events:
            document["timeline"] = [self._entry(event) for event in events]
        self._accept(document)
        imported = Imported(document, self._assumptions(document), (*self._history.warnings, *self._doubts))
        self._check_size(imported)
        return imported

    def _check_size(self, imported: Imported) -> None:
        """Raise ScenarioError for a scenario that cannot be read again."""
        size = sum(len(line.encode()) + 1 for line in scenario_lines(imported))
        if size > BYTE_LIMIT:
            message = f"makes a scenario of {size >> 20:,} MB, of which at most {BYTE_LIMIT >> 20} can be read again"
            first = Source(self._history.jobs[0].source.file)
            raise ScenarioError([first.problem(f"{message}: import a part of the jobs")])

    # --- pools

    def _pool_bodies(self) -> tuple[dict[str, dict[str, Any]], dict[str, dict[str, Any]]]:
        """Return the bodies of pools by their ids in lower case, those of auto pools apart."""
        bodies = {pool.id.casefold(): dict(pool.body) for pool in self._history.pools}
        automatic: dict[str, dict[str, Any]] = {}
        for job in self._history.jobs:
            settings = job.body.get("poolInfo", {}).get("autoPoolSpecification")
            pool_id = _pool_id(job)
            key = pool_id.casefold()
            if isinstance(settings, dict):
                pool = settings.get("pool")
                made = bodies.get(key, {}).get("creationTime", job.body.get("creationTime"))
                body = (pool if isinstance(pool, dict) else {}) | {"id": pool_id, "creationTime": made}
                if _is_of_job(settings):
                    automatic[key] = body
                    bodies.pop(key, None)
                else:
                    bodies.setdefault(key, body)
            elif key not in bodies and key not in automatic:
                bodies[key] = self._assumed_pool(pool_id, self._lives.get(key, []))
        return bodies, automatic

    def _assumed_pool(self, pool_id: str, nodes: Sequence[NodeLife]) -> dict[str, Any]:
        """Return the body of a pool that the history does not contain."""
        listed = self._history.nodes.get(pool_id, ())
        size = next((str(node.body["vmSize"]) for node in listed if node.body.get("vmSize")), VM_SIZE)
        count = max(1, len(nodes))
        of_pool = (self._history.tasks.get(job.id, ()) for job in self._history.jobs if _pool_id(job) == pool_id)
        gangs = any("multiInstanceSettings" in task.body for task in chain.from_iterable(of_pool))
        slots = 1 if gangs else most_at_once(nodes)
        self._sentences.append(
            f"Assumed: the pool {pool_id}, of which there is no body, has {some(count, 'node')} of size {size} with "
            f"{some(slots, 'task slot')} each."
        )
        target = 0 if nodes else count  # nodes that are known come when they came
        body = {"id": pool_id, "vmSize": size, "targetDedicatedNodes": target, "taskSlotsPerNode": slots}
        return body | ({"enableInterNodeCommunication": True} if gangs else {})

    def _pool_story(self, body: dict[str, Any]) -> PoolStory:
        nodes = self._lives.get(str(body["id"]).casefold(), [])
        story = pool_story(body, nodes, self._zero_ms, self._untold)
        if body.get("enableAutoScale") is True and "enableAutoScale" not in story.body:
            self._doubt(
                Kind.POOL,
                (pool for pool in self._history.pools if pool.body["id"] == story.pool_id),
                "the pool scaled itself. Here its nodes come and go as they did, also under a task that runs on "
                "another node or longer than it did",
            )
            formula = str(body.get("autoScaleFormula", "")).strip()
            self._sentences.append(
                f"The pool {story.pool_id} scaled itself; here its nodes come and go as they did. To let it scale "
                f"itself again, give it enableAutoScale, and as autoScaleFormula:\n{formula}"
            )
        if self._shape.slots is not None:
            story.body["taskSlotsPerNode"] = self._shape.slots
        if self._shape.nodes is not None and "enableAutoScale" not in story.body:
            story.body["targetDedicatedNodes"] = self._shape.nodes
            story.body.pop("targetLowPriorityNodes", None)
            story = story._replace(events=())
        return story

    def _doubt(self, kind: Kind, records: Iterable[Record], message: str) -> None:
        """Warn, at the first of some objects, that a replay may differ from what happened."""
        found = list(records)
        if found:
            more = f" and {len(found) - 1:,} more" if len(found) > 1 else ""
            problem = found[0].source.problem(f"{message} ({subject(kind, found[0].id)}{more})")
            self._doubts.append(problem._replace(severity=Severity.WARNING))

    # --- jobs

    def _job_stories(self, bodies: Mapping[str, Mapping[str, Any]]) -> list[JobStory]:
        history = self._history
        slots = {key: int(body.get("taskSlotsPerNode") or 1) for key, body in bodies.items()}
        occupancy = Occupancy(history, self._lives, slots)
        found: list[JobStory] = []
        managed: list[Record] = []
        for job in history.jobs:
            nodes = self._lives.get(_pool_id(job).casefold(), [])
            indexes = {life.node_id: index for index, life in enumerate(nodes)}
            tasks, instances = history.tasks.get(job.id, ()), history.instances.get(job.id, ())
            found.append(job_story(job, tasks, instances, indexes, occupancy, self._untold))
            if "jobManagerTask" in job.body and len(found[-1].task_lists) > 1:
                managed.append(job)
        self._doubt(
            Kind.JOB,
            managed,
            "the job manager may have added tasks. Here they are added when they were, and it runs for as long as it "
            "did, whatever becomes of them",
        )
        return sorted(found, key=lambda story: story.created_ms)

    def _cap_slots(self, jobs: Sequence[JobStory], pools: Mapping[str, PoolStory]) -> None:
        """Let no task require more slots than a node of its pool has: it would never run in a replay."""
        for story in jobs:
            slots = int(pools[_pool_id(story.job).casefold()].body.get("taskSlotsPerNode") or 1)
            tasks = list(chain.from_iterable(story.task_lists))
            tasks += [story.body["jobManagerTask"]] if "jobManagerTask" in story.body else []
            wide = [task for task in tasks if int(task.get("requiredSlots") or 1) > slots]
            for task in wide:
                task["requiredSlots"] = slots
            if wide:
                self._doubt(
                    Kind.JOB,
                    [story.job],
                    f"{some(len(wide), 'task')} of the job, such as {wide[0]['id']}, required more slots than a node "
                    f"of the pool has. Here they run with all of its {some(slots, 'slot')}, even if they never ran",
                )

    def _job_body(self, story: JobStory, pools: Mapping[str, PoolStory]) -> dict[str, Any]:
        """Return an entry of ``jobs``: with a valid id, its pool, and when it is added."""
        body, job = dict(story.body), story.job
        tasks = body.pop("tasks")
        entry: dict[str, Any] = {"id": self._ids[job.id]}
        if story.created_ms > self._zero_ms:
            entry["at"] = format_duration(story.created_ms - self._zero_ms)
        entry |= {name: value for name, value in body.items() if name != "id"}
        pool_info = dict(entry.get("poolInfo", {}))
        settings = pool_info.get("autoPoolSpecification")
        if settings is not None and not _is_of_job(settings):
            pool_info = {"poolId": _pool_id(job)}
        elif settings is not None:
            own = pools[_pool_id(job).casefold()].body
            pool = {name: value for name, value in own.items() if name not in ("id", "at")}
            pool_info["autoPoolSpecification"] = settings | {"pool": pool}
        elif not pool_info.get("poolId"):
            pool_info["poolId"] = _pool_id(job)
        entry["poolInfo"] = pool_info
        return entry | {"tasks": tasks}

    # --- the document

    def _document(
        self, pools: Sequence[PoolStory], jobs: Sequence[JobStory], every: Mapping[str, PoolStory]
    ) -> dict[str, Any]:
        stories = list(every.values())
        ids = list(self._ids.values())
        document: dict[str, Any] = {
            "scenario": ids[0],
            "description": f"What {'the job' if len(ids) == 1 else f'{len(ids):,} jobs'} really did.",
            "startTime": format_utc(_EPOCH, self._zero_ms),
        }
        job_bodies = [self._job_body(story, every) for story in jobs]
        account = account_of(stories, job_bodies, jobs)
        if account:
            document["account"] = account
        steps = fitted([story.steps for story in stories])
        if steps:
            document["simulate"] = {"nodes": steps}
        rebooted = sum(story.rebooted for story in stories)
        if steps and rebooted:
            self._sentences.append(
                f"Assumed: {some(rebooted, 'node')} rebooted, after work, or because the last boot was much later than "
                "that of others. How long nodes take to start (simulate.nodes) is what the other nodes took."
            )
        document["pools"] = [story.body for story in pools]
        document["jobs"] = job_bodies
        return document

    def _entry(self, event: Event) -> dict[str, Any]:
        body = event.body
        if "jobId" in body:
            body = body | {"jobId": self._ids[body["jobId"]]}
        return {"at": format_duration(max(0, event.at_ms - self._zero_ms)), event.command: body}

    def _accept(self, document: dict[str, Any]) -> None:
        """Remove what a scenario cannot have. One of several tasks that are alike is checked for all of them."""
        entries: list[dict[str, Any]] = document.get("timeline", [])
        named = {entry["terminateTask"]["taskId"].casefold() for entry in entries if "terminateTask" in entry}
        groups: dict[tuple[str, str], list[dict[str, Any]]] = {}

        def others(job_id: str, tasks: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
            """Return the tasks of which there has been none like them before."""
            found = []
            for task in tasks:
                rest = {name: value for name, value in task.items() if name not in _OWN}
                own = task["id"].casefold()
                alike = groups.setdefault((job_id, f"{own if own in named else ''} {rest}"), [])
                alike.append(task)
                found += [task] if alike[0] is task else []
            return found

        jobs = []
        for job in document["jobs"]:
            named |= {str(job[hook].get("id")).casefold() for hook in HOOKS if hook in job}
            jobs.append(job | {"tasks": others(job["id"], job["tasks"])})
        kept = []
        for entry in entries:
            added = entry.get("addTasks")
            tasks = [] if added is None else others(added["jobId"], added["tasks"])
            if tasks or added is None:
                kept.append(entry if added is None else entry | {"addTasks": added | {"tasks": tasks}})
        trial = document | {"jobs": jobs, "timeline": kept}
        words: dict[str, None] = {}
        try:
            for _, path, instead in without_mistakes(trial, partial(_problems, trial), _NEEDED, _stand_in):
                done = "left out" if instead is None else f"replaced by {instead}"
                words[f"A scenario cannot have it, so it is {done}: {_named(trial, path)}."] = None
        except ScenarioError as error:
            first = error.problems[0]
            about = f"{first.path}: {first.message}" if first.path else first.message
            mistake = Source(self._history.jobs[0].source.file).problem(f"cannot become a scenario: {about}")
            raise ScenarioError([mistake], list(self._history.warnings)) from None
        self._sentences += words
        document["jobs"] = [body | {"tasks": job["tasks"]} for body, job in zip(jobs, document["jobs"], strict=True)]
        for tried, *alike in groups.values():
            for task in alike:
                own = {name: task[name] for name in _OWN}
                task.clear()
                task.update(tried | own)

    def _assumptions(self, document: Mapping[str, Any]) -> tuple[str, ...]:
        sentences = [
            f"Made of a history: times count from the creation of the first job, {document['startTime']}.",
            "A process takes a second to start (TIME-10), which is left out of its duration.",
        ]
        concluded = sum(life.is_ready_concluded for nodes in self._lives.values() for life in nodes)
        if concluded:
            sentences.append(
                f"Assumed, and may not hold: {some(concluded, 'node')}, of which nothing tells when they were ready, "
                "took as long as others. A task may get another node in a replay."
            )
        retried = any("attempts" in task["simulate"] for job in document["jobs"] for task in job["tasks"])
        if retried:
            sentences.append(
                "Assumed: failed attempts had exit code 1 and the time between the last task on the node and the last "
                "attempt, which is the only one that the service tells of."
            )
        changed = [f"{old} is {new}" for old, new in self._ids.items() if old != new]
        if changed:
            sentences.append(f"Ids that Batch does not allow for new jobs are changed: {', '.join(changed)}.")
        if self._history.schedules:
            sentences.append("Job schedules are left out: each of their jobs is a job of its own.")
        return (*sentences, *self._untold.sentences(), *self._sentences)


def _is_of_job(settings: Mapping[str, Any]) -> bool:
    """Return whether an auto pool lives as long as its job: one of a job schedule's is there for several jobs."""
    return str(settings.get("poolLifetimeOption")).lower() == "job"


def _pool_id(job: Record) -> str:
    """Return the id of a job's pool, which a history need not tell."""
    own = "autoPoolSpecification" in job.body.get("poolInfo", {})
    return pool_of(job.body) or (batch_id(f"{job.id}-pool") if own else "pool")
