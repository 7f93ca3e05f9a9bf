"""Chapter 15: which task waits for which, and when it need not wait any longer."""

from __future__ import annotations

import pytest

from engine.state.task_tables import DependencyBook, number_of
from tests.builders import (
    READY_S,
    a_job,
    a_pool,
    a_task,
    do,
    events,
    job_state,
    refusal,
    run,
    run_to,
    run_to_end,
    simulation,
    task_extra,
    task_history,
    task_row,
    task_state,
    times,
)

SATISFY = {"exitConditions": {"default": {"dependencyAction": "satisfy"}}}
BLOCK_ZERO = {"exitConditions": {"exitCodes": [{"code": 0, "exitOptions": {"dependencyAction": "block"}}]}}


def child(*ids, name="child", ranges=(), **more):
    wanted = {"taskIds": list(ids), "taskIdRanges": [{"start": low, "end": high} for low, high in ranges]}
    return a_task(name, 10, dependsOn=wanted, **more)


def family(start, *tasks, nodes=1, **job):
    return start(a_job(tasks=list(tasks), usesTaskDependencies=True, **job), pool=a_pool(nodes=nodes))


def began(sim, task="child"):
    return times(sim, "TaskStateChanged", taskId=task, to="running")


def ended(sim, task):
    return times(sim, "TaskStateChanged", taskId=task, to="completed")


def test_dep_1_dependencies_need_a_job_that_uses_them(start):
    sim = start(a_job())
    run(sim, seconds=1)
    assert refusal(sim, "addTasks", jobId="j", tasks=[child("t1")]) == "TaskDependenciesNotSpecifiedOnJob"


def test_dep_2_the_list_of_ids_has_a_limit(start):
    sim = family(start, a_task("p"))
    run(sim, seconds=1)
    ids = [f"{number:064}" for number in range(1001)]
    assert refusal(sim, "addTasks", jobId="j", tasks=[child(*ids)]) == "TaskDependencyListTooLong"
    assert refusal(sim, "addTasks", jobId="j", tasks=[child(*ids[:1000])]) is None


@pytest.mark.parametrize(
    "wanted",
    [
        child("1"),
        child("1", "2", "3"),
        child(ranges=[(1, 3)]),
        child(ranges=[(1, 1), (2, 3)]),
        child("1", ranges=[(2, 3)]),
        child("1", "1", ranges=[(1, 3), (1, 3), (2, 2)]),
    ],
)
def test_dep_2_ids_and_ranges_and_mixtures_of_them(start, wanted):
    sim = family(start, wanted, *(a_task(str(number), 10 * number) for number in (1, 2, 3)), nodes=3)
    run_to_end(sim)
    last = "1" if wanted["dependsOn"] == child("1")["dependsOn"] else "3"
    assert began(sim) == ended(sim, last)


@pytest.mark.parametrize(
    ("task_id", "number"),
    [
        ("4", 4),
        ("04", 4),
        ("004", 4),
        ("0", 0),
        ("5flamingoes", None),
        ("-1", None),
        ("1.0", None),
        ("٤", None),
        ("", None),
    ],
)
def test_dep_3_a_range_selects_decimal_ids_leading_zeros_ignored(task_id, number):
    assert number_of(task_id) == number


def test_dep_3_the_first_of_several_spellings_satisfies_the_number(start):
    sim = family(start, child(ranges=[(4, 4)]), a_task("4", 50), a_task("04", 20), a_task("004", 80), nodes=3)
    run_to_end(sim)
    assert began(sim) == ended(sim, "04")


def test_dep_3_another_spelling_is_not_the_id_of_a_list(start):
    sim = family(start, child("4"), a_task("04"))
    run_to_end(sim)
    assert task_state(sim, "child") == "active"


def test_dep_3_what_is_no_number_is_never_in_a_range(start):
    sim = family(start, child(ranges=[(5, 5)]), a_task("5flamingoes"))
    run_to_end(sim)
    assert task_state(sim, "child") == "active"


def test_dep_4_ids_are_compared_without_regard_to_case(start):
    sim = family(start, child("PARENT"), a_task("Parent"))
    run_to_end(sim)
    assert task_state(sim, "child") == "completed"


def test_dep_4_a_parent_may_have_been_completed_before_the_dependent_came(start):
    sim = family(start, a_task("7"))
    run_to_end(sim)
    do(sim, "addTasks", jobId="j", tasks=[child("7", ranges=[(7, 7)])])
    run_to_end(sim)
    assert task_state(sim, "child") == "completed"


@pytest.mark.parametrize("wanted", [{"ids": ["7"]}, {"ranges": [(7, 7)]}])
def test_dep_4_what_is_satisfied_stays_so_when_the_tasks_are_deleted_and_added_again(start, wanted):
    dependent = child(*wanted.get("ids", ()), ranges=wanted.get("ranges", ()))
    sim = family(start, a_task("7", 20), dependent, nodes=2)
    run_to_end(sim)
    for task in ("7", "child"):
        do(sim, "deleteTask", jobId="j", taskId=task)
    run(sim, minutes=1)
    sim.seek(sim.now_ms - 30_000)  # what is satisfied is worked out from the tasks anew
    do(sim, "addTasks", jobId="j", tasks=[a_task("7", 3600), dependent])
    run(sim, minutes=2)
    assert (task_state(sim, "7"), task_state(sim, "child")) == ("running", "completed")


def test_dep_4_a_number_missing_in_a_range_blocks_until_it_is_there(start):
    sim = family(start, child(ranges=[(1, 3)]), a_task("1"), a_task("3"))
    run_to_end(sim)
    assert task_state(sim, "child") == "active"
    do(sim, "addTasks", jobId="j", tasks=[a_task("002")])
    run_to_end(sim)
    assert began(sim) == ended(sim, "002")


def test_dep_4_a_failure_mapped_to_satisfy_lets_dependents_run(start):
    sim = family(start, child("p"), a_task("p", exit_code=1, **SATISFY))
    run_to_end(sim)
    assert task_state(sim, "child") == "completed"


def test_dep_4_a_success_mapped_to_block_does_not(start):
    sim = family(start, child("p"), a_task("p", **BLOCK_ZERO))
    run_to_end(sim)
    assert task_state(sim, "child") == "active"


def test_dep_5_a_failed_parent_blocks_for_ever_and_cancels_nothing(start):
    sim = family(start, child("p"), a_task("p", exit_code=1), onAllTasksComplete="terminatejob")
    run_to_end(sim)
    assert (task_state(sim, "child"), job_state(sim)) == ("active", "active")
    assert task_history(sim, "child") == ["active"]


def test_dep_5_an_id_that_comes_later_unblocks(start):
    sim = family(start, child("late"))
    run_to(sim, minutes=10)
    assert task_state(sim, "child") == "active"
    do(sim, "addTasks", jobId="j", tasks=[a_task("late")])
    run_to_end(sim)
    assert task_state(sim, "child") == "completed"


def test_dep_6_a_parent_satisfies_after_its_last_retry_only(start):
    parent = a_task("p", 10, 1, constraints={"maxTaskRetryCount": 2}, **SATISFY)
    sim = family(start, child("p"), parent, nodes=2)
    run_to_end(sim)
    assert began(sim) == ended(sim, "p")
    assert task_extra(sim, "p").retry_count == 2


def test_dep_6_a_reactivated_parent_can_unblock(start):
    sim = family(start, child("p"), a_task("p", simulate={"attempts": [{"exitCode": 1}]}))
    run_to_end(sim)
    assert task_state(sim, "child") == "active"
    do(sim, "reactivateTask", jobId="j", taskId="p")
    run_to_end(sim)
    assert task_state(sim, "child") == "completed"


def test_dep_6_dependents_that_ran_are_not_undone(start):
    sim = family(start, child("p"), a_task("p", exit_code=1, **SATISFY))
    run_to_end(sim)
    do(sim, "reactivateTask", jobId="j", taskId="p")
    run_to_end(sim)
    assert task_history(sim, "child") == ["active", "running", "completed"]


def test_dep_6_a_task_ended_by_the_user_blocks_its_dependents(start):
    sim = family(start, a_task("p"), child("p"))
    run_to(sim, seconds=READY_S + 5)
    do(sim, "terminateTask", jobId="j", taskId="p")
    run_to_end(sim)
    assert task_state(sim, "child") == "active"


@pytest.mark.parametrize(
    "tasks",
    [
        [child("child")],
        [child("b", name="a"), child("a", name="b")],
        [child(ranges=[(1, 2)], name="1"), a_task("2")],
        [child("c", name="a"), child("a", name="b"), child("b", name="c")],
    ],
)
def test_dep_7_a_cycle_is_accepted_and_stays_blocked(start, tasks):
    sim = family(start, *tasks)
    run_to_end(sim)
    assert task_state(sim, tasks[0]["id"]) == "active"
    assert sim.world.jobs.find("j").ready_count == 0


def test_dep_7_a_cycle_can_be_broken_by_hand(start):
    sim = family(start, child("b", name="a"), child("a", name="b", **SATISFY))
    run_to(sim, minutes=2)
    do(sim, "terminateTask", jobId="j", taskId="b")
    run_to_end(sim)
    assert task_extra(sim, "a").failure is None
    assert task_state(sim, "a") == "completed"


def test_dep_7_a_parent_deleted_too_early_keeps_its_dependents_blocked(start):
    sim = family(start, a_task("p"), child("p"))
    run_to(sim, seconds=READY_S + 5)
    do(sim, "deleteTask", jobId="j", taskId="p")
    run_to_end(sim)
    assert task_state(sim, "child") == "active"
    do(sim, "addTasks", jobId="j", tasks=[a_task("p")])
    run_to_end(sim)
    assert task_state(sim, "child") == "completed"


def test_dep_7_a_parent_deleted_after_it_has_satisfied_does_not(start):
    sim = family(start, a_task("p"), child("p", "q"), a_task("q", 300))
    run_to(sim, seconds=READY_S + 70)
    do(sim, "deleteTask", jobId="j", taskId="p")
    run_to_end(sim)
    assert task_state(sim, "child") == "completed"


# -- combinations ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("nodes", [1, 2])
def test_dep_4_a_parent_that_ends_before_the_scheduler_has_seen_the_dependent(start, nodes):
    """TIME-9: the dependent is added half a second before its parent ends; it is queued once, not twice."""
    sim = family(start, a_task("p"), a_task("long", 300), a_task("longer", 300), nodes=nodes)
    run_to(sim, seconds=READY_S + 60.5)
    do(sim, "addTasks", jobId="j", tasks=[child("p")])
    run(sim, seconds=5)
    assert sim.world.jobs.find("j").ready_count == (2 if nodes == 1 else 1)
    run_to_end(sim)
    assert task_history(sim, "child") == ["active", "running", "completed"]
    assert sim.world.jobs.find("j").ready_count == 0


def test_time_9_a_dependent_is_not_seen_before_its_second_has_passed(start):
    sim = family(start, a_task("p"), nodes=2)
    run_to(sim, seconds=READY_S + 60.5)
    do(sim, "addTasks", jobId="j", tasks=[child("p")])
    run_to_end(sim)
    assert began(sim) == [READY_S + 61.501]


def test_dep_5_a_blocked_task_can_be_ended_deleted_and_reactivated(start):
    sim = family(start, child("p", name="a"), child("p", name="b"))
    run_to(sim, minutes=2)
    do(sim, "terminateTask", jobId="j", taskId="a")
    do(sim, "deleteTask", jobId="j", taskId="b")
    do(sim, "reactivateTask", jobId="j", taskId="a")
    run(sim, minutes=1)
    assert task_state(sim, "a") == "active"
    do(sim, "addTasks", jobId="j", tasks=[a_task("p")])
    run_to_end(sim)
    assert task_state(sim, "a") == "completed"
    assert [event["to"] for event in events(sim, "TaskStateChanged", taskId="b")] == ["active", None]


def test_dep_4_unblocked_tasks_go_in_creation_order(start):
    sim = family(start, child("p", name="b"), a_task("p", 30), child("p", name="a"), a_task("plain", 30))
    run_to_end(sim)
    order = [event["taskId"] for event in events(sim, "TaskStateChanged", to="running")]
    assert order == ["p", "b", "a", "plain"]


def test_dep_4_a_preparing_parent_satisfies_nobody(start):
    sim = family(start, a_task("p"), child("p"), prep={"commandLine": "x", "simulate": {"exitCode": 1}})
    run_to_end(sim)
    assert (task_state(sim, "p"), task_state(sim, "child")) == ("active", "active")


def test_dep_4_a_job_that_moves_to_another_pool_remembers_what_is_satisfied(start):
    tasks = [a_task("p"), child("p", "q"), a_task("q", 300)]
    sim = start(a_job(tasks=tasks, usesTaskDependencies=True), pools=[a_pool("p"), a_pool("other")])
    run_to(sim, seconds=READY_S + 70)
    do(sim, "disableJob", jobId="j", disableTasks="requeue")
    run(sim, seconds=3)
    do(sim, "updateJob", jobId="j", poolInfo={"poolId": "other"})
    do(sim, "enableJob", jobId="j")
    run_to_end(sim)
    assert task_state(sim, "child") == "completed"


def test_dep_5_the_book_made_anew_knows_the_same(start):
    """Going back in time makes the book from the tasks."""
    sim = family(start, a_task("1"), child("1", "x"), child(ranges=[(1, 2)], name="other"), a_task("4", exit_code=1))
    run_to_end(sim)
    job = sim.world.jobs.find("j").row
    anew = DependencyBook.of(job, sim.world.tasks)
    waiting = [task_row(sim, "child"), task_row(sim, "other")]
    assert list(anew.waiting()) == list(sim.world.dependencies[job].waiting()) == waiting
    assert anew.satisfy("x") == [waiting[0]]
    assert anew.satisfy("002") == [waiting[1]]


def test_dep_2_a_thousand_tasks_that_wait_for_a_thousand_are_cheap():
    factory = {
        "type": "parametricSweep",
        "parameterSets": [{"start": 1, "end": 1000}],
        "repeatTask": {"id": "{0}", "commandLine": "w", "simulate": {"duration": 1}},
    }
    sim = simulation(
        {"id": "j", "poolInfo": {"poolId": "p"}, "usesTaskDependencies": True, "taskFactory": factory},
        pool=a_pool(nodes=0),
    )
    run(sim, seconds=1)
    do(sim, "addTasks", jobId="j", tasks=[child(ranges=[(1, 1000)], name=f"c{number}") for number in range(100)])
    book = sim.world.dependencies[sim.world.jobs.find("j").row]
    assert len(list(book.waiting())) == 100
    freed = [task for number in range(1, 1001) for task in book.satisfy(str(number))]
    assert len(freed) == 100
