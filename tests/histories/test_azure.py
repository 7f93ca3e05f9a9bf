"""Histories of Azure Batch as scenarios: a replay does what really happened."""

from __future__ import annotations

import json

import pytest

from engine.base.errors import ScenarioError
from engine.histories.azure import imported
from engine.histories.files import PoolShape, scenario_lines
from engine.histories.history import read_history
from engine.scenario.load import load
from engine.scenario.text import bundled
from tests.histories.dialects import DIALECTS, state_of, written
from tests.histories.replays import differences, import_text

FAITHFUL = (
    "a-certificate-in-use",
    "a-day-of-autoscaling",
    "a-formula-that-never-grows",
    "a-full-disk",
    "a-new-guest-os-release",
    "a-new-version-of-the-pricer",
    "a-quota-is-raised",
    "a-resize-is-stopped",
    "drain-with-taskcompletion",
    "early-node-runs-everything",
    "every-way-to-end-a-job",
    "fetched-once-or-by-every-task",
    "job-ends-while-preparing",
    "job-prep-release-sample",
    "job-schedules-by-hand",
    "market-data-once-per-node",
    "mpi-on-four-nodes",
    "nightly-schedule-overruns",
    "nodes-for-a-deadline",
    "one-pool-per-scheduled-job",
    "packages-against-preparation",
    "pipeline-with-dependencies",
    "pool-from-an-arm-template",
    "preparation-fails-everywhere",
    "preparation-fails-on-one-node",
    "preparation-retries",
    "reboot-after-preparation",
    "reboot-during-preparation",
    "reboot-during-release",
    "reboot-retries-preparation",
    "reboot-without-rerun",
    "reimage-clears-the-bar",
    "release-after-preparation",
    "release-fails",
    "release-times-out",
    "retries-of-flaky-tasks",
    "scaling-by-what-nodes-do",
    "shared-pool-two-jobs",
    "shell-in-preparation",
    "subnet-too-small",
    "wait-for-success-off",
    "what-a-pool-is-refused-for",
)
# What really happened in the others has left no trace in the objects that the service returns.
NOT_TOLD = {
    "a-blocked-subnet": "its first nodes never came into use, and have left without a trace",
    "a-forgotten-upload": "an upload fails for want of a container, which no object tells",
    "a-missed-occurrence": "its jobs wait for nodes that a formula has never given",
    "delete-without-terminate": "no job is left",
    "disabled-jobs-that-end": "nothing tells when a job was disabled that has ended since",
    "how-long-files-are-kept": "no job is left",
    "job-manager-adds-tasks": "of a job manager only the last attempt is told, which held a node for itself before",
    "job-manager-is-restarted": "of a job manager only the last attempt is told, which held a node for itself before",
    "mpi-in-trouble": "a retry that a lost node has caused is told as one of the task's own",
    "node-removed-during-release": "a release ended with its node",
    "node-removed-while-preparing": "tasks lost their node in the middle of its preparation",
    "nodes-fail-and-recover": "nodes failed and recovered, which no object tells afterwards",
    "offline-and-unusable-at-the-end": "two nodes were taken out of use while tasks ran on them",
    "os-upgrade-by-domains": "nodes were upgraded, one group after the other",
    "pool-deleted-with-everything-in-it": "pools were deleted with the tasks that ran there",
    "priorities-and-fairness": "a job had another priority before",
    "quota-keeps-the-pool-small": "no job is left",
    "repairing-nodes": "nodes were reimaged and deallocated",
    "retries-and-exit-conditions": "tasks were reactivated, and a job was disabled for a while",
    "six-steps-to-a-result": "no job is left",
    "spot-evictions": "nodes were evicted while tasks ran there",
    "spot-night-by-rate": "nodes were evicted again and again",
    "spot-night-run": "nodes were evicted again and again",
    "spot-or-dedicated": "nodes were evicted again and again",
    "stages-hand-over-blobs": "an upload fails for want of a container, which no object tells",
    "storage-trouble": "storage was out of reach for a while",
    "terminate-then-delete": "no job is left",
    "which-formula": "the pool and with it all nodes are deleted",
}


@pytest.mark.parametrize("name", FAITHFUL)
def test_a_run_exported_and_imported_again_is_the_same_run(name, tmp_path):
    dialect = list(DIALECTS)[FAITHFUL.index(name) % len(DIALECTS)]
    assert differences(state_of(load(name)), tmp_path, dialect) == []


SCALED_AND_MANAGED = """
scenario: scaled-and-managed
startTime: 2026-01-05T08:00:00Z
until: PT30M
simulate: {nodes: {allocation: PT40S, starting: PT20S, ready: PT60S}}
pools:
  - id: elastic
    vmSize: standard_d2s_v3
    enableAutoScale: true
    autoScaleFormula: |
      $TargetDedicatedNodes = time() < time("2026-01-05T08:10:00Z") ? 3 : 1;
      $NodeDeallocationOption = taskcompletion;
    simulate:
      onNode:
        1: {ready: PT90S}
        2: {ready: PT100S}
jobSchedules:
  - id: hourly
    schedule: {recurrenceInterval: PT1H}
    jobSpecification:
      poolInfo: {poolId: elastic}
      jobPreparationTask: {commandLine: prepare, simulate: {duration: PT3M}}
      jobManagerTask:
        id: manager
        commandLine: manage
        simulate:
          does:
            - {after: PT5M, addTasks: {tasks: [{id: x, commandLine: work, simulate: {duration: PT10M}}]}}
          until: othersCompleted
"""


def test_a_job_manager_ends_after_its_tasks_and_nodes_are_ready_before_there_is_work(tmp_path):
    state = state_of(load("scaled-and-managed", text=SCALED_AND_MANAGED))
    assert differences(state, tmp_path, "rest") == []
    found = imported(read_history([tmp_path]))
    own = found.document["pools"][0]["simulate"]["onNode"]
    assert [own[index]["ready"] for index in (0, 1, 2)] == ["PT1M"] * 3  # as the node that was waited for
    assert found.document["simulate"]["nodes"]["ready"] == "PT1M"
    assert any("2 nodes, of which nothing tells when they were ready" in each for each in found.assumptions)
    assert [each.message.split(".")[0] for each in found.warnings] == [
        "the pool scaled itself",
        "the job manager may have added tasks",
    ]


def test_every_bundled_scenario_is_replayed_or_has_a_reason_why_not():
    assert sorted((*FAITHFUL, *NOT_TOLD)) == list(bundled())


@pytest.mark.parametrize("name", NOT_TOLD)
def test_histories_that_do_not_tell_everything_are_imported_all_the_same(name, tmp_path):
    """A replay is a scenario without warnings even where it differs; without any job there is none."""
    state = state_of(load(name))
    if state["jobs"]:
        differences(state, tmp_path, "rest")
    else:
        written(state, tmp_path, "rest")
        with pytest.raises(ScenarioError, match=r"no job|nothing in it"):
            imported(read_history([tmp_path]))


def test_of_a_job_of_which_there_are_only_tasks_the_rest_is_assumed(tmp_path):
    state = state_of(load("shared-pool-two-jobs"))
    (tmp_path / "tasks.json").write_text(json.dumps([task for job in state["jobs"] for task in job["tasks"]]))
    made = imported(read_history([tmp_path]))
    (pool,) = state["pools"]
    assert [one["id"] for one in made.document["pools"]] == [pool["id"]]
    assert [job["id"] for job in made.document["jobs"]] == [job["id"] for job in state["jobs"]]
    assert [job["poolInfo"] for job in made.document["jobs"]] == [{"poolId": pool["id"]}] * len(state["jobs"])
    assert any("of which there is no body, has" in sentence for sentence in made.assumptions)
    load("imported", text=import_text(tmp_path), strict=True)


def test_tasks_in_the_order_of_their_ids_are_added_in_the_order_of_their_starts(tmp_path):
    state = state_of(load("nodes-for-a-deadline"))
    for job in state["jobs"]:
        job["tasks"].sort(key=lambda task: task["id"])
    assert differences(state, tmp_path, "rest") == []


def test_what_a_scenario_cannot_have_is_left_out_and_named(tmp_path):
    state = state_of(load("job-prep-release-sample"))
    (pool,) = state["pools"]
    pool |= {"vmSize": "standard_unheard_of", "brandNew": True, "upgradePolicy": {"mode": "manual"}}
    made_of = [pool, *state["jobs"]]
    (tmp_path / "all.json").write_text(json.dumps(made_of))
    text = import_text(tmp_path)
    load("imported", text=text, strict=True)
    assert "brandNew" not in text
    assert "upgradePolicy" not in text
    assert "it is replaced by small: vmSize of pool 'JobPrepReleaseSamplePool'." in text


def test_a_size_that_check_warns_of_is_replaced_by_a_similar_one(tmp_path):
    state = state_of(load("job-prep-release-sample"))
    (pool,) = state["pools"]
    pool |= {"vmSize": "standard_nc6s_v3"}
    (tmp_path / "all.json").write_text(json.dumps([pool, *state["jobs"]]))
    text = import_text(tmp_path)
    load("imported", text=text, strict=True)
    assert "it is replaced by standard_nc8as_t4_v3: vmSize of pool 'JobPrepReleaseSamplePool'." in text


REBOOTED_EARLY = """
scenario: rebooted-early
startTime: 2026-01-05T08:00:00Z
until: PT30M
simulate: {nodes: {allocation: PT40S, ready: PT60S}}
pools:
  - id: shared
    vmSize: standard_d2s_v3
    targetDedicatedNodes: 4
    simulate:
      onNode:
        0: {starting: PT20S}
        1: {starting: PT22S}
        2: {starting: PT20S}
        3: {starting: PT25S}
jobs:
  - id: risk
    poolInfo: {poolId: shared}
    jobPreparationTask: {commandLine: prepare, simulate: {duration: PT2M}}
    taskFactory:
      type: parametricSweep
      parameterSets: [{start: 1, end: 40}]
      repeatTask: {id: "deal-{0}", commandLine: work}
timeline:
  - {at: PT2M30S, rebootNode: {poolId: shared, node: 1}}
"""


def test_nodes_that_rebooted_are_no_sample_of_how_long_nodes_take_to_start(tmp_path):
    """While a job is prepared, nothing but the late boot tells of the reboot."""
    state = state_of(load("rebooted-early", text=REBOOTED_EARLY))
    written(state, tmp_path, "rest")
    found = imported(read_history([tmp_path]))
    own = found.document["pools"][0]["simulate"]["onNode"]
    assert own[1] == {"allocation": "PT40S", "starting": "PT2M55.443S", "ready": "PT5S"}
    starting = {"lognormal": ["PT21.544S", 0.1052]}  # of the other three: 20 s, 20 s and 25 s
    assert found.document["simulate"] == {"nodes": {"allocation": "PT40S", "starting": starting, "ready": "PT1M"}}
    assert found.assumptions[-1].startswith("Assumed: 1 node rebooted")


WIDE = """
scenario: wide
until: PT30M
pools: [{id: shared, vmSize: standard_d8s_v3, targetDedicatedNodes: 1, taskSlotsPerNode: 4}]
jobs:
  - id: risk
    poolInfo: {poolId: shared}
    tasks:
      - {id: a, commandLine: work, requiredSlots: 2}
      - {id: b, commandLine: work, requiredSlots: 2}
      - {id: never, commandLine: work, requiredSlots: 8}
"""


@pytest.mark.parametrize(
    ("has_pool", "slots", "wanted"), [(True, None, [2, 2, 4]), (False, None, [2, 2, 4]), (True, 1, [1, 1, 1])]
)
def test_tasks_require_no_more_slots_than_a_node_has(tmp_path, has_pool, slots, wanted):
    """An assumed pool has the slots that were in use at once; --slots may leave fewer."""
    state = state_of(load("wide", text=WIDE))
    written(state if has_pool else state | {"pools": []}, tmp_path, "rest")
    made = imported(read_history([tmp_path]), PoolShape(None, slots))
    assert made.document["pools"][0].get("taskSlotsPerNode", 1) == (slots or 4)
    assert [task.get("requiredSlots", 1) for task in made.document["jobs"][0]["tasks"]] == wanted
    assert any("required more slots than a node of the pool has" in each.message for each in made.warnings)
    load("imported", text="\n".join(scenario_lines(made)) + "\n", strict=True)


URL = "https://contoso.westeurope.batch.azure.com"
TIMES = ("2024-01-01T00:00:30Z", "2024-01-01T00:01:00Z")


def told_task(task_id="t", **more):
    """A task that has run, as `az batch task list` prints it."""
    info = dict(zip(("startTime", "endTime"), TIMES, strict=True)) | {"exitCode": 0}
    where = {"poolId": "p", "nodeId": "n1"}
    known = {"id": task_id, "url": f"{URL}/jobs/j/tasks/{task_id}", "commandLine": "work", "nodeInfo": where}
    return known | {"creationTime": "2024-01-01T00:00:00Z", "state": "completed", "executionInfo": info} | more


def status(name, **more):
    """An entry of the status of preparation or release tasks."""
    directory = f"workitems/j/job-1/{name}"
    info = {"startTime": "2024-01-01T00:00:10Z", "endTime": "2024-01-01T00:00:20Z", "exitCode": 0}
    return {"poolId": "p", "nodeId": "n1", name: info | {"taskRootDirectory": directory} | more}


POOL = {"id": "p", "vmSize": "standard_d2s_v3", "targetDedicatedNodes": 1}
JOB = {"id": "j", "poolInfo": {"poolId": "p"}, "creationTime": "2024-01-01T00:00:00Z", "state": "active"}
OF_JOB = {"poolLifetimeOption": "job"}
NODE = {"id": "n1", "url": f"{URL}/pools/p/nodes/n1", "isDedicated": True, "state": "idle", "affinityId": "TVM:n1"}


@pytest.mark.parametrize(
    ("objects", "words"),
    [
        ([told_task(), status("jobPreparationTaskExecutionInfo")], ["has a jobPreparationTask", "'j'"]),
        ([told_task(), status("jobReleaseTaskExecutionInfo")], ["has a jobPreparationTask", "has a jobReleaseTask"]),
        ([JOB, told_task(), status("jobPreparationTaskExecutionInfo")], ["a jobPreparationTask, of unknown command"]),
        (
            [JOB | {"jobPreparationTask": {"commandLine": "prepare"}}, told_task()],
            ["a jobPreparationTask of which no status tells takes PT5S and succeeds: job 'j'."],
        ),
        (
            [told_task(state="running", executionInfo={"startTime": TIMES[0]})],
            ["a task that has not ended takes as long as others of its job, PT1M", "exit code 0: job 'j', task 't'."],
        ),
        (
            [told_task(), *(told_task(f"x{n}", state="active", executionInfo={}) for n in range(3))],
            ["a task that has not started takes", "job 'j', task 'x0', and 2 more."],
        ),
        ([told_task(executionInfo={})], ["nothing tells when it ran takes", "job 'j', task 't'."]),
        (
            [told_task(executionInfo=dict(zip(("startTime", "endTime"), TIMES, strict=True)))],
            ["a task of which nothing tells the exit code ends with exit code 0: job 'j', task 't'."],
        ),
        ([JOB, told_task(creationTime=None)], ["nothing tells the creation is added with its job: job 'j', task 't'."]),
        ([told_task(nodeInfo=None)], ["a job of which nothing tells the pool", "the pool pool, of which there is no"]),
        (
            [told_task(), told_task("u", dependsOn={"taskIds": ["t"]})],
            ["a job with tasks that depend on others uses task dependencies: job 'j'."],
        ),
        ([JOB | {"state": "completed"}, told_task()], ["nothing tells the end does not end: job 'j'."]),
        ([JOB, POOL | {"targetDedicatedNodes": None}], ["nothing tells the targets has 1 node: pool 'p'."]),
        ([JOB, POOL, NODE], ["nothing tells when it came: pool 'p', node 'n1'."]),
        ([JOB, POOL | {"startTask": {"commandLine": "x"}}], ["a start task of which no node tells", "pool 'p'."]),
        (
            [{"id": "j", "poolInfo": {"autoPoolSpecification": OF_JOB | {"pool": {}}}}, told_task()],
            ["a pool of which nothing tells the size of nodes has standard_d2s_v3"],
        ),
        ([told_task(multiInstanceSettings={"numberOfInstances": 1, "coordinationCommandLine": "x"})], ["the pool p,"]),
        ([JOB | {"onAllTasksComplete": "terminatejob"}], ["of which no task is listed ends when it did, or not"]),
        ([JOB, told_task(resourceFiles=[{"filePath": "x"}])], ["left out: resourceFiles"]),
    ],
)  # fmt: skip
def test_what_is_assumed_is_told_with_the_ids(objects, words, tmp_path):
    (tmp_path / "all.json").write_text(json.dumps(objects))
    made = imported(read_history([tmp_path]))
    told = "\n".join((*made.assumptions, *(str(warning) for warning in made.warnings)))
    assert [each for each in words if each not in told] == []
    load("imported", text=import_text(tmp_path), strict=True)


def test_what_a_scenario_cannot_have_is_left_out_of_all_tasks_that_are_alike(tmp_path):
    files = [{"filePath": "x"}, {"filePath": "y", "httpUrl": "https://store/y"}]
    early = [told_task(f"t{number}", resourceFiles=files, displayName="same") for number in range(3)]
    late = [each | {"id": f"u{number}", "creationTime": "2024-01-01T00:00:05Z"} for number, each in enumerate(early)]
    (tmp_path / "all.json").write_text(json.dumps([JOB, *early, *late]))
    made = imported(read_history([tmp_path])).document
    tasks = [*made["jobs"][0]["tasks"], *made["timeline"][0]["addTasks"]["tasks"]]
    assert [task["id"] for task in tasks] == ["t0", "t1", "t2", "u0", "u1", "u2"]
    assert [task["resourceFiles"] for task in tasks] == [files[1:]] * 6
    load("imported", text=import_text(tmp_path), strict=True)


@pytest.mark.parametrize("objects", [[NODE], [POOL], [status("jobPreparationTaskExecutionInfo")], [POOL, NODE]])
def test_without_any_job_or_task_there_is_a_sentence(objects, tmp_path):
    (tmp_path / "all.json").write_text(json.dumps(objects))
    with pytest.raises(ScenarioError, match="there is no job and no task in the files: a scenario begins with the"):
        imported(read_history([tmp_path]))
