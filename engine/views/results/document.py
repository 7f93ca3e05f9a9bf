"""The files that a run leaves: its state as JSON, made of REST bodies, and its scenario with what was done by hand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from engine.base.units import SECOND_MS
from engine.events.log import Json
from engine.run.observe import cost_usd, makespan_ms
from engine.scenario.record import GivenCommand, dump, timeline_line
from engine.views.log.node_history import recent_tasks
from engine.views.log.transitions import TaskTransitions
from engine.views.pages.storage import bytes_of_run
from engine.views.rest.account import account_body
from engine.views.rest.common import utc
from engine.views.rest.job_schedules import schedule_body, schedule_stats
from engine.views.rest.jobs import job_body, job_stats
from engine.views.rest.nodes import node_body
from engine.views.rest.pools import pool_body, pool_stats
from engine.views.rest.prep_release import prep_release_status
from engine.views.results import totals
from engine.views.results.task_lines import encode, task_lines, whole_bodies

if TYPE_CHECKING:
    from collections.abc import Callable

    from engine.run.simulation import Simulation
    from engine.specs.command import Command
    from engine.state.jobs import Job
    from engine.state.pools import Pool
    from engine.world.world import World


# Enough digits for any currency or share.
_DIGITS = 6
_LEVELS = 3  # of a section that are indented: its list, its objects, and the lists in them


def document(sim: Simulation) -> dict[str, object]:
    """Return the whole state at the moment that is shown, without what was deleted."""
    return {name: _held(value) for name, value in _members(sim, whole_bodies).items()}


def json_text(sim: Simulation) -> Iterator[str]:
    """Yield the document as JSON text in pieces, a line for each task, node and preparation.

    A million tasks need no more memory. Python's encoder writes a line in C, and indented text twenty times as slowly.
    """
    return _pieces(_members(sim, lambda *job: map(Json, task_lines(*job))), "", 1 + _LEVELS)


def _held(value: object, levels: int = _LEVELS) -> object:
    """Return a value with lists in place of the iterators in it, which are so many ``levels`` deep."""
    if levels and isinstance(value, Iterator):
        return [_held(item, levels - 1) for item in value]
    if levels and isinstance(value, dict):
        return {name: _held(member, levels - 1) for name, member in value.items()}
    return value


def _pieces(value: object, margin: str, levels: int) -> Iterator[str]:
    """Yield the JSON text of a value that follows a name in this margin, with so many ``levels`` indented."""
    if not isinstance(value, dict | list | Iterator):
        yield encode(value)
        return
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    members = value.items() if isinstance(value, dict) else ((None, item) for item in value)
    before, inner = opening, f"{margin}  "
    for name, member in members:
        head = f"{before}\n{inner}" if name is None else f"{before}\n{inner}{encode(name)}: "
        if levels > 1:
            yield head
            yield from _pieces(member, inner, levels - 1)
        else:
            yield head + (member.text if isinstance(member, Json) else encode(member))
        before = ","
    yield f"\n{margin}{closing}" if before == "," else opening + closing


def _members(sim: Simulation, tasks_of: Callable[[World, Job, TaskTransitions], Iterator[object]]) -> dict[str, object]:
    """Return the members of the document. Lists that may be long are iterators, so that their items come one by one."""
    world = sim.world
    transitions = TaskTransitions(world)
    return {
        "scenario": sim.scenario.name,
        "seed": sim.seed,
        "startTime": utc(world, 0),
        "endTime": utc(world, sim.now_ms),
        "account": account_body(world),
        "pools": (_pool(sim, pool) for pool in world.pools.present()),
        "jobs": (
            _job(sim, job, transitions) | {"tasks": tasks_of(world, job, transitions)} for job in world.jobs.present()
        ),
        "jobSchedules": [
            schedule_body(world, schedule, sim.now_ms)
            | {"stats": schedule_stats(world, schedule, transitions, sim.now_ms)}
            for schedule in world.job_schedules.present()
        ],
        "expectations": [
            {"expect": outcome.written, "met": outcome.met, "seen": outcome.seen} for outcome in sim.expectations
        ],
        "summary": summary(sim),
    }


def _pool(sim: Simulation, pool: Pool) -> dict[str, object]:
    world = sim.world
    present = [node for node in pool.nodes if world.nodes.state_of(node) is not None]
    former = [node for node in pool.nodes if world.nodes.state_of(node) is None]
    recent = recent_tasks(world, pool.nodes)
    return pool_body(world, pool) | {
        "stats": pool_stats(world, pool, sim.now_ms),
        "nodes": (node_body(world, node, recent[node]) for node in present),
        "formerNodes": (node_body(world, node, recent[node]) for node in former),
    }


def _job(sim: Simulation, job: Job, transitions: TaskTransitions) -> dict[str, object]:
    world = sim.world
    body = job_body(world, job) | {"stats": job_stats(world, job, transitions, sim.now_ms)}
    if job.has_prep:
        body["jobPreparationAndReleaseTaskStatus"] = prep_release_status(world, job)
    return body


def summary(sim: Simulation) -> dict[str, object]:
    """Return the totals of the run, with deleted jobs and pools; ``events`` counts the events in the log."""
    world, now_ms = sim.world, sim.now_ms
    transferred = bytes_of_run(sim)
    return {
        "makespanSeconds": makespan_ms(world) / SECOND_MS,
        "tasks": asdict(totals.task_totals(sim)),
        "nodeHours": round(totals.node_hours(world, now_ms), _DIGITS),
        "costUsd": round(cost_usd(world, now_ms), _DIGITS),
        "slotUtilization": round(totals.slot_utilization(world, now_ms), _DIGITS),
        "preparationTasks": asdict(totals.preparation_totals(world)),
        "releaseTasks": asdict(totals.release_totals(world)),
        "events": sim.log.count,
        "downloadedBytes": transferred.downloaded,
        "uploadedBytes": transferred.uploaded,
    }


# -- the scenario of a run ---------------------------------------------------------------------------------------------


def script_line(at_ms: int, command: Command) -> str:
    """Return the line of a scenario's timeline that gives a command at a moment, in ms since the start."""
    return timeline_line(at_ms, command.NAME, command.masked())


def given_by_hand(sim: Simulation) -> list[tuple[int, Command]]:
    """List the commands given by hand, each with the moment at which it takes effect, in ms since the start."""
    return [(one.when_ms, one.command) for one in sim.journal.by_hand()]


def recorded(sim: Simulation) -> str:
    """Return the YAML of the scenario with every command given by hand in its timeline. It replays to the same log."""
    codes = {id(refusal.command): refusal.error.code for refusal in sim.refusals}
    given = [GivenCommand(one.when_ms, one.command, codes.get(id(one.command))) for one in sim.journal.by_hand()]
    return dump(replace(sim.scenario, seed=sim.seed), given)
