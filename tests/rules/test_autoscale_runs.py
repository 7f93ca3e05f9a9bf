"""Results of evaluations: formulas that are tried out (AS-87), and the memory of a pool (AS-67, AS-90)."""

from __future__ import annotations

import pytest

from engine.base.errors import ScenarioError
from engine.rules.decisions.metrics import arrived
from engine.views.rest.account import pool_body
from tests.builders import a_job, a_task, do, events, job_state, node_states, refusal, run_to, simulation, some_tasks


def scaled(formula="$TargetDedicatedNodes = 2", **more):
    own = {"enableAutoScale": True, "autoScaleFormula": formula, "autoScaleEvaluationInterval": "PT5M"}
    return {"id": "p", "vmSize": "standard_d2s_v3"} | own | more


def scaling_of(sim):
    return sim.world.pools.find("p").scaling


def try_out(sim, formula):
    """Return the event about a formula that was tried out."""
    do(sim, "evaluatePoolAutoScale", poolId="p", autoScaleFormula=formula)
    return events(sim, "AutoScaleEvaluated")[-1]


def test_as_87_what_a_trial_comes_to_is_an_event():
    sim = simulation(a_job(tasks=5), pool=scaled())
    run_to(sim, minutes=4)
    formula = "n = max($PendingTasks.GetSample(3));\n$TargetDedicatedNodes = n + 2;"
    event = try_out(sim, formula)
    assert (event["poolId"], event["trial"], event["formula"], event["rule"]) == ("p", True, formula, "AS-87")
    assert event["results"].startswith("$TargetDedicatedNodes=")
    assert event["results"].split(";")[3] == f"n={event['targetDedicatedNodes'] - 2}"
    assert (event["currentDedicatedNodes"], event["error"], event["time"]) == (2, None, "2026-01-05T08:04:00.001Z")


def test_as_87_a_trial_that_fails_tells_why_and_the_targets_in_force():
    sim = simulation(pool=scaled())
    run_to(sim, minutes=4)
    event = try_out(sim, "a = 1;\n$TargetDedicatedNodes = nowhere")
    assert event["error"]["code"] == "AutoScalingFormulaEvaluationError"
    assert event["error"]["values"] == [{"name": "Message", "value": "Line 2, Col 25: Unknown variable nowhere"}]
    assert event["targetDedicatedNodes"] == 2
    assert event["results"].endswith(";$NodeDeallocationOption=requeue;a=1")


def test_as_87_a_trial_changes_neither_pool_nor_schedule():
    sim = simulation(pool=scaled())
    run_to(sim, minutes=4)
    before, remembered, nodes = pool_body(sim.world, sim.world.pools[0]), scaling_of(sim), node_states(sim)
    try_out(sim, "$TargetDedicatedNodes = 9; $NodeDeallocationOption = terminate")
    assert (pool_body(sim.world, sim.world.pools[0]), scaling_of(sim), node_states(sim)) == (before, remembered, nodes)
    run_to(sim, minutes=10)
    assert [event["t"] for event in events(sim, "AutoScaleEvaluated") if "trial" not in event] == [0, 300, 600]


@pytest.mark.parametrize("formula", ["", "x = ", "x=1;" * 101])
def test_as_87_a_trial_that_is_refused_is_no_event(formula):
    sim = simulation(pool=scaled())
    run_to(sim, minutes=4)
    assert refusal(sim, "evaluatePoolAutoScale", poolId="p", autoScaleFormula=formula).startswith("AutoScalingFormula")
    assert len(events(sim, "AutoScaleEvaluated")) == 1


def test_as_67_a_pool_remembers_its_evaluations_with_targets_and_nodes():
    sim = simulation(pool=scaled("m = time().minute; $TargetDedicatedNodes = m < 5 ? 1 : m < 10 ? 3 : nowhere"))
    run_to(sim, minutes=16)
    runs = scaling_of(sim).runs
    assert [(run.when_ms, run.current_dedicated, run.target_dedicated) for run in runs] == [
        (0, 0, 1),
        (300_000, 1, 3),
        (600_000, 3, 3),
        (900_000, 3, 3),
    ]
    assert [run.error is None for run in runs] == [True, True, False, False]
    assert dict(runs[1].items)["m"] == "5"
    assert scaling_of(sim).run == runs[-1]


def test_as_67_the_last_hundred_are_remembered_and_the_log_knows_all():
    sim = simulation(pool=scaled())
    run_to(sim, minutes=5 * 120)
    runs = scaling_of(sim).runs
    assert len(runs) == 100
    assert (runs[0].when_ms, runs[-1].when_ms) == (21 * 300_000, 120 * 300_000)
    assert len(events(sim, "AutoScaleEvaluated")) == 121


def test_as_86_what_was_remembered_goes_when_autoscale_is_switched_off():
    sim = simulation(pool=scaled())
    run_to(sim, minutes=11)
    do(sim, "disablePoolAutoScale", poolId="p")
    do(sim, "enablePoolAutoScale", poolId="p", autoScaleFormula="x = 1")
    assert len(scaling_of(sim).runs) == 1


def test_what_is_remembered_goes_back_in_time_with_the_pool():
    sim = simulation(a_job(tasks=20), pool=scaled("$TargetDedicatedNodes = 1 + (time().minute >= 20)"))
    run_to(sim, minutes=60)
    later = scaling_of(sim)
    sim.seek(12 * 60_000)
    assert [run.when_ms for run in scaling_of(sim).runs] == [0, 300_000, 600_000]
    sim.seek(60 * 60_000)
    assert scaling_of(sim) == later


def sampled(formula, **simulate):
    """The user variables of the evaluation after ten minutes."""
    sim = simulation(pool=scaled(formula), simulate={"autoScale": simulate})
    run_to(sim, minutes=10)
    return dict(scaling_of(sim).run.items)


def test_as_54_samples_come_late():
    formula = "c = $PendingTasks.Count(); p = $PendingTasks.GetSamplePercent(TimeInterval_Second * 180)"
    assert sampled(formula)["p"] == "100"
    late = sampled(formula, sampleDelay="PT60S")
    assert (late["c"], late["p"]) == ("18", "66.6667")
    assert sampled("c = $PendingTasks.Count()", sampleDelay=45)["c"] == "18"


def test_as_54_some_samples_never_come_and_which_ones_the_seed_decides():
    formula = "c = $PendingTasks.Count(); p = $PendingTasks.GetSamplePercent(TimeInterval_Minute * 10)"
    some = sampled(formula, sampleLossProbability=0.3)
    assert 5 < int(some["c"]) < 20
    assert float(some["p"]) == int(some["c"]) * 5
    assert some == sampled(formula, sampleLossProbability=0.3)
    assert sampled(formula, sampleLossProbability=1)["c"] == "0"


@pytest.mark.parametrize(
    ("simulate", "words"),
    [
        ({"sampleDelay": "PT2M"}, "at most PT1M late"),
        ({"sampleDelay": -1}, "must not be negative"),
        ({"sampleLossProbability": 1.5}, "at most 1,"),
        ({"sampleDelays": 1}, "sampleDelay"),
    ],
)
def test_as_54_what_cannot_be_of_samples_is_a_mistake_of_the_file(simulate, words):
    with pytest.raises(ScenarioError) as caught:
        simulation(pool=scaled(), simulate={"autoScale": simulate})
    assert words in str(caught.value)


def test_as_79_nothing_limits_or_damps_a_change():
    sim = simulation(pool=scaled("$TargetDedicatedNodes = time().minute < 5 ? 1 : time().minute < 10 ? 50 : 0"))
    run_to(sim, minutes=16)
    assert [run.target_dedicated for run in scaling_of(sim).runs] == [1, 50, 0, 0]
    assert sim.world.pools[0].resize_errors == ()


def test_as_82_nodes_that_wait_for_their_tasks_stay_at_the_timeout_with_an_error():
    formula = "$TargetDedicatedNodes = time().minute < 5 ? 1 : 0; $NodeDeallocationOption = taskcompletion"
    sim = simulation(a_job(tasks=[a_task("t1", 3600)]), pool=scaled(formula))
    run_to(sim, minutes=21)
    ends = [(event["t"], event["resultCode"], event["targetDedicatedNodes"]) for event in resizes(sim)]
    assert ends[-1] == (1200, "AllocationTimedout", 0)
    assert node_states(sim)[-1] == "running"


def resizes(sim):
    return events(sim, "PoolResizeComplete")


def retried(minutes, *commands, target=2, option=None, faults=(), **more):
    """The nodes of a formula that wants the same number at each evaluation, and the moments at which resizes began."""
    options = {"options": {"autoScaleRetries": option}} if option else {}
    pool = scaled(f"$TargetDedicatedNodes = {target}; $NodeDeallocationOption = taskcompletion")
    sim = simulation(pool=pool, timeline=[*faults, *commands], **options, **more)
    run_to(sim, minutes=minutes)
    starts = [event["t"] for event in events(sim, "PoolResizeStart")]
    return pool_body(sim.world, sim.world.pools[0])["currentDedicatedNodes"], starts


NO_MACHINES = {"at": "PT0S", "capacity": {"vmSize": "standard_d2s_v3", "nodes": 0}}
MACHINES = {"at": "PT12M", "capacity": {"vmSize": "standard_d2s_v3", "nodes": 9}}
NO_CORES = {"account": {"name": "contoso", "quotas": {"dedicatedCores": 0}}}
CORES = {"at": "PT12M", "quota": {"dedicatedCores": 8}}


@pytest.mark.parametrize(
    ("option", "nodes", "starts"), [(None, 2, 4), ("passing", 2, 4), ("all", 2, 4), ("none", 0, 1)]
)
def test_as_80_and_acc_8_a_formula_asks_again_after_a_quota(option, nodes, starts):
    here, begun = retried(25, CORES, option=option, **NO_CORES)
    assert (here, begun) == (nodes, [0, 300, 600, 900][:starts])


@pytest.mark.parametrize(("option", "nodes"), [(None, 0), ("passing", 0), ("all", 2), ("none", 0)])
def test_as_80_a_lack_of_machines_is_final_until_the_target_changes(option, nodes):
    here, begun = retried(25, MACHINES, faults=[NO_MACHINES], option=option)
    assert (here, len(begun) > 1) == (nodes, nodes > 0)
    changed = "time().minute < 15 ? 2 : 3"
    assert retried(25, MACHINES, faults=[NO_MACHINES], option=option, target=changed)[0] == 3


@pytest.mark.parametrize(("option", "nodes"), [(None, 0), ("all", 2)])
def test_as_80_a_resize_that_was_stopped_is_not_begun_again(option, nodes):
    here, _ = retried(25, {"at": "PT5S", "stopPoolResize": {"poolId": "p"}}, option=option)
    assert here == nodes


def test_as_80_a_pool_that_has_what_the_formula_wants_is_left_alone():
    here, begun = retried(25, option="all")
    assert (here, begun) == (2, [0])


@pytest.mark.parametrize(("option", "nodes"), [(None, 0), ("none", 1)])
def test_as_80_nodes_that_were_not_done_at_the_timeout_leave_later(option, nodes):
    formula = "$TargetDedicatedNodes = time().minute < 5 ? 1 : 0; $NodeDeallocationOption = taskcompletion"
    options = {"options": {"autoScaleRetries": option}} if option else {}
    sim = simulation(a_job(tasks=[a_task("t1", 1500)]), pool=scaled(formula), **options)
    run_to(sim, minutes=21)
    assert pool_body(sim.world, sim.world.pools[0])["currentDedicatedNodes"] == 1
    run_to(sim, minutes=40)
    assert pool_body(sim.world, sim.world.pools[0])["currentDedicatedNodes"] == nodes


def test_as_80_a_pool_of_fixed_size_has_to_be_resized_by_hand():
    pool = {"id": "p", "vmSize": "standard_d2s_v3", "targetDedicatedNodes": 2}
    sim = simulation(pool=pool, timeline=[CORES], options={"autoScaleRetries": "all"}, **NO_CORES)
    run_to(sim, minutes=60)
    assert len(events(sim, "PoolResizeStart")) == 1


def cpu(task, seconds):
    """The newest sample of the CPU; the task starts when the node is idle, after 50 s."""
    sim = simulation(a_job(tasks=[task]), pool=scaled("$TargetDedicatedNodes = 1", taskSlotsPerNode=4))
    run_to(sim, seconds=seconds)
    return arrived(sim.world, sim.world.pools[0], sim.now_ms)["$CPUPercent"].values[-1]


def test_as_53_the_cpu_is_the_mean_over_30_s():
    assert cpu(a_task("t", 600), 60) == pytest.approx(25 * 10 / 30)
    assert cpu(a_task("t", 600), 90) == 25
    assert cpu(a_task("t", 3), 60) == pytest.approx(25 * 4 / 30)
    assert cpu(a_task("t", 3), 90) == 0


def test_as_41_a_task_may_say_how_much_of_the_cpu_it_uses():
    assert cpu(a_task("t", 600, simulate={"cpu": 80}), 120) == 80
    assert cpu(a_task("t", 600, simulate={"cpu": 0}), 120) == 0
    assert cpu(a_task("t", 600, requiredSlots=2), 120) == 50
    assert cpu(a_task("t", 600, requiredSlots=2, simulate={"cpu": 100}), 120) == 100


@pytest.mark.parametrize("name", ["enablePoolAutoScale", "evaluatePoolAutoScale", "disablePoolAutoScale"])
def test_as_89_a_pool_that_is_being_deleted_takes_no_formula(name):
    sim = simulation(pool=scaled())
    run_to(sim, minutes=4)
    do(sim, "deletePool", poolId="p")
    formula = {} if name == "disablePoolAutoScale" else {"autoScaleFormula": "x = 1"}
    assert refusal(sim, name, poolId="p", **formula) == "PoolBeingDeleted"


def test_as_88_an_auto_pool_follows_its_formula_as_any_other():
    formula = "$TargetDedicatedNodes = $PendingTasks.Count() < 5 ? 1 : min(3, max($PendingTasks.GetSample(5)))"
    own = {"enableAutoScale": True, "autoScaleFormula": formula, "autoScaleEvaluationInterval": "PT5M"}
    auto = {"poolLifetimeOption": "job", "pool": {"vmSize": "standard_d2s_v3"} | own}
    job = a_job(tasks=some_tasks(8, 600), poolInfo={"autoPoolSpecification": auto}, onAllTasksComplete="terminatejob")
    sim = simulation(job, pool={"id": "other", "vmSize": "standard_d2s_v3", "targetDedicatedNodes": 0})
    run_to(sim, minutes=6)
    evaluated = events(sim, "AutoScaleEvaluated")
    assert [event["targetDedicatedNodes"] for event in evaluated] == [1, 3]
    run_to(sim, minutes=60)
    assert sim.world.pools.find(evaluated[0]["poolId"]) is None
    assert job_state(sim) == "completed"
