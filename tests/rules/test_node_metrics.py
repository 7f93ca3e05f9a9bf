"""Metrics of the use of nodes, which formulas can ask for: memory, disk and network (AS-41, AS-53).

A node of the pool has 8 GiB, and is idle at 50 s; a process begins a second after its files are there. Files come at
50 MB a second.
"""

from __future__ import annotations

import pytest

from engine.autoscale.values import NODE_METRICS
from engine.rules.decisions.metrics import arrived
from engine.state.files import Traffic, Transfer
from tests.builders import READY_S, a_job, a_line, a_task, do, node_row, node_state, run_to, simulation
from tests.rules.test_autoscale_runs import scaled, scaling_of

GIB = 1 << 30
MB = 10**6
MEMORY = 8 * GIB
OPERATION = 256 * 1024


def metrics(sim, name):
    """All samples of a metric, by the second at which they were taken."""
    times_ms, values = arrived(sim.world, sim.world.pools[0], sim.now_ms)[name]
    return {when_ms / 1000: value for when_ms, value in zip(times_ms, values, strict=True)}


def a_run(*jobs, nodes=1, until=120, pool=None, simulate=None):
    sim = simulation(
        *jobs,
        pool=scaled(f"$TargetDedicatedNodes = {nodes}", taskSlotsPerNode=4, **(pool or {})),
        simulate=simulate or {},
    )
    run_to(sim, seconds=until)
    return sim


def newest(sim, name):
    return list(metrics(sim, name).values())[-1]


@pytest.mark.parametrize("name", NODE_METRICS)
def test_as_41_every_resource_metric_has_samples(name):
    sim = a_run(a_job(tasks=[a_task("t1", 600)]))
    assert list(metrics(sim, name)) == [30, 60, 90, 120]


def test_as_41_nodes_and_wall_clock():
    sim = a_run(nodes=3)
    assert metrics(sim, "$SampleNodeCount") == {30: 3, 60: 3, 90: 3, 120: 3}
    assert metrics(sim, "$WallClockSeconds") == {30: 30, 60: 60, 90: 90, 120: 120}


@pytest.mark.parametrize(
    ("command", "body", "count"),
    [
        ("disableNodeScheduling", {"nodeDisableSchedulingOption": "requeue"}, 2),
        ("failNode", {"state": "unusable"}, 2),
        ("failNode", {"state": "unknown"}, 2),
        ("rebootNode", {}, 2),
        ("deallocateNode", {}, 1),
    ],
)
def test_as_41_the_mean_is_over_all_nodes_that_have_their_vm(command, body, count):
    """The task of the other node stays where it is: half of its memory is the mean, unless it is alone."""
    tasks = [a_task("t1", 6000, simulate={"memory": 50})]
    sim = a_run(a_job(tasks=tasks), nodes=2, until=110)
    (other,) = (index for index in (0, 1) if node_state(sim, index) == "idle")
    do(sim, command, poolId="p", node=other, **body)
    run_to(sim, seconds=150 if command == "rebootNode" else 300)
    assert newest(sim, "$SampleNodeCount") == count
    assert newest(sim, "$MemoryBytes") == 0.5 * MEMORY / count
    assert newest(sim, "$CPUPercent") == 25  # of the usable node


def test_as_41_an_offline_node_keeps_its_disk():
    tasks = [a_task("t1", 10, simulate={"writes": {"r.bin": "4 MB"}})]
    sim = a_run(a_job(tasks=tasks))
    before = newest(sim, "$DiskBytes")
    do(sim, "disableNodeScheduling", poolId="p", node=0)
    run_to(sim, seconds=300)
    assert newest(sim, "$DiskBytes") == before >= 4 * MB


def test_as_41_a_node_downloads_while_its_start_task_prepares():
    source = {"httpUrl": "https://a/in", "filePath": "in"}
    start_task = {"commandLine": "s", "waitForSuccess": True, "resourceFiles": [source], "simulate": {"duration": 60}}
    sim = a_run(pool={"startTask": start_task}, simulate={"storage": {"https://a/in": {"size": "100 MB"}}})
    assert sum(metrics(sim, "$NetworkInBytes").values()) == 100 * MB


def test_as_41_memory_is_what_running_tasks_say_of_the_size():
    tasks = [a_task("t1", 600, simulate={"memory": 25}), a_task("t2", 40, simulate={"memory": 10}), a_task("t3", 600)]
    sim = a_run(a_job(tasks=tasks))
    assert metrics(sim, "$MemoryBytes") == {30: 0, 60: 0.35 * MEMORY, 90: 0.35 * MEMORY, 120: 0.25 * MEMORY}


def test_as_41_memory_is_the_mean_over_the_nodes_and_a_node_has_no_more_than_all():
    tasks = [a_task(f"t{number}", 600, simulate={"memory": 80}) for number in range(2)]
    policy = {"taskSchedulingPolicy": {"nodeFillType": "pack"}}
    assert newest(a_run(a_job(tasks=tasks), nodes=4, pool=policy), "$MemoryBytes") == MEMORY / 4


def test_as_41_memory_has_a_default_for_all_tasks():
    sim = a_run(a_job(tasks=2), simulate={"tasks": {"memory": 20}})
    assert metrics(sim, "$MemoryBytes")[90] == 0.4 * MEMORY


def test_as_41_start_preparation_and_release_tasks_have_a_load_too():
    load = {"memory": 50, "network": "1 MB", "disk": {"read": "2 MB"}}
    job = a_job(prep=a_line(100, simulate=load), tasks=[a_task("t1", 10)])
    start_task = {"startTask": a_line(100, simulate={"memory": 30}, waitForSuccess=False)}
    sim = a_run(job, pool=start_task, until=180)
    assert metrics(sim, "$MemoryBytes") == {30: 0, 60: 0.8 * MEMORY} | dict.fromkeys((90, 120, 150), 0.8 * MEMORY) | {
        180: 0
    }
    # Assigned at 50 s, so ten seconds of the first half minute count.
    assert [metrics(sim, "$NetworkInBytes")[second] for second in (30, 60, 90)] == [0, 10 * MB, 30 * MB]
    assert [metrics(sim, "$DiskReadBytes")[second] for second in (60, 90)] == [20 * MB, 60 * MB]
    released = a_run(
        a_job(
            tasks=[a_task("t1", 10)],
            prep=a_line(1),
            release=a_line(200, simulate=load),
            onAllTasksComplete="terminatejob",
        )
    )
    assert newest(released, "$MemoryBytes") == 0.5 * MEMORY


# -- network and disk ------------------------------------------------------------------------------------------------


def a_fetching(size="2 GB", **more):
    files = [{"httpUrl": "https://a/in/x", "filePath": "x"}]
    return a_job(tasks=[a_task("t1", 60, resourceFiles=files, **more)]), {"storage": {"https://a/in/*": {"size": size}}}


def test_as_41_downloads_count_while_they_come():
    """2 GB take 40 s, from 50 s to 90 s."""
    job, simulate = a_fetching()
    sim = a_run(job, simulate=simulate)
    assert metrics(sim, "$NetworkInBytes") == {30: 0, 60: 500 * MB, 90: 1500 * MB, 120: 0}
    assert metrics(sim, "$DiskWriteBytes") == metrics(sim, "$NetworkInBytes")
    assert metrics(sim, "$DiskWriteOps")[90] == 1500 * MB / OPERATION
    assert newest(sim, "$NetworkOutBytes") == newest(sim, "$DiskReadBytes") == 0


def test_as_41_network_is_the_mean_over_the_nodes():
    job, simulate = a_fetching()
    assert metrics(a_run(job, simulate=simulate, nodes=4), "$NetworkInBytes")[90] == 1500 * MB / 4


def test_as_41_packages_count_as_downloads_and_lie_on_the_disk():
    account = {"applications": [{"id": "a", "versions": ["1"], "defaultVersion": "1", "size": "1 GB"}]}
    task = a_task("t1", 10, applicationPackageReferences=[{"applicationId": "a"}])
    sim = simulation(a_job(tasks=[task]), pool=scaled("$TargetDedicatedNodes = 1"), account=account)
    run_to(sim, seconds=120)
    assert sum(metrics(sim, "$NetworkInBytes").values()) == 1000 * MB
    assert newest(sim, "$DiskBytes") == 1000 * MB


def test_as_41_disk_is_what_lies_on_the_nodes():
    sim = a_run(a_job(tasks=[a_task("t1", 9, simulate={"writes": {"out": "3 GB"}})]), nodes=2)
    assert metrics(sim, "$DiskBytes") == {30: 0, 60: 1500 * MB} | dict.fromkeys((90, 120), 1500 * MB)
    assert metrics(sim, "$DiskWriteBytes") == {30: 0, 60: 1500 * MB, 90: 0, 120: 0}


def test_as_41_uploads_are_read_and_sent():
    output = {
        "filePattern": "*.csv",
        "destination": {"container": {"containerUrl": "https://a/out"}},
        "uploadOptions": {"uploadCondition": "taskcompletion"},
    }
    task = a_task("t1", 59, simulate={"writes": {"a.csv": "300 MB"}}, outputFiles=[output])
    sim = a_run(a_job(tasks=[task]), until=180)
    assert sum(metrics(sim, "$NetworkOutBytes").values()) == pytest.approx(300 * MB)
    assert sum(metrics(sim, "$DiskReadBytes").values()) == pytest.approx(300 * MB)


@pytest.mark.parametrize(
    ("load", "expected"),
    [
        ({"network": "20 MB"}, {"$NetworkInBytes": 600 * MB, "$NetworkOutBytes": 600 * MB}),
        ({"network": {"out": "1 MB"}}, {"$NetworkInBytes": 0, "$NetworkOutBytes": 30 * MB}),
        ({"disk": 1000}, {"$DiskReadBytes": 30_000, "$DiskWriteBytes": 30_000}),
        (
            {"disk": {"read": "10 MB", "write": "5 MB"}},
            {"$DiskReadBytes": 300 * MB, "$DiskWriteOps": 150 * MB / OPERATION, "$DiskReadOps": 300 * MB / OPERATION},
        ),
    ],
)
def test_as_41_a_task_may_say_what_it_moves_in_a_second(load, expected):
    sim = a_run(a_job(tasks=[a_task("t1", 600, simulate=load)]))
    assert {name: newest(sim, name) for name in expected} == pytest.approx(expected)
    assert newest(sim, "$DiskBytes") == 0


def test_as_53_what_moves_counts_for_the_time_that_tasks_ran():
    """Of the half minute that ends at 60 s the task has had a slot for ten seconds."""
    sim = a_run(a_job(tasks=[a_task("t1", 600, simulate={"network": "3 MB"})]))
    assert metrics(sim, "$NetworkInBytes")[60] == pytest.approx(30 * MB)
    several = a_run(a_job(tasks=[a_task(f"t{number}", 600, simulate={"network": "3 MB"}) for number in range(3)]))
    assert metrics(several, "$NetworkInBytes")[90] == pytest.approx(270 * MB)


def test_as_41_a_stopped_download_moves_nothing_more():
    job, simulate = a_fetching("6 GB")
    sim = a_run(job, simulate=simulate, until=70)
    do(sim, "failNode", poolId="p", node=0)
    assert not sim.world.traffic
    run_to(sim, seconds=200)
    assert newest(sim, "$NetworkInBytes") == 0


def test_as_41_only_pools_that_scale_themselves_remember_what_moves():
    job, simulate = a_fetching()
    fixed = simulation(job, simulate=simulate)
    run_to(fixed, seconds=READY_S + 10)
    assert not fixed.world.traffic
    sim = a_run(job, simulate=simulate, until=80)
    assert sim.world.traffic[node_row(sim)]
    do(sim, "disablePoolAutoScale", poolId="p")
    assert not sim.world.traffic


def test_as_41_what_has_moved_is_forgotten_when_it_has_been_sampled():
    job, simulate = a_fetching()
    sim = a_run(job, simulate=simulate, until=120)
    assert not sim.world.traffic


def test_as_52_metrics_go_back_in_time():
    job, simulate = a_fetching("4 GB")
    sim = a_run(job, simulate=simulate, until=600)
    recorded = {name: metrics(sim, name) for name in NODE_METRICS}
    sim.seek(75_000)
    sim.branch()
    run_to(sim, seconds=600)
    assert {name: metrics(sim, name) for name in NODE_METRICS} == recorded


def test_as_41_a_formula_may_scale_by_the_network():
    formula = """
        busy = avg($NetworkInBytes.GetSample(TimeInterval_Minute * 2, 0)) / 30;
        $TargetDedicatedNodes = busy > 10000000 ? 3 : 1;
    """
    job, simulate = a_fetching("20 GB")
    sim = simulation(job, pool=scaled(formula), simulate=simulate)
    run_to(sim, minutes=11)
    assert [run.target_dedicated for run in scaling_of(sim).runs] == [1, 3, 1]


def test_as_41_a_transfer_is_even():
    transfer = Transfer(Traffic.DOWNLOAD, 10, 30, 100)
    assert [transfer.between(0, end) for end in (5, 15, 30, 50)] == [0, 25, 100, 100]
    assert (transfer.between(15, 20), transfer.between(30, 60)) == (25, 0)
    at_once = Transfer(Traffic.WRITE, 30, 30, 100)
    assert [at_once.between(*window) for window in ((0, 29), (0, 30), (30, 60))] == [0, 100, 0]
