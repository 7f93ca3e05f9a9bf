"""Tests of mistakes in the entries of a timeline, in expectations, task factories and pools, with their places."""

from __future__ import annotations

import pytest

from tests.scenario.test_mistakes import BASE, HEAD, mistakes

TIMELINE = [
    ("{at: PT5M}", 5, "", "names no operation"),
    ("{rebootNode: {poolId: p, node: 0}}", 5, "", "needs 'at' (a time) or 'when'"),
    ("{at: PT5M, rebotNode: {poolId: p, node: 0}}", 16, ".rebotNode", "did you mean 'rebootNode'?"),
    ("{at: PT5M, rebootNode: {poolId: p, node: -1}}", 46, ".rebootNode.node", "at least 0"),
    ("{at: PT5M, rebootNode: {poolId: p, node: 0, force: true}}", 49, ".rebootNode.force", "does not exist"),
    ("{at: PT5M, rebootNode: {poolId: p}}", 28, ".rebootNode", "name one node"),
    ("{at: PT5M, deleteJob: {jobId: j}, deletePool: {poolId: p}}", 39, ".deletePool", "second operation"),
    ("{at: PT5M, when: {jobId: j, state: completed}, deleteJob: {jobId: j}}", 16, ".when", "not both"),
    ("{at: PT5M, after: PT1M, deleteJob: {jobId: j}}", 16, ".after", "'after' needs a 'when'"),
    ("{at: 2025-01-05T08:00:00Z, deleteJob: {jobId: j}}", 10, ".at", "before the start"),
    ("{at: [5], deleteJob: {jobId: j}}", 10, ".at", "must be a time"),
    ("{at: PT5M, refused: 404, deleteJob: {jobId: j}}", 25, ".refused", "PoolBeingResized"),
    ("{when: {jobId: jj, state: completed}, deleteJob: {jobId: j}}", 20, ".when.jobId", "did you mean 'j'?"),
    ("{when: {jobId: j}, deleteJob: {jobId: j}}", 6, ".when", "expects nothing of the job"),
    ("{at: 5, addTasks: {jobId: j, tasks: [{id: a}]}}", 42, ".addTasks.tasks[0].commandLine", "missing"),
    ("deleteJob", 5, "", "must be a mapping"),
]


@pytest.mark.parametrize(("entry", "column", "path", "message"), TIMELINE)
def test_a_mistake_in_the_timeline(entry, column, path, message):
    (problem,) = mistakes(BASE + "timeline:\n  - " + entry + "\n")
    assert (problem.line, problem.column, problem.path) == (7, column, "timeline[0]" + path)
    assert message in problem.message


EXPECT = [
    ("{jobId: j, state: complete}", 23, ".state", "did you mean 'completed'?"),
    ("{jobId: j, status: completed}", 16, ".status", "did you mean 'state'?"),
    ("{jobId: j, exitCode: 0}", 16, ".exitCode", "only of a task"),
    ("{jobId: k, state: completed}", 13, ".jobId", "no part of the scenario creates the job 'k'"),
    ("{jobId: j, taskId: tt, state: completed}", 24, ".taskId", "creates the task 'tt': did you mean 't'?"),
    ("{poolId: pp, cost: 1}", 14, ".poolId", "creates the pool 'pp': did you mean 'p'?"),
    ("{taskId: t, state: completed}", 5, "", "jobId is missing"),
    ("{jobId: j, poolId: p, state: completed}", 16, ".poolId", "second subject"),
    ("{poolId: p, node: -1, state: idle}", 23, ".node", "from 0"),
    ("{poolId: p, node: 0, nodeId: a, state: idle}", 17, ".node", "not by both"),
    ("{node: 0, state: idle}", 5, "", "poolId is missing"),
    ("{poolId: p, cost: {atMost: a}}", 32, ".cost.atMost", "must be a number"),
    ("{poolId: p, cost: {atMax: 1}}", 24, ".cost.atMax", "atMost"),
    ("{poolId: p, cost: {atLeast: 2, atMost: 1}}", 23, ".cost", "atLeast 2 is more than atMost 1"),
    ("{jobId: j, tasks: {complete: 1}}", 24, ".tasks.complete", "did you mean 'completed'?"),
    ("{jobId: j, tasks: many}", 23, ".tasks", "numbers by name"),
    ("{events: {TaskStateChange: 1}}", 15, ".events.TaskStateChange", "did you mean 'TaskStateChanged'?"),
    ("{poolId: p, node: 0, file: {a: 5}}", 36, ".file.a", "in quotes"),
    ("{jobId: j, state: completed, within: soon}", 42, ".within", "PT5M"),
    ("{within: PT1H}", 5, "", "expects nothing of the run"),
    ("{jobId: 5, state: completed}", 13, ".jobId", "write '5'"),
    ("{jobScheduleId: s, state: active}", 21, ".jobScheduleId", "creates the job schedule 's'"),
    ("{jobScheduleId: s, jobId: j, state: active}", 24, ".jobId", "second subject"),
    ("{makespan: forever}", 16, ".makespan", "PT2H"),
]


@pytest.mark.parametrize(("entry", "column", "path", "message"), EXPECT)
def test_a_mistake_in_an_expectation(entry, column, path, message):
    found = mistakes(BASE + "expect:\n  - " + entry + "\n")
    assert [(problem.line, problem.column, problem.path) for problem in found][:1] == [(7, column, "expect[0]" + path)]
    assert message in found[0].message


FACTORY = [
    ("{type: sweep}", 3, ".type", "is not a kind of task factory"),
    ("{type: parametricSweep, repeatTask: {commandLine: x}}", 3, ".parameterSets", "missing"),
    ("{type: parametricSweep, parameterSets: [{start: 1, end: 2}]}", 3, ".repeatTask", "missing"),
    ("{type: parametricSweep, parameterSets: [{start: 1}], repeatTask: {commandLine: x}}", 3, ".end", "missing"),
    (
        "{type: parametricSweep, parameterSets: [{start: 1, end: 0}], repeatTask: {commandLine: x}}",
        3,
        "",
        "never reach",
    ),
    (
        "{type: parametricSweep, parameterSets: [{start: 1, end: 99999999}], repeatTask: {commandLine: x}}",
        3,
        "",
        "more than 10,000,000",
    ),
    (
        "{type: parametricSweep, parameterSets: [{start: 1, end: 9}], repeatTask: {id: 'a{0', commandLine: x}}",
        3,
        ".id",
        "contains '{0}'",
    ),
    (
        "{type: parametricSweep, parameterSets: [{start: 1, end: 9}], repeatTask: {id: 'a{1}', commandLine: x}}",
        3,
        ".id",
        "only set 0",
    ),
    (
        "{type: parametricSweep, parameterSets: [{start: 1, end: 9}], repeatTask: {id: a, commandLine: x}}",
        3,
        ".id",
        "contains '{0}'",
    ),
    (
        "{type: parametricSweep, parameterSets: [{start: 1, end: 9}], repeatTask: {id: 'T{0}', commandline: x}}",
        3,
        ".commandline",
        "did you mean 'commandLine'?",
    ),
    (
        "{type: parametricSweep, parameterSets: [{start: 1, end: 12}, {start: 1, end: 12}],"
        " repeatTask: {id: 'a{0}{1}', commandLine: x}}",
        3,
        ".id",
        "put a letter or '_'",
    ),
    (
        "{type: parametricSweep, parameterSets: [{start: 1, end: 9}], repeatTask: {id: 'x y{0}', commandLine: x}}",
        3,
        ".id",
        "is not an id",
    ),
]


@pytest.mark.parametrize(("factory", "line", "path", "message"), FACTORY)
def test_a_mistake_in_a_task_factory(factory, line, path, message):
    text = HEAD + "jobs:\n  - {id: j, poolInfo: {poolId: p}, taskFactory: " + factory + "}\n"
    found = mistakes(text)
    assert any(p.line == line and p.path.endswith(path) and message in p.message for p in found), found


# --- what the service refuses in a pool

UBUNTU_24 = "{publisher: Canonical, offer: ubuntu-24_04-lts, sku: server}"
AGENT = "virtualMachineConfiguration: {imageReference: %s, nodeAgentSKUId: %s}"
OLD_SUBNET = "/subscriptions/1/resourceGroups/g/providers/Microsoft.ClassicNetwork/virtualNetworks/v/subnets/s"


@pytest.mark.parametrize(
    ("properties", "path", "reason"),
    [
        (
            "vmSize: standard_d2s_v3, targetDedicatedNodes: 1, " + AGENT % (UBUNTU_24, "batch.node.ubuntu 22.04"),
            "virtualMachineConfiguration.nodeAgentSKUId",
            "is 'batch.node.ubuntu 22.04', must be 'batch.node.ubuntu 24.04' for the image"
            " Canonical ubuntu-24_04-lts server (InvalidPropertyValue)",
        ),
        (
            f"vmSize: standard_d2s_v3, targetDedicatedNodes: 1, networkConfiguration: {{subnetId: {OLD_SUBNET}}}",
            "networkConfiguration.subnetId",
            "is in a classic VNet, must be in one of Microsoft.Network for a pool of virtual machines"
            " (InvalidPropertyValue)",
        ),
        (
            "vmSize: small, targetLowPriorityNodes: 1, cloudServiceConfiguration: {osFamily: '5'}",
            "targetLowPriorityNodes",
            "is 1, but cloud services have no Spot nodes (InvalidPropertyValue)",
        ),
        (
            "vmSize: standard_d2s_v3, targetDedicatedNodes: 1, cloudServiceConfiguration: {osFamily: '5'}",
            "vmSize",
            "is 'standard_d2s_v3', which cloud services do not have (InvalidPropertyValue)",
        ),
        (
            "vmSize: small, targetDedicatedNodes: 1, cloudServiceConfiguration: {osFamily: '5', osVersion: '6.1'}",
            "cloudServiceConfiguration.osVersion",
            "family 5 has no version '6.1': use '*' or a name like WA-GUEST-OS-5.20_201806-01 (OSVersionNotFound)",
        ),
    ],
)
def test_pool_26_pool_27_and_net_9_are_mistakes_of_the_file(properties, path, reason):
    (problem,) = mistakes(f"scenario: s\npools:\n  - {{id: p, {properties}}}\n")
    assert (problem.path, problem.message, problem.line) == (f"pools[0].{path}", reason, 3)


def test_pool_28_a_release_that_there_cannot_be():
    (problem,) = mistakes("scenario: s\ntimeline:\n  - {at: 1, guestOSRelease: {osVersion: vista}}\n")
    assert (problem.path, problem.line) == ("timeline[0].guestOSRelease.osVersion", 3)
    assert problem.message == "'vista' is not a release such as WA-GUEST-OS-5.20_201806-01, of family 2 to 6"
