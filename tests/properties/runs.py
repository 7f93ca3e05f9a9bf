"""Random scenarios and random commands: a little of everything, small enough to check after every instant."""

from __future__ import annotations

import json
from contextlib import suppress
from random import Random
from typing import Any

from engine import BatchError, Scenario, Simulation, load_scenario
from engine.specs.commands import COMMANDS, Command
from tests.invariants import check
from tests.properties import needs

_OPTIONS = ("requeue", "terminate", "taskcompletion", "retaineddata")
_FORMULAS = (
    "$TargetDedicatedNodes = min(5, $PendingTasks.GetSample(1)); $NodeDeallocationOption = taskcompletion;",
    "$TargetDedicatedNodes = rand() * 5; $TargetLowPriorityNodes = rand() * 3;",
    "$TargetDedicatedNodes = avg($PendingTasks.GetSample(TimeInterval_Minute * 7));",
    "$TargetDedicatedNodes = time().minute / 10; x = time().minute > 40 ? nowhere : 1;",
)
_KEPT = {"autoPoolSpecification": {"poolLifetimeOption": "job", "keepAlive": True}}
_STEPS_MS = (1_000, 5_000, 30_000, 60_000, 200_000)


def random_scenario(random: Random) -> Scenario:
    """One or two pools, a few jobs with whatever jobs can have, maybe a job schedule, three hours at most."""
    crowded = random.random() < 0.4  # many equal tasks: then most ends take the hot path
    together = random.random() < 0.4  # multi-instance tasks find pools where they can run
    body = {
        "scenario": "random",
        "seed": random.randrange(1000),
        "until": "PT3H",
        "account": needs.ACCOUNT
        | {
            "quotas": {
                "dedicatedCores": random.choice([8, 100]),
                "lowPriorityCores": 100,
                "activeJobsAndSchedules": random.choice([6, 300]),
            }
        },
        "simulate": {"network": _network(random), "storage": needs.STORAGE},
        "pools": [_pool(random, number, together) for number in range(random.randrange(1, 3))],
        "jobs": [_job(random, number, crowded) for number in range(random.randrange(1, 5))],
        "jobSchedules": [_schedule(random, 0)] if random.random() < 0.5 else [],
    }
    return load_scenario("random.yaml", text=json.dumps(body))


def _duration(random: Random) -> Any:
    return random.choice([f"PT{random.randrange(1, 200)}S", {"uniform": ["PT5S", "PT90S"]}, {"exponential": "PT40S"}])


def _simulate(random: Random, failing: float) -> dict[str, Any]:
    return {"duration": _duration(random), "exitCode": {0: 1 - failing, 1: failing}}


def _network(random: Random) -> dict[str, Any]:
    """Subnets 0 and 1; what is closed in them, and how many addresses they have."""
    blocked = random.choice([False, False, True, [29_876]])
    return {"0": {"blocked": blocked}, "1": {"freeAddresses": random.randrange(8)}}


def _pool(random: Random, number: int, together: bool) -> dict[str, Any]:
    pool: dict[str, Any] = {
        "id": f"p{number}",
        "vmSize": "standard_d2s_v3",
        "targetDedicatedNodes": random.randrange(6),
        "targetLowPriorityNodes": random.randrange(3),
        "taskSlotsPerNode": random.randrange(1, 5),
        "taskSchedulingPolicy": {"nodeFillType": random.choice(["pack", "spread"])},
    } | needs.of_pool(random)
    if together:
        pool |= {"enableInterNodeCommunication": True, "taskSlotsPerNode": 1, "targetDedicatedNodes": 5}
    if random.random() < 0.25:
        del pool["targetDedicatedNodes"], pool["targetLowPriorityNodes"]
        pool |= {"enableAutoScale": True, "autoScaleEvaluationInterval": "PT5M"}
        pool["autoScaleFormula"] = random.choice(_FORMULAS)
    if random.random() < 0.3:
        pool |= {"vmSize": "medium", "cloudServiceConfiguration": {"osFamily": "5"}}
    if random.random() < 0.3:
        pool["networkConfiguration"] = {"subnetId": str(random.randrange(2))}
    if random.random() < 0.4:
        pool["startTask"] = {
            "commandLine": "start",
            "maxTaskRetryCount": random.randrange(2),
            "waitForSuccess": random.random() < 0.7,
            "simulate": _simulate(random, 0.2),
        } | needs.files(random)
    return pool


def _job(random: Random, number: int, crowded: bool) -> dict[str, Any]:
    job: dict[str, Any] = {
        "id": f"j{number}",
        "at": random.randrange(300),
        "priority": random.randrange(-2, 3),
        "poolInfo": {"poolId": f"p{random.randrange(2)}"},
        "constraints": {"maxTaskRetryCount": random.randrange(3)},
        "usesTaskDependencies": random.random() < 0.3,
        "allowTaskPreemption": random.random() < 0.2,
        "onAllTasksComplete": random.choice(["noaction", "terminatejob"]),
    }
    if random.random() < 0.3:
        job["maxParallelTasks"] = random.randrange(1, 6)
    if random.random() < 0.2:
        job["constraints"]["maxWallClockTime"] = f"PT{random.randrange(3, 40)}M"
    if random.random() < 0.7:
        job["jobPreparationTask"] = {
            "commandLine": random.choice(["prep", '/bin/sh -c "echo x > $AZ_BATCH_NODE_SHARED_DIR/x"']),
            "waitForSuccess": random.random() < 0.75,
            "rerunOnNodeRebootAfterSuccess": random.random() < 0.6,
            "constraints": {"maxTaskRetryCount": random.randrange(2), "maxWallClockTime": "PT2M"},
            "simulate": _simulate(random, 0.2),
        } | needs.of_command_line(random)
        if random.random() < 0.8:
            release = {"commandLine": "release", "simulate": _simulate(random, 0.2)}
            job["jobReleaseTask"] = release | needs.of_command_line(random)
    if random.random() < 0.15:
        job["jobManagerTask"] = _manager(random)
    if crowded:
        job |= {"usesTaskDependencies": False, "maxParallelTasks": -1}
        simulate = {"duration": _duration(random), "exitCode": {0: 0.95, 1: 0.05}}
        sweep = {"id": "{0}", "commandLine": "work {0}", "simulate": simulate}
        parameters = [{"start": 0, "end": random.randrange(20, 300)}]
        job["taskFactory"] = {"type": "parametricSweep", "parameterSets": parameters, "repeatTask": sweep}
        return job
    job["tasks"] = [_task(random, number, job["usesTaskDependencies"]) for number in range(random.randrange(15))]
    if random.random() < 0.4:
        job["taskFactory"] = {
            "type": "parametricSweep",
            "parameterSets": [{"start": 100, "end": 100 + random.randrange(1, 60)}],
            "repeatTask": {
                "id": "{0}",
                "commandLine": "work {0}",
                "requiredSlots": random.choice([1, 2]),
                "simulate": _simulate(random, 0.1),
            },
        }
    return job


def _manager(random: Random) -> dict[str, Any]:
    return {
        "id": "boss",
        "commandLine": "manage",
        "killJobOnCompletion": random.random() < 0.7,
        "runExclusive": random.random() < 0.7,
        "constraints": {"maxTaskRetryCount": random.randrange(2)},
        "simulate": _simulate(random, 0.2),
    }


def _schedule(random: Random, number: int) -> dict[str, Any]:
    """A job schedule; most of its jobs end by themselves."""
    schedule: dict[str, Any] = {"id": f"s{number}", "schedule": _timing(random)}
    job = _job(random, number, crowded=False)
    specification = {name: body for name, body in job.items() if name not in ("id", "at", "tasks", "taskFactory")}
    if random.random() < 0.8:
        specification["jobManagerTask"] = _manager(random)
    if random.random() < 0.3:
        lifetime = random.choice(["job", "jobschedule"])
        pool = {"vmSize": "standard_d2s_v3", "targetDedicatedNodes": random.randrange(3)}
        auto_pool = {"poolLifetimeOption": lifetime, "keepAlive": random.random() < 0.2, "pool": pool}
        specification["poolInfo"] = {"autoPoolSpecification": auto_pool}
    return schedule | {"jobSpecification": specification}


def _timing(random: Random) -> dict[str, Any]:
    timing: dict[str, Any] = {}
    if random.random() < 0.8:
        timing["recurrenceInterval"] = f"PT{random.randrange(1, 30)}M"
    if random.random() < 0.4:
        timing["startWindow"] = f"PT{random.randrange(1, 20)}M"
    if random.random() < 0.3:
        timing["doNotRunUntil"] = f"2026-01-05T08:{random.randrange(40):02}:00Z"
    if random.random() < 0.3:
        timing["doNotRunAfter"] = f"2026-01-05T09:{random.randrange(60):02}:00Z"
    return timing


def _task(random: Random, number: int, dependencies: bool) -> dict[str, Any]:
    task: dict[str, Any] = {
        "id": str(number),
        "commandLine": random.choice(["work", '/bin/sh -c "echo $AZ_BATCH_TASK_ID"']),
        "requiredSlots": random.choice([1, 1, 1, 2, 3]),
        "simulate": {"duration": _duration(random), "exitCode": {0: 0.8, 3: 0.2}},
    } | needs.of_task(random)
    if random.random() < 0.2:
        task["constraints"] = {"maxWallClockTime": f"PT{random.randrange(1, 60)}S"}
    if random.random() < 0.25:
        coordination = {"coordinationCommandLine": random.choice(["mpd", '/bin/sh -c "exit $AZ_BATCH_NODE_IS_NONE"'])}
        settings = coordination | {"numberOfInstances": random.randrange(1, 4), "simulate": _simulate(random, 0.1)}
        task |= {"requiredSlots": 1, "multiInstanceSettings": settings}
    if dependencies and number and random.random() < 0.6:
        wanted = {"taskIds": [str(random.randrange(number))]}
        task["dependsOn"] = random.choice([wanted, {"taskIdRanges": [{"start": 0, "end": random.randrange(number)}]}])
    if dependencies and random.random() < 0.3:
        task["exitConditions"] = {"default": {"dependencyAction": "satisfy"}}
    return task


def random_command(random: Random) -> Command:
    """Any command or fault, sensible or not."""
    pool = {"poolId": f"p{random.randrange(2)}"}
    job = {"jobId": random.choice([*(f"j{number}" for number in range(4)), "s0:job-1", "s0:job-2"])}
    schedule = {"jobScheduleId": f"s{random.randrange(2)}"}
    node = pool | {"node": random.randrange(8)}
    task = job | {"taskId": str(random.randrange(15))}
    option = random.choice(_OPTIONS)
    name, body = random.choice(
        [
            ("rebootNode", node | {"nodeRebootOption": option}),
            ("reimageNode", node | {"nodeReimageOption": option}),
            ("deallocateNode", node | {"nodeDeallocateOption": option}),
            ("startNode", node),
            ("disableNodeScheduling", node | {"nodeDisableSchedulingOption": random.choice(_OPTIONS[:3])}),
            ("enableNodeScheduling", node),
            ("failNode", node | {"state": random.choice(["unusable", "unknown"]), "for": "PT9M"}),
            ("failNode", node | {"state": "unusable"}),
            ("evictNode", node),
            ("resizePool", pool | {"targetDedicatedNodes": random.randrange(7), "nodeDeallocationOption": option}),
            ("resizePool", pool | {"targetDedicatedNodes": 3, "targetLowPriorityNodes": random.randrange(3)}),
            ("stopPoolResize", pool),
            ("enablePoolAutoScale", pool | {"autoScaleFormula": random.choice(_FORMULAS)}),
            ("evaluatePoolAutoScale", pool | {"autoScaleFormula": random.choice(_FORMULAS)}),
            ("disablePoolAutoScale", pool),
            ("removeNodes", pool | {"nodeList": [node["node"]], "nodeDeallocationOption": option}),
            ("upgradePoolOS", pool | {"osVersion": random.choice(["*", "5.20", "5.21"])}),
            ("updatePool", pool | {"networkConfiguration": {"subnetId": str(random.randrange(2))}}),
            ("replacePoolProperties", pool | {"startTask": {"commandLine": "start", "simulate": {"duration": 30}}}),
            ("capacity", {"vmSize": "standard_d2s_v3", "nodes": random.randrange(4)}),
            ("deletePool", pool),
            ("createPool", {"id": pool["poolId"], "vmSize": "standard_d2s_v3", "targetDedicatedNodes": 2}),
            ("disableJob", job | {"disableTasks": random.choice(["requeue", "terminate", "wait"])}),
            ("enableJob", job),
            ("terminateJob", job | {"force": random.random() < 0.2}),
            ("deleteJob", job | {"force": random.random() < 0.2}),
            ("updateJob", job | {"maxParallelTasks": random.choice([-1, 1, 5])}),
            ("updateJob", job | {"priority": random.randrange(-5, 5)}),
            ("updateJob", job | {"poolInfo": random.choice([pool, _KEPT])}),
            ("terminateTask", task),
            ("reactivateTask", task),
            ("deleteTask", task),
            *needs.commands(random, pool, node),
            ("createJobSchedule", _schedule(random, random.randrange(2))),
            ("updateJobSchedule", schedule | {"schedule": _timing(random)}),
            ("disableJobSchedule", schedule),
            ("enableJobSchedule", schedule),
            ("terminateJobSchedule", schedule | {"force": random.random() < 0.2}),
            ("deleteJobSchedule", schedule | {"force": random.random() < 0.2}),
        ]
    )
    return COMMANDS[name].from_wire(body)


def play(simulation: Simulation, random: Random, commands: int) -> None:
    """Play to the end with so many commands in between; the invariants are checked after every instant."""
    for _ in range(commands):
        until_ms = simulation.now_ms + random.choice(_STEPS_MS)
        if until_ms >= simulation.end_ms:
            break
        play_until(simulation, until_ms)
        with suppress(BatchError):  # a refusal is an answer like any other
            simulation.submit(random_command(random))
        check(simulation.world)
    play_until(simulation, simulation.end_ms)


def play_until(simulation: Simulation, until_ms: int) -> None:
    """Play on, checking the invariants after every instant."""
    calendar = simulation.world.calendar
    while (when_ms := calendar.peek_ms()) is not None and when_ms <= until_ms:
        simulation.step()
        if calendar.instant_is_over():
            check(simulation.world)
    simulation.run_until(until_ms)
