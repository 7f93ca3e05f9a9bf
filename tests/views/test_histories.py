"""Histories agree with the tables at every moment, and read each entry once."""

from __future__ import annotations

import pytest

from engine import Simulation, load_scenario
from engine.base.terms import JobState, TaskResult, TaskState
from engine.views.log.histories import JobHistory, NodeHistory, RunCause, TaskHistory, recent_tasks
from engine.views.log.reader import LogReader
from engine.views.resources.tasks import dependencies_of
from tests.builders import READY_S, STOPPED, a_job, a_line, a_pool, a_task, do, run_to, simulation

SCENARIOS = [
    "preparation-retries",
    "reboot-after-preparation",
    "reboot-during-release",
    "spot-evictions",
    "nodes-fail-and-recover",
    "reimage-clears-the-bar",
    "retries-and-exit-conditions",
    "mpi-in-trouble",
]


def finished(name):
    sim = Simulation(load_scenario(name))
    sim.run_until(sim.end_ms)
    sim.finish()
    return sim


def moments(sim):
    every = sorted(set(sim.log.when))
    return every[:: -(-len(every) // 20)]


def seen(sim, histories):
    """Compare the histories of each node, task and job with the tables."""
    world = sim.world
    for node in range(world.nodes.length):
        history = histories.setdefault(("node", node), NodeHistory(sim, node))
        assert history.states()[-1].state is world.nodes.state_of(node)
        assert history.states()[-1].begin_ms == world.nodes.since[node]
        if recent := recent_tasks(world, [node])[node]:  # nothing where nothing has run on the present disk
            assert history.recent_tasks() == recent
        for job in world.jobs.present():
            row = world.instances.row(job.row, node)
            for is_release, view in enumerate(
                (world.instances.prep(row), world.instances.release(row)) if row >= 0 else ()
            ):
                runs = history.instance_runs(job.id, is_release=bool(is_release))
                assert len(runs) == (view.runs if view else 0)
                if view is not None:
                    last = runs[-1]
                    assert (last.start_ms, last.exit_code, last.result) == (view.start_ms, view.exit_code, view.result)
                    assert (last.cause is RunCause.RETRY) == bool(view.retry_count)
    for task in range(world.tasks.length):
        history = histories.setdefault(("task", task), TaskHistory(sim, task))
        assert history.steps()[-1].state is world.tasks.state_of(task)
        if world.tasks.state_of(task) is TaskState.RUNNING:
            assert history.attempts()[-1].start_ms == world.tasks.started[task]
            assert history.attempts()[-1].node == world.tasks.node[task]
            assert history.attempts()[-1].number == world.tasks.extra(task).attempts
    for job in world.jobs.rows:
        assert histories.setdefault(("job", job.row), JobHistory(sim, job.row)).states()[-1].state is job.state


@pytest.mark.parametrize("name", SCENARIOS)
def test_histories_agree_with_the_tables_at_every_moment(name):
    sim = finished(name)
    kept = {}
    seen(sim, kept)
    for when_ms in reversed(moments(sim)):
        sim.seek(when_ms)
        seen(sim, kept)
    sim.seek(moments(sim)[-1])
    seen(sim, kept)


def test_a_branch_makes_a_history_forget_what_is_no_more():
    sim = finished("preparation-retries")
    history = TaskHistory(sim, 0)
    assert history.attempts()[-1].ended_as is TaskState.COMPLETED
    sim.seek(100_000)
    sim.branch()
    assert [each.state for each in history.steps()] == [TaskState.ACTIVE, TaskState.PREPARING]
    sim.run_until(300_000)
    assert history.steps() == TaskHistory(sim, 0).steps()


def test_prep_12_runs_with_their_causes():
    prep = a_line(5, simulate={"attempts": [{"exitCode": 1}]}, constraints={"maxTaskRetryCount": 1})
    sim = simulation(a_job(tasks=[a_task("t1", 10), a_task("t2", 600)], prep=prep))
    run_to(sim, seconds=READY_S + 40)
    do(sim, "reimageNode", poolId="p", node=0)
    run_to(sim, seconds=READY_S + 400)
    runs = NodeHistory(sim, 0).instance_runs("j", is_release=False)
    assert [run.cause for run in runs] == [RunCause.FIRST, RunCause.RETRY, RunCause.REIMAGE]
    assert [run.exit_code for run in runs] == [1, 0, 0]
    assert [run.result for run in runs] == [TaskResult.FAILURE, TaskResult.SUCCESS, TaskResult.SUCCESS]
    assert runs[0].end_ms == runs[1].start_ms


def test_prep_12_the_codes_of_runs_that_were_retried_are_those_of_the_branch():
    nodes = {0: {"attempts": [{"duration": 20, "exitCode": code} for code in (1, 2, 3)]}}
    sim = simulation(a_job(prep=a_line(5, simulate={"onNode": nodes}, constraints={"maxTaskRetryCount": -1})))
    run_to(sim, seconds=READY_S + 90)

    def codes():
        return [run.exit_code for run in NodeHistory(sim, 0).instance_runs("j", is_release=False)]

    assert codes()[:3] == [1, 2, 3]
    sim.seek((READY_S + 30) * 1000)
    assert codes() == [1, None]
    sim.branch()
    do(sim, "rebootNode", poolId="p", node=0)
    run_to(sim, seconds=READY_S + 300)
    assert codes()[:3] == [1, STOPPED, 3]


def test_prep_8_the_tasks_that_went_back_when_preparation_failed():
    sim = simulation(a_job(tasks=2, prep=a_line(5, 1)), pool=a_pool(taskSlotsPerNode=2))
    run_to(sim, seconds=READY_S + 20)
    assert NodeHistory(sim, 0).requeued("j") == [0, 1]
    assert NodeHistory(sim, 0).requeued("no-such-job") == []


def test_how_long_a_task_was_in_each_state_over_all_attempts():
    sim = simulation(a_job(tasks=[a_task("t1", 9, 1)], constraints={"maxTaskRetryCount": 2}))
    run_to(sim, minutes=5)
    stays = TaskHistory(sim, 0).times()
    assert stays[TaskState.RUNNING].spent_ms == 30_000
    assert stays[TaskState.ACTIVE].spent_ms == READY_S * 1000
    assert TaskState.PREPARING not in stays


def test_a_state_that_a_task_comes_back_to_is_counted_and_timed_from_its_first_moment():
    prep = a_line(5, simulate={"onNode": {0: {"exitCode": 3}}})
    sim = simulation(a_job(tasks=1, prep=prep), pool=a_pool(targetDedicatedNodes=1))
    run_to(sim, seconds=READY_S + 20)
    do(sim, "resizePool", poolId="p", targetDedicatedNodes=2)
    run_to(sim, minutes=10)
    stays = TaskHistory(sim, 0).times()
    assert stays[TaskState.ACTIVE].times == 2
    entered = [stays[state].entered_ms for state in TaskState if state in stays]
    assert entered == sorted(entered)
    assert entered[0] == 0


def test_a_deleted_task_has_been_gone_since_then():
    sim = simulation(a_job())
    run_to(sim, seconds=READY_S + 5)
    do(sim, "deleteTask", jobId="j", taskId="t1")
    run_to(sim, seconds=READY_S + 60)
    assert TaskHistory(sim, 0).steps()[-1].state is None
    assert NodeHistory(sim, 0).recent_tasks() == []


# --- dependencies


def test_dep_2_dependencies_in_both_directions():
    tasks = [
        a_task("1"),
        a_task("2"),
        a_task("b", dependsOn={"taskIds": ["1", "nobody"]}),
        a_task("c", dependsOn={"taskIdRanges": [{"start": 1, "end": 2}]}),
    ]
    sim = simulation(a_job(tasks=tasks, usesTaskDependencies=True))
    run_to(sim, seconds=1)
    first, named, ranged = (dependencies_of(sim, task) for task in (0, 2, 3))
    assert first.children == [2, 3]
    assert named.parents == [("1", 0), ("nobody", None)]
    assert ranged.ranges == [(1, 2, 2, [("1", 0), ("2", 1)])]
    run_to(sim, seconds=READY_S + 65)
    assert dependencies_of(sim, 3).ranges[0].missing == 1
    do(sim, "deleteTask", jobId="j", taskId="b")
    assert dependencies_of(sim, 0).children == [3]


def test_dep_1_a_job_without_dependencies_has_none():
    sim = simulation(a_job())
    run_to(sim, seconds=1)
    assert not dependencies_of(sim, 0).is_used


def test_the_history_of_a_job_reads_none_of_the_entries_of_its_nodes(monkeypatch):
    read, every = [], LogReader.__iter__
    monkeypatch.setattr(LogReader, "__iter__", lambda reader: (read.append(entry) or entry for entry in every(reader)))
    sim = Simulation(load_scenario("job-prep-release-sample"))
    sim.run_until(330_000)
    history = JobHistory(sim, 0)
    assert history.states()[0].state is JobState.ACTIVE
    read.clear()
    assert len(history.states()) == len(read)
