"""The account with its pools, jobs and job schedules as the service returns them, and the parts that all bodies share.

- Shared parts: addresses, times, entity tags and containers (GEN-6, ACC-1, NODE-4).
- The account, its applications and certificates, and the images and usage that the service lists (CERT-1, CERT-4).
- Pools (POOL-2, POOL-3, GEN-6), jobs (JOB-2, JOB-3, GEN-6, STAT-1) and job schedules (JS-1, JS-7, GEN-6, STAT-1).
"""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

from engine.base.errors import FAILURE_EXIT_CODE
from engine.base.terms import AllocationState, CertificateState, JobState, NodeState, TaskResult
from engine.base.values import HOUR_MS, format_duration, format_utc
from engine.rules.decisions.capacity import communication_mode
from engine.rules.job_schedules import next_run_ms
from engine.specs import draws
from engine.specs.base import wire_name
from engine.specs.images import DEFAULT_IMAGE
from engine.state.jobs import NO_JOB
from engine.state.tables import NEVER_MS, PAGE_BITS
from engine.state.tasks import ACTIVE, COMPLETED, GONE, PREPARING, RUNNING

if TYPE_CHECKING:
    from engine.base.errors import FailureInfo
    from engine.base.terms import State
    from engine.specs.account import Application, Certificate
    from engine.specs.common import CommandLine
    from engine.specs.images import Image
    from engine.state.account import CertificateRecord
    from engine.state.jobs import Job, JobSchedule
    from engine.state.pools import AutoScaleRun, Pool
    from engine.views.log.latest import TaskTransitions
    from engine.world import World


_TICKS_SINCE = datetime(1, 1, 1, tzinfo=UTC)
_TICKS_PER_MS = 10_000
_UNEXPECTED = "The task process exited with an unexpected exit code"


def account_url(world: World) -> str:
    """Return the endpoint of the account."""
    return f"https://{world.account.name}.{world.account.location}.batch.azure.com"


def pool_url(world: World, pool_id: str) -> str:
    """Return the URL of a pool."""
    return f"{account_url(world)}/pools/{pool_id}"


def node_url(world: World, node: int) -> str:
    """Return the URL of a node, which stays the same when the node is gone."""
    return f"{pool_url(world, world.pool_of(node).id)}/nodes/{world.nodes[node].id}"


def job_url(world: World, job_id: str) -> str:
    """Return the URL of a job."""
    return f"{account_url(world)}/jobs/{job_id}"


def certificate_path(certificate: Certificate) -> str:
    """Return the path of a certificate below the account's address (CERT-1)."""
    algorithm, thumbprint = quote(certificate.thumbprint_algorithm), quote(certificate.thumbprint)
    return f"certificates(thumbprintAlgorithm={algorithm},thumbprint={thumbprint})"


def utc(world: World, ms: int) -> str:
    """Return a moment of the run as the service writes it."""
    return format_utc(world.scenario.start, ms)


def utc_if(world: World, ms: int | None) -> str | None:
    """Return a moment of the run as the service writes it; None for None."""
    return None if ms is None else format_utc(world.scenario.start, ms)


def wire_if(failure: FailureInfo | None) -> dict[str, object] | None:
    """Return a failure as the service writes it; None for None.

    That of a nonzero exit code has details, which are always the same, so that the event log leaves them out (RETRY-9).
    """
    if failure is not None and failure.code == FAILURE_EXIT_CODE.code:
        details = {"Message": _UNEXPECTED, "AdditionalErrorCode": failure.code} | dict(failure.details)
        failure = failure._replace(details=tuple(details.items()))
    return None if failure is None else failure.wire()


def present(**properties: object) -> dict[str, object]:
    """Return the properties that are not None: the service leaves out what it does not know."""
    return {name: value for name, value in properties.items() if value is not None}


def etag(world: World, modified_ms: int) -> str:
    """Return the entity tag of a resource: the moment of its last change in ticks of 100 ns."""
    ticks = (world.scenario.start - _TICKS_SINCE) // timedelta(microseconds=1) * 10 + modified_ms * _TICKS_PER_MS
    return f"0x{ticks:X}"


def resource_head(world: World, resource: Pool | Job | JobSchedule, url: str) -> dict[str, object]:
    """Return the properties with which the body of a pool, job or job schedule begins (GEN-6)."""
    assert resource.state is not None
    return {
        "id": resource.id,
        "url": url,
        "eTag": etag(world, resource.modified_ms),
        "lastModified": utc(world, resource.modified_ms),
        "creationTime": utc(world, resource.created_ms),
        "state": resource.state.wire,
        "stateTransitionTime": utc(world, resource.since_ms),
    }


def previous_state(world: World, previous: tuple[State, int] | None) -> dict[str, object]:
    """Return the previous state and its time; empty for a resource that is in its first state."""
    if previous is None:
        return {}
    state, since_ms = previous
    return {"previousState": state.wire, "previousStateTransitionTime": utc(world, since_ms)}


def root_directory(world: World, node: int, directory: str) -> dict[str, str]:
    """Return ``taskRootDirectory``, with backslashes on Windows, and its URL, always with slashes (FILE-14)."""
    native = directory.replace("/", "\\") if world.root_of(world.pool_of(node)).is_windows else directory
    return {"taskRootDirectory": native, "taskRootDirectoryUrl": f"{node_url(world, node)}/files/{directory}"}


def container_info(
    world: World, spec: CommandLine | None, node: int, directory: str, started_ms: int, exit_code: int | None
) -> dict[str, object]:
    """Return ``containerInfo``, empty for a process outside any container (TASK-10, PREP-24, REL-15, CONT-1).

    Each start has a container of its own, named by a hash like Docker's. An ``exit_code`` of None means that
    the process is still running.
    """
    if spec is None or spec.container_settings is None:
        return {}
    name = draws.hex_digits(64, world.seed, "container", world.nodes[node].id, directory, started_ms)
    state = "running" if exit_code is None else "exited"
    return {"containerInfo": {"containerId": name, "state": state}}


def account_body(world: World) -> dict[str, object]:
    """Return the account as it is at this moment: its address (ACC-1), quotas, applications and certificates."""
    certificates = [certificate_body(world, record) for record in world.certificates.present()]
    body = {"accountEndpoint": account_url(world).removeprefix("https://")} | {
        name: value for name, value in world.account.wire().items() if name != "certificates"
    }
    return body | ({"certificates": certificates} if certificates else {})


def certificate_body(world: World, record: CertificateRecord) -> dict[str, object]:
    """Return the REST body of a certificate that is not deleted (CERT-4)."""
    assert record.state is not None
    spec = record.spec
    body: dict[str, object] = {
        "thumbprint": spec.thumbprint,
        "thumbprintAlgorithm": spec.thumbprint_algorithm,
        "url": f"{account_url(world)}/{certificate_path(spec)}",
        "state": record.state.wire,
        "stateTransitionTime": utc(world, record.since_ms),
    }
    if record.previous is not None and record.previous_since_ms is not None:
        body |= previous_state(world, (record.previous, record.previous_since_ms))
    if record.state is CertificateState.DELETE_FAILED and record.use is not None:
        users = [("Pool", pool) for pool in record.use.pools] + [("Node", node) for node in record.use.nodes]
        body["deleteCertificateError"] = {
            "code": "CertificateDeleteFailed",
            "message": "The specified certificate is in use.",
            "values": [{"name": name, "value": value} for name, value in users],
        }
    return body


def application_body(application: Application) -> dict[str, object]:
    """Return the REST body of an application (APP-1)."""
    name = application.id if application.display_name is None else application.display_name
    return {"id": application.id, "displayName": name, "versions": list(application.versions)}


def _reference(image: Image) -> dict[str, str]:
    return {"publisher": image.publisher, "offer": image.offer, "sku": image.sku, "version": "latest"}


def image_body(image: Image) -> dict[str, object]:
    """Return the REST body of a supported image (POOL-26)."""
    has_containers = any(kind in f"{image.offer} {image.sku}" for kind in ("container", "-hpc"))
    return {
        "nodeAgentSKUId": image.node_agent_sku_id,
        "imageReference": _reference(image),
        "osType": image.os.value,
        "capabilities": ["DockerCompatible"] if has_containers else [],
        "batchSupportEndOfLife": f"{image.end_of_support}T00:00:00Z",
        "verificationType": "verified",
    }


def node_agent_body(images: list[Image]) -> dict[str, object]:
    """Return the REST body of a node agent, whose images are given, as versions before 2019-06-01 have it."""
    agent, os = images[0].node_agent_sku_id, images[0].os
    return {"id": agent, "verifiedImageReferences": list(map(_reference, images)), "osType": os.value}


def usage_body(world: World, pool: Pool, now_ms: int) -> dict[str, object]:
    """Return the usage of a pool from its creation on. DECISION: in one piece, where the service has half hours."""
    core_ms = pool.size.cores * sum(pool.billed_ms_at(now_ms))
    return {
        "poolId": pool.id,
        "startTime": utc(world, pool.created_ms),
        "endTime": utc(world, now_ms if pool.gone_ms is None else pool.gone_ms),
        "vmSize": pool.spec.vm_size,
        "totalCoreHours": round(core_ms / HOUR_MS, 6),
    }


def pool_body(world: World, pool: Pool) -> dict[str, object]:
    """Return the REST body of a pool that is not deleted."""
    assert pool.allocation is not None
    settings = pool.spec.wire()
    current = [world.nodes[node].dedicated for node in pool.nodes if world.nodes.state_of(node) is not None]
    body = resource_head(world, pool, pool_url(world, pool.id)) | {
        "allocationState": pool.allocation.wire,
        "allocationStateTransitionTime": utc(world, pool.allocation_since_ms),
    }
    body |= settings
    if "cloudServiceConfiguration" not in settings:
        body["virtualMachineConfiguration"] = machine(pool)
    body |= {
        "currentDedicatedNodes": current.count(True),
        "currentLowPriorityNodes": current.count(False),
        "targetDedicatedNodes": pool.target_dedicated,
        "targetLowPriorityNodes": pool.target_spot,
    }
    mode = pool.spec.target_node_communication_mode
    run = None if pool.scaling is None else pool.scaling.run
    errors = pool.resize_errors if pool.allocation is AllocationState.STEADY else ()
    return body | present(
        currentNodeCommunicationMode=None if mode is None else communication_mode(pool.spec).value,
        autoScaleRun=None if run is None else run_body(world, run),
        resizeErrors=[error.wire() for error in errors] or None,
    )


def run_body(world: World, run: AutoScaleRun) -> dict[str, object]:
    """Return an evaluation of a formula (AS-67)."""
    body: dict[str, object] = {"timestamp": utc(world, run.when_ms), "results": run.results}
    return body if run.error is None else body | {"error": run.error.wire()}


def pool_stats(world: World, pool: Pool, now_ms: int) -> dict[str, object]:
    """Return ``stats`` of a pool: the billed time of its dedicated cores, always up to date (STAT-1, TIME-17)."""
    dedicated_ms, _ = pool.billed_ms_at(now_ms)
    core_ms = pool.size.cores * dedicated_ms
    span: dict[str, object] = {"startTime": utc(world, pool.created_ms), "lastUpdateTime": utc(world, now_ms)}
    usage = span | {"dedicatedCoreTime": format_duration(core_ms)}
    return {"url": f"{pool_url(world, pool.id)}/lifetimepoolstats"} | span | {"usageStats": usage}


def lifetime_pool_stats(world: World, now_ms: int) -> dict[str, object]:
    """Return the statistics of all pools that there have been (STAT-1)."""
    core_ms = sum(pool.size.cores * pool.billed_ms_at(now_ms)[0] for pool in world.pools.rows)
    span: dict[str, object] = {"startTime": utc(world, 0), "lastUpdateTime": utc(world, now_ms)}
    usage = span | {"dedicatedCoreTime": format_duration(core_ms)}
    return {"url": f"{account_url(world)}/lifetimepoolstats"} | span | {"usageStats": usage}


def machine(pool: Pool) -> dict[str, object]:
    """Return ``virtualMachineConfiguration`` of a pool, with a default image where the scenario names none."""
    written = pool.spec.virtual_machine_configuration
    if written is not None:
        return written.wire()
    return {"imageReference": _reference(DEFAULT_IMAGE), "nodeAgentSKUId": DEFAULT_IMAGE.node_agent_sku_id}


def node_counts(world: World, pool: Pool) -> dict[str, object]:
    """Return the ``dedicated`` and ``lowPriority`` nodes of a pool by state, each with a total (NODE-16)."""
    found = [(world.nodes[node].dedicated, world.nodes.state_of(node)) for node in pool.nodes]
    by_kind = Counter(kind_and_state for kind_and_state in found if kind_and_state[1] is not None)
    counts: dict[str, object] = {"poolId": pool.id}
    for kind, dedicated in (("dedicated", True), ("lowPriority", False)):
        one = {wire_name(state.name.lower()): by_kind[dedicated, state] for state in NodeState}
        counts[kind] = one | {"total": sum(one.values())}
    return counts


def job_body(world: World, job: Job) -> dict[str, object]:
    """Return the REST body of a job that is not deleted, without ``$expand=stats``."""
    body = resource_head(world, job, job_url(world, job.id)) | previous_state(world, job.previous)
    settings = {name: value for name, value in job.spec.wire().items() if name != "metadata"}
    return body | settings | _changed_settings(job) | {"executionInfo": _job_execution_info(world, job)}


def _changed_settings(job: Job) -> dict[str, object]:
    """Return the settings that a PATCH may have changed since the job was added (JOB-2)."""
    settings: dict[str, object] = {
        "priority": job.priority,
        "allowTaskPreemption": job.preemptible,
        "maxParallelTasks": job.max_parallel,
        "constraints": {
            "maxWallClockTime": format_duration(job.max_wall_clock_ms),
            "maxTaskRetryCount": job.max_retries,
        },
        "onAllTasksComplete": job.on_all_tasks_complete.value,
    }
    auto_pool = job.spec.pool_info.auto_pool_specification
    if auto_pool is None:
        settings["poolInfo"] = {"poolId": job.pool_id}
    else:
        settings["poolInfo"] = {"autoPoolSpecification": auto_pool.wire() | {"keepAlive": job.keeps_pool}}
    if job.metadata:
        settings["metadata"] = [item.wire() for item in job.metadata]
    return settings


def _job_execution_info(world: World, job: Job) -> dict[str, object]:
    """Return ``executionInfo``: start, end, pool, scheduling error, and why the job ended (JOB-3)."""
    error = None if job.scheduling_error is None else job.scheduling_error._asdict()
    return present(
        startTime=utc(world, job.created_ms),
        endTime=utc_if(world, job.end_ms),
        poolId=job.pool_id or None,
        schedulingError=error and {name: error[name] for name in ("category", "code", "message")},
        terminateReason=job.terminate_reason if job.state is JobState.COMPLETED else None,
    )


class Usage(NamedTuple):
    """Resources that tasks have used, with times in ms (STAT-1)."""

    ran_ms: int = 0
    waited_ms: int = 0
    succeeded: int = 0
    failed: int = 0
    retries: int = 0

    def wire(self, until: str) -> dict[str, object]:
        """Return the usage as the service writes it, without its URL and start time.

        A simulated process computes all the time that it runs and does no I/O: its CPU time is its wall clock time.
        """
        return {
            "lastUpdateTime": until,
            "userCPUTime": format_duration(self.ran_ms),
            "kernelCPUTime": format_duration(0),
            "wallClockTime": format_duration(self.ran_ms),
            "readIOps": "0",
            "writeIOps": "0",
            "readIOGiB": 0.0,
            "writeIOGiB": 0.0,
            "numSucceededTasks": str(self.succeeded),
            "numFailedTasks": str(self.failed),
            "numTaskRetries": str(self.retries),
            "waitTime": format_duration(self.waited_ms),
        }


def usage_of(world: World, job: Job, transitions: TaskTransitions, now_ms: int) -> Usage:
    """Sum up what the present tasks of a job have used, always up to date (STAT-1, TIME-17)."""
    tasks = world.tasks
    ran_ms = waited_ms = retries = 0
    for number in job.blocks:
        block = tasks.blocks[number]
        cut = slice(block.first, block.rows.stop)
        each = zip(block.rows, tasks.state[cut], tasks.started[cut], strict=True)
        rows = [task for task, state, started_ms in each if state != GONE and started_ms != NEVER_MS]
        ran_ms += transitions.ran_ms(rows, now_ms)
        begun_ms = [ms for ms in tasks.begun(rows) if ms != NEVER_MS]
        waited_ms += sum(begun_ms) - block.created_ms * len(begun_ms)
        retries += sum(tasks.extra(task).retry_count for task in rows if task in tasks.sparse[task >> PAGE_BITS])
    return Usage(ran_ms, waited_ms, job.counts[COMPLETED] - job.failed, job.failed, retries)


def job_stats(world: World, job: Job, transitions: TaskTransitions, now_ms: int) -> dict[str, object]:
    """Return ``stats`` of a job (STAT-1), and the bytes of its resource files and output files (TASK-21)."""
    url = f"{job_url(world, job.id)}/lifetimejobstats"
    usage = usage_of(world, job, transitions, now_ms)
    transferred = {"downloadedBytes": job.downloaded_bytes, "uploadedBytes": job.uploaded_bytes}
    return {"url": url, "startTime": utc(world, job.created_ms)} | usage.wire(utc(world, now_ms)) | transferred


def task_counts(world: World, job: Job) -> dict[str, dict[str, int]]:
    """Return the exact ``taskCounts`` and ``taskSlotCounts`` of a job (GEN-13, TASK-16)."""
    tasks = world.tasks
    slots = [0] * (GONE + 1)
    failed_slots = 0
    for number in job.blocks:
        block = tasks.blocks[number]
        rows = slice(block.first, block.rows.stop)
        for (state, profile), times in Counter(zip(tasks.state[rows], tasks.profile[rows], strict=True)).items():
            slots[state] += times * tasks.profiles[profile].required_slots
        for page in tasks.sparse[rows.start >> PAGE_BITS : (rows.stop >> PAGE_BITS) + 1]:
            for task in page:  # a task without an entry there has not failed
                if rows.start <= task < rows.stop and tasks.result(task) is TaskResult.FAILURE:
                    failed_slots += tasks.profile_of(task).required_slots
    each = {"taskCounts": (job.counts, job.failed), "taskSlotCounts": (slots, failed_slots)}
    return {
        name: counts_of(found[ACTIVE], found[PREPARING], found[RUNNING], found[COMPLETED] - failed, failed)
        for name, (found, failed) in each.items()
    }


def counts_of(active: int, preparing: int, running: int, succeeded: int, failed: int) -> dict[str, int]:
    """Return task counts as the service returns them, where preparing tasks count as running (PREP-21)."""
    return {
        "active": active,
        "running": running + preparing,
        "completed": succeeded + failed,
        "succeeded": succeeded,
        "failed": failed,
    }


def schedule_url(world: World, schedule_id: str) -> str:
    """Return the URL of a job schedule."""
    return f"{account_url(world)}/jobschedules/{schedule_id}"


def lifetime_job_stats(world: World, transitions: TaskTransitions, now_ms: int) -> dict[str, object]:
    """Return the statistics of all jobs that there have been, over the tasks that they have now (STAT-1)."""
    each = [usage_of(world, job, transitions, now_ms) for job in world.jobs.rows]
    usage = Usage(*map(sum, zip(*each, strict=True)))
    return {"url": f"{account_url(world)}/lifetimejobstats", "startTime": utc(world, 0)} | usage.wire(
        utc(world, now_ms)
    )


def schedule_body(world: World, schedule: JobSchedule, now_ms: int) -> dict[str, object]:
    """Return the REST body of a schedule that is not deleted, without ``$expand=stats``."""
    head = resource_head(world, schedule, schedule_url(world, schedule.id))
    body = head | previous_state(world, schedule.previous)
    return body | schedule.spec.wire() | {"executionInfo": _schedule_execution_info(world, schedule, now_ms)}


def _schedule_execution_info(world: World, schedule: JobSchedule, now_ms: int) -> dict[str, object]:
    """Return ``executionInfo``: the next run, the most recent job, and the end (JS-7)."""
    job_id = None if schedule.recent_job == NO_JOB else world.jobs[schedule.recent_job].id
    return present(
        nextRunTime=utc_if(world, next_run_ms(world, schedule, now_ms)),
        recentJob=None if job_id is None else {"id": job_id, "url": job_url(world, job_id)},
        endTime=utc_if(world, schedule.end_ms),
    )


def schedule_stats(world: World, schedule: JobSchedule, transitions: TaskTransitions, now_ms: int) -> dict[str, object]:
    """Return ``stats`` of a schedule over the tasks that its jobs have now (STAT-1)."""
    each = [usage_of(world, job, transitions, now_ms) for job in world.jobs_under(schedule)]
    usage = Usage(*map(sum, zip(*each, strict=True)))
    url = f"{schedule_url(world, schedule.id)}/lifetimejobschedulestats"
    return {"url": url, "startTime": utc(world, schedule.created_ms)} | usage.wire(utc(world, now_ms))
