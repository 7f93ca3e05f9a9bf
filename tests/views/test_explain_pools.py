"""Explanations of pools that are resizing, or below their targets; and the cost of an explanation."""

from engine.views.diagnosis.pools import why_pool
from engine.views.diagnosis.tasks import why_task
from tests.builders import READY_S, a_job, a_pool, do, evict, run, run_to, simulation
from tests.views.explaining import why_job_says, why_node_says, why_pool_says, why_task_says
from tests.work import steps_of

DESK = "/subscriptions/1/resourceGroups/hub/providers/Microsoft.Network/virtualNetworks/corp/subnets/desk"


def quota(cores):
    return {"name": "contoso", "location": "westeurope", "quotas": {"dedicatedCores": cores}}


def test_rsz_5_a_node_that_waits_for_its_tasks():
    sim = simulation(a_job(tasks=2), pool=a_pool(nodes=2))
    run_to(sim, seconds=70)
    do(sim, "resizePool", poolId="p", targetDedicatedNodes=1, nodeDeallocationOption="taskcompletion")
    assert why_pool_says(sim) == [
        "Why is pool p resizing?",
        "✓ pool state        active [POOL-7]",
        "· allocation state  resizing since 08:01:10 [RSZ-2]",
        "· dedicated nodes   2 of 1 [RSZ-2]",
        "     1 node leaving once all tasks there have ended (taskcompletion); soonest n0 at 08:01:51 [RSZ-5]",
        "No other resize is accepted until it is steady. [RSZ-1]",
        "Next: the last task on n0 ends at 08:01:51 [RSZ-5]",
    ]
    run_to(sim, seconds=115)
    assert why_pool_says(sim)[4:] == [
        "     1 node leaving the pool; soonest n0 at 08:02:11 [RSZ-7]",
        "No other resize is accepted until it is steady. [RSZ-1]",
        "Next: n0 leaves the pool at 08:02:11 [RSZ-7]",
    ]
    run_to(sim, minutes=4)
    assert why_pool_says(sim) == [
        "Why does pool p have the nodes that it has?",
        "✓ pool state        active [POOL-7]",
        "✓ allocation state  steady since 08:02:11 [RSZ-2]",
        "✓ dedicated nodes   1 of 1 [RSZ-2]",
    ]


def test_rsz_16_a_request_without_an_answer_yet():
    scarce = {"at": 0, "capacity": {"vmSize": "standard_d2s_v3", "nodes": 1}}
    sim = simulation(pool=a_pool(nodes=3), timeline=[scarce])
    run_to(sim, seconds=5)
    assert why_pool_says(sim)[4:] == [
        "     1 dedicated node requested, not allocated yet; soonest one at 08:00:10 [RSZ-2]",
        "     2 dedicated nodes requested, without an answer yet; soonest one at 08:00:10 [RSZ-16]",
        "No other resize is accepted until it is steady. [RSZ-1]",
        "Next: a dedicated node is allocated at 08:00:10 [RSZ-2]",
    ]


def test_acc_8_quota():
    sim = simulation(account=quota(6))
    run_to(sim, minutes=1)
    do(sim, "resizePool", poolId="p", targetDedicatedNodes=5)
    assert why_pool_says(sim) == [
        "Why is pool p resizing?",
        "✓ pool state        active [POOL-7]",
        "· allocation state  resizing since 08:01:00 [RSZ-2]",
        "· dedicated nodes   1 of 5 [RSZ-2]",
        "✗ resize error      AccountCoreQuotaReached: "
        "the pool asked for 8 more dedicated cores; 2 of 6 were in use [RSZ-12]",
        "     2 dedicated nodes requested, not allocated yet; soonest one at 08:01:10 [RSZ-2]",
        "No other resize is accepted until it is steady. [RSZ-1]",
        "Next: a dedicated node is allocated at 08:01:10 [RSZ-2]",
    ]
    run(sim, minutes=1)
    assert why_pool_says(sim)[-3:] == [
        "0 of 2 dedicated nodes available now: AccountCoreQuotaReached: "
        "the pool asked for 4 more dedicated cores; 6 of 6 were in use. [ACC-8]",
        "A steady pool does not refill itself: resize it again. [RSZ-14]",
        "Next: nothing by itself, a user has to act [RSZ-14]",
    ]


def test_rsz_10_deletion():
    sim = simulation()
    run_to(sim, minutes=1)
    do(sim, "deletePool", poolId="p")
    assert why_pool_says(sim) == [
        "Why is pool p still being deleted?",
        "✗ pool state        deleting [POOL-7]",
        "✓ allocation state  steady since 08:00:10 [RSZ-2]",
        "✗ dedicated nodes   1 of 0 [RSZ-2]",
        "     1 node leaving the pool; soonest n0 at 08:01:20 [RSZ-7]",
        "Its deletion ends with its last node. [RSZ-10]",
        "Next: n0 leaves the pool at 08:01:20 [RSZ-7]",
    ]
    run(sim, minutes=1)
    assert why_pool_says(sim) == [
        "Where is pool p?",
        "It was deleted at 08:01:20, with all its nodes. [RSZ-10]",
        "Nothing can be done with it any more. A new pool can have its id. [RSZ-10]",
    ]


def test_spot_5_a_preempted_node_is_sought():
    sim = simulation(pool=a_pool(nodes=0, targetLowPriorityNodes=2))
    run_to(sim, seconds=70)
    evict(sim)
    assert why_pool_says(sim) == [
        "Why is pool p below its target?",
        "✓ pool state        active [POOL-7]",
        "✓ allocation state  steady since 08:00:10 [RSZ-2]",
        "✗ Spot nodes        1 of 2 [RSZ-2]",
        "     1 Spot node preempted [SPOT-3]",
        "1 of 1 Spot node available now. [ACC-8]",
        "Next: Batch tries to allocate Spot nodes at 08:06:40 [SPOT-5]",
    ]


def test_net_3_a_subnet_that_is_full():
    pool = a_pool(nodes=3, networkConfiguration={"subnetId": DESK})
    sim = simulation(pool=pool, simulate={"network": {"*/desk": {"freeAddresses": 1}}})
    run_to(sim, seconds=70)
    assert why_pool_says(sim) == [
        "Why is pool p below its target?",
        "✓ pool state        active [POOL-7]",
        "✓ allocation state  steady since 08:00:10 [RSZ-2]",
        "✗ dedicated nodes   1 of 3 [RSZ-2]",
        "✗ resize error      AllocationFailed: the subnet has not enough free addresses [RSZ-12]",
        "0 of 2 dedicated nodes available now: AllocationFailed: the subnet has not enough free addresses. [ACC-8]",
        "A steady pool does not refill itself: resize it again. [RSZ-14]",
        "Next: nothing by itself, a user has to act [RSZ-14]",
    ]


def test_net_4_what_the_service_cannot_see_is_said():
    pool = a_pool(networkConfiguration={"subnetId": DESK}, targetNodeCommunicationMode="classic")
    sim = simulation(a_job(), pool=pool, simulate={"network": {"*/desk": {"blocked": [29876, 29877]}}})
    blocked = "     1 node cut off from Batch by closed ports in their subnet [NET-4]"
    closed = "✗ network           classic communication needs ports 29876 and 29877, closed in its subnet [NET-4]"
    run_to(sim, seconds=70)
    assert closed in why_pool_says(sim)
    way_out = "Empty the pool, then give it simplified communication. [NET-7]"
    assert why_node_says(sim)[-2:] == [way_out, "Next: n0 becomes unusable at 08:10:20 [NET-4]"]
    for minutes in (1.2, 15, 35, 60):  # starting, unusable, starting again, unusable for good
        run_to(sim, minutes=minutes)
        said = why_task_says(sim)
        assert blocked in said
        assert said[-2:] == [way_out, "Next: nothing by itself, a user has to act [NET-4]"]
        assert why_job_says(sim)[-1] == "Next: nothing by itself, a user has to act [JOB-8]"
    sim.seek(15 * 60_000)
    assert why_node_says(sim)[-2:] == [way_out, "Next: n0 boots again in vain at 08:32:03 [NODE-14]"]
    sim.seek(60 * 60_000)
    assert why_node_says(sim)[-2:] == [way_out, "Next: nothing by itself, a user has to act [NODE-13]"]


def test_net_4_where_simplified_communication_is_closed_too_another_subnet_is_the_way_out():
    pool = a_pool(networkConfiguration={"subnetId": DESK}, targetNodeCommunicationMode="classic")
    sim = simulation(a_job(), pool=pool, simulate={"network": {"*/desk": {"blocked": [443]}}})
    run_to(sim, seconds=70)
    way_out = "Open the ports, or use another subnet. [NET-7]"
    assert way_out in why_node_says(sim)


def test_a_node_that_leaves_is_no_hope_for_a_task():
    timeline = [{"at": READY_S + 10, "resizePool": {"poolId": "p", "targetDedicatedNodes": 0}}]
    pool = a_pool(nodes=1, maxTasksPerNode=1)
    sim = simulation(a_job(tasks=3), pool=pool, timeline=timeline)
    run_to(sim, seconds=READY_S + 12)
    assert "     1 node leaving the pool [RSZ-7]" in why_task_says(sim)
    assert why_task_says(sim)[-1] == "Next: nothing by itself, a user has to act [SCHED-8]"
    assert why_node_says(sim)[-1].startswith("Next: n0 leaves the pool at ")


def test_looking_changes_nothing_and_does_not_look_at_all_tasks():
    swept = {"type": "parametricSweep", "parameterSets": [{"start": 1, "end": 200_000}]}
    factory = swept | {"repeatTask": {"id": "t{0}", "commandLine": "work", "simulate": {"duration": 60}}}
    sim = simulation(a_job(tasks=[], taskFactory=factory), pool=a_pool(nodes=500), account=quota(1000))
    run_to(sim, minutes=3)
    before, columns = sim.world.copy(), [column[:] for column in sim.world.tasks.columns]

    def look():
        for task in (0, 100_000, 199_999):
            why_task(sim.world, task, sim.now_ms)
        why_pool(sim.world, sim.world.pools[0])

    lines = steps_of(look)
    assert 0 < lines < 105_000  # lines of Python; a look at 200,000 tasks each time would take several times as many
    after = sim.world.copy()
    assert (after.log_length, after.pending) == (before.log_length, before.pending)
    assert sim.world.tasks.columns == columns
