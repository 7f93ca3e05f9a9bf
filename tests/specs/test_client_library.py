"""Tests with bodies of the service's client library: it builds what we accept, and reads what we answer."""

from datetime import UTC, datetime, timedelta

import pytest
from azure.batch import models

from engine.base.values import DAY_MS, HOUR_MS, MINUTE_MS
from engine.specs.account import Account
from engine.specs.bodies import JobScheduleSpec, JobSpec, JobUpdate, PoolSpec, TaskSpec
from engine.specs.job_refusals import job_refusals, schedule_refusals, task_refusals
from engine.specs.pool_refusals import pool_refusals


@pytest.fixture
def a_pool():
    image = models.BatchVmImageReference(publisher="Canonical", offer="0001-com-ubuntu-server-jammy", sku="22_04-lts")
    return models.BatchPoolCreateOptions(
        id="shared",
        vm_size="standard_d4s_v3",
        virtual_machine_configuration=models.VirtualMachineConfiguration(
            image_reference=image,
            node_agent_sku_id="batch.node.ubuntu 22.04",
            data_disks=[models.DataDisk(logical_unit_number=3, disk_size_gb=64)],
        ),
        resize_timeout=timedelta(minutes=20),
        target_dedicated_nodes=2,
        target_low_priority_nodes=1,
        task_slots_per_node=4,
        task_scheduling_policy=models.BatchTaskSchedulingPolicy(node_fill_type="Pack"),
        network_configuration=models.NetworkConfiguration(
            endpoint_configuration=models.BatchPoolEndpointConfiguration(
                inbound_nat_pools=[
                    models.BatchInboundNatPool(
                        name="ssh",
                        protocol=models.InboundEndpointProtocol.TCP,
                        backend_port=22,
                        frontend_port_range_start=1000,
                        frontend_port_range_end=1100,
                    )
                ]
            )
        ),
        start_task=models.BatchStartTask(
            command_line="install",
            wait_for_success=False,
            user_identity=models.UserIdentity(
                auto_user=models.AutoUserSpecification(scope="task", elevation_level=models.ElevationLevel.ADMIN)
            ),
        ),
        user_accounts=[models.UserAccount(name="u", password="s")],
    )


@pytest.fixture
def a_job():
    return models.BatchJobCreateOptions(
        id="risk",
        pool_info=models.BatchPoolInfo(pool_id="shared"),
        constraints=models.BatchJobConstraints(max_wall_clock_time=timedelta(days=1), max_task_retry_count=-1),
        job_preparation_task=models.BatchJobPreparationTask(
            command_line="prepare",
            constraints=models.BatchTaskConstraints(max_task_retry_count=2),
            rerun_on_node_reboot_after_success=False,
        ),
        job_release_task=models.BatchJobReleaseTask(command_line="release", max_wall_clock_time=timedelta(minutes=5)),
        all_tasks_complete_mode=models.BatchAllTasksCompleteMode.TERMINATE_JOB,
        uses_task_dependencies=True,
        metadata=[models.BatchMetadataItem(name="a", value="b")],
    )


def test_pool_2_a_pool_of_the_library(a_pool):
    pool = PoolSpec.from_wire(a_pool.as_dict())
    assert pool_refusals(pool, Account()) == []
    assert pool.resize_timeout == 20 * MINUTE_MS
    assert pool.virtual_machine_configuration.data_disks[0].lun == 3
    answer = models.BatchPool(pool.wire())
    assert answer.resize_timeout == timedelta(minutes=20)
    assert answer.virtual_machine_configuration.node_agent_sku_id == "batch.node.ubuntu 22.04"
    assert answer.virtual_machine_configuration.data_disks[0].disk_size_gb == 64
    assert answer.network_configuration.endpoint_configuration.inbound_nat_pools[0].frontend_port_range_end == 1100
    assert answer.start_task.user_identity.auto_user.elevation_level == models.ElevationLevel.ADMIN
    assert answer.start_task.wait_for_success is False
    assert answer.target_low_priority_nodes == 1


def test_job_2_a_job_of_the_library(a_job):
    job = JobSpec.from_wire(a_job.as_dict())
    assert job_refusals(job) == []
    assert job.constraints.max_wall_clock_time == DAY_MS
    assert not job.job_preparation_task.rerun_on_node_reboot_after_success
    answer = models.BatchJob(job.wire())
    assert answer.job_preparation_task.id == "jobpreparation"
    assert answer.job_preparation_task.constraints.max_wall_clock_time > timedelta(days=10_675_198)
    assert answer.job_release_task.max_wall_clock_time == timedelta(minutes=5)
    assert answer.all_tasks_complete_mode == models.BatchAllTasksCompleteMode.TERMINATE_JOB


def test_task_2_a_task_of_the_library(a_job):
    built = models.BatchTaskCreateOptions(
        id="t1",
        command_line="price",
        depends_on=models.BatchTaskDependencies(
            task_ids=["a"], task_id_ranges=[models.BatchTaskIdRange(start=1, end=3)]
        ),
        exit_conditions=models.ExitConditions(
            default=models.ExitOptions(dependency_action=models.DependencyAction.SATISFY)
        ),
        resource_files=[models.ResourceFile(http_url="https://a.blob/x", file_path="x")],
        output_files=[
            models.OutputFile(
                file_pattern="*.txt",
                destination=models.OutputFileDestination(
                    container=models.OutputFileBlobContainerDestination(container_url="https://a.blob/c")
                ),
                upload_options=models.OutputFileUploadConfiguration(upload_condition="TaskSuccess"),
            )
        ],
        constraints=models.BatchTaskConstraints(max_wall_clock_time=timedelta(hours=1)),
    )
    task = TaskSpec.from_wire(built.as_dict())
    assert task_refusals(task, JobSpec.from_wire(a_job.as_dict())) == []
    assert task.constraints.max_wall_clock_time == HOUR_MS
    answer = models.BatchTask(task.wire())
    assert answer.depends_on.task_id_ranges[0].end == 3
    assert answer.constraints.max_wall_clock_time == timedelta(hours=1)
    assert answer.constraints.retention_time == timedelta(days=7)
    assert answer.output_files[0].upload_options.upload_condition == models.OutputFileUploadCondition.TASK_SUCCESS


def test_js_1_a_job_schedule_of_the_library():
    built = models.BatchJobScheduleCreateOptions(
        id="nightly",
        schedule=models.BatchJobScheduleConfiguration(
            do_not_run_until=datetime(2026, 1, 5, 22, tzinfo=UTC), recurrence_interval=timedelta(days=1)
        ),
        job_specification=models.BatchJobSpecification(
            pool_info=models.BatchPoolInfo(
                auto_pool_specification=models.BatchAutoPoolSpecification(
                    pool_lifetime_option=models.BatchPoolLifetimeOption.JOB_SCHEDULE,
                    pool=models.BatchPoolSpecification(vm_size="standard_d2s_v3", target_dedicated_nodes=1),
                )
            )
        ),
    )
    schedule = JobScheduleSpec.from_wire(built.as_dict())
    assert schedule_refusals(schedule) == []
    assert schedule.schedule.recurrence_interval == DAY_MS
    answer = models.BatchJobSchedule(schedule.wire())
    assert answer.schedule.do_not_run_until == datetime(2026, 1, 5, 22, tzinfo=UTC)
    assert answer.schedule.recurrence_interval == timedelta(days=1)
    assert answer.job_specification.pool_info.auto_pool_specification.pool.target_dedicated_nodes == 1


def test_job_2_an_update_of_the_library():
    built = models.BatchJobUpdateOptions(constraints=models.BatchJobConstraints(max_task_retry_count=3))
    update = JobUpdate.from_wire(built.as_dict())
    assert update.model_fields_set == {"constraints"}
