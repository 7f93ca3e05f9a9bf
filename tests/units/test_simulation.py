"""Tests of a run as a whole: expectations during it, and the trace of commands."""

from __future__ import annotations

from unittest import mock

import pytest

from engine import BatchError
from engine.base.calendar import DueKind
from engine.base.terms import TaskState
from engine.run import journal
from engine.run import simulation as playing
from engine.specs.commands import COMMANDS
from tests import builders as b
from tests.invariants import check


def test_a_moment_is_looked_at_although_the_entry_before_it_changes_nothing():
    # The last event is long past at the 19th minute; between them only the initial resize's timeout falls due.
    sim = b.simulation(
        b.a_job(tasks=0),
        timeline=[{"at": "PT20M", "resizePool": {"poolId": "p", "targetDedicatedNodes": 3}}],
        expect=[{"at": "PT19M", "poolId": "p", "nodes": {"total": 1}}],
    )
    b.run_to_end(sim)
    sim.finish()
    assert [outcome.met for outcome in sim.expectations] == [True]


def test_a_collection_that_is_refused_whole_leaves_no_trace_but_its_refusal():
    sim = b.simulation(b.a_job(tasks=1))
    assert b.refusal(sim, "addTasks", jobId="j", tasks=[b.a_task("t1")]) == "TaskExists"
    assert b.refusal(sim, "addTasks", jobId="j", tasks=[b.a_task("t1"), b.a_task("t2")]) == "TaskExists"
    commands = [(event["event"], event["command"]) for event in b.events(sim) if event["event"].startswith("Command")]
    assert commands[2:] == [
        ("CommandRefused", "addTasks"),
        ("CommandAccepted", "addTasks"),
        ("CommandRefused", "addTasks"),
    ]


def test_commands_given_together_take_effect_in_the_same_millisecond_and_are_refused_one_by_one():
    sim = b.simulation(b.a_job(tasks=2))
    b.run(sim, seconds=100)
    given = [COMMANDS["terminateTask"].from_wire({"jobId": "j", "taskId": task}) for task in ("t1", "nobody", "t2")]
    codes = [error and error.code for error in sim.submit_all(given)]
    assert codes == [None, "TaskNotFound", None]
    moments = [event["t"] for event in b.events(sim) if event.get("command") == "terminateTask"]
    assert moments == [100.001] * 3


def test_the_calendar_holds_the_next_input_only_however_many_are_still_to_come():
    at = (30, 20, 20, 40, 10)
    sim = b.simulation(
        b.a_job(tasks=2),
        timeline=[{"at": f"PT{minute}M", "updateJob": {"jobId": "j", "priority": minute}} for minute in at],
    )

    def commands_ahead() -> list[int]:
        return [due.when_ms // 60_000 for due in sim.world.calendar.pending() if due.kind is DueKind.COMMAND]

    b.run(sim, seconds=60)
    assert commands_ahead() == [10]
    sim.submit(COMMANDS["updateJob"].from_wire({"jobId": "j", "priority": 1}))  # comes before the one that is entered
    b.run(sim, seconds=15 * 60)
    assert commands_ahead() == [20]
    b.run(sim, seconds=60 * 60)
    given = [event["t"] / 60 for event in b.events(sim) if event.get("command") == "updateJob"]
    assert given == [pytest.approx(1, abs=0.01), *sorted(at)]
    sim.seek(25 * 60_000)
    assert commands_ahead() == [30]


def test_a_trial_leaves_no_trace():
    tried, untouched = (b.simulation(b.a_job(tasks=20)) for _ in range(2))
    b.run(tried, seconds=100)
    with tried.trial():
        tried.submit(COMMANDS["terminateJob"].from_wire({"jobId": "j"}))
        b.run_to_end(tried)
        assert len(tried.journal.by_hand()) == 1
    assert tried.now_ms == 100_000
    assert not tried.is_past
    assert tried.journal.by_hand() == []
    tried.seek(50_000)
    tried.seek(100_000)
    for sim in (tried, untouched):
        b.run_to_end(sim)
    assert list(tried.json_lines()) == list(untouched.json_lines())


def test_nothing_is_tried_out_in_the_past():
    sim = b.simulation(b.a_job(tasks=1))
    b.run_to_end(sim)
    sim.seek(1_000)
    with pytest.raises(BatchError, match="OperationInvalidForCurrentState"), sim.trial():
        raise AssertionError


def test_going_back_puts_a_task_on_the_node_that_it_was_taken_from_while_it_prepares_elsewhere():
    sim = b.simulation(b.a_job(tasks=1, prep=b.a_line(30)), pool=b.a_pool(nodes=2))
    b.wait_for(sim, lambda: b.task_state(sim) == "running")
    b.run(sim, seconds=1)
    with sim.trial():
        b.do(sim, "rebootNode", poolId="p", node=0)
        b.run(sim, seconds=1)
        assert sim.world.tasks.state_of(0) is TaskState.PREPARING
        assert sim.world.tasks.node[0] == 1
    assert sim.world.tasks.node[0] == 0
    check(sim.world)


def test_after_a_branch_no_checkpoint_relies_on_the_discarded_future():
    with (
        mock.patch.object(journal, "FIRST_DISTANCE", 20),
        mock.patch.object(playing, "SLICE", 5),
    ):
        sim = b.simulation(b.a_job(tasks=200), pool=b.a_pool(nodes=3))
        b.run(sim, minutes=40)
        sim.seek(10 * 60_000)
        sim.branch()
        b.run(sim, minutes=30)
        recorded = list(sim.json_lines())
        for minute in range(0, 40, 3):
            sim.seek(minute * 60_000)
            shown = list(sim.json_lines())
            assert shown == recorded[: len(shown)]
            check(sim.world)


def test_checkpoints_lie_farther_apart_while_many_jobs_must_be_copied():
    factory = {
        "type": "parametricSweep",
        "parameterSets": [{"start": 1, "end": 20_000}],
        "repeatTask": {"id": "task-{0}", "commandLine": "work"},
    }
    one = b.simulation(b.a_job("busy", tasks=0, taskFactory=factory), pool=b.a_pool(nodes=10))
    idle = [b.a_job(f"idle-{number}", tasks=0) for number in range(2_500)]
    account = {"quotas": {"activeJobsAndSchedules": 2_600}}
    many = b.simulation(b.a_job("busy", tasks=0, taskFactory=factory), *idle, pool=b.a_pool(nodes=10), account=account)
    for simulation in (one, many):
        b.run_to_end(simulation)
    assert len(many.checkpoints) < len(one.checkpoints) * 2 / 3


def test_checkpoints_share_the_jobs_that_have_not_changed():
    simulation = b.simulation(b.a_job("busy", tasks=20), b.a_job("idle", tasks=0), pool=b.a_pool(nodes=10))
    b.wait_for(simulation, lambda: b.task_state(simulation, job="busy") == "running")
    jobs = simulation.world.jobs
    before = jobs.copy()
    b.wait_for(simulation, lambda: b.task_state(simulation, job="busy") == "completed")
    after = jobs.copy()
    busy, idle = jobs.find("busy").row, jobs.find("idle").row
    assert after[idle] is before[idle]
    assert after[busy] != before[busy]
