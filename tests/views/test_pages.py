"""Pages that keep what has not changed agree with new pages."""

from __future__ import annotations

import json
from functools import partial

import pytest

from engine import Simulation, load_scenario
from engine.base.terms import TaskResult
from engine.scenario.text import bundled
from engine.specs import commands as c
from engine.state.tasks import COMPLETED, PREPARING, RUNNING
from engine.views.resources import task_order
from engine.views.resources.instances import pages_of
from engine.views.resources.jobs import job_ids, pool_ids
from engine.views.resources.nodes import NodePage, hooks_in
from engine.views.resources.tasks import TaskPage

EVENTS_BETWEEN_LOOKS = 23


def place(tasks, task):
    """Failed tasks come first, then running ones, the newest first, then those that prepare."""
    state = tasks.state[task]
    if state == RUNNING:
        return 1, -tasks.started[task], task
    if state == COMPLETED and tasks.result(task) is TaskResult.FAILURE:
        return 0, task
    return 2 if state == PREPARING else 3, task


def look_at(simulation, kept):
    """Compare all pages of all jobs, kept ones and new ones."""
    for job_id in job_ids(simulation):
        kept_tasks, kept_hooks = kept.setdefault(job_id, (TaskPage(simulation, job_id), pages_of(simulation, job_id)))
        new_tasks, new_hooks = TaskPage(simulation, job_id), pages_of(simulation, job_id)
        in_order = kept_tasks.order()
        assert list(in_order) == list(new_tasks.order()) == [in_order[at] for at in range(len(in_order))]
        as_added = kept_tasks.as_added()
        assert list(in_order) == sorted(as_added, key=partial(place, simulation.world.tasks))
        assert list(as_added) == sorted(in_order) == [as_added[at] for at in range(len(as_added))]
        assert list(kept_tasks.failed()) == list(new_tasks.failed())
        assert all(in_order.index(task) == at for at, task in enumerate(in_order))
        for old, new in zip(kept_hooks, new_hooks, strict=True):
            assert [old.status_of(node).value for node in old.nodes_of_rows()] == list(old.codes()) == list(new.codes())
            assert old.count() == new.count() == len(new.order())
            for with_all in (False, True):
                assert list(old.order(with_all=with_all)) == list(new.order(with_all=with_all))
        for pool_id in pool_ids(simulation):
            page = NodePage(simulation, pool_id, *kept_hooks)
            assert [hooks_in(code) for code in page.all_hooks()] == [page.hooks(node) for node in page.nodes()]
            assert sorted(page.order()) == list(page.nodes())
            assert sum(page.counts().values()) == len(page.nodes())


@pytest.mark.parametrize("name", bundled())
def test_kept_pages_say_the_same_as_new_ones(name, monkeypatch):
    monkeypatch.setattr(task_order, "FIRST_ENTRIES", 4)  # so that short runs are read in several steps
    monkeypatch.setattr(task_order, "MOST_ENTRIES", 64)
    monkeypatch.setattr(task_order, "CHUNK", 8)
    simulation = Simulation(load_scenario(name))
    end_ms = min(simulation.end_ms, 40_000_000)
    kept = {}
    for _ in range(40):
        more = simulation.advance(end_ms, EVENTS_BETWEEN_LOOKS)
        look_at(simulation, kept)
        if not more:
            break
    reached_ms = simulation.now_ms
    for share in (0.5, 0.1, 0.9):
        simulation.seek(int(reached_ms * share))
        look_at(simulation, kept)


def test_a_reactivated_task_is_no_longer_among_the_failed():
    simulation = Simulation(load_scenario("retries-and-exit-conditions"))
    simulation.run_until(simulation.end_ms // 1000)
    page = next(page for job_id in job_ids(simulation) if (page := TaskPage(simulation, job_id)).failed())
    before = list(page.failed())
    task = simulation.world.tasks.task_id(before[0])
    simulation.submit(c.ReactivateTask.from_wire({"jobId": page.job_id, "taskId": task}))
    assert before[0] not in page.failed()
    assert set(page.failed()) <= set(before)


def test_the_ends_of_tasks_come_in_order_and_are_all_there_are():
    simulation = Simulation(load_scenario("shared-pool-two-jobs"))
    simulation.run_until(200_000)
    calendar = simulation.world.calendar
    assert calendar.ends
    assert list(calendar.task_ends()) == [(when_ms, task) for when_ms, _, task, _ in sorted(calendar.ends)]
    assert len(calendar) == len(calendar.ends) + len(calendar.pending())


@pytest.mark.parametrize("task_id", ["deal-{0}", "deal-{0:4}", "x", "{0}_{0}"])
def test_the_ids_of_many_tasks_are_those_of_each(task_id):
    factory = {"type": "parametricSweep", "parameterSets": [{"start": 5, "end": 40, "step": 5}]}
    template = {"id": task_id, "commandLine": "price"}
    tasks = [{"id": "first", "commandLine": "price"}, {"id": "second", "commandLine": "price"}]
    factories = {"taskFactory": {**factory, "repeatTask": template}} if "{" in task_id else {}
    body = {
        "scenario": "ids",
        "pools": [{"id": "p", "vmSize": "standard_f2s_v2", "targetDedicatedNodes": 1}],
        "jobs": [{"id": "j", "poolInfo": {"poolId": "p"}, "tasks": tasks, **factories}],
    }
    sim = Simulation(load_scenario("ids", text=json.dumps(body)))
    sim.run_until(1000)
    page = TaskPage(sim, "j")
    found = list(page.order())
    assert len(found) == 2 + 8 * bool(factories)
    for some in (found, found[:2], found[2:], found[3:1:-1], []):
        assert page.ids_of(some) == [page.id_of(task) for task in some]
