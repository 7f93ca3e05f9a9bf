"""POOL-22: another version of the guest operating system for the nodes of a cloud service pool."""

from __future__ import annotations

import pytest

from engine.views.rest.account import pool_body
from tests.builders import (
    READY_S,
    REIMAGE_S,
    REIMAGED_S,
    a_job,
    a_line,
    a_pool,
    do,
    events,
    file,
    job_state,
    node,
    node_state,
    node_states,
    refusal,
    release_events,
    run,
    run_to,
    run_to_end,
    some_tasks,
    task_extra,
    task_history,
    times,
)
from tests.views.explaining import why_node_says, why_pool_says

NEWER = "WA-GUEST-OS-5.20_201806-01"
UPGRADED_S = REIMAGED_S


def classic_pool(nodes=1, pool_id="p", **more):
    return a_pool(pool_id, nodes, vmSize="medium", cloudServiceConfiguration={"osFamily": "5"}, **more)


def upgrading(start, *jobs, nodes=1, after=5, **more):
    """A run in which an upgrade has just begun, on a pool whose nodes are up."""
    sim = start(*jobs, pool=classic_pool(nodes, **more))
    run_to(sim, seconds=READY_S + after)
    do(sim, "upgradePoolOS", poolId="p", targetOSVersion=NEWER)
    return sim


def states(sim, nodes):
    return [node_state(sim, index) for index in range(nodes)]


def test_pool_22_a_node_is_reinstalled_and_the_pool_tells_the_version(start):
    sim = upgrading(start)
    assert node_state(sim) == "upgradingos"
    assert pool_body(sim.world, sim.world.pools.find("p"))["cloudServiceConfiguration"]["osVersion"] == NEWER
    run(sim, seconds=UPGRADED_S)
    assert node_states(sim) == ["creating", "starting", "idle", "upgradingos", "starting", "idle"]
    assert sim.world.pools.find("p").allocation.wire == "steady"


def test_pool_22_running_tasks_are_interrupted_and_requeued(start):
    sim = upgrading(start, a_job(tasks=some_tasks(1, 300)))
    run_to_end(sim)
    assert task_history(sim) == ["active", "running", "active", "running", "completed"]
    assert (task_extra(sim).requeue_count, task_extra(sim).retry_count) == (1, 0)


@pytest.mark.parametrize(("nodes", "waves"), [(1, 1), (3, 3), (5, 5), (10, 5), (12, 5)])
def test_pool_22_one_update_domain_at_a_time(start, nodes, waves):
    sim = upgrading(start, nodes=nodes)
    most = -(-nodes // 5)
    began = []
    while True:
        busy = states(sim, nodes).count("upgradingos") + states(sim, nodes).count("starting")
        assert busy <= most
        if not sim.step():
            break
    began = times(sim, "NodeStateChanged", to="upgradingos")
    assert len(began) == nodes
    assert sorted(set(began)) == [began[0] + wave * UPGRADED_S for wave in range(waves)]


def test_pool_22_the_other_domains_work_on(start):
    sim = upgrading(start, a_job(tasks=some_tasks(5, 600)), nodes=5)
    assert sorted(states(sim, 5)) == ["running"] * 4 + ["upgradingos"]


@pytest.mark.parametrize(
    ("version", "code"),
    [
        ("WA-GUEST-OS-4.40_201703-01", "OSVersionNotFound"),
        ("vista", "OSVersionNotFound"),
        ("*", "PoolVersionEqualsUpgradeVersion"),
        (NEWER, None),
        ("5.20", None),
    ],
)
def test_pool_22_which_versions_are_taken(start, version, code):
    sim = start(pool=classic_pool())
    run_to(sim, seconds=READY_S)
    assert refusal(sim, "upgradePoolOS", poolId="p", osVersion=version) == code


def test_pool_22_back_to_the_newest_one(start):
    sim = upgrading(start)
    run_to_end(sim)
    assert refusal(sim, "upgradePoolOS", poolId="p", osVersion=NEWER.lower()) == "PoolVersionEqualsUpgradeVersion"
    assert refusal(sim, "upgradePoolOS", poolId="p", osVersion="*") is None


def test_pool_22_one_upgrade_at_a_time(start):
    sim = upgrading(start, nodes=2)
    again = {"poolId": "p", "osVersion": "5.21"}
    assert refusal(sim, "upgradePoolOS", **again) == "UpgradePoolVersionConflict"
    run_to_end(sim)
    assert refusal(sim, "upgradePoolOS", **again) is None


def test_pool_22_virtual_machines_are_not_upgraded(start):
    sim = start(pool=a_pool())
    run_to(sim, seconds=READY_S)
    assert refusal(sim, "upgradePoolOS", poolId="p", osVersion="5.20") == "PoolNotEligibleForOSVersionUpgrade"
    assert refusal(sim, "upgradePoolOS", poolId="q", osVersion="5.20") == "PoolNotFound"


def test_pool_22_an_empty_pool_just_has_the_version(start):
    sim = start(pool=classic_pool(0))
    run_to(sim, seconds=1)
    do(sim, "upgradePoolOS", poolId="p", osVersion=NEWER)
    assert sim.world.pools.find("p").upgrade == ()


def test_pool_22_a_node_that_starts_is_upgraded_when_it_is_up(start):
    sim = start(pool=classic_pool(startTask=a_line(20)))
    run_to(sim, seconds=READY_S + 5)
    do(sim, "upgradePoolOS", poolId="p", osVersion=NEWER)
    assert node_state(sim) == "waitingforstarttask"
    assert "✗ operation   upgrade when it is up [POOL-22]" in why_node_says(sim)
    run_to_end(sim)
    once = ["starting", "waitingforstarttask", "idle"]
    assert node_states(sim) == ["creating", *once, "upgradingos", *once]


def test_pool_22_a_start_task_that_fails_does_not_hold_the_upgrade_up(start):
    sim = start(pool=classic_pool(2, startTask=a_line(20, exit_code=1)))
    run_to(sim, seconds=READY_S + 5)
    do(sim, "upgradePoolOS", poolId="p", osVersion=NEWER)
    run_to_end(sim)
    assert states(sim, 2) == ["starttaskfailed"] * 2
    assert len(events(sim, "NodeStateChanged", to="upgradingos")) == 2
    assert sim.world.pools.find("p").upgrade == ()


def test_pool_22_nodes_out_of_reach_are_left_out(start):
    sim = start(pool=classic_pool(3))
    run_to(sim, seconds=READY_S)
    do(sim, "deallocateNode", poolId="p", node=0)
    do(sim, "failNode", poolId="p", node=1, state="unknown", **{"for": "PT30M"})
    do(sim, "upgradePoolOS", poolId="p", osVersion=NEWER)
    assert states(sim, 3) == ["deallocating", "unknown", "upgradingos"]
    run_to_end(sim)
    assert len(events(sim, "NodeStateChanged", to="upgradingos")) == 1


def test_pool_22_a_node_that_goes_meanwhile_does_not_hold_the_upgrade_up(start):
    sim = upgrading(start, nodes=2)
    do(sim, "removeNodes", poolId="p", nodeList=[0])
    assert states(sim, 2) == ["leavingpool", "upgradingos"]
    run(sim, seconds=REIMAGE_S + 1)
    do(sim, "failNode", poolId="p", node=1, code="DiskFull")
    assert (node_state(sim, 1), sim.world.pools.find("p").upgrade) == ("unusable", ())


def test_pool_22_a_pool_may_be_deleted_meanwhile(start):
    sim = upgrading(start, nodes=2)
    do(sim, "deletePool", poolId="p")
    run_to_end(sim)
    assert sim.world.pools.find("p") is None
    assert len(events(sim, "NodeStateChanged", to="upgradingos")) == 1


def test_pool_22_what_a_resize_adds_has_the_version_already(start):
    sim = upgrading(start, nodes=2)
    do(sim, "resizePool", poolId="p", targetDedicatedNodes=3)
    run_to_end(sim)
    assert node_states(sim, 2) == ["creating", "starting", "idle"]
    assert len(events(sim, "NodeStateChanged", to="upgradingos")) == 2


def test_pool_22_and_rel_13_release_waits_for_the_node_and_finds_its_files(start):
    release = {"commandLine": 'cmd /c "type %AZ_BATCH_NODE_SHARED_DIR%\\x"'}
    prep = {"commandLine": 'cmd /c "echo kept> %AZ_BATCH_NODE_SHARED_DIR%\\x"'}
    sim = upgrading(start, a_job(tasks=some_tasks(1, 1), prep=prep, release=release), after=30)
    do(sim, "terminateJob", jobId="j")
    assert (node_state(sim), job_state(sim), release_events(sim)) == ("upgradingos", "terminating", [])
    run_to_end(sim)
    assert (len(release_events(sim, to="completed")), job_state(sim)) == (1, "completed")
    assert file(sim, "shared/x").startswith("kept")


def test_pool_22_how_far_it_has_come(start):
    sim = upgrading(start, nodes=6)
    assert "✗ OS upgrade        2 nodes under way, 4 to follow [POOL-22]" in why_pool_says(sim)
    assert node(sim).operation is None


def test_pool_22_going_back_in_time_changes_nothing(start):
    sim = upgrading(start, a_job(tasks=some_tasks(9, 200)), nodes=4)
    run_to_end(sim)
    lines = list(sim.json_lines())
    sim.seek((READY_S + 100) * 1000)
    sim.run_until(sim.end_ms)
    assert list(sim.json_lines()) == lines


# -- new releases ----------------------------------------------------------------------------------------------------


def fixed_pool(pool_id, version, family="5"):
    configuration = {"osFamily": family, "osVersion": version}
    return a_pool(pool_id, 1, vmSize="medium", cloudServiceConfiguration=configuration)


def test_pool_28_a_release_upgrades_the_pools_that_follow_their_family(start):
    pools = [classic_pool(), fixed_pool("fixed", "5.18"), fixed_pool("older", "*", "4"), a_pool("machines")]
    sim = start(pools=pools)
    run_to(sim, seconds=READY_S + 5)
    do(sim, "guestOSRelease", osVersion=NEWER)
    injected = events(sim, "FaultInjected")[0]
    assert (injected["body"], injected["rule"]) == ({"osVersion": NEWER}, "POOL-28")
    run_to_end(sim)
    upgraded = [event["poolId"] for event in events(sim, "NodeStateChanged", to="upgradingos")]
    assert upgraded == ["p"]
    assert sim.world.pools.find("p").spec.cloud_service_configuration.os_version == "*"


def test_pool_28_tasks_are_requeued_and_domains_take_turns(start):
    sim = start(a_job(tasks=some_tasks(5, 300)), pool=classic_pool(5))
    run_to(sim, seconds=READY_S + 5)
    do(sim, "guestOSRelease", osVersion="5.21")
    assert sorted(states(sim, 5)) == ["running"] * 4 + ["upgradingos"]
    run_to_end(sim)
    assert len(times(sim, "NodeStateChanged", to="upgradingos")) == 5
    assert {event["rule"] for event in events(sim, "NodeStateChanged", to="upgradingos")} == {"POOL-22"}


def test_pool_28_a_release_during_an_upgrade_begins_it_again_after_the_domain_under_way(start):
    sim = start(pool=classic_pool(3))
    run_to(sim, seconds=READY_S + 5)
    do(sim, "guestOSRelease", osVersion="5.21")
    run(sim, seconds=UPGRADED_S + 5)  # node 0 is done, node 1 under way
    do(sim, "guestOSRelease", osVersion="5.22")
    assert states(sim, 3).count("upgradingos") == 1
    run_to_end(sim)
    upgraded = [event["nodeId"] for event in events(sim, "NodeStateChanged", to="upgradingos")]
    first, second, third = [sim.world.nodes[node].id for node in sim.world.pools.find("p").nodes]
    assert upgraded == [first, second, first, second, third]


def test_pool_28_a_deleted_pool_and_an_empty_one_have_nothing_to_upgrade(start):
    sim = start(pools=[classic_pool(), fixed_pool("gone", "*"), classic_pool(0, "none")])
    run_to(sim, seconds=READY_S + 5)
    do(sim, "deletePool", poolId="gone")
    do(sim, "guestOSRelease", osVersion="5.21")
    run_to_end(sim)
    assert [event["poolId"] for event in events(sim, "NodeStateChanged", to="upgradingos")] == ["p"]


@pytest.mark.parametrize("version", ["*", "vista", "9.1", "5", "x" * 200_000])
def test_pool_28_a_release_has_a_name(start, version):
    with pytest.raises(ValueError, match="is not a release such as"):
        do(start(), "guestOSRelease", osVersion=version)


# -- what cloud services do not have ---------------------------------------------------------------------------------


def test_pool_27_a_resize_to_spot_nodes_is_refused(start):
    sim = start(pool=classic_pool())
    run_to(sim, seconds=READY_S)
    assert refusal(sim, "resizePool", poolId="p", targetLowPriorityNodes=2) == "InvalidPropertyValue"
    assert events(sim, "CommandRefused")[-1]["values"] == [
        {"key": "PropertyName", "value": "targetLowPriorityNodes"},
        {"key": "PropertyValue", "value": "2"},
        {"key": "Reason", "value": "is 2, but cloud services have no Spot nodes"},
    ]
    assert refusal(sim, "updatePool", poolId="p", vmSize="standard_d2s_v3") == "InvalidPropertyValue"


def test_pool_27_a_formula_that_wants_spot_nodes_fails(start):
    formula = "$TargetDedicatedNodes = 1; $TargetLowPriorityNodes = 3;"
    sim = start(pool=classic_pool())
    run_to(sim, seconds=READY_S + 30)
    do(sim, "enablePoolAutoScale", poolId="p", autoScaleFormula=formula)
    evaluated = events(sim, "AutoScaleEvaluated")[-1]
    assert "cloud services have no Spot nodes" in evaluated["error"]["values"][0]["value"]
    assert (evaluated["targetDedicatedNodes"], evaluated["targetLowPriorityNodes"]) == (1, 0)
