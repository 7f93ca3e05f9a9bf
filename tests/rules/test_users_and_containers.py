"""Chapter 25: who runs commands, what they may write, and containers (USER-1 to CONT-2, FILE-12, NOP-9, NOP-11)."""

from __future__ import annotations

import pytest

from engine.rules.processes.setup import User, user_of
from engine.specs.bodies import PoolSpec
from engine.specs.common import UserIdentity
from tests.builders import (
    READY_S,
    a_job,
    a_line,
    a_pool,
    a_shell,
    a_task,
    do,
    file,
    node,
    node_state,
    node_states,
    prep,
    refusal,
    run_to,
    run_to_end,
    task_extra,
    task_row,
    task_state,
    times,
)
from tests.rules.nodes import ON_NODE

JOB = "workitems/j/job-1"
WINDOWS = {
    "imageReference": {"publisher": "MicrosoftWindowsServer", "offer": "WindowsServer", "sku": "2022-datacenter"},
    "nodeAgentSKUId": "batch.node.windows amd64",
}
ACCOUNTS = [{"name": "ann", "password": "s"}, {"name": "root", "password": "s", "elevationLevel": "admin"}]
ADMIN = {"userIdentity": {"autoUser": {"elevationLevel": "admin"}}}
OWN = {"userIdentity": {"autoUser": {"scope": "task"}}}
ANN = {"userIdentity": {"username": "ann"}}


def user(identity, *, windows=False, directory="d"):
    machine = {"virtualMachineConfiguration": WINDOWS} if windows else {}
    pool = PoolSpec.from_wire({"id": "p", "vmSize": "small", "userAccounts": ACCOUNTS} | machine)
    return user_of(pool, UserIdentity.from_wire(identity), directory)


# -- who runs a command ----------------------------------------------------------------------------------------------


def test_user_1_the_scope_of_an_auto_user_is_the_pool_on_linux_and_the_task_on_windows():
    nobody = {"autoUser": {}}
    assert user(nobody, directory="a") == user(nobody, directory="b")
    assert user(nobody, directory="a", windows=True) != user(nobody, directory="b", windows=True)
    assert user({"autoUser": {"scope": "pool"}}, directory="a", windows=True) == user(nobody)
    assert user({"autoUser": {"scope": "task"}}, directory="a") != user(nobody)


def test_user_1_a_pool_has_two_auto_users_and_those_it_names():
    assert user({"autoUser": {"elevationLevel": "admin"}}) != user({"autoUser": {}})
    assert user({"autoUser": {"elevationLevel": "admin"}}).is_admin
    assert not user({"autoUser": {}}).is_admin
    assert user({"username": "ANN"}) == User("ann", False)
    assert user({"username": "root"}) == User("root", True)


def test_user_2_a_user_account_of_the_pool_is_on_every_node(start):
    pool = a_pool(nodes=2, userAccounts=ACCOUNTS)
    sim = start(a_job(tasks=[a_task("t1", **ANN), a_task("t2", **ANN)]), pool=pool)
    run_to_end(sim)
    assert [task_extra(sim, task).failure for task in ("t1", "t2")] == [None, None]


def test_user_2_a_user_that_the_pool_does_not_have_runs_nothing(start):
    hooks = {"prep": a_line(5, userIdentity={"username": "bob"}, waitForSuccess=False)}
    sim = start(a_job(tasks=[a_task(**ANN)], **hooks))
    run_to_end(sim)
    extra = task_extra(sim)
    assert (extra.failure.code, extra.failure.category, extra.exit_code) == ("CommandLaunchFailed", "UserError", None)
    assert prep(sim).failure.code == "CommandLaunchFailed"


def test_user_3_users_who_log_in_run_no_commands(start):
    sim = start(a_job(tasks=[a_task(**ANN)], at="PT5M"))
    run_to(sim, minutes=2)
    do(sim, "createNodeUser", **ON_NODE, name="ann", password="s")
    run_to_end(sim)
    assert task_extra(sim).failure.code == "CommandLaunchFailed"


# -- where it may write ----------------------------------------------------------------------------------------------


WRITE = "cat $AZ_BATCH_JOB_PREP_WORKING_DIR/made; echo more >> $AZ_BATCH_JOB_PREP_WORKING_DIR/made && echo done"


@pytest.mark.parametrize(
    ("of_prep", "of_task", "may"),
    [
        ({}, {}, True),
        ({}, ADMIN, True),
        (ADMIN, {}, False),
        (ADMIN, ADMIN, True),
        ({}, OWN, False),
        (OWN, OWN, False),
        (ANN, {}, False),
        (ANN, ANN, True),
    ],
)
def test_file_12_preparations_files_are_read_by_all_and_written_by_its_user(start, of_prep, of_task, may):
    job = a_job(tasks=[{"id": "t1"} | of_task | a_shell(WRITE)], prep=a_shell("echo made > made", **of_prep))
    sim = start(job, pool=a_pool(userAccounts=ACCOUNTS))
    run_to_end(sim)
    path = f"{JOB}/jobpreparation/wd/made"
    assert file(sim, f"{JOB}/t1/stdout.txt") == ("made\ndone\n" if may else "made\n")
    assert file(sim, path) == ("made\nmore\n" if may else "made\n")
    denied = f"/mnt/batch/tasks/{path}: Permission denied\n"
    assert file(sim, f"{JOB}/t1/stderr.txt") == ("" if may else denied)
    assert (task_extra(sim).exit_code == 1) is not may


@pytest.mark.parametrize(
    "command",
    ["rm made", "mv made x", "cp made other", "mkdir sub", "touch made", "touch new", "rm -r .", "rmdir empty"],
)
def test_file_12_nothing_changes_the_start_tasks_files(start, command):
    pool = a_pool(startTask=a_shell("echo made > made; mkdir empty"))
    job = a_job(tasks=[{"id": "t1"} | OWN | a_shell(f"cd $AZ_BATCH_NODE_STARTUP_DIR/wd && {command}")])
    sim = start(job, pool=pool)
    run_to_end(sim)
    assert sim.world.disks[0].walk("startup/wd") == ["startup/wd/empty", "startup/wd/made"]
    assert task_extra(sim).exit_code == 1


def test_file_12_a_command_of_windows_that_may_not_write_says_so(start):
    prep_line = {"commandLine": "cmd /c echo made > made.txt"}
    line = {"commandLine": r"cmd /c del %AZ_BATCH_JOB_PREP_WORKING_DIR%\made.txt"}
    sim = start(a_job(tasks=[a_task() | line], prep=prep_line), pool=a_pool(virtualMachineConfiguration=WINDOWS))
    run_to_end(sim)
    assert file(sim, f"{JOB}/jobpreparation/wd/made.txt") == "made\n"
    assert file(sim, f"{JOB}/t1/stderr.txt") == "Access is denied.\n"


def test_file_12_shared_and_the_own_directory_are_for_everybody(start):
    script = "echo x > $AZ_BATCH_NODE_SHARED_DIR/x && echo y > y && echo done"
    sim = start(a_job(tasks=[a_task(**OWN) | a_shell(script)], prep=a_shell("echo p", **ADMIN)))
    run_to_end(sim)
    assert file(sim, f"{JOB}/t1/stdout.txt") == "done\n"


# -- users who log in ------------------------------------------------------------------------------------------------


def test_nop_9_an_update_replaces_the_expiry(start):
    sim = start()
    run_to(sim, minutes=2)
    assert refusal(sim, "updateNodeUser", **ON_NODE, name="ann", password="s") == "NodeUserNotFound"
    later = "2026-02-01T08:00:00Z"
    do(sim, "createNodeUser", **ON_NODE, name="ann", isAdmin=True, password="s", expiryTime=later)
    do(sim, "updateNodeUser", **ON_NODE, name="ann", sshPublicKey="ssh-rsa A")
    assert node(sim).users["ann"] == (True, sim.now_ms + 86_400_000)


def test_nop_11_service_logs_go_to_a_container(start):
    simulate = {"storage": {"https://gone/*": {"missing": True}}}
    sim = start(simulate=simulate)
    run_to(sim, minutes=2)
    body = ON_NODE | {"containerUrl": "https://acc/logs", "startTime": "2026-01-05T08:00:00Z"}
    assert refusal(sim, "uploadNodeLogs", **body) is None
    assert refusal(sim, "uploadNodeLogs", **body, endTime="2026-01-05T07:00:00Z") == "InvalidPropertyValue"
    assert refusal(sim, "uploadNodeLogs", **body | {"containerUrl": "https://gone/logs"}) == "InvalidPropertyValue"
    do(sim, "failNode", **ON_NODE, state="unusable", code="NodePreparationError")
    assert refusal(sim, "uploadNodeLogs", **body) is None
    do(sim, "rebootNode", **ON_NODE)
    run_to(sim, minutes=10)
    do(sim, "failNode", **ON_NODE, state="unusable")
    assert refusal(sim, "uploadNodeLogs", **body) == "NodeStateUnusable"


# -- containers ------------------------------------------------------------------------------------------------------


IMAGE = {"containerSettings": {"imageName": "contoso.azurecr.io/price"}}
FULL = "contoso.azurecr.io/price:latest"


def containers(*images):
    image = {"publisher": "Canonical", "offer": "0001-com-ubuntu-server-jammy", "sku": "22_04-lts"}
    machine = {"imageReference": image, "nodeAgentSKUId": "batch.node.ubuntu 22.04"}
    return {"virtualMachineConfiguration": machine | {"containerConfiguration": {"containerImageNames": list(images)}}}


def lasted(sim, task="t1"):
    row = task_row(sim, task)
    return (sim.world.tasks.ended[row] - sim.world.tasks.started[row]) / 1000


@pytest.mark.parametrize(
    ("pool", "settings", "code"),
    [
        ({}, {}, None),
        ({}, IMAGE, "ContainerInvalidSettings"),
        (containers(), {}, "ContainerInvalidSettings"),
        (containers(), IMAGE, None),
    ],
)
def test_cont_1_and_task_2_tasks_have_settings_exactly_on_container_pools(start, pool, settings, code):
    sim = start(a_job(tasks=[a_task(**settings)]), pool=a_pool(**pool))
    run_to_end(sim)
    failure = task_extra(sim).failure
    assert (failure.code if failure else None, task_state(sim)) == (code, "completed")


def test_cont_1_a_job_manager_needs_them_start_preparation_and_release_do_not(start):
    manager = a_line(5, id="manager")
    hooks = {"prep": a_line(5), "release": a_line(5)}
    pool = a_pool(**containers(), startTask=a_line(5))
    sim = start(a_job(tasks=[], jobManagerTask=manager, **hooks), pool=pool)
    run_to_end(sim)
    assert node_state(sim) == "idle"
    assert prep(sim).exit_code == 0
    assert task_extra(sim, "manager").failure.code == "ContainerInvalidSettings"


def test_cont_1_an_empty_line_runs_the_program_of_the_image(start):
    task = {"id": "t1", "commandLine": ""}
    sim = start(a_job(tasks=[task | IMAGE], prep=task | IMAGE | {"id": "prep"}), pool=a_pool(**containers()))
    run_to_end(sim)
    assert (task_extra(sim).failure, lasted(sim) > 0, prep(sim).exit_code) == (None, True, 0)
    without = start(a_job(tasks=[task]))
    run_to_end(without)
    assert task_extra(without).failure.code == "CommandProgramNotFound"


def test_cont_1_the_tag_is_latest_if_none_is_given(start):
    simulate = {"storage": {FULL: {"size": "500 MB"}, "contoso.azurecr.io/price:2": {"size": "1 GB"}}}
    second = {"containerSettings": {"imageName": "contoso.azurecr.io/price:2"}}
    tasks = [a_task("t1", **IMAGE), a_task("t2", **IMAGE), a_task("t3", **second)]
    sim = start(a_job(tasks=tasks), pool=a_pool(**containers()), simulate=simulate)
    run_to_end(sim)
    assert [lasted(sim, task) for task in ("t1", "t2", "t3")] == [71, 61, 81]


def test_cont_2_the_pools_images_are_there_before_the_node_is_ready(start):
    simulate = {"storage": {FULL: {"size": "500 MB"}}}
    sim = start(a_job(tasks=[a_task(**IMAGE)]), pool=a_pool(**containers(FULL)), simulate=simulate)
    run_to_end(sim)
    assert times(sim, "NodeStateChanged", to="idle")[0] == READY_S + 10
    assert lasted(sim) == 61


@pytest.mark.parametrize(
    ("missing", "code"), [(FULL, "ContainerInvalidImage"), ("contoso.azurecr.io", "ContainerInvalidRegistry")]
)
def test_cont_2_an_image_that_is_missing_makes_the_node_unusable_or_fails_the_task(start, missing, code):
    simulate = {"storage": {missing: {"missing": True}}}
    sim = start(pool=a_pool(**containers("contoso.azurecr.io/price")), simulate=simulate)
    run_to_end(sim)
    assert (node_states(sim)[-1], node(sim).errors[0].code) == ("unusable", code)
    sim = start(a_job(tasks=[a_task(**IMAGE)]), pool=a_pool(**containers()), simulate=simulate)
    run_to_end(sim)
    extra = task_extra(sim)
    assert (node_state(sim), extra.failure.code, extra.failure.category) == ("idle", code, "UserError")


def test_cont_2_the_registry_may_stand_in_the_settings(start):
    settings = {"imageName": "price", "registry": {"registryServer": "other.azurecr.io"}}
    simulate = {"storage": {"other.azurecr.io": {"missing": True}}}
    sim = start(a_job(tasks=[a_task(containerSettings=settings)]), pool=a_pool(**containers()), simulate=simulate)
    run_to_end(sim)
    assert task_extra(sim).failure.code == "ContainerInvalidRegistry"
