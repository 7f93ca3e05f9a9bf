"""Whole commands, from the start of the process to its exit, beside a plain SimPy program or a Python with click."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from tests.bench.results import Result
from tests.bench.trees import HERE
from tests.bench.workloads import Workload

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from tests.bench.results import Sheet

SLOTS = 4
USUAL_TASKS = 200_000
BARE_CHECK = """
import json
from pydantic import BaseModel, TypeAdapter
class Setting(BaseModel):
    name: str
    value: str
class Limits(BaseModel):
    maxTaskRetryCount: int
    maxWallClockTime: str
class Simulate(BaseModel):
    duration: str
class Task(BaseModel):
    id: str
    commandLine: str
    environmentSettings: list[Setting]
    constraints: Limits
    simulate: Simulate
with open("listed.json", encoding="utf-8") as file:
    TypeAdapter(list[Task]).validate_python(json.load(file)["jobs"][0]["tasks"])
"""


class Bare(NamedTuple):
    """A program that is measured beside commands."""

    name: str
    arguments: Sequence[str]


class Command(NamedTuple):
    """A command to measure, the bare program beside it, and the most that it should cost with the usual tasks."""

    name: str
    arguments: Sequence[str]
    beside: Bare
    goal: float | None = None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this part."""
    parser.add_argument("--tasks", type=int, default=USUAL_TASKS)


def measure(sheet: Sheet, arguments: argparse.Namespace, base: Path | None) -> None:
    """Measure each command in turns with the bare program, and with the same command of another commit."""
    with tempfile.TemporaryDirectory() as directory:
        for command in commands(arguments.tasks, directory):
            for tree in filter(None, (HERE, base)):
                cpu_s(command.arguments, tree, directory)  # compiles what it imports
            own, bare, other = [], [], []
            for _ in range(arguments.rounds):
                bare.append(cpu_s(command.beside.arguments, HERE, directory))
                own.append(cpu_s(command.arguments, HERE, directory))
                if base is not None:
                    other.append(cpu_s(command.arguments, base, directory))
            remark = f"{median(own):.2f} over {median(bare):.2f} s"
            goal = command.goal if arguments.tasks == USUAL_TASKS else None
            sheet.add(Result(command.name, command.beside.name, _over(own, bare), goal, remark=remark))
            if other:
                sheet.add(Result(command.name, "the other commit", _over(own, other)))


def _over(measured: Sequence[float], yardstick: Sequence[float]) -> tuple[float, ...]:
    return tuple(one / other for one, other in zip(measured, yardstick, strict=True))


def cpu_s(arguments: Sequence[str], tree: Path, directory: str) -> float:
    """Return the processor seconds of a Python process with these arguments, which works in ``directory``."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    environment |= {"PYTHONPATH": str(tree), "PYTHONPYCACHEPREFIX": f"{directory}/{tree.name}-bytecode"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], cwd=directory, env=environment, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def listed(tasks: int) -> dict[str, object]:
    """Return a scenario with a body for each task, about 250 bytes long."""
    bodies = [
        {
            "id": f"task-{k:05}",
            "commandLine": f"/bin/sh -c 'price --deal {k} --out result-{k}.csv'",
            "environmentSettings": [{"name": "DEAL", "value": str(k)}],
            "constraints": {"maxTaskRetryCount": 2, "maxWallClockTime": "PT1H"},
            "simulate": {"duration": f"PT{60 + k % 120}S"},
        }
        for k in range(tasks)
    ]
    pool = {"id": "listed", "vmSize": "standard_d2s_v3", "targetDedicatedNodes": 20}
    job = {"id": "listed", "poolInfo": {"poolId": "listed"}, "tasks": bodies}
    return {"scenario": "listed", "pools": [pool], "jobs": [job]}


def logged(jobs: int) -> dict[str, object]:
    """Return a scenario as ``import`` writes it of a cluster's log: a line of the timeline for each job."""
    simulated = ({"duration": 60 + k * 37 % 3600} for k in range(jobs))
    tasks = ({"id": str(k), "commandLine": "job", "simulate": each} for k, each in enumerate(simulated))
    timeline = [{"at": k, "addTasks": {"jobId": "log", "tasks": [task]}} for k, task in enumerate(tasks)]
    pool = {"id": "log", "vmSize": "standard_d2s_v3", "targetDedicatedNodes": jobs // 100, "taskSlotsPerNode": SLOTS}
    job = {"id": "log", "poolInfo": {"poolId": "log"}}
    quotas = {"quotas": {"dedicatedCores": 2 * jobs}}
    return {"scenario": "log", "account": quotas, "pools": [pool], "jobs": [job], "timeline": timeline}


def commands(tasks: int, directory: str) -> list[Command]:
    """Return the commands, on a scenario of so many tasks that is written into the directory."""
    nodes = max(1, tasks // 100)
    for name, is_retried in (("whole", False), ("retried", True)):
        workload = Workload(name, tasks, nodes, SLOTS, prepared=True, retried=is_retried)
        Path(directory, f"{name}.json").write_text(workload.scenario(), encoding="utf-8")
    Path(directory, "log.json").write_text(json.dumps(logged(tasks // 10)), encoding="utf-8")
    plain, of_log = (
        Bare("plain SimPy program", ["-m", "tests.bench.slots", str(each), str(max(1, each // 100)), str(SLOTS)])
        for each in (tasks, tasks // 10)
    )
    click = Bare("Python with click", ["-c", "import click"])
    reading = Bare("json and pydantic", ["-c", BARE_CHECK])
    run = ["-m", "tui", "run", "whole.json", "--quiet"]
    Path(directory, "listed.json").write_text(json.dumps(listed(tasks // 10)), encoding="utf-8")
    return [
        Command("run --quiet", run, plain, 1.2),
        Command(
            "run --quiet, one attempt in twenty fails", ["-m", "tui", "run", "retried.json", "--quiet"], plain, 2.0
        ),
        Command("run --quiet --events FILE", [*run, "--events", "events.jsonl"], plain, 1.8),
        Command("run --quiet --events FILE.parquet", [*run, "--events", "events.parquet"], plain),
        Command("run --quiet --events FILE.arrow", [*run, "--events", "events.arrow"], plain),
        Command("run --quiet --output json", [*run, "--output", "json"], plain, 3.0),
        Command("run --quiet of a log, a tenth as many jobs", ["-m", "tui", "run", "log.json", "--quiet"], of_log, 8.0),
        Command("check of a tenth as many listed tasks", ["-m", "tui", "check", "listed.json"], reading, 2.5),
        Command("--version", ["-m", "tui", "--version"], click, 3.0),
        Command("scenarios", ["-m", "tui", "scenarios"], click, 3.0),
        Command("run of the sample", ["-m", "tui", "run", "job-prep-release-sample", "--quiet"], click, 5.0),
    ]
