"""Tests of what the service refuses in jobs, tasks and job schedules."""

import pytest

from engine.specs.bodies import (
    JobScheduleSpec,
    JobScheduleUpdate,
    JobSpec,
    JobSpecification,
    JobUpdate,
    TaskConstraints,
    TaskSpec,
)
from engine.specs.commands import AddTasks
from engine.specs.job_refusals import (
    add_tasks_refusals,
    job_refusals,
    job_update_refusals,
    schedule_refusals,
    schedule_update_refusals,
    task_refusals,
)
from engine.specs.refusals import constraint_refusals

A_JOB = {"id": "j", "poolInfo": {"poolId": "p"}}
A_TASK = {"id": "t", "commandLine": "x"}
PREPARATION = {"jobPreparationTask": {"commandLine": "prepare"}}


def found(refusals):
    return [(refusal.code, ".".join(map(str, refusal.path))) for refusal in refusals]


def job_refused(**properties):
    return found(job_refusals(JobSpec.from_wire(A_JOB | properties)))


def task_refused(job=A_JOB, **properties):
    return found(task_refusals(TaskSpec.from_wire(A_TASK | properties), JobSpec.from_wire(job)))


def test_job_25_a_plain_job_is_accepted():
    assert job_refused() == job_refused(**PREPARATION, jobReleaseTask={"commandLine": "release"}) == []


@pytest.mark.parametrize(
    ("properties", "code", "place"),
    [
        ({"id": "a:b"}, "InvalidPropertyValue", "id"),
        ({"displayName": "x" * 1025}, "InvalidPropertyValue", "displayName"),
        ({"priority": 1001}, "OutOfRangePriority", "priority"),
        ({"priority": -1001}, "OutOfRangePriority", "priority"),
        ({"maxParallelTasks": 0}, "InvalidPropertyValue", "maxParallelTasks"),
        ({"maxParallelTasks": -2}, "InvalidPropertyValue", "maxParallelTasks"),
        ({"constraints": {"maxTaskRetryCount": -2}}, "InvalidConstraintValue", "constraints.maxTaskRetryCount"),
        ({"jobReleaseTask": {"commandLine": "x"}}, "InvalidPropertyValue", "jobReleaseTask"),
        ({"poolInfo": {}}, "MissingRequiredProperty", "poolInfo"),
        ({"poolInfo": {"poolId": "a b"}}, "InvalidPropertyValue", "poolInfo.poolId"),
        ({"metadata": [{"name": "", "value": ""}]}, "EmptyMetadataKey", "metadata.0.name"),
        (
            {"jobPreparationTask": {"commandLine": "x", "constraints": {"maxTaskRetryCount": -5}}},
            "InvalidConstraintValue",
            "jobPreparationTask.constraints.maxTaskRetryCount",
        ),
        (
            PREPARATION | {"jobReleaseTask": {"commandLine": "x", "id": "JobPreparation"}},
            "InvalidPropertyValue",
            "jobReleaseTask.id",
        ),
        (
            PREPARATION | {"jobManagerTask": {"id": "jobPreparation", "commandLine": "x"}},
            "TaskIdSameAsJobPreparationTask",
            "jobManagerTask.id",
        ),
        (
            {"jobManagerTask": {"id": "m", "commandLine": "x", "requiredSlots": 0}},
            "InvalidPropertyValue",
            "jobManagerTask.requiredSlots",
        ),
    ],
)
def test_job_25_a_refused_job_names_its_property(properties, code, place):
    assert job_refused(**properties) == [(code, place)]


@pytest.mark.parametrize(
    ("limit", "accepted"), [("PT15M", True), ("PT15M1S", False), ("P10675199DT2H48M5.4775807S", False)]
)
def test_rel_1_a_release_task_has_fifteen_minutes(limit, accepted):
    release = {"commandLine": "x", "maxWallClockTime": limit}
    expected = [] if accepted else [("InvalidPropertyValue", "jobReleaseTask.maxWallClockTime")]
    assert job_refused(**PREPARATION, jobReleaseTask=release) == expected


def test_auto_1_auto_pools():
    def refused(model=JobSpec, **properties):
        auto_pool = {"poolLifetimeOption": "job", "pool": {"vmSize": "small"}} | properties
        body = {"poolInfo": {"autoPoolSpecification": auto_pool}} | ({"id": "j"} if model is JobSpec else {})
        return found(job_refusals(model.from_wire(body)))

    place = "poolInfo.autoPoolSpecification"
    assert refused() == refused(autoPoolIdPrefix="a" * 20) == []
    assert refused(autoPoolIdPrefix="a" * 21) == [("InvalidPropertyValue", f"{place}.autoPoolIdPrefix")]
    assert refused(pool=None) == [("MissingRequiredProperty", f"{place}.pool")]
    assert refused(poolLifetimeOption="jobschedule") == [("InvalidPropertyValue", f"{place}.poolLifetimeOption")]
    assert refused(JobSpecification, poolLifetimeOption="jobschedule") == []


def test_job_25_a_pool_or_an_auto_pool():
    both = {"poolId": "p", "autoPoolSpecification": {"poolLifetimeOption": "job", "pool": {"vmSize": "small"}}}
    assert job_refused(poolInfo=both) == [("InvalidPropertyValue", "poolInfo.autoPoolSpecification")]


def test_job_2_updates():
    job = JobSpec.from_wire(A_JOB | {"onAllTasksComplete": "terminatejob"})
    body = {
        "priority": 5000,
        "maxParallelTasks": 0,
        "constraints": {"maxTaskRetryCount": -3},
        "poolInfo": {},
        "onAllTasksComplete": "noaction",
        "metadata": [{"name": "", "value": ""}],
    }
    assert found(job_update_refusals(JobUpdate.from_wire(body), job)) == [
        ("EmptyMetadataKey", "metadata.0.name"),
        ("OutOfRangePriority", "priority"),
        ("InvalidPropertyValue", "maxParallelTasks"),
        ("InvalidConstraintValue", "constraints.maxTaskRetryCount"),
        ("MissingRequiredProperty", "poolInfo"),
        ("InvalidPropertyValue", "onAllTasksComplete"),
    ]
    assert not list(job_update_refusals(JobUpdate.from_wire({"priority": 5}), job))


def test_job_7_on_all_tasks_complete_can_stay_or_be_set():
    update = JobUpdate.from_wire({"onAllTasksComplete": "noaction"})
    assert not list(job_update_refusals(update, JobSpec.from_wire(A_JOB)))


@pytest.mark.parametrize(
    ("properties", "code", "place"),
    [
        ({"id": "a.b"}, "InvalidPropertyValue", "id"),
        ({"requiredSlots": 0}, "InvalidPropertyValue", "requiredSlots"),
        ({"constraints": {"maxTaskRetryCount": -2}}, "InvalidConstraintValue", "constraints.maxTaskRetryCount"),
        ({"userIdentity": {}}, "MissingRequiredProperty", "userIdentity"),
        ({"userIdentity": {"username": "u", "autoUser": {}}}, "InvalidPropertyValue", "userIdentity.autoUser"),
        ({"resourceFiles": [{"filePath": "x"}]}, "MissingRequiredProperty", "resourceFiles.0"),
        ({"resourceFiles": [{"httpUrl": "u"}]}, "MissingRequiredProperty", "resourceFiles.0.filePath"),
        (
            {"resourceFiles": [{"httpUrl": "u", "filePath": "x", "blobPrefix": "b"}]},
            "InvalidPropertyValue",
            "resourceFiles.0.blobPrefix",
        ),
        (
            {"resourceFiles": [{"storageContainerUrl": "u", "autoStorageContainerName": "c"}]},
            "InvalidPropertyValue",
            "resourceFiles.0.autoStorageContainerName",
        ),
        (
            {"outputFiles": [{"filePattern": "", "destination": {"container": {"containerUrl": "u"}}}]},
            "InvalidPropertyValue",
            "outputFiles.0.filePattern",
        ),
        ({"dependsOn": {"taskIds": ["a"]}}, "TaskDependenciesNotSpecifiedOnJob", "dependsOn"),
    ],
)
def test_task_2_a_refused_task_names_its_property(properties, code, place):
    assert task_refused(**properties) == [(code, place)]


def test_task_6_containers_need_no_file_path():
    assert task_refused(resourceFiles=[{"storageContainerUrl": "u"}, {"autoStorageContainerName": "c"}]) == []


def test_prep_2_and_rel_1_ids_of_special_tasks_are_taken():
    job = A_JOB | PREPARATION | {"jobReleaseTask": {"commandLine": "x", "id": "tidy"}}
    assert task_refused(job, id="JobPreparation") == [("TaskIdSameAsJobPreparationTask", "id")]
    assert task_refused(job, id="Tidy") == [("TaskIdSameAsJobReleaseTask", "id")]
    assert task_refused(id="jobpreparation") == []


def test_dep_2_limits_of_dependencies():
    job = A_JOB | {"usesTaskDependencies": True}
    assert task_refused(job, dependsOn={"taskIds": ["a" * 64] * 1000, "taskIdRanges": [{"start": 4, "end": 4}]}) == []
    assert task_refused(job, dependsOn={"taskIds": ["a" * 64] * 1001}) == [
        ("TaskDependencyListTooLong", "dependsOn.taskIds")
    ]
    assert task_refused(job, dependsOn={"taskIdRanges": [{"start": 1000, "end": 9999}] * 8001}) == [
        ("TaskDependencyRangesTooLong", "dependsOn.taskIdRanges")
    ]
    assert task_refused(job, dependsOn={"taskIdRanges": [{"start": 5, "end": 4}]}) == [
        ("InvalidPropertyValue", "dependsOn.taskIdRanges.0")
    ]


def test_exit_4_a_job_action_needs_on_task_failure():
    action = {"jobAction": "none"}
    conditions = {
        "exitCodes": [{"code": 1, "exitOptions": action}],
        "exitCodeRanges": [{"start": 2, "end": 3, "exitOptions": {"dependencyAction": "satisfy"}}],
        "preProcessingError": action,
        "default": action,
    }
    assert [place for _, place in task_refused(exitConditions=conditions)] == [
        "exitConditions.exitCodes.0.exitOptions.jobAction",
        "exitConditions.preProcessingError.jobAction",
        "exitConditions.default.jobAction",
    ]
    job = A_JOB | {"onTaskFailure": "performExitOptionsJobAction"}
    assert task_refused(job, exitConditions=conditions) == []


def test_exit_1_a_range_goes_upwards():
    ranges = {"exitCodeRanges": [{"start": 3, "end": 2, "exitOptions": {}}]}
    assert task_refused(exitConditions=ranges) == [("InvalidPropertyValue", "exitConditions.exitCodeRanges.0")]


def test_mi_2_a_multi_instance_task_takes_one_slot():
    settings = {"coordinationCommandLine": "c", "numberOfInstances": 3}
    assert task_refused(multiInstanceSettings=settings) == []
    assert task_refused(multiInstanceSettings=settings, requiredSlots=2) == [("InvalidPropertyValue", "requiredSlots")]
    assert task_refused(multiInstanceSettings=settings | {"numberOfInstances": 0}) == [
        ("InvalidPropertyValue", "multiInstanceSettings.numberOfInstances")
    ]


def test_task_12_constraints_of_an_update():
    assert found(constraint_refusals(TaskConstraints(max_task_retry_count=-1))) == []
    assert found(constraint_refusals(TaskConstraints(max_task_retry_count=-2))) == [
        ("InvalidConstraintValue", "constraints.maxTaskRetryCount")
    ]


def test_task_3_a_collection_has_a_hundred_tasks_and_less_than_a_megabyte():
    tasks = [TaskSpec(id=f"t{k}", command_line="x") for k in range(101)]
    assert add_tasks_refusals(tasks[:100]) == []
    assert found(add_tasks_refusals(tasks)) == [("RequestBodyTooLarge", "tasks")]
    heavy = [TaskSpec(id="t", command_line="x" * 2**20)]
    assert found(add_tasks_refusals(heavy)) == [("RequestBodyTooLarge", "tasks")]
    escaped = [TaskSpec(id=f"t{k}", command_line="\x01" * 990) for k in range(100)]
    assert add_tasks_refusals(escaped) == []
    for simulate in ({"stdout": "x" * 2**20}, {"duration": {"choice": [60] * 2**18}}):
        assert found(add_tasks_refusals([TaskSpec(id="t", command_line="x", simulate=simulate)])) == [
            ("RequestBodyTooLarge", "tasks")
        ]
    assert add_tasks_refusals(heavy)[0].error(AddTasks(job_id="j", tasks=tuple(heavy))).status == 413


def test_js_2_windows_and_intervals_are_a_minute_or_more():
    def refused(**schedule):
        body = {"id": "s", "schedule": schedule, "jobSpecification": {"poolInfo": {"poolId": "p"}}}
        return found(schedule_refusals(JobScheduleSpec.from_wire(body)))

    assert refused() == refused(startWindow="PT1M", recurrenceInterval="PT1M") == []
    assert refused(startWindow="PT59S") == [("InvalidPropertyValue", "schedule.startWindow")]
    assert refused(recurrenceInterval="PT59S") == [("InvalidPropertyValue", "schedule.recurrenceInterval")]
    assert refused(doNotRunUntil="2026-01-06T00:00:00Z", doNotRunAfter="2026-01-05T00:00:00Z") == [
        ("InvalidPropertyValue", "schedule.doNotRunAfter")
    ]


def test_js_9_an_update_is_looked_at_in_its_parts():
    body = {"schedule": {"startWindow": "PT1S"}, "jobSpecification": {"priority": 2000, "poolInfo": {"poolId": "p"}}}
    assert found(schedule_update_refusals(JobScheduleUpdate.from_wire(body))) == [
        ("InvalidPropertyValue", "schedule.startWindow"),
        ("OutOfRangePriority", "jobSpecification.priority"),
    ]
    assert not list(schedule_update_refusals(JobScheduleUpdate.from_wire({})))
