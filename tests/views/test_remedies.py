"""Advice is tried: what a concern advises first ends it, or nothing of the kind is advised."""

from __future__ import annotations

import pytest

from engine import Simulation, load_scenario
from engine.scenario.text import bundled
from engine.specs.commands import COMMANDS
from engine.views.diagnosis.concerns import Attention, about_item, with_advice
from engine.views.diagnosis.model import Items
from engine.views.diagnosis.questions import explain
from engine.views.diagnosis.remedies import candidates
from tests.builders import a_job, a_line, a_pool, a_task, run_to, simulation

_MOMENTS = 8  # of each run at which its concerns are looked at
_STEPS = 40  # of a course after that
_AFTER_MS = 1_200_000
# Concerns of bundled scenarios that what is advised does not end any sooner, and why that cannot be known.
EXCEPTIONS = {
    ("shell-in-preparation", "TASK_FAILED"): "a script decides how it ends",
    ("storage-trouble", "TASK_FAILED"): "a script decides how it ends",
    ("spot-night-by-rate", "NODE_STATE"): "Batch recovers the node as soon as a reboot does",
    ("nodes-fail-and-recover", "NODE_STATE"): "faults of the timeline strike the nodes again",
}


def settled(attention):
    """Return the concerns with their tasks, which are read from the log otherwise."""
    return [one._replace(items=one.items._replace(tasks=tuple(one.items.tasks[:]))) for one in attention.concerns()]


def one_by_one(concern):
    """Return the items of a concern one by one, as an action on the group takes them."""
    items = concern.items
    if concern.about == "task":
        return [Items(tasks=(task,), jobs=items.jobs, pools=items.pools) for task in items.tasks]
    if items.nodes and concern.about in ("node", "preparation"):
        return [Items(nodes=(node,), jobs=items.jobs, pools=items.pools) for node in items.nodes]
    if items.jobs:
        return [items._replace(jobs=(job,)) for job in items.jobs]
    return [items]


def advised_commands(world, concern):
    """Return the commands that the first alternative asks for on all items of a concern."""
    found = []
    for items in one_by_one(concern):
        bodies = [body for _, name, body in candidates(world, concern, items) if name == concern.command]
        found += bodies[:1]
    if concern.command == "removeNodes":
        found = [{**found[0], "nodeList": [number for body in found for number in body["nodeList"]]}]
    return [COMMANDS[concern.command].from_wire(body) for body in found]


def is_there(concerns, concern):
    """Return whether a concern about any of the same items is left."""
    mine = concern.items
    same = [one.items for one in concerns if one.condition is concern.condition]
    same = [each for each in same if not mine.jobs or set(mine.jobs) & set(each.jobs)]
    for name in ("tasks", "nodes", "jobs", "pools"):
        if wanted := set(getattr(mine, name)):
            return any(wanted & set(getattr(each, name)) for each in same)
    return bool(same)


def times_without(sim, commands, concern, end_ms):
    """Return at how many of some moments after these commands the concern is over; everything is undone."""
    count = 0
    with sim.trial():
        refused = sim.submit_all(commands) if commands else []
        assert not commands or not all(refused), refused
        start_ms, attention = sim.now_ms, Attention(sim)
        for step in range(1, _STEPS + 1):
            sim.run_until(start_ms + (end_ms - start_ms) * step // _STEPS)
            count += not is_there(settled(attention), concern)
    return count


@pytest.mark.parametrize("name", sorted(bundled()))
def test_what_is_advised_first_ends_the_concern_sooner(name):
    sim, whole = Simulation(load_scenario(name)), Simulation(load_scenario(name))
    while whole.advance(whole.end_ms, 256) and len(whole.log) < 30_000:
        pass
    last_ms, seen = whole.log.last_ms, set()
    for number in range(1, _MOMENTS):
        sim.run_until(last_ms * number // _MOMENTS)
        end_ms = min(sim.end_ms, last_ms + _AFTER_MS)
        for concern in settled(Attention(sim)):
            told = concern.condition, concern.text, concern.remedy
            if not concern.command or told in seen or (name, concern.condition.name) in EXCEPTIONS:
                continue
            seen.add(told)
            commands = advised_commands(sim.world, concern)
            if commands:
                given, without = (times_without(sim, each, concern, end_ms) for each in (commands, []))
                is_over_at_once = without == _STEPS  # the timeline ends it before anything could help
                assert given > without or is_over_at_once, (sim.now_ms, concern.full_text, concern.remedy)


@pytest.mark.parametrize(
    ("simulate", "remedy"),
    [
        ({"exitCode": 3}, "remove, then resize the pool for another node"),
        ({"attempts": [{"exitCode": 3}]}, "reimage to try preparation again"),
    ],
)
def test_a_reimage_is_advised_only_where_preparation_succeeds_after_it(simulate, remedy):
    prep = a_line(5, simulate={"onNode": {1: simulate}}, constraints={"maxTaskRetryCount": 0})
    sim = simulation(a_job(tasks=[a_task(f"t{number}", 600) for number in range(4)], prep=prep), pool=a_pool(nodes=2))
    run_to(sim, minutes=3)
    found = next(one for one in Attention(sim).concerns() if one.about == "preparation")
    assert found.remedy == remedy
    assert ("a reimage would fail again (simulated)" in found.effect) is remedy.startswith("remove")
    node = found.items.nodes[0]
    about = about_item([found], "node", node)
    [*_, last] = with_advice(sim, explain(sim, "node", node, "j"), about)[0].findings
    assert last.text.endswith(f"hat helps: {remedy}.")


def test_a_resize_that_gets_nothing_is_not_advised():
    gone = {"at": 0, "capacity": {"vmSize": a_pool()["vmSize"], "nodes": 0}}
    sim = simulation(a_job(tasks=2), pool=a_pool(nodes=2), timeline=[gone], until="PT1H")
    run_to(sim, minutes=20)
    said = {one.condition.name: one.remedy for one in Attention(sim).concerns()}
    assert said["RESIZE_FAILED"] == "resize it to fewer nodes"
    assert said["NO_NODES"] == "raise the quota or add a pool of another size"


@pytest.mark.parametrize(
    ("outcome", "command"),
    [({"exitCode": 3}, "addTasks"), ({"attempts": [{"exitCode": 3}]}, "reactivateTask")],
)
def test_a_task_that_fails_again_is_not_to_be_reactivated(outcome, command):
    sim = simulation(a_job(tasks=[a_task("t1", 5) | {"simulate": {"duration": 5, **outcome}}]))
    run_to(sim, minutes=3)
    assert [one.command for one in Attention(sim).concerns() if one.about == "task"] == [command]
