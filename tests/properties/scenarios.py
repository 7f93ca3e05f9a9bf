"""Strategies for scenarios: a little of everything, small enough to check after every instant."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from tests.properties import needs
from tests.properties.acts import acting, of_job, timelines
from tests.properties.needs import Body, chance
from tests.properties.resources import as_resource
from tests.properties.scripts import scripted

UNTIL_MS = 10_800_000  # PT3H
MOST_POOLS, MOST_JOBS, MOST_TASKS = 2, 4, 15
FORMULAS = st.sampled_from(
    [
        "$TargetDedicatedNodes = min(5, $PendingTasks.GetSample(1)); $NodeDeallocationOption = taskcompletion;",
        "$TargetDedicatedNodes = rand() * 5; $TargetLowPriorityNodes = rand() * 3;",
        "$TargetDedicatedNodes = avg($PendingTasks.GetSample(TimeInterval_Minute * 7));",
        "$TargetDedicatedNodes = 1 + max(0, $NetworkInBytes.GetSample(6)) / 1000000 + (max(0, $MemoryBytes) > 9);",
        "used = max(0, $DiskBytes) + $DiskWriteOps + $NetworkOutBytes; $TargetDedicatedNodes = used > 0 ? 4 : 2",
        "$TargetDedicatedNodes = max(0, $CPUPercent) > 30 || $SampleNodeCount < 2 ? 4 : 1;",
        "$TargetDedicatedNodes = time().minute / 10; x = time().minute > 40 ? nowhere : 1;",
    ]
)
# What a process uses of its node, mostly nothing that is said.
_LOADS: list[Body] = [{}, {}, {}, {}, {"memory": 30}, {"network": "9 MB", "cpu": 40}, {"disk": {"write": "2 MB"}}]
# Scripts that take as long as their node's files say (TASK-24).
FETCHING = "/bin/sh -c 'cd $AZ_BATCH_NODE_SHARED_DIR; for x in 1 2; do [ -f $x ] || { sleep 20; date > $x; }; done'"
WAITING = "/bin/sh -c 'cat $AZ_BATCH_NODE_SHARED_DIR/1 || sleep $(echo $AZ_BATCH_TASK_ID | wc -c); exit $?'"
_VNET = "/subscriptions/1/resourceGroups/hub/providers/Microsoft.Network/virtualNetworks/corp"
subnets = st.sampled_from([f"{_VNET}/subnets/0", f"{_VNET}/subnets/1"])


@st.composite
def scenarios(draw: st.DrawFn) -> Body:
    """Draw a scenario of three hours: one or two pools, a few jobs, maybe a job schedule."""
    crowded = draw(chance(0.4))  # many equal tasks: then most of them end on the fast path
    together = draw(chance(0.4))  # multi-instance tasks find pools where they can run
    quotas = {
        "dedicatedCores": draw(st.sampled_from([100, 8])),
        "lowPriorityCores": 100,
        "activeJobsAndSchedules": draw(st.sampled_from([300, 6])),
    }
    drawn_pools = draw(st.lists(pools(together=together), min_size=1, max_size=MOST_POOLS))
    drawn_jobs = draw(st.lists(jobs(crowded=crowded), min_size=1, max_size=MOST_JOBS))
    drawn_schedules = draw(st.lists(schedules(), max_size=1))
    return {
        "scenario": "random",
        "seed": draw(st.integers(0, 999)),
        "until": "PT3H",
        "options": draw(options()),
        "account": needs.ACCOUNT | {"quotas": quotas},
        "simulate": {"network": draw(networks()), "storage": needs.STORAGE} | draw(rates()) | draw(sampling()),
        "pools": [as_resource(pool) if draw(chance(0.15)) else pool for pool in _numbered("p", drawn_pools)],
        "jobs": _numbered("j", drawn_jobs),
        "jobSchedules": _numbered("s", drawn_schedules),
        "timeline": draw(timelines()),
    }


def _numbered(prefix: str, bodies: list[Body]) -> list[Body]:
    return [{"id": f"{prefix}{number}"} | body for number, body in enumerate(bodies)]


@st.composite
def durations(draw: st.DrawFn) -> Any:
    """Draw how long a process takes: a constant, or a distribution."""
    kind = draw(st.integers(0, 2))
    if kind == 0:
        return f"PT{draw(st.integers(1, 199))}S"
    return {"uniform": ["PT5S", "PT90S"]} if kind == 1 else {"exponential": "PT40S"}


@st.composite
def outcomes(draw: st.DrawFn, failing: float, exit_code: int = 1) -> Body:
    """Draw a ``simulate`` block of a process of which about the share ``failing`` ends with ``exit_code``."""
    simulate = {"duration": draw(durations()), "exitCode": {"0": round(1 - failing, 2), str(exit_code): failing}}
    if draw(chance(0.1)):
        simulate["attempts"] = draw(st.lists(_others(), min_size=1, max_size=2))
    if draw(chance(0.1)):
        simulate["onNode"] = {str(draw(st.integers(0, 2))): draw(_others())}
    return draw(acting(simulate | draw(st.sampled_from(_LOADS))))


@st.composite
def _others(draw: st.DrawFn) -> Body:
    """Draw the other outcome of an attempt or of a node."""
    return draw(acting({"duration": draw(durations()), "exitCode": draw(st.sampled_from([0, 1, 3]))}))


_AGENTS = ("batch.node.ubuntu 22.04", "batch.node.ubuntu 24.04", "batch.node.windows amd64")
_IMAGES = (
    {"publisher": "canonical", "offer": "0001-com-ubuntu-server-jammy", "sku": "22_04-lts"},
    {"publisher": "Canonical", "offer": "ubuntu-24_04-lts", "sku": "server"},
    {"publisher": "MicrosoftWindowsServer", "offer": "WindowsServer", "sku": "2022-datacenter"},
)
_OTHERS = ({"publisher": "corp", "offer": "linux", "sku": "1"}, {"virtualMachineImageId": "/images/render"})
# Images with any node agent: the service refuses some of them (POOL-26).
machines = st.fixed_dictionaries(
    {"imageReference": st.sampled_from([*_IMAGES, *_OTHERS]), "nodeAgentSKUId": st.sampled_from(_AGENTS)}
)
_good_machines = st.tuples(st.sampled_from([*zip(_IMAGES, _AGENTS, strict=True)])) | st.tuples(
    st.tuples(st.sampled_from(_OTHERS), st.sampled_from(_AGENTS))
)


@st.composite
def networks(draw: st.DrawFn) -> Body:
    """Draw what is closed in subnet 0, and how many addresses subnet 1 has."""
    blocked = draw(st.sampled_from([False, False, True, [29_876]]))
    return {"*/0": {"blocked": blocked}, "*/1": {"freeAddresses": draw(st.integers(0, 7))}}


@st.composite
def options(draw: st.DrawFn) -> Body:
    """Draw what a scenario may decide where the documentation does not, mostly the default."""
    storage = {"strictStorage": draw(chance(0.3))}
    if not draw(chance(0.4)):
        return storage
    released = draw(st.sampled_from(["task", "preparation"]))
    return storage | {"releaseAfter": released, "rebootRetriesFailedPreparation": draw(st.booleans())}


@st.composite
def sampling(draw: st.DrawFn) -> Body:
    """Draw how samples of metrics come, mostly all of them and at once."""
    if not draw(chance(0.2)):
        return {}
    delay, lost = draw(st.sampled_from([0, 10, 60])), draw(st.sampled_from([0, 0.3, 1]))
    return {"autoScale": {"sampleDelay": delay, "sampleLossProbability": lost}}


@st.composite
def rates(draw: st.DrawFn) -> Body:
    """Draw how often nodes fail and are evicted, mostly not at all."""
    if not draw(chance(0.25)):
        return {}
    rate = st.sampled_from([0, 0.5, 4])
    spot = {"evictionRate": draw(rate), "notice": draw(st.sampled_from([0, 30, 240]))}
    return {"nodes": {"failureRate": draw(rate)}, "spot": spot}


@st.composite
def pools(draw: st.DrawFn, *, together: bool) -> Body:
    """Draw a pool; ``together`` gives it room for multi-instance tasks."""
    pool: Body = {
        "vmSize": "standard_d2s_v3",
        "targetDedicatedNodes": 5 if together else draw(st.integers(0, 5)),
        "targetLowPriorityNodes": draw(st.integers(0, 2)),
        "taskSlotsPerNode": 1 if together else draw(st.integers(1, 4)),
        "taskSchedulingPolicy": {"nodeFillType": draw(st.sampled_from(["pack", "spread"]))},
    } | draw(needs.of_pool())
    if together:
        pool["enableInterNodeCommunication"] = True
    if draw(chance(0.25)):
        del pool["targetDedicatedNodes"], pool["targetLowPriorityNodes"]
        pool |= {"enableAutoScale": True, "autoScaleEvaluationInterval": "PT5M", "autoScaleFormula": draw(FORMULAS)}
    if draw(chance(0.3)):
        version = draw(st.sampled_from(["*", "*", "WA-GUEST-OS-5.18_201802-01"]))
        pool |= {"vmSize": "medium", "cloudServiceConfiguration": {"osFamily": "5", "osVersion": version}}
        if pool.pop("targetLowPriorityNodes", 0):  # POOL-27
            pool["targetDedicatedNodes"] += 1
    elif draw(chance(0.3)):
        ((image, agent),) = draw(_good_machines)
        pool["virtualMachineConfiguration"] = {"imageReference": image, "nodeAgentSKUId": agent}
    if draw(chance(0.3)):
        pool["networkConfiguration"] = {"subnetId": draw(subnets)}
    if draw(chance(0.4)):
        start = {
            "commandLine": "start",
            "maxTaskRetryCount": draw(st.integers(0, 1)),
            "waitForSuccess": draw(chance(0.7)),
            "simulate": of_job(draw(outcomes(0.2)), "j0"),
        } | draw(needs.files())
        pool["startTask"] = draw(scripted(start, 0.1))
    return pool


@st.composite
def jobs(draw: st.DrawFn, *, crowded: bool) -> Body:
    """Draw a job with its tasks; ``crowded`` gives it many equal ones."""
    job: Body = {"at": draw(st.integers(0, 299))} | draw(specifications(depends=not crowded))
    if crowded:
        work = {"id": "{0}", "commandLine": "work {0}", "simulate": draw(outcomes(0.05))}
        if draw(chance(0.4)):
            work["outputFiles"] = draw(needs.output_files(path="{0}.txt"))
            work["simulate"] |= {"writes": {"out/r.bin": draw(st.sampled_from(["2 KB", "1 GB"]))}, "stdout": "done"}
        sweep = _sweep(0, draw(st.integers(0, 299)), draw(scripted(work, 0.15)))
        return job | {"maxParallelTasks": -1, "taskFactory": sweep}
    drawn_tasks = draw(st.lists(tasks(), max_size=MOST_TASKS - 1))
    job["tasks"] = [_placed(task, number, job["usesTaskDependencies"]) for number, task in enumerate(drawn_tasks)]
    if draw(chance(0.4)):
        slots = draw(st.sampled_from([1, 2]))
        work = {"id": "{0}", "commandLine": "work {0}", "requiredSlots": slots, "simulate": draw(outcomes(0.1))}
        job["taskFactory"] = _sweep(100, 100 + draw(st.integers(1, 59)), draw(scripted(work)))
    return job


def _sweep(start: int, end: int, work: Body) -> Body:
    return {"type": "parametricSweep", "parameterSets": [{"start": start, "end": end}], "repeatTask": work}


@st.composite
def specifications(draw: st.DrawFn, *, depends: bool = True, has_manager: float = 0.15) -> Body:
    """Draw what jobs and the jobs of a schedule have in common; ``depends`` allows dependencies of tasks."""
    job: Body = {
        "priority": draw(st.sampled_from([0, 1, 2, -1, -2])),
        "poolInfo": {"poolId": f"p{draw(st.integers(0, MOST_POOLS - 1))}"},
        "constraints": {"maxTaskRetryCount": draw(st.integers(0, 2))},
        "usesTaskDependencies": depends and draw(chance(0.3)),
        "allowTaskPreemption": draw(chance(0.2)),
        "onAllTasksComplete": draw(st.sampled_from(["noaction", "terminatejob"])),
    }
    if draw(chance(0.3)):
        job["maxParallelTasks"] = draw(st.integers(1, 5))
    if draw(chance(0.2)):
        job["constraints"]["maxWallClockTime"] = f"PT{draw(st.integers(3, 39))}M"
    if draw(chance(0.7)):
        preparation = {
            "commandLine": draw(
                st.sampled_from(["prep", '/bin/sh -c "echo x > $AZ_BATCH_NODE_SHARED_DIR/x"', FETCHING])
            ),
            "waitForSuccess": draw(chance(0.75)),
            "rerunOnNodeRebootAfterSuccess": draw(chance(0.6)),
            "constraints": {"maxTaskRetryCount": draw(st.integers(0, 1)), "maxWallClockTime": "PT2M"},
            "simulate": draw(acting(draw(outcomes(0.2)), share=0.1)),
        } | draw(needs.of_command_line())
        job["jobPreparationTask"] = draw(scripted(preparation, 0.15))
        if draw(chance(0.8)):
            release = {"commandLine": "release", "simulate": draw(outcomes(0.2))}
            job["jobReleaseTask"] = draw(scripted(release | draw(needs.of_command_line()), 0.15))
    if draw(chance(has_manager)):
        job["jobManagerTask"] = {
            "id": "boss",
            "commandLine": "manage",
            "killJobOnCompletion": draw(chance(0.7)),
            "runExclusive": draw(chance(0.7)),
            "constraints": {"maxTaskRetryCount": draw(st.integers(0, 1))},
            "simulate": draw(acting(draw(outcomes(0.2)), share=0.5)),
        }
    return job


@st.composite
def schedules(draw: st.DrawFn) -> Body:
    """Draw a job schedule without its id; most of its jobs end by themselves."""
    specification = draw(specifications(has_manager=0.8))
    if draw(chance(0.3)):
        specification["poolInfo"] = {
            "autoPoolSpecification": {
                "poolLifetimeOption": draw(st.sampled_from(["job", "jobschedule"])),
                "keepAlive": draw(chance(0.2)),
                "pool": {"vmSize": "standard_d2s_v3", "targetDedicatedNodes": draw(st.integers(0, 2))},
            }
        }
    return {"schedule": draw(timings()), "jobSpecification": specification}


@st.composite
def timings(draw: st.DrawFn) -> Body:
    """Draw when a job schedule makes its jobs."""
    timing: Body = {}
    if draw(chance(0.8)):
        timing["recurrenceInterval"] = f"PT{draw(st.integers(1, 29))}M"
    if draw(chance(0.4)):
        timing["startWindow"] = f"PT{draw(st.integers(1, 19))}M"
    if draw(chance(0.3)):
        timing["doNotRunUntil"] = f"2026-01-05T08:{draw(st.integers(0, 39)):02}:00Z"
    if draw(chance(0.3)):
        timing["doNotRunAfter"] = f"2026-01-05T09:{draw(st.integers(0, 59)):02}:00Z"
    return timing


leavings = st.sampled_from([{}, {}, {"writes": {"out/r.bin": 7}}, {"stdout": "zwölf", "writes": {"../../x": 5}}])


@st.composite
def tasks(draw: st.DrawFn) -> Body:
    """Draw a task without its id; ``dependsOn`` holds a number that ``_placed`` makes a task before it."""
    task: Body = {
        "commandLine": draw(st.sampled_from(["work", '/bin/sh -c "echo $AZ_BATCH_TASK_ID"', WAITING])),
        "requiredSlots": draw(st.sampled_from([1, 1, 1, 2, 3])),
        "simulate": draw(outcomes(0.2, exit_code=3)) | draw(leavings),
    } | draw(needs.of_task())
    task = draw(scripted(task, endless=0.03))
    if draw(chance(0.2)):
        task["constraints"] = {"maxWallClockTime": f"PT{draw(st.integers(1, 59))}S"}
    if draw(chance(0.25)):
        line = draw(st.sampled_from(["mpd", '/bin/sh -c "exit $AZ_BATCH_NODE_IS_NONE"']))
        gang = {"numberOfInstances": draw(st.integers(1, 3)), "simulate": draw(outcomes(0.1))}
        task |= {"requiredSlots": 1, "multiInstanceSettings": gang | {"coordinationCommandLine": line}}
    if draw(chance(0.6)):
        task["dependsOn"] = draw(st.tuples(st.integers(0, MOST_TASKS - 1), st.booleans()))
    if draw(chance(0.3)):
        task["exitConditions"] = {"default": {"dependencyAction": "satisfy"}}
    return task


def _placed(task: Body, number: int, depends: bool) -> Body:
    """Return the drawn task as the one of that number in its job."""
    task = {"id": str(number)} | task
    drawn = task.pop("dependsOn", None)
    if not depends:
        task.pop("exitConditions", None)
    elif drawn is not None and number:
        before = drawn[0] % number
        ranges = {"taskIdRanges": [{"start": 0, "end": before}]}
        task["dependsOn"] = ranges if drawn[1] else {"taskIds": [str(before)]}
    return task
