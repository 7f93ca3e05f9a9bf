"""Chapters 27 and 29: how long things take when nobody says, and what the event log says of a run."""

from __future__ import annotations

import json
from datetime import datetime, timedelta

import pytest

from engine import Simulation
from tests.builders import (
    READY_S,
    a_job,
    a_line,
    a_pool,
    a_shell,
    a_task,
    do,
    events,
    evict,
    refusal,
    run,
    run_to,
    run_to_end,
    scenario,
    times,
)

ALWAYS = {"seq", "t", "time", "event"}
NODE = {"poolId", "nodeId"}
TARGETS = {"currentDedicatedNodes", "targetDedicatedNodes", "currentLowPriorityNodes", "targetLowPriorityNodes"}
RESIZE = {"poolId", "nodeDeallocationOption", "enableAutoScale", "isAutoPool"} | TARGETS
ENDING = {"exitCode", "result", "failureInfo"}

# The contract of the event log: what an event always has, and what it may have besides.
FIELDS = {
    "PoolStateChanged": ({"poolId", "from", "to"}, {"reason"}),
    "PoolAllocationStateChanged": ({"poolId", "from", "to"}, {"reason"}),
    "JobStateChanged": ({"jobId", "from", "to"}, {"reason"}),
    "NodeStateChanged": (NODE | {"from", "to"}, {"reason"}),
    "NodeSchedulingStateChanged": (NODE | {"from", "to"}, set()),
    "TaskStateChanged": ({"jobId", "taskId", "from", "to", "attempt"}, NODE | ENDING),
    "StartTaskStateChanged": (NODE | {"to", "attempt"}, ENDING),
    "JobPreparationTaskStateChanged": (NODE | {"jobId", "to", "attempt"}, ENDING),
    "JobReleaseTaskStateChanged": (NODE | {"jobId", "to", "attempt"}, ENDING),
    "PoolResizeStart": (RESIZE, set()),
    "PoolResizeComplete": (
        RESIZE | {"startTime", "endTime", "resultCode", "resultMessage", "resizeErrors"},
        set(),
    ),
    "JobScheduleOccurrenceMissed": ({"scheduleId", "occurrence", "reason"}, set()),
    "TaskScheduleFail": ({"jobId", "taskId", "category", "code", "message"}, NODE),
    "CommandAccepted": ({"command", "body"}, set()),
    "FaultInjected": ({"command", "body"}, NODE),
    "CommandRefused": ({"command", "body", "code", "message"}, {"values"}),
}


def checked(sim):
    """The log, after each of its lines was held against the contract."""
    log = events(sim)
    for line in log:
        needed, allowed = FIELDS[line["event"]]
        names = set(line) - ALWAYS - {"rule"}
        assert needed <= names <= needed | allowed, line
        assert line.get("rule", "GEN-1").split("-")[-1].isdigit(), line
        if {"nodeId"} & names:
            assert "poolId" in names, line
        _check_ending(line)
    return log


def _check_ending(line):
    """Check that exactly completed tasks have a result, and failures a reason."""
    ends = line.get("to") == "completed" and line["event"] not in ("JobStateChanged",)
    assert ("result" in line) is ends, line
    if ends:
        failed = line["result"] == "failure"
        assert ("failureInfo" in line) is failed, line
        if failed:
            assert {"category", "code", "message"} <= line["failureInfo"].keys(), line
            assert line["failureInfo"]["category"] in ("UserError", "ServerError"), line
        else:
            assert line["exitCode"] == 0, line


# -- the shape of the log --------------------------------------------------------------------------------------------


def eventful(start):
    """A run in which nearly everything happens once."""
    tasks = [
        a_task("t1", 100),
        a_task("retried", 20, simulate={"attempts": [{"exitCode": 1}]}, constraints={"maxTaskRetryCount": 1}),
        a_task("failed", 20, 3),
        a_task("slow", 900, constraints={"maxWallClockTime": "PT1M"}),
        a_task("lost", simulate={"found": False}),
        a_task("wide", 10, requiredSlots=2),
        a_task("never", requiredSlots=9),
    ]
    bad = a_line(5, simulate={"onNode": {1: {"exitCode": 1}}})
    pool = a_pool(nodes=2, targetLowPriorityNodes=2, taskSlotsPerNode=2, startTask=a_line(5))
    sim = start(a_job(tasks=tasks, prep=bad, release=a_line(5)), a_job("other", 6, priority=-1), pool=pool)
    run_to(sim, seconds=READY_S + 20)
    do(sim, "disableNodeScheduling", poolId="p", node=0)
    evict(sim, next(i for i in range(4) if not sim.world.nodes[i].dedicated))
    do(sim, "rebootNode", poolId="p", node=1)
    run(sim, minutes=5)
    do(sim, "enableNodeScheduling", poolId="p", node=0)
    do(sim, "failNode", poolId="p", node=0, state="unusable", code="DiskFull")
    assert refusal(sim, "enableJob", jobId="j") is not None
    assert refusal(sim, "resizePool", poolId="q", targetDedicatedNodes=0) == "PoolNotFound"
    run(sim, minutes=10)
    do(sim, "resizePool", poolId="p", targetDedicatedNodes=60)
    run(sim, minutes=5)
    do(sim, "disableJob", jobId="other", disableTasks="requeue")
    run(sim, minutes=1)
    do(sim, "terminateJob", jobId="j", terminateReason="enough")
    run(sim, minutes=2)
    do(sim, "deleteTask", jobId="other", taskId="t1")
    do(sim, "deleteJob", jobId="j")
    run(sim, minutes=1)
    do(sim, "deletePool", poolId="p")
    run_to_end(sim)
    return sim


def test_evt_1_every_event_has_the_fields_of_the_contract(start):
    log = checked(eventful(start))
    assert {line["event"] for line in log} == set(FIELDS) - {"JobScheduleOccurrenceMissed"}  # JS-15 has its own tests


def test_evt_1_the_numbers_have_no_gaps_and_the_times_agree(start):
    sim = eventful(start)
    log = events(sim)
    assert [line["seq"] for line in log] == list(range(1, len(log) + 1))
    begin = datetime.fromisoformat("2026-01-05T08:00:00+00:00")
    for line in log:
        assert datetime.fromisoformat(line["time"]) == begin + timedelta(seconds=line["t"])
        assert line["t"] == round(line["t"], 3)
        assert line["time"].endswith("Z")


def test_evt_1_whatever_is_new_comes_from_nothing_and_whatever_goes_ends_in_nothing(start):
    log = events(eventful(start))
    subjects = {
        "PoolStateChanged": ("poolId",),
        "JobStateChanged": ("jobId",),
        "TaskStateChanged": ("jobId", "taskId"),
        "NodeStateChanged": ("nodeId",),
    }
    for name, key in subjects.items():
        state = {}
        for line in log:
            if line["event"] == name:
                subject = tuple(line[part] for part in key)
                assert line["from"] == state.get(subject), line
                state[subject] = line["to"]
        gone = [subject for subject, last in state.items() if last is None]
        assert gone, name
    assert state
    assert all(last is None for last in state.values())


def test_evt_1_the_lines_are_compact_json(start):
    sim = eventful(start)
    for line in sim.json_lines():
        assert json.dumps(json.loads(line), separators=(",", ":"), ensure_ascii=False) == line


def test_evt_2_a_task_says_on_which_node_and_for_which_time(start):
    failing = a_task(exit_code=1, constraints={"maxTaskRetryCount": 1})
    sim = start(a_job(tasks=[failing]))
    run_to_end(sim)
    told = [
        (e["from"], e["to"], e["attempt"], "nodeId" in e, e.get("exitCode")) for e in events(sim, "TaskStateChanged")
    ]
    assert told == [
        (None, "active", 1, False, None),
        ("active", "running", 1, True, None),
        ("running", "active", 1, True, 1),
        ("active", "running", 2, True, None),
        ("running", "completed", 2, True, 1),
    ]


def test_evt_2_special_tasks_have_events_of_their_own_and_no_place_among_the_tasks(start):
    sim = start(a_job(prep=a_line(1), release=a_line(1)), pool=a_pool(startTask=a_line(1)))
    run_to(sim, minutes=5)
    do(sim, "terminateJob", jobId="j")
    run_to_end(sim)
    assert {event["taskId"] for event in events(sim, "TaskStateChanged")} == {"t1"}
    for name, job in (("StartTask", None), ("JobPreparationTask", "j"), ("JobReleaseTask", "j")):
        found = events(sim, f"{name}StateChanged")
        assert [event["to"] for event in found] == ["running", "completed"]
        assert {event.get("jobId") for event in found} == {job}


def test_evt_2_a_retry_of_a_special_task_is_another_running_without_completed_between(start):
    bad = a_line(5, 1, constraints={"maxTaskRetryCount": 1})
    sim = start(
        a_job(prep=bad), pool=a_pool(startTask=a_line(5, simulate={"attempts": [{"exitCode": 1}]}, maxTaskRetryCount=1))
    )
    run_to_end(sim)
    for name in ("StartTaskStateChanged", "JobPreparationTaskStateChanged"):
        told = [(event["to"], event["attempt"]) for event in events(sim, name)]
        assert told == [("running", 1), ("running", 2), ("completed", 2)]


def test_evt_3_a_finished_resize_says_what_it_wanted_what_it_got_and_when(start):
    sim = start(pool=a_pool(nodes=60))
    run_to_end(sim)
    done = events(sim, "PoolResizeComplete")[0]
    assert (done["targetDedicatedNodes"], done["currentDedicatedNodes"]) == (60, 50)
    assert (done["startTime"], done["endTime"]) == ("2026-01-05T08:00:00Z", "2026-01-05T08:00:10Z")
    assert done["resultCode"] == "AccountCoreQuotaReached"
    assert done["resultMessage"] == done["resizeErrors"][0]["message"]
    assert [error["code"] for error in done["resizeErrors"]] == ["AccountCoreQuotaReached"]


def test_evt_3_a_resize_that_went_well_has_no_errors(start):
    sim = start(pool=a_pool(nodes=1))
    run_to_end(sim)
    done = events(sim, "PoolResizeComplete")[0]
    assert (done["resultCode"], done["resizeErrors"]) == ("Success", [])


def test_evt_4_a_requeue_is_told_and_the_next_attempt_starts_anew(start):
    sim = start(a_job())
    run_to(sim, seconds=READY_S + 5)
    do(sim, "disableJob", jobId="j", disableTasks="requeue")
    run(sim, seconds=3)
    do(sim, "enableJob", jobId="j")
    run_to_end(sim)
    back = events(sim, "TaskStateChanged", to="active", from_="running")[0]
    assert (back["rule"], back["attempt"], "nodeId" in back) == ("JOB-11", 1, True)
    assert [event["attempt"] for event in events(sim, "TaskStateChanged", to="running")] == [1, 2]


def test_evt_1_commands_and_refusals_show_what_was_asked(start):
    sim = start()
    assert refusal(sim, "createPool", id="p", vmSize="standard_d2s_v3", targetDedicatedNodes=1) == "PoolExists"
    refused = events(sim, "CommandRefused")[0]
    assert refused["body"] == {"id": "p", "vmSize": "standard_d2s_v3", "targetDedicatedNodes": 1}
    assert refused["message"] == "The specified pool already exists."
    assert refused["values"] == [{"key": "PropertyName", "value": "poolId"}, {"key": "PropertyValue", "value": "p"}]
    do(sim, "capacity", vmSize="standard_d2s_v3", nodes=3)
    assert events(sim, "FaultInjected")[0]["body"] == {"vmSize": "standard_d2s_v3", "nodes": 3}


@pytest.mark.parametrize(
    ("command", "body", "values"),
    [
        (
            "createPool",
            {"id": "p2", "vmSize": "standard_d2s_v3", "targetDedicatedNodes": 1, "taskSlotsPerNode": 99},
            ("taskSlotsPerNode", "99", "is 99, must be 1 to 8 for standard_d2s_v3"),
        ),
        (
            "resizePool",
            {"poolId": "p", "targetDedicatedNodes": 1, "resizeTimeout": "PT1M"},
            ("resizeTimeout", "PT1M", "is PT1M, must be PT5M or more"),
        ),
        (
            "addTasks",
            {"jobId": "j", "tasks": [{"id": "no id", "commandLine": "x"}]},
            ("id", "no id", "'no id' is not an id: use 1 to 64 letters, digits, hyphens and underscores"),
        ),
        (
            "updateJob",
            {"jobId": "j", "priority": 1001},
            ("priority", "1001", "is 1001, must be -1000 to 1000"),
        ),
        ("upgradePoolOS", {"poolId": "p", "osVersion": "*"}, (None, None, "its nodes are no cloud service")),
        ("disableNodeScheduling", {"poolId": "p", "node": 7}, ("node", "7", None)),
    ],
)
def test_gen_10_a_refusal_names_the_property_its_value_and_the_reason(start, command, body, values):
    sim = start(a_job())
    assert refusal(sim, command, **body) is not None
    names = ("PropertyName", "PropertyValue", "Reason")
    expected = [{"key": name, "value": value} for name, value in zip(names, values, strict=True) if value is not None]
    assert events(sim, "CommandRefused")[-1]["values"] == expected


def test_gen_19_values_are_shortened_and_the_body_is_whole(start):
    sim = start()
    long = "x" * 200_000
    body = {"id": long, "vmSize": "standard_d2s_v3", "targetDedicatedNodes": 1}
    assert refusal(sim, "createPool", **body) == "InvalidPropertyValue"
    refused = events(sim, "CommandRefused")[-1]
    assert refused["body"]["id"] == long
    values = {item["key"]: item["value"] for item in refused["values"]}
    assert values["PropertyValue"] == "x" * 39 + "..." + "x" * 38
    assert len(values["Reason"]) < 200


@pytest.mark.parametrize("seed", [0, 1])
def test_evt_1_the_same_scenario_and_seed_give_the_same_bytes(seed):
    tasks = [a_task(f"t{number}", {"lognormal": [60, 0.5]}, {"0": 0.7, "1": 0.3}) for number in range(40)]
    job = a_job(tasks=tasks, prep=a_line({"normal": [20, 5]}), constraints={"maxTaskRetryCount": 2})
    runs = [Simulation(scenario(job, pool=a_pool(nodes=5)), seed) for _ in range(2)]
    for sim in runs:
        run_to_end(sim)
    assert list(runs[0].json_lines()) == list(runs[1].json_lines())


# -- timings ---------------------------------------------------------------------------------------------------------


def test_time_1_a_resize_lasts_a_quarter_of_an_hour_at_most(start):
    sim = start(pool=a_pool(nodes=1), simulate={"nodes": {"allocation": 10_000}})
    run_to_end(sim)
    assert times(sim, "PoolResizeComplete") == [900]


def test_time_9_and_10_a_second_to_be_seen_and_a_second_to_start(start):
    sim = start(a_job(tasks=[a_task(seconds=10)], at="PT5M"))
    run_to_end(sim)
    assert times(sim, "TaskStateChanged") == [300, 301, 312]


def test_time_10_downloads_take_fifty_megabytes_a_second(start):
    files = [{"httpUrl": "https://a/big", "filePath": "f"}]
    prep = a_line(5, resourceFiles=files)
    sim = start(a_job(prep=prep), simulate={"storage": {"https://a/big": {"size": "1 GB"}}})
    run_to_end(sim)
    begun, ended = times(sim, "JobPreparationTaskStateChanged")
    assert ended - begun == 1 + 20 + 5


def test_time_11_special_tasks_take_five_seconds_and_tasks_a_minute_if_nobody_says(start):
    unknown = {"commandLine": "nobody-knows"}
    sim = start(a_job(tasks=[{"id": "t1"} | unknown], prep=unknown, release=unknown))
    run_to(sim, minutes=5)
    do(sim, "terminateJob", jobId="j")
    run_to_end(sim)
    spans = [times(sim, f"Job{kind}TaskStateChanged") for kind in ("Preparation", "Release")]
    assert [round(ended - begun, 3) for begun, ended in spans] == [6, 6]
    begun, ended = (times(sim, "TaskStateChanged", to=state)[0] for state in ("running", "completed"))
    assert ended - begun == 61


def test_time_11_what_the_small_shell_knows_takes_a_second(start):
    sim = start(a_job(tasks=[{"id": "t1"} | a_shell("echo x")]))
    run_to_end(sim)
    begun, ended = (times(sim, "TaskStateChanged", to=state)[0] for state in ("running", "completed"))
    assert ended - begun == 2


@pytest.mark.parametrize(
    ("commands", "states"),
    [
        ([("disableJob", {"disableTasks": "requeue"})], ("disabling", "disabled")),
        ([("disableJob", {"disableTasks": "requeue"}), ("enableJob", {})], ("enabling", "active")),
        ([("terminateJob", {})], ("terminating", "completed")),
        ([("deleteJob", {})], ("deleting", None)),
    ],
)
def test_time_19_an_intermediate_state_lasts_two_seconds_if_nothing_is_waited_for(start, commands, states):
    sim = start(a_job(tasks=0))
    run_to(sim, minutes=2)
    for name, body in commands:
        do(sim, name, jobId="j", **body)
        run(sim, seconds=5)
    begun, ended = (times(sim, "JobStateChanged", to=state)[-1] for state in states)
    assert round(ended - begun, 3) == 2
