"""The hardware and the operating system in the properties of pools and nodes, and refusals in words."""

import pytest

from engine.specs.bodies import PoolSpec
from tests.builders import a_pool, refusal, run_to, simulation
from tests.tui.acting import commands_of
from tui.viewmodels.actions.menu import actions_for
from tui.viewmodels.actions.trial import refusal_lines
from tui.viewmodels.format import what
from tui.viewmodels.lists.events import EventsModel
from tui.viewmodels.lists.pools import NodesModel, PoolsModel
from tui.viewmodels.properties import hardware, operating_system
from tui.viewmodels.session import Session
from tui.viewmodels.text import ItemRef, Role, block_lines, plain

CLASSIC = {"vmSize": "medium", "cloudServiceConfiguration": {"osFamily": "5"}}


def told(block):
    return {name: value.text for name, value in block.rows}


@pytest.mark.parametrize(
    ("size", "shown"),
    [
        ("Standard_D2s_v3", {"Cores": "2", "Memory": "8 GiB", "Local disk": "16 GiB"}),
        ("standard_d2s_v5", {"Cores": "2", "Memory": "8 GiB", "Local disk": "none, 30 GiB of OS disk"}),
        ("small", {"Cores": "1", "Memory": "1.75 GiB", "Local disk": "225 GiB"}),
        ("huge", {}),
    ],
)
def test_vm_3_the_size_decides_cores_memory_and_disk(size, shown):
    assert {name: value.text for name, value in hardware(size)} == shown


@pytest.mark.parametrize("model", [PoolsModel, NodesModel])
def test_vm_3_the_sheets_of_pools_and_nodes_show_it(model):
    sim = simulation(pool=a_pool(nodes=1))
    run_to(sim, minutes=3)
    shown = model(Session(sim))
    shown.update()
    lines = [plain(line).split() for line in block_lines(shown.details(shown.key(0)), 100)]
    assert ["Cores", "2"] in lines
    assert ["Memory", "8", "GiB"] in lines
    assert ["Local", "disk", "16", "GiB"] in lines


@pytest.mark.parametrize(
    ("version", "shown"),
    [("*", "*  newest, upgrades itself (POOL-28)"), ("5.18", "5.18  fixed (POOL-5)")],
)
def test_pool_5_the_family_names_windows_server_and_dot_net(version, shown):
    configuration = {"cloudServiceConfiguration": {"osFamily": "5", "osVersion": version}}
    spec = PoolSpec.from_wire({"id": "p", "vmSize": "small"} | configuration)
    assert told(operating_system(spec, simulation().scenario.start)) == {
        "OS family": "5, Windows Server 2016",
        ".NET Framework": "3.5 and 4.6.2",
        "OS version": shown,
    }


@pytest.mark.parametrize(
    ("image", "shown", "role"),
    [
        (
            {"publisher": "Canonical", "offer": "ubuntu-24_04-lts", "sku": "server"},
            ("Canonical ubuntu-24_04-lts server", "until 2029-05-31"),
            Role.PLAIN,
        ),
        (
            {"publisher": "OpenLogic", "offer": "CentOS", "sku": "7_9"},
            ("OpenLogic CentOS 7_9", "ended on 2024-06-30"),
            Role.FAILED,
        ),
        (
            {"publisher": "corp", "offer": "linux", "sku": "1"},
            ("corp linux 1", "not in the catalogue (POOL-26)"),
            Role.DIM,
        ),
        ({"virtualMachineImageId": "/images/" + "x" * 999}, ("/images/" + "x" * 31 + "..." + "x" * 38, None), None),
        (None, ("Canonical 0001-com-ubuntu-server-jammy 22_04-lts", "until 2027-04-01"), Role.PLAIN),
    ],
)
def test_pool_26_the_image_and_the_end_of_its_support(image, shown, role):
    agent = "batch.node.ubuntu 22.04"
    machine = {"virtualMachineConfiguration": {"imageReference": image, "nodeAgentSKUId": agent}} if image else {}
    block = operating_system(PoolSpec.from_wire(a_pool() | machine), simulation().scenario.start)
    assert told(block)["Node agent SKU ID"] == agent
    assert (told(block)["Image"], told(block).get("Support")) == shown
    assert role in [value.role for name, value in block.rows if name == "Support"] or role is None


def test_gen_10_a_refusal_is_shown_with_property_and_reason():
    sim = simulation(pool=a_pool(nodes=1))
    long = "x" * 200_000
    assert refusal(sim, "createPool", **a_pool("p2") | {"vmSize": long}) == "InvalidPropertyValue"
    session = Session(sim)
    model = EventsModel(session)
    model.update()
    event = model.count - 1
    quoted = "'" + "x" * 38 + "..." + "x" * 37 + "'"
    assert plain(model.sentence(event)) == f"createPool InvalidPropertyValue: vmSize {quoted} is not a known VM size"
    heading, *_ = (block for block in model.details(event) if block.title == "Refused")
    assert told(heading) == {
        "Property name": "vmSize",
        "Property value": "x" * 39 + "..." + "x" * 38,
        "Reason": f"{quoted} is not a known VM size",
    }
    (refused,) = sim.refusals
    (line,) = refusal_lines([(refused.command, refused.error)])
    assert line.endswith(f"is invalid. vmSize {quoted} is not a known VM size")
    assert len(line) < 300
    assert what(session.events.row(event)).startswith("InvalidPropertyValue: vmSize")


def test_pool_28_a_release_is_a_fault_of_cloud_service_pools():
    sim = simulation(pools=[a_pool(nodes=1) | CLASSIC, a_pool("machines")])
    run_to(sim, minutes=1)
    session = Session(sim)
    session.update()
    assert "guestOSRelease" not in [act.command for act in actions_for(session, [ItemRef("pool", "machines")])]
    (release,) = (act for act in actions_for(session, [ItemRef("pool", "p")]) if act.command == "guestOSRelease")
    (command,) = commands_of(release, answers=release.defaults)
    assert command.wire() == {"osVersion": "5.20"}
