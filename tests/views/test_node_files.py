"""Files on nodes as the service shows them: FILE-4, FILE-7, FILE-9, FILE-10."""

import pytest

from engine import BatchError
from engine.base.values import DAY_MS
from engine.rules.decisions.verdicts import job_named, node_named, pool_named, task_named
from engine.views.rest.nodes import files_of, node_tree, task_tree, tree
from tests.builders import (
    READY_S,
    REIMAGED_S,
    a_job,
    a_line,
    a_pool,
    a_shell,
    a_task,
    do,
    node,
    node_row,
    run_to,
    run_to_end,
    simulation,
)


def paths(sim, index=0, now_ms=None):
    return [entry.path for entry in files_of(sim.world, node_row(sim, index), sim.now_ms if now_ms is None else now_ms)]


def refused(look_up, *arguments):
    with pytest.raises(BatchError) as caught:
        look_up(*arguments)
    return caught.value.code


def text_in(found, path, now_ms):
    return found.find(path, now_ms).text


def read_node_file(world, pool_id, node_id, path, now_ms):
    return text_in(node_tree(world, node_named(world, pool_named(world, pool_id), node_id)), path, now_ms)


def read_task_file(world, job_id, task_id, path, now_ms):
    return text_in(task_tree(world, task_named(world, job_named(world, job_id), task_id), now_ms), path, now_ms)


def task_file(sim, path="stdout.txt", task="t1", now_ms=None):
    return read_task_file(sim.world, "j", task, path, sim.now_ms if now_ms is None else now_ms)


def task_file_refused(sim, path="stdout.txt", task="t1", now_ms=None):
    return refused(task_file, sim, path, task, now_ms)


SPEAKER = {"id": "t1"} | a_shell("echo hello; echo kept > kept.txt")


def test_file_4_a_task_that_writes_nothing_has_its_directory_all_the_same():
    sim = simulation(a_job(prep=a_line(5), release=a_line(5), onAllTasksComplete="terminatejob"))
    run_to_end(sim)
    inside = [path for path in paths(sim) if path.startswith("workitems")]
    directory = "workitems/j/job-1"
    below = [f"{directory}/{name}" for name in ("jobpreparation", "jobrelease", "t1")]
    expected = [f"{path}{end}" for path in below for end in ("", "/stderr.txt", "/stdout.txt", "/wd")]
    assert inside == ["workitems", "workitems/j", directory, *expected]
    assert task_file(sim) == task_file(sim, "stderr.txt") == ""


def test_file_4_only_tasks_that_ran_on_the_node():
    sim = simulation(a_job(tasks=3), pool=a_pool(nodes=2))
    run_to(sim, seconds=READY_S + 30)
    found = sorted(path for index in (0, 1) for path in paths(sim, index) if path.endswith("wd"))
    assert found == ["workitems/j/job-1/t1/wd", "workitems/j/job-1/t2/wd"]


def test_file_10_paths_are_relative_to_the_task_or_to_the_root_with_either_separator():
    sim = simulation(a_job(tasks=[SPEAKER]))
    run_to_end(sim)
    assert task_file(sim) == "hello\n"
    assert task_file(sim, r"wd\kept.txt") == "kept\n"
    for path in ("workitems/j/job-1/t1/wd/kept.txt", r"workitems\j\job-1\t1\wd\kept.txt"):
        assert read_node_file(sim.world, "p", node(sim).id, path, sim.now_ms) == "kept\n"


def test_file_10_errors_of_look_ups():
    sim = simulation(a_job(tasks=[SPEAKER]))
    run_to_end(sim)
    world, now_ms = sim.world, sim.now_ms
    node_id = node(sim).id
    assert task_file_refused(sim, "nothing.txt") == "FileNotFound"
    assert task_file_refused(sim, task="t9") == "TaskNotFound"
    assert refused(read_task_file, world, "x", "t1", "stdout.txt", now_ms) == "JobNotFound"
    assert refused(read_node_file, world, "x", node_id, "shared/x", now_ms) == "PoolNotFound"
    assert refused(read_node_file, world, "p", "tvm-1", "shared/x", now_ms) == "NodeNotFound"
    assert refused(read_node_file, world, "p", node_id, "shared/x", now_ms) == "FileNotFound"
    assert refused(read_node_file, world, "p", node_id, "workitems/x", now_ms) == "FileNotFound"


def test_file_10_what_lies_outside_the_root_is_not_seen():
    sim = simulation(a_job(tasks=[{"id": "t1"} | a_shell("echo x > /tmp/x; echo y > $AZ_BATCH_NODE_SHARED_DIR/y")]))
    run_to_end(sim)
    assert "shared/y" in paths(sim)
    assert not any("tmp" in path for path in paths(sim))
    assert refused(read_node_file, sim.world, "p", node(sim).id, "/tmp/x", sim.now_ms) == "FileNotFound"


@pytest.mark.parametrize("task", [SPEAKER, a_task()])
def test_file_7_a_directory_is_deleted_exactly_when_its_retention_is_over(task):
    sim = simulation(a_job(tasks=[task | {"constraints": {"retentionTime": "PT1H"}}]))
    run_to_end(sim)
    ended_ms = sim.world.tasks.ended[0]
    just_before, exactly = ended_ms + 3_600_000 - 1, ended_ms + 3_600_000
    assert task_file(sim, now_ms=just_before) in ("", "hello\n")
    assert "workitems/j/job-1/t1/stdout.txt" in paths(sim, now_ms=just_before)
    assert task_file_refused(sim, now_ms=exactly) == "TaskFilesCleanedup"
    assert not any("t1" in path for path in paths(sim, now_ms=exactly))


@pytest.mark.parametrize("hook", [a_line(5), a_shell("echo x > x")])
def test_file_7_directories_of_preparation_and_release_have_their_own_retention(hook):
    release = hook | {"retentionTime": "PT30M"}
    sim = simulation(a_job(prep=hook, release=release, onAllTasksComplete="terminatejob"))
    run_to_end(sim)
    later_ms = sim.now_ms + 3_600_000
    assert {"workitems/j/job-1/jobpreparation/wd", "workitems/j/job-1/jobrelease/wd"} <= set(paths(sim))
    assert "workitems/j/job-1/jobpreparation/wd" in paths(sim, now_ms=later_ms)
    assert not any("jobrelease" in path for path in paths(sim, now_ms=later_ms))
    assert not any("jobpreparation" in path for path in paths(sim, now_ms=later_ms + 7 * DAY_MS))


def test_file_7_unavailable_before_the_task_ran_and_when_the_node_is_gone():
    sim = simulation(a_job(tasks=[SPEAKER]))
    run_to(sim, seconds=10)
    assert task_file_refused(sim) == "TaskFilesUnavailable"
    run_to_end(sim)
    do(sim, "resizePool", poolId="p", targetDedicatedNodes=0)
    run_to_end(sim)
    assert task_file_refused(sim) == "TaskFilesUnavailable"
    assert paths(sim) == []


@pytest.mark.parametrize("task", [SPEAKER, a_task()])
def test_file_9_a_reimage_destroys_a_reboot_keeps(task):
    sim = simulation(a_job(tasks=[task], prep=a_line(5)))
    run_to(sim, minutes=5)
    do(sim, "rebootNode", poolId="p", node=0)
    run_to(sim, minutes=10)
    assert {"workitems/j/job-1/t1/wd", "workitems/j/job-1/jobpreparation/wd"} <= set(paths(sim))
    do(sim, "reimageNode", poolId="p", node=0)
    run_to(sim, seconds=600 + REIMAGED_S + 10)
    assert "workitems" in paths(sim)
    assert not any(path.startswith("workitems/") for path in paths(sim))
    assert task_file_refused(sim) == "TaskFilesUnavailable"


@pytest.mark.parametrize("task", [SPEAKER, a_task()])
def test_file_7_the_files_go_with_the_task_and_with_the_job(task):
    other = {"id": "t2"} | a_line(5)
    sim = simulation(a_job(tasks=[task, other]))
    run_to_end(sim)
    do(sim, "deleteTask", jobId="j", taskId="t1")
    assert [path for path in paths(sim) if path.endswith("wd")] == ["workitems/j/job-1/t2/wd"]
    do(sim, "deleteJob", jobId="j")
    run_to_end(sim)
    assert not any(path.startswith("workitems/j/") for path in paths(sim))


def test_file_4_a_task_that_was_moved_leaves_its_directory_on_both_nodes():
    sim = simulation(a_job(tasks=[a_task(seconds=300)]), pool=a_pool(nodes=2))
    run_to(sim, seconds=READY_S + 10)
    here = next(index for index in (0, 1) if "workitems/j/job-1/t1/wd" in paths(sim, index))
    do(sim, "rebootNode", poolId="p", node=here, nodeRebootOption="requeue")
    run_to_end(sim)
    assert all("workitems/j/job-1/t1/stdout.txt" in paths(sim, index) for index in (0, 1))


def test_file_1_the_tree_has_the_files_of_every_node_that_is_there():
    sim = simulation(a_job(tasks=[SPEAKER]), pool=a_pool(nodes=2))
    run_to_end(sim)
    files = {(pool, node_id, path): text for pool, node_id, path, text in tree(sim)}
    ran = sim.world.nodes[sim.world.tasks.node[0]].id
    assert files == {
        ("p", ran, "workitems/j/job-1/t1/stdout.txt"): "hello\n",
        ("p", ran, "workitems/j/job-1/t1/stderr.txt"): "",
        ("p", ran, "workitems/j/job-1/t1/wd/kept.txt"): "kept\n",
    }
