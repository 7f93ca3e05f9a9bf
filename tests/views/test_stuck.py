"""Concerns about work that makes no progress, and about waste: when they begin, whom they name, and near misses."""

from __future__ import annotations

import sys

import pytest

from engine.views.diagnosis.concerns import Attention
from tests.builders import (
    a_job,
    a_line,
    a_pool,
    a_task,
    evict,
    mpi_pool,
    run_to,
    run_to_end,
    simulation,
    some_tasks,
    times,
    together,
)


def items(sim, *kinds):
    """The severity, text and moment of the concerns of these kinds."""
    found = Attention(sim).items()
    return [(each.severity, each.text, each.since) for each in found if each.kind in kinds]


def item(sim, kind):
    """The only concern of a kind."""
    (found,) = (each for each in Attention(sim).items() if each.kind == kind)
    return found


# -- tasks that can never run


def test_a_multi_instance_task_in_a_pool_with_slots_is_told_from_the_beginning():
    sim = simulation(a_job(tasks=[together(), a_task()]), pool=mpi_pool(taskSlotsPerNode=2))
    run_to(sim, seconds=30)
    found = item(sim, "job-never-ends")
    assert (found.severity, found.since, found.rules) == ("error", 0, ("MI-2",))
    assert found.subject == {"poolId": "p", "jobId": "j"}
    assert found.effect == "pool p has 2 task slots per node, not 1"
    fitting = simulation(a_job(tasks=[together()]), pool=mpi_pool())
    run_to(fitting, seconds=30)
    assert items(fitting, "job-never-ends") == []


def test_a_task_that_is_too_large_is_told_while_others_run():
    sim = simulation(a_job(tasks=[a_task("large", requiredSlots=2), a_task()]))
    run_to(sim, seconds=70)
    assert items(sim, "job-never-ends") == [("error", "1 task of j too large for any node", 0)]


def test_dependencies_that_cannot_come_true_are_told_when_they_break_with_all_that_hangs_on_them():
    tasks = [
        a_task("bad", 30, 1),
        a_task("long", 600),
        a_task("second", dependsOn={"taskIds": ["bad"]}),
        a_task("third", dependsOn={"taskIds": ["second"]}),
        a_task("other", dependsOn={"taskIds": ["long"]}),
    ]
    sim = simulation(a_job(tasks=tasks, usesTaskDependencies=True), pool=a_pool(nodes=2))
    run_to(sim, seconds=70)
    assert items(sim, "job-never-ends") == []
    run_to(sim, seconds=120)
    found = item(sim, "job-never-ends")
    assert found.text == "2 tasks of j wait for others that have failed or do not exist"
    assert found.effect == "second waits for bad; another attempt would fail again (simulated)"
    assert 80 <= found.since <= 85


def test_a_dependency_on_a_missing_task_is_told_until_it_is_added():
    late = {"at": 100, "addTasks": {"jobId": "j", "tasks": [a_task("gone")]}}
    waits = a_task(dependsOn={"taskIds": ["gone"]})
    sim = simulation(a_job(tasks=[waits], usesTaskDependencies=True), timeline=[late])
    run_to(sim, seconds=90)
    assert [severity for severity, *_ in items(sim, "job-never-ends")] == ["info"]  # it may be added
    run_to(sim, seconds=110)
    assert items(sim, "job-never-ends") == []


def test_a_satisfied_dependency_on_a_failed_task_is_no_trouble():
    forgiving = {"default": {"dependencyAction": "satisfy"}}
    tasks = [a_task("bad", 5, 1, exitConditions=forgiving), a_task("next", 600, dependsOn={"taskIds": ["bad"]})]
    sim = simulation(a_job(tasks=tasks, usesTaskDependencies=True))
    run_to(sim, seconds=90)
    assert items(sim, "job-never-ends") == []


def test_a_disabled_job_names_the_task_whose_exit_has_disabled_it():
    action = {"default": {"jobAction": "disable"}}
    tasks = [a_task("bad", 5, 1, exitConditions=action), a_task("next")]
    sim = simulation(a_job(tasks=tasks, onTaskFailure="performExitOptionsJobAction"))
    run_to_end(sim)
    found = item(sim, "job-disabled")
    assert (found.severity, found.text) == ("error", "job j is disabled by the exit of task bad")
    by_hand = {"at": 5, "disableJob": {"jobId": "j", "disableTasks": "wait"}}
    sim = simulation(a_job(), timeline=[by_hand, {"at": 500, "enableJob": {"jobId": "j"}}])
    run_to(sim, seconds=60)
    assert [(severity, text) for severity, text, _ in items(sim, "job-disabled")] == [
        ("info", "job j is disabled by a user at 08:00:05")
    ]


def test_a_job_waits_for_its_pool_since_that_was_deleted():
    sim = simulation(a_job(tasks=[a_task("t", 600)]), timeline=[{"at": 100, "deletePool": {"poolId": "p"}}])
    run_to_end(sim)
    ((severity, _, since),) = items(sim, "job-without-pool")
    assert severity == "error"
    assert since >= 100


# -- processes that hang


def test_a_preparation_of_which_none_has_ended_is_told_after_an_hour():
    sim = simulation(a_job(prep=a_line(86_400)), until="P1D")
    run_to(sim, minutes=59)
    assert items(sim, "takes-long") == []
    run_to(sim, minutes=120)
    found = item(sim, "takes-long")
    assert (found.severity, found.subject["node"], found.subject["jobId"]) == ("warning", 0, "j")
    assert 3650 <= found.since <= 3660
    assert "nothing limits it" in found.effect


def test_a_preparation_is_compared_with_those_that_have_ended():
    prep = a_line(60) | {"simulate": {"duration": 60, "onNode": {1: {"duration": 7200}}}}
    sim = simulation(a_job(tasks=[a_task("a", 5000), a_task("b", 5000)], prep=prep), pool=a_pool(nodes=2))
    run_to(sim, minutes=10)
    assert items(sim, "takes-long") == []
    run_to(sim, minutes=12)
    assert item(sim, "takes-long").subject["node"] == 1


def test_a_start_task_of_more_than_an_hour_is_told():
    sim = simulation(pool=a_pool(startTask=a_line(86_400) | {"waitForSuccess": True}), until="P1D")
    run_to(sim, minutes=59)
    assert items(sim, "takes-long") == []
    run_to(sim, minutes=90)
    assert item(sim, "takes-long").subject["node"] == 0


def test_a_preparation_with_a_limit_is_left_to_it():
    limited = a_line(86_400, constraints={"maxWallClockTime": "PT2H"})
    sim = simulation(a_job(prep=limited), until="P1D")
    run_to(sim, minutes=100)
    assert items(sim, "takes-long") == []


def test_a_task_is_compared_with_those_with_the_same_command_line_but_for_its_numbers():
    tasks = [a_task(f"t{number}", 60, command=f"render --frame {number}") for number in range(5)]
    slow = a_task("slow", 36_000, command="render --frame 99")
    merge = a_task("merge", 36_000, command="merge")
    sim = simulation(a_job(tasks=[*tasks, slow, merge]), pool=a_pool(nodes=3), until="P1D")
    run_to(sim, minutes=8)
    assert items(sim, "takes-long") == []
    run_to(sim, minutes=30)
    found = item(sim, "takes-long")
    assert (found.severity, found.subject) == ("warning", {"jobId": "j", "taskId": "slow"})


def test_a_hanging_task_is_told_by_a_list_that_is_kept_as_by_a_new_one():
    tasks = [a_task(f"t{number}", 60 + number, command=f"render --frame {number}") for number in range(6)]
    slow = [a_task(f"s{number}", 7_000, command=f"render --frame 9{number}") for number in range(2)]
    restart = {"at": 3_000, "rebootNode": {"poolId": "p", "node": 0}}
    sim = simulation(a_job(tasks=[*slow, *tasks]), pool=a_pool(nodes=3), timeline=[restart], until="PT8H")
    kept, counts = Attention(sim), set()
    for when_s in (*range(300, 12_000, 60), 2_000, *range(2_000, 6_000, 60)):
        sim.seek(when_s * 1000)
        said, new = (
            [(one.text, one.since_ms, *one.items.tasks) for one in each.concerns() if one.about == "task"]
            for each in (kept, Attention(sim))
        )
        assert said == new, when_s
        counts |= {text.split(" of ")[0] for text, *_ in said}
    assert counts == {"task s1", "2 tasks"}


def test_the_cost_of_a_frame_does_not_grow_with_the_tasks_that_run():
    def calls(nodes):
        job = a_job(tasks=some_tasks(4 * nodes, {"uniform": [500, 900]}))
        sim = simulation(job, pool=a_pool(nodes=nodes, taskSlotsPerNode=4))
        run_to(sim, minutes=10)
        attention = Attention(sim)
        attention.concerns()
        sim.advance(sim.end_ms, 1)
        count = 0

        def counted(*of_call):
            nonlocal count
            count += of_call[1] in ("call", "c_call")

        sys.setprofile(counted)
        attention.concerns()
        sys.setprofile(None)
        return count

    assert calls(40) < 1.1 * calls(4)


# -- loops


def test_a_task_that_is_interrupted_three_times_is_told_with_what_it_cost():
    restarts = [{"at": 100 + 400 * at, "rebootNode": {"poolId": "p", "node": 0}} for at in range(4)]
    sim = simulation(a_job(tasks=[a_task("t", 3000)]), timeline=restarts)
    run_to(sim, seconds=700)
    assert items(sim, "interrupted-again") == []
    run_to(sim, seconds=950)
    found = item(sim, "interrupted-again")
    assert (found.severity, found.text) == ("warning", "task t of j was interrupted 3 times")
    assert "of work lost" in found.effect
    run_to_end(sim)
    found = item(sim, "interrupted-again")
    assert (found.severity, found.text) == ("info", "task t of j was interrupted 4 times")


def test_preemptions_count_and_retries_do_not():
    pool = a_pool(nodes=0, targetLowPriorityNodes=1)
    flaky = a_task("flaky", 5, 1, constraints={"maxTaskRetryCount": 4})
    sim = simulation(a_job(tasks=[a_task("t", 3000), flaky]), pool=pool | {"taskSlotsPerNode": 2})
    for at in range(3):
        run_to(sim, minutes=2 + 12 * at)
        evict(sim)
    run_to(sim, minutes=35)
    assert [text for _, text, _ in items(sim, "interrupted-again")] == ["task t of j was interrupted 3 times"]


def test_retries_that_fail_in_the_same_way_are_a_loop_after_five_attempts():
    sim = simulation(a_job(tasks=[a_task("t", 60, 1, constraints={"maxTaskRetryCount": -1})]), until="PT2H")
    run_to(sim, minutes=4)
    assert items(sim, "retried-in-vain") == []
    assert [severity for severity, *_ in items(sim, "task-retried")] == ["info"]
    run_to(sim, minutes=20)
    assert [severity for severity, *_ in items(sim, "retried-in-vain")] == ["warning"]


def test_a_node_on_which_everything_fails_is_named_instead_of_its_tasks():
    tasks = [a_task(f"t{number}", 30, simulate={"onNode": {1: {"exitCode": 9, "duration": 5}}}) for number in range(12)]
    sim = simulation(a_job(tasks=tasks), pool=a_pool(nodes=3))
    run_to_end(sim)
    found = item(sim, "node-fails-tasks")
    assert (found.severity, found.subject["node"], found.subject["jobId"]) == ("error", 1, "j")
    assert len(found.subject["taskIds"]) >= 3
    assert "reactivate" not in found.remedy
    assert items(sim, "task-failed") == []


def test_a_node_that_has_worked_and_fails_everything_from_some_task_on_is_named():
    bad = {"onNode": {1: {"exitCode": 9, "duration": 5}}}
    tasks = some_tasks(6, 30) + [a_task(f"u{number}", 30, simulate=bad) for number in range(12)]
    sim = simulation(a_job(tasks=tasks), pool=a_pool(nodes=3))
    run_to_end(sim)
    found = item(sim, "node-fails-tasks")
    assert found.subject["node"] == 1
    assert found.text.startswith("every task fails on node n1 of pool p: the last ")


@pytest.mark.parametrize("nodes", [1, 3])
def test_tasks_that_fail_by_their_own_command_lines_do_not_blame_a_node(nodes):
    wrong = [
        {**a_task(name, 5, exit_code=2), "commandLine": f"{name}.sh"} for name in ("copy", "sort", "merge", "check")
    ]
    sim = simulation(a_job(tasks=[*some_tasks(20, 30), *wrong]), pool=a_pool(nodes=nodes))
    run_to_end(sim)
    assert items(sim, "node-fails-tasks") == []


@pytest.mark.parametrize("seed", range(8))
def test_failures_by_chance_do_not_blame_a_node(seed):
    sim = simulation(a_job(tasks=some_tasks(40, 5, exit_code={0: 0.5, 1: 0.5})), pool=a_pool(nodes=4), seed=seed)
    run_to_end(sim)
    assert items(sim, "node-fails-tasks") == []


@pytest.mark.parametrize("nodes", [1, 3])
def test_tasks_that_fail_on_all_nodes_do_not_blame_a_node(nodes):
    sim = simulation(a_job(tasks=some_tasks(9, 5, exit_code=1)), pool=a_pool(nodes=nodes))
    run_to_end(sim)
    assert items(sim, "node-fails-tasks") == []
    assert [text for _, text, _ in items(sim, "task-failed")] == ["9 tasks failed: exit code 1"]


# -- waste


def test_an_idle_pool_is_told_from_the_end_of_its_last_job_on_and_not_while_more_is_to_come():
    ends = {"onAllTasksComplete": "terminatejob"}
    sim = simulation(a_job(**ends), until="PT1H")
    run_to(sim, seconds=90)
    assert items(sim, "idle-pool") == []
    run_to(sim, minutes=10)
    ((severity, text, since),) = items(sim, "idle-pool")
    assert (severity, text) == ("info", "no job uses pool p")
    assert 110 <= since <= 120
    later = {"at": 1800, "addTasks": {"jobId": "j", "tasks": []}}
    busy = simulation(a_job(**ends), timeline=[later | {"refused": "JobNotActive"}], until="PT1H")
    run_to(busy, minutes=10)
    assert items(busy, "idle-pool") == []


def test_few_used_slots_are_told_at_the_end():
    sim = simulation(a_job(tasks=[a_task()]), pool=a_pool(nodes=4), until="PT1H")
    sim.run_until(sim.end_ms)
    ((severity, text, _),) = items(sim, "slots-unused")
    assert (severity, text) == ("info", "0% of the task slots of pool p were used")
    busy = simulation(a_job(tasks=[a_task("t", 3000)]), until="PT1H")
    busy.run_until(busy.end_ms)
    assert items(busy, "slots-unused") == []


def test_nodes_that_a_user_has_taken_out_of_service_are_advice():
    disabled = {"at": 100, "disableNodeScheduling": {"poolId": "p", "node": 0}}
    sim = simulation(a_job(tasks=0), pool=a_pool(nodes=2), timeline=[disabled])
    run_to(sim, minutes=5)
    found = item(sim, "node-out-of-service")
    assert (found.severity, found.subject["node"]) == ("info", 0)


def test_a_job_left_open_costs_nothing_while_its_pool_works_for_others():
    sim = simulation(a_job(), a_job("other", at=100, tasks=[a_task("t", 600)]), until="PT20M")
    run_to(sim, minutes=5)
    assert item(sim, "job-never-ends").effect == ""
    sim.run_until(sim.end_ms)
    assert "1 node of pool p costs money" in item(sim, "job-never-ends").effect


def test_a_group_has_lasted_since_its_first_member():
    sim = simulation(a_job(tasks=[a_task(f"t{one}", 60 * one, 1) for one in (1, 2, 3)]), pool=a_pool(nodes=3))
    run_to(sim, minutes=10)
    first = min(times(sim, "TaskStateChanged", to="completed"))
    assert item(sim, "task-failed").since == first


def test_tasks_that_cannot_run_have_waited_no_longer_than_they_exist():
    later = {"at": 600, "addTasks": {"jobId": "j", "tasks": [a_task("late")]}}
    disabled = {"at": 100, "disableNodeScheduling": {"poolId": "p", "node": 0}}
    sim = simulation(a_job(tasks=0), timeline=[disabled, later])
    run_to(sim, minutes=15)
    assert item(sim, "no-node-takes-tasks").since >= 600


def test_a_healthy_run_has_nothing_above_info():
    sim = simulation(a_job(tasks=20, prep=a_line(30), release=a_line(5), onAllTasksComplete="terminatejob"))
    for minutes in range(1, 30):
        run_to(sim, minutes=minutes)
        assert {severity for severity, *_ in items(sim, *{each.kind for each in Attention(sim).items()})} <= {"info"}
