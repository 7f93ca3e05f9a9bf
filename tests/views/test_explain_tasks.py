"""Explanations of tasks that wait, prepare, run or have ended."""

import pytest

from engine import Simulation, load_scenario
from engine.rules.decisions.verdicts import choose_node
from engine.views.diagnosis.estimates import planned_end_ms, planned_task_end_ms
from engine.views.diagnosis.questions import explain
from engine.views.diagnosis.tasks import why_task
from engine.views.resources.nodes import tasks_on
from tests.builders import (
    READY_S,
    a_job,
    a_line,
    a_pool,
    a_task,
    do,
    node,
    run,
    run_to,
    run_to_end,
    simulation,
    some_tasks,
    task_row,
)
from tests.views.explaining import why_job_says, why_node_says, why_preparation_says, why_task_says
from tui.viewmodels.session import Session


def broken_pool():
    """Make six nodes, each ineligible for job j for another reason."""
    prep = a_line(10, simulate={"onNode": {0: {"exitCode": 3}}})
    sim = simulation(a_job(tasks=9, prep=prep), pool=a_pool(nodes=6))
    run_to(sim, seconds=70)
    do(sim, "rebootNode", poolId="p", nodeId=node(sim, 1).id)
    do(sim, "disableNodeScheduling", poolId="p", nodeId=node(sim, 2).id)
    do(sim, "failNode", poolId="p", nodeId=node(sim, 3).id, state="unusable", code="DiskFull")
    do(sim, "failNode", poolId="p", nodeId=node(sim, 4).id, state="unknown", **{"for": "PT2M"})
    do(sim, "rebootNode", poolId="p", nodeId=node(sim, 5).id, nodeRebootOption="taskcompletion")
    return sim


def test_every_node_by_its_reason():
    assert why_task_says(broken_pool(), "t9") == [
        "Why is task t9 of job j waiting?",
        "✓ job state                active [SCHED-7]",
        "✓ job pool                 p, allocation state steady [SCHED-7]",
        "✓ dependencies             none [DEP-4]",
        "✓ job parallel limit       not set [SCHED-7]",
        "✗ turn in the job          t1 is first of 7 [SCHED-6]",
        "✗ a node with 1 free slot  0 of 6 eligible [SCHED-8]",
        "     1 node ineligible until the disk is new: preparation failed there [PREP-9]",
        "     1 node rebooting; soonest n1 at 08:02:10 [NOP-3]",
        "     1 node scheduling disabled [NOP-6]",
        "     1 node unusable: no recovery is expected [NODE-13]",
        "     1 node out of contact; soonest n4 at 08:03:10 [NODE-9]",
        "     1 node taking no new tasks: reboot follows when its tasks have ended [NOP-3]",
        "It has been active since 08:00:00. [TASK-7]",
        "Next: n1 is no longer rebooting at 08:02:10 [NOP-3]",
    ]


def test_the_nodes_that_eligible_are_those_among_which_the_scheduler_chooses():
    sim = broken_pool()
    world = sim.world
    job, task = world.jobs.find("j"), task_row(sim, "t9")
    for _ in range(1000):
        room = why_task(world, task, sim.now_ms)
        if world.tasks.state[task] != 0:
            break
        fits = choose_node(world, world.pools[0], job, world.tasks.profile_of(task)) >= 0
        assert room.checks[-1].ok is fits
        run(sim, seconds=1)
    else:
        raise AssertionError("the task never left the queue")


def test_a_full_node_and_one_that_prepares():
    prepared = a_job(tasks=6, prep=a_line(10))
    sim = simulation(prepared, a_job("k", tasks=3, priority=10), pool=a_pool(nodes=4))
    run_to(sim, seconds=52)
    assert why_task_says(sim, "t2")[5:] == [
        "✓ turn in the job          first of 5 [SCHED-6]",
        "✗ a node with 1 free slot  0 of 4 eligible [SCHED-8]",
        "✗ priority                 0 of this job; job k (10) went first [SCHED-2]",
        "     3 nodes without a free slot: other jobs use them; soonest n0 at 08:01:51 [SCHED-10]",
        "     1 node preparing for this job; soonest n3 at 08:01:01 [PREP-6]",
        "It has been active since 08:00:00. [TASK-7]",
        "Next: task t1 of job k ends on n0 at 08:01:51 [SCHED-15]",
    ]
    assert why_task_says(sim, "t1") == [
        "Why is task t1 of job j preparing?",
        "✓ node                     assigned to n3 [SCHED-9]",
        "· preparation on the node  running, attempt 1 [PREP-6]",
        "Next: preparation ends on n3 at 08:01:01 [PREP-7]",
    ]


def test_nobody_has_seen_it_yet():
    sim = simulation(a_job())
    run_to(sim, seconds=0)
    assert why_task_says(sim) == [
        "Why is task t1 of job j waiting?",
        "✓ job state                active [SCHED-7]",
        "✓ job pool                 p, allocation state resizing [SCHED-7]",
        "✗ known to the scheduler   at 08:00:01 [TIME-9]",
        "✓ dependencies             none [DEP-4]",
        "✓ job parallel limit       not set [SCHED-7]",
        "· a node with 1 free slot  0 of 0 eligible [SCHED-8]",
        "· allocation state         1 node requested, not allocated yet [RSZ-2]",
        "It has been active since 08:00:00. [TASK-7]",
        "Next: the scheduler sees the task at 08:00:01 [TIME-9]",
    ]


def test_a_job_of_higher_priority_and_a_pool_that_grows():
    sim = simulation(a_job(), a_job("k", priority=10))
    run_to(sim, seconds=5)
    assert why_task_says(sim)[-4:] == [
        "✗ priority                 0 of this job; job k (10) goes first [SCHED-2]",
        "✗ allocation state         1 node requested, not allocated yet [RSZ-2]",
        "It has been active since 08:00:00. [TASK-7]",
        "Next: a new node joins pool p at 08:00:10 [RSZ-2]",
    ]


def test_priority_is_no_cause_where_no_node_may_run_the_job():
    fails = a_line(10, 1, constraints={"maxTaskRetryCount": 0})
    sim = simulation(a_job(prep=fails))
    run_to(sim, seconds=READY_S + 30)
    do(sim, "createJob", id="k", poolInfo={"poolId": "p"}, priority=10)
    do(sim, "addTasks", jobId="k", tasks=some_tasks(4))
    run_to(sim, seconds=READY_S + 60)
    assert sim.world.jobs.find("k").busy
    said = [*why_job_says(sim), *why_task_says(sim)]
    assert any("ineligible" in line for line in said)
    assert not any("priority" in line for line in said)


def test_dependencies_that_were_met_are_no_trouble_any_more():
    tasks = [a_task("first", 30), a_task("second", dependsOn={"taskIds": ["first"]})]
    sim = simulation(a_job(tasks=tasks, usesTaskDependencies=True))
    sim.run_until(sim.end_ms)
    said = [line for each in explain(sim, "task", 1) for line in each.lines()]
    assert any(line.startswith("✓ dependencies") and "met at" in line for line in said), said
    assert not any(line.startswith("✗") for line in said)


def test_priority_is_named_as_the_cause_for_as_long_as_it_is():
    sim = Simulation(load_scenario("priorities-and-fairness"))
    run_to(sim, minutes=3)
    assert not any("priority" in line for line in why_job_says(sim, "overnight-b"))
    run_to(sim, minutes=5)
    waits = "priority               0 of this job; job urgent (500) goes first [SCHED-2]"
    assert f"✗ {waits}" in why_job_says(sim, "overnight-b")
    run_to(sim, minutes=6)
    has_slots = "✗ priority                 0 of this job; job urgent (500) went first [SCHED-2]"
    assert has_slots in why_task_says(sim, "book-3", "overnight-b")
    assert not any("priority" in line for line in why_job_says(sim, "urgent"))
    run_to(sim, minutes=8)
    raised = "✗ priority                 0 of this job; job overnight-b (10) goes first [SCHED-2]"
    assert raised in why_task_says(sim, "book-4", "overnight-a")


def test_dependencies():
    dependent = a_task("c", dependsOn={"taskIds": ["a", "b", "zz"], "taskIdRanges": [{"start": 1, "end": 3}]})
    tasks = [a_task("a"), a_task("b", exit_code=1), a_task("1"), dependent]
    sim = simulation(a_job(tasks=tasks, usesTaskDependencies=True), pool=a_pool(nodes=2))
    run_to(sim, seconds=55)
    lines = why_task_says(sim, "c")
    waits = "waits for a (running), b (running), zz (does not exist), 3 ids in its ranges [DEP-5]"
    assert lines[3] == f"✗ dependencies             {waits}"
    assert lines[-1] == "Next: task a of job j ends on n0 at 08:01:51 [TASK-7]"
    run_to(sim, minutes=5)
    assert why_task_says(sim, "c") == [
        "Why is task c of job j waiting?",
        "✓ job state                active [SCHED-7]",
        "✓ job pool                 p, allocation state steady [SCHED-7]",
        "✗ dependencies             waits for b (failed), zz (does not exist), 2 (does not exist), "
        "1 id in its ranges [DEP-5]",
        "✓ job parallel limit       not set [SCHED-7]",
        "✓ a node with 1 free slot  2 of 2 eligible [SCHED-8]",
        "It has been active since 08:00:00. [TASK-7]",
        "Next: nothing by itself, a user has to act [DEP-5]",
    ]
    assert why_task_says(sim, "b") == [
        "Why did task b of job j fail?",
        "✓ started       n1 [TASK-7]",
        "✗ exit code     1 [RETRY-2]",
        "✗ retries left  0 of 0 used [RETRY-3]",
        "FailureExitCode: The task exited with an exit code representing a failure [RETRY-1]",
    ]


def test_the_parallel_limit_of_the_job():
    sim = simulation(a_job(tasks=3, maxParallelTasks=1), pool=a_pool(nodes=2))
    run_to(sim, seconds=55)
    assert why_task_says(sim, "t2")[4:] == [
        "✗ job parallel limit       1 of 1 preparing or running [SCHED-7]",
        "✓ turn in the job          first of 2 [SCHED-6]",
        "✓ a node with 1 free slot  1 of 2 eligible [SCHED-8]",
        "     1 node without a free slot; soonest n0 at 08:01:51 [SCHED-10]",
        "It has been active since 08:00:00. [TASK-7]",
        "Next: task t1 of job j ends on n0 at 08:01:51 [TASK-7]",
    ]


def test_several_slots_come_free_when_enough_tasks_have_ended():
    tasks = [a_task("s1", 30), a_task("s2", 90), a_task("big", requiredSlots=2), a_task("huge", requiredSlots=3)]
    sim = simulation(a_job(tasks=tasks), pool=a_pool(taskSlotsPerNode=2))
    run_to(sim, seconds=55)
    assert why_task_says(sim, "big")[-4:] == [
        "✗ a node with 2 free slots  0 of 1 eligible [SCHED-8]",
        "     1 node with fewer than 2 free slots; soonest n0 at 08:02:21 [SCHED-10]",
        "It has been active since 08:00:00. [TASK-7]",
        "Next: task s2 of job j ends on n0 at 08:02:21 [SCHED-15]",
    ]
    assert "✗ size                      needs 3 slots, a node has 2: it never runs [SCHED-10]" in why_task_says(
        sim, "huge"
    )
    assert why_task(sim.world, task_row(sim, "huge"), sim.now_ms).next_change is None


NOTICE_S = 70
EVICTED = "Next: n0 is preempted at 08:01:40 [SPOT-3]"
OVER = "Next: the time limit of job j is over at 08:05:00 [JOB-9]"


def evicted_soon(*jobs, **more):
    """A Spot node with work whose VM is taken back before that ends."""
    sim = simulation(*jobs, pool=a_pool(nodes=0, targetLowPriorityNodes=1, **more))
    run_to(sim, seconds=NOTICE_S)
    do(sim, "evictNode", poolId="p", node=0)
    return sim


def limited_soon(*jobs, **more):
    """A job whose time is over before its tasks end."""
    sim = simulation(*jobs, **more)
    run_to(sim, seconds=NOTICE_S)
    return sim


def test_spot_7_no_end_is_told_that_lies_behind_an_announced_eviction():
    sim = evicted_soon(a_job(tasks=some_tasks(2, 3000)))
    assert why_task_says(sim)[-1] == why_node_says(sim)[-1] == why_job_says(sim)[-1] == EVICTED
    waiting = why_task_says(sim, "t2")
    assert "     1 node without a free slot [SCHED-10]" in waiting
    assert not any("soonest" in line or "ends on" in line for line in waiting)
    assert tasks_on(sim, 0, 1)[0].planned_ms == planned_task_end_ms(sim, 0) == planned_end_ms(sim, 0) == 100_001
    preparing = evicted_soon(a_job(prep=a_line(3000)))
    assert (
        why_task_says(preparing)[-1] == why_preparation_says(preparing)[-1] == why_node_says(preparing)[-1] == EVICTED
    )
    brief = evicted_soon(a_job(tasks=some_tasks(2, 40)))
    assert why_task_says(brief)[-1] == "Next: it ends at 08:01:31 [TASK-7]"


def test_job_9_no_end_is_told_that_lies_behind_the_time_limit_of_the_job():
    limit = {"maxWallClockTime": "PT5M"}
    sim = limited_soon(a_job(tasks=some_tasks(2, 3000), constraints=limit), a_job("k"))
    assert why_task_says(sim)[-1] == why_node_says(sim)[-1] == why_job_says(sim)[-1] == OVER
    for waiting in (why_task_says(sim, "t2"), why_task_says(sim, "t1", "k")):
        assert waiting[-1] == OVER
        assert any("soonest n0 at 08:05:00" in line for line in waiting)
    assert tasks_on(sim, 0, 1)[0].planned_ms == planned_task_end_ms(sim, 0) == planned_end_ms(sim, 0) == 300_000
    slots = limited_soon(
        a_job(tasks=some_tasks(3, 3000, requiredSlots=2), constraints=limit), pool=a_pool(taskSlotsPerNode=4)
    )
    assert why_task_says(slots, "t3")[-1] == OVER
    done = limited_soon(
        a_job(tasks=[*some_tasks(1, 30), a_task("long", 3000)], constraints=limit), pool=a_pool(nodes=2)
    )
    run_to(done, seconds=100)
    assert Session(done).forecast().tasks_ms is None
    assert Session(done).forecast().job_ms == 300_000


def test_no_pool_and_a_job_that_is_not_active():
    sim = simulation(a_job(pool="nowhere"))
    run_to(sim, seconds=3)
    assert why_task_says(sim) == [
        "Why is task t1 of job j waiting?",
        "✓ job state           active [SCHED-7]",
        "✗ job pool            nowhere does not exist [POOL-18]",
        "✓ dependencies        none [DEP-4]",
        "✓ job parallel limit  not set [SCHED-7]",
        "✓ turn in the job     first of 1 [SCHED-6]",
        "It has been active since 08:00:00. [TASK-7]",
        "Next: nothing by itself, a user has to act [POOL-18]",
    ]
    do(sim, "disableJob", jobId="j", disableTasks="requeue")
    run(sim, seconds=3)
    lines = why_task_says(sim)
    assert (lines[1], lines[-2]) == (
        "✗ job state           disabled by a user at 08:00:03 [SCHED-7]",
        "Enable the job to run its tasks. [JOB-12]",
    )
    do(sim, "enableJob", jobId="j")
    assert why_task_says(sim)[-1] == "Next: job j is active again at 08:00:08 [TIME-19]"
    do(sim, "terminateJob", jobId="j")
    run(sim, seconds=3)
    lines = why_task_says(sim)
    assert lines[1:3] == [
        "✗ job state           completed [SCHED-7]",
        "· job pool            none since the job ended [JOB-15]",
    ]
    assert lines[-1] == "Tasks that are active when their job ends stay active. [JOB-15]"


def test_a_task_that_runs_again():
    sim = simulation(a_job(tasks=some_tasks(1)), pool=a_pool(nodes=2))
    run_to(sim, seconds=60)
    do(sim, "rebootNode", poolId="p", nodeId=node(sim, 0).id)
    run(sim, seconds=1)
    assert why_task_says(sim) == [
        "Why is task t1 of job j running?",
        "✓ node  n1 since 08:01:00 [SCHED-9]",
        "Next: it ends at 08:02:01 [TASK-7]",
    ]
    do(sim, "terminateTask", jobId="j", taskId="t1")
    assert why_task_says(sim) == [
        "Why did task t1 of job j fail?",
        "✓ started    n1 [TASK-7]",
        "✗ exit code  -1073741510 (stopped by the service) [RETRY-2]",
        "✗ failure    TaskEnded: task ended [RETRY-1]",
        "✗ cause      the task was terminated by the user [RETRY-1]",
        "A failure of this kind is not retried. [RETRY-4]",
    ]
    do(sim, "deleteTask", jobId="j", taskId="t1")
    assert why_task(sim.world, 0, sim.now_ms).lines() == ["Where is task t1?", "It has been deleted. [TASK-14]"]


def says_why(name, task_id):
    sim = Simulation(load_scenario(name))
    sim.run_until(sim.end_ms)
    tasks = range(sim.world.tasks.length)
    return why_task(sim.world, next(at for at in tasks if sim.world.tasks.task_id(at) == task_id), sim.now_ms).lines()


@pytest.mark.parametrize(
    ("name", "task_id", "cause"),
    [
        ("stages-hand-over-blobs", "archive", "access to {}/archive expired at 08:01:30 [TASK-20]"),
        (
            "a-forgotten-upload",
            "reads-forgets",
            "{}/work/forgets/result.csv was neither named by the scenario nor uploaded (strictStorage) [TASK-19]",
        ),
        (
            "a-forgotten-upload",
            "elsewhere",
            "{}/wrok is no container that the scenario names (strictStorage) [TASK-19]",
        ),
        ("a-new-version-of-the-pricer", "late", "pricer has no version '1.0'; it has 2.0 [RETRY-1]"),
    ],
)
def test_task_19_and_task_20_the_cause_names_the_url_and_what_is_wrong_with_it(name, task_id, cause):
    wanted = cause.format("https://contoso.blob.core.windows.net")
    assert wanted in [line.removeprefix("✗ cause").strip() for line in says_why(name, task_id)]


def test_task_6_a_blob_that_the_scenario_calls_missing():
    url = "https://acc.blob.core.windows.net/in/a.csv"
    task = a_task(resourceFiles=[{"httpUrl": f"{url}?sig=x", "filePath": "data.csv"}])
    sim = simulation(a_job(tasks=[task]), simulate={"storage": {url: {"missing": True}}})
    run_to_end(sim)
    assert f"✗ cause    {url} is missing, as the scenario says [TASK-6]" in why_task_says(sim)
