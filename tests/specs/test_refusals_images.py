"""Tests of the images and cloud services that the service refuses in pools."""

import pytest

from engine.base.terms import OsFamily
from engine.specs.bodies import PoolSpec
from engine.specs.commands import ResizePool
from engine.specs.images import IMAGES
from engine.specs.pool_refusals import pool_refusals, resize_refusals
from tests.specs.test_refusals_pool import A_POOL, ACCOUNT, cloud_service, found, linux, refused


@pytest.mark.parametrize("image", IMAGES, ids=lambda image: f"{image.publisher} {image.offer} {image.sku}")
def test_pool_26_a_known_image_takes_its_node_agent_and_no_other(image):
    reference = {"publisher": image.publisher.upper(), "offer": image.offer.lower(), "sku": image.sku.swapcase()}

    def body(agent):
        return {"virtualMachineConfiguration": {"imageReference": reference, "nodeAgentSKUId": agent}}

    agent = image.node_agent_sku_id
    assert refused(**body(agent)) == refused(**body(agent.upper())) == []
    place = ("InvalidPropertyValue", "virtualMachineConfiguration.nodeAgentSKUId")
    for other in sorted({each.node_agent_sku_id for each in IMAGES} - {agent} | {"batch.node.vms 7"}):
        is_example = (image.offer, image.sku, other) == ("ubuntu-24_04-lts", "server", "batch.node.ubuntu 20.04")
        assert refused(**body(other)) == ([] if is_example else [place])


def test_pool_26_the_refusal_names_both_agents():
    spec = PoolSpec.from_wire(A_POOL | linux(nodeAgentSKUId="batch.node.ubuntu 22.04"))
    (refusal,) = pool_refusals(spec, ACCOUNT)
    assert refusal.error(spec).values == {
        "PropertyName": "virtualMachineConfiguration.nodeAgentSKUId",
        "PropertyValue": "batch.node.ubuntu 22.04",
        "Reason": "is 'batch.node.ubuntu 22.04', must be 'batch.node.ubuntu 24.04' for the image"
        " Canonical ubuntu-24_04-lts server",
    }


@pytest.mark.parametrize(
    "reference",
    [
        {"publisher": "Canonical", "offer": "ubuntu-26_04-lts", "sku": "server"},
        {"publisher": "contoso", "offer": "WindowsServer", "sku": "2022-datacenter"},
        {"virtualMachineImageId": "/subscriptions/1/resourceGroups/g/providers/Microsoft.Compute/images/i"},
        {"virtualMachineImageId": "anything"},
        {"sharedGalleryImageId": "/sharedGalleries/g/images/i"},
        {"communityGalleryImageId": "/communityGalleries/g/images/i"},
    ],
    ids=str,
)
@pytest.mark.parametrize("agent", ["batch.node.ubuntu 24.04", "batch.node.windows amd64", "batch.node.vms 7"])
def test_pool_26_other_images_are_accepted_with_any_agent(reference, agent):
    assert refused(**linux(imageReference=reference, nodeAgentSKUId=agent)) == []


# -- cloud services --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pool", "code", "place"),
    [
        (cloud_service(targetLowPriorityNodes=1), "InvalidPropertyValue", "targetLowPriorityNodes"),
        (cloud_service(vmSize="standard_d2s_v3"), "InvalidPropertyValue", "vmSize"),
        (cloud_service("6.3"), "OSVersionNotFound", "cloudServiceConfiguration.osVersion"),
        (cloud_service("newest"), "OSVersionNotFound", "cloudServiceConfiguration.osVersion"),
        (cloud_service(upgradePolicy={"mode": "manual"}), "InvalidPropertyValue", "upgradePolicy"),
        (
            cloud_service(networkConfiguration={"publicIPAddressConfiguration": {"provision": "batchmanaged"}}),
            "InvalidPropertyValue",
            "networkConfiguration.publicIPAddressConfiguration",
        ),
        (
            cloud_service(networkConfiguration={"endpointConfiguration": {"inboundNATPools": []}}),
            "InvalidPropertyValue",
            "networkConfiguration.endpointConfiguration",
        ),
    ],
)
def test_pool_27_what_cloud_services_do_not_have(pool, code, place):
    assert refused(**pool) == [(code, place)]


def test_pool_27_what_cloud_services_have():
    assert refused(**cloud_service(targetLowPriorityNodes=0)) == refused(**cloud_service("5.20")) == []
    assert refused(**cloud_service("WA-GUEST-OS-5.20_201806-01", vmSize="Standard_D2_v3")) == []
    resize = ResizePool(pool_id="p", target_dedicated_nodes=1, target_low_priority_nodes=2)
    assert not list(resize_refusals(resize, OsFamily.WINDOWS))
    assert found(resize_refusals(resize, OsFamily.CLOUD_SERVICE)) == [
        ("InvalidPropertyValue", "targetLowPriorityNodes")
    ]
