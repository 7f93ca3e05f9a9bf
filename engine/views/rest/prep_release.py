"""The status of a job's preparation and release tasks, node by node (PREP-24 to PREP-26, REL-15)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.errors import BatchError
from engine.base.paths import task_directory
from engine.base.terms import InstanceState
from engine.specs.job import JobPreparationTask
from engine.views.rest.common import container_info, node_url, root_directory, utc

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engine.specs.job import JobReleaseTask
    from engine.state.instances import InstanceView
    from engine.state.jobs import Job
    from engine.world.world import World

Body = dict[str, object]


def prep_release_status(world: World, job: Job) -> Iterator[Body]:
    """Return an entry for each node that ran preparation or release, also where the node is gone (PREP-25).

    Entries are sorted by the first start of the preparation, then by node id.

    Raises:
        BatchError: JobPreparationTaskNotSpecified for a job without preparation.
    """
    if not job.has_prep:
        raise BatchError("JobPreparationTaskNotSpecified", jobId=job.id)
    instances, nodes = world.instances, world.nodes
    rows = instances.rows_of_job(job.row)
    in_order = sorted(rows, key=lambda row: (instances.prep_first[row], nodes[instances.node[row]].id))
    return (prep_release_entry(world, job, row) for row in in_order)


def preparation_on(world: World, job: Job, node: int) -> Body:
    """Return the preparation of a job on a node (PREP-24).

    Raises:
        BatchError: JobPreparationTaskNotSpecified or JobPreparationTaskNotRunOnNode (PREP-26).
    """
    if not job.has_prep:
        raise BatchError("JobPreparationTaskNotSpecified", jobId=job.id)
    row = world.instances.row(job.row, node)
    view = world.instances.prep(row) if row >= 0 else None
    if view is None:
        raise BatchError("JobPreparationTaskNotRunOnNode", jobId=job.id, nodeId=world.nodes[node].id)
    return _info(world, job, node, view, job.spec.job_preparation_task)


def release_on(world: World, job: Job, node: int) -> Body:
    """Return the release of a job on a node (REL-15).

    Raises:
        BatchError: JobReleaseTaskNotSpecified or JobReleaseTaskNotRunOnNode (PREP-26).
    """
    if not job.has_release:
        raise BatchError("JobReleaseTaskNotSpecified", jobId=job.id)
    row = world.instances.row(job.row, node)
    view = world.instances.release(row) if row >= 0 else None
    if view is None:
        raise BatchError("JobReleaseTaskNotRunOnNode", jobId=job.id, nodeId=world.nodes[node].id)
    return _info(world, job, node, view, job.spec.job_release_task)


def prep_release_entry(world: World, job: Job, row: int) -> Body:
    """Return the entry of one row of the table of instances."""
    node = world.instances.node[row]
    entry: Body = {
        "poolId": world.pool_of(node).id,
        "nodeId": world.nodes[node].id,
        "nodeUrl": node_url(world, node),
    }
    preparation, release = world.instances.prep(row), world.instances.release(row)
    if preparation is not None:
        entry["jobPreparationTaskExecutionInfo"] = _info(world, job, node, preparation, job.spec.job_preparation_task)
    if release is not None:
        entry["jobReleaseTaskExecutionInfo"] = _info(world, job, node, release, job.spec.job_release_task)
    return entry


def _info(
    world: World, job: Job, node: int, view: InstanceView, spec: JobPreparationTask | JobReleaseTask | None
) -> Body:
    assert spec is not None
    directory = task_directory(job.id, spec.id)
    info: Body = {"startTime": utc(world, view.start_ms)}
    if view.end_ms is not None:
        info["endTime"] = utc(world, view.end_ms)
    info["state"] = view.state.wire
    info |= root_directory(world, node, directory)
    if view.state is InstanceState.COMPLETED and view.exit_code is not None:
        info["exitCode"] = view.exit_code
    if view.state is InstanceState.RUNNING or view.exit_code is not None:
        info |= container_info(world, spec, node, directory, view.start_ms, view.exit_code)
    if view.failure is not None:
        info["failureInfo"] = view.failure.wire()
    if view.result is not None:
        info["result"] = view.result.value
    if isinstance(spec, JobPreparationTask):
        info["retryCount"] = view.retry_count
        if view.retry_count:
            info["lastRetryTime"] = utc(world, view.start_ms)
    return info
