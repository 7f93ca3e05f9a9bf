"""The actions on pools and their nodes, and the faults of a pool's region and storage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from engine.base.terms import AllocationState, NodeState, SchedulingState
from engine.base.values import format_duration
from engine.views.hook_status import EligibleAgain
from engine.views.resources.account import AccountPage, QuotaUse
from engine.views.resources.jobs import PoolRow
from engine.views.resources.nodes import NodeRow
from tui.viewmodels.actions import forms
from tui.viewmodels.actions.action import LASTING, ActionType, Better, Field, file_to_delete, running_tasks
from tui.viewmodels.actions.item_fields import JOB_FIELDS, POOL_CHANGES, POOL_FIELDS, POOL_PROPERTIES

FIRST_PREPARATION = "a preparation task, if it has one, runs on a node before its first task there (PREP-1)"
STORAGE_OUTAGE = ActionType[Any](
    "Fault: storage outage", "storageOutage", ("downloads and uploads wait or fail; in the simulation only",), LASTING
)


class AccountTarget(NamedTuple):
    """The account: its page, and its quotas of cores."""

    page: AccountPage
    cores: tuple[QuotaUse, QuotaUse]  # dedicated, Spot


class PoolTarget(NamedTuple):
    """A pool, the interval of its autoscale evaluation, None without autoscale, and the account's quotas of cores."""

    row: PoolRow
    interval_ms: int | None
    cores: tuple[QuotaUse, QuotaUse]  # dedicated, Spot


OTHER_QUOTAS = ActionType[Any](
    "Fault: the account gets other quotas",
    "quota",
    lambda one: (
        f"{one.cores[0].used:,} dedicated and {one.cores[1].used:,} Spot cores are in use",
        "what is used stays; later requests get at most that many (ACC-11)",
    ),
    fields=(
        Field("dedicatedCores", "Dedicated cores", "allowed", lambda one: str(one.cores[0].limit)),
        Field("lowPriorityCores", "Spot cores", "allowed", lambda one: str(one.cores[1].limit)),
        Field("pools", "Pools", "allowed; unchanged if empty"),
        Field("activeJobsAndSchedules", "Jobs and schedules", "active at once; unchanged if empty"),
    ),
)


def _is_steady(pool: PoolTarget) -> bool:
    return pool.row.allocation is AllocationState.STEADY


def _resizing(pool: PoolTarget) -> str:
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


def _is_cloud_service(pool: PoolTarget) -> bool:
    return pool.row.record.spec.cloud_service_configuration is not None


def _upgraded(pool: PoolTarget) -> str:
    machine = pool.row.record.spec.cloud_service_configuration
    if machine is None or machine.os_version == "*":
        return "it already has the newest version"
    return "another upgrade is under way" if pool.row.record.upgrade else ""


def _next_release(pool: PoolTarget) -> str:
    machine = pool.row.record.spec.cloud_service_configuration
    return "" if machine is None else f"{machine.os_family}.20"


def _no_resize(pool: PoolTarget) -> Better | None:
    if _scales_itself(pool):
        return Better("disablePoolAutoScale", "autoscale sets the targets: disable it first (RSZ-1)")
    return None if _is_steady(pool) else Better("stopPoolResize", "one resize at a time: stop this one first (RSZ-1)")


_RESIZE_TIMEOUT = Field[Any]("resizeTimeout", "Resize timeout", "at least 5m, such as 15m or PT15M", "PT15M")
_ON_NODES_THAT_LEAVE = replace(
    running_tasks("nodeDeallocationOption"), default="", hint="on nodes that leave; requeue by default"
)

POOL: tuple[ActionType[PoolTarget], ...] = (
    ActionType(
        "Resize {}",
        "resizePool",
        lambda pool: (
            f"it has {pool.row.current_dedicated:,} dedicated and {pool.row.current_spot:,} Spot nodes",
            "of nodes that leave failed ones go first, then starting, idle and least busy ones (RSZ-6)",
        ),
        (
            Field("targetDedicatedNodes", "Dedicated nodes", "the target", lambda pool: str(pool.row.target_dedicated)),
            Field("targetLowPriorityNodes", "Spot nodes", "the target", lambda pool: str(pool.row.target_spot)),
            _RESIZE_TIMEOUT,
            _ON_NODES_THAT_LEAVE,
        ),
        unavailable=lambda pool: "autoscale sets the targets" if _scales_itself(pool) else _resizing(pool),
        better=_no_resize,
    ),
    ActionType(
        "Stop resizing {}",
        "stopPoolResize",
        ("the present nodes and the targets remain (RSZ-9)",),
        unavailable=lambda pool: "the pool is steady" if _is_steady(pool) else "",
    ),
    ActionType(
        "Enable autoscale of {}",
        "enablePoolAutoScale",
        ("the editor opens; ctrl+s applies the formula (AS-84)", "from then on the formula sets the targets"),
        unavailable=_resizing,
        offered=lambda pool: not _scales_itself(pool),
        opens_formula=True,
    ),
    ActionType(
        "Evaluate or set the formula of {}",
        "evaluatePoolAutoScale",
        ("the editor shows the result; nothing changes until ctrl+s (AS-87)",),
        offered=_scales_itself,
        opens_formula=True,
    ),
    ActionType(
        "Change how often the formula of {} is evaluated",
        "enablePoolAutoScale",
        lambda pool: (
            f"at present every {format_duration(pool.interval_ms)}",
            "the formula is evaluated now, then at this interval (AS-85)",
        ),
        fields=(
            Field(
                "autoScaleEvaluationInterval",
                "Interval",
                "5m to 168h, such as 15m or PT15M",
                lambda pool: format_duration(pool.interval_ms or 0),
            ),
        ),
        offered=_scales_itself,
    ),
    ActionType(
        "Disable autoscale of {}",
        "disablePoolAutoScale",
        ("targets and nodes remain (AS-86)", "samples and history are deleted (AS-52)"),
        offered=_scales_itself,
    ),
    ActionType(
        "Edit {}",
        "updatePool",
        (
            "only what differs is sent (POOL-14)",
            "start task, packages and certificates reach a node at its next boot (POOL-15)",
        ),
        fields=POOL_CHANGES,
        document=lambda pool, session: forms.changes(session, "updatePool", pool.row.pool_id),
    ),
    ActionType(
        "Replace the properties of {}",
        "replacePoolProperties",
        ("what is left empty is removed (POOL-14)",),
        fields=POOL_PROPERTIES,
        document=lambda pool, session: forms.changes(session, "replacePoolProperties", pool.row.pool_id),
    ),
    ActionType(
        "Clone {}",
        "createPool",
        ("another pool like it",),
        fields=POOL_FIELDS,
        document=lambda pool, session: forms.pool_like(session, pool.row.pool_id),
    ),
    ActionType(
        "Create a job in {}",
        "createJob",
        (FIRST_PREPARATION,),
        fields=JOB_FIELDS,
        document=lambda pool, session: forms.new_job(session, pool.row.pool_id),
    ),
    ActionType(
        "Upgrade the operating system of {} to the newest version",
        "upgradePoolOS",
        ("a fifth of the nodes is reimaged at a time (POOL-22)", "their tasks are requeued"),
        adds=lambda _: {"targetOSVersion": "*"},
        unavailable=_upgraded,
        offered=_is_cloud_service,
    ),
    ActionType(
        "Fault: a new release of the operating system of {}",
        "guestOSRelease",
        (
            "all pools of its family with version * are upgraded (POOL-28)",
            "a fifth of the nodes at a time; their tasks are requeued",
        ),
        fields=(Field("osVersion", "Release", "such as WA-GUEST-OS-5.20_201806-01", _next_release),),
        offered=_is_cloud_service,
    ),
    ActionType(
        "Fault: the region runs out of the node size of {}",
        "capacity",
        ("later requests get at most that many (RSZ-12); in the simulation only",),
        fields=(Field("nodes", "Nodes", "nodes of this size still available", "0"),),
        adds=lambda pool: {"vmSize": pool.row.record.spec.vm_size},
    ),
    OTHER_QUOTAS,
    STORAGE_OUTAGE,
    ActionType(
        "Delete {}",
        "deletePool",
        _leaves,
        counts=lambda pool: {"slots in use": pool.row.used_slots},
        cannot_be_undone=True,
        asks_for_id=True,
    ),
)


_WITHOUT_DATA = "requeue", "terminate", "taskcompletion"
_REACHABLE = (NodeState.IDLE, NodeState.RUNNING)
_REPAIRABLE = (NodeState.UNUSABLE, NodeState.START_TASK_FAILED)


class NodeTarget(NamedTuple):
    """A node, and the jobs that an action on it affects."""

    row: NodeRow
    prepared: Sequence[str]
    prepared_again: Sequence[str]  # jobs whose preparation a reboot repeats (PREP-16)
    ineligible: Sequence[str]
    began: str  # start of the run, as a UTC time
    eligible_again: EligibleAgain  # of an ineligible node


def _reboot(node: NodeTarget) -> Sequence[str]:
    stays = [job_id for job_id in node.prepared if job_id not in node.prepared_again]
    jobs = ", ".join(node.ineligible)
    eligible = f"stays ineligible for {jobs} until {node.eligible_again.until} (PREP-9)"
    if _reboot_helps(node):
        eligible = f"eligible again for {jobs} (PREP-17)"
    return (
        "the start task runs again (START-2)" if node.row.record.start_task is not None else "",
        f"preparation runs again for {', '.join(node.prepared_again)} (PREP-16)" if node.prepared_again else "",
        f"{', '.join(stays)} does not prepare again (PREP-16)" if stays else "",
        eligible if jobs else "",
    )


def _reboot_helps(node: NodeTarget) -> bool:
    """Return whether a reboot makes an ineligible node eligible again (PREP-17)."""
    return node.eligible_again.rule == "PREP-17"


def _reimage(node: NodeTarget) -> Sequence[str]:
    return (
        "all files on the node are lost",
        "the start task runs again" if node.row.record.start_task is not None else "",
        f"preparation runs again for {', '.join(node.prepared)} (PREP-18)" if node.prepared else "",
        f"eligible again for {', '.join(node.ineligible)} (PREP-9)" if node.ineligible else "",
    )


def _tasks(node: NodeTarget) -> dict[str, int]:
    return {"tasks affected": node.row.running_tasks + node.row.preparing_tasks}


def _restarts(node: NodeTarget, prepare: Sequence[str], ineligible: str) -> dict[str, int]:
    """Return what a reboot or reimage affects: these jobs prepare again, and what it means to an ineligible node."""
    starts_task = node.row.record.start_task is not None
    starts = {"start task runs again": int(starts_task), "preparation runs again": len(prepare)}
    return {**_tasks(node), **starts, ineligible: int(bool(node.ineligible))}


def _reimage_instead(node: NodeTarget) -> Better | None:
    if node.ineligible and not _reboot_helps(node):
        why = f"reimage, since the node is ineligible until {node.eligible_again.until} (PREP-9)"
        return Better("reimageNode", why)
    if any(code == "DiskFull" for code, _, _ in node.row.record.errors):
        return Better("reimageNode", "the disk is full; a reimage clears the files, a reboot keeps them (NODE-15)")
    return None


def _repair_instead(node: NodeTarget) -> Better | None:
    if node.row.state in _REPAIRABLE:
        return Better("rebootNode", f"it is {node.row.state.wire} and takes no tasks; a reboot may repair it")
    return None


def _no_login(node: NodeTarget) -> str:
    return "" if node.row.state in _REACHABLE else "the node must be idle or running"


def _takes_tasks(node: NodeTarget) -> bool:
    return node.row.record.scheduling is SchedulingState.ENABLED


def _has_users(node: NodeTarget) -> bool:
    return bool(node.row.record.users)


def _user_to(verb: str) -> Field[NodeTarget]:
    """Return the field for the user to change or delete, at first the oldest one."""
    return Field(
        "name", "Name", f"the user to {verb}", lambda node: next(iter(node.row.record.users)), is_required=True
    )


def _user_list(node: NodeTarget) -> str:
    return f"users now: {', '.join(node.row.record.users)}"


_OF_USER = (
    Field[NodeTarget]("password", "Password", "Windows needs one; not used by the simulation", "only-simulated"),
    Field[NodeTarget]("sshPublicKey", "SSH public key", "ssh-rsa AAAA...; for Linux nodes only"),
    Field[NodeTarget]("expiryTime", "Expires", "2026-01-06T08:00:00Z; one day from now if empty"),
)

NODE: tuple[ActionType[NodeTarget], ...] = (
    ActionType(
        "Reboot {}",
        "rebootNode",
        _reboot,
        (running_tasks("nodeRebootOption"),),
        counts=lambda node: _restarts(
            node, node.prepared_again, "eligible again" if _reboot_helps(node) else "stays ineligible for a job"
        ),
        better=_reimage_instead,
    ),
    ActionType(
        "Reimage {}",
        "reimageNode",
        _reimage,
        (running_tasks("nodeReimageOption"),),
        counts=lambda node: _restarts(node, node.prepared, "eligible again"),
    ),
    ActionType(
        "Disable scheduling on {}",
        "disableNodeScheduling",
        ("no new tasks start here; offline when the running ones end (NOP-6)",),
        (replace(running_tasks("nodeDisableSchedulingOption"), options=lambda _: _WITHOUT_DATA),),
        counts=_tasks,
        unavailable=lambda node: "" if _takes_tasks(node) else "it is already disabled",
        better=_repair_instead,
    ),
    ActionType(
        "Enable scheduling on {}",
        "enableNodeScheduling",
        ("tasks are scheduled here again",),
        unavailable=lambda node: "it is already enabled" if _takes_tasks(node) else "",
    ),
    ActionType(
        "Remove {} from the pool",
        "removeNodes",
        ("the node leaves the pool; its files are lost", "the pool's target decreases by one for each node (RSZ-8)"),
        (_RESIZE_TIMEOUT, _ON_NODES_THAT_LEAVE),
        counts=_tasks,
        cannot_be_undone=True,
        asks_for_count=True,
    ),
    ActionType(
        "Deallocate {}",
        "deallocateNode",
        ("the VM is deallocated; files are lost",),
        (running_tasks("nodeDeallocateOption"),),
        counts=_tasks,
        offered=lambda node: node.row.state is not NodeState.DEALLOCATED,
    ),
    ActionType(
        "Start {}",
        "startNode",
        ("it boots like a reimaged node",),
        offered=lambda node: node.row.state is NodeState.DEALLOCATED,
    ),
    ActionType(
        "Add a user account to {}",
        "createNodeUser",
        ("the user can log in until it expires (NOP-9)",),
        fields=(
            Field("name", "Name", "letters and digits", "operator", is_required=True),
            Field("isAdmin", "Administrator", "yes: may do everything on the node", "yes"),
            *_OF_USER,
        ),
        unavailable=_no_login,
    ),
    ActionType(
        "Change a user account of {}",
        "updateNodeUser",
        lambda node: (_user_list(node), "what is left empty gets its default (NOP-9)"),
        fields=(_user_to("change"), *_OF_USER),
        unavailable=_no_login,
        offered=_has_users,
    ),
    ActionType(
        "Delete a user account from {}",
        "deleteNodeUser",
        lambda node: (_user_list(node),),
        fields=(_user_to("delete"),),
        unavailable=_no_login,
        offered=_has_users,
    ),
    ActionType(
        "Upload the service logs of {}",
        "uploadNodeLogs",
        ("three files are uploaded; nothing else changes (NOP-11)",),
        fields=(
            Field("containerUrl", "Container", "the URL of a blob container", "https://account/logs", is_required=True),
            Field("startTime", "From", "2026-01-05T08:00:00Z", lambda node: node.began, is_required=True),
            Field("endTime", "To", "2026-01-05T09:00:00Z; now if empty"),
        ),
    ),
    ActionType(
        "Delete a file on {}",
        "deleteNodeFile",
        ("a directory goes with what is in it; those of the service are emptied (FILE-11)",),
        fields=file_to_delete("below the node's root", "shared"),
        cannot_be_undone=True,
    ),
    ActionType(
        "Fault: make {} unusable",
        "failNode",
        ("its tasks are requeued; in the simulation only",),
        LASTING,
        adds=lambda _: {"state": "unusable"},
        counts=_tasks,
    ),
    ActionType(
        "Fault: cut {} off from Batch",
        "failNode",
        ("its tasks may continue unseen; in the simulation only",),
        LASTING,
        adds=lambda _: {"state": "unknown"},
        counts=_tasks,
    ),
    ActionType(
        "Fault: preempt {}",
        "evictNode",
        ("the VM is evicted (SPOT-3); in the simulation only",),
        counts=_tasks,
        offered=lambda node: not node.row.record.dedicated,
    ),
)
