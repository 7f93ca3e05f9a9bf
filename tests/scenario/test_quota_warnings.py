"""Tests of warnings about core quotas: pools that together want more cores than the account has."""

from __future__ import annotations

import json
import re
from random import Random

import pytest

from engine import Simulation
from engine.scenario.load import load

D4 = "vmSize: standard_d4s_v3"


def pool(pool_id: str, nodes: int, more: str = "") -> str:
    return f"{{id: {pool_id}, {D4}, targetDedicatedNodes: {nodes}{more and ', '}{more}}}"


def scenario(*pools: str, timeline: tuple[str, ...] = (), more: str = "") -> str:
    text = "scenario: q\npools:\n" + "".join(f"  - {each}\n" for each in pools)
    return text + ("timeline:\n" if timeline else "") + "".join(f"  - {{{each}}}\n" for each in timeline) + more


def warnings(text: str) -> list[str]:
    return [warning.message for warning in load("q.yaml", text=text).warnings]


def paths(text: str) -> list[str]:
    return [warning.path for warning in load("q.yaml", text=text).warnings]


# --- pools and quotas


def test_acc_6_a_pool_that_wants_more_cores_than_the_account_has():
    (warning,) = load("q.yaml", text=scenario(pool("a", 10_000))).warnings
    assert (warning.line, warning.path) == (3, "pools[0].targetDedicatedNodes")
    assert warning.message == (
        "these nodes have 40,000 cores, but the account's quota of dedicated cores is 100: no more than 25 of them "
        "come (ACC-6). Write account: {quotas: {dedicatedCores: 40000}}"
    )
    assert warnings(scenario(pool("a", 10_000), more="account: {quotas: {dedicatedCores: 40000}}\n")) == []


def test_acc_6_pools_that_together_want_more_than_the_account_has():
    text = scenario(pool("a", 60), pool("b", 60), more="account: {quotas: {dedicatedCores: 300}}\n")
    (warning,) = load("q.yaml", text=text).warnings
    assert warning.path == "pools[1].targetDedicatedNodes"
    assert warning.message == (
        "these nodes have 240 cores beside 240 of pool a, but the account's quota of dedicated cores is 300: no more "
        "than 15 of them come (ACC-6). Write account: {quotas: {dedicatedCores: 480}}"
    )
    assert warnings(text.replace("300", "480")) == []


def test_the_advice_of_the_first_warning_is_enough_for_all_of_them():
    first, second, third = warnings(scenario(*(pool(name, 20) for name in "abcd")))
    assert "80 cores beside 80 of pool a" in first
    assert "no more than 5 of them come" in first
    assert "80 cores beside 80 of pool a and 20 of pool b" in second
    assert "none of them comes" in third
    assert all("dedicatedCores: 320}" in warning for warning in (first, second, third))


def test_acc_8_of_pools_that_ask_at_once_the_last_by_its_id_gets_too_few():
    text = scenario(pool("Risk", 20), pool("genomics", 10), pool("render", 10))
    (warning,) = load("q.yaml", text=text).warnings
    assert warning.path == "pools[0].targetDedicatedNodes"
    assert "80 cores beside 40 of pool genomics and 40 of pool render" in warning.message
    assert "no more than 5 of them come" in warning.message
    run = Simulation(load("q.yaml", text=text))
    run.run_until(600_000)
    assert [len(run.world.pools.latest(each).nodes) for each in ("Risk", "genomics", "render")] == [5, 10, 10]


def test_many_pools_are_counted():
    text = scenario(*(pool(f"p{n}", 5) for n in range(6)))
    assert "20 cores beside 100 of 5 other pools" in warnings(text)[0]


def test_spot_cores_are_counted_apart():
    spot = "targetLowPriorityNodes: 20"
    assert warnings(scenario(pool("a", 20), f"{{id: b, {D4}, {spot}}}")) == []
    assert paths(scenario(pool("a", 5, spot), pool("b", 5, spot))) == ["pools[1].targetLowPriorityNodes"]


def test_a_series_has_a_quota_of_its_own():
    account = "account: {quotas: {dedicatedCores: 1000, dedicatedCoresPerVMSeries: {standardDSv3Family: 100}}}\n"
    others = "{id: e, vmSize: standard_e4s_v3, targetDedicatedNodes: 50}"
    (warning,) = warnings(scenario(others, pool("a", 20), pool("b", 20), more=account))
    assert warning == (
        "these nodes have 80 cores beside 80 of pool a, but the account's quota of dedicated cores of "
        "standardDSv3Family is 100: no more than 5 of them come (ACC-6). "
        "Write account: {quotas: {dedicatedCoresPerVMSeries: {standardDSv3Family: 160}}}"
    )


# --- resizes, and pools that go


def test_a_later_resize_may_want_too_much():
    grow = "at: PT1H, resizePool: {poolId: a, targetDedicatedNodes: 20}"
    assert paths(scenario(pool("a", 1), pool("b", 10), timeline=(grow,))) == [
        "timeline[0].resizePool.targetDedicatedNodes"
    ]
    assert paths(scenario(pool("a", 1), pool("b", 5), timeline=(grow,))) == []


def test_a_resize_that_only_a_condition_makes():
    grow = "when: {poolId: b, nodes: 10}, resizePool: {poolId: a, targetDedicatedNodes: 20}"
    (warning,) = warnings(scenario(pool("a", 1), pool("b", 10), timeline=(grow,)))
    assert "80 cores beside 40 of pool b" in warning
    shrink = "when: {poolId: a, nodes: 1}, resizePool: {poolId: b, targetDedicatedNodes: 0}"
    assert warnings(scenario(pool("a", 1), pool("b", 10), timeline=(grow, shrink))) == []


@pytest.mark.parametrize(
    "before",
    [
        "at: PT1H, deletePool: {poolId: a}",
        "at: PT1H, resizePool: {poolId: a, targetDedicatedNodes: 5}",
        "at: PT1H, removeNodes: {poolId: a, nodeList: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14]}",
        "at: PT1H, enablePoolAutoScale: {poolId: a, autoScaleFormula: $TargetDedicatedNodes = 1}",
        "when: {poolId: a, nodes: 20}, deletePool: {poolId: a}",
        "when: {poolId: a, nodes: 20}, removeNodes: {poolId: a, nodeList: [0]}",
    ],
)
def test_a_pool_that_makes_room_before_the_next_comes_is_no_reason(before):
    create = "at: PT2H, createPool: " + pool("b", 20)
    assert warnings(scenario(pool("a", 20), timeline=(before, create))) == []
    assert len(warnings(scenario(pool("a", 20), timeline=(create,)))) == 1


def test_an_entry_of_the_timeline_counts_at_its_time_not_at_its_place():
    delete, create = "at: PT1H, deletePool: {poolId: a}", "at: PT2H, createPool: " + pool("b", 20)
    assert warnings(scenario(pool("a", 20), timeline=(create, delete))) == []


def test_a_pool_that_is_made_again_with_another_size():
    again = "at: PT2H, createPool: {id: a, vmSize: standard_d16s_v3, targetDedicatedNodes: 6}"
    timeline = (
        "at: PT1H, deletePool: {poolId: a}",
        again,
        "at: PT3H, resizePool: {poolId: a, targetDedicatedNodes: 7}",
    )
    assert paths(scenario(pool("a", 20), timeline=timeline)) == ["timeline[2].resizePool.targetDedicatedNodes"]


def test_what_a_process_does_may_happen_at_any_time():
    does = "[{after: 5, resizePool: {poolId: b, targetDedicatedNodes: 0}}, {after: 9, createPool: %s}]"
    task = f"{{id: t, commandLine: x, simulate: {{duration: PT1M, does: {does % pool('c', 24)}}}}}"
    jobs = f"jobs:\n  - {{id: j, poolInfo: {{poolId: a}}, tasks: [{task}]}}\n"
    assert warnings(scenario(pool("a", 1), pool("b", 24), more=jobs)) == []
    (warning,) = warnings(scenario(pool("a", 2), pool("b", 1), more=jobs))
    assert "96 cores beside 8 of pool a" in warning


# --- auto pools


def job(job_id: str, nodes: int, at: str = "") -> str:
    info = f"autoPoolSpecification: {{poolLifetimeOption: job, pool: {{{D4}, targetDedicatedNodes: {nodes}}}}}"
    return f"  - {{id: {job_id},{at and f' at: {at},'} poolInfo: {{{info}}}}}\n"


def test_auto_pools_of_jobs_that_begin_together():
    (warning,) = warnings("scenario: q\njobs:\n" + job("x", 20) + job("y", 20))
    assert "80 cores beside 80 of the auto pool of job x" in warning
    assert warnings("scenario: q\njobs:\n" + job("x", 20) + job("y", 20, "PT1H")) == []  # x may have ended
    assert warnings("scenario: q\njobs:\n" + job("x", 26))


def test_the_auto_pool_of_a_job_schedule():
    specification = job("x", 26).strip().removeprefix("- {id: x, ").removesuffix("}")
    text = (
        "scenario: q\nuntil: PT2H\njobSchedules:\n  - {id: s, schedule: {recurrenceInterval: PT1H}, jobSpecification: {"
    )
    assert len(warnings(text + specification + "}}\n")) == 1


# --- what is meant, and what is not certain


@pytest.mark.parametrize(
    "part",
    [
        "expect:\n  - {poolId: B, resizeErrors: [AccountCoreQuotaReached]}\n",
        "timeline:\n  - {when: {poolId: b, resizeErrors: AccountCoreQuotaReached}, deletePool: {poolId: a}}\n",
        "timeline:\n  - {at: PT1H, quota: {dedicatedCores: 1000}}\n",
        "study: {vary: {account.quotas.dedicatedCores: [100, 200]}}\naccount: {quotas: {dedicatedCores: 100}}\n",
    ],
)
def test_a_scenario_that_means_to_reach_a_quota_may_do_so(part):
    assert warnings(scenario(pool("a", 20), pool("b", 20), more=part)) == []


@pytest.mark.parametrize(
    "part",
    [
        "# the quota\ndescription: a quota\naccount: {quotas: {pools: 5}}\n",
        "expect:\n  - {poolId: a, resizeErrors: [AccountCoreQuotaReached]}\n",
        "expect:\n  - {poolId: b, resizeErrors: [AllocationFailed]}\n",
        "timeline:\n  - {at: PT1H, quota: {lowPriorityCores: 1000, dedicatedCores: 120}}\n",
        "study: {vary: {account.quotas.pools: [1, 2]}}\naccount: {quotas: {pools: 2}}\n",
    ],
)
def test_the_word_alone_says_nothing(part):
    assert len(warnings(scenario(pool("a", 20), pool("b", 20), more=part))) == 1


def test_a_command_that_is_refused_asks_for_nothing():
    create = "refused: PoolExists, at: PT1H, createPool: " + pool("a", 20)
    resize = "refused: PoolBeingResized, at: 1, resizePool: {poolId: a, targetDedicatedNodes: 30}"
    assert warnings(scenario(pool("a", 10), timeline=(create, resize))) == []


@pytest.mark.parametrize(
    "first",
    [
        f"{{id: a, {D4}, enableAutoScale: true, autoScaleFormula: $TargetDedicatedNodes = 25}}",
        pool("a", 20, "networkConfiguration: {publicIPAddressConfiguration: {provision: NoPublicIPAddresses}}"),
    ],
)
def test_a_pool_of_which_the_nodes_are_not_certain_takes_no_cores_from_others(first):
    assert warnings(scenario(first, pool("b", 20))) == []


def test_capacity_may_keep_a_pool_small():
    big = "{id: b, vmSize: standard_d16s_v3, targetDedicatedNodes: 6}"
    little = "at: 0, capacity: {vmSize: Standard_D4s_v3, nodes: 3}"
    assert len(warnings(scenario(pool("a", 20), big))) == 1
    assert warnings(scenario(pool("a", 20), big, timeline=(little,))) == []


def test_of_a_large_pool_whose_nodes_communicate_some_are_certain():
    large = pool("a", 90, "enableInterNodeCommunication: true")
    account = "account: {quotas: {dedicatedCores: 400}}\n"
    assert warnings(scenario(large, pool("b", 20), more=account)) == []
    assert len(warnings(scenario(large, pool("b", 21), more=account))) == 1


def test_subnets_may_have_few_addresses_if_the_scenario_describes_them():
    subnet = "/subscriptions/1/resourceGroups/hub/providers/Microsoft.Network/virtualNetworks/corp/subnets/x"
    text = scenario(pool("a", 20, f"networkConfiguration: {{subnetId: {subnet}}}"), pool("b", 20))
    assert len(warnings(text)) == 1
    assert warnings(text + 'simulate: {network: {"*/subnets/x": {freeAddresses: 5}}}\n') == []


# --- the run says the same


_KINDS = {"dedicated": "targetDedicatedNodes", "Spot/low-priority": "targetLowPriorityNodes"}


def random_scenario(seed: int) -> dict[str, object]:
    """Pools that come, change and go at full hours; their nodes come and go at once."""
    random = Random(seed)

    def body(pool_id: str) -> dict[str, object]:
        size = random.choice(["standard_d2s_v3", "standard_d4s_v3", "standard_e4s_v3", "standard_f8s_v2"])
        return {"id": pool_id, "vmSize": size, **targets()}

    def targets() -> dict[str, object]:
        return {name: random.randrange(15) for name in random.sample(sorted(_KINDS.values()), random.randint(1, 2))}

    pools = [body(f"p{n}") for n in range(random.randint(1, 3))]
    there, made, timeline = [str(each["id"]) for each in pools], len(pools), []
    for hour in range(1, 13):
        command = random.choice(["resizePool", "resizePool", "resizePool", "createPool", "deletePool"])
        if command == "createPool" or not there:
            there.append(f"p{made}")
            made += 1
            entry: dict[str, object] = {"createPool": body(there[-1])}
        elif command == "resizePool":
            entry = {command: {"poolId": random.choice(there), **targets()}}
        else:
            entry = {command: {"poolId": there.pop(random.randrange(len(there)))}}
        timeline.append({"at": hour * 3600, **entry})
    quotas = {"dedicatedCores": random.randrange(20, 90), "lowPriorityCores": random.randrange(20, 90)}
    series = {"dedicatedCoresPerVMSeries": {"standardDSv3Family": random.randrange(10, 60)}} if seed % 2 else {}
    return {
        "scenario": "q",
        "account": {"quotas": quotas | series},
        "simulate": {"nodes": dict.fromkeys(("allocation", "starting", "ready", "removal"), 0)},
        "pools": pools,
        "timeline": timeline,
        "until": 13 * 3600,
    }


@pytest.mark.parametrize("seed", range(40))
def test_acc_6_the_warnings_are_about_the_resize_errors_of_the_run(seed):
    """Of dedicated nodes: those of Spot pools come by themselves when cores become free, which is not looked at."""
    document = random_scenario(seed)
    simulation = Simulation(load("q.yaml", text=json.dumps(document)))
    simulation.run_until(13 * 3_600_000)
    met = []
    for event in map(json.loads, simulation.json_lines()):
        hour = int(event["t"]) // 3600
        for error in event.get("resizeErrors", ()):
            target = _KINDS[error["message"].removeprefix("Desired number of ").partition(" ")[0]]
            (command,) = [body for name, body in document["timeline"][hour - 1].items() if name != "at"]
            if hour == 0 or target in command:
                met.append((hour, target, event["poolId"] if hour == 0 else ""))
    told = []
    for warning in simulation.scenario.warnings:
        section, index, target = re.fullmatch(r"(\w+)\[(\d+)\]\.(?:\w+\.)?(\w+)", warning.path).groups()
        told.append((0, target, f"p{index}") if section == "pools" else (int(index) + 1, target, ""))
    kind = "targetDedicatedNodes"
    assert sorted(one for one in told if kind in one) == sorted(one for one in met if kind in one)
