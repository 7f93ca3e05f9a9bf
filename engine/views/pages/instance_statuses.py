"""The status of a job's preparation or release on every node, as a byte each, translated from columns by a table."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

from engine.base.byte_columns import equals
from engine.base.terms import NodeState
from engine.state.columns import PAGE_BITS
from engine.state.instances import ABSENT
from engine.state.nodes import GONE
from engine.views.pages.bulk import places, side_by_side, values
from engine.views.pages.hook_status import FLAG_BITS, Hook, HookStatus, status_tables

if TYPE_CHECKING:
    from array import array
    from collections.abc import Iterator, Sequence

    from engine import Simulation
    from engine.state.instances import InstanceTable
    from engine.state.jobs import Job
    from engine.world.world import World

# The bit above the two bits of release's state: no preparation has ever run there.
_UNPREPARED = equals(ABSENT)
_STATUSES = {status.value: status for status in HookStatus}  # quicker than the call of an enum


def version_of(world: World, job: Job | None) -> object:
    """Return a value that differs whenever an instance of the job may look different.

    That takes a change to an instance or to the state of a node, or another state or pool of the job.
    """
    of_job = None if job is None else (job.row, job.state, job.pool)
    return world.instances.changes, world.nodes.changes, of_job


def failed_places(instances: InstanceTable, rows: Sequence[int], hook: Hook) -> Iterator[int]:
    """Yield the places in ``rows`` of one job whose last run failed; successes keep no record of their end."""
    if not rows:
        return
    for page in instances.sparse[rows[0] >> PAGE_BITS : (rows[-1] >> PAGE_BITS) + 1]:
        for key, ending in page.items():
            if key & 1 == (hook is Hook.RELEASE) and (ending.failure or ending.exit_code):
                at = bisect_left(rows, key >> 1)
                if at < len(rows) and rows[at] == key >> 1:
                    yield at


class InstanceStatuses:
    """The nodes on which one job's preparation or release has been, each with its status."""

    def __init__(self, simulation: Simulation, job_id: str, hook: Hook) -> None:
        """Find nothing yet; there are no nodes while there is no job of this id."""
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

    def _update(self) -> bool:
        """Find the status of every node, once for each version. Return whether it is another one than before."""
        job = self._job
        version = version_of(self._simulation.world, job)
        if self._version == version:
            return False
        self._version = version
        self._rows = () if job is None else self._simulation.world.instances.rows_of_job(job.row)
        self._codes = b"" if job is None else self._all_codes(job)
        return True

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
        tables = status_tables(self.hook, job.state, world.options.release_after, has_release=job.has_release)
        codes = bytearray(packed.translate(tables[False, False]))
        for at in self._gone_places():
            codes[at] = tables[False, True][packed[at]]
        for at in failed_places(instances, rows, self.hook):
            is_gone = world.nodes.state[instances.node[rows[at]]] == GONE
            codes[at] = tables[True, is_gone][packed[at]]
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
        instances, is_release = world.instances, self.hook is Hook.RELEASE
        tables = status_tables(self.hook, job.state, world.options.release_after, has_release=job.has_release)
        found = []
        for node, row in zip(nodes, instances.rows_on_nodes(job.row, nodes), strict=True):
            if row < 0:
                found.append(HookStatus.NOT_NEEDED)
                continue
            state, key = instances.prep_state[row], 2 * row
            if is_release:
                state, key = (state == ABSENT) << 2 | instances.release_state[row], key + 1
            # Successes keep no record of their end.
            ending = instances.sparse[row >> PAGE_BITS].get(key)
            has_failed = ending is not None and bool(ending.failure or ending.exit_code)
            table = tables[has_failed, world.nodes.state[node] == GONE]
            status = _STATUSES[table[state << FLAG_BITS | instances.flags[row]]]
            found.append(status if is_release else self._refined(status, row))
        return found
