"""The legal state changes of everything that has a state, each with its rule id.

The tables check every change against them, and the diagrams in ``engine/README.md`` are generated from them.
``None`` stands for absence: before the first state and after the last.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from engine.base.errors import BrokenInvariant
from engine.base.terms import (
    AllocationState,
    CertificateState,
    JobScheduleState,
    JobState,
    NodeState,
    PoolState,
    State,
    SubtaskState,
    TaskState,
)

Moves = Mapping[tuple[State | None, State | None], str]


def _moves(*groups: tuple[str, Iterable[State | None], Iterable[State | None]]) -> Moves:
    return {(old, new): rule for rule, olds, news in groups for old in olds for new in news if old is not new}


def rule_of_move(moves: Moves, old: State | None, new: State | None, kind: str, name: object) -> str:
    """Return the rule that allows a move of the thing of this kind and name.

    Raises:
        BrokenInvariant: No rule allows it.
    """
    rule = moves.get((old, new))
    if rule is None:
        raise BrokenInvariant(f"{kind} {name}: {old!r} -> {new!r} is no legal move")
    return rule


_N = NodeState
_READY = (_N.IDLE, _N.RUNNING)
_PRESENT = tuple(NodeState)
_UP = (_N.WAITING_FOR_START_TASK, _N.START_TASK_FAILED, _N.IDLE, _N.RUNNING, _N.OFFLINE)

NODE: Moves = _moves(
    ("NODE-9", [None], [_N.CREATING]),
    ("NODE-9", [_N.CREATING], [_N.STARTING]),
    ("START-4", [_N.STARTING], [_N.WAITING_FOR_START_TASK]),
    ("NODE-9", [_N.STARTING], [_N.IDLE]),
    ("START-4", [_N.WAITING_FOR_START_TASK], [_N.IDLE, _N.START_TASK_FAILED]),
    ("NODE-9", _READY, _READY),
    ("NOP-6", [_N.STARTING, _N.WAITING_FOR_START_TASK, *_READY], [_N.OFFLINE]),
    ("NOP-6", [_N.OFFLINE], [_N.IDLE]),
    ("NOP-3", [*_READY, _N.OFFLINE, _N.START_TASK_FAILED, _N.UNUSABLE], [_N.REBOOTING]),
    ("NOP-4", [*_READY, _N.OFFLINE, _N.START_TASK_FAILED, _N.UNUSABLE], [_N.REIMAGING]),
    ("NODE-9", [_N.REBOOTING, _N.REIMAGING, _N.UPGRADING_OS], [_N.STARTING]),
    ("POOL-22", [*_READY, _N.OFFLINE, _N.START_TASK_FAILED, _N.UNUSABLE], [_N.UPGRADING_OS]),
    ("NOP-8", _READY, [_N.DEALLOCATING]),
    ("NOP-8", [_N.DEALLOCATING], [_N.DEALLOCATED]),
    ("NOP-8", [_N.DEALLOCATED], [_N.STARTING]),
    ("NODE-11", [_N.CREATING, _N.STARTING, *_UP, _N.UNKNOWN], [_N.UNUSABLE]),
    ("NODE-9", _UP, [_N.UNKNOWN]),
    ("NODE-9", [_N.UNKNOWN], _UP),
    ("NODE-14", [_N.UNUSABLE], [_N.STARTING]),
    ("SPOT-3", [state for state in _PRESENT if state is not _N.LEAVING_POOL], [_N.PREEMPTED]),
    ("SPOT-5", [_N.PREEMPTED], [_N.CREATING]),
    ("RSZ-7", _PRESENT, [_N.LEAVING_POOL]),
    ("RSZ-7", [_N.LEAVING_POOL], [None]),
)

_T = TaskState
TASK: Moves = _moves(
    ("TASK-1", [None], [_T.ACTIVE]),
    ("SCHED-7", [_T.ACTIVE], [_T.RUNNING]),
    ("PREP-6", [_T.ACTIVE], [_T.PREPARING]),
    ("PREP-7", [_T.PREPARING], [_T.RUNNING]),
    ("PREP-8", [_T.PREPARING], [_T.ACTIVE]),
    ("RETRY-5", [_T.RUNNING], [_T.ACTIVE]),
    ("RETRY-11", [_T.ACTIVE, _T.PREPARING, _T.RUNNING], [_T.COMPLETED]),
    ("TASK-15", [_T.COMPLETED], [_T.ACTIVE]),
    ("TASK-14", [_T.ACTIVE, _T.COMPLETED], [None]),  # a running task is ended first
)

_I = SubtaskState
SUBTASK: Moves = _moves(
    ("MI-3", [None], [_I.RUNNING]),
    ("PREP-6", [None], [_I.PREPARING]),
    ("PREP-7", [_I.PREPARING], [_I.RUNNING]),
    ("PREP-8", [_I.PREPARING], [None]),
    ("MI-6", [_I.RUNNING], [_I.COMPLETED]),
    ("MI-8", [_I.PREPARING], [_I.COMPLETED]),
)

_J = JobState
JOB: Moves = _moves(
    ("JOB-6", [None], [_J.ACTIVE]),
    ("JOB-11", [_J.ACTIVE], [_J.DISABLING]),
    ("JOB-11", [_J.DISABLING], [_J.DISABLED]),
    ("JOB-12", [_J.DISABLED], [_J.ENABLING]),
    ("JOB-12", [_J.ENABLING], [_J.ACTIVE]),
    ("JOB-15", [_J.ACTIVE, _J.DISABLING, _J.DISABLED, _J.ENABLING], [_J.TERMINATING]),
    ("REL-6", [_J.TERMINATING], [_J.COMPLETED]),
    ("JOB-20", [_J.ACTIVE], [_J.COMPLETED]),
    ("JOB-16", [_J.ACTIVE, _J.DISABLING, _J.DISABLED, _J.ENABLING, _J.TERMINATING, _J.COMPLETED], [_J.DELETING]),
    ("JOB-16", [_J.DELETING], [None]),
)

_S = JobScheduleState
JOB_SCHEDULE: Moves = _moves(
    ("JS-1", [None], [_S.ACTIVE]),
    ("JS-6", [_S.ACTIVE], [_S.DISABLED]),
    ("JS-6", [_S.DISABLED], [_S.ACTIVE]),
    ("JS-6", [_S.ACTIVE], [_S.COMPLETED]),
    ("JS-8", [_S.ACTIVE, _S.DISABLED], [_S.TERMINATING]),
    ("JS-8", [_S.TERMINATING], [_S.COMPLETED]),
    ("JS-8", [_S.ACTIVE, _S.DISABLED, _S.TERMINATING, _S.COMPLETED], [_S.DELETING]),
    ("JS-8", [_S.DELETING], [None]),
)

POOL: Moves = _moves(
    ("POOL-7", [None], [PoolState.ACTIVE]),
    ("RSZ-10", [PoolState.ACTIVE], [PoolState.DELETING]),
    ("RSZ-10", [PoolState.DELETING], [None]),
)

_A = AllocationState
ALLOCATION: Moves = _moves(
    ("POOL-8", [None], [_A.STEADY, _A.RESIZING]),
    ("RSZ-1", [_A.STEADY], [_A.RESIZING]),
    ("RSZ-2", [_A.RESIZING], [_A.STEADY]),
    ("RSZ-9", [_A.RESIZING], [_A.STOPPING]),
    ("RSZ-9", [_A.STOPPING], [_A.STEADY]),
)

_C = CertificateState
CERTIFICATE: Moves = _moves(
    ("CERT-1", [None], [_C.ACTIVE]),
    ("CERT-4", [_C.ACTIVE, _C.DELETE_FAILED], [_C.DELETING]),
    ("CERT-4", [_C.DELETING], [_C.DELETE_FAILED, None]),
    ("CERT-4", [_C.DELETE_FAILED], [_C.ACTIVE]),
)
