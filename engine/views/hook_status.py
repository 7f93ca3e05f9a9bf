"""The status of job preparation and job release on one node and on every node.

The status on one node follows from its record, its flags and the job's state. On every node it is a byte each,
translated from columns by a table. Words say what an option of the scenario decides: where release runs, and what
makes a node eligible again.
"""

from __future__ import annotations

from bisect import bisect_left
from enum import Enum, auto
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from engine.base.lifecycles import NODE_STATES, WIPED_IN, Interruption
from engine.base.terms import InstanceState, JobState, NodeState, ReleaseAfter
from engine.base.values import equals, places, side_by_side, values
from engine.rules.decisions.verdicts import is_final_failure, owes_release
from engine.state.instances import ABSENT, PrepFlag
from engine.state.nodes import GONE
from engine.state.tables import PAGE_BITS

if TYPE_CHECKING:
    from array import array
    from collections.abc import Iterator, Sequence

    from engine import Simulation
    from engine.scenario.model import Options
    from engine.state.instances import Ending, InstanceTable
    from engine.state.jobs import Job
    from engine.world import World


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
    STOPPED = auto()  # preparation only: stopped with its node or job, which has ended, so that it does not run again
    LEAVING = auto()  # preparation only: has a record, but the node is leaving its pool
    GONE = auto()  # the node has left its pool: preparation has to run elsewhere, or was interrupted
    WILL_RUN = auto()  # release only: owed, at the end of the job or once the node is ready
    SKIPPED = auto()  # release only: the job has ended and no release was due here
    NOT_NEEDED = auto()  # no record, and none is due


def ended_as(ending: Ending | None, hook: Hook) -> HookStatus:
    """Return the status of a run with this end, None for a plain success.

    A preparation that was stopped with its node or job has not failed (PREP-9). A release that was stopped has (REL-7).
    """
    if ending is None or not (ending.failure or ending.exit_code):
        return HookStatus.SUCCEEDED
    return HookStatus.FAILED if hook is Hook.RELEASE or is_final_failure(ending) else HookStatus.STOPPED


def prep_status(state: int, flags: int, *, ended: HookStatus, is_gone: bool, is_over: bool) -> HookStatus:
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
    return ended


def release_status(
    state: int, flags: int, after: ReleaseAfter, *, ended: HookStatus, is_gone: bool, is_over: bool, is_ending: bool
) -> HookStatus:
    """Return the status of release on a node; ``is_ending``: the job is waiting for its release tasks (REL-6)."""
    if state != ABSENT and not flags & PrepFlag.RELEASE_OWED:
        if state == InstanceState.RUNNING:
            return HookStatus.GONE if is_gone else HookStatus.RUNNING
        return ended
    if is_ending and flags & PrepFlag.RELEASE_OWED:
        return HookStatus.WILL_RUN
    if not is_over:
        return HookStatus.WILL_RUN if owes_release(flags, after) and not is_gone else HookStatus.NOT_NEEDED
    return HookStatus.SKIPPED


FLAG_BITS = 5


@cache
def status_tables(
    hook: Hook, job: JobState | None, after: ReleaseAfter, *, has_release: bool
) -> dict[tuple[HookStatus, bool], bytes]:
    """Return the status for each combination of states and flags in a byte, by its end and by departure."""
    is_over, is_ending = job in OVER, job in (JobState.TERMINATING, JobState.DELETING)

    def status(packed: int, ended: HookStatus, is_gone: bool) -> HookStatus:
        state, flags = packed >> FLAG_BITS, packed & ((1 << FLAG_BITS) - 1)
        if hook is Hook.PREPARATION:
            return prep_status(state, flags, ended=ended, is_gone=is_gone, is_over=is_over)
        if not has_release or state >> 2:
            return HookStatus.NOT_NEEDED
        return release_status(
            state & 3, flags, after, ended=ended, is_gone=is_gone, is_over=is_over, is_ending=is_ending
        )

    ends = HookStatus.SUCCEEDED, HookStatus.FAILED, HookStatus.STOPPED
    kinds = [(ended, is_gone) for ended in ends for is_gone in (False, True)]
    return {kind: bytes(status(packed, *kind).value for packed in range(256)) for kind in kinds}


def tables_of(world: World, job: Job, hook: Hook) -> dict[tuple[HookStatus, bool], bytes]:
    """Return ``status_tables`` of a job as it is now."""
    return status_tables(hook, job.state, world.options.release_after, has_release=job.has_release)


def row_status(world: World, row: int, hook: Hook, tables: dict[tuple[HookStatus, bool], bytes]) -> HookStatus:
    """Return the status in a row of the table of instances by ``tables_of`` its job."""
    instances, key = world.instances, 2 * row
    state = instances.prep_state[row]
    if hook is Hook.RELEASE:
        state, key = (state == ABSENT) << 2 | instances.release_state[row], key + 1
    # Successes keep no record of their end.
    ended = ended_as(instances.sparse[row >> PAGE_BITS].get(key), hook)
    table = tables[ended, world.nodes.state[instances.node[row]] == GONE]
    return _STATUSES[table[state << FLAG_BITS | instances.flags[row]]]


# States in which a node is stopped and may keep its disk; contact that is lost stops nothing.
_STOPPED_IN = tuple(
    state
    for state, meaning in NODE_STATES.items()
    if meaning.interruption in (Interruption.REBOOT, Interruption.UPGRADE) or state is NodeState.UNUSABLE
)


class EligibleAgain(NamedTuple):
    """The end of a node's ineligibility after a final failure of preparation (PREP-9, PREP-17)."""

    until: str  # after "ineligible until"
    until_any: str  # of several nodes
    short: str
    remedy: str  # what a user does
    rule: str
    states: tuple[NodeState, ...]  # on entering which the node is eligible again


_NEW_DISK = EligibleAgain("its disk is new", "the disk is new", "until new disk", "reimage", "PREP-9", WIPED_IN)
_BOOT = EligibleAgain("it reboots", "a reboot", "until reboot", "reboot", "PREP-17", (*WIPED_IN, *_STOPPED_IN))


def eligible_again(options: Options) -> EligibleAgain:
    """Return what ends the ineligibility of a node, as ``options.rebootRetriesFailedPreparation`` says."""
    return _BOOT if options.reboot_retries_failed_preparation else _NEW_DISK


def is_released_after_preparation(options: Options) -> bool:
    """Return whether release runs wherever preparation was started, as ``options.releaseAfter`` says (REL-3)."""
    return options.release_after is ReleaseAfter.PREPARATION


def released_where(options: Options) -> str:
    """Return where release runs, after "runs where" (REL-3)."""
    if is_released_after_preparation(options):
        return "preparation was started"
    return "a task ran after preparation"


# The bit above the two bits of release's state: no preparation has ever run there.
_UNPREPARED = equals(ABSENT)
_STATUSES = {status.value: status for status in HookStatus}  # quicker than the call of an enum


def version_of(world: World, job: Job | None) -> object:
    """Return a value that differs whenever an instance of the job may look different.

    That takes a change to an instance or to the state of a node, or another state or pool of the job.
    """
    of_job = None if job is None else (job.row, job.state, job.pool)
    return world.instances.changes, world.nodes.changes, of_job


def badly_ended(instances: InstanceTable, rows: Sequence[int], hook: Hook) -> Iterator[tuple[int, HookStatus]]:
    """Yield the places in ``rows`` of one job whose last run failed or was stopped, each with ``ended_as``."""
    if not rows:
        return
    for page in instances.sparse[rows[0] >> PAGE_BITS : (rows[-1] >> PAGE_BITS) + 1]:
        for key, ending in page.items():
            if key & 1 == (hook is Hook.RELEASE) and (ended := ended_as(ending, hook)) is not HookStatus.SUCCEEDED:
                at = bisect_left(rows, key >> 1)
                if at < len(rows) and rows[at] == key >> 1:
                    yield at, ended


class InstanceStatuses:
    """The nodes on which one job's preparation or release has been, each with its status."""

    def __init__(self, simulation: Simulation, job_id: str, hook: Hook) -> None:
        """Create the statuses, which are empty while there is no job of this id."""
        self._simulation = simulation
        self.job_id = job_id
        self.hook = hook
        self._version: object = None
        self._rows: Sequence[int] = ()
        self._codes = b""

    @property
    def _job(self) -> Job | None:
        return self._simulation.world.jobs.find(self.job_id)

    @property
    def version(self) -> object:
        """A value that differs whenever a status may be another one."""
        return version_of(self._simulation.world, self._job)

    def columns(self) -> tuple[bytearray, array[int], array[int]]:
        """Return states, starts and planned or past ends in the table of instances, of all jobs."""
        table = self._simulation.world.instances
        if self.hook is Hook.RELEASE:
            return table.release_state, table.release_start, table.release_end
        return table.prep_state, table.prep_start, table.prep_end

    def _row_on(self, node: int) -> int:
        """Return the row of the job on a node in the table of instances; -1 where it has never been."""
        job = self._job
        return -1 if job is None else self._simulation.world.instances.row(job.row, node)

    def _update(self) -> None:
        """Find the status of every node, once for each version."""
        job = self._job
        version = version_of(self._simulation.world, job)
        if self._version == version:
            return
        self._version = version
        self._rows = () if job is None else self._simulation.world.instances.rows_of_job(job.row)
        self._codes = b"" if job is None else self._all_codes(job)

    def rows(self) -> Sequence[int]:
        """Return the instances of the job by row number, in the order in which it came to their nodes."""
        self._update()
        return self._rows

    def nodes_of_rows(self) -> Sequence[int]:
        """Return the nodes on which the job has been, in the order in which it came to them."""
        self._update()
        return values(self._simulation.world.instances.node, self._rows)

    def codes(self) -> bytes:
        """Return the status of each of ``nodes_of_rows``: the values of ``HookStatus``."""
        self._update()
        return self._codes

    def _all_codes(self, job: Job) -> bytes:
        """Return a byte for each row, the number of its status, translated from the columns by a table."""
        world, rows = self._simulation.world, self._rows
        instances = world.instances
        states = bytes(values(instances.prep_state, rows))
        if self.hook is Hook.RELEASE:
            states = side_by_side(states.translate(_UNPREPARED), bytes(values(instances.release_state, rows)), 2)
        packed = side_by_side(states, bytes(values(instances.flags, rows)), FLAG_BITS)
        tables = tables_of(world, job, self.hook)
        codes = bytearray(packed.translate(tables[HookStatus.SUCCEEDED, False]))
        for at in self._gone_places():
            codes[at] = tables[HookStatus.SUCCEEDED, True][packed[at]]
        for at, ended in badly_ended(instances, rows, self.hook):
            is_gone = world.nodes.state[instances.node[rows[at]]] == GONE
            codes[at] = tables[ended, is_gone][packed[at]]
        if self.hook is Hook.PREPARATION:
            for status in (HookStatus.RUNNING, HookStatus.SUPERSEDED):
                for at in places(bytes(codes), status.value):
                    codes[at] = self._refined(status, rows[at]).value
        return bytes(codes)

    def _refined(self, status: HookStatus, row: int) -> HookStatus:
        """Return the status of a preparation with what state and flags do not say: retries, and nodes that leave."""
        world = self._simulation.world
        if status is HookStatus.RUNNING and world.instances.prep_retries[row]:
            return HookStatus.RETRYING
        if status is HookStatus.SUPERSEDED and world.nodes.state[world.instances.node[row]] == NodeState.LEAVING_POOL:
            return HookStatus.LEAVING
        return status

    def _gone_places(self) -> list[int]:
        """Return the places of the rows whose node has left the pool."""
        states = self._simulation.world.nodes.state
        if states.find(GONE) < 0:
            return []
        return places(bytes(values(states, self.nodes_of_rows())), GONE)

    def status_of(self, node: int) -> HookStatus:
        """Return the status of one node."""
        return self.statuses_of((node,))[0]

    def statuses_of(self, nodes: Sequence[int]) -> list[HookStatus]:
        """Return the status of each of these nodes."""
        job, world = self._job, self._simulation.world
        if job is None:
            return [HookStatus.NOT_NEEDED] * len(nodes)
        is_release = self.hook is Hook.RELEASE
        tables = tables_of(world, job, self.hook)
        found = []
        for row in world.instances.rows_on_nodes(job.row, nodes):
            status = HookStatus.NOT_NEEDED if row < 0 else row_status(world, row, self.hook, tables)
            found.append(status if is_release or row < 0 else self._refined(status, row))
        return found
