"""Strategies for what processes do while they run, and for what they wait for (chapter 10)."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.properties.needs import Body, chance

_CHILDREN = st.sampled_from(["c0", "c1", "c2", "0", "1"])
_NODES = {"poolId": "p0", "node": 0}
_UNTIL = st.sampled_from(
    [
        "othersCompleted",
        "othersCompleted",
        {"tasks": {"completed": {"atLeast": 1}}},
        {"tasks": {"completed": {"atLeast": 4}, "running": {"atMost": 2}}},
        {"jobId": "j0", "state": "completed"},
        {"poolId": "p0", "nodes": {"idle": {"atLeast": 1}}},
        {"events": {"NodeStateChanged": {"atLeast": 30}}},
        {"state": "completed"},  # never while its own process runs
    ]
)
_COMMANDS = st.sampled_from(
    [
        {"updateJob": {"priority": 3}},
        {"disableJob": {"disableTasks": "requeue"}},
        {"enableJob": {}},
        {"terminateJob": {}},
        {"terminateTask": {"taskId": "boss"}},
        {"reactivateTask": {"taskId": "c0"}},
        {"deleteTask": {"taskId": "0"}},
        {"rebootNode": _NODES},
        {"failNode": _NODES | {"state": "unusable", "for": "PT5M"}},
        {"resizePool": {"poolId": "p0", "targetDedicatedNodes": 3}},
        {"evictNode": _NODES},
        {"reimageNode": _NODES},
        {"quota": {"dedicatedCores": 4}},
        {"capacity": {"vmSize": "standard_d2s_v3", "nodes": 1}},
        {"createApplicationPackage": {"applicationId": "new", "version": "1"}},
        {"updateApplication": {"applicationId": "small", "defaultVersion": "1"}},
        {"updateJob": {"onAllTasksComplete": "terminatejob"}},
        {"deleteJob": {}},
        {"createJob": {"id": "made", "poolInfo": {"poolId": "p0"}, "tasks": [{"id": "c9", "commandLine": "work"}]}},
    ]
)


@st.composite
def acting(draw: st.DrawFn, simulate: Body, share: float = 0.12, deep: int = 1) -> Body:
    """Draw a ``simulate`` block with what its process does, in about this share of all; mostly return it as it is."""
    if not draw(chance(share)):
        return simulate
    found = dict(simulate)
    if draw(chance(0.5)):
        found["until"] = draw(_UNTIL)
        found.pop("duration", None)
    return found | {"does": draw(st.lists(_acts(deep), max_size=3))}


@st.composite
def _acts(draw: st.DrawFn, deep: int) -> Body:
    timing: Body = {"after": draw(st.sampled_from([0, 1, 10, 60.5]))}
    if draw(chance(0.3)):
        conditions = [{"tasks": {"completed": {"atLeast": 2}}}, {"poolId": "p0", "nodes": {"running": {"atLeast": 1}}}]
        timing["when"] = draw(st.sampled_from(conditions))
    if draw(chance(0.5)):
        return timing | draw(_COMMANDS)
    children = draw(st.lists(_CHILDREN, min_size=1, max_size=2))
    return timing | {"addTasks": {"tasks": [draw(_child(name, deep)) for name in children]}}


@st.composite
def _child(draw: st.DrawFn, name: str, deep: int) -> Body:
    simulate: Body = {"duration": draw(st.sampled_from([1, 20, 200])), "exitCode": draw(st.sampled_from([0, 0, 1]))}
    return {"id": name, "commandLine": "work", "simulate": draw(acting(simulate, 0.3, deep - 1)) if deep else simulate}


def of_job(simulate: Body, job_id: str) -> Body:
    """Return the block for a process that belongs to no job: its commands and conditions name this one."""
    found = dict(simulate)
    if "until" in found:
        until = found["until"]
        others = until == "othersCompleted"
        found["until"] = _named({"tasks": {"completed": {"atLeast": 1}}} if others else until, job_id)
    if "does" in found:
        found["does"] = [_entry_of_job(entry, job_id) for entry in found["does"]]
    if "attempts" in found:
        found["attempts"] = [of_job(other, job_id) for other in found["attempts"]]
    if "onNode" in found:
        found["onNode"] = {node: of_job(other, job_id) for node, other in found["onNode"].items()}
    return found


def _entry_of_job(entry: Body, job_id: str) -> Body:
    return {name: _named(value, job_id) if name in _OF_JOB else value for name, value in entry.items()}


@st.composite
def timelines(draw: st.DrawFn) -> list[Body]:
    """Draw commands of the timeline, at a moment or when something has come true; mostly none."""
    if not draw(chance(0.25)):
        return []
    entries = (_entry_of_job(entry, "j0") for entry in draw(st.lists(_acts(1), max_size=4)))
    return [entry if "when" in entry else {"at": 60 * entry.pop("after")} | entry for entry in entries]


def _named(body: Body, job_id: str) -> Body:
    return body if {"poolId", "events"} & body.keys() else {"jobId": job_id} | body


_OF_JOB = (
    "when",
    "addTasks",
    "updateJob",
    "disableJob",
    "enableJob",
    "terminateJob",
    "terminateTask",
    "reactivateTask",
    "deleteTask",
    "deleteJob",
)
