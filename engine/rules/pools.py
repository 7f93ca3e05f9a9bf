"""Pools (POOL): creation, change, deletion and OS upgrades, and the auto pools of jobs (chapter 19, AUTO).

Growing and shrinking is in ``resizing``.

Nodes of cloud service pools are upgraded by update domains, one after the other, so that four fifths of the pool go on
working (POOL-22, POOL-28). A node that starts when its turn comes is upgraded as soon as it is up; one that cannot be
reached is left out. What happens to a single node is an operation, see ``node_operations``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.errors import BatchError, ErrorCategory, raise_refusal
from engine.base.terms import AllocationState, Deallocation, NodeState, PoolLifetimeOption, PoolState
from engine.base.values import quoted
from engine.rules.decisions import capacity
from engine.rules.facts import NodeRemovalRequested, NodeUpgradeDue, PoolCreated
from engine.specs import draws
from engine.specs.account import PoolAllocationMode
from engine.specs.base import wire_name
from engine.specs.bodies import PoolReplacement, PoolSpec
from engine.specs.catalogue import has_low_priority, vm_size
from engine.specs.images import NEWEST, family_of, is_version
from engine.specs.pool_refusals import pool_refusals, pool_update_refusals
from engine.state.jobs import UNBOUND, SchedulingError
from engine.state.pools import Pool

if TYPE_CHECKING:
    from collections.abc import Mapping

    from engine.rules.facts import (
        JobAdded,
        JobEnded,
        JobScheduleEnded,
        NodeGone,
        NodeLeaving,
        NodePreempted,
        NodeUnusable,
        NodeUsable,
        StartTaskFailed,
    )
    from engine.specs.bodies import AutoPoolSpecification
    from engine.specs.catalogue import VmSize
    from engine.specs.commands import ReplacePoolProperties
    from engine.state.jobs import Job, JobSchedule
    from engine.world import World


# POOL-2: properties that a PATCH may change whatever nodes there are; every other one needs an empty pool.
_LIVE = {"start_task", "application_package_references", "certificate_references", "metadata"}
_MODE = "target_node_communication_mode"

# AUTO-4: what the job's scheduling error says of the refusal of its pool.
_CODES = {
    "PoolQuotaReached": "AutoPoolCreationFailedWithQuotaReached",
    "InvalidApplicationPackageReferences": "InvalidApplicationPackageReferencesInAutoPool",
    "InvalidCertificateReferences": "InvalidCertificatesInAutoPool",
    "AutoScalingFormulaSyntaxError": "InvalidAutoScaleFormulaInAutoPool",
    "AutoScalingFormulaTooLong": "InvalidAutoScaleFormulaInAutoPool",
    "InvalidAutoScalingSettings": "InvalidAutoScaleFormulaInAutoPool",
}


# -- creation --------------------------------------------------------------------------------------------------------


def new_verdict(world: World, spec: PoolSpec) -> BatchError | None:
    """Return why the service refuses a new pool: its body, its id or the quota (POOL-9); None if it is created."""
    refused = pool_refusals(spec, world.account, world.scenario.pool_setting)
    if refused:
        return refused[0].error(spec)
    if world.pools.find(spec.id) is not None:
        return BatchError("PoolExists", poolId=spec.id)
    present, limit = sum(1 for _ in world.pools.present()), world.account.quotas.pools
    if present >= limit:
        return BatchError("PoolQuotaReached", f"the quota is {limit:,}, and {present:,} exist")
    return None


def create(world: World, spec: PoolSpec) -> None:
    """Create a pool; the initial sizing is an ordinary resize (POOL-7, POOL-8, POOL-9)."""
    raise_refusal(new_verdict(world, spec))
    _create(world, spec)


def _create(world: World, spec: PoolSpec) -> Pool:
    pool = Pool(len(world.pools), spec, _size(world, spec.vm_size), world.now_ms)
    grows = bool(pool.target_dedicated or pool.target_spot or pool.auto_scale)
    world.pools.create(world.now_ms, pool, AllocationState.RESIZING if grows else AllocationState.STEADY)
    for job in world.jobs.present():
        if job.pool == UNBOUND and job.pool_id.lower() == pool.id.lower():
            world.bind_job(job)
    world.emit(PoolCreated(pool.row))
    return pool


def _size(world: World, name: str) -> VmSize:
    """Return a size with the prices that count in this run (VM-2, VM-7)."""
    size = vm_size(name)
    assert size is not None  # one of the refusals
    in_subscription = world.account.pool_allocation_mode is PoolAllocationMode.USER_SUBSCRIPTION
    low_priority = has_low_priority(world.scenario.start.date(), in_subscription=in_subscription)
    if world.scenario.prices is not None:
        return world.scenario.prices.priced(size, low_priority=low_priority)
    return size.as_low_priority() if low_priority else size


# -- change ----------------------------------------------------------------------------------------------------------


def replaced(pool: Pool, command: ReplacePoolProperties) -> dict[str, object]:
    """Return what ``updateproperties`` replaces: everything that can change while there are nodes (POOL-14).

    Absent properties get their defaults. DECISION: the communication mode stays where it is absent, since a change of
    it needs an empty pool.
    """
    given: dict[str, object] = {name: getattr(command, name) for name in PoolReplacement.model_fields}
    mode = given.pop(_MODE)
    return given if mode in (None, pool.spec.target_node_communication_mode) else given | {_MODE: mode}


def update(world: World, pool: Pool, given: Mapping[str, object]) -> None:
    """Replace what is given; most of it only while the pool has no nodes (POOL-14, POOL-16, POOL-17).

    DECISION: requested nodes count as nodes, since they come as they were requested.
    """
    refused = pool_update_refusals(given, pool.spec, world.account, world.scenario.pool_setting)
    if refused:
        raise refused[0].error(pool.spec.model_copy(update=given))
    if pool.state is PoolState.DELETING:
        raise BatchError("PoolBeingDeleted")
    fixed = sorted(wire_name(name) for name in set(given) - _LIVE)
    if fixed and (pool.is_growing or capacity.present_nodes(world, pool)):
        reason = f"{', '.join(fixed)} can change only while the pool has no nodes"
        raise BatchError("OperationInvalidForCurrentState", reason, PropertyName=fixed[0])
    new_size = given.get("vm_size")
    pool.change(world.now_ms, given, _size(world, new_size) if isinstance(new_size, str) else None)
    world.scheduler.reorder_turns(pool)


# -- deletion --------------------------------------------------------------------------------------------------------


def delete(world: World, pool: Pool) -> None:
    """Delete a pool: its nodes leave, tasks are requeued, jobs stay and wait (RSZ-10, POOL-17, POOL-19)."""
    if pool.state is PoolState.DELETING:
        raise BatchError("PoolBeingDeleted")
    world.pools.set_state(world.now_ms, pool.row, PoolState.DELETING)
    pool.begin_deletion(world.jobs_of(pool))
    present = capacity.present_nodes(world, pool)
    staying = [node for node in present if world.nodes.state[node] != NodeState.LEAVING_POOL]
    pool.add_victims(present)
    for node in staying:
        world.emit(NodeRemovalRequested(node, Deallocation.REQUEUE))
    _remove_if_empty(world, pool)


def node_gone(world: World, gone: NodeGone) -> None:
    """Remove a pool that is being deleted with its last node."""
    pool = world.pool_of(gone.node)
    if pool.state is PoolState.DELETING:
        _remove_if_empty(world, pool)


def _remove_if_empty(world: World, pool: Pool) -> None:
    """Remove the pool when its last node has left, however long that takes (RSZ-10, RSZ-11)."""
    if pool.victims:
        return
    world.pools.set_state(world.now_ms, pool.row, None)
    for job in world.jobs_of(pool):
        world.unbind_job(job)


# -- auto pools ------------------------------------------------------------------------------------------------------


def auto_pool_verdict(world: World, auto: AutoPoolSpecification, pool_id: str) -> PoolSpec | BatchError:
    """Return the body of the pool to be created, or why the service refuses it (AUTO-1, AUTO-4)."""
    if auto.pool is None:
        return BatchError("InvalidPropertyValue", "there is no pool specification")
    given = auto.pool.given_values()
    if not auto.pool.enable_auto_scale:
        given = {"target_dedicated_nodes": 0} | given  # the service takes an auto pool without a target
    spec = PoolSpec.model_validate({"id": pool_id, **given}, by_name=True)
    return new_verdict(world, spec) or spec


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
        refusal = BatchError(_CODES.get(spec.code, "InvalidAutoPoolSettings"))
        category = ErrorCategory.USER_ERROR.value
        job.assign(scheduling_error=SchedulingError(category, refusal.code, refusal.message, str(spec)))
        return
    pool = _create(world, spec)
    job.assign(pool_id=pool.id)
    if is_shared:
        world.job_schedules.edit(job.schedule).assign(pool_id=pool.id, keeps_pool=auto.keep_alive)
        pool.assign(auto_schedule=job.schedule)
    else:
        pool.assign(auto_job=job.row)


def _new_id(world: World, job: Job, auto: AutoPoolSpecification) -> str:
    """Return the id of a new auto pool: a GUID in upper case, behind the prefix and ``_`` if there is one (AUTO-5)."""
    guid = draws.guid(world.seed, "auto pool", job.id.lower(), job.row).upper()
    return f"{auto.auto_pool_id_prefix}_{guid}" if auto.auto_pool_id_prefix else guid


def job_ended(world: World, ended: JobEnded) -> None:
    """Delete the job's own pool when the job has ended, release tasks included, unless it is to be kept (AUTO-3)."""
    job = world.jobs.rows[ended.job]
    auto = job.spec.pool_info.auto_pool_specification
    if auto is None or job.keeps_pool or auto.pool_lifetime_option is not PoolLifetimeOption.JOB:
        return
    pool = world.pools.find(job.pool_id)
    if pool is not None and pool.auto_job == job.row and pool.state is PoolState.ACTIVE:
        delete(world, world.pools.edit(pool.row))


def schedule_ended(world: World, ended: JobScheduleEnded) -> None:
    """Delete the pool that the jobs of a schedule have shared, unless it is to be kept (AUTO-3)."""
    schedule = world.job_schedules[ended.schedule]
    pool = _shared_pool(world, schedule)
    if pool is not None and not schedule.keeps_pool:
        delete(world, world.pools.edit(pool.row))


def _shared_pool(world: World, schedule: JobSchedule) -> Pool | None:
    """Return the pool that the jobs of the schedule share, unless there is none yet or it is being deleted."""
    pool = world.pools.find(schedule.pool_id)
    is_there = pool is not None and pool.auto_schedule == schedule.row and pool.state is PoolState.ACTIVE
    return pool if is_there else None


_N = NodeState

UPDATE_DOMAINS = 5
_BEING_UPGRADED = (_N.UPGRADING_OS, _N.STARTING, _N.WAITING_FOR_START_TASK)


def upgrade_verdict(pool: Pool, version: str) -> BatchError | None:
    """Return why the service refuses to upgrade the pool to ``version``; None if it begins.

    DECISION: every release of the pool's family is on offer, so ``OSVersionDisabled`` and ``OSVersionExpired`` never
    come. A release is named as in ``WA-GUEST-OS-5.20_201806-01``; ``*`` is the newest.
    """
    machine = pool.spec.cloud_service_configuration
    if machine is None:
        return BatchError("PoolNotEligibleForOSVersionUpgrade", "its nodes are no cloud service")
    if not is_version(version, machine.os_family):
        reason = f"family {machine.os_family} has no version {quoted(version)}"
        return BatchError("OSVersionNotFound", reason, PropertyName="osVersion", PropertyValue=version)
    if version.lower() == machine.os_version.lower():
        return BatchError("PoolVersionEqualsUpgradeVersion", PropertyName="osVersion", PropertyValue=version)
    if pool.state is PoolState.DELETING:
        return BatchError("PoolBeingDeleted")
    if pool.upgrade:
        return BatchError("UpgradePoolVersionConflict", "another upgrade is under way")
    return None


def upgrade_os(world: World, pool: Pool, version: str) -> None:
    """Upgrade the update domains one after the other; nodes that come later have the new version from the start."""
    raise_refusal(upgrade_verdict(pool, version))
    machine = pool.spec.cloud_service_configuration
    assert machine is not None
    machine = machine.model_copy(update={"os_version": version})
    pool.change(world.now_ms, {"cloud_service_configuration": machine})
    _begin_upgrade(world, pool)


def guest_os_released(world: World, version: str) -> None:
    """Upgrade the pools of the release's family whose version is ``*``; those with a fixed version stay (POOL-28).

    DECISION: a pool that is being upgraded finishes the domain that is under way, and then begins again with the
    newer release.
    """
    family = family_of(version)
    for known in list(world.pools.present()):
        machine = known.spec.cloud_service_configuration
        if machine is None or machine.os_family != family or machine.os_version != NEWEST:
            continue
        if known.state is not PoolState.DELETING:
            _begin_upgrade(world, world.pools.edit(known.row))


def _begin_upgrade(world: World, pool: Pool) -> None:
    booted = [node for node in capacity.present_nodes(world, pool) if world.nodes.state_of(node) is not _N.CREATING]
    domains = (tuple(booted[first::UPDATE_DOMAINS]) for first in range(UPDATE_DOMAINS))
    pool.assign(upgrade=(pool.upgrade[0] if pool.upgrade else (), *domains))  # after the domain that is under way
    _continue_upgrade(world, pool)


def node_at_rest(world: World, node: NodeUsable | StartTaskFailed | NodeUnusable | NodeLeaving | NodePreempted) -> None:
    """Go on with the upgrade of the node's pool."""
    _continue_upgrade(world, world.pool_of(node.node))


def _continue_upgrade(world: World, pool: Pool) -> None:
    """Begin the next update domain when no node of the present one is being upgraded any more."""
    while pool.upgrade and not any(is_being_upgraded(world, node) for node in pool.upgrade[0]):
        pool.assign(upgrade=pool.upgrade[1:])
        for node in pool.upgrade[0] if pool.upgrade else ():
            world.emit(NodeUpgradeDue(node))


def is_being_upgraded(world: World, node: int) -> bool:
    """Return whether the upgrade of the node has begun, or will when it is up, and has not ended."""
    return world.nodes[node].awaits_upgrade or world.nodes.state_of(node) in _BEING_UPGRADED
