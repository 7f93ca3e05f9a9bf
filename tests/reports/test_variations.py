"""Variations of public reports: other quotas, options and ways in which something passes; other spellings."""

from __future__ import annotations

import pytest

from engine.rules.decisions.capacity import current_counts
from tests.builders import (
    a_job,
    a_line,
    a_pool,
    a_task,
    events,
    job_state,
    run_to,
    run_to_end,
    simulation,
    task_extra,
    task_state,
)

SIZE = "standard_d2s_v3"
OVERCONSTRAINED = "OverconstrainedAllocationRequestError"
RETRIES = pytest.mark.parametrize("retries", ["passing", "all", "none"])
# A minute at which the pool has its nodes again if the evaluation at half past eight asks for them.
THEN = 34


def elastic(formula, **more):
    pool = {"id": "p", "vmSize": SIZE, "enableAutoScale": True, "autoScaleEvaluationInterval": "PT5M"}
    return pool | {"autoScaleFormula": formula} | more


def counts(sim):
    pool = sim.world.pools.find("p")
    return sum(current_counts(sim.world, pool)), [error.code for error in pool.resize_errors]


@RETRIES
@pytest.mark.parametrize(
    ("quotas", "code"),
    [
        ({"dedicatedCores": 4}, "AccountCoreQuotaReached"),
        (
            {"dedicatedCores": 99, "dedicatedCoresPerVMSeries": {"standardDSv3Family": 4}},
            "AccountVMSeriesCoreQuotaReached",
        ),
    ],
)
@pytest.mark.parametrize(
    "freed",
    [
        {"deletePool": {"poolId": "other"}},
        {"resizePool": {"poolId": "other", "targetDedicatedNodes": 0}},
        {"removeNodes": {"poolId": "other", "nodeList": [0, 1]}},
    ],
)
def test_as_80_a_quota_that_another_pool_frees(retries, quotas, code, freed):
    pools = [a_pool("other", nodes=2), elastic("$TargetDedicatedNodes = 2;", at=120)]
    timeline = [{"at": "PT29M"} | freed]
    sim = simulation(
        pools=pools,
        account={"quotas": quotas},
        timeline=timeline,
        options={"autoScaleRetries": retries},
        until="PT1H",
    )
    run_to(sim, minutes=28)
    assert counts(sim) == (0, [code])
    run_to(sim, minutes=THEN)
    assert counts(sim) == ((0, [code]) if retries == "none" else (2, []))


def test_as_80_half_a_quota_is_taken_and_the_rest_later():
    timeline = [{"at": f"PT{at}M", "quota": {"dedicatedCores": cores}} for at, cores in ((29, 6), (39, 10))]
    pool, quotas = elastic("$TargetDedicatedNodes = 5;"), {"quotas": {"dedicatedCores": 4}}
    sim = simulation(pools=[pool], account=quotas, timeline=timeline, until="PT1H")
    seen = []
    for minutes in (28, 38, 48):
        run_to(sim, minutes=minutes)
        seen.append(counts(sim))
    assert seen == [(2, ["AccountCoreQuotaReached"]), (3, ["AccountCoreQuotaReached"]), (5, [])]


@pytest.mark.parametrize("nodes", [2, None])
def test_acc_8_a_pool_of_fixed_size_is_resized_by_hand(nodes):
    again = {"at": "PT40M", "resizePool": {"poolId": "p", "targetDedicatedNodes": nodes}}
    timeline = [{"at": "PT29M", "deletePool": {"poolId": "other"}}, *([again] if nodes else [])]
    pools = [a_pool("other", nodes=2), a_pool(nodes=2, at=120)]
    sim = simulation(pools=pools, account={"quotas": {"dedicatedCores": 4}}, timeline=timeline, until="PT1H")
    run_to(sim, minutes=39)
    assert counts(sim) == (0, ["AccountCoreQuotaReached"])
    run_to_end(sim)
    assert counts(sim) == ((2, []) if nodes else (0, ["AccountCoreQuotaReached"]))


@RETRIES
@pytest.mark.parametrize(
    ("entry", "code"),
    [
        ({"at": 0, "capacity": {"vmSize": SIZE, "nodes": 0}}, "AllocationFailed"),
        ({"at": 0, "capacity": {"vmSize": SIZE, "nodes": 0, "code": OVERCONSTRAINED}}, OVERCONSTRAINED),
        ({"at": 1, "stopPoolResize": {"poolId": "p"}}, "ResizeStopped"),
    ],
)
def test_as_80_other_errors_wait_for_another_target(retries, entry, code):
    formula = '$TargetDedicatedNodes = time() < time("2026-01-05T09:00:00Z") ? 2 : 3;'
    back = {"at": "PT20M", "capacity": {"vmSize": SIZE, "nodes": 99}}
    timeline = [entry, back]
    sim = simulation(pools=[elastic(formula)], timeline=timeline, options={"autoScaleRetries": retries}, until="PT2H")
    run_to(sim, minutes=55)
    assert counts(sim) == ((2, []) if retries == "all" else (0, [code]))
    run_to(sim, minutes=65)
    assert counts(sim) == (3, [])


@RETRIES
@pytest.mark.parametrize("option", ["taskcompletion", "retaineddata"])
def test_as_80_nodes_that_were_busy_at_the_timeout_leave_later(retries, option):
    formula = (
        f'$TargetDedicatedNodes = time() < time("2026-01-05T08:10:00Z") ? 2 : 0; $NodeDeallocationOption = {option};'
    )
    tasks = [a_task(each, 45 * 60, constraints={"retentionTime": "PT10M"}) for each in ("a", "b")]
    sim = simulation(a_job(tasks=tasks), pools=[elastic(formula)], options={"autoScaleRetries": retries}, until="PT3H")
    run_to(sim, minutes=40)
    assert counts(sim)[0] == 2
    run_to(sim, minutes=90)
    assert counts(sim) == ((2, ["AllocationTimedout"]) if retries == "none" else (0, []))
    assert {task_extra(sim, each).attempts for each in ("a", "b")} == {1}


OUT = "https://contoso.blob.core.windows.net/out"


@pytest.mark.parametrize(
    ("query", "is_over"),
    [
        ("se=2026-01-05T08:02:00Z&sig=a", True),
        ("SE=2026-01-05T08:02:00Z&SIG=a", True),
        ("sv=2023-11-03&se=2026-01-05T08%3A02%3A00Z&sig=a%2B", True),
        ("se=2026-01-05T08%3a02%3a00.0000000Z", True),
        ("se=2026-01-05T08:02:00+00:00", True),
        ("se=2026-01-05T10:02:00%2B02:00", True),
        ("se=2026-01-05", True),
        ("se=2026-01-06", False),
        ("se=2026-01-05T08:02:00-02:00", False),
        ("st=2026-01-05T08:02:00Z&sig=a", False),
    ],
)
def test_task_20_the_end_of_a_signature_in_other_spellings(query, is_over):
    file = {"httpUrl": f"{OUT}/x?{query}", "filePath": "x"}
    sim = simulation(a_job(tasks=[a_task(resourceFiles=[file])], at="PT5M"), until="PT1H")
    run_to_end(sim)
    failure = task_extra(sim).failure
    assert (failure and failure.code) == ("BlobAccessDenied" if is_over else None)


@pytest.mark.parametrize("first", ["late", "good"])
def test_task_8_uploads_go_in_order_up_to_the_first_that_fails(first):
    urls = {"late": f"{OUT}?se=2026-01-05T08:02:00Z", "good": f"{OUT}2"}
    order = sorted(urls, key=lambda name: name != first)
    outputs = [
        {"filePattern": "../stdout.txt", "destination": {"container": {"containerUrl": urls[name], "path": name}}}
        for name in order
    ]
    sim = simulation(a_job(tasks=[a_task("t1", 300, outputFiles=outputs)]))
    run_to_end(sim)
    assert task_extra(sim).failure.code == "FileUploadAccessDenied"
    assert [event["url"] for event in events(sim, "BlobUploaded")] == ([f"{OUT}2/good"] if first == "good" else [])


@pytest.mark.parametrize("bytes_more", [0, 1])
def test_vm_4_a_file_that_fills_the_disk_exactly_is_written(bytes_more):
    size = 16 * 1024**3 + bytes_more
    sim = simulation(a_job(tasks=[a_task(simulate={"writes": {"data": size}})]))
    run_to_end(sim)
    assert task_extra(sim).exit_code == (1 if bytes_more else None)


DISABLE = {"exitConditions": {"default": {"jobAction": "disable"}}}
ENDING = {"onTaskFailure": "performexitoptionsjobaction", "onAllTasksComplete": "terminatejob"}


@pytest.mark.parametrize(
    ("others", "state"),
    [
        ([], "completed"),
        ([a_task("done", 30)], "completed"),
        ([a_task("running", 3600)], "disabled"),
        ([a_task("waiting", dependsOn={"taskIds": ["failing"]})], "disabled"),
    ],
)
def test_exit_5_a_job_is_disabled_only_while_tasks_are_left(others, state):
    failing = a_task("failing", 60, 1, **DISABLE)
    job = a_job(tasks=[failing, *others], prep=a_line(5), release=a_line(5), usesTaskDependencies=True, **ENDING)
    sim = simulation(job, pool=a_pool(nodes=2), until="PT1H")
    run_to(sim, minutes=30)
    assert job_state(sim) == state
    assert task_state(sim, "failing") == "completed"
