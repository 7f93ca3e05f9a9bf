"""The trace and the table of tasks of a run, recomputed from its event log and its state as JSON."""

from __future__ import annotations

import csv
import itertools
import json
from collections import defaultdict
from datetime import datetime
from functools import cache

import pytest

from engine import Simulation, load_scenario
from engine.views import results
from engine.views.tables import COLUMNS, task_table_lines
from engine.views.trace import trace_lines
from tests.builders import a_job, a_line, a_pool, a_task, simulation, some_tasks

SCENARIOS = [
    "job-prep-release-sample",
    "mpi-in-trouble",
    "mpi-on-four-nodes",
    "nodes-fail-and-recover",
    "pool-deleted-with-everything-in-it",
    "preparation-retries",
    "priorities-and-fairness",
    "reboot-during-preparation",
    "reboot-during-release",
    "repairing-nodes",
    "retries-and-exit-conditions",
    "retries-of-flaky-tasks",
    "spot-evictions",
    "wait-for-success-off",
]
HOOKS = {
    "StartTaskStateChanged": "startTask",
    "JobPreparationTaskStateChanged": "preparation",
    "JobReleaseTaskStateChanged": "release",
}


def played(scenario, until_ms=None):
    sim = Simulation(scenario)
    sim.run_until(sim.end_ms if until_ms is None else until_ms)
    sim.finish()
    return sim


@cache
def bundled(name):
    return played(load_scenario(name))


def logged(sim):
    return [json.loads(line) for line in sim.json_lines()]


def traced(sim):
    lines = list(trace_lines(sim))
    found = json.loads("\n".join(lines))
    assert len(lines) == len(found["traceEvents"]) + 2  # an event a line
    return found


def slices(sim, *categories):
    return [event for event in traced(sim)["traceEvents"] if event["ph"] == "X" and event["cat"] in categories]


def us(event):
    return round(event["t"] * 1000) * 1000


def attempts_in(log):
    """Return (begin, end, job, task, pool, node) of each attempt of a task that has ended, in µs."""
    begun, found = {}, []
    for event in log:
        if event["event"] != "TaskStateChanged":
            continue
        task = event["jobId"], event["taskId"]
        if event.get("from") == "running":
            begin, place = begun.pop(task)
            found.append((begin, us(event), *task, *place))
        if event["to"] == "running":
            begun[task] = us(event), (event["poolId"], event["nodeId"])
    return found, begun


def hook_runs_in(log):
    """Return (category, begin, end, job, node) of each attempt of a hook or start task that has ended, in µs."""
    begun, found = {}, []
    for event in log:
        node = event.get("nodeId")
        if event["event"] in HOOKS:
            key = HOOKS[event["event"]], event.get("jobId"), node
            if key in begun:
                found.append((key[0], begun.pop(key), us(event), *key[1:]))
            if event["to"] == "running":
                begun[key] = us(event)
        elif event["event"] == "NodeStateChanged" and event["to"] in {
            None, "rebooting", "reimaging", "unusable", "leavingpool", "preempted", "deallocating", "upgradingos",
        }:  # fmt: skip
            start = begun.pop(("startTask", None, node), None)
            if start is not None:
                found.append(("startTask", start, us(event), None, node))
    return found


@pytest.mark.parametrize("name", SCENARIOS)
def test_each_attempt_of_a_task_is_a_slice(name):
    sim = bundled(name)
    expected, _ = attempts_in(logged(sim))
    assert expected
    found = [
        (each["ts"], each["ts"] + each["dur"], args["jobId"], each["name"], args["poolId"], args["nodeId"])
        for each in slices(sim, "task")
        for args in [each["args"]]
    ]
    assert sorted(found) == sorted(expected)


@pytest.mark.parametrize("name", SCENARIOS)
def test_each_attempt_of_preparation_release_and_start_task_is_a_slice(name):
    sim = bundled(name)
    found = [
        (each["cat"], each["ts"], each["ts"] + each["dur"], each["args"].get("jobId"), each["args"]["nodeId"])
        for each in slices(sim, *HOOKS.values())
    ]
    assert sorted(found, key=str) == sorted(hook_runs_in(logged(sim)), key=str)


@pytest.mark.parametrize("name", SCENARIOS)
def test_slices_of_a_thread_do_not_overlap(name):
    by_thread = defaultdict(list)
    events = traced(bundled(name))["traceEvents"]
    for event in events:
        if event["ph"] in "XB":
            by_thread[event["pid"], event["tid"]].append((event["ts"], event["ts"] + event.get("dur", 1 << 60)))
    assert by_thread
    for some in by_thread.values():
        some.sort()
        assert all(end <= begin for (_, end), (begin, _) in itertools.pairwise(some))
    assert len({tid for _, tid in by_thread}) == len(by_thread)  # a number stands for one thread in the whole trace


@pytest.mark.parametrize("name", SCENARIOS)
def test_slices_stand_on_the_threads_of_their_node(name):
    sim = bundled(name)
    events = traced(sim)["traceEvents"]
    labels = {e["pid"]: e["args"]["labels"] for e in events if e["name"] == "process_labels"}
    names = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
    slots = {pool["id"]: pool.get("taskSlotsPerNode", 1) for pool in results.document(sim)["pools"]}
    for each in events:
        if each["ph"] not in "XB":
            continue
        args, thread = each["args"], names[each["pid"], each["tid"]]
        assert labels[each["pid"]] == args["nodeId"]
        kind, _, number = thread.partition(" ")
        assert (kind == "slot") == (each["cat"] in {"task", "subtask", "slot"})
        if kind == "slot" and args["poolId"] in slots:
            assert 1 <= int(number) <= slots[args["poolId"]]


# Of the format's description: the members of each phase beside ``ph``, ``name`` and ``pid``.
MEMBERS = {
    "M": {"args"},
    "C": {"ts", "args"},
    "i": {"ts", "args", "cat", "s", "tid"},
    "X": {"ts", "dur", "args", "cat", "tid"},
    "B": {"ts", "args", "cat", "tid"},
}
METADATA = {
    "process_name": "name",
    "process_labels": "labels",
    "process_sort_index": "sort_index",
    "thread_name": "name",
    "thread_sort_index": "sort_index",
}


@pytest.mark.parametrize("name", SCENARIOS)
def test_events_have_the_members_of_their_phase(name):
    found = traced(bundled(name))
    assert found["displayTimeUnit"] in {"ms", "ns"}
    for event in found["traceEvents"]:
        phase = event["ph"]
        assert set(event) - {"ph", "name", "pid", "tid" if phase == "M" else ""} == MEMBERS[phase]
        assert isinstance(event["name"], str)
        assert event["pid"] > 0
        assert event.get("tid", 1) > 0
        assert all(isinstance(event[key], int) and event[key] >= 0 for key in ("ts", "dur") if key in event)
        if phase == "M":
            assert list(event["args"]) == [METADATA[event["name"]]]
        elif phase == "C":
            assert all(isinstance(value, int | float) for value in event["args"].values())
        elif phase == "i":
            assert event["s"] == "g"


def test_node_states_resizes_and_faults_are_in_the_trace():
    sim = bundled("spot-evictions")
    log, events = logged(sim), traced(sim)["traceEvents"]
    instants = [(e["cat"], e["name"], e["ts"]) for e in events if e["ph"] == "i"]
    kinds = {"PoolResizeStart": "resize", "PoolResizeComplete": "resize", "FaultInjected": "fault"}
    wanted = [(kinds[e["event"]], e.get("command", e["event"]), us(e)) for e in log if e["event"] in kinds]
    assert {kind for kind, _, _ in wanted} == {"resize", "fault"}
    assert instants == wanted
    entered = sorted(
        (us(e), e["to"], e["nodeId"])
        for e in log
        if e["event"] == "NodeStateChanged" and e["to"] not in {None, "idle", "running"}
    )
    shown = sorted((e["ts"], e["name"], e["args"]["nodeId"]) for e in events if e.get("cat") == "node")
    assert shown == entered
    assert {"starting", "preempted"} <= {name for _, name, _ in shown}


def test_processes_are_named_and_sorted_by_pool_and_index():
    sim = bundled("mpi-in-trouble")
    events = traced(sim)["traceEvents"]
    names = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    order = {e["pid"]: e["args"]["sort_index"] for e in events if e["name"] == "process_sort_index"}
    in_order = [names[pid] for pid in sorted(order, key=order.__getitem__)]
    cluster = [f"node {at} of cluster" for at in range(5)]
    assert in_order == ["run", *cluster, "node 0 of plain", "node 1 of plain"]
    assert 0 not in names


def test_a_task_of_several_slots_takes_as_many_threads():
    tasks = [a_task("wide", 60, requiredSlots=3), *some_tasks(3, 20)]
    sim = simulation(a_job(tasks=tasks), pool=a_pool(taskSlotsPerNode=4, vmSize="standard_d4s_v3"))
    sim.run_until(sim.end_ms)
    found = slices(sim, "task", "slot")
    wide = [each for each in found if each["name"] == "wide"]
    assert sorted(each["cat"] for each in wide) == ["slot", "slot", "task"]
    assert len({(each["ts"], each["dur"]) for each in wide}) == 1
    assert len({each["tid"] for each in found}) == 4


def test_subtasks_take_a_slot_of_their_nodes():
    sim = bundled("mpi-on-four-nodes")
    found = slices(sim, "task", "subtask")
    solve = [each for each in found if each["name"] == "solve"]
    assert sorted(each["args"].get("subtaskId", 0) for each in solve) == [0, 1, 2, 3]
    assert len({each["args"]["nodeId"] for each in solve}) == 4
    assert {each["cat"] for each in solve if "subtaskId" in each["args"]} == {"subtask"}


def test_what_still_runs_is_open_in_the_trace():
    sim = simulation(a_job(tasks=2, prep=a_line(30)), pool=a_pool(nodes=2))
    sim.run_until(100_000)
    _, running = attempts_in(logged(sim))
    opened = [e for e in traced(sim)["traceEvents"] if e["ph"] == "B"]
    assert {(e["args"]["jobId"], e["name"]): e["ts"] for e in opened} == {key: at for key, (at, _) in running.items()}
    assert len(opened) == 2
    assert not slices(sim, "task")


def value_at(events, name, key, ts):
    """Return the value of a counter at a moment."""
    samples = [(e["ts"], e["args"][key]) for e in events if e["ph"] == "C" and e["name"] == name]
    return next((value for when, value in reversed(samples) if when <= ts), 0)


@pytest.mark.parametrize("name", ["spot-evictions", "job-prep-release-sample"])
def test_counters_follow_the_log(name):
    sim = bundled(name)
    log, events = logged(sim), traced(sim)["traceEvents"]
    changes = sorted({us(event) for event in log})
    column = sim.now_ms * 1000 / 500  # twice the width of a column
    quiet = [(a, b) for a, b in itertools.pairwise(changes) if b - a > 3 * column]
    assert quiet
    for begin, end in quiet:
        middle = (begin + end) / 2
        running = sum(
            (e["to"] == "running") - (e.get("from") == "running")
            for e in log
            if e["event"] == "TaskStateChanged" and us(e) <= middle
        )
        assert value_at(events, "running tasks", "running", middle) == running
    usd = [e["args"]["USD"] for e in events if e["ph"] == "C" and e["name"] == "cost"]
    assert usd == sorted(usd)
    assert usd[-1] == pytest.approx(results.run_totals(sim)["costUsd"], rel=0.01)


# -- the table of tasks ------------------------------------------------------------------------------------------------


def seconds(late, early):
    return (datetime.fromisoformat(late) - datetime.fromisoformat(early)).total_seconds()


@pytest.mark.parametrize("name", [*SCENARIOS, "every-way-to-end-a-job", "nightly-schedule-overruns"])
def test_the_table_has_the_tasks_of_the_state(name):
    sim = bundled(name)
    state = json.loads("".join(results.json_text(sim)))
    lines = list(task_table_lines(sim))
    assert lines[0] == ",".join(COLUMNS)
    rows = list(csv.DictReader(lines))
    tasks = [(job["id"], task) for job in state["jobs"] for task in job["tasks"]]
    assert len(rows) == len(tasks)
    for row, (job_id, task) in zip(rows, tasks, strict=True):
        info, place = task["executionInfo"], task.get("nodeInfo", {})
        wanted = {
            "jobId": job_id,
            "taskId": task["id"],
            "state": task["state"],
            "result": info.get("result", ""),
            "exitCode": info.get("exitCode", ""),
            "poolId": place.get("poolId", ""),
            "nodeId": place.get("nodeId", ""),
            "creationTime": task["creationTime"],
            "startTime": info.get("startTime", ""),
            "endTime": info.get("endTime", ""),
            "retryCount": info["retryCount"],
            "requeueCount": info["requeueCount"],
        }
        assert {key: row[key] for key in wanted} == {key: str(value) for key, value in wanted.items()}
        waited = ran = ""
        if "startTime" in info:
            waited = seconds(info["startTime"], task["creationTime"])
            ran = seconds(info["endTime"], info["startTime"]) if "endTime" in info else ""
        assert row["waitSeconds"] == "" if waited == "" else float(row["waitSeconds"]) == waited
        assert row["runSeconds"] == "" if ran == "" else float(row["runSeconds"]) == ran
        assert (row["node"] == "") == (row["nodeId"] == "")


def test_nodes_of_the_table_have_the_index_of_the_log():
    sim = bundled("spot-evictions")
    order = defaultdict(list)
    for event in logged(sim):
        if event["event"] == "NodeStateChanged" and event["from"] is None:
            order[event["poolId"]].append(event["nodeId"])
    rows = [row for row in csv.DictReader(task_table_lines(sim)) if row["node"]]
    assert rows
    assert all(order[row["poolId"]][int(row["node"])] == row["nodeId"] for row in rows)
