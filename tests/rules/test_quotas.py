"""Chapter 2: the account's quotas, and what a request for more than they allow comes to."""

from __future__ import annotations

import pytest

from engine.base.values import HOUR_MS
from engine.rules.decisions.capacity import Grant, active_jobs_and_schedules, cores_in_use, granted
from engine.run.conditions import cost_of_nodes
from tests.builders import (
    ALLOCATION_S,
    READY_S,
    a_job,
    a_line,
    a_pool,
    do,
    events,
    evict,
    node_rows,
    node_state,
    refusal,
    run,
    run_to,
    run_to_end,
    times,
)

SIZE = "standard_d2s_v3"
USER_SUBSCRIPTION = {"poolAllocationMode": "UserSubscription"}


def quotas(mode=None, **values):
    return {"quotas": values} | (USER_SUBSCRIPTION if mode else {})


def errors(sim, pool="p"):
    return [error.code for error in sim.world.pools.find(pool).resize_errors]


def kinds(sim, pool="p"):
    """Return how many dedicated and how many Spot nodes a pool ever had."""
    dedicated = [sim.world.nodes[row].dedicated for row in node_rows(sim, pool)]
    return dedicated.count(True), dedicated.count(False)


def cores(sim, *, dedicated=True):
    return cores_in_use(sim.world, dedicated=dedicated)


# -- cores -----------------------------------------------------------------------------------------------------------


def test_acc_6_what_fits_is_allocated_and_the_rest_is_an_error_at_once(start):
    sim = start(pool=a_pool(nodes=5), account=quotas(dedicatedCores=7))
    run_to(sim, seconds=ALLOCATION_S)
    assert kinds(sim) == (3, 0)
    assert times(sim, "PoolResizeComplete") == [ALLOCATION_S]
    assert errors(sim) == ["AccountCoreQuotaReached"]
    assert sim.world.pools.find("p").target_dedicated == 5


def test_acc_6_the_request_itself_succeeds(start):
    sim = start(pool=a_pool(nodes=0), account=quotas(dedicatedCores=0))
    assert refusal(sim, "resizePool", poolId="p", targetDedicatedNodes=100) is None
    assert refusal(sim, "createPool", **a_pool("q", nodes=3)) is None
    run(sim, minutes=1)
    assert (errors(sim), errors(sim, "q")) == (["AccountCoreQuotaReached"], ["AccountCoreQuotaReached"])


@pytest.mark.parametrize(
    ("mode", "code"), [(None, "AccountLowPriorityCoreQuotaReached"), ("subscription", "AccountSpotCoreQuotaReached")]
)
def test_acc_6_the_spot_quota_has_a_code_for_each_allocation_mode(start, mode, code):
    sim = start(pool=a_pool(nodes=0, targetLowPriorityNodes=5), account=quotas(mode, lowPriorityCores=4))
    run_to(sim, minutes=1)
    assert (kinds(sim), errors(sim)) == ((0, 2), [code])


def test_acc_6_dedicated_and_spot_have_quotas_of_their_own(start):
    account = quotas(dedicatedCores=4, lowPriorityCores=2)
    sim = start(pool=a_pool(nodes=3, targetLowPriorityNodes=3), account=account)
    run_to(sim, minutes=1)
    assert kinds(sim) == (2, 1)
    assert errors(sim) == ["AccountCoreQuotaReached", "AccountLowPriorityCoreQuotaReached"]


@pytest.mark.parametrize("series", ["DSv3", "standardDSv3Family", "standard_dsv3"])
def test_acc_6_a_vm_series_has_a_quota_within_the_total(start, series):
    account = quotas(dedicatedCores=100, dedicatedCoresPerVMSeries={series: 6})
    sim = start(pools=[a_pool("p", nodes=5), a_pool("f", nodes=5, vmSize="standard_f2s_v2")], account=account)
    run_to(sim, minutes=1)
    assert (kinds(sim), errors(sim)) == ((3, 0), ["AccountVMSeriesCoreQuotaReached"])
    assert (kinds(sim, "f"), errors(sim, "f")) == ((5, 0), [])


def test_acc_6_a_series_with_a_chip_in_its_name_is_known(start):
    account = quotas(dedicatedCoresPerVMSeries={"NCas_T4_v3": 4})
    sim = start(pool=a_pool(nodes=2, vmSize="Standard_NC4as_T4_v3"), account=account)
    run_to(sim, minutes=1)
    assert (kinds(sim), errors(sim)) == ((1, 0), ["AccountVMSeriesCoreQuotaReached"])


def test_acc_6_the_tighter_of_total_and_series_speaks(start):
    account = quotas(dedicatedCores=4, dedicatedCoresPerVMSeries={"DSv3": 6})
    sim = start(pool=a_pool(nodes=5), account=account)
    run_to(sim, minutes=1)
    assert (kinds(sim), errors(sim)) == ((2, 0), ["AccountCoreQuotaReached"])


def test_acc_6_a_series_quota_does_not_bind_spot_nodes(start):
    account = quotas(dedicatedCoresPerVMSeries={"DSv3": 0})
    sim = start(pool=a_pool(nodes=0, targetLowPriorityNodes=3), account=account)
    run_to(sim, minutes=1)
    assert (kinds(sim), errors(sim)) == ((0, 3), [])


def test_acc_7_every_state_counts_but_preempted_and_deallocated(start):
    sim = start(pool=a_pool(nodes=4, targetLowPriorityNodes=2))
    run_to(sim, seconds=READY_S)
    dedicated = [index for index in range(6) if sim.world.nodes[node_rows(sim)[index]].dedicated]
    spot = next(index for index in range(6) if index not in dedicated)
    do(sim, "failNode", poolId="p", node=dedicated[0])
    do(sim, "disableNodeScheduling", poolId="p", node=dedicated[1])
    assert (cores(sim), cores(sim, dedicated=False)) == (8, 4)
    evict(sim, spot)
    do(sim, "deallocateNode", poolId="p", node=dedicated[2])
    assert (cores(sim), cores(sim, dedicated=False)) == (8, 2)
    run(sim, seconds=61)
    assert node_state(sim, dedicated[2]) == "deallocated"
    assert cores(sim) == 6
    do(sim, "removeNodes", poolId="p", nodeList=[dedicated[3]])
    assert (node_state(sim, dedicated[3]), cores(sim)) == ("leavingpool", 6)


def test_acc_7_a_failed_start_task_does_not_free_its_cores(start):
    sim = start(pool=a_pool(nodes=1, startTask=a_line(5, 1)))
    run_to(sim, minutes=2)
    assert (node_state(sim), cores(sim)) == ("starttaskfailed", 2)


def test_acc_7_nodes_that_are_asked_for_count_already(start):
    sim = start(pools=[a_pool("p", nodes=3), a_pool("q", nodes=3)], account=quotas(dedicatedCores=10))
    run_to(sim, minutes=1)
    assert (kinds(sim, "p"), kinds(sim, "q"), errors(sim, "q")) == ((3, 0), (2, 0), ["AccountCoreQuotaReached"])


def test_acc_8_requests_are_served_in_their_order(start):
    pools = [a_pool("z", nodes=4), a_pool("a", nodes=4, at=1)]
    sim = start(pools=pools, account=quotas(dedicatedCores=8))
    run_to(sim, minutes=1)
    assert (kinds(sim, "z"), kinds(sim, "a")) == ((4, 0), (0, 0))


@pytest.mark.parametrize("ids", [("zeta", "Alpha"), ("Alpha", "zeta")])
def test_acc_8_requests_of_the_same_moment_are_served_by_pool_id(start, ids):
    sim = start(pools=[a_pool(pool_id, nodes=3) for pool_id in ids], account=quotas(dedicatedCores=8))
    run_to(sim, minutes=1)
    assert (kinds(sim, "Alpha"), kinds(sim, "zeta")) == ((3, 0), (1, 0))


def test_acc_8_resizes_of_the_same_moment_are_served_by_pool_id(start):
    resizes = [{"at": 60, "resizePool": {"poolId": pool_id, "targetDedicatedNodes": 3}} for pool_id in "ba"]
    pools = [a_pool(pool_id, nodes=0) for pool_id in "ab"]
    sim = start(pools=pools, timeline=resizes, account=quotas(dedicatedCores=8))
    run_to(sim, minutes=3)
    assert (kinds(sim, "a"), kinds(sim, "b"), errors(sim, "b")) == ((3, 0), (1, 0), ["AccountCoreQuotaReached"])


def test_acc_8_spot_nodes_are_sought_by_pool_id_too(start):
    pools = [a_pool(pool_id, nodes=0, targetLowPriorityNodes=1) for pool_id in "ba"]
    evictions = [{"at": 120, "evictNode": {"poolId": pool_id, "node": 0}} for pool_id in "ba"]
    scarce = {"at": 130, "capacity": {"vmSize": "standard_d2s_v3", "nodes": 1}}
    sim = start(pools=pools, timeline=[*evictions, scarce])
    run_to(sim, minutes=8)
    assert (node_state(sim, 0, "a"), node_state(sim, 0, "b")) == ("starting", "preempted")


def test_rsz_9_a_resize_that_is_stopped_at_once_asks_for_nothing(start):
    entries = [
        {"at": 60, "resizePool": {"poolId": "p", "targetDedicatedNodes": 3}},
        {"at": 60, "stopPoolResize": {"poolId": "p"}},
    ]
    sim = start(pool=a_pool(nodes=0), timeline=entries)
    run_to_end(sim)
    assert (kinds(sim), errors(sim)) == ((0, 0), ["ResizeStopped"])


def test_acc_8_freed_cores_do_not_reopen_a_finished_resize(start):
    sim = start(pools=[a_pool("p", nodes=2), a_pool("q", nodes=2)], account=quotas(dedicatedCores=4))
    run_to(sim, minutes=1)
    do(sim, "deletePool", poolId="p")
    run(sim, minutes=60)
    assert kinds(sim, "q") == (0, 0)
    do(sim, "resizePool", poolId="q", targetDedicatedNodes=2)
    run(sim, minutes=1)
    assert (kinds(sim, "q"), errors(sim, "q")) == ((2, 0), [])


def test_acc_8_the_verdict_says_how_many_and_why_not_more(start):
    sim = start(pool=a_pool(nodes=1), account=quotas(dedicatedCores=5))
    run_to(sim, seconds=READY_S)
    pool = sim.world.pools.find("p")
    assert granted(sim.world, pool, 1, dedicated=True) == Grant(1)
    grant = granted(sim.world, pool, 3, dedicated=True)
    assert (grant.nodes, [error.code for error in grant.errors]) == (1, ["AccountCoreQuotaReached"])
    assert (grant.tried, grant.late_errors) == (0, ())
    asked = "the pool asked for 6 more dedicated cores; 2 of 5 were in use"
    assert grant.errors[0].wire()["values"] == [{"name": "Reason", "value": asked}]


def test_acc_8_a_quota_below_what_is_in_use_grants_nothing(start):
    """Dedicated nodes that were deallocated come back without asking."""
    sim = start(pool=a_pool(nodes=2), account=quotas(dedicatedCores=4))
    run_to(sim, seconds=READY_S)
    do(sim, "deallocateNode", poolId="p", node=0)
    run(sim, seconds=61)
    do(sim, "createPool", **a_pool("q", nodes=1))
    run(sim, minutes=1)
    do(sim, "startNode", poolId="p", node=0)
    assert cores(sim) == 6
    assert granted(sim.world, sim.world.pools.find("p"), 1, dedicated=True)[0] == 0


@pytest.mark.parametrize(("left", "got"), [(0, 0), (2, 2), (9, 3)])
def test_acc_4_a_quota_is_no_guarantee_of_capacity(start, left, got):
    sim = start(pool=a_pool(nodes=3), timeline=[{"at": 0, "capacity": {"vmSize": "standard_d2s_v3", "nodes": left}}])
    run_to(sim, minutes=1)
    assert kinds(sim) == (got, 0)
    assert errors(sim) == ([] if got == 3 else ["AllocationFailed"])


def test_acc_4_capacity_is_used_up_by_both_kinds_of_one_size(start):
    fault = {"at": 0, "capacity": {"vmSize": "standard_d2s_v3", "nodes": 3}}
    body = a_pool(nodes=2, targetLowPriorityNodes=2)
    sim = start(pools=[body, a_pool("q", nodes=1, vmSize="standard_d4s_v3")], timeline=[fault])
    run_to(sim, minutes=1)
    assert (kinds(sim), kinds(sim, "q")) == ((2, 1), (1, 0))


# -- pools, jobs -----------------------------------------------------------------------------------------------------


def test_acc_4_one_pool_more_than_the_quota_is_refused(start):
    sim = start(account=quotas(pools=2))
    do(sim, "createPool", **a_pool("q"))
    assert refusal(sim, "createPool", **a_pool("r")) == "PoolQuotaReached"
    run_to_end(sim)
    do(sim, "deletePool", poolId="q")
    assert refusal(sim, "createPool", **a_pool("r")) == "PoolQuotaReached"
    run_to_end(sim)
    assert refusal(sim, "createPool", **a_pool("r")) is None


def test_acc_9_jobs_count_until_they_are_completed_or_gone(start):
    sim = start(a_job("a"), a_job("b"), account=quotas(activeJobsAndSchedules=2))
    run_to(sim, seconds=READY_S)
    new = {"id": "c", "poolInfo": {"poolId": "p"}}
    full = "ActiveJobAndScheduleQuotaReached"
    assert refusal(sim, "createJob", **new) == full
    do(sim, "disableJob", jobId="a", disableTasks="requeue")
    run(sim, seconds=5)
    assert refusal(sim, "createJob", **new) == full
    do(sim, "terminateJob", jobId="a")
    assert refusal(sim, "createJob", **new) == full
    run(sim, seconds=5)
    assert refusal(sim, "createJob", **new) is None
    assert refusal(sim, "createJob", **(new | {"id": "d"})) == full
    do(sim, "deleteJob", jobId="b")
    run(sim, seconds=5)
    assert active_jobs_and_schedules(sim.world) == 1


def test_acc_9_an_id_in_use_is_told_before_the_quota(start):
    """An id in use is reported before a reached quota (ERR-2)."""
    sim = start(a_job(), account=quotas(activeJobsAndSchedules=1, pools=1))
    run(sim, seconds=1)
    assert refusal(sim, "createJob", id="j", poolInfo={"poolId": "p"}) == "JobExists"
    assert refusal(sim, "createPool", **a_pool()) == "PoolExists"


def test_acc_5_there_is_no_quota_on_tasks(start):
    factory = {
        "type": "parametricSweep",
        "parameterSets": [{"start": 1, "end": 5000}],
        "repeatTask": {"id": "x-{0}", "commandLine": "w"},
    }
    sim = start({"id": "j", "poolInfo": {"poolId": "p"}, "taskFactory": factory})
    run(sim, seconds=2)
    assert sim.world.jobs.find("j").total == 5000


# -- the bill --------------------------------------------------------------------------------------------------------


def test_acc_10_a_node_is_billed_from_creating_until_it_is_gone(start):
    sim = start(pool=a_pool(nodes=1))
    run_to(sim, seconds=ALLOCATION_S + 3600)
    do(sim, "removeNodes", poolId="p", nodeList=[0])
    run_to_end(sim)
    pool = sim.world.pools.find("p")
    billed, _ = pool.billed_ms_at(sim.now_ms)
    assert billed == HOUR_MS + 1 + 20_000
    cost = cost_of_nodes([pool], sim.now_ms + HOUR_MS)
    assert cost == pytest.approx(0.096 * billed / HOUR_MS)


def test_acc_10_broken_nodes_cost_as_much_as_good_ones(start):
    sim = start(pool=a_pool(nodes=2, startTask=a_line(5, 1, simulate={"onNode": {"1": {"exitCode": 0}}})))
    run_to(sim, minutes=70)
    assert [node_state(sim, 0), node_state(sim, 1)] == ["starttaskfailed", "idle"]
    assert sim.world.pools.find("p").billed_ms_at(sim.now_ms) == (2 * (sim.now_ms - 10_000), 0)


def test_acc_10_a_preempted_node_costs_nothing(start):
    sim = start(
        pool=a_pool(nodes=0, targetLowPriorityNodes=1),
        timeline=[{"at": 1, "capacity": {"vmSize": "standard_d2s_v3", "nodes": 0}}],
    )
    run_to(sim, seconds=ALLOCATION_S + 600)
    evict(sim)
    run(sim, minutes=60)
    assert sum(sim.world.pools.find("p").billed_ms_at(sim.now_ms)) == pytest.approx(600_000, abs=40_000)


def test_acc_2_a_pool_serves_only_the_jobs_that_name_it(start):
    sim = start(a_job("a", pool="p"), a_job("b", pool="q"), pools=[a_pool("p"), a_pool("q")])
    run_to_end(sim)
    ran = {event["jobId"]: event["poolId"] for event in events(sim, "TaskStateChanged", to="running")}
    assert ran == {"a": "p", "b": "q"}


UBUNTU = {
    "imageReference": {"publisher": "Canonical", "offer": "ubuntu-24_04-lts", "sku": "server"},
    "nodeAgentSKUId": "batch.node.ubuntu 24.04",
}


def test_rsz_12_a_size_of_cloud_services_is_not_offered_with_linux_nor_as_spot(start):
    pool = a_pool(nodes=1, vmSize="small", virtualMachineConfiguration=UBUNTU, targetLowPriorityNodes=1)
    sim = start(pool=pool)
    run_to_end(sim)
    assert (kinds(sim), errors(sim)) == ((0, 0), ["IncompatibleVMSize", "UnsupportedVMSize"])


@pytest.mark.parametrize(
    ("size", "nodes", "codes"),
    [
        ("standard_b2ms", (1, 0), ["UnsupportedVMSize"]),  # burstable sizes are not sold as Spot machines
        ("standard_d2ps_v5", (1, 1), []),  # priced with Linux only
        ("standard_nv4as_v4", (1, 1), []),  # priced with Windows only
        ("standard_dc2es_v5", (1, 1), []),  # without a list price
        ("standard_d2s_v9", (1, 1), []),
    ],
)
def test_vm_2_real_sizes_are_allocated_whatever_the_table_says_of_their_prices(size, nodes, codes, start):
    sim = start(pool=a_pool(nodes=1, vmSize=size, targetLowPriorityNodes=1))
    run_to_end(sim)
    assert (kinds(sim), errors(sim)) == (nodes, codes)
    assert cost_of_nodes(sim.world.pools.rows, HOUR_MS) > 0


@pytest.mark.parametrize(
    ("given", "usd"),
    [
        ({}, 0.0096),
        ({"startTime": "2025-09-29T00:00:00Z"}, 0.2 * 0.096),
        ({"startTime": "2025-09-29T00:00:00Z", "account": USER_SUBSCRIPTION}, 0.0096),
    ],
)
def test_vm_2_nodes_that_are_not_dedicated_cost_the_spot_price_or_that_of_low_priority(given, usd, start):
    sim = start(pool=a_pool(nodes=0, targetLowPriorityNodes=1), **given)
    run_to(sim, minutes=70)
    pool = sim.world.pools.find("p")
    billed = sum(pool.billed_ms_at(sim.now_ms))
    assert cost_of_nodes([pool], sim.now_ms) == pytest.approx(usd * billed / HOUR_MS)


@pytest.mark.parametrize(
    "code", ["AllocationFailed", "OverconstrainedAllocationRequestError", "DependentResourceNotFound"]
)
def test_rsz_12_the_cause_of_a_failed_allocation_may_be_said(start, code):
    sim = start(pool=a_pool(nodes=2), timeline=[{"at": 0, "capacity": {"vmSize": SIZE, "nodes": 1, "code": code}}])
    run_to_end(sim)
    assert (kinds(sim), errors(sim)) == ((1, 0), [code])
