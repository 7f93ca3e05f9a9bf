"""Tests of what the service refuses in pools."""

import pytest

from engine.base.terms import OsFamily
from engine.specs.account import Account
from engine.specs.bodies import PoolSpec, PoolSpecification, PoolUpdate
from engine.specs.commands import CreateNodeUser, EnablePoolAutoScale, EvaluatePoolAutoScale, RemoveNodes, ResizePool
from engine.specs.pool_refusals import (
    PoolSetting,
    auto_scale_refusals,
    node_user_refusals,
    pool_refusals,
    pool_update_refusals,
    remove_nodes_refusals,
    resize_refusals,
)

ACCOUNT = Account.from_wire(
    {
        "applications": [
            {"id": "pricer", "versions": ["1.2"], "defaultVersion": "1.2"},
            {"id": "tool", "versions": ["7"]},
        ],
        "certificates": [{"thumbprint": "AB12"}],
    }
)
A_POOL = {"id": "p", "vmSize": "standard_d2s_v3", "targetDedicatedNodes": 1}
UBUNTU = {
    "imageReference": {"publisher": "Canonical", "offer": "ubuntu-24_04-lts", "sku": "server"},
    "nodeAgentSKUId": "batch.node.ubuntu 24.04",
}
WINDOWS = {
    "imageReference": {"publisher": "MicrosoftWindowsServer", "offer": "WindowsServer", "sku": "2022-datacenter"},
    "nodeAgentSKUId": "batch.node.windows amd64",
}
NAT_POOL = {
    "name": "ssh",
    "protocol": "tcp",
    "backendPort": 22,
    "frontendPortRangeStart": 1000,
    "frontendPortRangeEnd": 1100,
}


def changes(update):
    return {name: getattr(update, name) for name in update.model_fields_set}


VNET = "/subscriptions/1/resourceGroups/hub/providers/Microsoft.Network/virtualNetworks"


def found(refusals):
    return [(refusal.code, ".".join(map(str, refusal.path))) for refusal in refusals]


def refused(**properties):
    return found(pool_refusals(PoolSpec.from_wire(A_POOL | properties), ACCOUNT))


def linux(**properties):
    return {"virtualMachineConfiguration": UBUNTU | properties}


def cloud_service(os_version="*", **properties):
    configuration = {"osFamily": "5", "osVersion": os_version}
    return {"vmSize": "small", "cloudServiceConfiguration": configuration} | properties


def nat_pools(*changes):
    pools = [NAT_POOL | change for change in changes]
    return {"networkConfiguration": {"endpointConfiguration": {"inboundNATPools": pools}}}


def test_pool_9_a_plain_pool_is_accepted():
    assert refused() == refused(**linux()) == refused(virtualMachineConfiguration=WINDOWS) == []


@pytest.mark.parametrize(
    ("properties", "place"),
    [
        pytest.param({"id": "a b"}, "id", id="GEN-1 characters"),
        pytest.param({"id": "a" * 65}, "id", id="GEN-1 length"),
        pytest.param({"displayName": "a" * 1025}, "displayName", id="GEN-3"),
        pytest.param({"vmSize": "standard_nonsense"}, "vmSize", id="VM-1"),
        pytest.param({"taskSlotsPerNode": 0}, "taskSlotsPerNode", id="ACC-5 no slot"),
        pytest.param({"taskSlotsPerNode": 9}, "taskSlotsPerNode", id="ACC-5 more than 4 for each core"),
        pytest.param({"resizeTimeout": "PT4M59S"}, "resizeTimeout", id="POOL-9 timeout"),
        pytest.param({"targetDedicatedNodes": -1}, "targetDedicatedNodes", id="POOL-2 negative target"),
        pytest.param({"autoScaleFormula": "$a=1"}, "autoScaleFormula", id="POOL-2 formula without autoscale"),
        pytest.param(
            {"vmSize": "small", "cloudServiceConfiguration": {"osFamily": "5"}, **linux()},
            "cloudServiceConfiguration",
            id="POOL-2 both",
        ),
        pytest.param(
            {"vmSize": "small", "cloudServiceConfiguration": {"osFamily": "1"}},
            "cloudServiceConfiguration.osFamily",
            id="POOL-5 family",
        ),
        pytest.param(
            linux(windowsConfiguration={"enableAutomaticUpdates": False}),
            "virtualMachineConfiguration.windowsConfiguration",
            id="POOL-4 Windows settings on Linux",
        ),
        pytest.param(
            linux(nodeAgentSKUId="batch.node.windows amd64"),
            "virtualMachineConfiguration.nodeAgentSKUId",
            id="POOL-4 agent of the other system",
        ),
        pytest.param(
            linux(imageReference=UBUNTU["imageReference"] | {"virtualMachineImageId": "/x"}),
            "virtualMachineConfiguration.imageReference.virtualMachineImageId",
            id="POOL-4 two images",
        ),
        pytest.param(
            linux(dataDisks=[{"lun": 64, "diskSizeGB": 1}]),
            "virtualMachineConfiguration.dataDisks.0.lun",
            id="POOL-4 lun",
        ),
        pytest.param(
            linux(dataDisks=[{"lun": 1, "diskSizeGB": 1}, {"lun": 1, "diskSizeGB": 1}]),
            "virtualMachineConfiguration.dataDisks.1.lun",
            id="POOL-4 same lun",
        ),
        pytest.param(
            {"startTask": {"commandLine": "x", "maxTaskRetryCount": -2}}, "startTask.maxTaskRetryCount", id="START-1"
        ),
        pytest.param({"startTask": {"commandLine": "x" * 33_000}}, "startTask", id="ACC-5 start task"),
        pytest.param(
            {"startTask": {"commandLine": "x", "userIdentity": {"username": "u"}}},
            "startTask.userIdentity.username",
            id="USER-1 unknown user",
        ),
        pytest.param(
            {"userAccounts": [{"name": "u" * 21, "password": "s"}]}, "userAccounts.0.name", id="USER-2 length"
        ),
        pytest.param(
            {"userAccounts": [{"name": "u", "password": "s"}, {"name": "U", "password": "s"}]},
            "userAccounts.1.name",
            id="USER-2 twice",
        ),
        pytest.param(
            {"userAccounts": [{"name": "u", "password": "s", "linuxUserConfiguration": {"uid": 5}}]},
            "userAccounts.0.linuxUserConfiguration",
            id="USER-2 uid without gid",
        ),
        pytest.param(
            {"userAccounts": [{"name": "u", "password": "s", "windowsUserConfiguration": {}}]},
            "userAccounts.0.windowsUserConfiguration",
            id="USER-2 Windows user on Linux",
        ),
        pytest.param(
            {"mountConfiguration": [{"nfsMountConfiguration": {"source": "s", "relativeMountPath": "r"}}] * 11},
            "mountConfiguration",
            id="FILE-13 eleven mounts",
        ),
        pytest.param({"applicationLicenses": ["maya", "word"]}, "applicationLicenses.1", id="POOL-2 licence"),
    ],
)
def test_pool_9_an_invalid_value_names_its_property(properties, place):
    assert refused(**properties) == [("InvalidPropertyValue", place)]


ZONAL = {"virtualMachineConfiguration": UBUNTU | {"nodePlacementConfiguration": {"policy": "zonal"}}}


@pytest.mark.parametrize(
    ("rolling", "more", "wrong"),
    [
        ({"maxBatchInstancePercent": 5, "maxUnhealthyInstancePercent": 100}, {}, None),
        ({"maxUnhealthyUpgradedInstancePercent": 0, "pauseTimeBetweenBatches": "PT0S"}, {}, None),
        ({"maxBatchInstancePercent": 4}, {}, "maxBatchInstancePercent"),
        ({"maxUnhealthyInstancePercent": 101}, {}, "maxUnhealthyInstancePercent"),
        ({"maxUnhealthyUpgradedInstancePercent": 101}, {}, "maxUnhealthyUpgradedInstancePercent"),
        ({"enableCrossZoneUpgrade": True}, {}, "enableCrossZoneUpgrade"),
        ({"enableCrossZoneUpgrade": True}, ZONAL, None),
    ],
)
def test_pool_23_how_many_nodes_may_be_upgraded_at_a_time(rolling, more, wrong):
    policy = {"upgradePolicy": {"mode": "rolling", "rollingUpgradePolicy": rolling}}
    places = [] if wrong is None else [("InvalidPropertyValue", f"upgradePolicy.rollingUpgradePolicy.{wrong}")]
    assert refused(**policy, **more) == places


@pytest.mark.parametrize(
    ("updates", "upgrades", "is_refused"), [(True, True, True), (False, True, False), (True, False, False)]
)
def test_pool_23_two_kinds_of_updates_exclude_each_other(updates, upgrades, is_refused):
    machine = {"virtualMachineConfiguration": WINDOWS | {"windowsConfiguration": {"enableAutomaticUpdates": updates}}}
    policy = {"mode": "automatic", "automaticOSUpgradePolicy": {"enableAutomaticOSUpgrade": upgrades}}
    place = ("InvalidPropertyValue", "upgradePolicy.automaticOSUpgradePolicy.enableAutomaticOSUpgrade")
    assert refused(**machine, upgradePolicy=policy) == ([place] if is_refused else [])


def test_pool_9_a_pool_needs_a_target_or_a_formula():
    assert refused(targetDedicatedNodes=None) == [("MissingRequiredProperty", "targetDedicatedNodes")]
    scaled = {"enableAutoScale": True, "autoScaleFormula": "$a=1", "targetDedicatedNodes": None}
    assert refused(**scaled) == []
    assert refused(**scaled | {"autoScaleFormula": None}) == [("MissingRequiredProperty", "autoScaleFormula")]
    assert refused(**scaled | {"targetLowPriorityNodes": 0}) == [("InvalidPropertyValue", "targetLowPriorityNodes")]
    assert refused(**scaled | {"autoScaleEvaluationInterval": "PT4M"}) == [
        ("InvalidPropertyValue", "autoScaleEvaluationInterval")
    ]
    assert refused(**scaled | {"autoScaleFormula": " " * 8193}) == [("AutoScalingFormulaTooLong", "autoScaleFormula")]


def test_auto_1_the_pool_of_an_auto_pool_needs_no_target_and_no_id():
    assert pool_refusals(PoolSpecification(vm_size="standard_d2s_v3"), ACCOUNT) == []


def test_pool_6_classic_size_rules_are_an_option():
    pool = PoolSpec.from_wire(A_POOL | {"vmSize": "standard_ds2_v2"})
    assert pool_refusals(pool, ACCOUNT) == []
    assert found(pool_refusals(pool, ACCOUNT, PoolSetting(classic_size_rules=True))) == [
        ("InvalidPropertyValue", "vmSize")
    ]


def test_pool_4_a_marketplace_image_is_named_in_full():
    image = linux(imageReference={"publisher": "Canonical"})
    assert [place for _, place in refused(**image)] == [
        "virtualMachineConfiguration.imageReference.offer",
        "virtualMachineConfiguration.imageReference.sku",
    ]
    assert refused(**linux(imageReference={"virtualMachineImageId": "/x"})) == []


def test_pool_5_no_cloud_services_in_user_subscriptions():
    pool = PoolSpec.from_wire(A_POOL | {"vmSize": "small", "cloudServiceConfiguration": {"osFamily": "5"}})
    assert pool_refusals(pool, ACCOUNT) == []
    account = Account.from_wire({"poolAllocationMode": "userSubscription"})
    assert found(pool_refusals(pool, account)) == [("InvalidPropertyValue", "cloudServiceConfiguration")]


@pytest.mark.parametrize(
    ("reference", "accepted"),
    [
        ({"applicationId": "PRICER"}, True),
        ({"applicationId": "pricer", "version": "1.2"}, True),
        ({"applicationId": "pricer", "version": "1.3"}, False),
        ({"applicationId": "tool"}, False),
        ({"applicationId": "tool", "version": "7"}, True),
        ({"applicationId": "nothing"}, False),
    ],
)
def test_app_3_a_package_has_to_be_there(reference, accepted):
    code = ("InvalidApplicationPackageReferences", "applicationPackageReferences.0")
    assert refused(applicationPackageReferences=[reference]) == ([] if accepted else [code])


def test_acc_5_ten_package_references_are_allowed():
    reference = {"applicationId": "pricer"}
    assert refused(applicationPackageReferences=[reference] * 10) == []
    assert refused(applicationPackageReferences=[reference] * 11) == [
        ("InvalidPropertyValue", "applicationPackageReferences")
    ]


def test_cert_1_a_certificate_has_to_be_in_the_account():
    assert refused(certificateReferences=[{"thumbprint": "ab12"}]) == []
    assert refused(certificateReferences=[{"thumbprint": "cd"}]) == [
        ("InvalidCertificateReferences", "certificateReferences.0.thumbprint")
    ]


def test_gen_9_metadata():
    assert refused(metadata=[{"name": "", "value": "b"}]) == [("EmptyMetadataKey", "metadata.0.name")]
    assert refused(metadata=[{"name": "a", "value": "\x07"}]) == [("InvalidMetadata", "metadata.0.value")]
    assert refused(metadata=[{"name": "a", "value": "b" * 40_000}]) == [("MetadataTooLarge", "metadata")]


def test_file_13_a_mount_is_of_one_kind():
    nfs = {"nfsMountConfiguration": {"source": "s", "relativeMountPath": "r"}}
    share = {"accountName": "a", "azureFileUrl": "u", "accountKey": "k", "relativeMountPath": "r"}
    assert refused(mountConfiguration=[nfs]) == []
    assert refused(mountConfiguration=[{}]) == [("MissingRequiredProperty", "mountConfiguration.0")]
    assert refused(mountConfiguration=[nfs | {"azureFileShareConfiguration": share}]) == [
        ("InvalidPropertyValue", "mountConfiguration.0.azureFileShareConfiguration")
    ]


def test_pool_14_an_update_is_looked_at_with_the_rest_of_the_pool():
    pool = PoolSpec.from_wire(A_POOL | {"displayName": "x" * 2000})
    update = PoolUpdate.from_wire({"taskSlotsPerNode": 16})
    assert found(pool_update_refusals(changes(update), pool, ACCOUNT)) == [("InvalidPropertyValue", "taskSlotsPerNode")]
    larger = PoolUpdate.from_wire({"taskSlotsPerNode": 16, "vmSize": "standard_d4s_v3"})
    assert pool_update_refusals(changes(larger), pool, ACCOUNT) == []


def test_rsz_1_a_resize():
    assert not list(resize_refusals(ResizePool(pool_id="p", target_dedicated_nodes=0), OsFamily.LINUX))
    without = resize_refusals(ResizePool(pool_id="p"), OsFamily.LINUX)
    assert found(without) == [("MissingRequiredProperty", "targetDedicatedNodes")]
    short = ResizePool(pool_id="p", target_low_priority_nodes=-1, resize_timeout=299_999)
    assert found(resize_refusals(short, OsFamily.LINUX)) == [
        ("InvalidPropertyValue", "targetLowPriorityNodes"),
        ("InvalidPropertyValue", "resizeTimeout"),
    ]


@pytest.mark.parametrize(("count", "accepted"), [(0, False), (1, True), (100, True), (101, False)])
def test_rsz_8_one_to_a_hundred_nodes(count, accepted):
    command = RemoveNodes(pool_id="p", node_list=tuple(range(count)))
    assert found(remove_nodes_refusals(command)) == ([] if accepted else [("InvalidPropertyValue", "nodeList")])


def test_pool_20_formula_and_interval():
    assert auto_scale_refusals(EnablePoolAutoScale(pool_id="p")) == []
    long = EvaluatePoolAutoScale(pool_id="p", auto_scale_formula="x" * 8193)
    assert found(auto_scale_refusals(long)) == [("AutoScalingFormulaTooLong", "autoScaleFormula")]
    often = EnablePoolAutoScale.from_wire({"poolId": "p", "autoScaleEvaluationInterval": "PT169H"})
    assert found(auto_scale_refusals(often)) == [("InvalidPropertyValue", "autoScaleEvaluationInterval")]


def test_nop_9_users_of_windows_and_linux_nodes():
    with_key = CreateNodeUser(pool_id="p", node=0, name="u", ssh_public_key="k")
    assert not list(node_user_refusals(with_key, OsFamily.LINUX))
    assert found(node_user_refusals(with_key, OsFamily.WINDOWS)) == [
        ("InvalidPropertyValue", "sshPublicKey"),
        ("MissingRequiredProperty", "password"),
    ]


def test_gen_10_a_refusal_is_the_services_error():
    spec = PoolSpec.from_wire(A_POOL | {"taskSlotsPerNode": 9})
    (refusal,) = pool_refusals(spec, ACCOUNT)
    error = refusal.error(spec)
    assert (error.code, error.status) == ("InvalidPropertyValue", 400)
    assert error.listed() == [
        {"key": "PropertyName", "value": "taskSlotsPerNode"},
        {"key": "PropertyValue", "value": "9"},
        {"key": "Reason", "value": "is 9, must be 1 to 8 for standard_d2s_v3"},
    ]


def test_gen_10_the_value_of_a_property_deep_in_a_body():
    users = [{"name": "a", "password": "p"}, {"name": "b" * 999, "password": "p"}]
    spec = PoolSpec.from_wire(A_POOL | {"userAccounts": users})
    (refusal,) = pool_refusals(spec, ACCOUNT)
    values = refusal.error(spec).values
    assert values["PropertyName"] == "userAccounts.1.name"
    assert values["PropertyValue"] == "b" * 39 + "..." + "b" * 38
    spec = PoolSpec.from_wire({"id": "p", "vmSize": "standard_d2s_v3"})
    assert list(pool_refusals(spec, ACCOUNT)[0].error(spec).values) == ["PropertyName", "Reason"]
