"""The account at a moment: its quotas and their use, packages and certificates with their users (ACC-1, ACC-4)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from engine.rules.certificates import use_of
from engine.rules.decisions import quotas
from engine.scenario.typed import AccountInForce
from engine.specs.account import series_key
from engine.views.rest.common import account_url

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from engine import Simulation
    from engine.base.terms import CertificateState
    from engine.specs.account import Application, PoolAllocationMode
    from engine.world.world import World


class CoreQuotas(NamedTuple):
    """The quotas in force, and the cores in use."""

    dedicated: int
    dedicated_used: int
    spot: int
    spot_used: int


class QuotaUse(NamedTuple):
    """A quota, and how much of it is in use."""

    name: str
    used: int
    limit: int


class CertificateRow(NamedTuple):
    """A certificate that has not been deleted, and the ids of the pools that refer to it and of the nodes with it."""

    thumbprint: str
    form: str  # the extension of its file
    state: CertificateState
    since_ms: int
    pools: tuple[str, ...]
    nodes: tuple[str, ...]


class AccountPage(NamedTuple):
    """The account. ``package_users`` has the ids of the pools that refer to an application, by its id in lower case."""

    name: str
    url: str
    location: str
    subscription_id: str | None
    mode: PoolAllocationMode
    storage_account: str | None
    quotas: tuple[QuotaUse, ...]
    applications: tuple[Application, ...]
    package_users: Mapping[str, tuple[str, ...]]
    certificates: tuple[CertificateRow, ...]


def core_quotas(simulation: Simulation) -> CoreQuotas:
    """Return the quotas of cores at the moment that is shown; those of single VM series are left out."""
    world = simulation.world
    limits = world.account.quotas
    return CoreQuotas(
        limits.dedicated_cores,
        quotas.cores_in_use(world, dedicated=True),
        limits.low_priority_cores,
        quotas.cores_in_use(world, dedicated=False),
    )


def account_page(simulation: Simulation) -> AccountPage:
    """Return the account at the moment that is shown."""
    world = simulation.world
    account = world.account
    return AccountPage(
        account.name,
        account_url(world),
        account.location,
        account.subscription_id,
        account.pool_allocation_mode,
        account.storage_account,
        tuple(_quotas(world)),
        account.applications,
        _package_users(world),
        tuple(_certificates(world)),
    )


def _package_users(world: World) -> dict[str, tuple[str, ...]]:
    users: dict[str, tuple[str, ...]] = {}
    for pool in world.pools.present():
        for reference in pool.spec.application_package_references:
            key = reference.application_id.lower()
            users[key] = (*users.get(key, ()), pool.id)
    return users


def _certificates(world: World) -> Iterator[CertificateRow]:
    for one in world.certificates.present():
        use = use_of(world, one.spec.thumbprint)
        pools, nodes = ((), ()) if use is None else use
        assert one.state is not None
        yield CertificateRow(one.spec.thumbprint, one.spec.form, one.state, one.since_ms, pools, nodes)


def account_in_force(simulation: Simulation) -> AccountInForce:
    """Return the account at the moment that is shown, as the service reads new pools by it."""
    return AccountInForce(simulation.world.account, simulation.scenario.pool_setting)


def _quotas(world: World) -> Iterator[QuotaUse]:
    """Yield the quotas in the order of the portal's page: cores in all, cores of VM series, and the rest (ACC-4)."""
    limits = world.account.quotas
    yield QuotaUse("Dedicated cores", quotas.cores_in_use(world, dedicated=True), limits.dedicated_cores)
    of_series = {series_key(pool.size.series): pool.size.series for pool in world.pools.present()}
    for name, limit in (limits.dedicated_cores_per_vm_series or {}).items():
        series = of_series.get(series_key(name))
        used = 0 if series is None else quotas.cores_in_use(world, dedicated=True, series=series)
        yield QuotaUse(f"Dedicated cores, {name}", used, limit)
    yield QuotaUse("Spot cores", quotas.cores_in_use(world, dedicated=False), limits.low_priority_cores)
    yield QuotaUse("Pools", sum(1 for _ in world.pools.present()), limits.pools)
    used = quotas.active_jobs_and_schedules(world)
    yield QuotaUse("Jobs and schedules", used, limits.active_jobs_and_schedules)
