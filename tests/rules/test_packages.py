"""Chapter 22: application packages on nodes and for tasks (APP-1 to APP-7). A package of 1 GB takes 20 seconds."""

from __future__ import annotations

import pytest

from tests.builders import (
    AGAIN_S,
    READY_S,
    REBOOTED_S,
    REIMAGED_S,
    a_job,
    a_line,
    a_pool,
    a_shell,
    a_task,
    do,
    events,
    file,
    node,
    node_row,
    node_state,
    node_states,
    refusal,
    run,
    run_to,
    run_to_end,
    start_task_events,
    task_extra,
    task_row,
    task_state,
    times,
)
from tests.rules.nodes import ON_NODE

ACCOUNT = {
    "applications": [
        {"id": "Pricer", "versions": ["1.1", "1.2"], "defaultVersion": "1.2", "size": "1 GB"},
        {"id": "tool", "versions": ["7"], "size": "500 MB"},
    ]
}
PRICER = {"applicationId": "pricer"}
OLD_PRICER = PRICER | {"version": "1.1"}
TOOL = {"applicationId": "tool", "version": "7"}
SECONDS = 20  # to install the pricer
TELL = "; ".join(
    f"echo {name}=$AZ_BATCH_APP_PACKAGE_{ending}"
    for name, ending in (("tool", "tool_7"), ("new", "Pricer"), ("old", "Pricer_1_1"))
)
ROOT = "/mnt/batch/tasks/applications"


def with_packages(start, *jobs, references=(PRICER,), pool=None, **more):
    body = a_pool(applicationPackageReferences=list(references), **(pool or {}))
    return start(*jobs, pool=body, account=ACCOUNT, **more)


def a_packaged(task_id="t1", seconds=60, references=(PRICER,), **more):
    return a_task(task_id, seconds, applicationPackageReferences=list(references), **more)


def lasted(sim, task="t1"):
    """Seconds from the latest start of a task to its end."""
    row = task_row(sim, task)
    return (sim.world.tasks.ended[row] - sim.world.tasks.started[row]) / 1000


def telling(task_id="t1", **more):
    """A task that says where it finds which package."""
    return a_task(task_id, **more) | a_shell(TELL)


def told(sim, directory):
    """Return what such a process printed about the packages that it found."""
    said = (line.split("=", 1) for line in file(sim, f"{directory}/stdout.txt").splitlines())
    return {name: value for name, value in said if value}


def idle_at(sim):
    return times(sim, "NodeStateChanged", to="idle")[0]


def outage(at, seconds=10_000):
    return {"at": at, "storageOutage": {"for": seconds if isinstance(seconds, str) else f"PT{seconds}S"}}


# -- pool packages ---------------------------------------------------------------------------------------------------


def test_app_2_a_joining_node_installs_the_pools_packages_before_it_is_ready(start):
    sim = with_packages(start, references=(PRICER, TOOL))
    run_to_end(sim)
    assert idle_at(sim) == READY_S + SECONDS + SECONDS / 2
    assert node_states(sim) == ["creating", "starting", "idle"]


def test_app_2_after_a_reboot_what_is_there_is_used_again_after_a_reimage_it_is_not(start):
    sim = with_packages(start)
    run_to_end(sim)
    do(sim, "rebootNode", **ON_NODE)
    rebooted = sim.now_ms / 1000
    run_to_end(sim)
    assert times(sim, "NodeStateChanged", to="idle")[-1] == rebooted + REBOOTED_S
    do(sim, "reimageNode", **ON_NODE)
    reimaged = sim.now_ms / 1000
    run_to_end(sim)
    assert times(sim, "NodeStateChanged", to="idle")[-1] == reimaged + REIMAGED_S + SECONDS


def test_app_2_a_reboot_in_the_middle_begins_anew(start):
    sim = with_packages(start)
    run_to(sim, seconds=READY_S + 5)
    assert node_state(sim) == "starting"
    do(sim, "failNode", **ON_NODE, state="unusable", **{"for": "PT1M"})
    failed = sim.now_ms / 1000
    run_to_end(sim)
    assert idle_at(sim) == failed + 60 + AGAIN_S + SECONDS


def test_start_3_packages_come_before_the_start_task(start):
    task = a_line(5, waitForSuccess=True)
    sim = with_packages(start, pool={"startTask": task})
    run_to_end(sim)
    assert start_task_events(sim)[0][0] == READY_S + SECONDS
    assert node_states(sim) == ["creating", "starting", "waitingforstarttask", "idle"]


def test_app_4_a_package_that_cannot_be_installed_makes_the_node_unusable_until_it_is_rebooted(start):
    sim = with_packages(start, timeline=[outage(0, "PT10M")])
    run_to(sim, minutes=9)
    assert node_states(sim) == ["creating", "starting", "unusable"]
    error = node(sim).errors[0]
    assert (error.code, dict(error.details)["Version"]) == ("ApplicationPackageError", "1.2")
    run_to(sim, minutes=60)  # the service does not recover it (NODE-14)
    assert node_state(sim) == "unusable"
    do(sim, "rebootNode", **ON_NODE)
    run_to_end(sim)
    assert node_state(sim) == "idle"
    assert node(sim).errors == ()


def test_app_4_a_package_whose_blob_is_missing_never_installs(start):
    sim = with_packages(start, simulate={"storage": {"app-pricer/1.2": {"missing": True}}})
    run_to_end(sim)
    do(sim, "rebootNode", **ON_NODE)
    run_to_end(sim)
    assert node_states(sim)[-2:] == ["starting", "unusable"]


def test_app_5_changed_references_wait_for_the_next_boot(start):
    first, later = a_job(tasks=[telling()]), a_job("k", tasks=[telling()], at="PT20M")
    sim = with_packages(start, first, later)
    run_to(sim, minutes=5)
    do(sim, "updatePool", poolId="p", applicationPackageReferences=[TOOL])
    run_to(sim, minutes=10)
    assert [package.application_id for package in node(sim).packages] == ["Pricer"]
    do(sim, "rebootNode", **ON_NODE)
    run_to_end(sim)
    assert told(sim, "workitems/j/job-1/t1") == {"new": f"{ROOT}/pricer/1.2"}
    assert told(sim, "workitems/k/job-1/t1") == {"tool": f"{ROOT}/tool/7"}


def test_app_5_an_update_is_looked_at_like_a_new_pool(start):
    sim = with_packages(start)
    wrong = [{"applicationId": "tool"}]
    assert refusal(sim, "updatePool", poolId="p", applicationPackageReferences=wrong) == (
        "InvalidApplicationPackageReferences"
    )


def test_app_3_a_pool_needs_a_version_that_exists(start):
    sim = start(account=ACCOUNT)
    body = {"id": "q", "vmSize": "standard_d2s_v3", "targetDedicatedNodes": 1}
    for reference in ({"applicationId": "nothing"}, {"applicationId": "tool"}, PRICER | {"version": "9"}):
        code = refusal(sim, "createPool", **body, applicationPackageReferences=[reference])
        assert code == "InvalidApplicationPackageReferences"


# -- task packages ---------------------------------------------------------------------------------------------------


def test_app_2_a_task_package_is_installed_just_before_its_command(start):
    sim = start(a_job(tasks=[a_packaged()]), account=ACCOUNT)
    run_to_end(sim)
    assert (idle_at(sim), lasted(sim)) == (READY_S, SECONDS + 1 + 60)


def test_app_2_what_is_there_is_used_again(start):
    tasks = [a_packaged("t1"), a_packaged("t2"), a_packaged("t3", references=(OLD_PRICER,))]
    sim = start(a_job(tasks=tasks), account=ACCOUNT)
    run_to_end(sim)
    assert [lasted(sim, task) for task in ("t1", "t2", "t3")] == [SECONDS + 61, 61, SECONDS + 61]


def test_app_2_a_second_task_waits_for_the_package_that_is_on_its_way(start):
    sim = start(a_job(tasks=[a_packaged("t1")]), pool=a_pool(taskSlotsPerNode=2), account=ACCOUNT)
    run_to(sim, seconds=READY_S + 5)
    do(sim, "addTasks", jobId="j", tasks=[a_packaged("t2")])
    run_to_end(sim)
    late = sim.world.tasks.started[task_row(sim, "t2")] / 1000 - READY_S
    assert 5 < late < SECONDS
    assert lasted(sim, "t2") == pytest.approx(SECONDS - late + 61)


def test_app_2_only_nodes_that_run_such_a_task_install_it(start):
    sim = start(a_job(tasks=[a_packaged()]), pool=a_pool(nodes=2), account=ACCOUNT)
    run_to_end(sim)
    runs = sim.world.tasks.node[task_row(sim)]
    there = [bool(sim.world.nodes[row].arrivals) for row in (node_row(sim, 0), node_row(sim, 1))]
    assert there == [runs == node_row(sim, 0), runs == node_row(sim, 1)]


def test_app_2_the_pools_package_serves_the_task_too(start):
    sim = with_packages(start, a_job(tasks=[a_packaged()]))
    run_to_end(sim)
    assert (idle_at(sim), lasted(sim)) == (READY_S + SECONDS, 61)


def test_app_2_a_job_manager_may_ask_for_packages(start):
    manager = a_line(30, id="manager", applicationPackageReferences=[PRICER])
    sim = start(a_job(tasks=[], jobManagerTask=manager), account=ACCOUNT)
    run_to_end(sim)
    assert lasted(sim, "manager") == SECONDS + 31


@pytest.mark.parametrize("reference", [{"applicationId": "tool"}, {"applicationId": "none"}, PRICER | {"version": "3"}])
def test_app_3_and_app_4_a_task_without_its_package_fails_before_it_runs(start, reference):
    task = a_packaged(references=(reference,), constraints={"maxTaskRetryCount": 3})
    sim = start(a_job(tasks=[task]), account=ACCOUNT)
    run_to_end(sim)
    extra = task_extra(sim)
    assert (task_state(sim), extra.failure.code, extra.failure.category) == (
        "completed",
        "ApplicationPackageError",
        "ServerError",
    )
    assert (extra.exit_code, extra.attempts, extra.retry_count) == (None, 1, 0)
    assert node_state(sim) == "idle"


def test_app_4_an_outage_fails_the_task_and_not_the_node(start):
    sim = start(a_job(tasks=[a_packaged(), a_packaged("t2")]), account=ACCOUNT, timeline=[outage(READY_S - 5, 6)])
    run_to_end(sim)
    assert task_extra(sim).failure.code == "ApplicationPackageError"
    assert (task_state(sim, "t2"), lasted(sim, "t2")) == ("completed", SECONDS + 61)
    assert node_state(sim) == "idle"


def test_app_4_installing_counts_in_the_time_limit(start):
    task = a_packaged(seconds=50, constraints={"maxWallClockTime": "PT1M"})
    sim = start(a_job(tasks=[task]), account=ACCOUNT)
    run_to_end(sim)
    assert (task_extra(sim).failure.code, lasted(sim)) == ("TaskEnded", 60)


def test_app_4_a_time_limit_that_changes_meanwhile_counts_the_installation_too(start):
    sim = start(a_job(tasks=[a_packaged(seconds=50)]), account=ACCOUNT)
    run_to(sim, seconds=READY_S + 30)
    do(sim, "updateTask", jobId="j", taskId="t1", constraints={"maxWallClockTime": "PT1H"})
    run_to_end(sim)
    assert lasted(sim) == SECONDS + 51


# -- what processes see ----------------------------------------------------------------------------------------------


def test_app_6_all_tasks_see_the_pools_packages_and_each_its_own(start):
    jobs = a_job(tasks=[telling("t1", applicationPackageReferences=[OLD_PRICER]), telling("t2")], prep=a_shell(TELL))
    sim = with_packages(start, jobs, references=(TOOL,), pool={"startTask": a_shell(TELL)})
    run_to_end(sim)
    job, tool = "workitems/j/job-1", f"{ROOT}/tool/7"
    for path in ("startup", f"{job}/jobpreparation", f"{job}/t2"):
        assert told(sim, path) == {"tool": tool}
    assert told(sim, f"{job}/t1") == {"tool": tool, "old": f"{ROOT}/pricer/1.1"}


def test_app_7_a_package_lies_in_a_directory_that_tasks_share(start):
    sim = start(a_job(tasks=[a_packaged()]), account=ACCOUNT)
    run_to_end(sim)
    disk = sim.world.disks[node_row(sim)]
    assert [key for key in disk.walk("applications") if disk.size(key)] == ["applications/pricer/1.2/Pricer.zip"]
    assert disk.used_bytes == 1_000_000_000


def test_app_7_without_a_default_version_a_reference_has_to_name_one(start):
    account = {"applications": [{"id": "pricer", "versions": ["1.2"]}]}
    tasks = [a_packaged("t1"), a_packaged("t2", references=(PRICER | {"version": "1.2"},))]
    sim = start(a_job(tasks=tasks), account=account)
    run_to_end(sim)
    assert task_extra(sim, "t1").failure.code == "ApplicationPackageError"
    assert task_extra(sim, "t2").failure is None


def test_app_1_the_size_of_a_package_may_be_that_of_its_blob(start):
    storage = {"app-pricer/1.2": {"size": "2 GB"}}
    sim = start(a_job(tasks=[a_packaged()]), account=ACCOUNT, simulate={"storage": storage})
    run_to_end(sim)
    assert lasted(sim) == 2 * SECONDS + 61


def test_app_2_the_state_of_packages_goes_back_in_time_too(start):
    tasks = [a_packaged("t1"), a_packaged("t2")]
    sim = start(a_job(tasks=tasks), account=ACCOUNT)
    run_to_end(sim)
    recorded = list(sim.json_lines())
    sim.seek((READY_S + 5) * 1000)
    assert node(sim).arrivals == {"applications/pricer/1.2": (READY_S + SECONDS) * 1000}
    sim.branch()
    run(sim, minutes=60)
    assert list(sim.json_lines()) == recorded
    assert len(events(sim, "TaskStateChanged", to="completed")) == 2
