"""What a node does now, and the output that was written last on it."""

from __future__ import annotations

from engine.base.terms import TaskState
from engine.views.hook_status import Hook, HookStatus
from engine.views.resources.instances import pages_of
from engine.views.resources.nodes import hooks_on, last_output, tasks_on
from tests.builders import READY_S, a_job, a_line, a_pool, a_shell, a_task, do, node_row, run_to, simulation


def test_tasks_come_with_their_start_and_planned_end():
    sim = simulation(
        a_job(tasks=[a_task("t1", 30), a_task("t2", 60)], prep=a_line(10)), pool=a_pool(taskSlotsPerNode=2)
    )
    run_to(sim, seconds=READY_S + 5)
    waits = tasks_on(sim, node_row(sim), 9)
    assert [(each.task_id, each.state, each.start_ms, each.planned_ms) for each in waits] == [
        ("t1", TaskState.PREPARING, None, None),
        ("t2", TaskState.PREPARING, None, None),
    ]
    run_to(sim, seconds=READY_S + 20)
    (first,) = tasks_on(sim, node_row(sim), 1)
    assert (first.job_id, first.task_id, first.state) == ("j", "t1", TaskState.RUNNING)
    assert first.planned_ms - first.start_ms == 31_000


def test_preparation_and_release_come_with_their_times():
    sim = simulation(a_job(prep=a_line(10, 3), release=a_line(20), tasks=[a_task("t1", 5)]))
    run_to(sim, seconds=READY_S + 5)
    pages = pages_of(sim, "j")
    (prep,) = hooks_on(pages, node_row(sim))
    assert (prep.hook, prep.view.end_ms) == (Hook.PREPARATION, None)
    assert prep.planned_ms - prep.view.start_ms == 11_000
    run_to(sim, seconds=READY_S + 300)
    (prep,) = hooks_on(pages_of(sim, "j"), node_row(sim))
    assert (prep.status, prep.view.exit_code, prep.planned_ms) == (HookStatus.FAILED, 3, None)


def test_the_last_output_is_that_of_the_process_that_ended_last():
    said = {"stdout": "begins\n\nends\n"}
    tasks = [a_task("t1", 10, simulate=said), {"id": "t2"} | a_shell("echo shell says so"), a_task("quiet", 5)]
    sim = simulation(a_job(tasks=tasks))
    node = node_row(sim) if sim.world.nodes.length else 0
    run_to(sim, seconds=READY_S + 3)
    assert last_output(sim, node, 5) is None
    run_to(sim, seconds=READY_S + 12)
    assert last_output(sim, node, 5) == ("t1", ("begins", "ends"), "j")
    assert last_output(sim, node, 1) == ("t1", ("ends",), "j")
    run_to(sim, seconds=READY_S + 60)
    assert last_output(sim, node, 5) == ("t2", ("shell says so",), "j")


def test_reading_the_last_output_writes_no_files_of_plain_tasks():
    tasks = {"type": "parametricSweep", "parameterSets": [{"start": 1, "end": 50}]}
    upload = {
        "filePattern": "../stdout.txt",
        "destination": {"container": {"containerUrl": "https://s.blob.core.windows.net/out?sas", "path": "t{0}"}},
        "uploadOptions": {"uploadCondition": "taskcompletion"},
    }
    tasks["repeatTask"] = {"id": "t{0}", "outputFiles": [upload]} | a_line(5, simulate={"stdout": "done\n"})
    job = a_job(tasks=[]) | {"taskFactory": tasks}
    sim = simulation(job)
    run_to(sim, seconds=READY_S + 100)
    packed = sim.world.disks.copy().packed
    assert packed
    found = last_output(sim, node_row(sim), 3)
    assert found.lines == ("done",)
    assert sim.world.disks.copy().packed == packed


def test_a_node_that_has_left_its_pool_has_no_output():
    sim = simulation(a_job(tasks=[a_task("t1", 5, simulate={"stdout": "x\n"})]))
    run_to(sim, seconds=READY_S + 20)
    assert last_output(sim, node_row(sim), 3) is not None
    do(sim, "resizePool", poolId="p", targetDedicatedNodes=0)
    run_to(sim, seconds=READY_S + 120)
    assert last_output(sim, 0, 3) is None
