"""The actions on nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from engine.base.terms import NodeState, SchedulingState
from engine.views.pages.nodes import NodeRow
from engine.views.pages.option_words import EligibleAgain
from tui.viewmodels.actions.action import LASTING, ActionType, Better, options
from tui.viewmodels.actions.fields import Field, duration, one_of, yes_or_no

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
