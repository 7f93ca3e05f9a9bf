"""What can be done to nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from engine.terms import NodeState, SchedulingState
from engine.views.pages.nodes import NodeRow
from tui.viewmodels.verbs.verb import LASTING, Verb, options

_OPERATOR = "operator"
_REACHABLE = (NodeState.IDLE, NodeState.RUNNING)


class NodeCase(NamedTuple):
    """A node, and the jobs that matter when something is done to it."""

    row: NodeRow
    prepared: tuple[str, ...]
    barred: tuple[str, ...]


def _again(case: NodeCase) -> str:
    return f"preparation runs again for {', '.join(case.prepared)}" if case.prepared else ""


def _reboot(case: NodeCase) -> Sequence[str]:
    again = _again(case)
    return (
        "the start task runs again" if case.row.start_task is not None else "",
        f"{again}, unless the job says otherwise (PREP-16)" if again else "",
        f"stays barred from {', '.join(case.barred)}: only a reimage clears that (PREP-9)" if case.barred else "",
    )


def _reimage(case: NodeCase) -> Sequence[str]:
    return (
        "all files on the node are lost",
        "the start task runs again" if case.row.start_task is not None else "",
        _again(case),
        f"the bar from {', '.join(case.barred)} is cleared (PREP-9)" if case.barred else "",
    )


NODE: tuple[Verb[NodeCase], ...] = (
    Verb("Reboot {}", "rebootNode", options("nodeRebootOption", keeps_data=True), effects=_reboot),
    Verb("Reimage {}", "reimageNode", options("nodeReimageOption", keeps_data=True), effects=_reimage),
    Verb(
        "Disable scheduling on {}",
        "disableNodeScheduling",
        options("nodeDisableSchedulingOption", keeps_data=False),
        effects=lambda _: ("no new tasks come here; offline once nothing of a job runs (NOP-6)",),
        unavailable=lambda case: "" if case.row.scheduling is SchedulingState.ENABLED else "it is disabled already",
    ),
    Verb(
        "Enable scheduling on {}",
        "enableNodeScheduling",
        effects=lambda _: ("tasks come here again",),
        unavailable=lambda case: "it is enabled already" if case.row.scheduling is SchedulingState.ENABLED else "",
    ),
    Verb(
        "Remove {} from the pool",
        "removeNodes",
        options("nodeDeallocationOption", keeps_data=True),
        effects=lambda _: (
            "the node leaves; its files are lost, its records stay",
            "the pool's target becomes one less for each node (RSZ-8)",
        ),
        cannot_be_undone=True,
        lists="nodeList",
    ),
    Verb(
        "Deallocate {}",
        "deallocateNode",
        options("nodeDeallocateOption", keeps_data=True),
        effects=lambda _: ("the VM is given back; files are lost",),
        offered=lambda case: case.row.state is not NodeState.DEALLOCATED,
    ),
    Verb(
        "Start {}",
        "startNode",
        effects=lambda _: ("it boots as if it were reimaged",),
        offered=lambda case: case.row.state is NodeState.DEALLOCATED,
    ),
    Verb(
        "Add a user to log in to {} with",
        "createNodeUser",
        adds={"name": _OPERATOR, "isAdmin": True, "password": "only-simulated"},
        effects=lambda _: (f"{_OPERATOR}, an administrator, can log in for a day (NOP-9)",),
        unavailable=lambda case: "" if case.row.state in _REACHABLE else "only an idle or running node takes users",
        offered=lambda case: _OPERATOR not in case.row.users,
    ),
    Verb(
        "Delete the user from {}",
        "deleteNodeUser",
        adds={"name": _OPERATOR},
        effects=lambda _: (f"{_OPERATOR} can log in no more",),
        offered=lambda case: _OPERATOR in case.row.users,
    ),
    Verb(
        "Fault: {} becomes unusable",
        "failNode",
        LASTING,
        adds={"state": "unusable"},
        effects=lambda _: ("its tasks are queued again elsewhere; only in the simulation",),
    ),
    Verb(
        "Fault: {} loses contact",
        "failNode",
        LASTING,
        adds={"state": "unknown"},
        effects=lambda _: ("what runs there may go on unseen; only in the simulation",),
    ),
    Verb(
        "Fault: {} is preempted",
        "evictNode",
        effects=lambda _: ("the VM is taken back (SPOT-3); only in the simulation",),
        offered=lambda case: not case.row.is_dedicated,
    ),
)
