"""Pools that scale themselves (AS-40 to AS-90; POOL-20, POOL-21, POOL-25)."""

from __future__ import annotations

import pytest

from engine.views.rest.account import pool_body
from tests.builders import (
    a_job,
    a_task,
    do,
    events,
    from_yaml,
    job_state,
    node_states,
    refusal,
    run,
    run_to,
    simulation,
    some_tasks,
    times,
)


def scaled(formula="$TargetDedicatedNodes = 2;", **more):
    """A pool that scales itself every five minutes."""
    own = {"enableAutoScale": True, "autoScaleFormula": formula, "autoScaleEvaluationInterval": "PT5M"}
    return {"id": "p", "vmSize": "standard_d2s_v3"} | own | more


def fixed(nodes=1):
    return {"id": "p", "vmSize": "standard_d2s_v3", "targetDedicatedNodes": nodes}


def body(sim):
    return pool_body(sim.world, sim.world.pools.find("p"))


def targets(sim):
    """When the evaluations were, in seconds, and the dedicated target of each."""
    return [(event["t"], event["targetDedicatedNodes"]) for event in events(sim, "AutoScaleEvaluated")]


def variable(sim, name):
    """A user variable of the last evaluation."""
    items = dict(item.split("=", 1) for item in body(sim)["autoScaleRun"]["results"].split(";"))
    return items[name]


# --- creation and schedule


def test_as_84_the_first_evaluation_is_at_creation_and_the_others_on_the_grid():
    sim = simulation(pool=scaled())
    run_to(sim, minutes=16)
    assert targets(sim) == [(0, 2), (300, 2), (600, 2), (900, 2)]
    assert times(sim, "PoolResizeStart") == [0]
    assert body(sim)["currentDedicatedNodes"] == 2


def test_as_83_without_an_interval_it_is_a_quarter_of_an_hour():
    pool = scaled()
    del pool["autoScaleEvaluationInterval"]
    sim = simulation(pool=pool)
    run_to(sim, minutes=31)
    assert [t for t, _ in targets(sim)] == [0, 900, 1800]
    assert body(sim)["autoScaleEvaluationInterval"] == "PT15M"


def test_as_84_if_the_first_evaluation_fails_both_targets_are_0():
    sim = simulation(pool=scaled("$TargetDedicatedNodes = 5; x = nowhere"))
    run_to(sim, seconds=1)
    answer = body(sim)
    assert (answer["targetDedicatedNodes"], answer["targetLowPriorityNodes"], answer["allocationState"]) == (
        0,
        0,
        "steady",
    )
    assert answer["autoScaleRun"]["error"]["code"] == "AutoScalingFormulaEvaluationError"


def test_as_90_an_evaluation_is_an_event():
    sim = simulation(pool=scaled("n = 2; $TargetDedicatedNodes = n"))
    run_to(sim, seconds=1)
    (event,) = events(sim, "AutoScaleEvaluated")
    assert event["formula"] == "n = 2; $TargetDedicatedNodes = n"
    assert event["results"].endswith("$NodeDeallocationOption=requeue;n=2")
    assert event["error"] is None
    assert (event["poolId"], event["currentDedicatedNodes"], event["targetDedicatedNodes"]) == ("p", 0, 2)


def test_as_67_the_pool_tells_its_last_evaluation():
    sim = simulation(pool=scaled())
    run_to(sim, minutes=6)
    assert body(sim)["autoScaleRun"] == {
        "timestamp": "2026-01-05T08:05:00Z",
        "results": "$TargetDedicatedNodes=2;$TargetLowPriorityNodes=0;$NodeDeallocationOption=requeue",
    }


# --- samples


def test_as_52_and_as_53_samples_every_30_s_and_before_an_evaluation_of_the_same_moment():
    formula = "c = $PendingTasks.Count(); h = $PendingTasks.HistoryBeginTime(); $TargetDedicatedNodes = 0"
    sim = simulation(pool=scaled(formula))
    run_to(sim, seconds=1)
    assert variable(sim, "c") == "0"
    run_to(sim, minutes=5)
    assert (variable(sim, "c"), variable(sim, "h")) == ("10", "2026-01-05T08:00:30.000Z")


def test_as_55_a_day_of_samples_is_kept():
    sim = simulation(pool=scaled("c = $PendingTasks.Count()"))
    run_to(sim, minutes=26 * 60)
    assert variable(sim, "c") == "2880"


def test_as_41_and_as_42_what_the_task_metrics_count():
    formula = (
        "a = $ActiveTasks.GetSample(1); r = $RunningTasks.GetSample(1); p = $PendingTasks.GetSample(1);"
        "s = $SucceededTasks.GetSample(1); f = $FailedTasks.GetSample(1); $TargetDedicatedNodes = 1"
    )
    tasks = [a_task("good", 30), a_task("bad", 30, exit_code=1), *some_tasks(3, 3600)]
    waits = a_task("waits", dependsOn={"taskIds": ["t3"]})
    sim = simulation(a_job(tasks=[*tasks, waits], usesTaskDependencies=True), pool=scaled(formula))
    run_to(sim, minutes=15)
    assert [variable(sim, name) for name in "arpsf"] == ["[2]", "[1]", "[3]", "[1]", "[1]"]
    do(sim, "disableJob", jobId="j", disableTasks="wait")
    run_to(sim, minutes=20)
    assert [variable(sim, name) for name in "arpsf"] == ["[0]", "[1]", "[1]", "[1]", "[1]"]


def test_as_41_and_as_46_what_the_node_metrics_tell():
    formula = (
        "d = $CurrentDedicatedNodes; u = $UsableNodeCount; s = $TaskSlotsPerNode; c = $CPUPercent;"
        "l = $CurrentLowPriorityNodes; x = $PreemptedNodeCount; $TargetDedicatedNodes = 2; $TargetLowPriorityNodes = 1"
    )
    pool = scaled(formula, taskSlotsPerNode=2)
    sim = simulation(
        a_job(tasks=some_tasks(3, 3600)), pool=pool, timeline=[{"at": "PT7M", "evictNode": {"poolId": "p", "node": 2}}]
    )
    run_to(sim, seconds=1)
    assert [variable(sim, name) for name in "duscl"] == ["0", "0", "2", "nan", "0"]
    run_to(sim, minutes=5)
    assert [variable(sim, name) for name in "duscl"] == ["2", "3", "2", "50", "1"]


# --- applying


def test_as_80_a_new_target_resizes_and_an_equal_one_does_not():
    formula = "$TargetDedicatedNodes = time().minute < 10 ? 3 : 1"
    sim = simulation(pool=scaled(formula))
    run_to(sim, minutes=21)
    assert targets(sim) == [(0, 3), (300, 3), (600, 1), (900, 1), (1200, 1)]
    assert times(sim, "PoolResizeStart") == [0, 600]
    assert body(sim)["currentDedicatedNodes"] == 1


@pytest.mark.parametrize(("option", "state"), [("requeue", "active"), ("terminate", "completed")])
def test_as_40_and_as_80_the_option_of_this_evaluation_says_what_becomes_of_tasks(option, state):
    formula = f"$TargetDedicatedNodes = time().minute < 10 ? 1 : 0; $NodeDeallocationOption = {option}"
    sim = simulation(a_job(tasks=[a_task("t1", 3600)]), pool=scaled(formula))
    run_to(sim, minutes=11)
    assert events(sim, "TaskStateChanged", taskId="t1")[-1]["to"] == state


def test_pool_21_an_autoscale_resize_has_a_quarter_of_an_hour_whatever_the_pool_says():
    formula = "$TargetDedicatedNodes = time().minute < 5 ? 1 : 0; $NodeDeallocationOption = taskcompletion"
    sim = simulation(a_job(tasks=[a_task("t1", 7200)]), pool=scaled(formula, resizeTimeout="PT5M"))
    run_to(sim, minutes=59)
    assert times(sim, "PoolResizeComplete")[1:2] == [300 + 900]


def test_as_78_quota_limits_the_resize_and_not_the_target():
    account = {"quotas": {"dedicatedCores": 4}}
    sim = simulation(pool=scaled("$TargetDedicatedNodes = 10"), account=account)
    run_to(sim, minutes=4)
    answer = body(sim)
    assert (answer["targetDedicatedNodes"], answer["currentDedicatedNodes"]) == (10, 2)
    assert [error["code"] for error in answer["resizeErrors"]] == ["AccountCoreQuotaReached"]


@pytest.mark.parametrize(("later", "nodes"), [(5, 5), (2, 2), (0, 0)])
def test_as_81_a_running_resize_goes_on_toward_the_new_target(later, nodes):
    slow = {"nodes": {"allocation": 420}}
    sim = simulation(pool=scaled(f"$TargetDedicatedNodes = time().minute < 5 ? 3 : {later}"), simulate=slow)
    run_to(sim, minutes=20)
    assert body(sim)["currentDedicatedNodes"] == nodes
    first = [event["t"] for event in events(sim, "NodeStateChanged", from_=None)]
    assert first == [420] * min(3, later) + [720] * max(0, later - 3)
    assert body(sim)["allocationState"] == "steady"


def test_as_81_a_node_that_waits_for_its_task_stays_when_the_target_rises_again():
    formula = (
        "m = time().minute; $TargetDedicatedNodes = m >= 5 && m < 10 ? 0 : 1; $NodeDeallocationOption = taskcompletion"
    )
    sim = simulation(a_job(tasks=[a_task("t1", 1800)]), pool=scaled(formula))
    run_to(sim, minutes=45)
    assert node_states(sim)[-1] == "idle"
    assert job_state(sim) == "active"
    assert len(events(sim, "NodeStateChanged", from_=None)) == 1


def test_as_65_an_error_leaves_the_targets_and_the_next_evaluation_comes():
    sim = simulation(pool=scaled("$TargetDedicatedNodes = time().minute == 5 ? nowhere : time().minute < 5 ? 2 : 1"))
    run_to(sim, minutes=11)
    assert targets(sim) == [(0, 2), (300, 2), (600, 1)]
    assert events(sim, "AutoScaleEvaluated")[1]["error"]["code"] == "AutoScalingFormulaEvaluationError"
    assert times(sim, "PoolResizeStart") == [0, 600]


def test_as_89_a_pool_that_is_being_deleted_is_not_evaluated():
    sim = simulation(a_job(tasks=[a_task("t1", 60)]), pool=scaled())
    run_to(sim, minutes=4)
    do(sim, "deletePool", poolId="p")
    run(sim, minutes=30)
    assert [t for t, _ in targets(sim)] == [0]


def test_pool_25_the_usual_formula_grows_with_the_queue_and_shrinks_without():
    formula = (
        "$TargetDedicatedNodes = min(4, $PendingTasks.GetSamplePercent(TimeInterval_Minute * 3) < 70 ? 1"
        " : max($PendingTasks.GetSample(TimeInterval_Minute * 3)));"
    )
    sim = simulation(a_job(tasks=12), pool=scaled(formula))
    run_to(sim, minutes=40)
    wanted = [target for _, target in targets(sim)]
    assert wanted[0] == 1
    assert max(wanted) == 4
    assert wanted[-1] == 0
    assert body(sim)["currentDedicatedNodes"] == 0


# --- enable, disable, evaluate


def test_as_85_enabling_needs_a_formula_and_evaluates_at_once():
    sim = simulation(pool=fixed())
    run_to(sim, minutes=5)
    assert refusal(sim, "enablePoolAutoScale", poolId="p") == "InvalidAutoScalingSettings"
    do(sim, "enablePoolAutoScale", poolId="p", autoScaleFormula="$TargetDedicatedNodes = 2")
    answer = body(sim)
    assert (answer["enableAutoScale"], answer["autoScaleFormula"]) == (True, "$TargetDedicatedNodes = 2")
    assert (answer["autoScaleEvaluationInterval"], answer["targetDedicatedNodes"]) == ("PT15M", 2)
    assert "autoScaleRun" in answer


def test_as_85_a_new_interval_restarts_the_schedule_and_a_new_formula_does_not():
    sim = simulation(pool=scaled())
    run_to(sim, minutes=4)
    do(sim, "enablePoolAutoScale", poolId="p", autoScaleFormula="$TargetDedicatedNodes = 1")
    run_to(sim, minutes=6)
    do(sim, "enablePoolAutoScale", poolId="p", autoScaleEvaluationInterval="PT7M")
    run_to(sim, minutes=21)
    assert [t for t, _ in targets(sim)] == [0, 240.001, 300, 360.001, 780.001, 1200.001]
    assert body(sim)["autoScaleFormula"] == "$TargetDedicatedNodes = 1"


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({}, "InvalidAutoScalingSettings"),
        ({"autoScaleFormula": "x = "}, "AutoScalingFormulaSyntaxError"),
        ({"autoScaleFormula": "x=1;".ljust(8193)}, "AutoScalingFormulaTooLong"),
        ({"autoScaleEvaluationInterval": "PT4M"}, "InvalidPropertyValue"),
        ({"autoScaleFormula": "x = nowhere"}, None),
    ],
)
def test_as_72_what_is_refused_on_arrival(fields, code):
    sim = simulation(pool=scaled())
    run_to(sim, minutes=4)
    assert refusal(sim, "enablePoolAutoScale", poolId="p", **fields) == code


def test_time_16_enabling_waits_for_a_resize_and_for_30_s():
    sim = simulation(pool=fixed())
    formula = {"poolId": "p", "autoScaleFormula": "$TargetDedicatedNodes = 1"}
    assert refusal(sim, "enablePoolAutoScale", **formula) == "PoolBeingResized"
    run_to(sim, minutes=5)
    do(sim, "enablePoolAutoScale", **formula)
    run(sim, seconds=20)
    assert refusal(sim, "enablePoolAutoScale", **formula) == "TooManyEnableAutoScaleRequests"
    run(sim, seconds=10)
    assert refusal(sim, "enablePoolAutoScale", **formula) is None
    assert refusal(sim, "resizePool", poolId="p", targetDedicatedNodes=2) == "OperationInvalidForCurrentState"


def test_as_86_disabling_stops_the_evaluations_and_leaves_the_nodes():
    sim = simulation(pool=scaled())
    run_to(sim, minutes=4)
    do(sim, "disablePoolAutoScale", poolId="p")
    run(sim, minutes=30)
    answer = body(sim)
    assert [t for t, _ in targets(sim)] == [0]
    assert (answer["enableAutoScale"], answer["targetDedicatedNodes"], answer["currentDedicatedNodes"]) == (False, 2, 2)
    assert not {"autoScaleFormula", "autoScaleEvaluationInterval", "autoScaleRun"} & answer.keys()
    assert refusal(sim, "resizePool", poolId="p", targetDedicatedNodes=1) is None


def test_as_52_switching_off_forgets_the_samples():
    sim = simulation(pool=scaled("c = $PendingTasks.Count()"))
    run_to(sim, minutes=6)
    do(sim, "disablePoolAutoScale", poolId="p")
    run(sim, minutes=5)
    do(sim, "enablePoolAutoScale", poolId="p", autoScaleFormula="c = $PendingTasks.Count()")
    assert variable(sim, "c") == "0"


def test_as_87_a_trial_needs_autoscale_and_changes_nothing():
    sim = simulation(pool=scaled())
    run_to(sim, minutes=4)
    before = body(sim)
    assert refusal(sim, "evaluatePoolAutoScale", poolId="p", autoScaleFormula="$TargetDedicatedNodes = 9") is None
    assert refusal(sim, "evaluatePoolAutoScale", poolId="p", autoScaleFormula="x +") == "AutoScalingFormulaSyntaxError"
    assert body(sim) == before
    do(sim, "disablePoolAutoScale", poolId="p")
    code = refusal(sim, "evaluatePoolAutoScale", poolId="p", autoScaleFormula="x = 1")
    assert code == "OperationInvalidForCurrentState"


# --- time


def test_as_62_chance_is_drawn_from_the_seed():
    formula = "$TargetDedicatedNodes = rand() * 10; x = rand(); y = rand()"
    first, again = simulation(pool=scaled(formula)), simulation(pool=scaled(formula))
    for sim in (first, again):
        run_to(sim, minutes=20)
    assert list(first.json_lines()) == list(again.json_lines())
    assert variable(first, "x") != variable(first, "y")


def test_going_back_and_on_again_gives_the_same_run():
    formula = "c = $PendingTasks.Count(); $TargetDedicatedNodes = 1 + (time().minute > 20) + rand()"
    sim = simulation(a_job(tasks=30), pool=scaled(formula))
    run_to(sim, minutes=60)
    lines = list(sim.json_lines())
    sim.seek(13 * 60_000)
    sim.seek(60 * 60_000)
    assert list(sim.json_lines()) == lines


def test_as_72_a_formula_that_does_not_parse_is_a_mistake_of_the_file():
    from engine.base.errors import ScenarioError

    text = """\
scenario: s
pools:
  - id: p
    vmSize: standard_d2s_v3
    enableAutoScale: true
    autoScaleFormula: x = 1 +
"""
    with pytest.raises(ScenarioError) as caught:
        from_yaml(text)
    (problem,) = caught.value.problems
    assert (problem.line, problem.column, problem.path) == (6, 23, "pools[0].autoScaleFormula")
    assert "AutoScalingFormulaSyntaxError" in problem.message
    assert "Line 1, Col 8" in problem.message


@pytest.mark.parametrize("formula", ["x = 1 +", "x=1;".ljust(8193)])
def test_as_88_a_bad_formula_of_an_auto_pool_fails_the_job(formula):
    pool = {"vmSize": "standard_d2s_v3", "enableAutoScale": True, "autoScaleFormula": formula}
    sim = simulation(pool=fixed())
    run_to(sim, seconds=1)
    auto = {"autoPoolSpecification": {"poolLifetimeOption": "job", "pool": pool}}
    do(sim, "createJob", id="j", poolInfo=auto)
    job = sim.world.jobs.find("j")
    assert job_state(sim) == "completed"
    assert job.scheduling_error.code == "InvalidAutoScaleFormulaInAutoPool"
