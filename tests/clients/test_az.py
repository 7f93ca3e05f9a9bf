"""The Azure CLI, each command a process of its own."""

from __future__ import annotations

import json

import pytest

from tests.clients.served import needs

pytestmark = needs("az")

MACHINE = (
    *("--vm-size", "standard_d2s_v3", "--image", "canonical:0001-com-ubuntu-server-jammy:22_04-lts"),
    *("--node-agent-sku-id", "batch.node.ubuntu 22.04"),
)


@pytest.fixture(scope="module")
def az(shared):
    """The command ``az batch`` on an account with a pool of one node, ``shared``."""
    shared.az("pool", "create", "--id", "shared", "--target-dedicated-nodes", "1", *MACHINE)
    return shared.az


def written(shared, name, body):
    """Return the path of a JSON file for ``--json-file``."""
    path = shared.directory / name
    path.write_text(json.dumps(body), encoding="utf-8")
    return str(path)


def test_a_pool_is_listed_patched_and_resized(az):
    az("pool", "set", "--pool-id", "shared", "--metadata", "team=risk")
    while az("pool", "show", "--pool-id", "shared")["allocationState"] != "steady":
        pass
    az("pool", "resize", "--pool-id", "shared", "--target-dedicated-nodes", "2")
    (pool,) = az("pool", "list", "--filter", "startswith(id,'sha')")
    assert (pool["targetDedicatedNodes"], pool["metadata"]) == (2, [{"name": "team", "value": "risk"}])
    assert az("pool", "show", "--pool-id", "shared", "--select", "id,vmSize").keys() >= {"id", "vmSize"}


def test_a_pool_scales_by_a_formula_and_stops(az):
    formula = ("--auto-scale-formula", "$TargetDedicatedNodes = 0;")  # az 2.91 itself fails with one at `create`
    az("pool", "create", "--id", "scaled", *MACHINE)
    az("pool", "autoscale", "enable", "--pool-id", "scaled", *formula)
    run = az("pool", "autoscale", "evaluate", "--pool-id", "scaled", "--auto-scale-formula", "$TargetDedicatedNodes=3")
    assert run["results"].startswith("$TargetDedicatedNodes=3;")
    az("pool", "autoscale", "disable", "--pool-id", "scaled")
    assert az("pool", "show", "--pool-id", "scaled")["enableAutoScale"] is False
    az("pool", "delete", "--pool-id", "scaled", "--yes")


def test_nodes_are_counted_listed_and_have_users(az):
    counts = az("pool", "node-counts", "list")
    assert {each["poolId"] for each in counts} >= {"shared"}
    while not (nodes := az("node", "list", "--pool-id", "shared", "--filter", "state eq 'idle'")):
        pass
    node = ("--pool-id", "shared", "--node-id", nodes[0]["id"])
    az("node", "user", "create", *node, "--name", "ann", "--password", "secret-1")
    assert az("node", "remote-login-settings", "show", *node)["remoteLoginPort"] > 0
    az("node", "user", "delete", *node, "--user-name", "ann", "--yes")
    az("node", "reboot", *node)
    assert az("node", "show", *node)["state"] in {"rebooting", "starting"}


def test_a_job_from_a_file_runs_its_tasks_and_their_output_is_downloaded(az, shared):
    job = {"id": "risk", "poolInfo": {"poolId": "shared"}, "jobPreparationTask": {"commandLine": "fetch"}}
    az("job", "create", "--json-file", written(shared, "job.json", job))
    tasks = [{"id": f"deal-{number}", "commandLine": "/bin/sh -c 'echo priced'"} for number in range(3)]
    az("task", "create", "--job-id", "risk", "--json-file", written(shared, "tasks.json", tasks))
    while az("job", "task-counts", "show", "--job-id", "risk")["taskCounts"]["completed"] < 3:
        pass
    task = ("--job-id", "risk", "--task-id", "deal-1")
    assert {file["name"] for file in az("task", "file", "list", *task)} >= {"stdout.txt", "stderr.txt", "wd"}
    target = shared.directory / "downloaded.txt"
    az("task", "file", "download", *task, "--file-path", "stdout.txt", "--destination", str(target))
    assert target.read_text(encoding="utf-8") == "priced\n"


def test_a_job_is_disabled_enabled_changed_and_deleted(az):
    az("job", "create", "--id", "idle", "--pool-id", "shared")
    az("job", "disable", "--job-id", "idle", "--disable-tasks", "requeue")
    az("job", "enable", "--job-id", "idle")
    az("job", "set", "--job-id", "idle", "--priority", "5")
    assert az("job", "show", "--job-id", "idle")["priority"] == 5
    az("job", "delete", "--job-id", "idle", "--yes")
    assert "idle" not in {job["id"] for job in az("job", "list") if job["state"] != "deleting"}


def test_a_job_schedule_makes_a_job_and_is_deleted(az, shared):
    schedule = {
        "id": "nightly",
        "schedule": {"recurrenceInterval": "P1D"},
        "jobSpecification": {"poolInfo": {"poolId": "shared"}},
    }
    az("job-schedule", "create", "--json-file", written(shared, "schedule.json", schedule))
    assert az("job-schedule", "show", "--job-schedule-id", "nightly")["state"] == "active"
    assert [job["id"] for job in az("job", "list", "--job-schedule-id", "nightly")] == ["nightly:job-1"]
    az("job-schedule", "disable", "--job-schedule-id", "nightly")
    az("job-schedule", "delete", "--job-schedule-id", "nightly", "--yes")


def test_the_account_lists_images_and_applications(az):
    images = az("pool", "supported-images", "list", "--filter", "verificationType eq 'verified'")
    assert {image["nodeAgentSkuId"] for image in images} >= {"batch.node.ubuntu 22.04"}
    assert az("application", "summary", "list") == []


def test_a_wrong_name_is_told_with_its_code(shared):
    with pytest.raises(AssertionError, match="The specified pool does not exist"):
        shared.az("pool", "show", "--pool-id", "nobody")
