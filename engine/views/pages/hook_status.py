"""The status of a job's preparation or release on a node, from its record, its flags and the job's state."""

from __future__ import annotations

from enum import Enum, auto
from functools import cache

from engine.base.terms import InstanceState, JobState, ReleaseAfter
from engine.rules.release import owes_release
from engine.state.instances import ABSENT, PrepFlag

OVER = (JobState.TERMINATING, JobState.COMPLETED, JobState.DELETING, None)


class Hook(Enum):
    """One of a job's two tasks that run on each node."""

    PREPARATION = "Preparation"
    RELEASE = "Release"


class HookStatus(Enum):
    """The status of one node, in the order of the list. Derived: the service knows only running and completed."""

    FAILED = auto()
    RETRYING = auto()
    RUNNING = auto()
    SUPERSEDED = auto()  # has a record, but the preparation runs again before the next task here
    SUCCEEDED = auto()
    LEAVING = auto()  # preparation only: has a record, but the node is leaving its pool
    GONE = auto()  # the node has left its pool: preparation has to run elsewhere, or was interrupted
    WILL_RUN = auto()  # release only: owed, at the end of the job or once the node is ready
    SKIPPED = auto()  # release only: the job has ended and no release was due here
    NOT_NEEDED = auto()  # no record, and none is due


def prep_status(state: int, flags: int, *, has_failed: bool, is_gone: bool, is_over: bool) -> HookStatus:
    """Return the status of the preparation on a node from its record and flags.

    Once the job has ended (``is_over``) the result counts, also on nodes that have left since.
    """
    if state == ABSENT:
        return HookStatus.NOT_NEEDED
    if is_gone and not (is_over and state == InstanceState.COMPLETED):
        return HookStatus.GONE
    if state == InstanceState.RUNNING:
        return HookStatus.RUNNING
    if not flags & (PrepFlag.VALID | PrepFlag.INELIGIBLE) and not is_over:
        return HookStatus.SUPERSEDED
    return HookStatus.FAILED if has_failed else HookStatus.SUCCEEDED


def release_status(
    state: int, flags: int, after: ReleaseAfter, *, has_failed: bool, is_gone: bool, is_over: bool, is_ending: bool
) -> HookStatus:
    """Return the status of release on a node; ``is_ending``: the job is waiting for its release tasks (REL-6)."""
    if state != ABSENT and not flags & PrepFlag.RELEASE_OWED:
        if state == InstanceState.RUNNING:
            return HookStatus.GONE if is_gone else HookStatus.RUNNING
        return HookStatus.FAILED if has_failed else HookStatus.SUCCEEDED
    if is_ending and flags & PrepFlag.RELEASE_OWED:
        return HookStatus.WILL_RUN
    if not is_over:
        return HookStatus.WILL_RUN if owes_release(flags, after) and not is_gone else HookStatus.NOT_NEEDED
    return HookStatus.SKIPPED


FLAG_BITS = 5


@cache
def status_tables(
    hook: Hook, job: JobState | None, after: ReleaseAfter, *, has_release: bool
) -> dict[tuple[bool, bool], bytes]:
    """Return the status for each combination of states and flags in a byte, by failure and by departure."""
    is_over, is_ending = job in OVER, job in (JobState.TERMINATING, JobState.DELETING)

    def status(packed: int, has_failed: bool, is_gone: bool) -> HookStatus:
        state, flags = packed >> FLAG_BITS, packed & ((1 << FLAG_BITS) - 1)
        if hook is Hook.PREPARATION:
            return prep_status(state, flags, has_failed=has_failed, is_gone=is_gone, is_over=is_over)
        if not has_release or state >> 2:
            return HookStatus.NOT_NEEDED
        return release_status(
            state & 3, flags, after, has_failed=has_failed, is_gone=is_gone, is_over=is_over, is_ending=is_ending
        )

    kinds = [(has_failed, is_gone) for has_failed in (False, True) for is_gone in (False, True)]
    return {kind: bytes(status(packed, *kind).value for packed in range(256)) for kind in kinds}
