"""Chapters 2 and 22: quotas and application packages that change while a run goes on (ACC-11, APP-8 to APP-10)."""

from __future__ import annotations

import json

import pytest

from engine.views.resources.processes import is_behind
from engine.views.rest.account import account_body
from tests.builders import (
    READY_S,
    REBOOTED_S,
    a_job,
    a_pool,
    a_shell,
    a_task,
    do,
    events,
    evict,
    file,
    node_row,
    node_state,
    refusal,
    run,
    run_to,
    run_to_end,
    task_extra,
    task_row,
)
from tests.rules.schedules import a_schedule, at, made

APPLICATIONS = [{"id": "Pricer", "versions": ["1.0", "2.0"], "defaultVersion": "1.0", "size": "1 GB"}]
ACCOUNT = {"applications": APPLICATIONS}
PRICER = {"applicationId": "pricer"}
INSTALL_S = 20  # a package of 1 GB


def quotas(**given):
    return {"quotas": given}


def current(sim, pool="p"):
    found = sim.world.pools.find(pool)
    return sum(sim.world.nodes.state_of(node) is not None for node in found.nodes)


def resize_errors(sim, pool="p"):
    return [error.code for error in sim.world.pools.find(pool).resize_errors]


def applications(sim):
    return account_body(sim.world)["applications"]


# -- quotas ----------------------------------------------------------------------------------------------------------


def test_acc_11_a_raised_quota_counts_for_the_next_resize(start):
    sim = start(
        pool=a_pool(nodes=3), account=quotas(dedicatedCores=4), timeline=[{"at": 200, "quota": {"dedicatedCores": 8}}]
    )
    run_to(sim, seconds=300)
    assert (current(sim), resize_errors(sim)) == (2, ["AccountCoreQuotaReached"])  # ACC-8: it stays as it is
    do(sim, "resizePool", poolId="p", targetDedicatedNodes=4)
    run_to_end(sim)
    assert (current(sim), resize_errors(sim)) == (4, [])


def test_acc_11_a_lowered_quota_takes_nothing_away(start):
    sim = start(a_job(tasks=2), pool=a_pool(nodes=3), timeline=[{"at": 60, "quota": {"dedicatedCores": 2}}])
    run_to_end(sim)
    assert (current(sim), node_state(sim, 2)) == (3, "idle")
    do(sim, "resizePool", poolId="p", targetDedicatedNodes=4)
    run_to_end(sim)
    assert (current(sim), resize_errors(sim)) == (3, ["AccountCoreQuotaReached"])


def test_acc_11_it_is_logged_as_something_from_outside_and_shown_in_the_account(start):
    sim = start(timeline=[{"at": 5, "quota": {"dedicatedCores": 50, "pools": 2}}])
    run_to(sim, seconds=4)
    assert account_body(sim.world)["quotas"]["dedicatedCores"] == 100
    run_to(sim, seconds=5)
    (event,) = events(sim, "FaultInjected")
    assert (event["command"], event["body"], event["rule"]) == ("quota", {"dedicatedCores": 50, "pools": 2}, "ACC-11")
    expected = {"dedicatedCores": 50, "lowPriorityCores": 100, "pools": 2, "activeJobsAndSchedules": 300}
    assert account_body(sim.world)["quotas"] == expected
    sim.seek(4_000)
    assert account_body(sim.world)["quotas"]["dedicatedCores"] == 100


def test_acc_11_quotas_of_spot_cores_pools_and_jobs_change_too(start):
    sim = start(pool=a_pool(nodes=0), account=quotas(pools=1, activeJobsAndSchedules=1))
    run(sim, seconds=1)
    assert refusal(sim, "createPool", **a_pool("q")) == "PoolQuotaReached"
    do(sim, "quota", pools=2, activeJobsAndSchedules=0, lowPriorityCores=2)
    assert refusal(sim, "createPool", **a_pool("q", nodes=0, targetLowPriorityNodes=2)) is None
    assert refusal(sim, "createJob", id="j", poolInfo={"poolId": "p"}) == "ActiveJobAndScheduleQuotaReached"
    run_to_end(sim)
    assert (current(sim, "q"), resize_errors(sim, "q")) == (1, ["AccountLowPriorityCoreQuotaReached"])


def test_acc_11_of_the_quotas_per_series_only_those_that_are_named_change(start):
    sim = start(pool=a_pool(nodes=3), account=quotas(dedicatedCoresPerVMSeries={"DSv3": 2, "Fsv2": 8}))
    run_to_end(sim)
    assert (current(sim), resize_errors(sim)) == (1, ["AccountVMSeriesCoreQuotaReached"])
    do(sim, "quota", dedicatedCoresPerVMSeries={"standardDSv3Family": 4})
    assert account_body(sim.world)["quotas"]["dedicatedCoresPerVMSeries"] == {"Fsv2": 8, "standardDSv3Family": 4}
    do(sim, "resizePool", poolId="p", targetDedicatedNodes=3)
    run_to_end(sim)
    assert current(sim) == 2


def test_acc_9_a_raised_quota_wakes_a_job_schedule(start):
    schedule = a_schedule(minutes=1, doNotRunUntil=at("08:10"), recurrenceInterval="PT1H", startWindow="PT30M")
    raised = {"at": "PT20M10S", "quota": {"activeJobsAndSchedules": 3}}
    sim = start(
        a_job("j"), jobSchedules=[schedule], account=quotas(activeJobsAndSchedules=2), timeline=[raised], until="PT1H"
    )
    run_to_end(sim)
    assert list(made(sim).values()) == [21]


def test_acc_9_a_quota_that_is_still_too_small_wakes_nothing(start):
    raised = {"at": "PT20M", "quota": {"activeJobsAndSchedules": 1}}
    account = quotas(activeJobsAndSchedules=2)
    sim = start(a_job("j"), jobSchedules=[a_schedule()], account=account, timeline=[raised])
    run_to_end(sim)
    assert not made(sim)


def test_acc_8_a_raised_quota_lets_spot_nodes_come_back(start):
    sim = start(
        pool=a_pool(nodes=0, targetLowPriorityNodes=2), timeline=[{"at": 100, "quota": {"lowPriorityCores": 2}}]
    )
    run_to(sim, seconds=READY_S + 60)
    evict(sim)
    run(sim, minutes=30)
    assert node_state(sim, 0) == "preempted"
    do(sim, "quota", lowPriorityCores=4)
    run(sim, minutes=10)
    assert node_state(sim, 0) == "idle"


# -- packages --------------------------------------------------------------------------------------------------------


def installed(sim, index=0):
    """The files of packages on a node, with their sizes."""
    disk = sim.world.disks[node_row(sim, index)]
    return {key.removeprefix("applications/"): disk.size(key) for key in disk.walk("applications") if disk.size(key)}


def lasted(sim, task):
    row = task_row(sim, task)
    return (sim.world.tasks.ended[row] - sim.world.tasks.started[row]) / 1000


def a_packaged(task_id, seconds=60, reference=PRICER, **more):
    return a_task(task_id, seconds, applicationPackageReferences=[reference], **more)


def test_app_8_a_new_application_is_made_and_tasks_can_use_it(start):
    task = a_packaged("t1", reference={"applicationId": "tool", "version": "7"})
    late = a_job("late", tasks=[task]) | {"at": 100}
    early = a_job("early", tasks=[task])
    timeline = [{"at": 90, "createApplicationPackage": {"applicationId": "Tool", "version": "7", "size": "500 MB"}}]
    sim = start(early, late, timeline=timeline)
    run_to_end(sim)
    assert task_extra(sim, "t1", "early").failure.code == "ApplicationPackageError"
    assert task_extra(sim, "t1", "late").failure is None
    assert installed(sim) == {"tool/7/Tool.zip": 500_000_000}
    (event,) = events(sim, "CommandAccepted", command="createApplicationPackage")
    assert event["rule"] == "APP-8"
    assert applications(sim) == [{"id": "Tool", "versions": ["7"], "allowUpdates": True, "size": 500_000_000}]


def test_app_8_a_new_version_of_an_application_has_its_own_size(start):
    sim = start(account=ACCOUNT)
    run(sim, seconds=1)
    do(sim, "createApplicationPackage", applicationId="PRICER", version="3.0", size="200 MB")
    do(sim, "createApplicationPackage", applicationId="pricer", version="3.1")
    (pricer,) = applications(sim)
    assert pricer["versions"] == ["1.0", "2.0", "3.0", "3.1"]
    assert (pricer["size"], pricer["sizes"], pricer["defaultVersion"]) == (10**9, {"3.0": 200_000_000}, "1.0")


def test_app_8_a_replaced_package_is_installed_again_before_the_next_task(start):
    tasks = [a_packaged("t1", 200), a_packaged("t2"), a_packaged("t3")]
    replaced = {"at": READY_S + 50, "createApplicationPackage": PRICER | {"version": "1.0", "size": "2 GB"}}
    sim = start(a_job(tasks=tasks), account=ACCOUNT, timeline=[replaced])
    run_to(sim, seconds=READY_S + 60)
    assert installed(sim) == {"pricer/1.0/Pricer.zip": 10**9}  # the running task keeps what it has
    run_to_end(sim)
    assert [lasted(sim, task) for task in ("t1", "t2", "t3")] == [INSTALL_S + 201, 2 * INSTALL_S + 61, 61]
    assert installed(sim) == {"pricer/1.0/Pricer.zip": 2 * 10**9}


def test_app_8_a_package_of_the_pool_is_replaced_when_its_nodes_boot(start):
    sim = start(pool=a_pool(applicationPackageReferences=[PRICER]), account=ACCOUNT)
    run_to_end(sim)
    do(sim, "createApplicationPackage", **PRICER, version="1.0", size="3 GB")
    assert is_behind(sim.world, node_row(sim))
    run(sim, minutes=5)
    assert installed(sim) == {"pricer/1.0/Pricer.zip": 10**9}
    do(sim, "rebootNode", poolId="p", node=0)
    began_ms = sim.now_ms
    run_to_end(sim)
    assert (sim.log.last_ms - began_ms) / 1000 == REBOOTED_S + 3 * INSTALL_S
    assert installed(sim) == {"pricer/1.0/Pricer.zip": 3 * 10**9}
    assert not is_behind(sim.world, node_row(sim))


def test_app_8_without_updates_a_version_is_not_replaced_but_a_new_one_is_added(start):
    sim = start(account={"applications": [APPLICATIONS[0] | {"allowUpdates": False}]})
    run(sim, seconds=1)
    assert refusal(sim, "createApplicationPackage", **PRICER, version="1.0") == "OperationInvalidForCurrentState"
    assert refusal(sim, "deleteApplicationPackage", **PRICER, version="1.0") == "OperationInvalidForCurrentState"
    assert refusal(sim, "createApplicationPackage", **PRICER, version="3.0") is None
    do(sim, "updateApplication", **PRICER, allowUpdates=True)
    assert refusal(sim, "createApplicationPackage", **PRICER, version="1.0") is None


@pytest.mark.parametrize(
    ("given", "place"),
    [
        ({"applicationId": "a b", "version": "1"}, "applicationId"),
        ({"applicationId": "a", "version": ""}, "version"),
        ({"applicationId": "a", "version": "x" * 65}, "version"),
        ({"applicationId": "app-0", "version": "40"}, "version"),
        ({"applicationId": "one-more", "version": "1"}, "applicationId"),
    ],
)
def test_acc_5_limits_of_packages_count_for_uploads_too(start, given, place):
    versions = list(map(str, range(40)))
    account = {"applications": [{"id": f"app-{number}", "versions": versions} for number in range(20)]}
    sim = start(account=account)
    run(sim, seconds=1)
    assert refusal(sim, "createApplicationPackage", **given) == "InvalidPropertyValue"
    assert refusal(sim, "createApplicationPackage", applicationId="app-0", version="39") is None
    assert place in json.dumps(events(sim, "CommandRefused"))


def test_app_9_a_deleted_package_is_missing_where_it_is_needed_next(start):
    tasks = [a_packaged("t1", 100), a_packaged("t2")]
    deleted = {"at": READY_S + 50, "deleteApplicationPackage": PRICER | {"version": "1.0"}}
    sim = start(
        a_job(tasks=tasks), pool=a_pool(applicationPackageReferences=[PRICER]), account=ACCOUNT, timeline=[deleted]
    )
    run_to_end(sim)
    assert task_extra(sim, "t1").failure is None
    assert task_extra(sim, "t2").failure.code == "ApplicationPackageError"
    assert installed(sim) == {"pricer/1.0/Pricer.zip": 10**9}
    do(sim, "resizePool", poolId="p", targetDedicatedNodes=2)
    run_to_end(sim)
    assert [node_state(sim, 0), node_state(sim, 1)] == ["idle", "unusable"]
    assert sim.world.nodes[node_row(sim, 1)].errors[0].code == "ApplicationPackageError"


def test_app_4_a_node_without_a_deleted_package_is_rebooted_with_it(start):
    sim = start(pool=a_pool(nodes=0, applicationPackageReferences=[PRICER]), account=ACCOUNT)
    run(sim, seconds=1)
    do(sim, "deleteApplicationPackage", **PRICER, version="1.0")
    do(sim, "resizePool", poolId="p", targetDedicatedNodes=1)
    run_to_end(sim)
    assert node_state(sim) == "unusable"
    do(sim, "createApplicationPackage", **PRICER, version="1.0")
    do(sim, "updateApplication", **PRICER, defaultVersion="1.0")
    do(sim, "rebootNode", poolId="p", node=0)
    run_to_end(sim)
    assert (node_state(sim), installed(sim)) == ("idle", {"pricer/1.0/Pricer.zip": 10**9})


def test_app_7_deleting_the_default_version_leaves_none(start):
    sim = start(account=ACCOUNT)
    run(sim, seconds=1)
    do(sim, "deleteApplicationPackage", **PRICER, version="2.0")
    assert applications(sim)[0]["defaultVersion"] == "1.0"
    do(sim, "deleteApplicationPackage", **PRICER, version="1.0")
    assert "defaultVersion" not in applications(sim)[0]
    body = a_pool("q", applicationPackageReferences=[PRICER])
    assert refusal(sim, "createPool", **body) == "InvalidApplicationPackageReferences"


@pytest.mark.parametrize("name", ["deleteApplicationPackage", "updateApplication"])
def test_app_9_and_app_10_what_does_not_exist_is_not_found(start, name):
    sim = start(account=ACCOUNT)
    run(sim, seconds=1)
    version = {"version": "9"} if name.startswith("delete") else {"defaultVersion": "9"}
    assert refusal(sim, name, applicationId="tool", **version) == "ApplicationNotFound"
    assert refusal(sim, name, applicationId="pricer", **version) == "ApplicationPackageNotFound"


@pytest.mark.parametrize(
    ("name", "key"), [("deleteApplicationPackage", "version"), ("updateApplication", "defaultVersion")]
)
def test_app_9_and_app_10_the_refusal_names_the_property_of_the_body(start, name, key):
    sim = start(account=ACCOUNT)
    run(sim, seconds=1)
    refusal(sim, name, applicationId="pricer", **{key: "9"})
    values = {one["key"]: one["value"] for one in events(sim, "CommandRefused")[-1]["values"]}
    reason = "Pricer has no package of this version; its versions: 1.0, 2.0"
    assert values == {"PropertyName": key, "PropertyValue": "9", "Reason": reason}


def test_app_10_a_new_default_version_counts_for_tasks_that_start_later(start):
    tell = a_shell("echo $AZ_BATCH_APP_PACKAGE_Pricer")
    tasks = [{"id": name, "applicationPackageReferences": [PRICER], **tell} for name in ("t1", "t2")]
    tasks[0]["simulate"] = {"duration": 100}
    changed = {"at": READY_S + 50, "updateApplication": PRICER | {"defaultVersion": "2.0", "displayName": "Prices"}}
    sim = start(a_job(tasks=tasks), account=ACCOUNT, timeline=[changed])
    run_to_end(sim)
    said = [file(sim, f"workitems/j/job-1/{task}/stdout.txt").strip()[-3:] for task in ("t1", "t2")]
    assert said == ["1.0", "2.0"]
    assert (applications(sim)[0]["displayName"], applications(sim)[0]["allowUpdates"]) == ("Prices", True)


def test_app_10_what_is_absent_or_null_stays(start):
    sim = start(account=ACCOUNT)
    run(sim, seconds=1)
    before = applications(sim)
    do(sim, "updateApplication", **PRICER, defaultVersion=None, displayName=None)
    assert applications(sim) == before


def test_app_8_packages_go_back_in_time(start):
    timeline = [
        {"at": 100, "createApplicationPackage": PRICER | {"version": "1.0", "size": "2 GB"}},
        {"at": 150, "deleteApplicationPackage": PRICER | {"version": "2.0"}},
        {"at": 160, "quota": {"dedicatedCores": 2}},
    ]
    pool = a_pool(nodes=1, applicationPackageReferences=[PRICER])
    sim = start(
        a_job(tasks=[a_packaged("t1"), a_packaged("t2"), a_packaged("t3")]),
        pool=pool,
        account=ACCOUNT,
        timeline=timeline,
    )
    run_to_end(sim)
    recorded, before = list(sim.json_lines()), account_body(sim.world)
    sim.seek(120_000)
    assert applications(sim)[0]["versions"] == ["1.0", "2.0"]
    assert applications(sim)[0]["sizes"] == {"1.0": 2 * 10**9}
    sim.branch()
    run_to_end(sim)
    assert list(sim.json_lines()) == recorded
    assert account_body(sim.world) == before


def test_app_8_a_later_pool_may_refer_to_a_package_of_the_timeline(start):
    tool = {"applicationId": "tool", "version": "1"}
    pool = a_pool("q", applicationPackageReferences=[tool]) | {"at": 60}
    sim = start(pools=[a_pool(), pool], timeline=[{"at": 30, "createApplicationPackage": tool}])
    run_to_end(sim)
    assert current(sim, "q") == 1


def test_app_8_a_process_may_upload_a_package_too(start):
    tool = {"applicationId": "tool", "version": "1", "size": "1 GB"}
    build = a_task("build", 20) | {
        "simulate": {"duration": 20, "does": [{"after": 10, "createApplicationPackage": tool}]}
    }
    pool = a_pool("q", applicationPackageReferences=[{"applicationId": "tool", "version": "1"}]) | {"at": 200}
    sim = start(a_job(tasks=[build]), pools=[a_pool(), pool])
    run_to_end(sim)
    assert current(sim, "q") == 1


# -- as it was in 2017 -----------------------------------------------------------------------------------------------

WINDOWS = {
    "imageReference": {"publisher": "MicrosoftWindowsServer", "offer": "WindowsServer", "sku": "2022-datacenter"},
    "nodeAgentSKUId": "batch.node.windows amd64",
}


def test_app_5_of_old_linux_nodes_had_no_packages(start):
    pools = [a_pool(), a_pool("w", virtualMachineConfiguration=WINDOWS)]
    jobs = [a_job(tasks=[a_packaged("t1")]), a_job("k", pool="w", tasks=[a_packaged("t1")])]
    sim = start(*jobs, pools=pools, account=ACCOUNT, options={"classicPackages": True})
    run(sim, seconds=1)
    references = {"applicationPackageReferences": [PRICER]}
    assert refusal(sim, "createPool", **a_pool("q", **references)) == "InvalidApplicationPackageReferences"
    assert refusal(sim, "updatePool", poolId="p", **references) == "InvalidApplicationPackageReferences"
    assert refusal(sim, "updatePool", poolId="w", **references) is None
    run_to_end(sim)
    assert task_extra(sim, "t1", "j").failure.code == "ApplicationPackageError"
    assert task_extra(sim, "t1", "k").failure is None


def test_acc_1_the_account_has_an_address(start):
    sim = start(account={"name": "contoso", "location": "northeurope"})
    assert account_body(sim.world)["accountEndpoint"] == "contoso.northeurope.batch.azure.com"
