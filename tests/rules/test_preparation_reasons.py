"""The rule that an event of a preparation names: why it starts, and why it ends (chapter 11)."""

from __future__ import annotations

import pytest

from tests import builders as b


def reasons(sim, **fields):
    return [event["rule"] for event in b.events(sim, "JobPreparationTaskStateChanged", **fields)]


def a_run(start, operation=None, *, second=None, prep=None, **more):
    """A task of ten minutes; the operation hits its node, by default while it prepares; then to the end."""
    sim = start(b.a_job(tasks=[b.a_task(seconds=600)], prep=prep or b.a_line(30), release=b.a_line(5)), **more)
    b.run_to(sim, seconds=second or b.READY_S + 10)
    if operation is not None:
        name, fields = operation
        b.do(sim, name, poolId="p", **fields)
    b.run_to_end(sim)
    return sim


@pytest.mark.parametrize(
    ("name", "end", "again"),
    [("rebootNode", "PREP-15", "PREP-15"), ("reimageNode", "PREP-18", "PREP-18")],
)
def test_prep_15_and_18_name_what_stops_a_preparation_and_has_it_run_again(start, name, end, again):
    sim = a_run(start, (name, {"node": 0}))
    assert reasons(sim) == ["PREP-3", end, again, "PREP-5"]


def test_prep_16_names_the_rerun_after_a_success_that_a_reboot_has_voided(start):
    sim = a_run(start, ("rebootNode", {"node": 0}), second=b.READY_S + 60)
    assert reasons(sim) == ["PREP-3", "PREP-5", "PREP-16", "PREP-5"]


def test_prep_18_names_the_rerun_after_a_success_whose_disk_is_gone(start):
    sim = a_run(start, ("reimageNode", {"node": 0}), second=b.READY_S + 60)
    assert reasons(sim) == ["PREP-3", "PREP-5", "PREP-18", "PREP-5"]


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("removeNodes", {"nodeList": [0]}),
        ("deallocateNode", {"node": 0}),
        ("failNode", {"node": 0, "code": "DiskFull"}),
    ],
)
def test_prep_19_names_the_end_on_a_node_that_is_lost_or_leaves(start, name, fields):
    sim = a_run(start, (name, fields))
    assert reasons(sim) == ["PREP-3", "PREP-19"]


def test_prep_13_and_14_name_a_start_that_does_not_wait_and_a_failure_that_bars_nobody(start):
    sim = a_run(start, prep=b.a_line(30, exit_code=1) | {"waitForSuccess": False})
    assert reasons(sim) == ["PREP-3", "PREP-14"]
    assert [event["rule"] for event in b.events(sim, "TaskStateChanged", to="running")] == ["PREP-13"]


def test_prep_9_names_a_final_failure_that_bars_the_node(start):
    sim = a_run(start, prep=b.a_line(30, exit_code=1))
    assert reasons(sim) == ["PREP-3", "PREP-9"]
