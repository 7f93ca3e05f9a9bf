"""What can be done to pools, and to the region and the storage that they live on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from engine.terms import AllocationState
from engine.units import MINUTE_MS
from engine.views.pages.jobs import PoolRow
from tui.viewmodels.verbs.verb import LASTING, Verb


class PoolCase(NamedTuple):
    """A pool, and how often it evaluates its formula; None where it has none."""

    row: PoolRow
    interval_ms: int | None


def _is_steady(pool: PoolCase) -> bool:
    return pool.row.allocation is AllocationState.STEADY


def _resizing(pool: PoolCase) -> str:
    if pool.interval_ms is not None:
        return "autoscale sets the targets"
    return "" if _is_steady(pool) else "the pool is being resized"


def _leaves(pool: PoolCase) -> Sequence[str]:
    nodes = sum(number for _, number in pool.row.node_counts)
    jobs = len(pool.row.jobs)
    return (
        f"{nodes:,} node{' leaves' if nodes == 1 else 's leave'}",
        f"{jobs:,} job{' stays' if jobs == 1 else 's stay'} without a pool",
    )


def _scales_itself(pool: PoolCase) -> bool:
    return pool.interval_ms is not None


def _upgraded(pool: PoolCase) -> str:
    machine = pool.row.spec.cloud_service_configuration
    if machine is None or machine.os_version == "*":
        return "it has the newest version"
    return "another upgrade is under way" if pool.row.is_upgrading else ""


POOL: tuple[Verb[PoolCase], ...] = (
    Verb(
        "Resize {}: dedicated nodes",
        "resizePool",
        asks="targetDedicatedNodes",
        prompt=lambda pool: f"target dedicated nodes; now {pool.row.target_dedicated}",
        effects=lambda _: ("nodes that must go requeue their tasks",),
        unavailable=_resizing,
    ),
    Verb(
        "Resize {}: Spot nodes",
        "resizePool",
        asks="targetLowPriorityNodes",
        prompt=lambda pool: f"target Spot nodes; now {pool.row.target_spot}",
        effects=lambda _: ("nodes that must go requeue their tasks",),
        unavailable=_resizing,
    ),
    Verb(
        "Stop resizing {}",
        "stopPoolResize",
        effects=lambda _: ("what has come or gone stays so, and the targets stay too (RSZ-9)",),
        unavailable=lambda pool: "the pool is steady" if _is_steady(pool) else "",
    ),
    Verb(
        "Evaluate the formula of {} more often, or less",
        "enablePoolAutoScale",
        asks="autoScaleEvaluationInterval",
        in_minutes=True,
        prompt=lambda pool: f"minutes, 5 to 10080; now {(pool.interval_ms or 0) // MINUTE_MS}",
        effects=lambda _: ("the formula is evaluated at once, and from now on in this interval (AS-85)",),
        offered=_scales_itself,
    ),
    Verb(
        "Switch autoscale of {} off",
        "disablePoolAutoScale",
        effects=lambda _: ("targets and nodes stay (AS-86)", "samples and history are forgotten (AS-52)"),
        offered=_scales_itself,
    ),
    Verb(
        "Upgrade the operating system of {} to the newest version",
        "upgradePoolOS",
        adds={"targetOSVersion": "*"},
        effects=lambda _: ("a fifth of its nodes at a time is reinstalled, their tasks are requeued (POOL-22)",),
        unavailable=_upgraded,
        offered=lambda pool: pool.row.spec.cloud_service_configuration is not None,
    ),
    Verb(
        "Fault: the region runs out of the node size of {}",
        "capacity",
        asks="nodes",
        prompt=lambda pool: f"how many more nodes of size {pool.row.vm_size} can be had",
        body=lambda pool: {"vmSize": pool.row.vm_size},
        effects=lambda _: ("later requests get no more than that (RSZ-12); only in the simulation",),
    ),
    Verb(
        "Fault: storage does not answer",
        "storageOutage",
        LASTING,
        body=lambda _: {},
        effects=lambda _: ("downloads and uploads wait or fail; only in the simulation",),
    ),
    Verb("Delete {}", "deletePool", effects=_leaves, cannot_be_undone=True),
)
