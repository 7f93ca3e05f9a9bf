"""The files that a run leaves: its state as JSON, made of REST bodies, and its scenario with what was done by hand."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from engine.base.units import SECOND_MS
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
from engine.views.rest.tasks import subtask_bodies, task_bodies
from engine.views.results import totals

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engine.run.simulation import Simulation
    from engine.specs.command import Command
    from engine.state.jobs import Job
    from engine.state.pools import Pool
    from engine.world.world import World


# Enough digits for any currency or share.
_DIGITS = 6
_LEVELS = 3  # of a section that are indented: its list, its objects, and the lists in them
_encode = json.JSONEncoder(ensure_ascii=False, check_circular=False).encode


def document(sim: Simulation) -> dict[str, object]:
    """Return the whole state at the moment that is shown, without what was deleted."""
    transitions = TaskTransitions(sim.world)
    jobs = [
        _job(sim, job, transitions) | {"tasks": list(_tasks(sim.world, job, transitions))}
        for job in sim.world.jobs.present()
    ]
    return _members(sim, transitions, jobs)


def json_text(sim: Simulation) -> Iterator[str]:
    """Yield the document as JSON text in pieces, a line for each task, node and preparation.

    A million tasks need no more memory. Python's encoder writes a line in C, and indented text twenty times as slowly.
    """
    transitions = TaskTransitions(sim.world)
    opening = "{"
    for name, value in _members(sim, transitions, None).items():
        yield f'{opening}\n  "{name}": '
        if name == "jobs":
            yield from _jobs_text(sim, transitions)
        else:
            yield _indented(value, "  ")
        opening = ","
    yield "\n}"


def _jobs_text(sim: Simulation, transitions: TaskTransitions) -> Iterator[str]:
    opening = "["
    for job in sim.world.jobs.present():
        body = _indented(_job(sim, job, transitions), "    ", _LEVELS - 1)
        yield f'{opening}\n    {body.removesuffix("}").rstrip()},\n      "tasks": ['
        separator = ""
        for task in _tasks(sim.world, job, transitions):
            yield f"{separator}\n        {_encode(task)}"
            separator = ","
        yield "\n      ]\n    }" if separator else "]\n    }"
        opening = ","
    yield "[]" if opening == "[" else "\n  ]"


def _indented(value: object, margin: str, levels: int = _LEVELS) -> str:
    """Return the JSON text of a value that follows a name in this margin, with so many ``levels`` indented."""
    if not levels or not value or not isinstance(value, dict | list):
        return _encode(value)
    inner = f"{margin}  "
    if isinstance(value, dict):
        brackets = "{}"
        members = [f"{_encode(name)}: {_indented(member, inner, levels - 1)}" for name, member in value.items()]
    else:
        brackets = "[]"
        members = [_indented(member, inner, levels - 1) for member in value]
    return f"{brackets[0]}\n{inner}" + f",\n{inner}".join(members) + f"\n{margin}{brackets[1]}"


def _members(sim: Simulation, transitions: TaskTransitions, jobs: object) -> dict[str, object]:
    world = sim.world
    return {
        "scenario": sim.scenario.name,
        "seed": sim.seed,
        "startTime": utc(world, 0),
        "endTime": utc(world, sim.now_ms),
        "account": account_body(world),
        "pools": [_pool(sim, pool) for pool in world.pools.present()],
        "jobs": jobs,
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
        "nodes": [node_body(world, node, recent[node]) for node in present],
        "formerNodes": [node_body(world, node, recent[node]) for node in former],
    }


def _job(sim: Simulation, job: Job, transitions: TaskTransitions) -> dict[str, object]:
    world = sim.world
    body = job_body(world, job) | {"stats": job_stats(world, job, transitions, sim.now_ms)}
    if job.has_prep:
        body["jobPreparationAndReleaseTaskStatus"] = prep_release_status(world, job)
    return body


def _tasks(world: World, job: Job, transitions: TaskTransitions) -> Iterator[dict[str, object]]:
    """Yield the tasks of a job, multi-instance ones with ``subtasks`` as ``subtasksinfo`` lists them (MI-7)."""
    for body in task_bodies(world, job, transitions):
        task = world.tasks.find(job.row, body["id"]) if "multiInstanceSettings" in body else None
        yield body if task is None else body | {"subtasks": subtask_bodies(world, task)}


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
