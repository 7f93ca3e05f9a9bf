"""The recording of programs that have run: it has the same log, and starts nothing."""

from __future__ import annotations

import json
import os
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import pytest
import yaml

from engine import load_scenario
from engine.base.values import parse_duration
from engine.run.simulation import Simulation
from engine.shell import small_shell
from engine.specs.commands import COMMANDS, TerminateJob
from engine.views.recording import NOT_RECORDED, recorded
from tests import builders
from tests.execution.runs import Blobs, Real, assert_replays, done, output, sh, task


def test_a_recording_does_not_warn_of_a_preparation_that_was_stopped(real: Any) -> None:
    run = real(done(task("t", "true"), prep=sh("sleep 300")))
    run.wait(run.execution.running)
    run.simulation.submit(TerminateJob.from_wire({"jobId": "j"}))
    run.wait()
    assert assert_replays(run.simulation).scenario.warnings == ()


def test_a_recording_of_everything_at_once(real: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """200 tasks on 20 nodes, with failures, retries, failing preparations, a reboot and an eviction amid programs."""
    # The first program on each node waits, so that programs run on the nodes that are rebooted and evicted.
    marks = "test -e $AZ_BATCH_NODE_SHARED_DIR/first || { touch $AZ_BATCH_NODE_SHARED_DIR/first"
    waits = f"until test -e {tmp_path}/go-$AZ_BATCH_NODE_ID; do sleep 0.05; done"
    first = f"test -e {tmp_path}/open || {marks}; {waits}; }}"
    tasks = [task(f"t{number}", f"{first}; test $(( {number} % 5 )) -ne 0") for number in range(200)]
    prep = sh("case $AZ_BATCH_NODE_ID in tvmps_[0-3]*) exit 1;; esac", constraints={"maxTaskRetryCount": 1})
    pool = builders.a_pool(nodes=10, targetLowPriorityNodes=10, startTask=sh("echo start", waitForSuccess=True))
    job = done(*tasks, prep=prep, release=sh("echo bye"), constraints={"maxTaskRetryCount": 1})
    run = real(job, pool=pool, scale=100.0)  # so that the reboot takes no minute
    simulation, nodes = run.simulation, run.simulation.world.nodes
    run.wait(lambda: nodes.length == 20 and len(list(run.folder.glob("p/*/shared/first"))) == 20 - failed_nodes(run))
    busy = [nodes[index] for index in range(20) if (run.node(index) / "shared" / "first").exists()]
    reboots, leaves = (next(each for each in busy if each.dedicated is kind) for kind in (True, False))
    (tmp_path / "open").touch()
    for name, node in (("rebootNode", reboots), ("evictNode", leaves)):
        simulation.submit(COMMANDS[name].from_wire({"poolId": "p", "node": node.position}))
    for each in busy:
        if each is not leaves:
            (tmp_path / f"go-{each.id}").touch()
    run.wait()
    monkeypatch.setattr(os, "fork", None)
    monkeypatch.setattr("subprocess.Popen", None)
    again = assert_replays(simulation)
    assert not again.scenario.executes
    assert failed_nodes(run)
    assert run.events("NodeStateChanged", "rebooting")
    assert run.events("NodeStateChanged", "preempted")
    assert sum(each.seen is None for each in simulation.executed.values()) >= 2  # programs that were ended with them
    ends, starts = run.events(), run.events(to="running")
    assert {event["exitCode"] for event in ends} == {0, 1}
    assert sum(each.subject[0] == "task" for each in simulation.executed.values()) == len(starts)
    assert len(starts) > len(ends) == 200


def test_a_script_that_has_really_run_is_not_run_by_the_simulator_too(
    real: Any, blobs: Blobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would take other ways there, leave other files, and keep keys waiting while it waits for what is not there."""
    script = "until test -e ../x -o -e /proc; do sleep 1; done; test -e /no/such && echo > phantom.txt; echo > real.txt"
    first = task("t", script, outputFiles=[output(f"{blobs.url}/out")])
    run = real(done(first, task("u", "true", dependsOn={"taskIds": ["t"]}), usesTaskDependencies=True))
    shell = small_shell.run
    monkeypatch.setattr(small_shell, "run", None)
    run.wait()
    monkeypatch.setattr(small_shell, "run", shell)
    assert blobs.put == {"/out/real.txt": b"\n"}
    assert not list(run.folder.glob("**/phantom.txt"))
    again = assert_replays(run.simulation)
    assert again.world.disks[0].exists("workitems/j/job-1/t/wd/real.txt")
    assert not again.world.disks[0].exists("workitems/j/job-1/t/wd/phantom.txt")


def failed_nodes(run: Real) -> int:
    """Return on how many nodes the preparation has failed."""
    events = run.events("JobPreparationTaskStateChanged")
    return len({event["nodeId"] for event in events if event["result"] == "failure"})


def test_what_is_deleted_and_made_again_is_recorded_each_time(real: Any) -> None:
    """The programs of a job that has the id of an earlier one, or of a task, are its own."""
    prep = sh("echo first >> $AZ_BATCH_NODE_SHARED_DIR/log; cat $AZ_BATCH_NODE_SHARED_DIR/log; sleep 0.05")
    later = builders.a_job("w", [task("t", "exit 9")], onAllTasksComplete="terminateJob")
    timeline = [
        {"at": "PT1H", "deleteJob": {"jobId": "j"}},
        {"at": "PT2H", "createJob": done(task("t", "sleep 0.1; exit 4"), prep=prep)},
        {"at": "PT3H", "addTasks": {"jobId": "k", "tasks": [task("t", "exit 7")]}},
        {"at": "PT4H", "deleteTask": {"jobId": "k", "taskId": "t"}},
        {"at": "PT5H", "addTasks": {"jobId": "k", "tasks": [task("t", "sleep 0.05; exit 8")]}},
        {"when": {"jobId": "j", "state": "completed"}, "after": "PT6H", "createJob": later},
    ]
    run = real(done(task("t", "exit 3"), prep=prep), builders.a_job("k", [task("u", "true")]), timeline=timeline)
    run.wait()
    assert [event["exitCode"] for event in run.events() if event["taskId"] == "t"] == [3, 4, 7, 8, 9]
    assert_replays(run.simulation)


def test_a_start_task_that_an_update_gives_is_recorded(real: Any) -> None:
    update = {"poolId": "p", "startTask": sh("exit 3", waitForSuccess=True)}
    timeline = [{"at": "PT1H", "updatePool": update}, {"at": "PT2H", "rebootNode": {"poolId": "p", "node": 0}}]
    pool = builders.a_pool(nodes=1, startTask=sh("echo started", waitForSuccess=True))
    run = real(done(task("t", "true")), pool=pool, timeline=timeline)
    run.wait()
    assert [event["exitCode"] for event in run.events("StartTaskStateChanged")] == [0, 3]
    assert_replays(run.simulation)


def test_what_a_recording_cannot_have_is_named_in_its_first_line(real: Any) -> None:
    """A scenario has one body for all jobs of a schedule, whose programs differ."""
    schedule = {
        "id": "s",
        "schedule": {"recurrenceInterval": "PT1H"},
        "jobSpecification": {
            "poolInfo": {"poolId": "p"},
            "onAllTasksComplete": "terminateJob",
            "jobManagerTask": {"id": "m", "killJobOnCompletion": True} | sh("date +%N"),
        },
    }
    run = real(jobSchedules=[schedule], until="PT3H30M")
    run.wait()
    assert len(run.events()) == 4
    first, rest = recorded(run.simulation).split("\n", 1)
    assert first == f"{NOT_RECORDED} task s:job-2/m, task s:job-3/m, task s:job-4/m"
    assert load_scenario("recording", text=rest).warnings == ()


def test_a_recording_holds_for_nodes_that_were_not_there(real: Any, tmp_path: Path) -> None:
    prep = sh(
        f"mkdir {tmp_path}/first 2> /dev/null && echo no >&2 && exit 3; echo fine > $AZ_BATCH_NODE_SHARED_DIR/ready"
    )
    job = done(*(task(f"t{number}", "true", simulate={"duration": "PT5M"}) for number in range(12)), prep=prep)
    run = real(job, pool=builders.a_pool(nodes=3))
    run.wait()
    assert_replays(run.simulation)
    document = yaml.safe_load(recorded(run.simulation))
    simulate = document["jobs"][0]["jobPreparationTask"]["simulate"]
    simulate, on_node = {key: value for key, value in simulate.items() if key != "onNode"}, simulate["onNode"]
    assert on_node.keys() < {0, 1, 2}
    assert simulate == {"duration": ANY, "exitCode": 0, "stdout": "", "writes": {"../../../../../shared/ready": 5}}
    document["pools"][0]["targetDedicatedNodes"] = 6
    more = Simulation(load_scenario("more", text=yaml.safe_dump(document)))
    more.run_until(more.end_ms)
    name, times = "JobPreparationTaskStateChanged", defaultdict(list)
    prepared = [event for event in map(json.loads, more.json_lines()) if event["event"] == name]
    codes = Counter(event["exitCode"] for event in prepared if event["to"] == "completed")
    assert codes[3] == 1
    assert codes[0] > 2
    for event in prepared:
        times[event["nodeId"]].append(event["t"])
    own = {node.id for node in run.simulation.world.nodes}
    lasted = {round(ended - began, 3) for node, (began, ended) in times.items() if node not in own}
    assert lasted == {parse_duration(simulate["duration"]) / 1000}
