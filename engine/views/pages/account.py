"""The account's quotas of cores, and what is used of them (ACC-4, ACC-7)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from engine.rules.decisions import quotas

if TYPE_CHECKING:
    from engine import Simulation


class CoreQuotas(NamedTuple):
    """The quotas in force, and the cores in use."""

    dedicated: int
    dedicated_used: int
    spot: int
    spot_used: int


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
