"""Small runs in which the fast paths must leave an entry to the ordinary rules, one for each reason that they have."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders import (
    READY_S,
    a_job,
    a_line,
    a_pool,
    a_shell,
    a_task,
    mpi_pool,
    play_one_by_one,
    simulation,
    some_tasks,
    together,
)
from tests.invariants import check

PREPARATION, RELEASE = a_line(20, command="fetch"), a_line(5, command="clean")
CONTAINER = {"containerUrl": "https://acc.blob.core.windows.net/out", "path": "results"}
UPLOADS = {
    "outputFiles": [{"filePattern": "result.bin", "destination": {"container": CONTAINER}}],
    "simulate": {"writes": {"result.bin": "1 KB"}},
}
FAILS = {"exit_code": 1, "constraints": {"maxTaskRetryCount": 1}}
OFTEN_FAILS = {"exit_code": {0: 0.6, 1: 0.4}, "constraints": {"maxTaskRetryCount": 2}}
LARGE, LONG_S = {"requiredSlots": 2}, 4_000
LIMITED = {"constraints": {"maxWallClockTime": "PT100S"}}
LETS_TASKS_END = {"nodeDisableSchedulingOption": "taskcompletion"}


def tasks(prefix: str, count: int, seconds: float = 60, **more: Any) -> list[dict[str, Any]]:
    """Equal tasks whose ids begin with ``prefix``."""
    return [task | {"id": f"{prefix}{number}"} for number, task in enumerate(some_tasks(count, seconds, **more), 1)]


def at(seconds: float, command: str, **fields: Any) -> dict[str, Any]:
    """An entry of the timeline."""
    return {"at": seconds, command: fields}


def added(seconds: float, job_id: str, listed: list[dict[str, Any]]) -> dict[str, Any]:
    """An entry of the timeline that adds tasks to a job."""
    return at(seconds, "addTasks", jobId=job_id, tasks=listed)


def run(*jobs: dict[str, Any], timeline: tuple[dict[str, Any], ...] = (), **more: Any) -> dict[str, Any]:
    """A case: jobs and the other keys of a scenario."""
    return {"jobs": jobs, "timeline": list(timeline)} | more


LONG = tasks("long", 2, LONG_S)  # so that no other task is the last one of the job
# Two large tasks fit on a node. A small one, which runs throughout, leaves a single slot free on each of two nodes.
ODD_POOL = a_pool(nodes=3, taskSlotsPerNode=4)
ODD = a_job("odd", tasks("odd", 2, LONG_S), priority=1_000)
# It keeps a node for itself first, so that the other job comes there when its preparation has run elsewhere.
FIRST = a_job("first", [a_task("t1", 100)], priority=10)

CASES = {
    # -- the task that ends
    "an end that is void since the task runs elsewhere": run(
        a_job("moved", [a_task("t1", 150), LONG[0]], priority=10),
        a_job("j", tasks("t", 12)),
        pool=a_pool(nodes=3),
        timeline=(at(READY_S + 30, "rebootNode", poolId="p", node=0),),
    ),
    "an end that was put off": run(
        a_job("limited", [a_task("t1", 300, **LIMITED), *LONG], priority=10),
        a_job("j", tasks("t", 12)),
        pool=a_pool(nodes=4),
        timeline=(at(READY_S + 20, "updateTask", jobId="limited", taskId="t1", constraints={}),),
    ),
    "an end that is entered twice": run(
        a_job("limited", [a_task("t1", 99), *LONG], priority=10),
        a_job("j", tasks("t", 12)),
        pool=a_pool(nodes=4),
        timeline=(at(READY_S + 20, "updateTask", jobId="limited", taskId="t1", **LIMITED),),
    ),
    "a task fails": run(
        a_job("fails", [a_task("t1", 100, **FAILS), LONG[0]], priority=10),
        a_job("j", tasks("t", 12)),
        pool=a_pool(nodes=3),
    ),
    "a task has uploads": run(
        a_job("uploads", [a_task("t1", 100, **UPLOADS), LONG[0]], priority=10),
        a_job("j", tasks("t", 12)),
        pool=a_pool(nodes=3),
    ),
    "a task with uploads fails": run(a_job("j", tasks("t", 3, **UPLOADS | FAILS))),
    "uploads during an outage": run(
        a_job("j", tasks("t", 6, **UPLOADS)), timeline=(at(READY_S + 70, "storageOutage", **{"for": "PT5M"}),)
    ),
    "a task that has another number of slots": run(
        a_job("small", [a_task("t1", 100), LONG[0]], priority=10),
        a_job("large", tasks("t", 12, **LARGE)),
        pool=a_pool(nodes=2, taskSlotsPerNode=2, taskSchedulingPolicy={"nodeFillType": "pack"}),
    ),
    "the last task of a job that ends by itself": run(
        a_job("short", tasks("short", 1, 100), priority=10, onAllTasksComplete="terminatejob"),
        a_job("j", tasks("t", 12), onAllTasksComplete="terminatejob"),
        pool=a_pool(nodes=2),
    ),
    "a task of a job that is being disabled": run(
        a_job("disabled", tasks("t", 4, 100), priority=10),
        a_job("j", tasks("t", 12)),
        pool=a_pool(nodes=3),
        timeline=(at(READY_S + 30, "disableJob", jobId="disabled", disableTasks="wait"),),
    ),
    "a task of a job at its limit": run(
        a_job("few", tasks("few", 8), maxParallelTasks=1, priority=10),
        a_job("many", tasks("many", 12, 40)),
        pool=a_pool(nodes=2),
    ),
    # -- an attempt that fails
    "retries while other tasks wait": run(a_job("j", tasks("t", 40, **OFTEN_FAILS)), pool=a_pool(nodes=3)),
    "retries with preparation and release": run(
        a_job("j", tasks("t", 40, **OFTEN_FAILS), prep=PREPARATION, release=RELEASE), pool=a_pool(nodes=3)
    ),
    "retries of two jobs in turns": run(
        *(a_job(name, tasks(name, 20, **OFTEN_FAILS)) for name in ("one", "two")), pool=a_pool(nodes=3)
    ),
    "a retry behind a task that has lost its node": run(
        a_job("j", [*tasks("t", 3, 100, **FAILS), *tasks("u", 8, 100, **FAILS)]),
        pool=a_pool(nodes=3),
        timeline=(at(READY_S + 99, "rebootNode", poolId="p", node=0),),
    ),
    "retries of the last tasks": run(a_job("j", tasks("t", 3, **FAILS)), pool=a_pool(nodes=3)),
    "retries end at a time limit": run(
        a_job("j", tasks("t", 12, exit_code=1, constraints={"maxTaskRetryCount": 1, "maxWallClockTime": "PT50S"}))
    ),
    "no retries are left": run(a_job("j", tasks("t", 12, exit_code=1)), pool=a_pool(nodes=2)),
    "retries while a job is being disabled": run(
        a_job("j", tasks("t", 12, **FAILS)),
        a_job("k", tasks("k", 12), priority=-5),
        pool=a_pool(nodes=3),
        timeline=(at(READY_S + 30, "disableJob", jobId="j", disableTasks="wait"),),
    ),
    # -- the node
    "a node that takes no more tasks": run(
        a_job("j", tasks("t", 12)),
        pool=a_pool(nodes=2),
        timeline=(at(READY_S + 100, "disableNodeScheduling", poolId="p", node=1, **LETS_TASKS_END),),
    ),
    "a node of another pool": run(
        a_job("elsewhere", tasks("t", 3, 100), pool="q"),
        a_job("j", tasks("t", 12)),
        pools=[a_pool(), a_pool("q")],
    ),
    "a node where no preparation has run": run(
        a_job("prepared", tasks("t", 12), prep=PREPARATION, priority=10, maxParallelTasks=1),
        a_job("j", [a_task("t1", 100), LONG[0]]),
        pool=a_pool(nodes=3),
        timeline=(at(READY_S + 70, "updateJob", jobId="prepared", maxParallelTasks=-1),),
    ),
    "a node between others where no preparation has run": run(
        a_job("others", [a_task("t1", 20), a_task("t2", 100), LONG[0]], priority=20),
        a_job("prepared", tasks("t", 12), prep=PREPARATION, priority=10),
        a_job("fills", tasks("t", 510, 10), prep=PREPARATION, pool="q"),  # with two more instances a page is full
        pools=[a_pool(nodes=4), a_pool("q", nodes=510)],
        account={"quotas": {"dedicatedCores": 2_000}},
    ),
    "a node where the preparation is void": run(
        a_job("prepared", tasks("t", 12), prep=PREPARATION),
        a_job("urgent", [], priority=10),
        pool=a_pool(nodes=3),
        timeline=(
            at(READY_S + 100, "rebootNode", poolId="p", node=1),
            added(READY_S + 150, "urgent", [a_task("t1", 100), LONG[0]]),
        ),
    ),
    "a node where a preparation succeeded and no task has run": run(
        a_job("prepared", [a_task("t1")], prep=PREPARATION, release=RELEASE, priority=10),
        a_job("plain", tasks("plain", 8)),
        timeline=(
            at(READY_S + 10, "terminateTask", jobId="prepared", taskId="t1"),
            added(READY_S + 40, "prepared", tasks("more", 1)),
            at(READY_S + 400, "terminateJob", jobId="prepared"),
        ),
    ),
    "several nodes, on one of which a preparation succeeded and no task has run": run(
        a_job("prepared", tasks("t", 2, 70), prep=PREPARATION, release=RELEASE, priority=10),
        a_job("plain", tasks("plain", 4, 100)),
        pool=a_pool(nodes=2),
        timeline=(
            at(READY_S + 10, "terminateTask", jobId="prepared", taskId="t2"),
            added(READY_S + 40, "prepared", tasks("more", 9)),
            at(READY_S + 600, "terminateJob", jobId="prepared"),
        ),
    ),
    # -- the next task
    "the next task waits in the queue of another number of slots": run(
        a_job("j", [a_task("t1", **LARGE), a_task("t2"), a_task("t3"), *tasks("large", 4, **LARGE)]),
        pool=a_pool(taskSlotsPerNode=2),
    ),
    "the next task is of a job that has none for so many slots": run(
        a_job("large", tasks("large", 2, **LARGE)), a_job("small", tasks("small", 4)), pool=a_pool(taskSlotsPerNode=2)
    ),
    "the next task leaves a slot of the node free": run(
        a_job("large", tasks("large", 4, **LARGE)), pool=a_pool(nodes=2, taskSlotsPerNode=3)
    ),
    "the next task leaves a slot of another node free": run(
        ODD, a_job("large", tasks("large", 30, **LARGE)), pool=ODD_POOL
    ),
    "the next task has become ready late": run(
        a_job("dependent", [a_task("t1", 100)], usesTaskDependencies=True),
        a_job("plain", tasks("plain", 6)),
        timeline=(added(60, "dependent", tasks("late", 3, dependsOn={"taskIds": ["t1"]})),),
    ),
    "the next task has been terminated": run(
        a_job(tasks=3),
        timeline=tuple(at(READY_S + 10, "terminateTask", jobId="j", taskId=each) for each in ("t2", "t3")),
    ),
    "the next task is not a plain one": run(
        a_job("j", [a_task("t1"), a_task("t2") | a_shell("sleep 5"), *tasks("more", 3)])
    ),
    "the next tasks are not plain ones": run(
        a_job(tasks=3), timeline=(added(60, "j", [task | a_shell("sleep 5") for task in tasks("more", 4)]),)
    ),
    "the next tasks have uploads": run(a_job(tasks=3), timeline=(added(60, "j", tasks("more", 4, **UPLOADS)),)),
    "the next task begins another range": run(
        a_job("j", 5, priority=10),
        a_job("between", 2),
        pool=a_pool(nodes=2),
        timeline=(added(60, "j", tasks("more", 3)),),
    ),
    "the next task is of the older job": run(
        a_job("older", tasks("a", 4)),
        a_job("younger", tasks("b", 4)),
        pool=a_pool(taskSchedulingPolicy={"nodeFillType": "spread", "jobDefaultOrder": "creationtime"}),
    ),
    # -- the pool
    "a pass is due": run(
        a_job("dependent", [a_task("t1"), a_task("t2", dependsOn={"taskIds": ["t1"]})], usesTaskDependencies=True),
        a_job("plain", tasks("plain", 8), priority=10),
        pool=a_pool(nodes=2),
    ),
    "tasks that may displace others": run(
        a_job("yields", tasks("t", 8), allowTaskPreemption=True), a_job("j", tasks("t", 8)), pool=a_pool(nodes=2)
    ),
    "tasks on several nodes": run(
        a_job("gangs", [together(instances=2), together("second", instances=2)]),
        a_job("j", tasks("t", 8)),
        pool=mpi_pool(2),
    ),
    # -- preparation, on the second node without a known plan
    "a retry comes to a node where no preparation has run": run(
        a_job("prepared", [a_task("t1"), a_task("t2", LONG_S)], prep=PREPARATION, priority=10),
        a_job("j", tasks("t", 4, 100)),
        pool=a_pool(nodes=3),
        timeline=(at(READY_S + 50, "rebootNode", poolId="p", node=0),),
    ),
    "a preparation is followed by a release": run(
        FIRST,
        a_job("prepared", 4, prep=PREPARATION, release=RELEASE),
        pool=a_pool(nodes=2),
        timeline=(at(READY_S + 130, "terminateJob", jobId="prepared"),),
    ),
    "a preparation is enough for a release": run(
        FIRST,
        a_job("prepared", 4, prep=PREPARATION, release=RELEASE),
        pool=a_pool(nodes=2),
        options={"releaseAfter": "preparation"},
        timeline=(at(READY_S + 110, "rebootNode", poolId="p", node=0),),
    ),
    "nobody waits for a preparation": run(
        FIRST, a_job("prepared", 4, prep=PREPARATION | {"waitForSuccess": False}), pool=a_pool(nodes=2)
    ),
    "a preparation outlasts the run": run(
        FIRST, a_job("prepared", 4, prep=a_line("P40D", command="fetch")), pool=a_pool(nodes=2)
    ),
    "a preparation fails": run(
        FIRST,
        a_job("prepared", 4, prep=PREPARATION | {"simulate": {"exitCode": 1}, "constraints": {"maxTaskRetryCount": 1}}),
        pool=a_pool(nodes=2),
    ),
    "a preparation takes too long": run(
        FIRST,
        a_job("prepared", 4, prep=PREPARATION | {"constraints": {"maxWallClockTime": "PT5S"}}),
        pool=a_pool(nodes=2),
    ),
    "a preparation takes another time on each node": run(
        FIRST,
        a_job("prepared", 6, prep=PREPARATION | {"simulate": {"duration": {"uniform": ["PT10S", "PT2M"]}}}),
        pool=a_pool(nodes=2),
    ),
    "a task that is not a plain one waits for a preparation": run(
        FIRST,
        a_job("prepared", [task | a_shell("sleep 5") for task in tasks("t", 3)], prep=PREPARATION),
        pool=a_pool(nodes=2),
    ),
    "several tasks wait for a preparation": run(
        FIRST, a_job("prepared", 6, prep=PREPARATION), pool=a_pool(nodes=2, taskSlotsPerNode=2)
    ),
    "a task of another job goes on waiting when a preparation ends": run(
        a_job("slow", 1, prep=PREPARATION),
        a_job("quick", 1, prep=a_line(10, command="fetch")),
        pool=a_pool(taskSlotsPerNode=2),
    ),
    "only a task of another job waits when a preparation ends": run(
        a_job("slow", 1, prep=PREPARATION),
        a_job("quick", 1, prep=a_line(10, command="fetch")),
        pool=a_pool(taskSlotsPerNode=2),
        timeline=(at(READY_S + 5, "terminateTask", jobId="quick", taskId="t1"),),
    ),
    # -- retries
    "a retry that finds its node closed": run(
        a_job("j", [a_task("fails", 100, **FAILS), a_task("t2", 50)]),
        pool=a_pool(nodes=2),
        timeline=(at(READY_S + 20, "disableNodeScheduling", poolId="p", node=0, **LETS_TASKS_END),),
    ),
    "a retry that may find room elsewhere ends together with other tasks": run(
        ODD,
        a_job("fails", [a_task("t1", **LARGE | FAILS)], priority=20),
        a_job("j", [each | LARGE for each in (a_task("t1"), a_task("t2", 120), a_task("t3", 120), *tasks("more", 2))]),
        a_job("urgent", [], priority=30),
        pool=ODD_POOL | {"targetDedicatedNodes": 4},
        timeline=(added(READY_S + 20, "urgent", tasks("more", 6, **LARGE)),),
    ),
    "a retry whose slots go to a more important job": run(
        ODD,
        a_job("fails", tasks("t", 5, **LARGE | FAILS)),
        a_job("urgent", [], priority=10),
        pool=ODD_POOL,
        timeline=(added(READY_S + 20, "urgent", tasks("more", 6, **LARGE)),),
    ),
    "a retry whose slots go to a more important job with preparation": run(
        ODD,
        a_job("fails", tasks("t", 5, **LARGE | FAILS)),
        a_job("urgent", [], priority=10, prep=PREPARATION),
        pool=ODD_POOL,
        timeline=(added(READY_S + 20, "urgent", tasks("more", 6, **LARGE)),),
    ),
}


def played(case: dict[str, Any], entries: int, *, fast: bool) -> list[str]:
    """Play a case so many entries at a time; return its log."""
    sim = simulation(*case["jobs"], **{key: value for key, value in case.items() if key != "jobs"})
    if not fast:
        play_one_by_one(sim.world)
    while sim.advance(4 * LONG_S * 1000, entries):
        if sim.world.calendar.instant_is_over():
            check(sim.world)
    assert not sim.refusals
    return list(sim.json_lines())


@pytest.mark.parametrize("case", CASES)
def test_the_log_is_the_same_however_ends_are_handled(case):
    ordinary = played(CASES[case], 1, fast=False)
    for entries in (1, 2, 1_000):
        assert played(CASES[case], entries, fast=True) == ordinary


def test_a_slice_of_a_run_processes_no_more_ends_than_it_may():
    sim = simulation(a_job("j", tasks("t", 40)), pool=a_pool(nodes=7))
    calendar = sim.world.calendar
    while calendar.peek_ms() is not None:
        assert calendar.advance_instant(3) <= 3


def test_no_end_is_processed_after_the_moment_that_a_run_goes_on_to():
    sim = simulation(a_job("j", tasks("t", 40)), pool=a_pool(nodes=7))
    for until_ms in range(0, 600_000, 7_000):
        sim.run_until(until_ms)
        assert sim.log.last_ms <= until_ms


def test_a_run_that_has_gone_back_to_a_preparation_goes_on_as_before():
    """The plan of a preparation is not known any more then."""
    sim = simulation(a_job("prepared", 8, prep=PREPARATION), a_job("j", tasks("t", 8)), pool=a_pool(nodes=3))
    end_ms = (READY_S + 1_000) * 1_000
    sim.run_until(end_ms)
    recorded = list(sim.json_lines())
    for moment_s in range(READY_S - 5, READY_S + 200, 10):
        sim.seek(moment_s * 1_000)
        sim.branch()
        sim.run_until(end_ms)
        assert list(sim.json_lines()) == recorded
