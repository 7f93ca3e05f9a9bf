"""Remedies for concerns: the table of their commands, and which of them are advised at this moment.

The words of a remedy are alternatives, the mildest first. Left out are those that the service refuses now, and those
that would be in vain: what an attempt comes to is drawn by the scenario's seed (RETRY-8), so it is known beforehand.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from engine.base.terms import NodeState, PoolState, SchedulingState, TaskResult
from engine.base.values import called, lazy_regex, read_table
from engine.rules.decisions.capacity import current_counts, granted, missing_nodes, preempted_nodes
from engine.rules.decisions.verdicts import job_command_verdict, unmet_parents
from engine.rules.node_operations import operation_verdict, scheduling_verdict
from engine.rules.processes import execution
from engine.rules.processes.setup import is_storage_out
from engine.rules.resizing import resize_verdict
from engine.state.nodes import Operation
from engine.views.diagnosis.candidates import max_retries
from engine.views.diagnosis.model import Clause, Condition, name_of, some, task_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from engine.shell.protocol import Launch
    from engine.state.jobs import Job
    from engine.state.pools import Pool
    from engine.views.diagnosis.model import Finding, Items
    from engine.world import World


_OR = lazy_regex(r",? or |; |, (?!then)")  # between the alternatives of a remedy
_TABLE = {(name, when): words for name, when, words in read_table("remedies.csv", __file__)}
_COMMANDS = dict(read_table("remedy_commands.csv", __file__))  # by first words
_NOUNS = {"reactivate": "another attempt", "add": "a new node"}
IN_VAIN = "would fail again (simulated)"
_MOST_LOOKED_AT = 4  # items of a concern, and attempts of each


def _parts(remedy: str) -> list[str]:
    return _OR.split(remedy) if remedy else []


def command_for(found: Finding, *parts: str) -> str:
    """Return the name of the command that the first of these alternatives asks for that asks for one; else nothing."""
    pairs = ((part.removeprefix("a "), each) for part in parts for each in _COMMANDS.items())
    command = next((command for words, (first, command) in pairs if words.startswith(first)), "")
    return "terminateTask" if command == "terminateJob" and found.about == "task" else command


def advised(world: World, found: Finding) -> Finding:
    """Return a concern with those alternatives that the service accepts now and that are not in vain, and a command."""
    said = found.remedy or _TABLE.get((found.condition.name, "always"), "")
    parts = _parts(said)
    accepted = [part for part in parts if _is_accepted(world, found.items, part)]
    useful = [part for part in accepted if not _is_in_vain(world, found, part)]
    verbs = dict.fromkeys(part.removeprefix("a ").split()[0] for part in accepted if part not in useful)
    first = _first(world, found.cause.partition(" ")[0])
    if first and accepted:
        useful = [f"{first}, then {accepted[0]}"]
    elif verbs and not command_for(found, *useful):
        others = _parts(_TABLE.get((found.condition.name, "otherwise"), ""))
        useful = [part for part in others if _is_accepted(world, found.items, part)]
    vain = _or([_NOUNS.get(verb, f"a {verb}") for verb in verbs])
    return found._replace(
        remedy=said if useful == parts else _or(useful),
        command=command_for(found, *useful),
        effects=(*found.effects, Clause(f"{vain} {IN_VAIN}")) if vain else found.effects,
    )


def _first(world: World, code: str) -> str:
    """Return what comes before another attempt after a failure with this code; empty if nothing."""
    is_out = is_storage_out(world) and (code, "outage") in _TABLE
    return _TABLE.get((code, "outage" if is_out else "first"), "")


def _or(parts: Sequence[str]) -> str:
    *before, last = parts or [""]
    return f"{', '.join(before)} or {last}" if before else last


def _is_accepted(world: World, items: Items, said: str) -> bool:
    """Return whether the service takes a command, given in words, on any of the items."""
    verb, *more = said.removeprefix("a ").split()
    nodes, jobs = world.nodes, [job for job in map(world.jobs.find, items.jobs) if job is not None]
    pools = [pool for pool in map(world.pools.find, items.pools) if pool is not None]
    match verb:
        case "reboot" | "reimage" if items.nodes:
            states = ((nodes.state_of(node), nodes[node].operation) for node in items.nodes)
            name = Operation[verb.upper()]
            return any(state is not None and operation_verdict(name, state, waits) is None for state, waits in states)
        case "enable" | "disable" if items.nodes:
            wanted = SchedulingState.ENABLED if verb == "enable" else SchedulingState.DISABLED
            return any(scheduling_verdict(wanted, nodes[node]) is None for node in items.nodes)
        case "remove" if items.nodes:
            return resize_verdict(world.pool_of(items.nodes[0])) is None
        case "resize" | "add" if pools and (verb == "resize" or more == ["a", "node"]):
            return any(pool.scaling is None and resize_verdict(pool) is None for pool in pools)
        case "delete" | "change" | "switch" | "raise" if items.pools:
            needs_formula = verb == "change" or (verb == "switch" and "off" in more)
            return any(pool.state is not PoolState.DELETING and (pool.scaling or not needs_formula) for pool in pools)
        case "terminate" | "reactivate" if jobs:
            return any(job.state is not None and job_command_verdict("add", job.state) is None for job in jobs)
    return True


# -- foreknowledge -------------------------------------------------------------------------------------------------

_Attempts = tuple["Launch", int, int]  # a launch, how often it began before, and its retries


def _is_in_vain(world: World, found: Finding, words: str) -> bool:
    """Return whether an alternative leads to the same failure on all items, of which the first few are looked at."""
    command, items = command_for(found, words), found.items
    attempts: Iterator[_Attempts | None]
    match found.condition, command:
        case Condition.PREPARATION_FAILED | Condition.INELIGIBLE, "rebootNode" | "reimageNode":
            jobs = filter(None, map(world.jobs.find, items.jobs))
            attempts = (_preparation(world, job, node) for job in jobs for node in items.nodes)
        case Condition.NODE_STATE | Condition.NODES, "rebootNode" | "reimageNode":
            states = ((node, world.nodes.state_of(node)) for node in items.nodes)
            attempts = (_start(world, node) if at is NodeState.START_TASK_FAILED else None for node, at in states)
        case Condition.NODE_FAILS_TASKS, "reimageNode":
            attempts = (_run(world, task, items.nodes[0]) for task in items.tasks)
        case Condition.TASK_FAILED, "reactivateTask":
            attempts = (_run(world, task) for task in items.tasks)
        case Condition.DEPENDENCIES, "reactivateTask":
            failed = _failed_parents(world, items.jobs[0])
            failures = (world.tasks.extra(task).failure for task in failed)
            needs_more = any(each is not None and _first(world, each.code) for each in failures)
            return needs_more or any(_fails(world, _run(world, task)) for task in failed)
        case condition, "resizePool" if items.pools and (condition.name, "otherwise") in _TABLE:
            pool = world.pools.find(items.pools[0])
            return pool is not None and _grows_in_vain(world, found, pool)
        case _:
            return False
    return all(_fails(world, each) for each in islice(attempts, _MOST_LOOKED_AT))


def _fails(world: World, attempts: _Attempts | None) -> bool:
    """Return whether an attempt and all its retries fail for certain. What a script decides is not known."""
    if attempts is None:
        return False
    launch, runs, retries = attempts
    for attempt in range(min(retries if retries >= 0 else _MOST_LOOKED_AT, _MOST_LOOKED_AT) + 1):
        begun = launch._replace(attempt=runs + attempt + 1)
        plan, is_refused = world.executor.plan(begun), begun.line.syntax_error is not None
        if plan.failure or is_refused:
            return True  # which no retry changes
        if not plan.exit_code or world.executor.acts(begun) is not None:
            return False
    return True


def _grows_in_vain(world: World, found: Finding, pool: Pool) -> bool:
    """Return whether no node can be had for the pool, or the next one fails as those that the concern is about."""
    job, new = world.jobs.find(next(iter(found.items.jobs), "")), len(pool.nodes)
    attempts = [_start(world, node, new) for node in found.items.nodes[:1]]
    if job is not None and found.condition is Condition.INELIGIBLE:
        attempts.append(_preparation(world, job, found.items.nodes[0], new))
    return not granted(world, pool, 1, dedicated=True).nodes or any(_fails(world, each) for each in attempts)


def _preparation(world: World, job: Job, node: int, new: int = -1) -> _Attempts | None:
    """Return the next attempts of preparation on a node, or on the ``new`` node at that place in its pool."""
    prep, row = job.spec.job_preparation_task, world.instances.row(job.row, node)
    if prep is None or row < 0:
        return None
    hook, runs = execution.process_of(world, job, is_release=False), world.instances.prep_runs[row]
    return _attempts(execution.hook_launch(world, job, hook, node, 1), runs, prep.constraints.max_task_retry_count, new)


def _start(world: World, node: int, new: int = -1) -> _Attempts | None:
    """Return the next attempts of a start task, unless the next boot runs another one."""
    record = world.nodes[node]
    spec = record.start_spec
    if spec is None or spec != world.pool_of(node).spec.start_task:
        return None
    return _attempts(execution.start_task_launch(world, node), record.start_runs, spec.max_task_retry_count, new)


def _attempts(launch: Launch, runs: int, retries: int, new: int) -> _Attempts:
    on_new = launch._replace(node=new, subject=(*launch.subject[:-1], str(new)))
    return (launch, runs, retries) if new < 0 else (on_new, 0, retries)


def _run(world: World, task: int, on: int = -1) -> _Attempts | None:
    """Return the next attempts of a failed task on a node; None if they may differ from node to node."""
    node = world.tasks.node[task] if on < 0 else on
    if node < 0 or world.tasks.result(task) is not TaskResult.FAILURE:
        return None
    launch = execution.task_launch(world, task, node, 1)
    if on < 0 and launch.simulate is not None and launch.simulate.on_node:
        return None
    return launch, world.tasks.extra(task).attempts, max_retries(world, task)


def _failed_parents(world: World, job_id: str) -> list[int]:
    """Return the failed tasks for which the first task of a job waits that waits for any."""
    job = world.jobs.find(job_id)
    book = None if job is None else world.dependencies.get(job.row)
    if job is None or book is None:
        return []
    for task in book.waiting():
        rows = [row for _, row in unmet_parents(world, job, task) if row is not None]
        failed = [row for row in rows if world.tasks.result(row) is TaskResult.FAILURE]
        if failed:
            return failed
    return []


# -- the commands as they are tried --------------------------------------------------------------------------------


Candidate = tuple[str, str, dict[str, object]]  # words, the name of the command, its body


def candidates(world: World, found: Finding, items: Items) -> Iterator[Candidate]:
    """Yield the commands that a remedy asks for on some of the items, in its order."""
    for words in _parts(found.remedy):
        command, (verb, *_) = command_for(found, words), words.removeprefix("a ").split()
        name, body = "", dict[str, object]()
        if "Node" in command:
            for node in (items.nodes or found.items.nodes)[:1]:
                on = "scheduling on " if command.endswith("Scheduling") else ""
                pool_id, position = world.pool_of(node).id, world.nodes[node].position
                name, body = f"{on}{name_of(world, node)} of {called('pool', pool_id)}", {"poolId": pool_id}
                body |= {"nodeList": [position]} if command == "removeNodes" else {"node": position}
        elif command in ("reactivateTask", "terminateTask"):
            for task in (items.tasks or _failed_parents(world, items.jobs[0]))[:1]:
                job_id = world.jobs[world.tasks.block_of(task).job].id
                name, body = task_name(world, task), {"jobId": job_id, "taskId": world.tasks.task_id(task)}
        elif command in ("enableJob", "terminateJob"):
            job_id = (items.jobs or found.items.jobs)[0]
            name, body = called("job", job_id), {"jobId": job_id}
        elif "Pool" in command and (items.pools or found.items.pools):
            yield from _of_pool(world, found, (items.pools or found.items.pools)[0], words)
        if body:
            yield f"{verb} {name}", command, body


def _of_pool(world: World, found: Finding, pool_id: str, words: str) -> Iterator[Candidate]:
    """Yield the command on a pool that an alternative asks for, unless somebody has to write a formula."""
    command, name, pool = command_for(found, words), called("pool", pool_id), world.pools.latest(pool_id)
    if command == "createPool" and pool is not None and pool.state is None:
        yield f"create {name} again", command, pool.spec.written()
    elif command in ("disablePoolAutoScale", "deletePool"):
        verb, off = ("delete", "") if command == "deletePool" else ("switch autoscale of", " off")
        yield f"{verb} {name}{off}", command, {"poolId": pool_id}
    elif command == "resizePool" and pool is not None and pool.scaling is None:
        dedicated, spot = _wanted(world, found, pool, words)
        body: dict[str, object] = {"poolId": pool_id, "targetDedicatedNodes": dedicated, "targetLowPriorityNodes": spot}
        yield f"resize {name} to {some(dedicated + spot, 'node')}", command, body


def _wanted(world: World, found: Finding, pool: Pool, words: str) -> tuple[int, int]:
    """Return the dedicated nodes and Spot nodes to which an alternative resizes a pool."""
    dedicated, spot = pool.target_dedicated + (words == "add a node"), pool.target_spot
    if "to 0" in words:
        return 0, 0
    if "fewer" in words:
        dedicated, spot = current_counts(world, pool)
        return dedicated, spot - len(preempted_nodes(world, pool))
    if "with dedicated" in words:
        missing = missing_nodes(world, pool)
        return dedicated + missing, spot - missing
    job = world.jobs.find(next(iter(found.items.jobs), ""))
    queues = job.queues_in_order() if job is not None else []
    needed = world.tasks.profile_of(queues[0][1].head()).instances if queues else 0
    return max(dedicated, needed, 0 if spot else 1), spot
