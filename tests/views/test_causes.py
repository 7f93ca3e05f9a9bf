"""Why something waits or has failed, where the cause is known by construction: each finding that is not met is a cause.

The list of what needs attention tells of the same thing at that moment, if it is any trouble.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from engine.views.diagnosis.concerns import Attention
from engine.views.diagnosis.subjects import answer_about, find_subject
from tests.builders import a_job, a_line, a_pool, a_task, mpi_pool, run_to, simulation, some_tasks, together

if TYPE_CHECKING:
    from collections.abc import Mapping


class Cause(NamedTuple):
    """What is asked of a run at a moment, the causes in words, and the kind of the concern, if any."""

    subject: str
    says: tuple[str, ...]  # parts of the findings that are not met, in their order
    kind: str = ""
    jobs: tuple[dict[str, Any], ...] = (a_job(),)
    pool: dict[str, Any] | None = None
    at_s: int | None = None  # None: at the end
    more: Mapping[str, Any] = MappingProxyType({})


def at(seconds, **command):
    return {"at": seconds} | command


def formula(text):
    scaled = a_pool(enableAutoScale=True, autoScaleFormula=text, autoScaleEvaluationInterval="PT5M")
    del scaled["targetDedicatedNodes"]
    return scaled


def depending(*tasks):
    return (a_job(tasks=list(tasks), usesTaskDependencies=True),)


def quota(cores):
    return {"account": {"quotas": {"dedicatedCores": cores}}}


def schedule(**more):
    manager = {"id": "m"} | a_line(60)
    job = {"poolInfo": {"poolId": "p"}, "jobManagerTask": manager}
    return {"jobSchedules": [{"id": "s", "schedule": {"recurrenceInterval": "PT1H"} | more, "jobSpecification": job}]}


URL = "https://a.blob.core.windows.net/c/x"
SIGNED = [{"httpUrl": f"{URL}?sv=2020&se=2026-01-05T08%3A30%3A00Z&sig=x", "filePath": "x"}]
FAILS = a_line(5, 3, waitForSuccess=True)
DISABLES = a_job(
    tasks=[a_task("bad", 5, 7, exitConditions={"default": {"jobAction": "disable"}}), a_task("t2", 300)],
    onTaskFailure="performexitoptionsjobaction",
)
HIGH = (a_job("hi", tasks=some_tasks(2, 600), priority=10), a_job("lo"))
ENDS = {"onAllTasksComplete": "terminatejob"}
LOST = at(100, failNode={"poolId": "p", "node": 0, "state": "unusable", "code": "DiskFull"})
FULL = "a node with 1 free slot: 0 of 1"
NONE = "a node with 1 free slot: 0 of 0"
SPOT = a_pool(nodes=0, targetLowPriorityNodes=1)
EVICTED = {"timeline": [at(100, evictNode={"poolId": "p", "node": 0})]}

CAUSES = {
    "the quota of cores keeps a pool small": Cause(
        "pool:p",
        ("dedicated nodes: 1 of 4", "AccountCoreQuotaReached"),
        "resize-failed",
        pool=a_pool(nodes=4),
        more=quota(2),
    ),
    "the quota leaves no node": Cause(
        "task:j/t1",
        (NONE, "none of 4 nodes: AccountCoreQuotaReached"),
        "pool-without-nodes",
        pool=a_pool(nodes=4),
        more=quota(1),
    ),
    "a pool is resized": Cause("task:j/t1", (NONE, "1 node requested"), at_s=5),
    "an empty pool": Cause("task:j/t1", (NONE, "its target is 0"), "pool-without-nodes", pool=a_pool(nodes=0)),
    "the pool of tasks is empty": Cause("pool:p", ("its target is 0",), "pool-without-nodes", pool=a_pool(nodes=0)),
    "no such pool": Cause("task:j/t1", ("job pool: gone does not exist",), "job-without-pool", (a_job(pool="gone"),)),
    "a pool that is deleted": Cause(
        "task:j/t1",
        ("job pool: p is being deleted", "interrupted: 1 time because its nodes are removed"),
        "job-without-pool",
        at_s=110,
        more={"timeline": [at(100, deletePool={"poolId": "p"})]},
    ),
    "a start task fails": Cause(
        "node:p/0", ("state", "exit code 3"), "node-out-of-order", pool=a_pool(startTask=FAILS)
    ),
    "all nodes have failed": Cause(
        "task:j/t1", (FULL, "1 node with a failed start task"), "no-node-takes-tasks", pool=a_pool(startTask=FAILS)
    ),
    "the start task's signature has expired": Cause(
        "node:p/1",
        ("state", "BlobAccessDenied", f"access to {URL} expired at 08:30:00"),
        "node-out-of-order",
        pool=a_pool(startTask=a_line(5, waitForSuccess=True, resourceFiles=SIGNED)),
        more={"timeline": [at(3600, resizePool={"poolId": "p", "targetDedicatedNodes": 2})]},
    ),
    "a start task hangs": Cause(
        "node:p/0",
        ("state", "start task: running"),
        "takes-long",
        pool=a_pool(startTask=a_line(20_000, waitForSuccess=True)),
        at_s=9000,
    ),
    "an unusable node": Cause("node:p/0", ("state", "DiskFull"), "node-out-of-order", more={"timeline": [LOST]}),
    "a node out of service": Cause(
        "node:p/0",
        ("state: offline", "scheduling: disabled"),
        "node-out-of-service",
        more={"timeline": [at(20, disableNodeScheduling={"poolId": "p", "node": 0})]},
    ),
    "a preempted node comes back": Cause(
        "task:j/t1",
        (FULL, "1 node preempted", "1 time because Spot nodes are preempted; 00:01:20 of work lost"),
        "node-preempted",
        (a_job(tasks=some_tasks(1, 3000)),),
        SPOT,
        400,
        EVICTED,
    ),
    "a task's exit disables the job": Cause(
        "job:j", ("by: the exit of task bad", "by the exit of task bad"), "job-disabled", (DISABLES,)
    ),
    "a task of a disabled job": Cause("task:j/t2", ("disabled by the exit of task bad",), "job-disabled", (DISABLES,)),
    "a user disables the job": Cause(
        "task:j/t3",
        ("disabled by a user at 08:01:20",),
        "job-disabled",
        (a_job(tasks=3),),
        more={"timeline": [at(80, disableJob={"jobId": "j", "disableTasks": "requeue"})]},
    ),
    "a job of higher priority": Cause(
        "task:lo/t1", (FULL, "job hi (10) goes first", "other jobs use them"), jobs=HIGH, at_s=120
    ),
    "too many slots": Cause(
        "task:j/t1",
        ("needs 4 slots, a node has 2",),
        "job-never-ends",
        (a_job(tasks=[a_task(requiredSlots=4)]),),
        a_pool(taskSlotsPerNode=2),
    ),
    "free slots, but too few": Cause(
        "task:j/b",
        ("4 free slots: 0 of 1", "fewer than 4 free slots"),
        "",
        (a_job(tasks=[a_task("a", 600), a_task("b", requiredSlots=4)]),),
        a_pool(taskSlotsPerNode=4),
        120,
    ),
    "the job's limit": Cause(
        "task:j/t2", ("job parallel limit: 1 of 1",), "", (a_job(tasks=3, maxParallelTasks=1),), a_pool(nodes=2), 80
    ),
    "a failed prerequisite": Cause(
        "task:j/b",
        ("waits for a (failed)",),
        "job-never-ends",
        depending(a_task("a", exit_code=1), a_task("b", dependsOn={"taskIds": ["a"]})),
    ),
    "a prerequisite of a prerequisite": Cause(
        "task:j/c",
        ("waits for b (active); it never runs: gone does not exist",),
        "job-never-ends",
        depending(a_task("b", dependsOn={"taskIds": ["gone"]}), a_task("c", dependsOn={"taskIds": ["b"]})),
    ),
    "a circle": Cause(
        "task:j/b",
        ("b waits for itself, in a circle",),
        "job-never-ends",
        depending(a_task("a", dependsOn={"taskIds": ["b"]}), a_task("b", dependsOn={"taskIds": ["a"]})),
    ),
    "a range with a gap": Cause(
        "task:j/a",
        ("waits for 2 (does not exist)",),
        "job-never-ends",
        depending(a_task("1"), a_task("a", dependsOn={"taskIdRanges": [{"start": 1, "end": 2}]})),
    ),
    "a multi-instance task and slots": Cause(
        "task:j/mpi",
        ("p has 2 task slots per node instead of 1",),
        "job-never-ends",
        (a_job(tasks=[together()]),),
        mpi_pool(taskSlotsPerNode=2),
    ),
    "a multi-instance task without communication": Cause(
        "task:j/mpi",
        ("p has no inter-node communication",),
        "job-never-ends",
        (a_job(tasks=[together()]),),
        a_pool(nodes=4),
    ),
    "a multi-instance task and few nodes": Cause(
        "task:j/mpi",
        ("5 free nodes at once: 4 of 4",),
        "too-few-nodes",
        (a_job(tasks=[together(instances=5)]),),
        mpi_pool(),
    ),
    "preparation fails everywhere": Cause(
        "job:j",
        ("ineligible nodes: 1 of 1", "preparation failed there", FULL, "preparation failed there"),
        "preparation-failed",
        (a_job(prep=a_line(5, 2)),),
    ),
    "preparation fails on a node": Cause(
        "preparation:j/0",
        ("failed with exit code 2", "is not assigned here"),
        "preparation-failed",
        (a_job(prep=a_line(5, 2)),),
    ),
    "preparation hangs": Cause(
        "preparation:j/0", ("running since 08:00:50",), "takes-long", (a_job(prep=a_line(40_000)),), None, 9000
    ),
    "release fails": Cause(
        "release:j/0",
        ("failed with exit code 9",),
        "release-failed",
        (a_job(prep=a_line(5), release=a_line(5, 9), **ENDS),),
    ),
    "release holds the job": Cause(
        "job:j",
        ("release tasks: 1 open", "1 release task running"),
        "",
        (a_job(prep=a_line(5), release=a_line(600), **ENDS),),
        None,
        300,
    ),
    "a disabled job schedule": Cause(
        "schedule:s",
        ("disabled since 08:10:00",),
        "occurrence-missed",
        (),
        None,
        7300,
        schedule() | {"timeline": [at(600, disableJobSchedule={"jobScheduleId": "s"})]},
    ),
    "a job schedule that has ended": Cause(
        "schedule:s",
        ("no job is created after 08:30:00",),
        "",
        (),
        None,
        7300,
        schedule(doNotRunAfter="2026-01-05T08:30:00Z"),
    ),
    "a job schedule that has not begun": Cause(
        "schedule:s", ("the next one at 10:30:00",), "", (), None, 3600, schedule(doNotRunUntil="2026-01-05T10:30:00Z")
    ),
    "a formula fails": Cause(
        "task:j/t1",
        (NONE, "Unknown variable nothing"),
        "formula-failed",
        pool=formula("$TargetDedicatedNodes = nothing;"),
    ),
    "a formula never grows": Cause(
        "task:j/t1", (NONE, "its formula wants none"), "pool-without-nodes", pool=formula("$TargetDedicatedNodes = 0;")
    ),
    "a task is retried": Cause(
        "task:j/t1",
        ("2 times because it failed with exit code 1; 00:02:02 of work lost",),
        "task-retried",
        (a_job(tasks=[a_task(exit_code=1, constraints={"maxTaskRetryCount": 3})]),),
        None,
        200,
    ),
    "a signature has expired": Cause(
        "task:j/e",
        ("BlobAccessDenied", f"access to {URL} expired at 08:30:00"),
        "task-failed",
        (a_job(tasks=[a_task("w", 3000), a_task("e", resourceFiles=SIGNED)]),),
    ),
    "a blob is missing": Cause(
        "task:j/t1",
        ("BlobNotFound", f"{URL} is missing"),
        "task-failed",
        (a_job(tasks=[a_task(resourceFiles=[{"httpUrl": URL, "filePath": "x"}])]),),
        more={"simulate": {"storage": {URL: {"missing": True}}}},
    ),
    "an application package is missing": Cause(
        "task:j/t1",
        ("ApplicationPackageError", "solver has no version '9'"),
        "task-failed",
        (a_job(tasks=[a_task(applicationPackageReferences=[{"applicationId": "solver", "version": "9"}])]),),
        more={"account": {"applications": [{"id": "solver", "versions": ["1"]}]}},
    ),
    "the job's time limit": Cause(
        "task:j/t1",
        ("exit code", "TaskEnded", "the job was ended", "j: MaxWallClockTimeExpiry"),
        "job-ended-early",
        (a_job(tasks=some_tasks(1, 3000), constraints={"maxWallClockTime": "PT5M"}),),
    ),
    "a job beyond its time limit": Cause(
        "job:j",
        ("ended: MaxWallClockTimeExpiry",),
        "job-ended-early",
        (a_job(tasks=some_tasks(1, 3000), constraints={"maxWallClockTime": "PT5M"}),),
    ),
    "the task's time limit": Cause(
        "task:j/t1",
        ("exit code", "TaskEnded", "maximum execution time exceeded"),
        "task-failed",
        (a_job(tasks=[a_task("t1", 3000, constraints={"maxWallClockTime": "PT5M"})]),),
    ),
    "a job without tasks": Cause("job:j", ("tasks: it had none",), "job-ran-nothing", (a_job(tasks=0, **ENDS),)),
    "a job that nobody ends": Cause("job:j", ("onAllTasksComplete: noaction",), "job-never-ends", at_s=3600),
    "a manager waits for tasks that have no room": Cause(
        "task:j/t2",
        (FULL, "1 node without a free slot"),
        "too-few-nodes",
        (a_job(tasks=[{"id": "m", "commandLine": "manage", "simulate": {"until": "othersCompleted"}}, a_task("t2")]),),
        None,
        600,
    ),
}


@pytest.mark.parametrize("name", CAUSES)
def test_the_cause_is_named_and_nothing_else(name):
    cause = CAUSES[name]
    given = {"until": "PT4H"} | dict(cause.more)
    sim = simulation(*cause.jobs, pool=cause.pool, **given)
    run_to(sim, seconds=14_400 if cause.at_s is None else cause.at_s)
    findings = answer_about(sim, find_subject(sim, cause.subject)).as_json()["findings"]
    unmet = [f"{one['what']}: {one['says']}" for one in findings if one["ok"] is False]
    assert len(unmet) == len(cause.says), unmet
    assert [said for said, found in zip(cause.says, unmet, strict=True) if said not in found] == [], unmet
    attention = {
        item.kind: item.subject for item in Attention(sim).items() if item.severity != "info" or item.kind == cause.kind
    }
    assert not cause.kind or cause.kind in attention
    assert cause.kind or not attention
