"""The actions on pools and their nodes, and the faults of a pool's region and storage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from engine.base.terms import AllocationState, NodeState, SchedulingState
from engine.base.values import format_duration
from engine.views.hook_status import EligibleAgain
from engine.views.resources.account import CoreQuotas
from engine.views.resources.jobs import PoolRow
from engine.views.resources.nodes import NodeRow
from tui.viewmodels.actions import forms
from tui.viewmodels.actions.action import (
    LASTING,
    ActionType,
    Better,
    Field,
    duration,
    one_of,
    options,
    whole,
    yes_or_no,
)
from tui.viewmodels.actions.item_fields import JOB_FIELDS, POOL_CHANGES, POOL_FIELDS, POOL_PROPERTIES


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
        document=lambda pool, session: forms.changes_of_pool(session, pool.row.pool_id),
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
        document=lambda pool, session: forms.properties_of_pool(session, pool.row.pool_id),
        effects=lambda _: ("what is left empty is removed (POOL-14)",),
        is_for_one=True,
    ),
    ActionType(
        "Clone {}",
        "createPool",
        fields=POOL_FIELDS,
        document=lambda pool, session: forms.pool_like(session, pool.row.pool_id),
        effects=lambda _: ("another pool like it",),
        body=lambda _: {},
        is_for_one=True,
    ),
    ActionType(
        "Create a job in {}",
        "createJob",
        fields=JOB_FIELDS,
        document=lambda pool, session: forms.new_job(session, pool.row.pool_id),
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
    again = f"preparation runs again for {', '.join(node.prepared_again)} (PREP-16)" if node.prepared_again else ""
    stays = [job_id for job_id in node.prepared if job_id not in node.prepared_again]
    ineligible = ""
    if node.ineligible:
        jobs = ", ".join(node.ineligible)
        eligible = f"eligible again for {jobs} (PREP-17)"
        ineligible = (
            eligible
            if _reboot_helps(node)
            else f"stays ineligible for {jobs} until {node.eligible_again.until} (PREP-9)"
        )
    return (
        "the start task runs again (START-2)" if node.row.start_task is not None else "",
        again,
        f"{', '.join(stays)} does not prepare again (PREP-16)" if stays else "",
        ineligible,
    )


def _reboot_helps(node: NodeTarget) -> bool:
    """Return whether a reboot makes an ineligible node eligible again (PREP-17)."""
    return node.eligible_again.rule == "PREP-17"


def _reimage(node: NodeTarget) -> Sequence[str]:
    return (
        "all files on the node are lost",
        "the start task runs again" if node.row.start_task is not None else "",
        f"preparation runs again for {', '.join(node.prepared)} (PREP-18)" if node.prepared else "",
        f"eligible again for {', '.join(node.ineligible)} (PREP-9)" if node.ineligible else "",
    )


def _tasks(node: NodeTarget) -> dict[str, int]:
    return {"tasks affected": node.row.running_tasks + node.row.preparing_tasks}


def _restarts(node: NodeTarget, prepare: Sequence[str], ineligible: str) -> dict[str, int]:
    """Return what a reboot or reimage affects: these jobs prepare again, and what it means to an ineligible node."""
    starts = {"start task runs again": int(node.row.start_task is not None), "preparation runs again": len(prepare)}
    return {**_tasks(node), **starts, ineligible: int(bool(node.ineligible))}


def _reimage_instead(node: NodeTarget) -> Better | None:
    if node.ineligible and not _reboot_helps(node):
        return Better(
            "reimageNode", f"preparation failed: the node is ineligible until {node.eligible_again.until} (PREP-9)"
        )
    if any(code == "DiskFull" for code, _, _ in node.row.errors):
        return Better("reimageNode", "the disk is full; a reimage clears the files, a reboot keeps them (NODE-15)")
    return None


def _repair_instead(node: NodeTarget) -> Better | None:
    if node.row.state in _REPAIRABLE:
        return Better("rebootNode", f"it is {node.row.state.wire} and takes no tasks; a reboot may repair it")
    return None


def _no_login(node: NodeTarget) -> str:
    return "" if node.row.state in _REACHABLE else "the node must be idle or running"


_REMOVAL = Field[NodeTarget](
    "resizeTimeout", "Resize timeout", "at least 5m, such as 15m or PT15M", lambda _: "PT15M", duration
)
_PASSWORD = Field[NodeTarget](
    "password", "Password", "Windows needs one; not used by the simulation", lambda _: "only-simulated"
)
_EXPIRES = Field[NodeTarget]("expiryTime", "Expires", "2026-01-06T08:00:00Z; one day from now if empty")
_SSH_KEY = Field[NodeTarget]("sshPublicKey", "SSH public key", "ssh-rsa AAAA...; for Linux nodes only")

NODE: tuple[ActionType[NodeTarget], ...] = (
    ActionType(
        "Reboot {}",
        "rebootNode",
        options("nodeRebootOption", keeps_data=True, verb="reboot"),
        counts=lambda node: _restarts(
            node, node.prepared_again, "eligible again" if _reboot_helps(node) else "stays ineligible for a job"
        ),
        effects=_reboot,
        better=_reimage_instead,
    ),
    ActionType(
        "Reimage {}",
        "reimageNode",
        options("nodeReimageOption", keeps_data=True, verb="reimage"),
        counts=lambda node: _restarts(node, node.prepared, "eligible again"),
        effects=_reimage,
    ),
    ActionType(
        "Disable scheduling on {}",
        "disableNodeScheduling",
        options("nodeDisableSchedulingOption", keeps_data=False, verb="offline"),
        counts=_tasks,
        effects=lambda _: ("no new tasks start here; offline when the running ones end (NOP-6)",),
        unavailable=lambda node: "" if node.row.scheduling is SchedulingState.ENABLED else "it is already disabled",
        better=_repair_instead,
    ),
    ActionType(
        "Enable scheduling on {}",
        "enableNodeScheduling",
        effects=lambda _: ("tasks are scheduled here again",),
        unavailable=lambda node: "it is already enabled" if node.row.scheduling is SchedulingState.ENABLED else "",
    ),
    ActionType(
        "Remove {} from the pool",
        "removeNodes",
        options("nodeDeallocationOption", keeps_data=True, verb="remove"),
        (_REMOVAL,),
        counts=_tasks,
        effects=lambda _: (
            "the node leaves the pool; its files are lost",
            "the pool's target decreases by one for each node (RSZ-8)",
        ),
        cannot_be_undone=True,
        asks_for_count=True,
        lists="nodeList",
    ),
    ActionType(
        "Deallocate {}",
        "deallocateNode",
        options("nodeDeallocateOption", keeps_data=True, verb="deallocate"),
        counts=_tasks,
        effects=lambda _: ("the VM is deallocated; files are lost",),
        offered=lambda node: node.row.state is not NodeState.DEALLOCATED,
    ),
    ActionType(
        "Start {}",
        "startNode",
        effects=lambda _: ("it boots like a reimaged node",),
        offered=lambda node: node.row.state is NodeState.DEALLOCATED,
    ),
    ActionType(
        "Add a user account to {}",
        "createNodeUser",
        fields=(
            Field("name", "Name", "letters and digits", lambda _: "operator", is_required=True),
            Field(
                "isAdmin",
                "Administrator",
                "yes: may do everything on the node",
                lambda _: "yes",
                yes_or_no,
                one_of("yes", "no"),
            ),
            _PASSWORD,
            _SSH_KEY,
            _EXPIRES,
        ),
        effects=lambda _: ("the user can log in until it expires (NOP-9)",),
        unavailable=_no_login,
    ),
    ActionType(
        "Change a user account of {}",
        "updateNodeUser",
        fields=(
            Field("name", "Name", "the user to change", lambda node: node.row.users[0], is_required=True),
            _PASSWORD,
            _SSH_KEY,
            _EXPIRES,
        ),
        effects=lambda node: (
            f"users now: {', '.join(node.row.users)}",
            "what is left empty gets its default (NOP-9)",
        ),
        unavailable=_no_login,
        offered=lambda node: bool(node.row.users),
    ),
    ActionType(
        "Delete a user account from {}",
        "deleteNodeUser",
        fields=(Field("name", "Name", "the user to delete", lambda node: node.row.users[0], is_required=True),),
        effects=lambda node: (f"users now: {', '.join(node.row.users)}",),
        unavailable=_no_login,
        offered=lambda node: bool(node.row.users),
    ),
    ActionType(
        "Upload the service logs of {}",
        "uploadNodeLogs",
        fields=(
            Field(
                "containerUrl",
                "Container",
                "the URL of a blob container",
                lambda _: "https://account/logs",
                is_required=True,
            ),
            Field("startTime", "From", "2026-01-05T08:00:00Z", lambda node: node.began, is_required=True),
            Field("endTime", "To", "2026-01-05T09:00:00Z; now if empty"),
        ),
        effects=lambda _: ("three files are uploaded; nothing else changes (NOP-11)",),
    ),
    ActionType(
        "Delete a file on {}",
        "deleteNodeFile",
        fields=(
            Field(
                "filePath",
                "Path",
                "below the node's root",
                lambda _: "shared",
                is_required=True,
            ),
            Field("recursive", "Recursive", "yes to delete a directory that is not empty", lambda _: "no", yes_or_no),
        ),
        effects=lambda _: ("a directory goes with what is in it; those of the service are emptied (FILE-11)",),
        cannot_be_undone=True,
    ),
    ActionType(
        "Fault: make {} unusable",
        "failNode",
        LASTING,
        adds={"state": "unusable"},
        counts=_tasks,
        effects=lambda _: ("its tasks are requeued; in the simulation only",),
    ),
    ActionType(
        "Fault: cut {} off from Batch",
        "failNode",
        LASTING,
        adds={"state": "unknown"},
        counts=_tasks,
        effects=lambda _: ("its tasks may continue unseen; in the simulation only",),
    ),
    ActionType(
        "Fault: preempt {}",
        "evictNode",
        counts=_tasks,
        effects=lambda _: ("the VM is evicted (SPOT-3); in the simulation only",),
        offered=lambda node: not node.row.is_dedicated,
    ),
)
