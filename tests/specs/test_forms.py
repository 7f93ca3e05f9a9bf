"""Tests of strict types, absent values and durations."""

import copy
from datetime import UTC, date, datetime

import pytest
from pydantic import ValidationError

from engine.base.terms import JobDefaultOrder, NodeFillType, OnAllTasksComplete
from engine.base.values import DAY_MS, HOUR_MS, MINUTE_MS, UNLIMITED_WIRE
from engine.specs.account import Account
from engine.specs.bodies import (
    JobConstraints,
    JobPreparationTask,
    JobReleaseTask,
    JobScheduleSpec,
    JobSpec,
    PoolSpec,
    Schedule,
    StartTask,
    TaskConstraints,
    TaskSchedulingPolicy,
    TaskSpec,
)
from engine.specs.common import ContainerSettings, ContainerWorkingDirectory

A_POOL = {"id": "p", "vmSize": "standard_d2s_v3"}


@pytest.mark.parametrize(
    ("property_name", "value"),
    [
        ("taskSlotsPerNode", "4"),
        ("taskSlotsPerNode", 4.0),
        ("taskSlotsPerNode", True),
        ("enableAutoScale", 1),
        ("enableAutoScale", "true"),
        ("displayName", 12),
        ("displayName", True),
        ("displayName", date(2026, 1, 5)),
        ("vmSize", 1.2),
        ("startTask", "x"),
        ("metadata", {"name": "a", "value": "b"}),
        ("resizeTimeout", 900),
        ("resizeTimeout", "15m"),
        ("resizeTimeout", "-PT5M"),
        ("resizeTimeout", UNLIMITED_WIRE),
        ("resourceTags", {"a": 1}),
    ],
)
def test_a_wrong_type_is_a_mistake_at_its_property(property_name, value):
    with pytest.raises(ValidationError) as caught:
        PoolSpec.from_wire(A_POOL | {property_name: value})
    assert {error["loc"][0] for error in caught.value.errors()} == {property_name}


def test_text_that_yaml_reads_as_a_number_is_to_be_quoted():
    with pytest.raises(ValidationError, match="in quotes"):
        PoolSpec.from_wire(A_POOL | {"id": 5})


def test_every_mistake_is_found_at_once():
    body = {"id": 5, "vmSize": "small", "taskSlotsPerNode": "2", "startTask": {"waitForSuccess": 1}, "nonsense": 1}
    with pytest.raises(ValidationError) as caught:
        PoolSpec.from_wire(body)
    assert {error["loc"] for error in caught.value.errors()} == {
        ("id",),
        ("taskSlotsPerNode",),
        ("startTask", "commandLine"),
        ("startTask", "waitForSuccess"),
        ("nonsense",),
    }


def test_a_body_that_is_no_mapping_or_has_keys_that_are_no_text():
    for body in (None, "x", ["x"], {1: None}, {1: "x"}):
        with pytest.raises(ValidationError):
            StartTask.from_wire(body)


def test_null_is_absent():
    nulls = {"displayName": None, "resizeTimeout": None, "taskSlotsPerNode": None, "metadata": None, "startTask": None}
    pool = PoolSpec.from_wire(A_POOL | nulls)
    assert pool == PoolSpec.from_wire(A_POOL)
    assert pool.model_fields_set == {"id", "vm_size"}


def test_null_for_a_needed_property_is_a_lack():
    with pytest.raises(ValidationError) as caught:
        TaskSpec.from_wire({"id": "t", "commandLine": None})
    assert [(error["loc"], error["type"]) for error in caught.value.errors()] == [(("commandLine",), "missing")]


def test_gen_5_options_ignore_case():
    policy = TaskSchedulingPolicy.from_wire({"nodeFillType": "Pack", "jobDefaultOrder": "CreationTime"})
    assert policy == TaskSchedulingPolicy(
        node_fill_type=NodeFillType.PACK, job_default_order=JobDefaultOrder.CREATION_TIME
    )
    settings = ContainerSettings.from_wire({"imageName": "a", "workingDirectory": "CONTAINERIMAGEDEFAULT"})
    assert settings.working_directory is ContainerWorkingDirectory.CONTAINER_IMAGE_DEFAULT
    assert settings.wire()["workingDirectory"] == "containerImageDefault"


def test_gen_5_an_unknown_option_is_a_mistake_that_names_the_options():
    with pytest.raises(ValidationError, match="'spread' or 'pack'"):
        TaskSchedulingPolicy.from_wire({"nodeFillType": "spred"})


def test_gen_4_no_limit_is_none_inside_and_written_out_on_the_wire():
    given = TaskConstraints.from_wire({"maxWallClockTime": UNLIMITED_WIRE, "retentionTime": UNLIMITED_WIRE})
    assert given == TaskConstraints(max_wall_clock_time=None, retention_time=None)
    assert given.wire() == {"maxWallClockTime": UNLIMITED_WIRE, "retentionTime": UNLIMITED_WIRE}


def test_gen_4_durations_are_normalised():
    constraints = TaskConstraints.from_wire({"maxWallClockTime": "PT01H00M00S", "retentionTime": "P1D"})
    assert constraints == TaskConstraints(max_wall_clock_time=HOUR_MS, retention_time=DAY_MS)
    assert constraints.wire() == {"maxWallClockTime": "PT1H", "retentionTime": "P1D"}


def test_gen_4_times_are_utc():
    schedule = Schedule.from_wire({"doNotRunUntil": "2026-01-05T09:00:00+01:00", "doNotRunAfter": date(2026, 1, 6)})
    assert schedule.do_not_run_until == datetime(2026, 1, 5, 8, tzinfo=UTC)
    assert schedule.wire() == {"doNotRunUntil": "2026-01-05T08:00:00Z", "doNotRunAfter": "2026-01-06T00:00:00Z"}
    assert Schedule(do_not_run_until=datetime(2026, 1, 5, 8)).do_not_run_until.tzinfo is UTC  # noqa: DTZ001
    with pytest.raises(ValidationError, match="ISO 8601 time"):
        Schedule.from_wire({"doNotRunUntil": 5})


def test_js_2_no_window_and_no_recurrence_are_absent():
    assert Schedule.from_wire({"startWindow": UNLIMITED_WIRE}) == Schedule()
    assert Schedule().wire() == {}
    assert Schedule.from_wire({"recurrenceInterval": "PT1H"}).recurrence_interval == HOUR_MS


def test_a_spec_cannot_be_changed():
    task = TaskSpec(id="t", command_line="x")
    with pytest.raises(ValidationError, match="frozen"):
        task.id = "u"


def test_copies_of_a_simulation_share_its_specs():
    task = TaskSpec(id="t", command_line="x")
    assert copy.deepcopy([task])[0] is task


def test_pool_2_defaults():
    pool = PoolSpec.from_wire(A_POOL)
    assert pool.resize_timeout == 15 * MINUTE_MS
    assert (pool.target_dedicated_nodes, pool.target_low_priority_nodes) == (None, None)
    assert pool.task_slots_per_node == 1
    assert pool.task_scheduling_policy.node_fill_type is NodeFillType.SPREAD
    assert not pool.enable_inter_node_communication


def test_start_1_prep_2_and_rel_1_defaults():
    start = StartTask(command_line="x")
    preparation = JobPreparationTask(command_line="x")
    release = JobReleaseTask(command_line="x")
    assert (start.max_task_retry_count, start.wait_for_success) == (0, True)
    assert (preparation.id, preparation.constraints.max_task_retry_count) == ("jobpreparation", 0)
    assert (preparation.wait_for_success, preparation.rerun_on_node_reboot_after_success) == (True, True)
    assert (release.id, release.max_wall_clock_time) == ("jobrelease", 15 * MINUTE_MS)
    assert release.retention_time == preparation.constraints.retention_time == 7 * DAY_MS


def test_job_2_task_2_and_jm_1_defaults():
    body = {"id": "j", "poolInfo": {"poolId": "p"}, "jobManagerTask": {"id": "m", "commandLine": "x"}}
    job = JobSpec.from_wire(body)
    assert (job.priority, job.max_parallel_tasks, job.constraints) == (0, -1, JobConstraints(max_task_retry_count=0))
    assert job.on_all_tasks_complete is OnAllTasksComplete.NO_ACTION
    manager = job.job_manager_task
    assert (manager.kill_job_on_completion, manager.run_exclusive, manager.allow_low_priority_node) == (True,) * 3
    assert manager.constraints.max_task_retry_count is None
    task = TaskSpec(id="t", command_line="x")
    assert (task.required_slots, task.constraints.retention_time) == (1, 7 * DAY_MS)


def test_acc_4_defaults_and_sizes_of_an_account():
    account = Account.from_wire({"applications": [{"id": "a", "versions": ["1.2"], "size": "800 MB"}]})
    assert (account.name, account.location) == ("batchdeck", "westeurope")
    assert account.quotas.model_dump() == {
        "dedicated_cores": 100,
        "low_priority_cores": 100,
        "pools": 100,
        "active_jobs_and_schedules": 300,
    }
    assert account.applications[0].size == 800_000_000
    quotas = {"dedicatedCoresPerVMSeries": {"Dsv3": 20}}
    assert Account.from_wire({"quotas": quotas}).quotas.dedicated_cores_per_vm_series == {"Dsv3": 20}


def test_app_1_the_default_version_is_a_version():
    with pytest.raises(ValidationError, match=r"none of the versions 1\.2"):
        Account.from_wire({"applications": [{"id": "a", "versions": ["1.2"], "defaultVersion": "1.3"}]})


def test_every_body_has_a_json_schema_with_the_services_names():
    schema = JobScheduleSpec.model_json_schema()
    assert schema["properties"]["jobSpecification"] == {"$ref": "#/$defs/JobSpecification"}
    assert schema["$defs"]["Schedule"]["properties"]["startWindow"]["format"] == "duration"
    assert {"type": "string", "format": "date-time"} in schema["$defs"]["Schedule"]["properties"]["doNotRunUntil"][
        "anyOf"
    ]
