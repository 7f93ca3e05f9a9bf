"""Auto pools (chapter 19): created with a job or with the first job of a schedule, deleted when that has ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.errors import BatchError
from engine.base.terms import ErrorCategory, PoolLifetimeOption, PoolState
from engine.rules.decisions.quotas import new_pool_verdict
from engine.specs import draws
from engine.specs.pool import PoolSpec
from engine.world.facts import AutoPoolReleased, AutoPoolRequested

if TYPE_CHECKING:
    from engine.specs.job import AutoPoolSpecification
    from engine.state.job_schedules import JobSchedule
    from engine.state.jobs import Job
    from engine.state.pools import Pool
    from engine.world.facts import JobAdded, JobEnded, JobScheduleEnded
    from engine.world.world import World

# AUTO-4: what the job's scheduling error says of the refusal of its pool.
_CODES = {
    "PoolQuotaReached": "AutoPoolCreationFailedWithQuotaReached",
    "InvalidApplicationPackageReferences": "InvalidApplicationPackageReferencesInAutoPool",
    "InvalidCertificateReferences": "InvalidCertificatesInAutoPool",
    "AutoScalingFormulaSyntaxError": "InvalidAutoScaleFormulaInAutoPool",
    "AutoScalingFormulaTooLong": "InvalidAutoScaleFormulaInAutoPool",
    "InvalidAutoScalingSettings": "InvalidAutoScaleFormulaInAutoPool",
}


def auto_pool_verdict(world: World, auto: AutoPoolSpecification, pool_id: str) -> PoolSpec | BatchError:
    """Return the body of the pool to be created, or why the service refuses it (AUTO-1, AUTO-4)."""
    if auto.pool is None:
        return BatchError("InvalidPropertyValue", "there is no pool specification")
    given = {name: getattr(auto.pool, name) for name in auto.pool.model_fields_set}
    if not auto.pool.enable_auto_scale:
        given = {"target_dedicated_nodes": 0} | given  # the service takes an auto pool without a target
    spec = PoolSpec.model_validate({"id": pool_id, **given}, by_name=True)
    return new_pool_verdict(world, spec) or spec


def job_added(world: World, added: JobAdded) -> None:
    """Create the pool that comes with the job, or with the first of its schedule (AUTO-2, AUTO-5).

    If the service refuses it, the job has a scheduling error (JOB-20).
    """
    job = world.jobs.rows[added.job]
    auto = job.spec.pool_info.auto_pool_specification
    if auto is None:
        return
    is_shared = auto.pool_lifetime_option is PoolLifetimeOption.JOB_SCHEDULE
    known = _shared_pool(world, world.job_schedules[job.schedule]) if is_shared else None
    if known is not None:
        job.assign(pool_id=known.id)
        return
    spec = auto_pool_verdict(world, auto, _new_id(world, job, auto))
    if isinstance(spec, BatchError):
        code = _CODES.get(spec.code, "InvalidAutoPoolSettings")
        job.assign(scheduling_error=(ErrorCategory.USER_ERROR.value, code, str(spec)))
        return
    world.emit(AutoPoolRequested(spec))
    pool = world.pools.find(spec.id)
    assert pool is not None
    job.assign(pool_id=pool.id)
    if is_shared:
        world.job_schedules.edit(job.schedule).assign(pool_id=pool.id, keeps_pool=auto.keep_alive)
        pool.assign(auto_schedule=job.schedule)
    else:
        pool.assign(auto_job=job.row)


def _new_id(world: World, job: Job, auto: AutoPoolSpecification) -> str:
    """Return the id of a new auto pool: the prefix and a GUID in upper case (AUTO-5)."""
    guid = draws.guid(world.seed, "auto pool", job.id.lower(), job.row).upper()
    return (auto.auto_pool_id_prefix or "") + guid


def job_ended(world: World, ended: JobEnded) -> None:
    """Delete the job's own pool when the job has ended, release tasks included, unless it is to be kept (AUTO-3)."""
    job = world.jobs.rows[ended.job]
    auto = job.spec.pool_info.auto_pool_specification
    if auto is None or job.keeps_pool or auto.pool_lifetime_option is not PoolLifetimeOption.JOB:
        return
    pool = world.pools.find(job.pool_id)
    if pool is not None and pool.auto_job == job.row and pool.state is PoolState.ACTIVE:
        world.emit(AutoPoolReleased(pool.row))


def schedule_ended(world: World, ended: JobScheduleEnded) -> None:
    """Delete the pool that the jobs of a schedule have shared, unless it is to be kept (AUTO-3)."""
    schedule = world.job_schedules[ended.schedule]
    pool = _shared_pool(world, schedule)
    if pool is not None and not schedule.keeps_pool:
        world.emit(AutoPoolReleased(pool.row))


def _shared_pool(world: World, schedule: JobSchedule) -> Pool | None:
    """Return the pool that the jobs of the schedule share, unless there is none yet or it is being deleted."""
    pool = world.pools.find(schedule.pool_id)
    is_there = pool is not None and pool.auto_schedule == schedule.row and pool.state is PoolState.ACTIVE
    return pool if is_there else None
