"""Packages, files, disks, certificates and users in bodies and explanations."""

from __future__ import annotations

import pytest

from engine import BatchError, Simulation
from engine.views.diagnosis.concerns import Attention
from engine.views.diagnosis.nodes import why_node, why_preparation
from engine.views.diagnosis.pools import why_pool
from engine.views.diagnosis.tasks import why_task
from engine.views.resources.processes import is_behind, node_contents, packages_and_images, task_needs
from engine.views.rest.nodes import node_body, remote_desktop_file, remote_login_settings
from engine.views.results import document
from tests.builders import (
    READY_S,
    a_job,
    a_line,
    a_pool,
    a_task,
    do,
    node_row,
    run_to,
    run_to_end,
    scenario,
    simulation,
    task_row,
)

ON_NODE = {"poolId": "p", "node": 0}
ACCOUNT = {
    "applications": [{"id": "pricer", "versions": ["1", "2"], "defaultVersion": "2", "size": "1 GB"}],
    "certificates": [{"thumbprint": "ab12", "data": "AAAA", "password": "s"}],
}
PRICER = {"applicationId": "pricer"}
BLOB = {"httpUrl": "https://acc/in/a", "filePath": "a"}
SIZES = {"storage": {"https://acc/in/a": {"size": "1 GB"}, "https://acc/in/huge": {"size": "20 GB"}}}


def said(explanation):
    return "\n".join(explanation.lines())


def a_run(*jobs, pool=None, **more) -> Simulation:
    return simulation(*jobs, pool=a_pool(**(pool or {})), account=ACCOUNT, simulate=SIZES, **more)


# -- bodies ----------------------------------------------------------------------------------------------------------


def test_cert_4_the_account_shows_its_certificates_as_they_are():
    sim = a_run(pool={"certificateReferences": [{"thumbprint": "ab12"}]})
    run_to(sim, minutes=2)
    assert document(sim)["account"]["certificates"] == [
        {
            "thumbprint": "ab12",
            "thumbprintAlgorithm": "sha1",
            "url": "https://batchdeck.westeurope.batch.azure.com/certificates(thumbprintAlgorithm=sha1,thumbprint=ab12)",
            "state": "active",
            "stateTransitionTime": "2026-01-05T08:00:00Z",
        }
    ]
    do(sim, "deleteCertificate", thumbprint="ab12")
    run_to(sim, minutes=3)
    body = document(sim)["account"]["certificates"][0]
    assert (body["state"], body["previousState"]) == ("deletefailed", "deleting")
    values = body["deleteCertificateError"]["values"]
    assert values[0] == {"name": "Pool", "value": "p"}
    assert values[1]["name"] == "Node"


def test_node_5_a_node_shows_the_certificates_that_it_has():
    sim = a_run(pool={"certificateReferences": [{"thumbprint": "ab12", "visibility": ["task"]}]})
    run_to(sim, minutes=2)
    do(sim, "updatePool", poolId="p", certificateReferences=[])
    shown = node_body(sim.world, node_row(sim))["certificateReferences"]
    assert [(each["thumbprint"], each["visibility"]) for each in shown] == [("ab12", ["task"])]


def test_nop_10_users_log_in_at_a_public_address():
    sim = a_run(pool={"targetDedicatedNodes": 2})
    run_to(sim, minutes=2)
    settings = [remote_login_settings(sim.world, node_row(sim, index)) for index in (0, 1)]
    assert settings == [{"remoteLoginIPAddress": "203.0.113.1", "remoteLoginPort": port} for port in (50_000, 50_001)]


@pytest.mark.parametrize(
    ("pool", "code"),
    [
        (
            {"networkConfiguration": {"publicIPAddressConfiguration": {"provision": "nopublicipaddresses"}}},
            "OperationNotValidOnNode",
        ),
        ({"cloudServiceConfiguration": {"osFamily": "5"}, "vmSize": "small"}, "OperationNotValidOnPool"),
    ],
)
def test_nop_10_not_every_node_has_one(pool, code):
    sim = a_run(pool=pool)
    run_to(sim, minutes=2)
    with pytest.raises(BatchError) as caught:
        remote_login_settings(sim.world, node_row(sim))
    assert caught.value.code == code
    kind = "RDP" if "cloudServiceConfiguration" in pool else "none: "
    assert node_contents(sim, node_row(sim)).login_address.startswith(kind)


IMAGE = {"containerSettings": {"imageName": "price"}}
CONTAINERS = {
    "virtualMachineConfiguration": {
        "imageReference": {"publisher": "Canonical", "offer": "ubuntu-24_04-lts", "sku": "server"},
        "nodeAgentSKUId": "batch.node.ubuntu 24.04",
        "containerConfiguration": {"containerImageNames": ["price"]},
    }
}


def test_task_10_and_prep_24_what_runs_in_a_container_says_in_which():
    job = a_job(tasks=[a_task(**IMAGE)], prep=a_line(5, **IMAGE), release=a_line(5), onAllTasksComplete="terminatejob")
    sim = a_run(job, pool=CONTAINERS | {"startTask": a_line(5, **IMAGE)})
    run_to(sim, seconds=READY_S + 30)
    shown = document(sim)
    info = shown["jobs"][0]["tasks"][0]["executionInfo"]["containerInfo"]
    assert (info["state"], len(info["containerId"])) == ("running", 64)
    run_to_end(sim)
    shown = document(sim)
    task = shown["jobs"][0]["tasks"][0]["executionInfo"]["containerInfo"]
    assert task == info | {"state": "exited"}
    entry = shown["jobs"][0]["jobPreparationAndReleaseTaskStatus"][0]
    prep = entry["jobPreparationTaskExecutionInfo"]["containerInfo"]
    start = shown["pools"][0]["nodes"][0]["startTaskInfo"]["containerInfo"]
    assert len({each["containerId"] for each in (task, prep, start)}) == 3
    assert "containerInfo" not in entry["jobReleaseTaskExecutionInfo"]


# -- pages -----------------------------------------------------------------------------------------------------------


def test_nop_10_windows_has_a_file_for_remote_desktop():
    sim = simulation(pool=a_pool(vmSize="small", cloudServiceConfiguration={"osFamily": "5"}))
    run_to(sim, minutes=3)
    text = remote_desktop_file(sim.world, node_row(sim))
    assert text == "full address:s:203.0.113.1:50000\r\nprompt for credentials:i:1\r\n"
    sim = simulation()
    run_to(sim, minutes=3)
    with pytest.raises(BatchError, match="OperationNotValidOnNode"):
        remote_desktop_file(sim.world, node_row(sim))


def test_app_2_a_node_shows_whose_packages_it_has_and_since_when():
    task = a_task(applicationPackageReferences=[PRICER | {"version": "1"}])
    sim = a_run(a_job(tasks=[task]), pool={"applicationPackageReferences": [PRICER]})
    run_to(sim, seconds=READY_S + 30)
    first, second = packages_and_images(sim.world, node_row(sim))
    assert (first.name, first.is_pools, first.ready_ms) == ("pricer 1", False, (READY_S + 40) * 1000)
    assert (second.name, second.is_pools, second.ready_ms) == ("pricer 2", True, (READY_S + 20) * 1000)


def test_pool_15_a_node_is_behind_until_it_boots():
    sim = a_run(pool={"applicationPackageReferences": [PRICER]})
    assert not any(is_behind(sim.world, row) for row in range(sim.world.nodes.length))
    run_to(sim, minutes=2)
    do(sim, "updatePool", poolId="p", applicationPackageReferences=[PRICER | {"version": "2"}])
    assert not is_behind(sim.world, node_row(sim))  # the same version, only named
    do(sim, "updatePool", poolId="p", applicationPackageReferences=[PRICER | {"version": "1"}])
    assert is_behind(sim.world, node_row(sim))
    assert "1 node must reboot to get" in said(why_pool(sim.world, sim.world.pools.find("p")))
    assert "APP-5" in said(why_node(sim.world, node_row(sim)))


def test_nop_9_users_are_shown_until_they_expire():
    sim = a_run()
    run_to(sim, minutes=2)
    do(sim, "createNodeUser", **ON_NODE, name="ann", isAdmin=True, password="s")
    do(sim, "createNodeUser", **ON_NODE, name="bob", password="s", expiryTime="2026-01-05T09:00:00Z")
    shown = node_contents(sim, node_row(sim)).logins
    assert [(login.name, login.is_admin) for login in shown] == [("ann", True), ("bob", False)]
    run_to(sim, minutes=61)
    assert [login.name for login in node_contents(sim, node_row(sim)).logins] == ["ann"]


def test_task_7_a_task_shows_what_it_needs_and_until_when_it_waits():
    task = a_task(applicationPackageReferences=[PRICER], resourceFiles=[BLOB])
    sim = a_run(a_job(tasks=[task]))
    run_to(sim, seconds=READY_S + 5)
    needs = task_needs(sim, task_row(sim))
    assert needs == (("pricer (default version)",), None, ("a from https://acc/in/a",), None, (READY_S + 40) * 1000)
    run_to(sim, seconds=READY_S + 45)
    assert task_needs(sim, task_row(sim)).ready_ms is None


# -- explanations ----------------------------------------------------------------------------------------------------


def test_app_2_a_node_says_what_it_waits_for_before_its_start_task():
    sim = a_run(pool={"applicationPackageReferences": [PRICER]})
    run_to(sim, seconds=READY_S + 5)
    text = said(why_node(sim.world, node_row(sim)))
    assert "application package" in text
    assert "pricer 2, there at 08:01:10 [APP-2]" in text
    assert "Next: n0 is no longer starting at 08:01:10" in text


@pytest.mark.parametrize(
    ("reference", "storage", "remedy"),
    [
        ({"applicationPackageReferences": [PRICER]}, "app-pricer/2", "upload the package, then reboot"),
        (
            {"mountConfiguration": [{"nfsMountConfiguration": {"source": "nfs", "relativeMountPath": "x"}}]},
            "nfs",
            "make the file share available, then reboot",
        ),
    ],
)
def test_app_4_and_file_13_an_unusable_node_says_what_is_missing_and_what_to_do(reference, storage, remedy):
    simulate = {"storage": {storage: {"missing": True}}}
    sim = Simulation(scenario(pool=a_pool(**reference), account=ACCOUNT, simulate=simulate))
    run_to_end(sim)
    text = said(why_node(sim.world, node_row(sim)))
    assert storage in text
    assert remedy in [one.remedy for one in Attention(sim).concerns()]


def test_node_15_a_full_node_says_what_to_do():
    task = a_task(resourceFiles=[{"httpUrl": "https://acc/in/huge", "filePath": "x"}])
    sim = a_run(a_job(tasks=[task, a_task("t2")]))
    run_to(sim, minutes=20)
    assert "DiskFull" in said(why_node(sim.world, node_row(sim)))
    assert "reboot, reimage or remove" in [one.remedy for one in Attention(sim).concerns()]
    assert "[VM-4]" in said(why_task(sim.world, task_row(sim), sim.now_ms))


def test_task_7_a_running_task_says_until_when_it_waits_for_what_it_needs():
    sim = a_run(a_job(tasks=[a_task(resourceFiles=[BLOB])]))
    run_to(sim, seconds=READY_S + 5)
    text = said(why_task(sim.world, task_row(sim), sim.now_ms))
    assert "downloading until 08:01:10 [TASK-7]" in text
    assert "Next: its command starts at 08:01:10 [TASK-7]" in text
    run_to(sim, seconds=READY_S + 25)
    assert "Next: it ends at" in said(why_task(sim.world, task_row(sim), sim.now_ms))


def test_prep_6_a_preparing_task_says_that_preparation_downloads():
    sim = a_run(a_job(prep=a_line(5, resourceFiles=[BLOB])))
    run_to(sim, seconds=READY_S + 5)
    assert "downloading until 08:01:10 [TASK-7]" in said(why_task(sim.world, task_row(sim), sim.now_ms))


def test_prep_12_preparation_says_that_it_downloads_or_cannot():
    sim = a_run(a_job(prep=a_line(5, resourceFiles=[BLOB])))
    run_to(sim, seconds=READY_S + 5)
    text = said(why_preparation(sim.world, sim.world.jobs.find("j"), node_row(sim)))
    assert "It downloads first, until 08:01:10. [TASK-6]" in text
    sim = a_run(a_job(prep=a_line(5, userIdentity={"username": "bob"})))
    run_to(sim, seconds=READY_S)
    text = said(why_preparation(sim.world, sim.world.jobs.find("j"), node_row(sim)))
    assert "Something that it needs is not available. [PREP-12]" in text


@pytest.mark.parametrize(
    ("task", "rule"),
    [
        ({"applicationPackageReferences": [{"applicationId": "none"}]}, "APP-4"),
        ({"userIdentity": {"username": "bob"}}, "USER-2"),
        ({"containerSettings": {"imageName": "x"}}, "CONT-1"),
    ],
)
def test_app_4_user_2_and_cont_1_a_task_that_cannot_start_says_why(task, rule):
    sim = a_run(a_job(tasks=[a_task(**task)]))
    run_to(sim, seconds=READY_S)
    assert f"[{rule}]" in said(why_task(sim.world, task_row(sim), sim.now_ms))
    assert "not available" in said(why_task(sim.world, task_row(sim), sim.now_ms))
    run_to_end(sim)
    assert f"[{rule}]" in said(why_task(sim.world, task_row(sim), sim.now_ms))
