"""Concerns about work that makes no progress: tasks that can never run, processes that hang, and loops.

Processes hang that have run far longer than others of their kind. Loops are tasks that are interrupted again and again,
and nodes on which everything fails that succeeds elsewhere.
"""

from __future__ import annotations

from collections import Counter
from heapq import heappop, heappush
from itertools import compress
from string import digits
from typing import TYPE_CHECKING, NamedTuple

from engine.base.terms import InstanceState, PoolState, TaskResult, TaskState
from engine.base.values import HOUR_MS, MINUTE_MS, called, equals, format_span, picked, places
from engine.rules.decisions.verdicts import MOST_PARENTS, circular
from engine.state.tables import NEVER_MS
from engine.state.tasks import COMPLETED, RUNNING
from engine.views.diagnosis.model import (
    MOST_NAMED,
    Clause,
    Condition,
    Items,
    concern,
    first_names,
    listed,
    name_of,
    named,
    some,
)
from engine.views.diagnosis.waste import CAUSES, restarts
from engine.views.log.reader import Kept, KeptByKey, LogReader, is_event, matching, of_kind
from engine.views.log.tally import is_retry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from engine import Simulation
    from engine.base.log import Shape
    from engine.state.jobs import Job
    from engine.state.pools import Pool
    from engine.state.tasks import TaskTable
    from engine.views.diagnosis.failures import TaskFailures
    from engine.views.diagnosis.model import Finding
    from engine.world import World


# -- tasks that can never run ------------------------------------------------------------------------------------------


def _misfits(pool: Pool) -> Iterator[tuple[Condition, str, Callable[[int], bool], Clause]]:
    """Yield why queues of tasks fit no node of a pool: which ones by their keys, and the reason."""
    yield (
        Condition.SIZE,
        "too large for any node",
        lambda key: key > pool.slots,
        Clause(f"a node of {called('pool', pool.id)} has {some(pool.slots, 'task slot')}", "SCHED-10"),
    )
    if not pool.hosts_gangs:
        lacks = "has no inter-node communication" if pool.slots == 1 else f"has {pool.slots} task slots per node, not 1"
        text = "can never run: it needs nodes that work together"
        yield Condition.MULTI_INSTANCE, text, lambda key: key < 0, Clause(f"{called('pool', pool.id)} {lacks}", "MI-2")


def has_misfits(world: World, job: Job) -> bool:
    """Return whether tasks of a job wait that fit no node of its pool, so that they never run (SCHED-10, MI-2)."""
    pool = world.pools[job.pool] if job.pool >= 0 else None
    waiting = [key for key, queue in job.ready.items() if queue.size] if pool is not None else []
    return pool is not None and any(is_kind(key) for _, _, is_kind, _ in _misfits(pool) for key in waiting)


NEVER_RUN = (Condition.SIZE, Condition.MULTI_INSTANCE, Condition.DEPENDENCIES)
"""The conditions of concerns about tasks that never run, whatever else happens."""

_MOST_CHECKED = 5_000  # waiting tasks of a job that are searched for circles


class Blocked(NamedTuple):
    """The tasks of a job whose dependencies can no longer be met, and what the first of them waits for."""

    tasks: frozenset[int]
    first: str = ""
    since_ms: int = 0
    has_failed: bool = True  # one that they wait for; else they are all missing, and may still be added


class NeverRun:
    """Concerns about tasks that wait for what cannot come, whatever else happens in the run."""

    def __init__(self, simulation: Simulation, failures: TaskFailures) -> None:
        """Create an empty reader."""
        self._simulation = simulation
        self._failures = failures
        self._blocked: dict[int, Kept[Blocked]] = {}  # by job
        self._circles: dict[int, Kept[set[int]]] = {}

    def of_job(self, job: Job, *, is_final: bool) -> Iterator[tuple[int, Finding]]:
        """Yield the concerns about an active job, each with the number of its tasks.

        ``is_final``: nothing in the run adds tasks for which others wait.
        """
        world, tasks = self._simulation.world, self._simulation.world.tasks
        pool = world.pools[job.pool] if job.pool >= 0 and world.pools[job.pool].state is PoolState.ACTIVE else None
        for condition, text, is_kind, why in _misfits(pool) if pool is not None else ():
            queues = [queue for key, queue in job.ready.items() if queue.size and is_kind(key)]
            count = sum(queue.size for queue in queues)
            if pool is not None and count:
                since_ms = max(pool.created_ms, min(tasks.block_of(queue.head()).created_ms for queue in queues))
                yield count, concern(condition, f"{some(count, 'task')} of {job.id} {text}", since_ms, why)
        blocked = self._blocked_of(job)
        if blocked.tasks:
            count, wait = len(blocked.tasks), "wait" if len(blocked.tasks) > 1 else "waits"
            text = f"{some(count, 'task')} of {job.id} {wait} for others that have failed or do not exist"
            remedy = "reactivate or add these"
            is_certain = is_final or blocked.has_failed
            condition = Condition.DEPENDENCIES if is_certain else Condition.JOB_NEVER_ENDS
            yield count, concern(condition, text, blocked.since_ms, blocked.first, remedy=remedy)
        circle = self._circle_of(job) - blocked.tasks
        if circle:
            since_ms = max(tasks.block_of(task).created_ms for task in circle)
            text = f"{some(len(circle), 'task')} of {job.id} can never run: dependencies form a circle"
            ids = listed(tasks.task_ids(sorted(circle)[:MOST_NAMED]), MOST_NAMED)
            remedy = "delete one of the circle, and add it again without it"
            yield len(circle), concern(Condition.DEPENDENCIES, text, since_ms, Clause(ids, "DEP-5"), remedy=remedy)

    def _circle_of(self, job: Job) -> set[int]:
        """Return the tasks that wait for themselves, or for such tasks; nothing of very many that wait."""
        world = self._simulation.world
        book = world.dependencies.get(job.row)
        if book is None or not 0 < book.waiting_count <= _MOST_CHECKED:
            return set()
        sources = self._simulation.jumps, job.total, sum(job.deleted.values())
        return self._circles.setdefault(job.row, Kept()).get(sources, lambda: circular(world, job, book.waiting()))

    def _blocked_of(self, job: Job) -> Blocked:
        book = self._simulation.world.dependencies.get(job.row)
        if book is None or not book.waiting_count:
            return Blocked(frozenset())
        sources = self._simulation.jumps, job.total, sum(job.deleted.values()), job.failed
        return self._blocked.setdefault(job.row, Kept()).get(sources, lambda: self._find_blocked(job))

    def _find_blocked(self, job: Job) -> Blocked:
        """Return the tasks that depend on failed or missing ones, and those that depend on these."""
        world = self._simulation.world
        tasks, book = world.tasks, world.dependencies[job.row]
        failed = [task for task in self._failures.rows_of(job) if not tasks.satisfied[task]]
        ended_ms = {tasks.task_id(task).lower(): tasks.ended[task] for task in failed}
        unmet = (*book.unmet_ids(), *map(str, book.unmet_numbers(book.spans, MOST_PARENTS)))
        gone = {task_id for task_id in unmet if tasks.find(job.row, task_id) is None}
        found: dict[int, str] = {}
        begun_ms: list[int] = []
        todo = [*ended_ms, *gone]
        while todo:
            task_id = todo.pop()
            for task in book.dependents_of(task_id):
                if task not in found and book.is_waiting(task):
                    found[task] = task_id
                    todo.append(tasks.task_id(task).lower())
                    if task_id in ended_ms or task_id in gone:
                        begun_ms.append(max(ended_ms.get(task_id, 0), tasks.block_of(task).created_ms))
        if not found:
            return Blocked(frozenset())
        first = min(found)
        wanted = tasks.spec(first).depends_on
        ids = book.unmet(wanted)[0] if wanted is not None else []
        named_id = next((each for each in ids if each.lower() in (*ended_ms, *gone)), ids[0] if ids else found[first])
        has_failed = any(task_id in ended_ms for task_id in found.values())
        return Blocked(frozenset(found), f"{tasks.task_id(first)} waits for {named_id}", min(begun_ms), has_failed)


# -- processes that hang -----------------------------------------------------------------------------------------------

_LEAST_MS = 10 * MINUTE_MS  # what has run no longer does not hang
_LONGER = 4  # times the longest of its kind, where all take nearly as long
_ALONE_MS = HOUR_MS  # preparations of which none has ended yet
_LEAST_PEERS = 3
_MANY = 5  # peers; of fewer the durations say less
_NEAREST = 500  # tasks before and after one, among which others of its kind are looked for
_WITHOUT_DIGITS = str.maketrans("", "", digits)
_STARTS = is_event("TaskStateChanged", to=TaskState.RUNNING)
_RUNS = equals(RUNNING)


def _limit_ms(took_ms: Sequence[int], times: int = _LONGER) -> int:
    """Return how long a process may take without hanging, by how long others took.

    Where these differ much among themselves, it may take longer still.
    """
    ordered = sorted(took_ms)
    longest_ms, short_ms = ordered[-1], ordered[len(ordered) // 4]
    return max(_LEAST_MS, times * longest_ms * longest_ms // max(1, short_ms))


def hanging_preparations(simulation: Simulation, *, names_jobs: bool) -> Iterator[Finding]:
    """Yield the running preparations of each job that take far longer than others did."""
    world, now_ms = simulation.world, simulation.now_ms
    instances = world.instances
    by_job: dict[int, list[int]] = {}
    for row in places(bytes(instances.prep_state[: instances.length]), InstanceState.RUNNING):
        if now_ms - instances.prep_start[row] >= _LEAST_MS:
            by_job.setdefault(instances.job[row], []).append(row)
    for job_row, rows in by_job.items():
        job = world.jobs[job_row]
        ended = [row for row in instances.rows_of_job(job_row) if instances.prep_state[row] == InstanceState.COMPLETED]
        took_ms = [instances.prep_end[row] - instances.prep_start[row] for row in ended]
        limit_ms = _limit_ms(took_ms) if took_ms else _ALONE_MS
        late = [row for row in rows if now_ms - instances.prep_start[row] >= limit_ms]
        prep = job.spec.job_preparation_task
        is_bounded = prep is not None and prep.constraints.max_wall_clock_time is not None
        if late and prep is not None and (took_ms or not is_bounded):
            nodes = [instances.node[row] for row in late]
            on, names = named("node", first_names(world, nodes), len(nodes))
            of = f" of {job.id}" if names_jobs else ""
            begun_ms = min(instances.prep_start[row] for row in late)
            compared = f"the longest took {format_span(max(took_ms))}" if took_ms else "none has ended yet"
            yield concern(
                Condition.PREPARATION,
                f"preparation task{of} has run on {on} for {format_span(now_ms - begun_ms)}",
                begun_ms + limit_ms,
                compared,
                "" if is_bounded else Clause("nothing limits it", "PREP-3"),
                Clause("tasks there wait for it", "PREP-6") if prep.wait_for_success else "",
                remedy="" if is_bounded else "give it a maxWallClockTime; a reboot starts it again",
                items=Items(nodes=nodes, jobs=(job.id,)),
                names=names,
            )


class HangingTasks:
    """Concerns about running tasks that take far longer than others with the same command line but for its numbers.

    A task is looked at when it has run for a while, and again only when it may have become one: when it has run longer
    still than others, or when more tasks of its job have ended, if there were too few.
    """

    def __init__(self, simulation: Simulation) -> None:
        """Create an empty reader."""
        self._simulation = simulation
        self._jumps = -1
        self._read = 0  # entries of the log about tasks that have run for a while
        self._due: list[tuple[int, int, int]] = []  # when to look again, the task, and when it began to run
        self._kinds: KeptByKey[str] = KeptByKey()  # by task
        self._alone: KeptByKey[int] = KeptByKey()  # by task without others of its kind: how many of its job had ended

    def concerns(self) -> Iterator[Finding]:
        """Yield a concern for each job with such tasks."""
        world, now_ms = self._simulation.world, self._simulation.now_ms
        tasks = world.tasks
        by_job: dict[int, list[tuple[int, int, int]]] = {}  # since when, the longest of its kind, the task
        for task in self._to_look_at():
            since_ms, longest_ms = self._since(task)
            heappush(self._due, (since_ms, task, tasks.started[task]))
            if longest_ms and since_ms <= now_ms:
                by_job.setdefault(tasks.block_of(task).job, []).append((since_ms, longest_ms, task))
        for row, found in by_job.items():
            late, job = [task for _, _, task in found], world.jobs[row]
            who, names = named("task", tasks.task_ids(late[:MOST_NAMED]), len(late))
            ran_ms = now_ms - min(tasks.started[task] for task in late)
            yield concern(
                Condition.TASK_HANGS,
                f"{who} of {job.id} {'has' if len(late) == 1 else 'have'} run for {format_span(ran_ms)}",
                min(since_ms for since_ms, _, _ in found),
                f"the longest of the kind took {format_span(max(longest_ms for _, longest_ms, _ in found))}",
                remedy=f"terminate {'it' if len(late) == 1 else 'them'}, or set a maxWallClockTime",
                items=Items(tasks=late, jobs=(job.id,)),
                names=names,
            )

    def _to_look_at(self) -> list[int]:
        """Return the running tasks that may hang, in order. Each is to be noted again with the next moment."""
        simulation, tasks, log = self._simulation, self._simulation.world.tasks, self._simulation.log
        begun_ms = simulation.now_ms - _LEAST_MS
        stop = log.index_at(begun_ms)
        if self._jumps != simulation.jumps:
            self._jumps = simulation.jumps
            self._due.clear()
            found = set(places(bytes(tasks.state[: tasks.length]), RUNNING))
        else:
            begun = picked(log.row_a, tuple(matching(log, _STARTS, self._read, stop)))
            found = set(compress(begun, bytes(picked(tasks.state, begun)).translate(_RUNS)))
        self._read = stop
        while self._due and self._due[0][0] <= simulation.now_ms:
            _, task, started_ms = heappop(self._due)
            if tasks.started[task] == started_ms:
                found.add(task)
        return sorted(task for task in found if tasks.state[task] == RUNNING and tasks.started[task] <= begun_ms)

    def _since(self, task: int) -> tuple[int, int]:
        """Return since when a task hangs, and how long the longest of its kind took that have succeeded nearby.

        The moment may be to come. Where there is no longest one yet, it says when to look again.
        """
        world, now_ms = self._simulation.world, self._simulation.now_ms
        tasks, job = world.tasks, world.tasks.block_of(task).job
        ended = world.jobs[job].counts[COMPLETED]
        alone = self._alone.at(self._jumps)
        if alone.get(task) == ended:
            return now_ms, 0
        first = max(0, task - _NEAREST)
        near = places(bytes(tasks.state[first : min(tasks.length, task + _NEAREST)]), COMPLETED)
        found = []
        for at in near:
            other = first + at
            is_near = tasks.started[other] != NEVER_MS and tasks.block_of(other).job == job
            if is_near and self._kind(other) == self._kind(task) and tasks.result(other) is TaskResult.SUCCESS:
                took_ms = tasks.ended[other] - tasks.started[other]
                calm_ms = tasks.started[task] + max(_LEAST_MS, _LONGER * took_ms)
                if now_ms < calm_ms:
                    return calm_ms, 0
                found.append(took_ms)
        if len(found) < _LEAST_PEERS:
            alone[task] = ended
            return now_ms, 0
        times = _LONGER if len(found) >= _MANY else 3 * _LONGER
        return tasks.started[task] + _limit_ms(found, times), max(found)

    def _kind(self, task: int) -> str:
        return self._kinds.get(self._jumps, task, lambda: kinds_of(self._simulation.world.tasks, [task])[0])


def kinds_of(tasks: TaskTable, chosen: Sequence[int]) -> list[str]:
    """Return of each of these tasks what is equal for tasks of one kind: the command line without its digits."""
    return [each.translate(_WITHOUT_DIGITS) for each in tasks.command_lines(chosen)]


# -- loops -------------------------------------------------------------------------------------------------------------

_OFTEN = 3  # interruptions of one task, or failures on one node in a row
_RARELY = 0.001  # as the chance that they are none of the node's
_RECENT = 500  # successes, and failures, among which tasks of the same kind are looked for
_MOST_COSTED = 20  # tasks of which the lost time is added up


class Interruptions:
    """Concerns about tasks that were interrupted again and again. Each entry of the log is read once."""

    def __init__(self, simulation: Simulation) -> None:
        """Create an empty reader."""
        self._simulation = simulation
        self._reader = LogReader(simulation, of_kind(_is_interruption))
        self._counts: Counter[int] = Counter()  # by task
        self._last: dict[int, int] = {}  # entry by task
        self._often: set[int] = set()
        self._lost: dict[int, tuple[int, int]] = {}  # by task: the last interruption, and the time lost until then

    def concerns(self) -> Iterator[Finding]:
        """Yield a concern for each job with such tasks that go on, and one for those that have ended."""
        self._update()
        world, by_group = self._simulation.world, dict[tuple[int, bool], list[int]]()
        for task in sorted(self._often):
            job = world.jobs[world.tasks.block_of(task).job]
            state = world.tasks.state_of(task)
            if job.state is not None and state is not None:
                by_group.setdefault((job.row, state is TaskState.COMPLETED), []).append(task)
        for (row, is_over), tasks in by_group.items():
            yield self._concern(world.jobs[row], tasks, is_over=is_over)

    def _update(self) -> None:
        log = self._simulation.log
        begins, news = self._reader.news()
        if begins:
            self._counts.clear()
            self._last.clear()
            self._often.clear()
            self._lost.clear()
        tasks = picked(log.row_a, news)
        self._counts.update(tasks)
        self._last.update(zip(tasks, news, strict=True))
        self._often.update(task for task in set(tasks) if self._counts[task] >= _OFTEN)

    def _concern(self, job: Job, tasks: Sequence[int], *, is_over: bool) -> Finding:
        world, log = self._simulation.world, self._simulation.log
        counts = [self._counts[task] for task in tasks]
        who, names = named("task", world.tasks.task_ids(tasks[:MOST_NAMED]), len(tasks))
        verb, each = ("was", "") if len(tasks) == 1 else ("were", " each")
        least, most = min(counts), max(counts)
        times = f"{most:,} times{each}" if least == most else f"{least:,} to {most:,} times"
        last = max(self._last[task] for task in tasks)
        rule = str(dict(log.shapes[log.shape_of[last]].fields).get("rule", ""))
        cause = CAUSES.get(rule.partition("-")[0], "")
        lost_ms = sum(map(self._lost_ms, tasks)) if len(tasks) <= _MOST_COSTED else 0
        pool = world.pools[job.pool] if job.pool >= 0 else None
        by_formula = rule.startswith("RSZ") and pool is not None and pool.scaling is not None
        return concern(
            Condition.WAS_INTERRUPTED if is_over else Condition.INTERRUPTED_AGAIN,
            f"{who} of {job.id} {verb} interrupted {times}",
            log.when[min(self._last[task] for task in tasks)],
            Clause(f"last because {cause}" if cause else "", rule),
            f"{format_span(lost_ms)} of work lost" if lost_ms else "",
            remedy="let the formula count running tasks, or drain with taskcompletion"
            if by_formula and not is_over
            else "",
            items=Items(tasks=tasks, jobs=(job.id,), pools=(pool.id,) if pool is not None else ()),
            names=names,
        )

    def _lost_ms(self, task: int) -> int:
        """Return how long the attempts ran that were interrupted."""
        last, lost_ms = self._lost.get(task, (-1, 0))
        if last == self._last[task]:
            return lost_ms
        lost_ms = sum(each.lost_ms for each in restarts(self._simulation, task) if each.is_interruption)
        self._lost[task] = self._last[task], lost_ms
        return lost_ms


def _is_interruption(shape: Shape) -> bool:
    if shape.event != "TaskStateChanged":
        return False
    fields = dict(shape.fields)
    begins = fields.get("from") in (TaskState.RUNNING, TaskState.PREPARING) and fields.get("to") is TaskState.ACTIVE
    return begins and not is_retry(fields) and fields.get("rule") != "PREP-8"


class FailingNodes:
    """Concerns about nodes on which everything fails, from some task on, while tasks of the jobs succeed on others."""

    def __init__(self, simulation: Simulation) -> None:
        """Create an empty reader; each entry of the log is read once."""
        self._simulation = simulation
        self._failures = LogReader(simulation, of_kind(_is_failure))
        self._successes = LogReader(simulation, of_kind(is_event("TaskStateChanged", result=TaskResult.SUCCESS)))
        self._streaks: dict[int, list[int]] = {}  # by node: the failures since its last success
        self._worked: set[int] = set()  # nodes with a success

    def nodes(self) -> list[int]:
        """Return the rows of these nodes that are still there, in ascending order."""
        world = self._simulation.world
        if not any(job.failed and job.counts[COMPLETED] > job.failed for job in world.jobs.present()):
            return []
        self._update()
        failed = len(self._failures.entries())
        succeeded = sum(job.counts[COMPLETED] - job.failed for job in world.jobs.present())
        found = []
        for node, streak in self._streaks.items():
            if len(streak) >= _OFTEN and world.nodes.state_of(node) is not None:
                elsewhere = failed - len(streak)
                by_chance = (elsewhere / max(1, elsewhere + succeeded)) ** len(streak)
                found += [node] if by_chance < _RARELY and self._chance_elsewhere(node, streak) < _RARELY else []
        return sorted(found)

    def _chance_elsewhere(self, node: int, streak: Sequence[int]) -> float:
        """Return how likely as many failures are where other nodes ran tasks of these kinds; 1 if none succeeded."""
        log, tasks = self._simulation.log, self._simulation.world.tasks
        kinds = set(kinds_of(tasks, picked(log.row_a, streak)))
        recent = (reader.entries()[-_RECENT:] for reader in (self._successes, self._failures))
        elsewhere = ([log.row_a[at] for at in entries if log.row_b[at] != node] for entries in recent)
        succeeded, failed = (sum(kind in kinds for kind in kinds_of(tasks, chosen)) for chosen in elsewhere)
        return (failed / (failed + succeeded)) ** len(streak) if succeeded else 1.0

    def _update(self) -> None:
        (begins, failures), (begins_too, successes) = self._failures.news(), self._successes.news()
        if begins or begins_too:
            failures, successes = self._failures.entries(), self._successes.entries()
            self._streaks.clear()
            self._worked.clear()
        rows = self._simulation.log.row_b
        last = dict(zip(picked(rows, successes), successes, strict=True))  # by node
        self._worked.update(last)
        for node in last.keys() & self._streaks.keys():
            since = [at for at in self._streaks.pop(node) if at > last[node]]
            if since:
                self._streaks[node] = since
        for node, at in zip(picked(rows, failures), failures, strict=True):
            if at > last.get(node, -1):  # successes that were read before come before it
                self._streaks.setdefault(node, []).append(at)

    def concerns(self, nodes: Sequence[int]) -> Iterator[Finding]:
        """Yield a concern for each of the nodes."""
        world, log = self._simulation.world, self._simulation.log
        for node in nodes:
            entries, pool = self._streaks[node], world.pool_of(node)
            of_all = f"the last {len(entries):,}" if node in self._worked else f"{len(entries):,} of {len(entries):,}"
            tasks = list(dict.fromkeys(log.row_a[at] for at in entries))
            found = map(world.jobs.__getitem__, dict.fromkeys(world.tasks.block_of(task).job for task in tasks))
            jobs = tuple(job.id for job in found if job.state is not None)
            yield concern(
                Condition.NODE_FAILS_TASKS,
                f"every task fails on node {name_of(world, node)} of {called('pool', pool.id)}: {of_all}",
                log.when[entries[_OFTEN - 1]],
                Clause("more tasks will come and fail there: the node counts as healthy", "NODE-8"),
                items=Items(nodes=(node,), tasks=tasks, jobs=jobs, pools=(pool.id,)),
            )


def _is_failure(shape: Shape) -> bool:
    fields = dict(shape.fields)
    return (
        shape.event == "TaskStateChanged" and fields.get("from") is TaskState.RUNNING and bool(fields.get("exitCode"))
    )
