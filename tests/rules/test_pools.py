"""Chapter 3: pools as a whole; how they grow and shrink is in ``test_resizing`` and ``test_shrinking``."""

from __future__ import annotations

import pytest

from engine.base.terms import AllocationState, PoolState
from engine.views.diagnosis.pools import pool_concerns
from tests.builders import (
    READY_S,
    REBOOTED_S,
    a_job,
    a_line,
    a_pool,
    do,
    events,
    evict,
    job_state,
    node,
    node_rows,
    node_state,
    refusal,
    release,
    run,
    run_to,
    run_to_end,
    some_tasks,
    task_extra,
    task_state,
    times,
    wait_for,
)


def pool(sim, pool_id="p"):
    return sim.world.pools.find(pool_id)


def create(**body):
    return {"id": "new", "vmSize": "standard_d2s_v3", "targetDedicatedNodes": 0} | body


# -- creation --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "state"),
    [
        ({"targetDedicatedNodes": 0}, AllocationState.STEADY),
        ({"targetDedicatedNodes": 1}, AllocationState.RESIZING),
        ({"targetLowPriorityNodes": 1}, AllocationState.RESIZING),
    ],
)
def test_pool_8_a_new_pool_is_active_and_resizing_if_it_is_to_have_nodes(start, body, state):
    sim = start()
    do(sim, "createPool", **create(**body))
    assert (pool(sim, "new").state, pool(sim, "new").allocation) == (PoolState.ACTIVE, state)
    assert len(events(sim, "PoolResizeStart", poolId="new")) == (state is AllocationState.RESIZING)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"resizeTimeout": "PT4M"}, "InvalidPropertyValue"),
        ({"enableAutoScale": True, "autoScaleFormula": "$TargetDedicatedNodes=1;"}, "InvalidPropertyValue"),
        ({"targetDedicatedNodes": None}, "MissingRequiredProperty"),
        ({"taskSlotsPerNode": 0}, "InvalidPropertyValue"),
        ({"taskSlotsPerNode": 9}, "InvalidPropertyValue"),
        ({"vmSize": "standard_none"}, "InvalidPropertyValue"),
        ({"id": "with space"}, "InvalidPropertyValue"),
        ({"id": "P"}, "PoolExists"),
        ({"applicationPackageReferences": [{"applicationId": "none"}]}, "InvalidApplicationPackageReferences"),
    ],
)
def test_pool_9_what_cannot_be_is_refused(start, body, code):
    sim = start()
    given = {name: value for name, value in create(**body).items() if value is not None}
    assert refusal(sim, "createPool", **given) == code
    assert pool(sim, "new") is None


def test_pool_9_four_slots_for_each_core_are_allowed(start):
    sim = start()
    assert refusal(sim, "createPool", **create(taskSlotsPerNode=8)) is None


def test_pool_10_nodes_are_used_one_by_one(start):
    slow = {"nodes": {"ready": {"choice": [30, 600]}}}
    sim = start(a_job(tasks=1), pool=a_pool(nodes=6), simulate=slow)
    run_to(sim, minutes=3)
    states = [node_state(sim, index) for index in range(6)]
    assert "idle" in states
    assert "starting" in states
    assert task_state(sim) == "completed"


def test_pool_1_all_nodes_have_one_size(start):
    sim = start(pool=a_pool(nodes=2, vmSize="STANDARD_D4S_V3"))
    run_to_end(sim)
    assert {sim.world.pool_of(row).size.cores for row in node_rows(sim)} == {4}


# -- what is shown ---------------------------------------------------------------------------------------------------


def test_pool_3_resize_errors_are_shown_while_the_pool_is_steady(start):
    sim = start(pool=a_pool(nodes=60))
    run_to(sim, minutes=2)
    assert [error.code for error in pool(sim).resize_errors] == ["AccountCoreQuotaReached"]
    do(sim, "resizePool", poolId="p", targetDedicatedNodes=49, nodeDeallocationOption="requeue")
    assert pool(sim).resize_errors == ()


def test_pool_3_a_resize_that_changes_nothing_keeps_the_errors(start):
    sim = start(pool=a_pool(nodes=60))
    run_to(sim, minutes=2)
    do(sim, "resizePool", poolId="p", targetDedicatedNodes=50)
    run_to(sim, minutes=3)
    assert [error.code for error in pool(sim).resize_errors] == ["AccountCoreQuotaReached"]
    assert events(sim, "PoolResizeComplete")[-1]["resultCode"] == "Success"
    assert pool_concerns(sim) == []


def test_pool_3_an_evaluation_that_wants_the_nodes_that_are_there_keeps_the_errors(start):
    formula = "$TargetDedicatedNodes = time().minute < 5 ? 60 : time().minute < 10 ? 50 : 49"
    scaled = {"enableAutoScale": True, "autoScaleFormula": formula, "autoScaleEvaluationInterval": "PT5M"}
    sim = start(pool={"id": "p", "vmSize": "standard_d2s_v3"} | scaled)
    run_to(sim, minutes=7)
    assert (pool(sim).target_dedicated, len(node_rows(sim))) == (50, 50)
    assert [error.code for error in pool(sim).resize_errors] == ["AccountCoreQuotaReached"]
    run_to(sim, minutes=12)
    assert pool(sim).resize_errors == ()


def test_pool_3_preempted_nodes_count_among_the_current_ones(start):
    sim = start(pool=a_pool(nodes=0, targetLowPriorityNodes=2))
    run_to(sim, seconds=READY_S)
    evict(sim)
    do(sim, "resizePool", poolId="p", targetLowPriorityNodes=3)
    assert events(sim, "PoolResizeStart")[-1]["currentLowPriorityNodes"] == 2


def test_pool_7_the_states_of_a_pool_and_of_its_allocation(start):
    sim = start()
    run_to_end(sim)
    do(sim, "resizePool", poolId="p", targetDedicatedNodes=2)
    do(sim, "stopPoolResize", poolId="p")
    run_to_end(sim)
    do(sim, "deletePool", poolId="p")
    run_to_end(sim)
    assert [event["to"] for event in events(sim, "PoolStateChanged")] == ["active", "deleting", None]
    allocation = [event["to"] for event in events(sim, "PoolAllocationStateChanged")]
    assert allocation == ["resizing", "steady", "resizing", "stopping", "steady"]


# -- update ----------------------------------------------------------------------------------------------------------


EMPTY = [
    {"taskSlotsPerNode": 2},
    {"vmSize": "standard_d4s_v3"},
    {"taskSchedulingPolicy": {"nodeFillType": "pack"}},
    {"enableInterNodeCommunication": True},
    {"displayName": "x"},
]
LIVE = [{"startTask": {"commandLine": "s"}}, {"metadata": [{"name": "a", "value": "b"}]}]


@pytest.mark.parametrize("body", [*EMPTY, *LIVE], ids=lambda body: next(iter(body)))
def test_pool_16_most_properties_change_only_while_the_pool_is_empty(start, body):
    sim = start(pool=a_pool(nodes=1))
    run_to(sim, seconds=READY_S)
    code = "OperationInvalidForCurrentState" if body in EMPTY else None
    assert refusal(sim, "updatePool", poolId="p", **body) == code
    do(sim, "resizePool", poolId="p", targetDedicatedNodes=0)
    run_to_end(sim)
    assert refusal(sim, "updatePool", poolId="p", **body) is None


def test_pool_16_nodes_that_have_been_asked_for_count(start):
    sim = start(pool=a_pool(nodes=1))
    run_to(sim, seconds=1)
    assert refusal(sim, "updatePool", poolId="p", taskSlotsPerNode=2) == "OperationInvalidForCurrentState"


def test_pool_14_a_patch_replaces_only_what_it_names(start):
    sim = start(pool=a_pool(nodes=0, startTask={"commandLine": "one"}, metadata=[{"name": "a", "value": "b"}]))
    do(sim, "updatePool", poolId="p", startTask={"commandLine": "two"})
    assert pool(sim).spec.start_task.command_line == "two"
    assert [item.name for item in pool(sim).spec.metadata] == ["a"]
    do(sim, "updatePool", poolId="p", metadata=[])
    assert pool(sim).spec.start_task.command_line == "two"
    assert pool(sim).spec.metadata == ()


def test_pool_14_replacing_removes_what_is_absent(start):
    body = {"startTask": {"commandLine": "one"}, "metadata": [{"name": "a", "value": "b"}], "taskSlotsPerNode": 2}
    sim = start(pool=a_pool(nodes=1, targetNodeCommunicationMode="classic", **body))
    run_to(sim, seconds=READY_S)
    do(sim, "replacePoolProperties", poolId="p", metadata=[{"name": "c", "value": "d"}])
    assert (pool(sim).spec.start_task, [item.name for item in pool(sim).spec.metadata]) == (None, ["c"])
    assert (pool(sim).slots, pool(sim).spec.target_node_communication_mode.value) == (2, "classic")


def test_pool_14_replacing_the_communication_mode_needs_an_empty_pool(start):
    sim = start(pool=a_pool(nodes=1, targetNodeCommunicationMode="classic"))
    run_to(sim, seconds=READY_S)
    body = {"poolId": "p", "startTask": {"commandLine": "s"}}
    assert refusal(sim, "replacePoolProperties", **body, targetNodeCommunicationMode="classic") is None
    assert (
        refusal(sim, "replacePoolProperties", **body, targetNodeCommunicationMode="simplified")
        == "OperationInvalidForCurrentState"
    )
    nameless = [{"name": "", "value": "x"}]
    assert refusal(sim, "replacePoolProperties", poolId="p", metadata=nameless) == "EmptyMetadataKey"


def test_pool_14_new_slots_and_size_hold_for_the_nodes_that_come(start):
    sim = start(a_job(tasks=6), pool=a_pool(nodes=0))
    do(sim, "updatePool", poolId="p", vmSize="standard_d4s_v3", taskSlotsPerNode=3)
    do(sim, "updatePool", poolId="p", taskSchedulingPolicy={"nodeFillType": "pack"})
    do(sim, "resizePool", poolId="p", targetDedicatedNodes=2)
    run_to(sim, seconds=READY_S + 1)
    assert [len(sim.world.nodes.running[row]) for row in node_rows(sim)] == [3, 3]
    assert pool(sim).size.cores == 4


def test_pool_14_a_patch_must_suit_what_it_leaves(start):
    """Eight slots are four times two cores; a node with one core has no room for them."""
    sim = start(pool=a_pool(nodes=0, taskSlotsPerNode=8))
    assert refusal(sim, "updatePool", poolId="p", taskSlotsPerNode=9) == "InvalidPropertyValue"
    assert pool(sim).slots == 8


def test_pool_15_a_new_start_task_is_for_nodes_that_boot_afterwards(start):
    sim = start(pool=a_pool(nodes=1, startTask=a_line(5, command="old")))
    run_to(sim, minutes=2)
    do(sim, "updatePool", poolId="p", startTask=a_line(5, command="new"))
    do(sim, "resizePool", poolId="p", targetDedicatedNodes=2)
    run(sim, minutes=2)
    assert [node(sim, index).start_spec.command_line for index in (0, 1)] == ["old", "new"]
    do(sim, "rebootNode", poolId="p", node=0)
    run(sim, seconds=REBOOTED_S + 10)
    assert node(sim, 0).start_spec.command_line == "new"


def test_pool_17_a_pool_that_is_being_deleted_takes_no_command(start):
    sim = start()
    run_to(sim, seconds=READY_S)
    do(sim, "deletePool", poolId="p")
    for name, body in (
        ("deletePool", {}),
        ("updatePool", {"metadata": []}),
        ("replacePoolProperties", {"metadata": []}),
        ("resizePool", {"targetDedicatedNodes": 3}),
        ("stopPoolResize", {}),
        ("removeNodes", {"nodeList": [0]}),
    ):
        assert refusal(sim, name, poolId="p", **body) == "PoolBeingDeleted", name


@pytest.mark.parametrize("name", ["deletePool", "updatePool", "stopPoolResize"])
def test_pool_17_a_pool_that_is_gone_is_not_found(start, name):
    assert refusal(start(), name, poolId="nobody") == "PoolNotFound"


# -- jobs without a pool ---------------------------------------------------------------------------------------------


def test_pool_18_a_job_may_name_a_pool_that_comes_later(start):
    sim = start(a_job(pool="Later", tasks=2))
    run_to(sim, minutes=30)
    assert (job_state(sim), task_state(sim)) == ("active", "active")
    do(sim, "createPool", **create(id="later", targetDedicatedNodes=1))
    run(sim, seconds=READY_S)
    assert task_state(sim) == "running"
    run_to_end(sim)
    assert task_state(sim, "t2") == "completed"


def test_pool_18_only_jobs_that_can_run_profit(start):
    sim = start(a_job("a", pool="q"), a_job("b", pool="q"), a_job("c", pool="q"))
    do(sim, "disableJob", jobId="a", disableTasks="requeue")
    do(sim, "terminateJob", jobId="b")
    run(sim, minutes=1)
    do(sim, "createPool", **create(id="q", targetDedicatedNodes=3))
    run_to_end(sim)
    assert [task_state(sim, "t1", job) for job in "abc"] == ["active", "active", "completed"]


def test_pool_19_a_deleted_pool_leaves_its_jobs_active_and_their_tasks_waiting(start):
    sim = start(a_job(tasks=some_tasks(2, 300)))
    run_to(sim, seconds=READY_S + 5)
    do(sim, "deletePool", poolId="p")
    run_to_end(sim)
    assert (job_state(sim), task_state(sim, "t1"), task_state(sim, "t2")) == ("active", "active", "active")
    assert (task_extra(sim).requeue_count, task_extra(sim).retry_count) == (1, 0)


def test_pool_19_a_new_pool_of_the_same_id_takes_the_job_up_again(start):
    sim = start(a_job(tasks=some_tasks(2, 300), prep=a_line(5), release=a_line(5), onAllTasksComplete="terminatejob"))
    run_to(sim, seconds=READY_S + 20)
    do(sim, "deletePool", poolId="p")
    run_to_end(sim)
    do(sim, "createPool", **a_pool("P", nodes=1))
    run_to_end(sim)
    assert job_state(sim) == "completed"
    assert task_extra(sim).attempts == 2
    assert len(events(sim, "JobPreparationTaskStateChanged", to="completed", exitCode=0)) == 2
    ran = [event["poolId"] for event in events(sim, "JobReleaseTaskStateChanged", to="completed")]
    assert ran == ["P"]


def test_pool_19_while_a_pool_goes_another_of_its_id_cannot_come(start):
    sim = start()
    run_to(sim, seconds=READY_S)
    do(sim, "deletePool", poolId="p")
    assert refusal(sim, "createPool", **a_pool("P")) == "PoolExists"


def test_pool_19_a_job_can_go_elsewhere_when_disabled(start):
    sim = start(a_job(), pools=[a_pool("p"), a_pool("q")])
    run_to(sim, seconds=READY_S + 1)
    do(sim, "deletePool", poolId="p")
    do(sim, "disableJob", jobId="j", disableTasks="requeue")
    run(sim, seconds=3)
    do(sim, "updateJob", jobId="j", poolInfo={"poolId": "q"})
    do(sim, "enableJob", jobId="j")
    run_to_end(sim)
    assert task_state(sim) == "completed"
    assert events(sim, "TaskStateChanged", to="completed")[0]["poolId"] == "q"


def test_pool_13_a_pool_for_one_job_can_be_emptied_as_it_ends(start):
    entry = {"when": {"jobId": "j", "state": "completed"}, "deletePool": {"poolId": "p"}}
    sim = start(a_job(tasks=2, prep=a_line(1), release=a_line(9), onAllTasksComplete="terminatejob"), timeline=[entry])
    wait_for(sim, lambda: pool(sim) is None)
    assert release(sim).exit_code == 0
    assert times(sim, "JobStateChanged", to="completed") == times(sim, "PoolStateChanged", to="deleting")


# -- limits ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("mode", "most"), [("BatchService", 100), ("UserSubscription", 80)])
def test_pool_12_a_pool_with_inter_node_communication_is_capped(start, mode, most):
    account = {"poolAllocationMode": mode, "quotas": {"dedicatedCores": 1000}}
    sim = start(pool=a_pool(nodes=110, enableInterNodeCommunication=True), account=account)
    run_to(sim, minutes=2)
    assert len(node_rows(sim)) == most
    assert [error.code for error in pool(sim).resize_errors] == ["CommunicationEnabledPoolReachedMaxVMCount"]


def test_pool_12_the_cap_is_for_both_kinds_together(start):
    account = {"quotas": {"dedicatedCores": 1000, "lowPriorityCores": 1000}}
    body = a_pool(nodes=60, targetLowPriorityNodes=60, enableInterNodeCommunication=True)
    sim = start(pool=body, account=account)
    run_to(sim, minutes=2)
    kinds = [sim.world.nodes[row].dedicated for row in node_rows(sim)]
    assert (kinds.count(True), kinds.count(False)) == (60, 40)


def test_pool_11_a_small_subnet_gives_some_of_the_nodes(start):
    subnet = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Network/virtualNetworks/v/subnets/small"
    body = a_pool(nodes=4, networkConfiguration={"subnetId": subnet})
    sim = start(pool=body, simulate={"network": {"*/small": {"freeAddresses": 3}}})
    run_to(sim, minutes=2)
    assert len(node_rows(sim)) == 3
    error = pool(sim).resize_errors[0]
    assert (error.code, "subnet" in error.values[0][1]) == ("AllocationFailed", True)
    do(sim, "removeNodes", poolId="p", nodeList=[0])
    run(sim, minutes=1)
    do(sim, "resizePool", poolId="p", targetDedicatedNodes=3)
    run(sim, minutes=1)
    assert node_state(sim, 3) is not None


def test_pool_24_nothing_happens_to_nodes_by_itself(start):
    sim = start(pool=a_pool(nodes=2))
    run_to(sim, minutes=60 * 24 * 6)
    assert len(events(sim, "NodeStateChanged")) == 6
