"""The files of one node as the dashboard lists them, with future deletions of directories."""

import pytest

from engine import Simulation, load_scenario
from engine.base.values import DAY_MS, MINUTE_MS
from engine.views.log.histories import last_directory
from engine.views.resources.processes import Deletion, DeletionCause, FilePage
from engine.views.rest.nodes import files_of
from tests.builders import (
    READY_S,
    REIMAGED_S,
    a_job,
    a_line,
    a_pool,
    a_shell,
    a_task,
    do,
    mpi_pool,
    node_row,
    run_to,
    run_to_end,
    simulation,
    together,
)

JOB = "workitems/j/job-1"
SPEAKER = {"id": "t1"} | a_shell("echo hello; echo kept > kept.txt")


def page_of(sim, index=0):
    return FilePage(sim, node_row(sim, index))


def present(page):
    """The paths below the root, each with whether it is a directory, and its size, sorted."""
    found, pending = [], list(page.children(""))
    while pending:
        item = page.item(pending.pop())
        found.append(item)
        pending += page.children(item.path)
    return sorted(found)


@pytest.mark.parametrize("name", ["how-long-files-are-kept", "a-full-disk", "mpi-on-four-nodes", "spot-evictions"])
def test_a_page_that_is_kept_shows_what_the_file_api_shows(name):
    sim = Simulation(load_scenario(name))
    pages = {}
    compared = 0
    for number in range(1, 61):
        sim.run_until(number * 3 * MINUTE_MS)
        for node in range(len(sim.world.nodes.state)):
            page = pages.setdefault(node, FilePage(sim, node))
            page.update()
            entries = files_of(sim.world, node, sim.now_ms)
            found = [(entry.path, entry.size) for entry in entries if not entry.is_directory]
            assert [(path, size) for path, is_directory, size in present(page) if not is_directory] == found
            assert {entry.path for entry in entries} <= {path for path, _, _ in present(page)}
            assert all(page.read(entry.path) == entry.text for entry in entries)
            compared += len(found)
    assert compared


def test_a_directory_is_as_large_as_all_that_is_below_it():
    sim = simulation(a_job(tasks=[SPEAKER]))
    run_to_end(sim)
    page = page_of(sim)
    sizes = {path: size for path, _, size in present(page)}
    assert sizes[f"{JOB}/t1/stdout.txt"] == 6
    assert sizes[f"{JOB}/t1/wd"] == 5
    assert sizes[f"{JOB}/t1"] == sizes["workitems"] == page.item("").size == 11
    assert page.children(f"{JOB}/t1") == [f"{JOB}/t1/{name}" for name in ("stderr.txt", "stdout.txt", "wd")]
    assert page.item("nothing") is page.read("nothing") is page.read("workitems") is None


def test_file_7_a_directory_says_when_its_retention_is_over_and_then_it_is_gone():
    task = SPEAKER | {"constraints": {"retentionTime": "PT1H"}}
    sim = simulation(a_job(tasks=[task, a_task("t2", seconds=600)], prep=a_line(5)))
    run_to(sim, seconds=READY_S + 15)
    page = page_of(sim)
    hour = 60 * MINUTE_MS
    ended_ms = sim.world.tasks.ended[0]
    assert page.deletions(f"{JOB}/t1/wd/kept.txt") == [Deletion(DeletionCause.RETENTION, ended_ms + hour, hour)]
    assert page.deletions(f"{JOB}/t2") == [Deletion(DeletionCause.RETENTION, None, 7 * DAY_MS)]
    prepared_ms = sim.world.instances.prep(0).end_ms
    assert page.deletions(f"{JOB}/jobpreparation") == [
        Deletion(DeletionCause.RETENTION, prepared_ms + 7 * DAY_MS, 7 * DAY_MS)
    ]
    assert page.deletions("shared") == []
    sim.run_until(ended_ms + hour - 1)
    page.update()
    assert page.item(f"{JOB}/t1") is not None
    sim.run_until(ended_ms + hour)
    assert page.update()
    assert page.item(f"{JOB}/t1") is None
    assert page.children(f"{JOB}/t1") == ()
    assert page.read(f"{JOB}/t1/stdout.txt") is None


def test_nothing_is_read_again_where_nothing_has_happened_on_the_node():
    sim = simulation(a_job(tasks=[a_task("t1", 60), a_task("t2", 600)]), pool=a_pool(nodes=2))
    run_to(sim, seconds=READY_S + 10)
    here = sim.world.nodes[sim.world.tasks.node[1]].position
    page = page_of(sim, here)
    run_to(sim, seconds=READY_S + 120)
    assert sim.world.tasks.ended[0] < sim.now_ms
    assert not page.update()
    sim.seek(sim.now_ms - 1)
    assert page.update()


@pytest.mark.parametrize(
    ("command", "causes"),
    [
        ("reimageNode", [DeletionCause.REIMAGED]),
        ("deallocateNode", [DeletionCause.DEALLOCATED]),
        ("removeNodes", [DeletionCause.LEFT]),
        ("rebootNode", []),
    ],
)
def test_file_9_what_is_done_to_the_node_takes_everything(command, causes):
    sim = simulation(a_job(tasks=[a_task("t1", 60), a_task("t2", 600)], prep=a_line(5)))
    run_to(sim, minutes=3)
    page = page_of(sim)
    which = {"nodeList": [0]} if command == "removeNodes" else {"node": 0}
    option = {
        "reimageNode": "nodeReimageOption",
        "deallocateNode": "nodeDeallocateOption",
        "removeNodes": "nodeDeallocationOption",
        "rebootNode": "nodeRebootOption",
    }[command]
    do(sim, command, poolId="p", **which, **{option: "taskcompletion"})
    assert [fate.cause for fate in page.deletions("shared")] == causes
    assert [fate.when_ms for fate in page.deletions("shared")] == [None] * len(causes)
    run_to(sim, minutes=15)
    page.update()
    there = [page.item(f"{JOB}/{name}") is not None for name in ("t1", "jobpreparation")]
    assert there == [not causes] * 2
    assert (page.left_ms is None) == (causes != [DeletionCause.LEFT])


def test_what_runs_again_after_a_reimage_is_there_again():
    sim = simulation(a_job(tasks=[a_task("t1", seconds=900)]))
    run_to(sim, minutes=3)
    do(sim, "reimageNode", poolId="p", node=0, nodeReimageOption="requeue")
    page = page_of(sim)
    assert page.item(f"{JOB}/t1") is None
    run_to(sim, seconds=180 + REIMAGED_S + 20)
    page.update()
    assert page.item(f"{JOB}/t1/stdout.txt") is not None


def test_the_files_go_with_their_task_or_job():
    sim = simulation(a_job(tasks=[SPEAKER, {"id": "t2"} | a_line(5)]))
    run_to_end(sim)
    page = page_of(sim)
    do(sim, "deleteTask", jobId="j", taskId="t1")
    page.update()
    assert page.item(f"{JOB}/t1") is None
    assert page.item(f"{JOB}/t2") is not None
    do(sim, "deleteJob", jobId="j")
    run_to_end(sim)
    page.update()
    assert page.item(f"{JOB}/t2") is None


def test_a_job_that_is_being_deleted_says_so():
    sim = simulation(a_job(tasks=[SPEAKER], prep=a_line(5), release=a_line(300)))
    run_to(sim, minutes=3)
    do(sim, "deleteJob", jobId="j")
    page = page_of(sim)
    assert [fate.cause for fate in page.deletions(f"{JOB}/t1")] == [DeletionCause.JOB_DELETED, DeletionCause.RETENTION]


def test_spot_7_the_moment_of_an_eviction_is_known_during_the_notice():
    sim = simulation(
        a_job(tasks=[a_task(seconds=3600)]),
        pool=a_pool(targetDedicatedNodes=0, targetLowPriorityNodes=1),
        timeline=[{"at": "PT5M", "evictNode": {"poolId": "p", "node": 0}}],
    )
    run_to(sim, minutes=5, seconds=1)
    page = page_of(sim)
    fates = page.deletions("shared")
    assert [fate.cause for fate in fates] == [DeletionCause.PREEMPTED]
    assert fates[0].when_ms > sim.now_ms
    sim.run_until(fates[0].when_ms)
    page.update()
    assert page.item(f"{JOB}/t1") is None


def test_a_task_on_several_nodes_has_a_directory_on_each():
    sim = simulation(a_job(tasks=[together(instances=2)]), pool=mpi_pool(nodes=2))
    run_to_end(sim)
    assert all(page_of(sim, index).item(f"{JOB}/mpi") is not None for index in (0, 1))


def test_where_a_task_started_last():
    sim = simulation(a_job(tasks=[a_task(seconds=300)]), pool=a_pool(nodes=2))
    run_to(sim, seconds=10)
    assert last_directory(sim, 0) is None
    run_to(sim, seconds=READY_S + 10)
    first = sim.world.tasks.node[0]
    assert last_directory(sim, 0) == (first, f"{JOB}/t1")
    do(sim, "rebootNode", poolId="p", node=sim.world.nodes[first].position, nodeRebootOption="requeue")
    run_to_end(sim)
    assert last_directory(sim, 0) == (sim.world.tasks.node[0], f"{JOB}/t1")
    assert sim.world.tasks.node[0] != first
