"""Tests of loading: the content of a file becomes a Scenario."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from engine.base.errors import ScenarioError
from engine.base.values import HOUR_MS, MINUTE_MS, SECOND_MS
from engine.scenario.load import load
from engine.scenario.model import Options
from engine.scenario.text import bundled
from engine.specs.base import Distribution
from engine.specs.commands import AddTasks, CreateJob, RebootNode
from engine.specs.conditions import Bounds, ConditionSubject, SubjectKind, Verbatim

SCENARIO = """\
scenario: night
description: A run.
seed: 7
startTime: 2026-02-03T04:05:06Z
until: PT4H
account:
  name: contoso
  quotas: {dedicatedCores: 20}
options: {classicNodeIds: true}
simulate:
  nodes: {starting: 30}
  tasks: {duration: PT2M}
  storage: {"https://*/in/*": {size: 4 GB}}
  network: {"*/subnets/a": {freeAddresses: 3}}
pools:
  - {id: shared, vmSize: STANDARD_D2S_v3, targetDedicated: 2, maxTasksPerNode: 2}
jobs:
  - id: risk
    at: 2026-02-03T04:06:06Z
    poolInfo: {poolId: Shared}
    jobManagerTask: {id: boss, commandLine: x}
    tasks:
      - {id: first, commandLine: x, simulate: {exitCode: {0: 0.9, 1: 0.1}, onNode: {1: {exitCode: 1}}}}
    taskFactory:
      type: parametricSweep
      parameterSets: [{start: 1, end: 3}]
      repeatTask: {id: "deal-{0}", commandLine: "price {0}"}
jobSchedules:
  - {id: daily, at: 60, schedule: {recurrenceInterval: PT1H}, jobSpecification: {poolInfo: {poolId: shared}}}
timeline:
  - {at: PT2M, rebootNode: {poolId: shared, node: 1}, refused: NodeNotReady}
  - {when: {jobId: RISK, tasks: {completed: {atLeast: 2}}}, after: 90, deleteJob: {jobId: risk}}
  - at: 5
    createJob:
      id: late
      poolInfo: {poolId: shared}
      tasks: [{id: a, commandLine: x}]
      taskFactory: {type: taskCollection, tasks: [{id: b, commandLine: x}]}
  - {at: 6, addTasks: {jobId: late, value: [{id: c, commandLine: x}]}}
expect:
  - {jobId: risk, state: Completed, within: PT2H}
  - {jobId: risk, taskId: DEAL-3, node: 1}
  - {jobId: risk, taskId: boss, result: success}
  - {jobId: late, taskId: c, retryCount: 0}
  - {jobId: "daily:job-2", state: null}
  - {jobScheduleId: DAILY, state: active, jobs: {atLeast: 1}}
  - {poolId: shared, node: 0, file: {shared/a.txt: "x", b: null}}
  - {poolId: shared, nodeId: tvm-1, state: idle, at: 60}
  - {poolId: shared, nodes: {idle: 2}, resizeErrors: []}
  - {events: {NodeStateChanged: {atMost: 9}}, makespan: {atMost: PT2H}, cost: 2.5}
"""


@pytest.fixture(scope="module")
def night():
    return load("night.yaml", text=SCENARIO)


def test_the_run_as_a_whole(night):
    assert (night.name, night.description, night.seed) == ("night", "A run.", 7)
    assert night.start == datetime(2026, 2, 3, 4, 5, 6, tzinfo=UTC)
    assert night.until_ms == 4 * HOUR_MS
    assert night.account.name == "contoso"
    assert night.account.quotas.dedicated_cores == 20
    assert night.options == Options(classic_node_ids=True)
    assert night.simulate.nodes.starting == Distribution.constant(30 * SECOND_MS)
    assert night.simulate.tasks.duration == Distribution.constant(2 * MINUTE_MS)
    assert [(glob, storage.size) for glob, storage in night.simulate.storage] == [("https://*/in/*", 4_000_000_000)]
    assert [(glob, network.free_addresses) for glob, network in night.simulate.network] == [("*/subnets/a", 3)]


def test_pools_jobs_and_schedules(night):
    (pool,), (job,), (schedule,) = night.pools, night.jobs, night.job_schedules
    assert (pool.at_ms, pool.spec.target_dedicated_nodes, pool.spec.task_slots_per_node) == (0, 2, 2)
    assert (job.at_ms, job.spec.id, [task.id for task in job.tasks]) == (MINUTE_MS, "risk", ["first"])
    assert job.tasks[0].simulate.exit_code == ((0, 0.9), (1, 0.1))
    assert job.tasks[0].simulate.on_node[1].exit_code == 1
    assert [job.factory.task_id(k) for k in range(job.factory.count)] == ["deal-1", "deal-2", "deal-3"]
    assert (schedule.at_ms, schedule.spec.schedule.recurrence_interval) == (MINUTE_MS, HOUR_MS)


def test_timeline(night):
    reboot, delete, create, add = night.timeline
    assert (reboot.at_ms, reboot.command, reboot.refused) == (
        2 * MINUTE_MS,
        RebootNode(pool_id="shared", node=1),
        "NodeNotReady",
    )
    assert (delete.at_ms, delete.after_ms, delete.when.wanted) == (
        None,
        90 * SECOND_MS,
        {"tasks": {"completed": Bounds(at_least=2)}},
    )
    assert isinstance(create.command, CreateJob)
    assert [task.id for task in create.tasks] == ["a", "b"]
    assert isinstance(add.command, AddTasks)
    assert [task.id for task in add.tasks] == ["c"]


def test_expectations(night):
    assert [entry.condition.subject for entry in night.expect] == [
        ConditionSubject(SubjectKind.JOB, job_id="risk"),
        ConditionSubject(SubjectKind.TASK, job_id="risk", task_id="DEAL-3"),
        ConditionSubject(SubjectKind.TASK, job_id="risk", task_id="boss"),
        ConditionSubject(SubjectKind.TASK, job_id="late", task_id="c"),
        ConditionSubject(SubjectKind.JOB, job_id="daily:job-2"),
        ConditionSubject(SubjectKind.JOB_SCHEDULE, job_schedule_id="DAILY"),
        ConditionSubject(SubjectKind.NODE, pool_id="shared", node_index=0),
        ConditionSubject(SubjectKind.NODE, pool_id="shared", node_id="tvm-1"),
        ConditionSubject(SubjectKind.POOL, pool_id="shared"),
        ConditionSubject(SubjectKind.RUN),
    ]
    assert [entry.condition.wanted for entry in night.expect] == [
        {"state": "completed"},
        {"node": 1},
        {"result": "success"},
        {"retryCount": 0},
        {"state": None},
        {"state": "active", "jobs": Bounds(at_least=1)},
        {"file": {"shared/a.txt": Verbatim("x"), "b": None}},
        {"state": "idle"},
        {"nodes": {"idle": 2}, "resizeErrors": ()},
        {"events": {"NodeStateChanged": Bounds(at_most=9)}, "makespan": Bounds(at_most=7200.0), "cost": 2.5},
    ]
    assert night.expect[0].within_ms == 2 * HOUR_MS
    assert night.expect[0].as_written == {"jobId": "risk", "state": "Completed", "within": "PT2H"}
    assert night.expect[7].at_ms == MINUTE_MS


def test_lines_lead_back_to_the_file(night):
    lines = SCENARIO.splitlines()
    assert lines[night.jobs[0].line - 1] == "  - id: risk"
    assert lines[night.timeline[2].line - 1] == "  - at: 5"


def test_defaults_are_those_of_the_contract():
    scenario = load("s", text="scenario: s")
    assert scenario.start == datetime(2026, 1, 5, 8, tzinfo=UTC)
    assert (scenario.seed, scenario.until_ms, scenario.account.name) == (0, None, "batchdeck")
    assert scenario.pools == scenario.jobs == scenario.timeline == scenario.expect == ()


def test_json_is_yaml_too():
    body = {
        "scenario": "s",
        "description": "a \N{SLIGHTLY SMILING FACE} \\ud83d",
        "pools": [{"id": "p", "vmSize": "standard_d2s_v3", "targetDedicatedNodes": 1, "metadata": None}],
        "jobs": [{"id": "j", "poolInfo": {"poolId": "p"}, "tasks": [{"id": "t", "commandLine": "a\tb\n/ \u2028"}]}],
    }
    for text in (json.dumps(body), json.dumps(body, indent="\t"), json.dumps(body, separators=(",", ":"))):
        scenario = load("s.json", text=text)
        assert scenario.description == body["description"]
        assert scenario.jobs[0].tasks[0].command_line == "a\tb\n/ \u2028"


@pytest.mark.parametrize("word", ["on", "no", "Yes", "08:30", "1_000", "2026-01-05", "0b1", "=", "1.2.3", "~x"])
def test_words_that_yaml_1_1_would_change_are_text(word):
    assert load("s", text=f"scenario: s\ndescription: {word}").description == word


def test_null_is_absent():
    text = "scenario: s\nuntil:\nseed: null\npools:\ntimeline: ~\nexpect:\naccount:\n"
    assert load("s", text=text) == load("s", text="scenario: s")


def test_anchors_and_merges():
    text = """\
scenario: s
pools:
  - &a {id: a, vmSize: standard_d2s_v3, targetDedicatedNodes: 1, startTask: &s {commandLine: x}}
  - {<<: *a, id: b, startTask: {<<: [*s, {commandLine: y}], waitForSuccess: false}}
"""
    a, b = (entry.spec for entry in load("s", text=text).pools)
    assert b.start_task.command_line == "x"
    assert (b.id, b.target_dedicated_nodes, b.start_task.wait_for_success) == ("b", 1, False)
    assert a.start_task.wait_for_success


def test_a_job_may_name_a_pool_that_never_exists_and_the_timeline_anything():
    text = """\
scenario: s
jobs: [{id: j, poolInfo: {poolId: nowhere}}]
timeline: [{at: 1, deleteJob: {jobId: nobody}}, {at: 2, deletePool: {poolId: nobody}}]
"""
    assert len(load("s", text=text).timeline) == 2


def test_pools_of_auto_pools_can_be_named_once_their_id_is_known():
    text = """\
scenario: s
jobs:
  - id: j
    poolInfo: {autoPoolSpecification: {autoPoolIdPrefix: ap, poolLifetimeOption: job, pool: {vmSize: standard_d2s_v3}}}
expect:
  - {poolId: ap_01234567-89AB-CDEF-0123-456789ABCDEF, state: active}
"""
    assert load("s", text=text).expect[0].condition.subject.pool_id.startswith("ap")
    with pytest.raises(ScenarioError, match="creates the pool 'ap1'"):
        load("s", text=text.replace("ap_01234567-89AB-CDEF-0123-456789ABCDEF", "ap1"))


def test_a_mistake_in_a_job_does_not_make_expectations_about_it_mistakes():
    text = """\
scenario: s
jobs:
  - {id: j, poolInfo: {poolId: p}, priority: high, taskFactory: {type: parametricSweep}}
expect:
  - {jobId: j, taskId: any, state: completed}
"""
    with pytest.raises(ScenarioError) as caught:
        load("s", text=text)
    assert {problem.line for problem in caught.value.problems} == {3}


@pytest.mark.parametrize("name", bundled())
def test_bundled_scenarios_load_by_name(name):
    assert load(name).name == name


ARM = "a template of the resource manager; batchdeck import reads it"
AZ = "a template of the Azure CLI's batch extension; batchdeck import reads it"
OTHERS = {
    "contentVersion: 1\nresources: [{type: Microsoft.Batch/x/pools, name: a/shared}]": f"{ARM}: a/shared",
    "resources: {a: {type: Microsoft.Batch/batchAccounts/pools, name: shared}}\noutputs: {}": f"{ARM}: shared",
    '{\n  // the pool\n  "$schema": "https://x/deploymentTemplate.json#",\n  "resources": []\n}': ARM,
    "$schema: https://x/deploymentParameters.json\nparameters: {}": "the parameters of a template: ",
    "parameters: {}\npool: {properties: {id: shared, vmSize: x}}": f"{AZ}: shared",
    "parameters: {}\njob: {type: Microsoft.Batch/batchAccounts/jobs, properties: {}}": AZ,
    "startTask: {commandLine: x}\nmetadata: []": "`az batch pool set`: it belongs under 'updatePool:'",
    "priority: 5": "`az batch job set`: it belongs under 'updateJob:'",
    "{id: p, vmSize: x}": "the body of a pool: it belongs under 'pools:'",
    "[{id: p, vmSize: x}, {}]": "a list, whose first entry is the body of a pool: ",
    "type: Microsoft.Batch/batchAccounts/pools\nproperties: {}": "a resource: that of a pool belongs under 'pools:'",
    "scenario: s\npools: []\nsummary: {}": "the result of a run: ",
    'terraform {\n}\nresource "azurerm_batch_pool" "shared" {\n  name = "p"\n}': "terraform show .*: shared",
    "param a b = 'b'\nresource shared 'Microsoft.Batch/batchAccounts/pools' = {\n  name: a\n}": "az bicep .*: shared",
    "process {\n  executor = 'azurebatch'\n}": "Nextflow: ",
    "--env X\t--input Y\na\tb": "dsub: ",
    "name: c\nvmSize: x\npoolSize: {}\ncommandLine: []": "doAzureParallel: ",
    "pool_specification: {id: p, vm_size: x}": "Batch Shipyard: ",
    "apiVersion: v1\nkind: Pod\n---\napiVersion: v1\nkind: Service": "Kubernetes: ",
    "name: ci\non: [push]\njobs: {build: {}}": "GitHub Actions: ",
    "trigger: [main]\npool: {vmImage: x}\nsteps: []": "Azure Pipelines: ",
    "services: {web: {image: x}}": "Docker Compose: ",
    "jobDefinitionName: x\ncontainerProperties: {}": "AWS Batch: ",
    "Resources: {a: {Type: b, c: !Ref d}}": "AWS CloudFormation: ",
    "executor: azure-batch\njobs: 3\ndefault-resources: []": "Snakemake: ",
    "version: 2\nworkflows: {}\njobs: {build: {}}": "this is no scenario: it has version, workflows, and",
    "colour: red\nweight: 5": "this is no scenario: it has colour, weight, and a scenario begins with 'scenario: NAME'",
}


@pytest.mark.parametrize(("text", "words"), OTHERS.items())
def test_a_document_that_is_no_scenario_is_named_in_one_sentence(text, words):
    with pytest.raises(ScenarioError, match=words) as caught:
        load("other", text=text)
    assert len(caught.value.problems) == 1


@pytest.mark.parametrize("text", ["scenari: x\npools: []", "pools: [{id: p, vmSize: x}]", "scenario: s\nservices: {}"])
def test_a_document_that_may_be_meant_as_a_scenario_is_read_as_one(text):
    with pytest.raises(ScenarioError) as caught:
        load("other", text=text)
    assert "this is" not in str(caught.value)
