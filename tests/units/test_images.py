"""Tests of the catalogue of marketplace images."""

from datetime import UTC, date, datetime

import pytest

from engine.base.terms import OsFamily
from engine.specs import images

START = datetime(2026, 1, 5, 8, tzinfo=UTC)


def test_vm_5_images_have_unique_names():
    names = {(image.publisher.lower(), image.offer.lower(), image.sku.lower()) for image in images.IMAGES}
    assert len(names) == len(images.IMAGES) > 150


@pytest.mark.parametrize(
    ("publisher", "offer", "sku", "agent"),
    [
        ("Canonical", "0001-com-ubuntu-server-jammy", "22_04-lts", "batch.node.ubuntu 22.04"),
        ("canonical", "ubuntu-24_04-lts", "server", "batch.node.ubuntu 24.04"),
        ("canonical", "0001-com-ubuntu-server-focal", "20_04-lts-gen2", "batch.node.ubuntu 20.04"),
        ("Canonical", "UbuntuServer", "18.04-LTS", "batch.node.ubuntu 18.04"),
        ("debian", "debian-12", "12-gen2", "batch.node.debian 12"),
        ("almalinux", "almalinux-x86_64", "9-gen2", "batch.node.el 9"),
        ("almalinux", "almalinux-hpc", "8_6-hpc-gen2", "batch.node.el 8"),
        ("OpenLogic", "CentOS", "7_9", "batch.node.centos 7"),
        ("microsoft-azure-batch", "ubuntu-server-container", "20-04-lts", "batch.node.ubuntu 20.04"),
        ("microsoft-azure-batch", "centos-container-rdma", "7-4", "batch.node.centos 7"),
        ("microsoft-dsvm", "ubuntu-hpc", "2204", "batch.node.ubuntu 22.04"),
        ("MicrosoftWindowsServer", "WindowsServer", "2012-R2-Datacenter", "batch.node.windows amd64"),
        ("MicrosoftWindowsServer", "WindowsServer", "2016-Datacenter-smalldisk", "batch.node.windows amd64"),
        ("microsoftwindowsserver", "windowsserver", "2022-datacenter", "batch.node.windows amd64"),
        ("MicrosoftWindowsServer", "WindowsServer", "2025-datacenter-smalldisk", "batch.node.windows amd64"),
    ],
)
def test_pool_26_the_node_agent_of_an_image(publisher, offer, sku, agent):
    image = images.find(publisher, offer, sku)
    assert image.node_agent_sku_id == agent
    assert image.os is (OsFamily.WINDOWS if "windows" in agent else OsFamily.LINUX)


def test_pool_26_the_default_image_is_supported_for_a_while():
    default = images.DEFAULT_IMAGE
    assert default.node_agent_sku_id == "batch.node.ubuntu 22.04"
    assert images.warning(default.publisher, default.offer, default.sku, START) is None


@pytest.mark.parametrize(
    ("start", "is_warned"),
    [
        (datetime(2025, 4, 21, 23, 59, tzinfo=UTC), False),
        (datetime(2025, 4, 22, tzinfo=UTC), True),
        (START, True),
    ],
)
def test_pool_26_the_end_of_support_counts_at_the_start_of_the_scenario(start, is_warned):
    said = images.warning("canonical", "0001-com-ubuntu-server-focal", "20_04-lts", start)
    name = "canonical 0001-com-ubuntu-server-focal 20_04-lts"
    wanted = f"the support of {name} ended on 2025-04-22: the service creates no new pools with it"
    assert said == ((wanted, "image-retired") if is_warned else None)
    assert images.find("canonical", "0001-com-ubuntu-server-focal", "20_04-lts").end_of_support == date(2025, 4, 22)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        (("Canonikal", "ubuntu-24_04-lts", "server"), "; did you mean the publisher 'Canonical'?"),
        (("Canonical", "ubuntu-24-04-lts", "server"), "; did you mean the offer 'ubuntu-24_04-lts'?"),
        (("Canonical", "ubuntu-24_04-lts", "sever"), "; did you mean the sku 'server'?"),
        (("contoso-gmbh", "x", "y"), ""),
    ],
)
def test_pool_26_an_unknown_image_is_named_with_what_is_most_like_it(name, hint):
    said, code = images.warning(*name, START)
    assert code == "image-unknown"
    assert said == f"the catalogue has no image {' '.join(name)}, so its node agent is not checked{hint}"


def test_gen_19_long_names_are_shortened():
    assert len(images.warning("x" * 99_999, "y" * 99_999, "z" * 99_999, START)[0]) < 400


def test_pool_26_the_agent_of_an_example_of_the_service_fits_too():
    image = images.find("Canonical", "ubuntu-24_04-lts", "server")
    assert image is not None
    agents = ("batch.node.ubuntu 24.04", "Batch.Node.Ubuntu 20.04", "batch.node.ubuntu 22.04")
    assert [image.takes(agent) for agent in agents] == [True, True, False]
