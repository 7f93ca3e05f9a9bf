"""Job release tasks (chapter 12): run at the end of a job on each node that ran a task of it, or prepared for it.

``release_verdict`` decides for one node whether release runs now, later, or not at all. Here the instances start, end
and are interrupted; the job waits for them in ``jobs``.
"""

from __future__ import annotations

from enum import Enum, auto
from functools import cache, partial
from typing import TYPE_CHECKING

from engine.base.calendar import Due, DueKind
from engine.base.errors import STOPPED_EXIT_CODE
from engine.base.lifecycles import Availability, states_in
from engine.base.paths import job_directory
from engine.base.terms import InstanceState, ReleaseAfter
from engine.base.values import MINUTE_MS
from engine.rules.decisions.verdicts import owes_release
from engine.rules.facts import NodeDrained, ReleasesEnded
from engine.rules.processes import execution, node_disk
from engine.shell.protocol import TIME_LIMIT
from engine.state.acting import Process, ProcessKind
from engine.state.instances import ABSENT, Ending, PrepFlag

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.rules.facts import InstanceInterrupted, JobEnding, NodeUnreachable, NodeUsable, StartTaskFailed
    from engine.state.jobs import Job
    from engine.world import World

# REL-13: how long a job waits for a node that cannot be reached.
UNREACHABLE_WAIT_MS = 15 * MINUTE_MS

_RUNNING = InstanceState.RUNNING
_CAN_RUN = states_in(Availability.READY, Availability.OFFLINE)
_BOOTING = states_in(Availability.BOOTING)
_OUT_OF_REACH = states_in(Availability.OUT_OF_REACH)


# -- decisions -------------------------------------------------------------------------------------------------------


class ReleaseVerdict(Enum):
    """The fate of a job's release on a node when the job ends."""

    RUN = auto()
    WAIT = auto()
    WAIT_A_WHILE = auto()
    SKIP = auto()


def release_verdict(flags: int, release_state: int, node_state: int, after: ReleaseAfter) -> ReleaseVerdict:
    """Return whether release runs on a node now, later or not at all.

    It runs only where it is owed (REL-3, REL-4, REL-5), and never a second time (REL-12). The node's state decides when
    (REL-13).
    """
    if not owes_release(flags, after) or release_state != ABSENT:
        return ReleaseVerdict.SKIP
    if node_state in _CAN_RUN:
        return ReleaseVerdict.RUN
    if node_state in _BOOTING:
        return ReleaseVerdict.WAIT
    if node_state in _OUT_OF_REACH:
        return ReleaseVerdict.WAIT_A_WHILE
    return ReleaseVerdict.SKIP


# -- the end of a job ------------------------------------------------------------------------------------------------


def job_ending(world: World, ending: JobEnding) -> None:
    """Start the release of a job that ends on all nodes that owe it, in parallel (REL-2, REL-6)."""
    job = world.jobs.rows[ending.job]
    if not job.has_release:
        return
    instances, node_state, records = world.instances, world.nodes.state, world.nodes.records.rows
    verdict_of = cache(partial(release_verdict, after=world.options.release_after))  # on most nodes all is the same
    starting: list[int] = []
    for row in instances.rows_of_job(job.row):
        node = instances.node[row]
        if records[node].operation is not None and not world.nodes.busy(node):
            _start(world, job, starting, rule="REL-3")
            starting = []
            world.emit(NodeDrained(node))  # an operation comes first whose wait for directories ends right now
        verdict = verdict_of(instances.flags[row], instances.release_state[row], node_state[node])
        if verdict is ReleaseVerdict.SKIP:
            continue
        job.assign(releases_open=job.releases_open + 1)
        if verdict is ReleaseVerdict.RUN:
            starting.append(row)
            continue
        instances.set_flags(row, PrepFlag.RELEASE_OWED)
        if verdict is ReleaseVerdict.WAIT_A_WHILE:
            _wait_a_while(world, node, row)
    _start(world, job, starting, rule="REL-3")


def _start(world: World, job: Job, rows: Sequence[int], rule: str) -> None:
    """Start the release task's process on the nodes of these instances, where it takes no slot (REL-11)."""
    instances, now_ms = world.instances, world.calendar.now_ms
    hook = execution.process_of(world, job, is_release=True)
    for row in rows:
        if instances.flags[row] & PrepFlag.RELEASE_OWED:
            instances.clear_flags(row, PrepFlag.RELEASE_OWED)
    if hook.fixed is not None:
        end_ms = min(now_ms + hook.fixed.total_ms, world.latest_ms)
        instances.release_start_runs(now_ms, rows, end_ms, rule)
        for row in rows:
            world.calendar.at(end_ms, DueKind.RELEASE_ENDED, row)
        return
    for row in rows:
        end_ms, start = execution.start_hook(
            world, job, hook, instances.node[row], instances.release_runs[row] + 1, now_ms
        )
        instances.release_start_runs(now_ms, (row,), end_ms, rule)
        execution.enter_end(world, row, end_ms, start, is_release=True)


def release_ended(world: World, due: Due) -> None:
    """End a release task whose process has come to its planned end; a failure is final (REL-7, REL-8, REL-9)."""
    row = due.key
    instances, now_ms = world.instances, world.calendar.now_ms
    of_job, state, ends = instances.job, instances.release_state, instances.release_end
    if state[row] != _RUNNING or ends[row] != now_ms:
        return
    job, node = world.jobs[of_job[row]], instances.node[row]
    hook = execution.process_of(world, job, is_release=True)
    ending = execution.end_hook(world, job, hook, node, instances.release_runs[row])
    rows = [row]
    if hook.fixed is not None and not job.forced:  # all end alike, and nothing follows before the last one

        def ends_too(other: int) -> bool:
            return of_job[other] == job.row and state[other] == _RUNNING and ends[other] == now_ms

        rows += world.calendar.take_alike(due, ends_too)
    failed = "REL-9" if ending.failure is TIME_LIMIT else "REL-7"
    _complete(world, job, rows, ending, rule="REL-6" if ending.failure is None else failed)
    if hook.plain is None:
        node_disk.report_if_full(world, node)


def _complete(world: World, job: Job, rows: Sequence[int], ending: Ending, rule: str) -> None:
    """Complete release instances, for which the job waits no more; the files of a deleted job are deleted."""
    world.instances.release_complete(world.calendar.now_ms, rows, ending, rule)
    if job.state is None and world.jobs.find(job.id) is None:
        world.disks.delete_everywhere(job_directory(job.id))
    _close(world, job.row, len(rows))


# -- what happens to the node ----------------------------------------------------------------------------------------


def _owed_rows(world: World, node: int) -> list[int]:
    """Return the instances whose release waits for this node."""
    instances = world.instances
    return [row for row in instances.rows_on(node) if instances.flags[row] & PrepFlag.RELEASE_OWED]


def node_usable(world: World, usable: NodeUsable) -> None:
    """Start the releases that the node owes, if no operation has taken it at once (REL-10, REL-13)."""
    if world.nodes.state[usable.node] not in _CAN_RUN:
        return
    instances = world.instances
    for row in _owed_rows(world, usable.node):
        job = world.jobs[instances.job[row]]
        if owes_release(instances.flags[row], world.options.release_after) and job.state is not None:
            _start(world, job, (row,), rule="REL-10" if instances.release_runs[row] else "REL-13")
        else:
            _give_up(world, row)


def start_task_failed(world: World, failed: StartTaskFailed) -> None:
    """Wait no more for the releases that the node owes (REL-13)."""
    for row in _owed_rows(world, failed.node):
        _give_up(world, row)


def node_unreachable(world: World, unreachable: NodeUnreachable) -> None:
    """Wait for the releases that the node owes, but not for ever (REL-13)."""
    for row in _owed_rows(world, unreachable.node):
        _wait_a_while(world, unreachable.node, row)


def instance_interrupted(world: World, interrupted: InstanceInterrupted) -> None:
    """Stop a running release with its node.

    After a reboot it runs again when the node is up, and the job waits (REL-10). Once the node has left or lost its
    disk, the job waits no more (REL-14, REL-13).
    """
    row, instances = interrupted.row, world.instances
    is_running = instances.release_state[row] == _RUNNING
    ending = Ending(STOPPED_EXIT_CODE, interrupted.why)
    execution.end_acting(world, Process(ProcessKind.RELEASE, row))
    if not interrupted.wipes_disk:
        if is_running:
            instances.release_complete(world.now_ms, (row,), ending, rule="REL-10")
            instances.set_flags(row, PrepFlag.RELEASE_OWED)
    elif is_running:
        _complete(world, world.jobs[instances.job[row]], (row,), ending, rule="REL-14")
    else:
        _give_up(world, row)


def _wait_a_while(world: World, node: int, row: int) -> None:
    """Wait for the release on a node out of reach, but not for ever (REL-13)."""
    lost_ms = world.nodes[node].lost_ms
    assert lost_ms is not None
    world.calendar.at(world.now_ms + UNREACHABLE_WAIT_MS, DueKind.RELEASE_TIMEOUT, row, lost_ms)


def waited_long_enough(world: World, due: Due) -> None:
    """Give up the release on a node that was out of reach, without a break, for as long as a job waits (REL-13)."""
    if world.nodes[world.instances.node[due.key]].lost_ms == due.token:
        _give_up(world, due.key)


def _give_up(world: World, row: int) -> None:
    """Give up a release that is owed; it leaves no record (REL-13)."""
    instances = world.instances
    if instances.flags[row] & PrepFlag.RELEASE_OWED:
        instances.clear_flags(row, PrepFlag.RELEASE_OWED)
        _close(world, instances.job[row], 1)


def _close(world: World, job_row: int, count: int) -> None:
    """Let the job wait for so many releases less; it may end with the last, or without them (REL-6, JOB-18)."""
    job = world.jobs.edit(job_row)
    job.assign(releases_open=job.releases_open - count)
    if not job.releases_open or job.forced:
        world.emit(ReleasesEnded(job_row))
