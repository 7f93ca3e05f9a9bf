"""Tests of every kind of mistake in a scenario file, with its line and column."""

from __future__ import annotations

import pytest

from engine.base.errors import Problem, ScenarioError
from engine.scenario.load import load

HEAD = "scenario: s\n"
POOL = "  - {id: p, vmSize: standard_d2s_v3, targetDedicatedNodes: 1}\n"
JOB = "  - {id: j, poolInfo: {poolId: p}, tasks: [{id: t, commandLine: x}]}\n"
BASE = HEAD + "pools:\n" + POOL + "jobs:\n" + JOB


def mistakes(text: str) -> list[Problem]:
    with pytest.raises(ScenarioError) as caught:
        load("s.yaml", text=text)
    return caught.value.problems


def places(text: str) -> list[tuple[int, int, str]]:
    return [(problem.line, problem.column, problem.path) for problem in mistakes(text)]


# text, line, column, path, a part of the message
ONE_MISTAKE = [
    # the text as YAML
    ("", 1, 1, "", "empty"),
    ("# only a comment\n", 1, 1, "", "empty"),
    ("~\n", 1, 1, "", "empty"),
    ("- a\n", 1, 1, "", "must be a mapping"),
    ("text\n", 1, 1, "", "must be a mapping"),
    ("scenario: [s\n", 2, 1, "", "expected ',' or ']'"),
    ("scenario: s\n\tseed: 1\n", 2, 1, "", "spaces"),
    ("scenario: s: t\n", 1, 12, "", "need quotes"),
    (HEAD + "seed: 1\nseed: 2\n", 3, 1, "", "is a duplicate, first used on line 2"),
    (HEAD + "--- \nscenario: t\n", 2, 1, "", "one document"),
    (HEAD + "account: *nobody\n", 2, 10, "", "no anchor 'nobody'"),
    (HEAD + "account: &a {name: *a}\n", 2, 20, "", "without end"),
    (HEAD + "? [a]\n: 1\n", 2, 3, "", "a key must be a word"),
    (HEAD + "account: !!python/name:os.system\n", 2, 10, "", "has no meaning here"),
    (HEAD + "description: a\x07b\n", 2, 15, "", "U+0007"),
    (HEAD + "seed: .nan\n", 2, 7, "", "not a finite number"),
    (HEAD + "seed: 1e999\n", 2, 7, "", "not a finite number"),
    (HEAD + f"seed: {'9' * 5000}\n", 2, 7, "", "5000 digits"),
    (HEAD + "account: " + "[" * 200 + "]" * 200 + "\n", 2, 109, "", "levels deep"),
    ("{scenario: s}\nseed: 1\n", 2, 1, "", "has ended before this line"),
    # something else
    ("id: p\nvmSize: standard_d2s_v3\n", 1, 1, "", "the body of a pool: it belongs under 'pools:' of a scenario"),
    ("id: j\npoolInfo: {poolId: p}\n", 1, 1, "", "the body of a job: it belongs under 'jobs:'"),
    ("id: s\njobSpecification: {poolInfo: {poolId: p}}\n", 1, 1, "", "under 'jobSchedules:'"),
    ("id: t\ncommandLine: x\n", 1, 1, "", "the body of a task: it belongs under 'tasks:' of a job"),
    # the run as a whole
    ("seed: 1\n", 1, 1, "scenario", "missing"),
    ("scenario: 5\n", 1, 11, "scenario", "must be text"),
    (HEAD + "sede: 1\n", 2, 1, "sede", "did you mean 'seed'?"),
    (HEAD + "seed: '7'\n", 2, 7, "seed", "whole number"),
    (HEAD + "startTime: noon\n", 2, 12, "startTime", "must be a UTC time"),
    (HEAD + "startTime: 0001-01-01T00:00:00+14:00\n", 2, 12, "startTime", "must be a UTC time"),
    (HEAD + "until: later\n", 2, 8, "until", "PT5M"),
    (HEAD + "until: -5\n", 2, 8, "until", "before the start"),
    (HEAD + "options: {classicNodeId: true}\n", 2, 11, "options.classicNodeId", "did you mean 'classicNodeIds'?"),
    (HEAD + "options: {releaseafter: task}\n", 2, 11, "options.releaseafter", "did you mean 'releaseAfter'?"),
    (HEAD + "options: {releaseAfter: prep}\n", 2, 25, "options.releaseAfter", "task, preparation"),
    (HEAD + "options: {rebootRetriesFailedPreparation: 1}\n", 2, 43, "options.rebootRetriesFailedPreparation", "true"),
    (HEAD + "options: {rebootRetriesPreparation: true}\n", 2, 11, "options.rebootRetriesPreparation", "Failed"),
    (HEAD + "options: {classicNodeIds: yes}\n", 2, 27, "options.classicNodeIds", "true or false"),
    (HEAD + "options: {classicPackage: true}\n", 2, 11, "options.classicPackage", "did you mean 'classicPackages'?"),
    (HEAD + "account: {quotas: {pool: 1}}\n", 2, 20, "account.quotas.pool", "did you mean 'pools'?"),
    (
        HEAD + "account: {applications: [{id: a, versions: ['1', '1']}]}\n",
        2,
        50,
        "account.applications[0].versions[1]",
        "there is another version '1'",
    ),
    (
        HEAD + "account: {certificates: [{thumbprint: xy}]}\n",
        2,
        39,
        "account.certificates[0].thumbprint",
        "hexadecimal digits",
    ),
    (HEAD + "simulate: {task: {}}\n", 2, 12, "simulate.task", "did you mean 'tasks'?"),
    (HEAD + "simulate: {sport: {}}\n", 2, 12, "simulate.sport", "did you mean 'spot'?"),
    (HEAD + "simulate: {spot: often}\n", 2, 18, "simulate.spot", "mapping"),
    (HEAD + "simulate: {spot: {evictionrates: 1}}\n", 2, 19, "simulate.spot.evictionrates", "'evictionRate'?"),
    (HEAD + "simulate: {spot: {evictionRate: -1}}\n", 2, 33, "simulate.spot.evictionRate", "0"),
    (HEAD + "simulate: {spot: {notice: soon}}\n", 2, 27, "simulate.spot.notice", "PT"),
    (HEAD + "simulate: {nodes: {failRate: 1}}\n", 2, 20, "simulate.nodes.failRate", "'failureRate'?"),
    (HEAD + "simulate: {nodes: {failureRate: x}}\n", 2, 33, "simulate.nodes.failureRate", "number"),
    (HEAD + "simulate: {nodes: {failureRate: 9999}}\n", 2, 33, "simulate.nodes.failureRate", "3600"),
    (
        HEAD + "simulate: {storage: {'https://*/a': {sise: 4}}}\n",
        2,
        38,
        'simulate.storage["https://*/a"].sise',
        "did you mean 'size'?",
    ),
    # bodies
    (HEAD + "pools: {id: p}\n", 2, 8, "pools", "must be a list"),
    (HEAD + "pools:\n  - p\n", 3, 5, "pools[0]", "must be a mapping"),
    (HEAD + "pools:\n  - {id: p, targetDedicatedNodes: 1}\n", 3, 5, "pools[0].vmSize", "missing"),
    (
        BASE.replace("targetDedicatedNodes", "targetDedicatedNode"),
        3,
        38,
        "pools[0].targetDedicatedNode",
        "did you mean",
    ),
    (BASE.replace("Nodes: 1", "Nodes: '1x'"), 3, 60, "pools[0].targetDedicatedNodes", "must be a whole number"),
    (BASE.replace("{id: j,", "{id: 1,"), 5, 10, "jobs[0].id", "in quotes"),
    (
        BASE.replace("{id: j,", "{id: j, onAllTasksComplete: terminate,"),
        5,
        33,
        "jobs[0].onAllTasksComplete",
        "did you mean 'terminatejob'?",
    ),
    (
        BASE.replace("{id: j,", "{id: j, jobPreparationTask: {commandLine: x, constraints: {maxTaskRetryCount: one}},"),
        5,
        83,
        "jobs[0].jobPreparationTask.constraints.maxTaskRetryCount",
        "whole number",
    ),
    (
        BASE.replace("{id: t,", "{id: t, simulate: {onNode: {a: {exitCode: 1}}},"),
        5,
        72,
        "jobs[0].tasks[0].simulate.onNode.a",
        "whole number",
    ),
    (BASE.replace("{id: t,", "{id: t, simulate: {duration: soon},"), 5, 73, "jobs[0].tasks[0].simulate.duration", "PT"),
    (BASE.replace("{id: j,", "{id: j, at: soon,"), 5, 17, "jobs[0].at", "PT5M"),
    # ids
    (BASE.replace("jobs:\n", POOL.replace("id: p", "id: P") + "jobs:\n"), 4, 10, "pools[1].id", "taken"),
    (BASE + JOB.replace("id: j", "id: J"), 6, 10, "jobs[1].id", "taken"),
    (
        BASE + "jobSchedules:\n  - {id: J, schedule: {}, jobSpecification: {poolInfo: {poolId: p}}}\n",
        7,
        10,
        "jobSchedules[0].id",
        "line 5",
    ),
    (BASE.replace("x}]", "x}, {id: T, commandLine: x}]"), 5, 74, "jobs[0].tasks[1].id", "line 5"),
    (
        BASE.replace("{id: j,", "{id: j, jobManagerTask: {id: t, commandLine: x},"),
        5,
        90,
        "jobs[0].tasks[0].id",
        "the job manager task",
    ),
    # what the service would refuse
    (BASE.replace("Nodes: 1", "Nodes: -1"), 3, 60, "pools[0].targetDedicatedNodes", "InvalidPropertyValue"),
    (BASE.replace("standard_d2s_v3", "standard_d2s_v33"), 3, 21, "pools[0].vmSize", "standard_d2s_v3"),
    (BASE.replace(", targetDedicatedNodes: 1", ""), 3, 5, "pools[0].targetDedicatedNodes", "MissingRequiredProperty"),
    (
        BASE.replace("targetDedicatedNodes: 1", "targetDedicatedNodes: 1, maxTasksPerNode: 99"),
        3,
        80,
        "pools[0].maxTasksPerNode",
        "must be 1 to 8",
    ),
    (BASE.replace("{id: j,", "{id: j, priority: 2000,"), 5, 23, "jobs[0].priority", "OutOfRangePriority"),
    (
        BASE.replace("{id: t,", "{id: t, dependsOn: {taskIds: [a]},"),
        5,
        63,
        "jobs[0].tasks[0].dependsOn",
        "usesTaskDependencies",
    ),
    (
        BASE.replace("{id: t,", "{id: JobPreparation,").replace(
            "{id: j,", "{id: j, jobPreparationTask: {commandLine: x},"
        ),
        5,
        87,
        "jobs[0].tasks[0].id",
        "TaskIdSameAsJobPreparationTask",
    ),
    (HEAD + "account: {quotas: {pools: 0}}\npools:\n" + POOL, 4, 5, "pools[0]", "PoolQuotaReached"),
    (
        "account: {quotas: {activeJobsAndSchedules: 0}}\n" + BASE,
        6,
        5,
        "jobs[0]",
        "ActiveJobAndScheduleQuotaReached",
    ),
    # what a process uses of its node
    (
        HEAD + "simulate: {tasks: {disks: 5}}\n",
        2,
        20,
        "simulate.tasks.disks",
        "did you mean 'disk'?",
    ),
    (
        HEAD + "simulate: {tasks: {disk: fast}}\n",
        2,
        26,
        "simulate.tasks.disk",
        "'fast' is not a size such as 800 MB",
    ),
    (
        HEAD + "simulate: {tasks: {disk: {wrte: 5}}}\n",
        2,
        27,
        "simulate.tasks.disk.wrte",
        "did you mean 'write'?",
    ),
    (
        HEAD + "simulate: {tasks: {network: {in: -5}}}\n",
        2,
        34,
        "simulate.tasks.network.in",
        "-5 is not a size such as 800 MB",
    ),
    (
        HEAD + "simulate: {tasks: {network: {inn: 5}}}\n",
        2,
        30,
        "simulate.tasks.network.inn",
        "did you mean 'in'?",
    ),
    # the account changes
    (
        HEAD + "timeline:\n  - {at: 1, quota: {dedicatedCore: 5}}\n",
        3,
        21,
        "timeline[0].quota.dedicatedCore",
        "did you mean 'dedicatedCores'?",
    ),
    (
        HEAD + "timeline:\n  - {at: 1, quota: {pools: -1}}\n",
        3,
        28,
        "timeline[0].quota.pools",
        "must be at least 0, not -1",
    ),
    (
        HEAD + "timeline:\n  - {at: 1, createApplicationPackage: {applicationId: a, version: 1.0}}\n",
        3,
        67,
        "timeline[0].createApplicationPackage.version",
        "put a number",
    ),
    (
        HEAD + "timeline:\n  - {at: 1, createApplicationPackage: {applicationId: a, version: '1', size: big}}\n",
        3,
        78,
        "timeline[0].createApplicationPackage.size",
        "is not a size such as 800 MB",
    ),
    (
        HEAD + "timeline:\n  - {at: 1, deleteApplicationPackage: {applicationId: a}}\n",
        3,
        13,
        "timeline[0].deleteApplicationPackage.version",
        "is missing",
    ),
    (
        HEAD + "timeline:\n  - {at: 1, updateApplication: {applicationId: a, defaultVersions: '1'}}\n",
        3,
        51,
        "timeline[0].updateApplication.defaultVersions",
        "did you mean 'defaultVersion'?",
    ),
    (
        HEAD + "timeline:\n  - {at: 1, updateAplication: {applicationId: a}}\n",
        3,
        13,
        "timeline[0].updateAplication",
        "did you mean 'updateApplication'?",
    ),
    (
        HEAD + "account: {applications: [{id: a, versions: ['1'], sizes: {'2': 5}}]}\n",
        2,
        58,
        "account.applications[0].sizes",
        "'2' is none of the versions 1",
    ),
]


@pytest.mark.parametrize(("text", "line", "column", "path", "message"), ONE_MISTAKE)
def test_a_mistake_is_reported_where_it_is(text, line, column, path, message):
    (problem,) = mistakes(text)
    assert (problem.line, problem.column, problem.path) == (line, column, path)
    assert message in problem.message
    assert str(problem).startswith(f"s.yaml:{line}:{column}: ")


def test_tasks_of_the_factory_and_listed_ones_may_not_share_an_id():
    text = BASE.replace(
        "tasks: [{id: t,",
        "taskFactory: {type: parametricSweep, parameterSets: [{start: 1, end: 9}],"
        " repeatTask: {id: 'T-{0}', commandLine: x}}, tasks: [{id: t-7,",
    )
    (problem,) = mistakes(text)
    assert "task 6 of the factory has the id 'T-7'" in problem.message
    assert problem.path == "jobs[0].taskFactory.repeatTask.id"


def test_all_mistakes_come_at_once_in_the_order_of_the_file():
    text = """\
scenario: s
seed: seven
pools:
  - id: p
    vmSize: standard_d2s_v3
    targetDedicatedNodes: many
jobs:
  - id: j
    poolInfo: {poolId: nowhere}
    onAllTasksComplete: stop
    tasks:
      - {id: a, comandLine: x}
expect:
  - {jobId: j, taskId: b, state: completed}
  - {jobId: i, state: completed}
"""
    assert places(text) == [
        (2, 7, "seed"),
        (6, 27, "pools[0].targetDedicatedNodes"),
        (10, 25, "jobs[0].onAllTasksComplete"),
        (12, 9, "jobs[0].tasks[0].commandLine"),
        (12, 17, "jobs[0].tasks[0].comandLine"),
        (14, 24, "expect[0].taskId"),
        (15, 13, "expect[1].jobId"),
    ]


def test_a_mistake_behind_an_alias_and_a_merge_is_where_it_is_written():
    text = """\
scenario: s
pools:
  - &p
    id: one
    vmSize: standard_d2s_v3
    targetDedicatedNodes: 1
    startTask: &start {commandLine: x, waitForSucess: true}
  - <<: *p
    id: two
    targetDedicatedNodes: -1
"""
    assert places(text) == [
        (7, 40, "pools[0].startTask.waitForSucess"),
        (7, 40, "pools[1].startTask.waitForSucess"),
        (10, 27, "pools[1].targetDedicatedNodes"),
    ]


def test_a_misspelt_key_hides_no_other_mistake_of_its_body():
    text = """\
scenario: s
pools:
  - {id: p, vmSize: standard_d2s_v3, targetDedicatedNode: 1, taskSlotsPerNode: 100}
jobs:
  - id: j
    prioritty: 3
    poolInfo: {poolld: p}
    jobPreparationTask: {commandLine: x}
    jobReleaseTask: {commandLine: x, maxWallClockTime: PT20M}
    tasks:
      - {id: t, commandLine: x, reqiredSlots: 3, simulate: {durtion: PT3S}}
      - {id: t t, commandLine: x, requiredSlots: 0}
"""
    assert places(text) == [
        (3, 38, "pools[0].targetDedicatedNode"),
        (3, 80, "pools[0].taskSlotsPerNode"),
        (6, 5, "jobs[0].prioritty"),
        (7, 16, "jobs[0].poolInfo.poolld"),
        (9, 56, "jobs[0].jobReleaseTask.maxWallClockTime"),
        (11, 33, "jobs[0].tasks[0].reqiredSlots"),
        (11, 61, "jobs[0].tasks[0].simulate.durtion"),
        (12, 14, "jobs[0].tasks[1].id"),
        (12, 50, "jobs[0].tasks[1].requiredSlots"),
    ], "nor is what was misspelt said to be missing"


def test_after_a_thousand_problems_reading_stops():
    text = HEAD + "".join(f"key{n}: 1\n" for n in range(5000))
    assert len(mistakes(text)) == 1000


def test_the_states_of_a_pool_are_not_suggested_where_one_of_its_nodes_is_meant():
    text = HEAD + "timeline:\n  - {when: {poolId: p, nod: 1, state: runing}, deletePool: {poolId: p}}\n"
    with pytest.raises(ScenarioError) as caught:
        load("m.yaml", text=text)
    told = [problem.message for problem in caught.value.problems if problem.path.startswith("timeline[0].when.")]
    assert "'nod' does not exist: did you mean 'node'?" in told
    assert not any("runing" in message for message in told)


@pytest.mark.parametrize(
    ("when", "path", "message"),
    [
        ("nod: 1", "nod", "'nod' does not exist: did you mean 'node'?"),
        ("nod: 1, state: idle", "nod", "'nod' does not exist: did you mean 'node'?"),
        ("poolid: p, state: active", "poolid", "'poolid' does not exist: did you mean 'poolId'?"),
        ("taksId: t, state: runing", "taksId", "'taksId' does not exist: did you mean 'taskId'?"),
        ("nodes: 1", "nodes", "'nodes' cannot be asked of a run, only of a pool"),
        ("poolId: null, cost: 1", "poolId", "must be an id: null is as good as nothing"),
    ],
)
def test_a_misspelt_subject_is_named_and_its_properties_are_not_asked_of_the_run(when, path, message):
    text = HEAD + f"timeline:\n  - {{when: {{{when}}}, deletePool: {{poolId: p}}}}\n"
    with pytest.raises(ScenarioError) as caught:
        load("m.yaml", text=text)
    found = [problem for problem in caught.value.problems if problem.path.startswith("timeline")]
    assert [(problem.path, problem.message) for problem in found] == [(f"timeline[0].when.{path}", message)]


def test_a_process_that_misspells_a_subject_is_not_told_what_its_own_job_has():
    does = "[{when: {nod: 1, state: runing}, terminateJob: {}}]"
    task = f"{{id: t, commandLine: x, simulate: {{duration: PT1M, does: {does}}}}}"
    with pytest.raises(ScenarioError) as caught:
        load("m.yaml", text=HEAD + f"jobs:\n  - {{id: j, poolInfo: {{poolId: p}}, tasks: [{task}]}}\n")
    assert [problem.message for problem in caught.value.problems] == ["'nod' does not exist: did you mean 'node'?"]


AT_ONCE = """\
scenario: s
until: PT2X
pools:
  - {id: p, vmSize: standard_d2s_v33, targetDedicatedNodes: one, resizeTimeout: PT1M}
  - {id: q, vmSize: standard_d2s_v3, enableAutoScale: true, displayName: [], autoScaleFormula: "x = (1;"}
  - {id: "r r", targetDedicatedNodes: 1, taskSlotsPerNode: 0}
jobs:
  - id: j
    priority: 5000
    onAllTasksComplete: terminate
    poolInfo: {poolId: p}
    jobReleaseTask: {commandLine: x}
    tasks:
      - {id: "a b", commandLine: work, simulate: {duration: PT1Z}}
      - {id: b, dependsOn: {taskIds: [a]}}
      - commandLine: x
        exitConditions: {exitCodes: [{code: x}], exitCodeRanges: [{start: 2, end: 1, exitOptions: {}}]}
jobSchedules:
  - {id: "s s", schedule: {recurrenceInterval: PT1S, startWindow: x}, jobSpecification: {priority: 2000}}
expect:
  - {at: PT5M, jobId: jj, state: complete}
"""


def test_all_mistakes_of_a_body_are_told_in_one_round_in_the_order_of_the_file():
    assert [(problem.line, problem.path) for problem in mistakes(AT_ONCE)] == [
        (2, "until"),
        (4, "pools[0].vmSize"),
        (4, "pools[0].targetDedicatedNodes"),
        (4, "pools[0].resizeTimeout"),
        (5, "pools[1].displayName"),
        (5, "pools[1].autoScaleFormula"),
        (6, "pools[2].vmSize"),
        (6, "pools[2].id"),
        (9, "jobs[0].priority"),
        (10, "jobs[0].onAllTasksComplete"),
        (12, "jobs[0].jobReleaseTask"),
        (14, "jobs[0].tasks[0].id"),
        (14, "jobs[0].tasks[0].simulate.duration"),
        (15, "jobs[0].tasks[1].commandLine"),
        (15, "jobs[0].tasks[1].dependsOn"),
        (16, "jobs[0].tasks[2].id"),
        (17, "jobs[0].tasks[2].exitConditions.exitCodes[0].exitOptions"),
        (17, "jobs[0].tasks[2].exitConditions.exitCodes[0].code"),
        (17, "jobs[0].tasks[2].exitConditions.exitCodeRanges[0]"),
        (19, "jobSchedules[0].id"),
        (19, "jobSchedules[0].schedule.recurrenceInterval"),
        (19, "jobSchedules[0].schedule.startWindow"),
        (19, "jobSchedules[0].jobSpecification.poolInfo"),
        (19, "jobSchedules[0].jobSpecification.priority"),
        (21, "expect[0].jobId"),
        (21, "expect[0].state"),
    ]


ALONE = [
    "pools: [{id: p, vmSize: 5, targetDedicatedNodes: 1}]",
    "pools: [{id: p, targetDedicatedNodes: 1, taskSlotsPerNode: 2}]",
    "pools: [{id: p, vmSize: standard_d2s_v3, targetDedicatedNodes: one}]",
    "pools: [{id: p, vmSize: standard_d2s_v3, enableAutoScale: yes!, autoScaleFormula: $TargetDedicatedNodes = 1}]",
    "pools: [{id: p, vmSize: standard_d2s_v3, enableAutoscale: true, autoScaleFormula: $TargetDedicatedNodes = 1}]",
    "pools: [{id: p, vmSize: standard_d2s_v3, targetDedicatedNodes: 1, applicationPackageReferences: [{version: a}]}]",
    "jobs: [{id: j, poolInfo: 5}]",
    "jobs: [{id: j}]",
    "jobs: [{id: j, poolInfo: {poolId: 5}}]",
    "jobs: [{id: j, poolInfo: {poolId: p}, jobPreparationTask: 5, jobReleaseTask: {commandLine: x}}]",
    "jobs: [{id: j, poolInfo: {poolId: p}, jobReleaseTask: {commandLine: x, maxWallClockTime: x}, "
    "jobPreparationTask: {commandLine: x}}]",
    "jobs: [{id: j, poolInfo: {poolId: p}, usesTaskDependencies: oui, tasks: [{id: a, commandLine: x}, "
    "{id: b, commandLine: x, dependsOn: {taskIds: [a]}}]}]",
    "jobs: [{id: j, poolInfo: {poolId: p}, onTaskFailure: x, tasks: [{id: a, commandLine: x, exitConditions: "
    "{default: {jobAction: terminate}}}]}]",
    "jobs: [{id: j, poolInfo: {poolId: p}, tasks: [{id: a, commandLine: x, resourceFiles: [{httpUrl: 5}]}]}]",
    "timeline: [{at: 5, rebootNode: {poolId: p, node: x}}]",
]


@pytest.mark.parametrize("text", ALONE)
def test_nothing_is_told_of_what_only_follows_from_a_mistake(text):
    (_,) = mistakes(f"scenario: s\n{text}\n")


def test_tasks_without_ids_have_no_id_in_common():
    found = mistakes(f"{HEAD}jobs: [{{id: j, poolInfo: {{poolId: p}}, tasks: [{{commandLine: x}}, {{}}]}}]\n")
    missing = ["tasks[0].id", "tasks[1].id", "tasks[1].commandLine"]
    assert [problem.path for problem in found] == [f"jobs[0].{path}" for path in missing]
