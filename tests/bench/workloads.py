"""The work that engine and floor are given, and what the engine is told about it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine import Simulation

PREP_MS = 20_000
RELEASE_MS = 5_000
PRIORITIES = range(-1000, 1001)


@dataclass(frozen=True)
class Workload:
    """``tasks`` in ``jobs`` equal jobs on ``nodes`` × ``slots``.

    ``prepared`` adds preparation and release, ``retried`` attempts of which one in twenty fails and is made again.
    With ``uploads`` every task leaves a file and uploads it, each under a name of its own. ``beside`` is the workload
    with which the cost of such tasks is compared.
    """

    name: str
    tasks: int
    nodes: int
    slots: int
    jobs: int = 1
    prepared: bool = False
    retried: bool = False
    priorities: bool = False
    managed: bool = False  # a job manager adds the tasks and waits for them
    uploads: bool = False
    beside: str = ""
    goal: float | None = None  # the most that it should cost, as a multiple of bare SimPy events

    @property
    def rows(self) -> int:
        """The number of tasks with the job manager that adds the others."""
        return self.tasks + self.managed

    def scenario(self) -> str:
        """The scenario file. All nodes are ready at the same time, so that first in, first out decides every start."""
        return json.dumps(
            {
                "scenario": self.name,
                "account": {
                    "quotas": {"dedicatedCores": self.nodes, "activeJobsAndSchedules": max(300, self.jobs)},
                },
                "simulate": {"nodes": {"allocation": "PT30S", "starting": "PT30S", "ready": "PT30S"}},
                "pools": [
                    {
                        "id": "bench",
                        "vmSize": "standard_d1_v2",
                        "targetDedicatedNodes": self.nodes,
                        "taskSlotsPerNode": self.slots,
                    }
                ],
                "jobs": [self._job(number) for number in range(self.jobs)],
            }
        )

    def _job(self, number: int) -> dict[str, object]:
        simulate: dict[str, object] = {"duration": {"uniform": ["PT10S", "PT10M"]}}
        job: dict[str, object] = {
            "id": f"job-{number}",
            "poolInfo": {"poolId": "bench"},
            "onAllTasksComplete": "terminatejob",
        }
        if self.priorities:
            job["priority"] = PRIORITIES[number * 37 % len(PRIORITIES)]
        if self.retried:
            simulate["exitCode"] = {0: 0.95, 1: 0.05}
            job["constraints"] = {"maxTaskRetryCount": 2}
        if self.prepared:
            job["jobPreparationTask"] = {
                "commandLine": "fetch",
                "simulate": {"duration": PREP_MS / 1000},
            }
            job["jobReleaseTask"] = {"commandLine": "clean", "simulate": {"duration": RELEASE_MS / 1000}}
        task: dict[str, object] = {"id": "task-{0}", "commandLine": "work {0}", "simulate": simulate}
        if self.uploads:
            simulate["writes"] = {"result.bin": "1 KB"}
            container = {"containerUrl": "https://bench.blob.core.windows.net/out", "path": "results/{0}"}
            task["outputFiles"] = [{"filePattern": "result.bin", "destination": {"container": container}}]
        factory = {
            "type": "parametricSweep",
            "parameterSets": [{"start": 1, "end": self.tasks // self.jobs}],
            "repeatTask": task,
        }
        if self.managed:
            does = [{"after": "PT10S", "addTasks": {"taskFactory": factory}}]
            acts = {"does": does, "until": "othersCompleted"}
            job["jobManagerTask"] = {"id": "manager", "commandLine": "manage", "simulate": acts}
        else:
            job["taskFactory"] = factory
        return job


WORKLOADS = {
    workload.name: workload
    for workload in (
        Workload("plain-100k", 100_000, 1_000, 4, goal=2.8),
        Workload("plain-1m", 1_000_000, 10_000, 4, goal=2.2),
        Workload("full-100k", 100_000, 1_000, 4, jobs=20, prepared=True, retried=True, goal=4.0),
        Workload("full-1m", 1_000_000, 10_000, 4, jobs=20, prepared=True, retried=True, goal=4.0),
        Workload("uploads-100k", 100_000, 1_000, 4, uploads=True, beside="plain-100k"),
        Workload("managed-100k", 100_000, 1_000, 4, managed=True, beside="plain-100k"),
        Workload("priorities-100k", 100_000, 1_000, 4, jobs=1_000, priorities=True, goal=3.5),
    )
}


def dashboard_scenario(nodes: int, tasks: int) -> str:
    """Return a scenario of a short job that is over while the long one runs; preparation fails on 1 % of the nodes."""
    long = Workload("dashboard", tasks, nodes, 4, jobs=1, prepared=True, retried=True)
    body = json.loads(long.scenario())
    short = json.loads(Workload("short", nodes * 4, nodes, 4, jobs=1, prepared=True, retried=True).scenario())["jobs"][
        0
    ]
    body["jobs"].append({**short, "id": "short", "priority": 100})
    for job in body["jobs"]:
        job["jobPreparationTask"]["simulate"]["exitCode"] = {0: 0.99, 1: 0.01}
        job["jobPreparationTask"]["constraints"] = {"maxTaskRetryCount": 0}
    return json.dumps(body)


def half_played(simulation: Simulation, tasks: int) -> Simulation:
    """Play a simulation until half of its tasks are completed, and return it."""
    done = 0
    while done * 2 < tasks and simulation.advance(simulation.end_ms):
        done = sum(job.counts[3] for job in simulation.world.jobs.rows)
    return simulation
