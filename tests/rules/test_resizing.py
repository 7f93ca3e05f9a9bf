"""Chapter 4: when a pool may be resized, how it grows, and what stops it."""

from __future__ import annotations

import pytest

from engine.base.terms import AllocationState, PoolState
from engine.rules.resizing import resize_verdict
from tests.builders import (
    ALLOCATION_S,
    a_pool,
    do,
    events,
    from_yaml,
    job_state,
    node_state,
    refusal,
    run,
    run_to,
    run_to_end,
    task_history,
    times,
)
from tests.rules.resizing import allocation, busy, errors, here, pool, ready, resize, targets

TO_FOUR = {"targetDedicatedNodes": 4}
AUTOSCALED = {
    "id": "p",
    "vmSize": "standard_d2s_v3",
    "enableAutoScale": True,
    "autoScaleFormula": "$TargetDedicatedNodes=0;",
}


# -- preconditions ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("state", "allocation_state", "code"),
    [
        (PoolState.ACTIVE, AllocationState.STEADY, None),
        (PoolState.ACTIVE, AllocationState.RESIZING, "PoolBeingResized"),
        (PoolState.ACTIVE, AllocationState.STOPPING, "PoolBeingResized"),
        (PoolState.DELETING, AllocationState.STEADY, "PoolBeingDeleted"),
        (PoolState.DELETING, AllocationState.RESIZING, "PoolBeingDeleted"),
    ],
)
def test_rsz_1_a_resize_begins_only_on_a_steady_pool(start, state, allocation_state, code):
    sim = ready(start)
    pool(sim).state, pool(sim).allocation = state, allocation_state
    verdict = resize_verdict(pool(sim))
    assert (verdict.code if verdict else None) == code


def test_rsz_1_the_initial_sizing_refuses_a_resize_too(start):
    sim = start(pool=a_pool(nodes=1))
    assert refusal(sim, "resizePool", poolId="p", targetDedicatedNodes=2) == "PoolBeingResized"
    run_to(sim, seconds=ALLOCATION_S)
    assert refusal(sim, "resizePool", poolId="p", targetDedicatedNodes=2) is None


def test_rsz_1_an_omitted_target_keeps_its_value(start):
    sim = ready(start, nodes=1, targetLowPriorityNodes=1)
    do(sim, "resizePool", poolId="p", targetLowPriorityNodes=2)
    assert targets(sim) == (1, 2)
    run(sim, minutes=2)
    assert len(here(sim)) == 3


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({}, "MissingRequiredProperty"),
        ({"targetDedicatedNodes": 3, "resizeTimeout": "PT4M59S"}, "InvalidPropertyValue"),
        ({"targetDedicatedNodes": -1}, "InvalidPropertyValue"),
    ],
)
def test_rsz_1_a_bad_body_is_refused_and_the_pool_stays_steady(start, body, code):
    sim = ready(start)
    assert refusal(sim, "resizePool", poolId="p", **body) == code
    assert (allocation(sim), targets(sim)) == ("steady", (2, 0))


def test_rsz_1_the_body_is_looked_at_before_the_pool(start):
    """A mistake in the body (400) comes before the state of the pool (409) (ERR-2)."""
    sim = start(pool=a_pool(nodes=1))
    assert refusal(sim, "resizePool", poolId="p") == "MissingRequiredProperty"
    assert refusal(sim, "resizePool", poolId="q") == "PoolNotFound"


def test_rsz_1_a_resize_to_what_is_there_is_over_at_once(start):
    sim = ready(start)
    resize(sim, 2)
    assert allocation(sim) == "steady"
    assert len(events(sim, "PoolResizeComplete")) == 2


# -- growth ----------------------------------------------------------------------------------------------------------


def test_rsz_2_the_pool_is_steady_when_the_last_node_is_creating(start):
    sim = start(pool=a_pool(nodes=2))
    run_to(sim, seconds=ALLOCATION_S)
    assert [node_state(sim, 0), node_state(sim, 1)] == ["creating", "creating"]
    assert (allocation(sim), times(sim, "PoolResizeComplete")) == ("steady", [ALLOCATION_S])


def test_rsz_2_both_kinds_are_waited_for(start):
    allocation_time = {"choice": [5, 50, 100]}
    sim = start(
        pool=a_pool(nodes=3, targetLowPriorityNodes=3), simulate={"nodes": {"allocation": allocation_time}}, seed=3
    )
    run_to_end(sim)
    created = times(sim, "NodeStateChanged", from_=None)
    assert len(created) == 6
    assert times(sim, "PoolResizeComplete") == [max(created)]


def test_rsz_3_at_the_timeout_what_has_not_come_is_given_up(start):
    slow = {"nodes": {"allocation": {"choice": [10, 3000]}}}
    sim = start(pool=a_pool(nodes=8, targetLowPriorityNodes=8), simulate=slow, seed=1)
    run_to_end(sim)
    got = len(here(sim))
    assert 0 < got < 16
    assert times(sim, "PoolResizeComplete") == [900]
    assert (allocation(sim), targets(sim)) == ("steady", (8, 8))
    assert sim.now_ms < 3_100_000
    assert set(errors(sim)) == {"AllocationTimedout"}


def test_rsz_3_the_timeout_is_the_one_given(start):
    never = {"nodes": {"allocation": 100_000}}
    sim = start(pool=a_pool(nodes=1, resizeTimeout="PT7M"), simulate=never)
    run_to(sim, minutes=8)
    resize(sim, 2, resizeTimeout="PT5M")
    run(sim, minutes=10)
    assert times(sim, "PoolResizeComplete") == [420, 780.001]
    assert here(sim) == []


def test_rsz_13_dedicated_and_spot_have_an_entry_each(start):
    never = {"nodes": {"allocation": 100_000}}
    sim = start(pool=a_pool(nodes=3, targetLowPriorityNodes=3), simulate=never)
    run_to(sim, minutes=20)
    assert errors(sim) == ["AllocationTimedout"] * 2
    messages = {error.message for error in pool(sim).resize_errors}
    assert len(messages) == 2
    assert any("Spot" in message for message in messages)


def test_rsz_12_errors_undo_no_node_and_carry_their_reason(start):
    capacity = {"at": 0, "capacity": {"vmSize": "STANDARD_D2S_V3", "nodes": 2}}
    sim = start(pool=a_pool(nodes=5), timeline=[capacity])
    run_to(sim, minutes=2)
    assert (len(here(sim)), errors(sim), allocation(sim)) == (2, ["AllocationFailed"], "steady")
    assert pool(sim).resize_errors[0].values[0][0] == "Reason"
    assert pool(sim).resize_errors[0].message == "Desired number of dedicated nodes could not be allocated"


def test_rsz_14_a_steady_pool_below_its_target_is_not_topped_up(start):
    sim = start(pool=a_pool(nodes=3), timeline=[{"at": 0, "capacity": {"vmSize": "standard_d2s_v3", "nodes": 1}}])
    run_to(sim, minutes=2)
    do(sim, "capacity", vmSize="standard_d2s_v3", nodes=50)
    run(sim, minutes=120)
    assert len(here(sim)) == 1
    resize(sim, 3)
    run(sim, minutes=2)
    assert (len(here(sim)), errors(sim)) == (3, [])


NO_CAPACITY = {"at": 0, "capacity": {"vmSize": "standard_d2s_v3", "nodes": 0}}


def completions(sim):
    return [(event["t"], event["resultCode"]) for event in events(sim, "PoolResizeComplete")]


def test_rsz_16_a_lack_of_capacity_is_reported_after_the_allocation_time(start):
    sim = start(pool=a_pool(nodes=2, targetLowPriorityNodes=1), timeline=[NO_CAPACITY])
    run_to(sim, seconds=ALLOCATION_S - 1)
    assert (allocation(sim), errors(sim)) == ("resizing", [])
    run_to(sim, seconds=ALLOCATION_S)
    assert (allocation(sim), errors(sim)) == ("steady", ["AllocationFailed", "AllocationFailed"])
    assert completions(sim) == [(ALLOCATION_S, "AllocationFailed")]


SUBNET = "/subscriptions/1/resourceGroups/hub/providers/Microsoft.Network/virtualNetworks/corp/subnets/small"


def test_rsz_13_a_quota_and_a_lack_of_capacity_are_both_reported(start):
    """Of nine nodes the quota allows four; of the three that are tried there is one."""
    timeline = [
        {"at": 100, "quota": {"dedicatedCores": 8}},
        {"at": 101, "capacity": {"vmSize": "standard_d2s_v3", "nodes": 1}},
        {"at": 200, "resizePool": {"poolId": "p", "targetDedicatedNodes": 9}},
    ]
    sim = start(pool=a_pool(nodes=1), timeline=timeline)
    run_to(sim, seconds=200)
    assert (allocation(sim), pool(sim).gathered_errors[0].code) == ("resizing", "AccountCoreQuotaReached")
    assert [request.nodes for request in pool(sim).failing_requests.values()] == [2]
    run_to_end(sim)
    assert (len(here(sim)), errors(sim)) == (2, ["AccountCoreQuotaReached", "AllocationFailed"])
    assert completions(sim)[-1] == (200 + ALLOCATION_S, "AccountCoreQuotaReached")


def test_rsz_13_capacity_that_suffices_for_the_quota_is_no_error(start):
    account = {"name": "contoso", "location": "westeurope", "quotas": {"dedicatedCores": 4}}
    capacity = {"at": 0, "capacity": {"vmSize": "standard_d2s_v3", "nodes": 2}}
    sim = start(pool=a_pool(nodes=5), account=account, timeline=[capacity])
    run_to_end(sim)
    assert (len(here(sim)), errors(sim)) == (2, ["AccountCoreQuotaReached"])


def test_rsz_16_a_quota_is_checked_with_the_request(start):
    account = {"name": "contoso", "location": "westeurope", "quotas": {"dedicatedCores": 0}}
    sim = start(pool=a_pool(nodes=2), account=account, timeline=[NO_CAPACITY])
    assert run_to_end(sim) is None
    assert completions(sim) == [(0, "AccountCoreQuotaReached")]


def test_rsz_16_the_subnet_is_found_full_when_it_is_tried(start):
    body = a_pool(nodes=3, networkConfiguration={"subnetId": SUBNET})
    sim = start(pool=body, simulate={"network": {"*/small": {"freeAddresses": 0}}})
    run_to_end(sim)
    assert completions(sim) == [(ALLOCATION_S, "AllocationFailed")]


def test_rsz_16_a_resize_that_is_stopped_hears_nothing_of_capacity(start):
    sim = start(pool=a_pool(nodes=2), timeline=[NO_CAPACITY, {"at": 5, "stopPoolResize": {"poolId": "p"}}])
    run_to_end(sim)
    assert [code for _, code in completions(sim)] == ["ResizeStopped"]


def test_rsz_16_the_timeout_may_come_before_the_answer(start):
    slow = {"nodes": {"allocation": "PT10M"}}
    sim = start(pool=a_pool(nodes=2, resizeTimeout="PT5M"), timeline=[NO_CAPACITY], simulate=slow)
    run_to_end(sim)
    assert completions(sim) == [(300, "AllocationTimedout")]


def test_rsz_16_a_new_target_of_a_formula_is_requested_anew(start):
    """The answer to the request before the evaluation is void; that to the one after it counts."""
    formula = "$TargetDedicatedNodes = time().minute < 5 ? 2 : 3;"
    body = AUTOSCALED | {"autoScaleFormula": formula, "autoScaleEvaluationInterval": "PT5M"}
    slow = {"nodes": {"allocation": "PT6M"}}
    sim = start(pool=body, timeline=[NO_CAPACITY], simulate=slow, until="PT9M")
    run_to_end(sim)
    assert (allocation(sim), completions(sim)) == ("resizing", [])
    assert [request.nodes for request in pool(sim).failing_requests.values()] == [3]


def test_rsz_16_going_back_changes_nothing(start):
    sim = start(pool=a_pool(nodes=2), timeline=[NO_CAPACITY, {"at": 60, "resizePool": {"poolId": "p"} | TO_FOUR}])
    run_to_end(sim)
    lines = list(sim.json_lines())
    for moment in (5_000, 65_000, 1_000):
        sim.seek(moment)
        sim.run_until(120_000)
        assert list(sim.json_lines()) == lines


# -- stop ------------------------------------------------------------------------------------------------------------


def test_rsz_9_the_initial_sizing_can_be_stopped(start):
    late = {"onNode": {"3": {"allocation": 300}, "5": {"allocation": 300}}}
    sim = start(pool=a_pool(nodes=8, simulate=late))
    run_to(sim, seconds=20)
    got = len(here(sim))
    assert got == 6
    do(sim, "stopPoolResize", poolId="p")
    assert allocation(sim) == "stopping"
    run_to_end(sim)
    states = [event["to"] for event in events(sim, "PoolAllocationStateChanged")]
    assert states == ["resizing", "stopping", "steady"]
    assert (len(here(sim)), targets(sim), errors(sim)) == (got, (8, 0), ["ResizeStopped"])


def test_rsz_9_a_stopped_resize_is_repaired_by_resizing_to_the_pools_own_target(start):
    sim = start(pool=a_pool(nodes=3))
    do(sim, "stopPoolResize", poolId="p")
    run(sim, seconds=7)
    resize(sim, targets(sim)[0])
    run(sim, minutes=1)
    assert (len(here(sim)), errors(sim)) == (3, [])


def test_rsz_9_stopping_a_shrink_keeps_the_nodes_that_wait(start):
    sim = busy(start)
    resize(sim, 0, nodeDeallocationOption="taskcompletion")
    do(sim, "stopPoolResize", poolId="p")
    run(sim, seconds=7)
    assert (allocation(sim), errors(sim), targets(sim)) == ("steady", ["ResizeStopped"], (0, 0))
    run_to_end(sim)
    assert len(here(sim)) == 2
    assert task_history(sim) == ["active", "running", "completed"]


def test_rsz_9_a_node_that_is_leaving_goes_all_the_same(start):
    sim = ready(start)
    resize(sim, 1)
    do(sim, "stopPoolResize", poolId="p")
    run_to_end(sim)
    assert len(here(sim)) == 1


def test_rsz_9_only_a_resizing_pool_can_be_stopped(start):
    sim = ready(start)
    assert refusal(sim, "stopPoolResize", poolId="p") == "OperationInvalidForCurrentState"
    resize(sim, 5)
    do(sim, "stopPoolResize", poolId="p")
    assert refusal(sim, "stopPoolResize", poolId="p") == "OperationInvalidForCurrentState"
    assert refusal(sim, "resizePool", poolId="p", targetDedicatedNodes=1) == "PoolBeingResized"


def test_rsz_9_the_timeout_of_a_stopped_resize_does_nothing(start):
    sim = start(pool=a_pool(nodes=1, resizeTimeout="PT5M"))
    do(sim, "stopPoolResize", poolId="p")
    run_to_end(sim)
    assert errors(sim) == ["ResizeStopped"]
    assert len(events(sim, "PoolResizeComplete")) == 1


# -- events ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("nodes", "option"), [(3, "invalid"), (1, "requeue"), (2, "invalid")])
def test_rsz_15_a_resize_begins_and_ends_with_an_event(start, nodes, option):
    sim = ready(start)
    resize(sim, nodes)
    run_to_end(sim)
    begun, done = events(sim, "PoolResizeStart")[-1], events(sim, "PoolResizeComplete")[-1]
    assert begun["nodeDeallocationOption"] == done["nodeDeallocationOption"] == option
    assert (begun["currentDedicatedNodes"], begun["targetDedicatedNodes"]) == (2, nodes)
    assert (done["currentDedicatedNodes"], done["targetDedicatedNodes"]) == (nodes, nodes)
    assert done["resultCode"] == "Success"


def test_rsz_15_a_mixed_resize_says_how_the_leaving_nodes_go(start):
    sim = ready(start, targetLowPriorityNodes=1)
    do(
        sim,
        "resizePool",
        poolId="p",
        targetDedicatedNodes=1,
        targetLowPriorityNodes=2,
        nodeDeallocationOption="terminate",
    )
    assert events(sim, "PoolResizeStart")[-1]["nodeDeallocationOption"] == "terminate"


def test_rsz_1_a_pool_with_autoscale_refuses_a_resize(start):
    sim = start(pool=AUTOSCALED)
    run(sim, seconds=1)
    assert allocation(sim) == "steady"
    assert refusal(sim, "resizePool", poolId="p", targetDedicatedNodes=1) == "OperationInvalidForCurrentState"


def test_pool_19_a_job_keeps_its_state_through_all_this(start):
    sim = busy(start)
    resize(sim, 0)
    run_to_end(sim)
    assert job_state(sim) == "active"


def test_rsz_2_the_present_nodes_are_what_the_service_counts():
    """A pool may be written in the older words (GEN-14)."""
    sim = from_yaml("scenario: x\npools:\n- {id: p, vmSize: standard_d2s_v3, targetDedicated: 2, maxTasksPerNode: 2}\n")
    run_to_end(sim)
    assert (targets(sim), len(here(sim)), pool(sim).slots) == ((2, 0), 2, 2)
