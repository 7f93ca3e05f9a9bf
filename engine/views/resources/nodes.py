"""Compute nodes: one row each in the order in which they appeared, groups for filters, and the present work of a node.

Groups join nodes that show the same text in a column, so that ten thousand of them are filtered by a few texts. The
work of a node is its tasks, the preparation and release of a job there, and the last lines of output.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from engine.base.lifecycles import COMING_UP, Availability, states_in
from engine.base.paths import WORKITEMS, name_of, parent
from engine.base.terms import NodeState, SchedulingState, TaskState
from engine.base.values import SECOND_MS, places, side_by_side, tally, values
from engine.rules.processes.node_disk import OUTPUTS
from engine.run.agenda import task_end_ms
from engine.state.instances import PrepFlag
from engine.state.nodes import GONE
from engine.views.hook_status import Hook, HookStatus
from engine.views.log.reader import Kept
from engine.views.resources.instances import InstancePage, pages_of, second_of

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Sequence

    from engine import Simulation
    from engine.state.instances import InstanceView
    from engine.state.nodes import Node
    from engine.state.pools import Pool


# A byte holds the status of preparation above that of release.
_STATUS_BITS = 4
_NO_HOOKS = HookStatus.NOT_NEEDED.value << _STATUS_BITS | HookStatus.NOT_NEEDED.value

_FAILED = states_in(Availability.FAILED, Availability.OUT_OF_REACH)
_CHANGING = (*COMING_UP, *states_in(Availability.STOPPING, Availability.LEAVING))
_RANKS = bytes(
    3 if state == GONE else 0 if state in _FAILED else 1 if state in _CHANGING else 2 for state in range(256)
)
_IN_POOL = bytes(state != GONE for state in range(256))


def state_in(code: int) -> NodeState | None:
    """Return the state in one byte of ``NodePage.states``; None for a node that has left the pool."""
    return None if code == GONE else NodeState(code)


def in_pool(states: bytes) -> bytes:
    """Return 0 for each node, of the bytes of ``NodePage.states``, that has left the pool, 1 for others."""
    return states.translate(_IN_POOL)


def count_gone(states: bytes) -> int:
    """Return the number of nodes that have left the pool."""
    return states.count(GONE)


def hooks_in(code: int) -> tuple[HookStatus, HookStatus]:
    """Return preparation and release in one byte of ``NodePage.all_hooks``."""
    return HookStatus(code >> _STATUS_BITS), HookStatus(code & ((1 << _STATUS_BITS) - 1))


def pool_of_node(simulation: Simulation, node: int) -> str:
    """Return the id of the pool of a node, also a former one; empty where there is no such row yet."""
    world = simulation.world
    return world.pool_of(node).id if node < world.nodes.length else ""


BY_CHANCE = {
    NodeState.UNUSABLE: "failed by chance (failureRate)",
    NodeState.PREEMPTED: "evicted by chance (evictionRate)",
}


class NodeBrief(NamedTuple):
    """The part of a node's row that a list shows.

    Preparation and release are those of the job in focus. Times are ms since the start.
    """

    position: int
    state: NodeState | None
    since_ms: int
    scheduling: SchedulingState
    slots: int
    used_slots: int
    total_run: int
    ip: str
    prep: HookStatus
    release: HookStatus


class NodeRow(NamedTuple):
    """A node as the service shows it: its record, its pool, and its status, also for the job in focus."""

    node: int
    record: Node
    pool: Pool
    state: NodeState | None
    since_ms: int  # since the start
    used_slots: int
    running_tasks: int
    preparing_tasks: int
    total_run: int
    total_succeeded: int
    total_interrupted: int  # that went back to the queue before they ended
    cause: str  # of a failure or an eviction by chance; else empty (NODE-18, SPOT-10)
    prep: HookStatus
    release: HookStatus


class JobOnNode(NamedTuple):
    """The status of one job on a node."""

    job_id: str
    prep: HookStatus
    release: HookStatus
    is_ineligible: bool


class NodePage:
    """The nodes of one pool; the job in focus decides what they show of preparation and release."""

    def __init__(self, simulation: Simulation, pool_id: str, preparation: InstancePage, release: InstancePage) -> None:
        """List a pool; the page is empty if there never was a pool of this id."""
        self._simulation = simulation
        self.pool_id = pool_id
        self._prep, self._release = preparation, release
        self._ordered: Kept[Sequence[int]] = Kept()
        self._hooks: Kept[bytes] = Kept()

    def is_of(self, pool_id: str, preparation: InstancePage, release: InstancePage) -> bool:
        """Return whether it lists this pool with this preparation and release."""
        return self.pool_id == pool_id and self._prep is preparation and self._release is release

    def nodes(self) -> Sequence[int]:
        """Return all nodes that the pool ever had, in the order in which they appeared."""
        pool = self._simulation.world.pools.latest(self.pool_id)
        return () if pool is None else pool.nodes

    @property
    def version(self) -> object:
        """A value that differs whenever a node may be new, or have another state, scheduling state or hooks."""
        pool = self._simulation.world.pools.latest(self.pool_id)
        return self._simulation.jumps, None if pool is None else (pool.row, pool.state), self._prep.version

    def order(self) -> Sequence[int]:
        """Return unusable and failed nodes first, then changing ones, then the rest; those that left last."""
        nodes, ranks = self.nodes(), self.states().translate(_RANKS)
        return self._ordered.get(
            ranks, lambda: [nodes[at] for rank in sorted(set(ranks)) for at in places(ranks, rank)]
        )

    def states(self) -> bytes:
        """Return a byte for each of ``nodes``, its state, to be read with ``state_in``."""
        return bytes(values(self._simulation.world.nodes.state, self.nodes()))

    def counts(self) -> dict[NodeState | None, int]:
        """Return the number of nodes in each state; None stands for those that have left the pool."""
        return {state_in(code): count for code, count in tally(self.states()).items()}

    def state_of(self, node: int) -> NodeState | None:
        """Return the node's state; None when it has left the pool."""
        return self._simulation.world.nodes.state_of(node)

    def is_enabled(self, node: int) -> bool:
        """Return whether the node's scheduling is enabled."""
        return self._simulation.world.nodes[node].scheduling is SchedulingState.ENABLED

    def all_hooks(self) -> bytes:
        """Return a byte for each of ``nodes``, its status for the job in focus, to be read with ``hooks_in``."""
        codes = side_by_side(self._prep.codes(), self._release.codes(), _STATUS_BITS)

        def hooks() -> bytes:
            found = dict(zip(self._prep.nodes_of_rows(), codes, strict=True))
            return bytes(found.get(node, _NO_HOOKS) for node in self.nodes())

        return self._hooks.get((self._simulation.jumps, len(self.nodes()), codes), hooks)

    def is_dedicated(self, node: int) -> bool:
        """Return whether the node is a dedicated one, not a Spot node."""
        return self._simulation.world.nodes[node].dedicated

    def hooks(self, node: int) -> tuple[HookStatus, HookStatus]:
        """Return the status of preparation and release of the job in focus on the node."""
        return self._prep.status_of(node), self._release.status_of(node)

    def position_of(self, node: int) -> int:
        """Return the node's index in its pool, over all nodes that the pool ever had."""
        return self._simulation.world.nodes[node].position

    def has(self, node: int) -> bool:
        """Return whether a node of any pool has this row at this moment."""
        return node < self._simulation.world.nodes.length

    def id_of(self, node: int) -> str:
        """Return the node's id."""
        return self._simulation.world.nodes[node].id

    def briefs(self, nodes: Sequence[int]) -> list[NodeBrief]:
        """Return what a list shows of each of these nodes."""
        table, pools = self._simulation.world.nodes, self._simulation.world.pools.rows
        found = []
        for node, *hooks in zip(nodes, self._prep.statuses_of(nodes), self._release.statuses_of(nodes), strict=True):
            record, state = table[node], table.state_of(node)
            slots = pools[record.pool].slots
            found.append(
                NodeBrief(
                    record.position,
                    state,
                    table.since[node],
                    record.scheduling,
                    slots,
                    0 if state is None else slots - table.free[node],
                    table.ran[node],
                    record.ip_address,
                    *hooks,
                )
            )
        return found

    def row(self, node: int) -> NodeRow:
        """Return one node's row."""
        world = self._simulation.world
        record, pool = world.nodes[node], world.pool_of(node)
        state = world.nodes.state_of(node)
        prep, release = self.hooks(node)
        return NodeRow(
            node=node,
            record=record,
            pool=pool,
            state=state,
            since_ms=world.nodes.since[node],
            used_slots=0 if state is None else pool.slots - world.nodes.free[node],
            running_tasks=len(world.nodes.running[node]),
            preparing_tasks=len(world.nodes.preparing.get(node, ())),
            total_run=world.nodes.ran[node],
            total_succeeded=world.nodes.succeeded(node),
            total_interrupted=world.nodes.interrupted[node],
            cause=BY_CHANCE.get(state, "") if record.down_by_chance and state is not None else "",
            prep=prep,
            release=release,
        )

    def work_on(self, node: int) -> tuple[Sequence[int], int]:
        """Return the tasks that run or prepare on the node, and the bytes in use on its disk.

        Both may change without an entry of the log about the node: of the nodes of a multi-instance task its entry
        names one, and downloads take room before they are complete.
        """
        world = self._simulation.world
        return world.nodes.tasks_on(node), world.disks[node].used_bytes

    def jobs_on(self, node: int) -> list[JobOnNode]:
        """Return every job that ever prepared on the node, in the order in which the jobs were added."""
        world = self._simulation.world
        found = []
        for job in world.jobs.present():
            row = world.instances.row(job.row, node)
            if row < 0:
                continue
            flags = world.instances.flags[row]
            prep, release = (page.status_of(node) for page in pages_of(self._simulation, job.id))
            found.append(JobOnNode(job.id, prep, release, bool(flags & PrepFlag.INELIGIBLE)))
        return found


# Values of a node by which many nodes are grouped.
NodeKey = Enum(
    "NodeKey", "STATE SCHEDULING SLOTS HOOKS RUN AGE SUCCEEDED SINCE BOOT ALLOCATION POOL DEDICATED START_TASK ERRORS"
)


def node_groups(simulation: Simulation, page: NodePage, key: NodeKey) -> Callable[[int], Hashable]:
    """Return a function that gives a value for each node of a page; nodes with the same value show the same text.

    Args:
        simulation: The run.
        page: The nodes, with their status for the job in focus.
        key: The value.
    """
    nodes, now_ms = simulation.world.nodes, simulation.now_ms

    groups: dict[NodeKey, Callable[[int], Hashable]] = {
        NodeKey.STATE: lambda node: nodes.state[node],
        NodeKey.SCHEDULING: lambda node: (nodes.state[node] == GONE, nodes[node].scheduling),
        NodeKey.SLOTS: lambda node: (nodes.state[node] == GONE, nodes.free[node]),
        NodeKey.HOOKS: page.hooks,
        NodeKey.RUN: lambda node: nodes.ran[node],
        NodeKey.AGE: lambda node: (now_ms - nodes.since[node]) // SECOND_MS,
        NodeKey.SUCCEEDED: nodes.succeeded,
        NodeKey.SINCE: lambda node: second_of(nodes.since[node]),
        NodeKey.BOOT: lambda node: second_of(nodes[node].boot_ms),
        NodeKey.ALLOCATION: lambda node: second_of(nodes[node].allocation_ms),
        NodeKey.POOL: lambda node: nodes[node].pool,
        NodeKey.DEDICATED: lambda node: nodes[node].dedicated,
        NodeKey.START_TASK: lambda node: nodes[node].start_task,
        NodeKey.ERRORS: lambda node: tuple(error.code for error in nodes[node].errors),
    }
    return groups[key]


_MOST_CHARACTERS = 4_000  # of an output file, from its end


class TaskOnNode(NamedTuple):
    """A task that runs or prepares on a node. Times are ms since the start; None where they are not known."""

    task: int
    job_id: str
    task_id: str
    state: TaskState
    start_ms: int | None
    planned_ms: int | None


class HookOnNode(NamedTuple):
    """The preparation or release of a job on a node; its planned end in ms since the start, None if it is not known."""

    hook: Hook
    status: HookStatus
    view: InstanceView
    planned_ms: int | None


class LastOutput(NamedTuple):
    """The last lines of the output file that a process wrote last on a node, with the process's directory name.

    The job is that of the process; a start task has none.
    """

    process: str
    lines: tuple[str, ...]
    job_id: str


def tasks_on(simulation: Simulation, node: int, most: int) -> list[TaskOnNode]:
    """Return the tasks that run or prepare on a node, at most so many, in the order of their creation."""
    world = simulation.world
    tasks, found = world.tasks, []
    for task in world.nodes.tasks_on(node)[:most]:
        state = tasks.state_of(task)
        assert state is not None
        is_running, job = state is TaskState.RUNNING, world.jobs[tasks.block_of(task).job]
        start_ms = tasks.started[task] if is_running else None
        end_ms = task_end_ms(world, task) if is_running else None
        planned_ms = end_ms if end_ms is not None and world.is_known(end_ms) else None
        found.append(TaskOnNode(task, job.id, tasks.task_id(task), state, start_ms, planned_ms))
    return found


def count_tasks(simulation: Simulation, nodes: Iterable[int]) -> list[int]:
    """Return the number of tasks that run or prepare on each of some nodes."""
    return [len(simulation.world.nodes.tasks_on(node)) for node in nodes]


def hooks_on(pages: Sequence[InstancePage], node: int) -> list[HookOnNode]:
    """Return the preparation and the release of these pages that have a record on a node."""
    found = []
    for page in pages:
        status, view = page.status_of(node), page.view_of(node)
        if view is not None and status not in (HookStatus.NOT_NEEDED, HookStatus.WILL_RUN, HookStatus.SKIPPED):
            found.append(HookOnNode(page.hook, status, view, page.planned_end_ms(node)))
    return found


def last_output(simulation: Simulation, node: int, most_lines: int) -> LastOutput | None:
    """Return the end of the output that was written last on a node; None without any text (FILE-4).

    Output appears when its process ends. ``stderr.txt`` comes before ``stdout.txt`` of the same process.
    Only the newest files are looked at, so this takes no longer on a full disk.
    """
    if simulation.world.nodes.state_of(node) is None:
        return None
    newest = simulation.world.disks.newest_text(node, OUTPUTS)
    if newest is None:
        return None
    path, text = newest
    lines = [each.rstrip() for each in text[-_MOST_CHARACTERS:].split("\n") if each.strip()]
    top, *names = parent(path).split("/")
    jobs, job = simulation.world.jobs, None
    if top == WORKITEMS:
        job = jobs.find(f"{names[0]}:{names[1]}") or jobs.find(names[0])  # that of a schedule, else one by itself
    return LastOutput(name_of(parent(path)), tuple(lines[-most_lines:]), "" if job is None else job.id)
