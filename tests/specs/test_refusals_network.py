"""Tests of the networks and endpoints that the service refuses in pools."""

import pytest

from engine.specs.bodies import PoolSpec, PoolUpdate
from engine.specs.machine import SimulateNetwork
from engine.specs.pool_refusals import PoolSetting, pool_refusals, pool_update_refusals
from tests.specs.test_refusals_pool import (
    A_POOL,
    ACCOUNT,
    VNET,
    changes,
    cloud_service,
    found,
    linux,
    nat_pools,
    refused,
)


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ([{"name": "-a"}], "0.name"),
        ([{"backendPort": 29876}], "0.backendPort"),
        ([{"backendPort": 0}], "0.backendPort"),
        ([{"frontendPortRangeStart": 0}], "0.frontendPortRangeStart"),
        ([{"frontendPortRangeStart": 49_990, "frontendPortRangeEnd": 50_050}], "0.frontendPortRangeStart"),
        ([{"frontendPortRangeEnd": 1038}], "0.frontendPortRangeEnd"),
        (
            [{}, {"backendPort": 23, "frontendPortRangeStart": 2000, "frontendPortRangeEnd": 2100}],
            "1.name",
        ),
        (
            [{}, {"name": "b", "frontendPortRangeStart": 2000, "frontendPortRangeEnd": 2100}],
            "1.backendPort",
        ),
        ([{}, {"name": "b", "backendPort": 23}], "1.frontendPortRangeStart"),
        (
            [{"networkSecurityGroupRules": [{"priority": 149, "access": "allow", "sourceAddressPrefix": "*"}]}],
            "0.networkSecurityGroupRules.0.priority",
        ),
        (
            [{"networkSecurityGroupRules": [{"priority": 150, "access": "deny", "sourceAddressPrefix": "*"}] * 2}],
            "0.networkSecurityGroupRules.1.priority",
        ),
    ],
)
def test_net_1_inbound_endpoints(changes, place):
    path = f"networkConfiguration.endpointConfiguration.inboundNATPools.{place}"
    assert refused(**nat_pools(*changes)) == [("InvalidPropertyValue", path)]


def test_net_1_the_smallest_range_has_forty_ports():
    assert refused(**nat_pools({"frontendPortRangeEnd": 1039})) == []


def test_acc_5_five_endpoints_and_25_rules():
    ranges = [{"frontendPortRangeStart": 100 * k, "frontendPortRangeEnd": 100 * k + 50} for k in range(1, 7)]
    many = [{"name": f"n{k}", "backendPort": k} | ports for k, ports in enumerate(ranges, 1)]
    place = "networkConfiguration.endpointConfiguration.inboundNATPools"
    assert refused(**nat_pools(*many[:5])) == []
    assert refused(**nat_pools(*many)) == [("InvalidPropertyValue", place)]
    rules = [{"priority": 150 + k, "access": "allow", "sourceAddressPrefix": "*"} for k in range(26)]
    assert refused(**nat_pools({"networkSecurityGroupRules": rules[:25]})) == []
    assert refused(**nat_pools({"networkSecurityGroupRules": rules})) == [("InvalidPropertyValue", place)]


def test_net_1_addresses_of_ones_own_are_named():
    def addresses(**properties):
        return {"networkConfiguration": {"publicIPAddressConfiguration": properties}}

    place = "networkConfiguration.publicIPAddressConfiguration.ipAddressIds"
    assert refused(**addresses(provision="userManaged", ipAddressIds=["/a"])) == []
    assert refused(**addresses(provision="usermanaged")) == [("MissingRequiredProperty", place)]
    assert refused(**addresses(ipAddressIds=["/a"])) == [("InvalidPropertyValue", place)]
    many = addresses(provision="usermanaged", ipAddressIds=["/a"]) | {"targetDedicatedNodes": 101}
    assert refused(**many) == []  # the resize falls short


@pytest.mark.parametrize(
    ("settings", "is_refused"),
    [
        ({"location": "westus"}, True),
        ({"location": "West Europe"}, False),
        ({"roleAssignment": False}, True),
        ({"freeAddresses": 0, "blocked": True}, False),
    ],
)
def test_net_2_the_vnet_is_in_the_region_and_batch_may_use_it(settings, is_refused):
    pool = PoolSpec.from_wire(A_POOL | {"networkConfiguration": {"subnetId": f"{VNET}/corp/subnets/Batch"}})
    networks = (("*/corp/subnets/batch", SimulateNetwork.from_wire(settings)),)
    place = ("InvalidPropertyValue", "networkConfiguration.subnetId")
    assert found(pool_refusals(pool, ACCOUNT, PoolSetting(networks=networks))) == ([place] if is_refused else [])
    update = PoolUpdate.from_wire({"networkConfiguration": {"subnetId": f"{VNET}/corp/subnets/batch".lower()}})
    alone = PoolSpec.from_wire(A_POOL)
    refusals = pool_update_refusals(changes(update), alone, ACCOUNT, PoolSetting(networks=networks))
    assert found(refusals) == ([place] if is_refused else [])


# -- subnets ---------------------------------------------------------------------------------------------------------

CLASSIC = f"{VNET}/corp/subnets/batch".replace("Microsoft.Network", "Microsoft.ClassicNetwork")


@pytest.mark.parametrize(
    ("subnet", "in_machines", "in_cloud_services"),
    [
        (f"{VNET}/corp/subnets/batch", True, True),
        (f"{VNET}/corp/subnets/batch".upper(), True, True),
        (CLASSIC, False, True),
        (CLASSIC.lower(), False, True),
        ("batch", False, False),
        ("", False, False),
        ("/subnets/batch", False, False),
        (f"{VNET}/corp", False, False),
        (f"{VNET}/corp/subnets/", False, False),
        (f"{VNET}/corp/subnets/a/b", False, False),
        (f"https://management.azure.com{VNET}/corp/subnets/batch", False, False),
        (f"{VNET}/corp/subnets/batch".replace("Network/", "Compute/"), False, False),
    ],
)
def test_net_9_a_subnet_is_named_by_its_resource_id(subnet, in_machines, in_cloud_services):
    network = {"networkConfiguration": {"subnetId": subnet}}
    place = ("InvalidPropertyValue", "networkConfiguration.subnetId")
    assert refused(**network) == refused(**linux(), **network) == ([] if in_machines else [place])
    assert refused(**cloud_service(**network)) == ([] if in_cloud_services else [place])
