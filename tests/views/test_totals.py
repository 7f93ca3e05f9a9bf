"""Counts and totals of a run: TASK-16, NODE-16, ACC-10, EVT."""

import pytest

from engine.base.values import HOUR_MS
from engine.state.tasks import RUNNING
from engine.views import results
from engine.views.rest import account
from engine.views.rest.account import node_counts
from tests.builders import READY_S, a_job, a_line, a_pool, a_task, do, run_to, run_to_end, simulation, some_tasks


def task_counts(sim, job="j"):
    return account.task_counts(sim.world, sim.world.jobs.find(job))


def test_task_16_tasks_and_slots_those_that_prepare_count_as_running():
    tasks = [a_task("good", 10), a_task("bad", 10, exit_code=1, requiredSlots=2), *some_tasks(3, 600, requiredSlots=2)]
    sim = simulation(a_job(tasks=tasks, prep=a_line(20)), pool=a_pool(taskSlotsPerNode=4))
    run_to(sim, seconds=READY_S + 5)
    assert task_counts(sim) == {
        "taskCounts": {"active": 3, "running": 2, "completed": 0, "succeeded": 0, "failed": 0},
        "taskSlotCounts": {"active": 6, "running": 3, "completed": 0, "succeeded": 0, "failed": 0},
    }
    run_to(sim, seconds=READY_S + 60)
    assert task_counts(sim) == {
        "taskCounts": {"active": 1, "running": 2, "completed": 2, "succeeded": 1, "failed": 1},
        "taskSlotCounts": {"active": 2, "running": 4, "completed": 3, "succeeded": 1, "failed": 2},
    }
    run_to_end(sim)
    assert task_counts(sim)["taskSlotCounts"]["succeeded"] == 7


def test_node_16_nodes_by_state_and_kind():
    sim = simulation(a_job(tasks=1), pool=a_pool(nodes=2, targetLowPriorityNodes=1))
    run_to(sim, seconds=READY_S + 10)
    found = node_counts(sim.world, sim.world.pools.find("p"))
    assert found["poolId"] == "p"
    assert (found["dedicated"]["total"], found["lowPriority"]["total"]) == (2, 1)
    assert found["dedicated"]["idle"] + found["lowPriority"]["idle"] == 2
    assert found["dedicated"]["running"] + found["lowPriority"]["running"] == 1
    assert {"startTaskFailed", "waitingForStartTask", "leavingPool", "upgradingOS"} < set(found["dedicated"])


def test_task_totals_count_what_was_deleted():
    tasks = [a_task("good", 10), a_task("bad", 10, exit_code=1), a_task("late", 600), a_task("later", 600)]
    sim = simulation(a_job(tasks=tasks, priority=1), a_job("other"))
    run_to(sim, seconds=READY_S + 60)
    before = results.task_totals(sim)
    assert before == results.TaskTotals(total=5, succeeded=1, failed=1, active=3)
    assert before.completed == 2
    do(sim, "deleteJob", jobId="j")
    run_to_end(sim)
    # The task that ran was ended, which is a failure; the one in the queue came to nothing.
    assert results.task_totals(sim) == results.TaskTotals(total=5, succeeded=2, failed=2, active=0)


def test_acc_10_node_hours_run_from_the_first_moment_to_the_last():
    sim = simulation(pool=a_pool(nodes=2))
    run_to(sim, minutes=70)
    assert results.node_hours(sim.world.pools.rows, sim.now_ms) == pytest.approx(2 * (70 * 60 - 10) / 3600)
    do(sim, "deletePool", poolId="p")
    run_to_end(sim)
    assert results.node_hours(sim.world.pools.rows, sim.now_ms + 24 * HOUR_MS) < 2.4


def test_slot_utilization_is_busy_slot_time_over_that_of_ready_nodes():
    sim = simulation(a_job(tasks=[a_task(seconds=99)]), pool=a_pool(taskSlotsPerNode=2))
    assert results.slot_utilization(sim.world, sim.now_ms) == 0
    run_to(sim, seconds=READY_S + 50)
    assert sim.world.tasks.state[0] == RUNNING
    assert results.slot_utilization(sim.world, sim.now_ms) == 0.5
    run_to(sim, seconds=READY_S + 200)
    assert results.slot_utilization(sim.world, sim.now_ms) == 0.25
