"""Chapters 1 and 26: ids, times, spellings, and the errors of the service."""

from __future__ import annotations

import inspect

import pytest

from engine.base.errors import FAILURE_EXIT_CODE, BatchError, ErrorCategory, ended, failure
from engine.base.terms import (
    AllocationState,
    DisableTasks,
    InstanceState,
    JobState,
    NodeState,
    PoolState,
    SchedulingState,
    TaskState,
)
from engine.rules import commands, facts
from engine.rules.reactions import REACTIONS
from engine.specs.commands import COMMANDS
from tests.builders import (
    READY_S,
    a_job,
    a_line,
    a_pool,
    a_task,
    do,
    events,
    from_yaml,
    job_state,
    refusal,
    run,
    run_to,
    run_to_end,
    task_row,
    task_state,
)

# -- ids -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("good", ["a", "A-b_9", "x" * 64, "-", "_", "0"])
def test_gen_1_letters_digits_hyphens_and_underscores_make_an_id(start, good):
    sim = start()
    run(sim, seconds=0)
    assert refusal(sim, "createJob", id=good, poolInfo={"poolId": "p"}) is None
    assert refusal(sim, "addTasks", jobId=good, tasks=[a_task(good)]) is None
    assert refusal(sim, "createPool", **a_pool(good)) is None


@pytest.mark.parametrize("bad", ["", "a b", "x" * 65, "ä", "a.b", "a:job-1", "a/b"])
def test_gen_1_nothing_else_does(start, bad):
    sim = start(a_job())
    run(sim, seconds=1)
    assert refusal(sim, "createJob", id=bad, poolInfo={"poolId": "p"}) == "InvalidPropertyValue"
    assert refusal(sim, "addTasks", jobId="j", tasks=[a_task(bad)]) == "InvalidPropertyValue"
    assert refusal(sim, "createPool", **a_pool(bad)) == "InvalidPropertyValue"


def test_gen_1_case_is_kept_and_does_not_matter(start):
    sim = start(a_job("Job-A", [a_task("Task-1")], pool="POOL"), pool=a_pool("Pool"))
    run_to_end(sim)
    assert task_state(sim, "TASK-1", "jOB-a") == "completed"
    event = events(sim, "TaskStateChanged", to="completed")[0]
    assert (event["poolId"], event["jobId"], event["taskId"]) == ("Pool", "Job-A", "Task-1")
    assert refusal(sim, "createPool", **a_pool("pool")) == "PoolExists"
    assert refusal(sim, "createJob", id="JOB-a", poolInfo={"poolId": "p"}) == "JobExists"
    assert refusal(sim, "terminateJob", jobId="job-A") is None


def test_gen_1_an_id_may_be_the_same_in_two_jobs(start):
    sim = start(a_job("a"), a_job("b"))
    run_to_end(sim)
    assert task_row(sim, "t1", "a") != task_row(sim, "t1", "b")


@pytest.mark.parametrize(("length", "code"), [(1024, None), (1025, "InvalidPropertyValue")])
def test_gen_3_a_display_name_has_1024_characters_at_most(start, length, code):
    sim = start()
    run(sim, seconds=0)
    assert refusal(sim, "createJob", id="j", displayName="ü" * length, poolInfo={"poolId": "p"}) == code
    assert refusal(sim, "createPool", **a_pool("q", displayName="ü" * length)) == code


@pytest.mark.parametrize("written", ["P10675199DT2H48M5.4775807S", None])
def test_gen_4_no_limit_is_null_inside(start, written):
    given = {} if written is None else {"maxWallClockTime": written}
    sim = start(a_job(constraints=given))
    run(sim, seconds=1)
    assert sim.world.jobs.find("j").max_wall_clock_ms is None


# -- spellings -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("state", "wire"),
    [
        (NodeState.WAITING_FOR_START_TASK, "waitingforstarttask"),
        (NodeState.START_TASK_FAILED, "starttaskfailed"),
        (NodeState.LEAVING_POOL, "leavingpool"),
        (NodeState.UPGRADING_OS, "upgradingos"),
        (AllocationState.STOPPING, "stopping"),
        (SchedulingState.DISABLED, "disabled"),
        (JobState.TERMINATING, "terminating"),
        (PoolState.DELETING, "deleting"),
        (TaskState.PREPARING, "preparing"),
        (InstanceState.COMPLETED, "completed"),
    ],
)
def test_gen_5_states_travel_in_lower_case(state, wire):
    assert state.wire == wire


@pytest.mark.parametrize("written", ["requeue", "Requeue", "REQUEUE"])
def test_gen_5_options_are_read_without_regard_to_case(start, written):
    assert DisableTasks(written) is DisableTasks.REQUEUE
    sim = start(a_job())
    run_to(sim, seconds=READY_S)
    assert refusal(sim, "disableJob", jobId="j", disableTasks=written) is None


def test_gen_5_categories_keep_their_capitals():
    assert [category.value for category in ErrorCategory] == ["UserError", "ServerError"]


def test_gen_6_the_state_before_is_remembered(start):
    sim = start(a_job())
    run_to(sim, seconds=READY_S)
    assert sim.world.jobs.find("j").previous is None
    do(sim, "disableJob", jobId="j", disableTasks="requeue")
    assert sim.world.jobs.find("j").previous == (JobState.ACTIVE, 0)


def test_gen_6_a_job_is_not_modified_by_its_tasks(start):
    sim = start(a_job())
    run_to_end(sim)
    assert sim.world.jobs.find("j").modified_ms == 0
    do(sim, "addTasks", jobId="j", tasks=[a_task("t2")])
    assert sim.world.jobs.find("j").modified_ms == 0
    do(sim, "updateJob", jobId="j", priority=1)
    assert sim.world.jobs.find("j").modified_ms == sim.now_ms


def test_gen_6_a_job_is_modified_by_a_change_of_its_state(start):
    sim = start(a_job())
    run_to(sim, minutes=5)
    do(sim, "terminateJob", jobId="j")
    run_to_end(sim)
    job = sim.world.jobs.find("j")
    assert job.modified_ms == job.since_ms == 302_001


def test_gen_6_a_pool_is_modified_by_a_resize_and_not_by_its_nodes(start):
    sim = start()
    run_to(sim, minutes=5)
    assert sim.world.pools.find("p").modified_ms == 0
    do(sim, "failNode", poolId="p", node=0)
    assert sim.world.pools.find("p").modified_ms == 0
    do(sim, "resizePool", poolId="p", targetDedicatedNodes=2)
    asked = sim.now_ms
    run(sim, minutes=5)
    assert sim.world.pools.find("p").modified_ms == asked


@pytest.mark.parametrize(
    ("item", "code"),
    [
        ({"name": "a", "value": "b"}, None),
        ({"name": "", "value": "b"}, "EmptyMetadataKey"),
        ({"name": "a\n", "value": "b"}, "InvalidMetadata"),
        ({"name": "a", "value": "b" * 40_000}, "MetadataTooLarge"),
    ],
)
def test_gen_9_metadata_must_have_a_name_and_a_decent_size(start, item, code):
    sim = start()
    run(sim, seconds=0)
    assert refusal(sim, "createJob", id="j", poolInfo={"poolId": "p"}, metadata=[item]) == code
    assert refusal(sim, "createPool", **a_pool("q", metadata=[item])) == code


def test_gen_12_what_changes_much_takes_time_and_shows_it(start):
    sim = start(a_job())
    run_to(sim, seconds=READY_S)
    do(sim, "terminateJob", jobId="j")
    assert job_state(sim) == "terminating"
    do(sim, "deletePool", poolId="p")
    assert sim.world.pools.find("p").state is PoolState.DELETING


def test_gen_14_the_older_names_mean_the_same():
    text = """
scenario: older
pools:
- {id: p, vmSize: standard_d2s_v3, targetDedicated: 1, maxTasksPerNode: 4}
jobs:
- id: j
  poolInfo: {poolId: p}
  tasks: [{id: t, commandLine: w, runElevated: true, resourceFiles: [{blobSource: "https://a/b", filePath: f}]}]
"""
    sim = from_yaml(text)
    run_to_end(sim)
    assert sim.world.pools.find("p").slots == 4
    assert task_state(sim, "t") == "completed"
    spec = sim.world.tasks.spec(task_row(sim, "t"))
    assert (spec.resource_files[0].http_url, spec.user_identity.auto_user.elevation_level) == ("https://a/b", "admin")


def test_gen_17_a_pool_a_job_and_a_task_are_all_it_needs(start):
    sim = start(a_job())
    run_to_end(sim)
    assert task_state(sim) == "completed"


# -- errors ----------------------------------------------------------------------------------------------------------


STATUS = {
    400: "EmptyMetadataKey InvalidMetadata MetadataTooLarge InvalidPropertyValue MissingRequiredProperty "
    "OutOfRangePriority InvalidConstraintValue InvalidAutoScalingSettings AutoScalingFormulaSyntaxError "
    "AutoScalingFormulaTooLong OSVersionNotFound OSVersionDisabled OSVersionExpired PoolVersionEqualsUpgradeVersion "
    "PoolNotEligibleForOSVersionUpgrade TaskDependenciesNotSpecifiedOnJob TaskDependencyListTooLong "
    "TaskDependencyRangesTooLong UnsupportedConstraint InvalidRequestBody OutOfRangeInput UnsupportedProperty "
    "UnsupportedRequestVersion",
    404: "PoolNotFound NodeNotFound JobScheduleNotFound JobNotFound TaskNotFound FileNotFound PathNotFound "
    "NodeUserNotFound CertificateNotFound ApplicationNotFound JobPreparationTaskNotRunOnNode "
    "JobReleaseTaskNotRunOnNode NodeAgentSKUNotFound ResourceNotFound",
    409: "OperationInvalidForCurrentState OperationNotValidOnNode OperationNotValidOnPool PoolExists PoolBeingResized "
    "PoolBeingDeleted PoolQuotaReached UpgradePoolVersionConflict NodeBeingCreated NodeBeingStarted NodeBeingRebooted "
    "NodeBeingReimaged NodeStateUnusable NodeAlreadyInTargetSchedulingState NodeUserExists JobExists JobDisabled "
    "JobCompleted JobBeingTerminated JobBeingDeleted JobNotActive JobWithSameIdExists "
    "ActiveJobAndScheduleQuotaReached JobPreparationTaskNotSpecified JobReleaseTaskNotSpecified TaskExists "
    "TaskCompleted TaskNotCompleted TaskSucceeded TaskFilesUnavailable TaskFilesCleanedup "
    "TaskIdSameAsJobPreparationTask TaskIdSameAsJobReleaseTask JobScheduleExists JobScheduleDisabled "
    "JobScheduleCompleted JobScheduleBeingTerminated JobScheduleBeingDeleted JobScheduleWithSameIdExists "
    "CertificateExists CertificateBeingDeleted CertificateStateActive CertificateDeleteFailed "
    "InvalidApplicationPackageReferences InvalidCertificateReferences",
    413: "RequestBodyTooLarge RequestEntityTooLarge",
    503: "TooManyEnableAutoScaleRequests",
}


@pytest.mark.parametrize(
    ("status", "code"), [(status, code) for status, codes in STATUS.items() for code in codes.split()]
)
def test_err_h_each_code_has_its_status(status, code):
    assert BatchError(code).status == status


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("PoolNotFound", "The specified pool does not exist."),
        ("JobScheduleNotFound", "The specified job schedule does not exist."),
        ("NodeUserExists", "The specified node user already exists."),
        ("JobCompleted", "The specified job is already in a completed state."),
        ("TaskCompleted", "The specified task is already in a completed state."),
        ("PoolBeingResized", "The specified pool is being resized."),
        ("NodeBeingRebooted", "The specified node is being rebooted."),
        (
            "OperationInvalidForCurrentState",
            "The specified operation is not valid for the current state of the resource.",
        ),
    ],
)
def test_err_1_the_sentences_of_the_service(code, message):
    assert BatchError(code).message == message


def test_gen_10_the_body_of_an_error():
    body = BatchError("InvalidPropertyValue", "is 5", PropertyName="priority").body()
    assert body["code"] == "InvalidPropertyValue"
    assert body["message"]["lang"] == "en-us"
    assert body["values"] == [{"key": "PropertyName", "value": "priority"}, {"key": "Reason", "value": "is 5"}]


@pytest.mark.parametrize(
    ("name", "body", "code"),
    [
        # The parent is missing, and the body is wrong.
        ("addTasks", {"jobId": "nobody", "tasks": [{"id": "a b", "commandLine": "x"}]}, "JobNotFound"),
        ("updateJob", {"jobId": "nobody", "priority": 5000}, "JobNotFound"),
        ("resizePool", {"poolId": "nobody"}, "PoolNotFound"),
        ("updateTask", {"jobId": "ended", "taskId": "none", "constraints": {"maxTaskRetryCount": -5}}, "TaskNotFound"),
        # The body is wrong, and the state of the parent forbids it.
        ("updateJob", {"jobId": "ended", "priority": 5000}, "OutOfRangePriority"),
        ("resizePool", {"poolId": "p"}, "MissingRequiredProperty"),
        ("removeNodes", {"poolId": "p", "nodeList": []}, "InvalidPropertyValue"),
        # The state of the parent forbids it, and the object does not exist or exists already.
        ("removeNodes", {"poolId": "p", "nodeList": ["nobody"]}, "PoolBeingResized"),
        ("addTasks", {"jobId": "ended", "tasks": [{"id": "t1", "commandLine": "x"}]}, "JobCompleted"),
    ],
)
def test_err_2_parents_then_body_then_state_then_object(start, name, body, code):
    sim = start(
        a_job("ended"), pools=[a_pool("p", nodes=1, resizeTimeout="PT1H")], simulate={"nodes": {"allocation": 9_000}}
    )
    run(sim, seconds=5)
    do(sim, "terminateJob", jobId="ended")
    run(sim, seconds=5)
    assert refusal(sim, name, **body) == code


@pytest.mark.parametrize("code", ["FailureExitCode", "TaskEnded", "BlobNotFound", "CommandProgramNotFound"])
def test_err_t_failures_by_the_user(code):
    assert failure(code).category is ErrorCategory.USER_ERROR


@pytest.mark.parametrize("code", ["BlobDownloadTimedOut", "DiskFull", "ApplicationPackageError", "FileUploadMiscError"])
def test_err_t_failures_by_the_service(code):
    assert failure(code).category is ErrorCategory.SERVER_ERROR


def test_err_t_a_failure_as_the_service_writes_it():
    assert FAILURE_EXIT_CODE.wire().keys() == {"category", "code", "message"}
    assert ended("why").wire()["details"] == [{"name": "Message", "value": "why"}]


@pytest.mark.parametrize("more", [{}, {"exitCode": 3}, {"stdout": "text"}, {"found": False}])
def test_err_t_a_failure_that_a_scenario_gives_is_that_of_its_task(start, more):
    fails = {"code": "ContainerInvalidImage", "values": {"Message": "no such image"}}
    sim = start(a_job(tasks=[a_task(simulate={"duration": 5, "fails": fails} | more)]))
    run_to_end(sim)
    (ended_task,) = (each for each in events(sim, "TaskStateChanged") if each["to"] == "completed")
    assert ended_task["failureInfo"]["code"] == "ContainerInvalidImage"
    assert ended_task["failureInfo"]["details"] == [{"name": "Message", "value": "no such image"}]


def test_err_t_a_failed_preparation_shows_its_code_with_each_refused_task(start):
    sim = start(a_job(tasks=2, prep=a_line(5, 1)), pool=a_pool(taskSlotsPerNode=2))
    run_to_end(sim)
    found = events(sim, "TaskScheduleFail")
    assert [(event["taskId"], event["code"], event["category"]) for event in found] == [
        ("t1", "JobPreparationTaskFailed", "UserError"),
        ("t2", "JobPreparationTaskFailed", "UserError"),
    ]


# -- commands and facts ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", COMMANDS.values())
def test_each_command_is_carried_out(command):
    assert (command in commands.ACTIONS) is not (command in commands.ADDITIONS)


def test_each_fact_has_a_reaction():
    kinds = {name: kind for name, kind in inspect.getmembers(facts, inspect.isclass) if hasattr(kind, "_fields")}
    assert set(REACTIONS) == {kind for name, kind in kinds.items() if not name.startswith("_")}
