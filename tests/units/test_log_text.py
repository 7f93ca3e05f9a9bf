"""Tests of events as lines of text; the golden logs cover the rest."""

from __future__ import annotations

import pytest

from engine.autoscale.values import RunError
from engine.base.errors import Position, failure
from engine.base.log import EventLog, Json, LogEntry, LogSubject
from engine.base.terms import InstanceState, NodeState
from engine.scenario.model import DEFAULT_START
from tests.golden.text import elapsed, line


class Labels:
    """Names of rows: their numbers."""

    def pool(self, pool):
        return f"p{pool}"

    def node(self, node):
        return f"node {node} of p0"

    def job(self, job):
        return f"j{job}"

    def task(self, task):
        return f"t{task} of j0"

    def schedule(self, schedule):
        return f"s{schedule}"


def a_line(event, subject, *fields, rows=(0, 0), t_ms=92_145):
    log = EventLog(DEFAULT_START)
    shape = log.shapes[log.shape(event, subject, *fields)]
    return line(Labels(), LogEntry(1, t_ms, shape, *rows))


@pytest.mark.parametrize(
    ("t_ms", "text"),
    [(0, "+00:00:00.000"), (92_145, "+00:01:32.145"), (7 * 24 * 3_600_000, "+168:00:00.000")],
)
def test_elapsed(t_ms, text):
    assert elapsed(t_ms) == text


def test_a_move_and_its_rule():
    fields = (("from", NodeState.CREATING), ("to", NodeState.STARTING), ("rule", "NODE-9"))
    text = a_line("NodeStateChanged", LogSubject.NODE, *fields)
    assert text == "+00:01:32.145  node 0 of p0  creating → starting  NODE-9"


def test_the_new_and_the_gone():
    assert "(new) → creating" in a_line("NodeStateChanged", LogSubject.NODE, ("from", None), ("to", NodeState.CREATING))
    assert "leavingpool → (gone)" in a_line(
        "NodeStateChanged", LogSubject.NODE, ("from", NodeState.LEAVING_POOL), ("to", None)
    )


def test_how_an_instance_ended():
    why = failure("FailureExitCode")
    fields = (
        ("to", InstanceState.COMPLETED),
        ("attempt", 2),
        ("exitCode", 56),
        ("failureInfo", why),
        ("rule", "PREP-9"),
    )
    text = a_line("JobPreparationTaskStateChanged", LogSubject.INSTANCE, *fields, rows=(3, 1))
    assert text.endswith(
        "preparation of j3 on node 1 of p0  completed  attempt 2  exit 56  FailureExitCode (UserError)  PREP-9"
    )


def test_a_start_task_has_no_job():
    text = a_line("StartTaskStateChanged", LogSubject.INSTANCE, ("to", "running"), ("attempt", 1), rows=(-1, 4))
    assert text.endswith("start task on node 4 of p0  running")


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ('{"id":"shared","vmSize":"small"}', "shared"),
        ('{"poolId":"shared","nodeList":[1,2],"force":true}', "poolId=shared  nodeList=[1,2]  force=true"),
        ('{"jobId":"risk","tasks":[{"id":"a"},{"id":"b"}]}', "jobId=risk  tasks=[2]"),
        ('{"jobId":"risk","constraints":{"maxTaskRetryCount":1}}', "jobId=risk  constraints={…}"),
    ],
)
def test_a_command_by_what_it_is_about(body, text):
    found = a_line("CommandAccepted", LogSubject.RUN, ("command", "doIt"), ("body", Json(body)))
    assert found.endswith(f"command doIt  {text}")


def test_a_refusal_names_its_code():
    fields = (("command", "doIt"), ("body", Json("{}")), ("code", "JobExists"), ("message", "It exists."))
    assert a_line("CommandRefused", LogSubject.RUN, *fields).endswith("command doIt  refused  JobExists")


def test_what_has_no_place_of_its_own_is_told_by_name():
    fields = (("targetDedicatedNodes", 3), ("currentDedicatedNodes", 1), ("weather", "fine"))
    assert a_line("PoolResizeStart", LogSubject.POOL, *fields).endswith(
        "resize of p0  starts  dedicated 1 → 3  weather=fine"
    )


@pytest.mark.parametrize(
    ("own", "error", "more", "said"),
    [
        ("", None, (), "dedicated 1 → 3"),
        (";n=2.5;s=a;b", None, (), "dedicated 1 → 3  n=2.5;s=a;b"),
        (";n=2", None, (("trial", True), ("rule", "AS-87")), "tried out  dedicated 1 → 3  n=2  AS-87"),
        (
            "",
            RunError("InsufficientSampleData", Position(2, 7), "Insufficient data"),
            (),
            "dedicated 1 → 3  InsufficientSampleData  Line 2, Col 7: Insufficient data",
        ),
    ],
)
def test_an_evaluation_tells_targets_variables_and_what_went_wrong(own, error, more, said):
    results = f"$TargetDedicatedNodes=3;$TargetLowPriorityNodes=0;$NodeDeallocationOption=requeue{own}"
    counts = (("currentDedicatedNodes", 1), ("targetDedicatedNodes", 3))
    evaluated = (("formula", "x =\n 1"), ("results", results), ("error", error), *more)
    assert a_line("AutoScaleEvaluated", LogSubject.POOL, *counts, *evaluated).endswith(f"autoscale of p0  {said}")
