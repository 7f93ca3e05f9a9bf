"""The actions on pools, and the faults of their region and storage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from engine.base.terms import AllocationState
from engine.base.units import format_duration
from engine.views.pages.account import CoreQuotas
from engine.views.pages.jobs import PoolRow
from tui.viewmodels.actions import documents
from tui.viewmodels.actions.action import LASTING, ActionType, Better, options
from tui.viewmodels.actions.fields import Field, duration, whole
from tui.viewmodels.actions.job_fields import JOB_FIELDS
from tui.viewmodels.actions.pool_fields import POOL_CHANGES, POOL_FIELDS, POOL_PROPERTIES


class PoolTarget(NamedTuple):
    """A pool, the interval of its autoscale evaluation, None without autoscale, and the account's quotas of cores."""

    row: PoolRow
    interval_ms: int | None
    cores: CoreQuotas


def _is_steady(pool: PoolTarget) -> bool:
    return pool.row.allocation is AllocationState.STEADY


def _resizing(pool: PoolTarget) -> str:
    if pool.interval_ms is not None:
        return "autoscale sets the targets"
    return "" if _is_steady(pool) else "the pool is being resized"


def _leaves(pool: PoolTarget) -> Sequence[str]:
    nodes = sum(number for _, number in pool.row.node_counts)
    jobs = len(pool.row.jobs)
    return (
        f"{nodes:,} node{' leaves' if nodes == 1 else 's leave'}",
        f"{jobs:,} job{' remains' if jobs == 1 else 's remain'} without a pool",
    )


def _scales_itself(pool: PoolTarget) -> bool:
    return pool.interval_ms is not None


def _upgraded(pool: PoolTarget) -> str:
    machine = pool.row.spec.cloud_service_configuration
    if machine is None or machine.os_version == "*":
        return "it already has the newest version"
    return "another upgrade is under way" if pool.row.is_upgrading else ""


def _next_release(pool: PoolTarget) -> str:
    machine = pool.row.spec.cloud_service_configuration
    return "" if machine is None else f"{machine.os_family}.20"


def _no_resize(pool: PoolTarget) -> Better | None:
    if pool.interval_ms is not None:
        return Better("disablePoolAutoScale", "autoscale sets the targets: disable it first (RSZ-1)")
    return None if _is_steady(pool) else Better("stopPoolResize", "one resize at a time: stop this one first (RSZ-1)")


def _shrinks(pool: PoolTarget, texts: Mapping[str, str]) -> bool:
    """Return whether nodes have to leave for what is typed, as far as it can be read."""
    present = {
        "targetDedicatedNodes": pool.row.current_dedicated,
        "targetLowPriorityNodes": pool.row.current_spot,
    }
    return any(text.isdecimal() and int(text) < present[name] for name, text in texts.items() if name in present)


POOL: tuple[ActionType[PoolTarget], ...] = (
    ActionType(
        "Resize {}",
        "resizePool",
        options("nodeDeallocationOption", keeps_data=True, verb="remove"),
        (
            Field(
                "targetDedicatedNodes",
                "Dedicated nodes",
                "the target",
                lambda pool: str(pool.row.target_dedicated),
                whole,
            ),
            Field("targetLowPriorityNodes", "Spot nodes", "the target", lambda pool: str(pool.row.target_spot), whole),
            Field("resizeTimeout", "Resize timeout", "at least 5m, such as 15m or PT15M", lambda _: "PT15M", duration),
        ),
        asks=_shrinks,
        effects=lambda pool: (
            f"it has {pool.row.current_dedicated:,} dedicated and {pool.row.current_spot:,} Spot nodes",
        ),
        choice_effects=("failed nodes leave first, then starting, idle and least busy ones (RSZ-6)",),
        unavailable=_resizing,
        better=_no_resize,
    ),
    ActionType(
        "Stop resizing {}",
        "stopPoolResize",
        effects=lambda _: ("the present nodes and the targets remain (RSZ-9)",),
        unavailable=lambda pool: "the pool is steady" if _is_steady(pool) else "",
    ),
    ActionType(
        "Enable autoscale of {}",
        "enablePoolAutoScale",
        effects=lambda _: (
            "the editor opens; ctrl+s applies the formula (AS-84)",
            "from then on the formula sets the targets",
        ),
        unavailable=lambda pool: "" if _is_steady(pool) else "the pool is being resized",
        offered=lambda pool: not _scales_itself(pool),
        opens_formula=True,
    ),
    ActionType(
        "Evaluate or set the formula of {}",
        "evaluatePoolAutoScale",
        effects=lambda _: ("the editor shows the result; nothing changes until ctrl+s (AS-87)",),
        offered=_scales_itself,
        opens_formula=True,
    ),
    ActionType(
        "Change how often the formula of {} is evaluated",
        "enablePoolAutoScale",
        fields=(
            Field(
                "autoScaleEvaluationInterval",
                "Interval",
                "5m to 168h, such as 15m or PT15M",
                lambda pool: format_duration(pool.interval_ms or 0),
                duration,
            ),
        ),
        effects=lambda pool: (
            f"at present every {format_duration(pool.interval_ms)}",
            "the formula is evaluated now, then at this interval (AS-85)",
        ),
        offered=_scales_itself,
    ),
    ActionType(
        "Disable autoscale of {}",
        "disablePoolAutoScale",
        effects=lambda _: ("targets and nodes remain (AS-86)", "samples and history are deleted (AS-52)"),
        offered=_scales_itself,
    ),
    ActionType(
        "Edit {}",
        "updatePool",
        fields=POOL_CHANGES,
        document=lambda pool, session: documents.changes_of_pool(session, pool.row.pool_id),
        effects=lambda _: (
            "only what differs is sent (POOL-14)",
            "start task, packages and certificates reach a node at its next boot (POOL-15)",
        ),
        is_for_one=True,
    ),
    ActionType(
        "Replace the properties of {}",
        "replacePoolProperties",
        fields=POOL_PROPERTIES,
        document=lambda pool, session: documents.properties_of_pool(session, pool.row.pool_id),
        effects=lambda _: ("what is left empty is removed (POOL-14)",),
        is_for_one=True,
    ),
    ActionType(
        "Clone {}",
        "createPool",
        fields=POOL_FIELDS,
        document=lambda pool, session: documents.pool_like(session, pool.row.pool_id),
        effects=lambda _: ("another pool like it",),
        body=lambda _: {},
        is_for_one=True,
    ),
    ActionType(
        "Create a job in {}",
        "createJob",
        fields=JOB_FIELDS,
        document=lambda pool, session: documents.new_job(session, pool.row.pool_id),
        effects=lambda _: ("a preparation task runs on a node before the job's first task there (PREP-1)",),
        body=lambda _: {},
        is_for_one=True,
    ),
    ActionType(
        "Upgrade the operating system of {} to the newest version",
        "upgradePoolOS",
        adds={"targetOSVersion": "*"},
        effects=lambda _: (
            "a fifth of the nodes is reimaged at a time (POOL-22)",
            "their tasks are requeued",
        ),
        unavailable=_upgraded,
        offered=lambda pool: pool.row.spec.cloud_service_configuration is not None,
    ),
    ActionType(
        "Fault: a new release of the operating system of {}",
        "guestOSRelease",
        fields=(Field("osVersion", "Release", "such as WA-GUEST-OS-5.20_201806-01", _next_release),),
        body=lambda _: {},
        effects=lambda _: (
            "all pools of its family with version * are upgraded (POOL-28)",
            "a fifth of the nodes at a time; their tasks are requeued",
        ),
        offered=lambda pool: pool.row.spec.cloud_service_configuration is not None,
    ),
    ActionType(
        "Fault: the region runs out of the node size of {}",
        "capacity",
        fields=(Field("nodes", "Nodes", "nodes of this size still available", lambda _: "0", whole),),
        body=lambda pool: {"vmSize": pool.row.vm_size},
        effects=lambda _: ("later requests get at most that many (RSZ-12); in the simulation only",),
    ),
    ActionType(
        "Fault: the account of {} gets other quotas of cores",
        "quota",
        fields=(
            Field("dedicatedCores", "Dedicated", "cores allowed", lambda pool: str(pool.cores.dedicated), whole),
            Field("lowPriorityCores", "Spot", "cores allowed", lambda pool: str(pool.cores.spot), whole),
        ),
        body=lambda _: {},
        effects=lambda pool: (
            f"{pool.cores.dedicated_used:,} dedicated and {pool.cores.spot_used:,} Spot cores are in use",
            "present nodes stay; later requests get at most that many (ACC-11)",
        ),
    ),
    ActionType(
        "Fault: storage outage",
        "storageOutage",
        LASTING,
        body=lambda _: {},
        effects=lambda _: ("downloads and uploads wait or fail; in the simulation only",),
    ),
    ActionType(
        "Delete {}",
        "deletePool",
        counts=lambda pool: {"slots in use": pool.row.used_slots},
        effects=_leaves,
        cannot_be_undone=True,
        asks_for_id=True,
    ),
)
