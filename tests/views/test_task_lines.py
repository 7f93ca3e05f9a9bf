"""Tasks as lines of JSON are their bodies as JSON, to the byte, whether a line was filled or written by itself."""

from __future__ import annotations

from itertools import chain

import pytest

from engine import Simulation, load_scenario
from engine.scenario.text import bundled
from engine.views.log.latest import TaskTransitions
from engine.views.rest import tasks as module
from engine.views.rest.tasks import encode, subtask_bodies, task_bodies_after, task_lines
from tests.builders import a_job, a_pool, do, run_to, run_to_end, simulation

HOLE = "\0id\0"  # stands for the id in a line that is filled in for many tasks


def written(sim):
    """The number of all tasks, whose lines are checked, and of those that were encoded by themselves."""
    transitions = TaskTransitions(sim.world).now()
    count, encoded = 0, []
    for job in sim.world.jobs.present():
        wanted = [
            encode(body | ({"subtasks": subtask_bodies(sim.world, task)} if "multiInstanceSettings" in body else {}))
            for task, body in task_bodies_after(sim.world, job, transitions, -1)
        ]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "encode", lambda body: encoded.append(body) or encode(body))
            found = list(chain.from_iterable(task_lines(sim.world, job, transitions)))
        assert found == wanted
        count += len(found)
    return count, len({body["id"] for body in encoded if "creationTime" in body} - {HOLE})


@pytest.mark.parametrize("name", bundled())
def test_lines_of_a_bundled_scenario_are_its_bodies(name):
    sim = Simulation(load_scenario(name))
    for minutes in (2, 5, 20):
        run_to(sim, minutes=minutes)
        written(sim)
    run_to_end(sim)
    written(sim)


def played(task=None, pool=None):
    """A run of a sweep of 40 tasks to its end."""
    task = {"id": "t-{0}", "commandLine": "work {0}", "simulate": {"duration": {"uniform": [5, 90]}}} | (task or {})
    factory = {"type": "parametricSweep", "parameterSets": [{"start": 1, "end": 40}], "repeatTask": task}
    sim = simulation(a_job(tasks=[], taskFactory=factory), pool=a_pool(nodes=2) | (pool or {}))
    run_to_end(sim)
    return sim


def test_ordinary_tasks_of_a_sweep_are_filled_into_one_line():
    assert written(played()) == (40, 1)


def machine(publisher, offer, sku, agent, **more):
    image = {"publisher": publisher, "offer": offer, "sku": sku}
    return {"virtualMachineConfiguration": {"imageReference": image, "nodeAgentSKUId": agent} | more}


WINDOWS = machine("MicrosoftWindowsServer", "WindowsServer", "2022-datacenter", "batch.node.windows amd64")
CONTAINERS = machine(
    *("Canonical", "ubuntu-24_04-lts", "server", "batch.node.ubuntu 24.04"),
    containerConfiguration={"containerImageNames": ["price"]},
)


@pytest.mark.parametrize(
    ("task", "pool", "by_themselves"),
    [
        ({"commandLine": 'say "100 % {0}" %(id)s \\u0000 \0line\0 é'}, WINDOWS, 1),
        ({"displayName": "100 % of %(id)s"}, {}, 1),
        ({"displayName": HOLE}, {}, 40),  # as a hole: nothing is filled into it
        ({"displayName": "shown {0}"}, {}, 40),  # not only the names differ
        ({"simulate": {"duration": 0}}, {}, 1),
        ({"simulate": {"exitCode": 1}}, {}, 40),
        ({"containerSettings": {"imageName": "price"}}, CONTAINERS, 40),
        ({"multiInstanceSettings": {"numberOfInstances": 2, "coordinationCommandLine": "x"}}, {}, 40),
    ],
    ids=range(8),
)
def test_whatever_a_sweep_says_its_lines_are_its_bodies(task, pool, by_themselves):
    assert written(played(task, pool | {"enableInterNodeCommunication": True})) == (40, by_themselves)


def test_names_are_made_for_the_tasks_that_are_left(monkeypatch):
    monkeypatch.setattr(module, "TOGETHER", 7)
    monkeypatch.setattr(module, "MOST_NODES", 1)
    sim = played()
    for task_id in ("t-1", "t-7", "t-8", "t-40"):
        do(sim, "deleteTask", jobId="j", taskId=task_id)
    assert written(sim) == (36, 1)
