"""Chapter 24: subnets with too few addresses or closed ports, public addresses, and how nodes talk to Batch."""

from __future__ import annotations

import pytest

from engine import BatchError
from engine.rules.decisions import capacity
from engine.views.rest.account import pool_body
from engine.views.rest.nodes import node_body
from tests.builders import (
    ALLOCATION_S,
    REBOOT_S,
    STARTING_S,
    a_job,
    a_pool,
    do,
    events,
    evict,
    node,
    node_row,
    node_rows,
    node_state,
    node_states,
    refusal,
    run,
    run_to,
    run_to_end,
    task_state,
    times,
)

SUBNET = "/subscriptions/1/resourceGroups/corp/providers/Microsoft.Network/virtualNetworks/corp/subnets/batch"
UP_S = ALLOCATION_S + STARTING_S  # when the first nodes are in ``starting``
NOTICED_S = 600


def in_subnet(nodes=1, pool_id="p", **more):
    network = {"subnetId": SUBNET} | more.pop("networkConfiguration", {})
    return a_pool(pool_id, nodes, networkConfiguration=network, **more)


def subnet(**settings):
    return {"network": {"*/subnets/batch": settings}}


def errors(sim, pool="p"):
    return [(error.code, dict(error.values)["Reason"]) for error in sim.world.pools.find(pool).resize_errors]


NOT_ENOUGH = ("AllocationFailed", "the subnet has not enough free addresses")


# --- addresses


@pytest.mark.parametrize(
    ("settings", "nodes"),
    [
        ({"freeAddresses": 3}, 3),
        ({"freeAddresses": 0}, 0),
        ({"addressPrefix": "10.1.0.0/29"}, 3),
        ({"addressPrefix": "10.1.0.0/28"}, 11),
        ({"addressPrefix": "10.1.0.0/30"}, 0),
        ({"addressPrefix": "10.1.0.0/24", "freeAddresses": 2}, 2),
    ],
)
def test_net_3_what_has_an_address_comes_the_rest_is_an_error(start, settings, nodes):
    sim = start(pool=in_subnet(20), simulate=subnet(**settings))
    run_to_end(sim)
    assert len(node_rows(sim)) == nodes
    assert errors(sim) == [NOT_ENOUGH]
    assert events(sim, "PoolResizeComplete")[0]["resultCode"] == "AllocationFailed"


def test_net_3_a_large_subnet_is_no_limit(start):
    sim = start(pool=in_subnet(20), simulate=subnet(addressPrefix="10.1.0.0/24"))
    run_to_end(sim)
    assert (len(node_rows(sim)), errors(sim)) == (20, [])


def test_net_3_pools_share_a_subnet_and_both_kinds_count(start):
    pools = [in_subnet(2, "a", targetLowPriorityNodes=2), in_subnet(3, "b")]
    sim = start(pools=pools, simulate=subnet(freeAddresses=5))
    run_to_end(sim)
    assert (len(node_rows(sim, "a")), len(node_rows(sim, "b"))) == (4, 1)
    assert (errors(sim, "a"), errors(sim, "b")) == ([], [NOT_ENOUGH])


def test_net_3_addresses_that_came_free_help_the_next_resize(start):
    sim = start(pools=[in_subnet(4, "a"), in_subnet(2, "b")], simulate=subnet(freeAddresses=4))
    run_to(sim, minutes=3)
    do(sim, "resizePool", poolId="a", targetDedicatedNodes=2)
    run(sim, minutes=3)
    do(sim, "resizePool", poolId="b", targetDedicatedNodes=2)
    run_to_end(sim)
    assert (len(node_rows(sim, "b")), errors(sim, "b")) == (2, [])


def test_net_3_and_spot_3_a_preempted_node_that_leaves_takes_no_address(start):
    sim = start(pool=in_subnet(0, targetLowPriorityNodes=1), simulate=subnet(freeAddresses=1))
    run_to(sim, minutes=3)
    evict(sim)
    do(sim, "resizePool", poolId="p", targetDedicatedNodes=1)
    run(sim, minutes=3)
    do(sim, "resizePool", poolId="p", targetLowPriorityNodes=0)
    assert capacity.free_addresses(sim.world, sim.world.pools.find("p")) == 0
    run_to_end(sim)
    assert (node_states(sim, 0)[-2:], node_state(sim, 1)) == (["leavingpool", None], "idle")


def test_net_3_both_kinds_fall_short_with_an_entry_each(start):
    sim = start(pool=in_subnet(2, targetLowPriorityNodes=2), simulate=subnet(freeAddresses=1))
    run_to_end(sim)
    assert [error.message for error in sim.world.pools.find("p").resize_errors] == [
        "Desired number of dedicated nodes could not be allocated",
        "Desired number of Spot/low-priority nodes could not be allocated",
    ]


def test_net_1_a_hundred_nodes_of_each_kind_behind_a_public_address(start):
    addresses = {"provision": "usermanaged", "ipAddressIds": ["/publicIPAddresses/a"]}
    pool = in_subnet(120, networkConfiguration={"publicIPAddressConfiguration": addresses}, targetLowPriorityNodes=30)
    sim = start(pool=pool, account={"quotas": {"dedicatedCores": 1000}})
    run_to_end(sim)
    assert sum(node(sim, index).dedicated for index in range(len(node_rows(sim)))) == 100
    assert len(node_rows(sim)) == 130
    assert errors(sim) == [("AllocationFailed", "the pool has not enough public IP addresses")]


# --- endpoints


def endpoints(sim, index=0):
    return node_body(sim.world, node_row(sim, index))["endpointConfiguration"]["inboundEndpoints"]


def test_net_1_each_node_has_a_port_of_each_range(start):
    nat = {"name": "web", "protocol": "udp", "backendPort": 80}
    nat |= {"frontendPortRangeStart": 15_000, "frontendPortRangeEnd": 15_039}
    pool = in_subnet(42, networkConfiguration={"endpointConfiguration": {"inboundNATPools": [nat]}})
    sim = start(pool=pool, account={"quotas": {"dedicatedCores": 1000}})
    run_to_end(sim)
    web, login = endpoints(sim, 41)
    assert (login["name"], login["frontendPort"], login["backendPort"]) == ("SSHRule.1", 50_001, 22)
    assert (web["name"], web["protocol"], web["frontendPort"], web["backendPort"]) == ("web.1", "udp", 15_001, 80)
    taken = [(one["publicIPAddress"], one["frontendPort"]) for index in range(42) for one in endpoints(sim, index)]
    assert len(set(taken)) == len(taken) == 84


def test_net_1_without_public_addresses_nobody_reaches_a_node_from_outside(start):
    pool = in_subnet(networkConfiguration={"publicIPAddressConfiguration": {"provision": "nopublicipaddresses"}})
    sim = start(pool=pool)
    run_to_end(sim)
    assert endpoints(sim) == []


@pytest.mark.parametrize(("nodes", "count"), [(0, 0), (1, 1), (50, 1), (51, 2)])
def test_net_8_a_load_balancer_for_fifty_nodes(start, nodes, count):
    sim = start(pools=[in_subnet(nodes), a_pool("q", nodes)], account={"quotas": {"dedicatedCores": 1000}})
    run_to_end(sim)
    assert capacity.load_balancers(sim.world, sim.world.pools.find("p")) == count
    assert capacity.load_balancers(sim.world, sim.world.pools.find("q")) == 0


# --- ports


def test_net_4_and_time_21_a_node_that_batch_cannot_reach_is_unusable_after_ten_minutes(start):
    sim = start(a_job(), pool=in_subnet(), simulate=subnet(blocked=True))
    run_to(sim, seconds=UP_S + NOTICED_S - 1)
    assert (node_state(sim), sim.world.pools.find("p").allocation.wire) == ("starting", "steady")
    run(sim, seconds=1)
    assert (node_state(sim), node(sim).errors, task_state(sim)) == ("unusable", (), "active")
    assert errors(sim) == []


def test_net_4_and_node_14_the_attempt_to_recover_it_fails_too_and_is_the_last(start):
    sim = start(pool=in_subnet(), simulate=subnet(blocked=True))
    run_to_end(sim)
    assert node_states(sim) == ["creating", "starting", "unusable", "starting", "unusable"]
    first, second = times(sim, "NodeStateChanged", to="unusable")
    tried = times(sim, "NodeStateChanged", to="starting")[1]
    assert 600 < tried - first < 3600
    assert second == tried + NOTICED_S


def test_net_4_a_reboot_by_hand_changes_nothing_and_is_tried_to_recover_again(start):
    sim = start(pool=in_subnet(), simulate=subnet(blocked=True))
    run_to_end(sim)
    do(sim, "rebootNode", poolId="p", node=0)
    run(sim, seconds=REBOOT_S + NOTICED_S)
    assert node_state(sim) == "unusable"
    run_to(sim, seconds=node(sim).recover_ms / 1000)
    assert node_state(sim) == "starting"


def test_net_4_another_subnet_helps_when_the_pool_is_empty(start):
    sim = start(a_job(), pool=in_subnet(), simulate=subnet(blocked=True))
    run_to(sim, minutes=15)
    elsewhere = {"networkConfiguration": {"subnetId": SUBNET.replace("batch", "other")}}
    assert refusal(sim, "updatePool", poolId="p", **elsewhere) == "OperationInvalidForCurrentState"
    do(sim, "resizePool", poolId="p", targetDedicatedNodes=0)
    run(sim, minutes=2)
    do(sim, "updatePool", poolId="p", **elsewhere)
    do(sim, "resizePool", poolId="p", targetDedicatedNodes=1)
    run_to_end(sim)
    assert task_state(sim) == "completed"


@pytest.mark.parametrize(
    ("mode", "blocked", "state"),
    [
        ("classic", [29_876], "unusable"),
        ("classic", [29_877], "unusable"),
        ("classic", [443], "unusable"),
        ("classic", [22, 3389], "idle"),
        ("simplified", [29_876, 29_877], "idle"),
        ("simplified", [443], "unusable"),
        ("default", [29_876, 29_877], "idle"),
        ("default", True, "unusable"),
        ("classic", False, "idle"),
    ],
)
def test_net_5_and_net_7_which_ports_are_missed_depends_on_the_communication_mode(start, mode, blocked, state):
    sim = start(pool=in_subnet(targetNodeCommunicationMode=mode), simulate=subnet(blocked=blocked))
    run_to(sim, minutes=12)
    assert node_state(sim) == state


def test_net_5_a_cloud_service_needs_its_inbound_ports(start):
    pool = in_subnet(vmSize="small", cloudServiceConfiguration={"osFamily": "5"})
    sim = start(pool=pool, simulate=subnet(blocked=[29_877]))
    run_to(sim, minutes=12)
    assert node_state(sim) == "unusable"


@pytest.mark.parametrize(
    ("wanted", "current"), [("default", "simplified"), ("classic", "classic"), ("simplified", "simplified")]
)
def test_net_7_the_pool_tells_the_mode_that_is_in_force(start, wanted, current):
    sim = start(pool=a_pool(targetNodeCommunicationMode=wanted))
    run_to(sim, seconds=1)
    body = pool_body(sim.world, sim.world.pools.find("p"))
    assert (body["targetNodeCommunicationMode"], body["currentNodeCommunicationMode"]) == (wanted, current)


def test_net_7_the_mode_changes_only_while_the_pool_is_empty(start):
    sim = start(pool=a_pool())
    run_to(sim, minutes=2)
    change = {"poolId": "p", "targetNodeCommunicationMode": "classic"}
    assert refusal(sim, "updatePool", **change) == "OperationInvalidForCurrentState"
    do(sim, "resizePool", poolId="p", targetDedicatedNodes=0)
    run(sim, minutes=2)
    do(sim, "updatePool", **change)
    assert pool_body(sim.world, sim.world.pools.find("p"))["currentNodeCommunicationMode"] == "classic"


def test_net_4_outside_a_vnet_nothing_is_closed(start):
    sim = start(pool=a_pool(), simulate={"network": {"*": {"blocked": True, "freeAddresses": 0}}})
    run_to_end(sim)
    assert node_state(sim) == "idle"


def test_net_2_a_pool_in_a_foreign_region_is_refused(start):
    sim = start(pool=a_pool(), simulate=subnet(location="westus"))
    assert refusal(sim, "createPool", **in_subnet(1, "q")) == "InvalidPropertyValue"


def classic(name):
    subnet_id = (
        f"/subscriptions/one/resourceGroups/g/providers/Microsoft.ClassicNetwork/virtualNetworks/v/subnets/{name}"
    )
    networks = {"networkConfiguration": {"subnetId": subnet_id}}
    return a_pool("q", vmSize="small", cloudServiceConfiguration={"osFamily": "5"}) | networks


def reason_of(sim, **pool):
    with pytest.raises(BatchError, match="InvalidPropertyValue") as caught:
        do(sim, "createPool", **pool)
    return caught.value.values["Reason"]


def test_net_2_a_pool_in_a_foreign_subscription_is_refused(start):
    sim = start(account={"subscriptionId": "Two"})
    reason = reason_of(sim, **classic("s"))
    assert reason == "its VNet is in subscription one, must be in Two like the account"
    do(start(account={"subscriptionId": "ONE"}), "createPool", **classic("s"))
    do(start(), "createPool", **classic("s"))


def test_net_2_a_classic_vnet_needs_the_role_of_a_classic_contributor(start):
    sim = start(simulate={"network": {"*": {"roleAssignment": False}}})
    reason = reason_of(sim, **classic("s"))
    assert reason.endswith("must be assigned Classic Virtual Machine Contributor")
