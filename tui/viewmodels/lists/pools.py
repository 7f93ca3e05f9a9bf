"""The lists of pools, and of the nodes of the pool in focus, with the blocks of a node."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engine.base.errors import exit_text
from engine.base.terms import AllocationState, SchedulingState, TaskState
from engine.base.values import called
from engine.views.hook_status import HookStatus, eligible_again
from engine.views.resources.jobs import deleted_pool_ids, pool_ids, scale_page
from engine.views.resources.nodes import NodeKey as Key
from engine.views.resources.nodes import node_groups, tasks_on
from engine.views.resources.processes import node_contents
from tui.viewmodels import format as fmt
from tui.viewmodels import properties as blocks
from tui.viewmodels.glyphs import NODE, PREPARATION, RELEASE, STATES_OF_NODES, phase_glyph, pool_glyph
from tui.viewmodels.items import node_resources, rest_body, told_block
from tui.viewmodels.lists.columns import NODE_ID, NODE_SIZE, Column
from tui.viewmodels.lists.kept_rows import NO_TEXT, NodeRowsModel
from tui.viewmodels.lists.rows import NamedRowsModel
from tui.viewmodels.properties import cost_words, hardware, is_job_over, next_words
from tui.viewmodels.text import (
    WHOLE,
    Block,
    ItemRef,
    Line,
    Role,
    Span,
    block,
    block_of,
    error_blocks,
    line,
    link,
    row,
)

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence

    from engine import Simulation
    from engine.views.resources.jobs import PoolRow
    from engine.views.resources.nodes import JobOnNode, NodeBrief, NodePage, NodeRow
    from engine.views.resources.processes import NodeContents
    from tui.viewmodels.session import Session


def _all_ids(simulation: Simulation) -> list[str]:
    return [*pool_ids(simulation), *deleted_pool_ids(simulation)]


class PoolsModel(NamedRowsModel["PoolRow"]):
    """Pools, oldest first, then those that have been deleted."""

    title = "Pools"
    kind = "pool"
    own_order = "age, oldest first; deleted ones last"
    ids = staticmethod(_all_ids)
    help_text = fmt.help_on("Pools")

    def usual_columns(self) -> Iterator[Column[PoolRow]]:
        session = self.session
        yield Column("", 1, cell=lambda pool: session.glyphs.span(pool_glyph(pool.state, pool.allocation)))
        yield Column("Pool", 11, "the pool's id", self._name, stretch=True, is_id=True)
        words = ("active", "deleting", "deleted")
        yield Column("State", 9, "active, deleting or deleted", _state, 70, least=8, words=words)
        words = ("steady", "resizing", "stopping")
        yield Column("Allocation state", 16, "steady, resizing or stopping", self._allocation, least=10, words=words)
        yield NODE_SIZE._replace(from_width=64, least=11).showing(lambda pool: pool.record.spec.vm_size)
        yield Column("Dedicated", 9, "current and target number of dedicated nodes", _dedicated, is_whole=True)
        yield Column("Spot", 9, "current and target number of Spot nodes", _spot, least=5, is_whole=True)
        yield Column("Node counts", 20, "number of nodes in each state", self._counts, 62, is_derived=True, least=11)
        said = "task slots in use, of the slots of ready nodes"
        yield Column("Utilisation", 15, said, _in_use, 92, is_derived=True, is_whole=True)
        said = "node hours times the price of the node size; Spot has its own price"
        yield Column("Cost", 9, said, self._cost, 110, is_right=True, is_derived=True)

    def extra_columns(self) -> Iterator[Column[PoolRow]]:
        said = "whether a formula sets the number of nodes"
        yield Column("Autoscale", 9, said, lambda pool: "on" if pool.record.auto_scale else "off")
        said = "number of one-slot tasks that a node runs at once"
        yield Column("Task slots per node", 19, said, lambda pool: str(pool.record.slots), is_right=True)
        said = "whether tasks are packed on few nodes or spread"
        yield Column("Scheduling policy", 17, said, lambda pool: pool.record.fill.value)
        said = "why the pool did not reach its target"
        yield Column("Resize errors", 26, said, lambda pool: _codes(pool.record.resize_errors))
        yield Column("Jobs", 24, "the jobs of the pool", _jobs, is_derived=True)

    def find_item(self, identity: str) -> PoolRow | None:
        return self.session.pool(identity)

    def key_in_focus(self) -> int | None:
        pool_id = self.session.pool_id
        return self._ids.index(pool_id) if pool_id in self._ids else None

    def put_in_focus(self, key: int) -> None:
        if self._ids[key] != self.session.pool_id:
            self.session.focus_pool(self._ids[key])

    def cells(self, key: int) -> tuple[Span, ...]:
        """Return the cells of a pool; those of a deleted one say what it was and what its nodes have cost."""
        sign, *cells = super().cells(key)
        if self.row(key).state is not None:
            return (sign, *cells)
        named = zip(self.column_names[1:], cells, strict=True)
        return (sign, *(_of_gone(cell) if name in _KEPT else NO_TEXT for name, cell in named))

    def _name(self, pool: PoolRow) -> Span:
        return Span(pool.pool_id, Role.STRONG if pool.pool_id == self.session.pool_id else Role.PLAIN)

    def _allocation(self, pool: PoolRow) -> Span:
        allocation = pool.allocation.wire if pool.allocation is not None else ""
        sign = f" {self.session.glyphs.bad}" if pool.record.resize_errors else ""
        return Span(allocation + sign, Role.FAILED if sign else pool_glyph(pool.state, pool.allocation).role)

    def _cost(self, pool: PoolRow) -> Span:
        return Span(blocks.pool_cost(self.session, pool), Role.DERIVED)

    def summary(self, cells: int = WHOLE) -> Line:  # noqa: ARG002  # it is short
        """Return what all pools cost, deleted ones included."""
        words = cost_words(self.session)
        return line(Span(f"{words[:1].upper()}{words[1:]}", Role.DERIVED)) if words else ()

    def _counts(self, pool: PoolRow) -> Span:
        """Return glyph and number of each state, failures first: they show where the column is cut."""
        counts = [(NODE[state], number) for state, number in pool.node_counts]
        counts.sort(key=lambda count: count[0].role is not Role.FAILED)
        is_failed = any(glyph.role is Role.FAILED for glyph, _ in counts)
        text = " ".join(f"{self.session.glyphs.of(glyph)}{number:,}" for glyph, number in counts)
        return Span(text, Role.FAILED if is_failed else Role.PLAIN)

    def sentence(self, key: int) -> Line:
        pool = self.row(key)
        if pool.state is None:
            cost = blocks.pool_cost(self.session, pool)
            return line(Span(f"{pool.pool_id} was deleted; it cost {cost}", Role.DERIVED))
        states = ", ".join(f"{number:,} {NODE[state].name}" for state, number in pool.node_counts)
        page = scale_page(self.session.simulation, pool.pool_id)
        again = f", evaluated at {self.session.clock(page.next_ms)} (S)" if page is not None else ""
        counts = Span(f"{pool.pool_id}: {states or 'no nodes'}{again}", Role.DERIVED)
        codes = _codes(pool.record.resize_errors)
        return line(counts, *([codes._replace(text=f"  resize: {codes.text}")] if codes.text else []))

    def details(self, key: int) -> Sequence[Block]:
        pool = self.row(key)
        task = pool.record.spec.start_task
        start_task = [] if task is None else [told_block(self.session, "Start task", task.wire())]
        return blocks.pool_overview(self.session, pool, start_task)


def _codes(errors: Sequence[tuple[str, str, object]]) -> Span:
    return Span(", ".join(code for code, *_ in errors), Role.FAILED)


_KEPT = frozenset(("Pool", "State", "Node size", "Cost", "Resize errors", "Jobs"))  # columns that say what a pool was


def _of_gone(cell: Span) -> Span:
    return cell if cell.role in (Role.STRONG, Role.DERIVED) else cell._replace(role=Role.DIM)


def _state(pool: PoolRow) -> str:
    return "deleted" if pool.state is None else pool.state.wire


def _dedicated(pool: PoolRow) -> str:
    return f"{pool.current_dedicated:,}/{pool.target_dedicated:,}"


def _spot(pool: PoolRow) -> str:
    return f"{pool.current_spot:,}/{pool.target_spot:,}"


def _in_use(pool: PoolRow) -> Span:
    used = f"{blocks.utilisation(pool):>4} of {pool.usable_slots:,}" if pool.usable_slots else "no slots"
    return Span(used, Role.DERIVED)


def _jobs(pool: PoolRow) -> Span:
    return Span(", ".join(pool.jobs), Role.DERIVED)


def node_general(session: Session, node: NodeRow) -> Block:
    """Return the properties that the portal shows first."""
    glyph, record, clock = NODE[node.state], node.record, session.clock
    return block(
        "General",
        row("ID", record.id),
        row("Index", record.position),
        ("Pool", link(node.pool.id, ItemRef("pool", node.pool.id))),
        row("State", glyph.name, glyph.role),
        *([row("Cause", node.cause, Role.FAILED)] if node.cause else []),
        *([row("VM is taken back", clock(record.evicted_ms), Role.FAILED)] if record.evicted_ms is not None else []),
        row("State transition time", clock(node.since_ms)),
        row("Scheduling state", record.scheduling.wire),
        *([row("Next", words)] if (words := next_words(node)) else []),
        row("Node size", node.pool.spec.vm_size),
        *hardware(node.pool.spec.vm_size),
        row("Dedicated", _is_dedicated(node)),
        row("Allocation time", clock(record.allocation_ms)),
        row("Last boot time", clock(record.boot_ms)),
        row("Boots", record.boots, Role.DERIVED),
        row("Running tasks", node.running_tasks),
        row("Preparing tasks", node.preparing_tasks, Role.DERIVED),
        row("Running task slots", f"{node.used_slots} of {node.pool.slots}"),
        row("Total tasks run", node.total_run),
        row("Total successful tasks", node.total_succeeded),
        row("IP address", record.ip_address),
    )


def node_start_task(session: Session, node: NodeRow, title: str = "Start task") -> list[Block]:
    """Return the start task of the present boot; nothing if there is none."""
    info = (rest_body(session, ItemRef("node", node.node)) or {}).get("startTaskInfo")
    return [] if info is None else [told_block(session, title, info)]


def _jobs_there(session: Session, on_node: Sequence[JobOnNode]) -> list[Block]:
    """Return the state of each job on the node; nothing if there has been none."""
    rows = []
    for job in on_node:
        said = f"{session.glyphs.of(PREPARATION[job.prep])} {PREPARATION[job.prep].name}"
        if job.release not in (HookStatus.NOT_NEEDED, HookStatus.WILL_RUN):  # then it may run later
            said += f", {session.glyphs.of(RELEASE[job.release])} {RELEASE[job.release].name}"
        has_ended = is_job_over(session, job.job_id)
        until = "the job ended" if has_ended else eligible_again(session.options).until
        said += f", ineligible until {until}" if job.is_ineligible else ""
        rows.append((job.job_id, Span(said, PREPARATION[job.prep].role)))
    return block_of("Jobs on this node", rows)


_MOST_TASKS = 12


def node_tasks(session: Session, node: NodeRow) -> list[Block]:
    """Return the tasks that run on the node, or prepare and so take slots too; nothing if there are none."""
    rows = []
    for task in tasks_on(session.simulation, node.node, _MOST_TASKS):
        said = "" if task.state is TaskState.RUNNING else f", {task.state.wire}"
        rows.append((task.job_id, link(f"{task.task_id}{said}", ItemRef("task", task.task))))
    if (more := node.running_tasks + node.preparing_tasks - _MOST_TASKS) > 0:
        rows.append(("", Span(f"and {more:,} more", Role.DIM)))
    return block_of("Tasks on this node", rows)


def node_overview(session: Session, node: NodeRow, contents: NodeContents | None, *others: Block) -> list[Block]:
    """Return the blocks of a node with these contents; on its page the ``others`` are on tabs of their own."""
    return [
        node_general(session, node),
        *error_blocks("Errors", node.record.errors),
        *others,
        *node_tasks(session, node),
        *(node_resources(session, contents) if contents is not None else ()),
    ]


class NodesModel(NodeRowsModel["NodeBrief", "NodeRow"]):
    """Nodes, unusable ones first and those that left the pool last."""

    title = "Nodes"
    _page: NodePage
    own_order = "unusable nodes first"
    help_text = fmt.help_on("Nodes")

    def usual_columns(self) -> Iterator[Column[NodeBrief]]:
        yield Column("", 1, cell=self._sign)
        yield self.node_column(_index)
        said = "the service's state; all states are listed below"
        yield Column("State", 20, said, _node_state, least=12, words=STATES_OF_NODES, key=Key.STATE)
        words = tuple(state.wire for state in SchedulingState)
        scheduling = Column[Any]("Scheduling state", 16, "whether the node accepts new tasks", from_width=60, least=10)
        yield scheduling._replace(words=words).showing(_scheduling, Key.SCHEDULING)
        said = "task slots in use, of all slots of the node"
        yield Column("Running tasks", 13, said, _slots, least=8, is_whole=True, key=Key.SLOTS)
        said = "the node's phase in the job in focus: release once started, else preparation"
        yield Column("Focus job", 18, said, self._phase, 62, is_derived=True, least=11, key=Key.HOOKS)
        total = Column[Any]("Total tasks run", 15, "tasks that ended on this node", from_width=70, least=11)
        yield total._replace(is_right=True, is_whole=True).showing(lambda node: f"{node.total_run:,}", Key.RUN)
        age = Column[Any]("Age in state", 12, "time since the last change of state", from_width=104, is_whole=True)
        yield age._replace(is_derived=True, changes=lambda _: True).showing(self._age, Key.AGE)
        yield Column("IP address", 11, "the node's address in its subnet", lambda node: node.ip, 116)

    def extra_columns(self) -> Iterator[Column[NodeRow]]:
        clock = self.session.clock
        yield NODE_ID._replace(texts=self.identities_of).showing(lambda node: node.record.id)
        succeeded = Column[Any]("Total successful tasks", 22, "tasks that succeeded on this node", is_right=True)
        yield succeeded.showing(lambda node: f"{node.total_succeeded:,}", Key.SUCCEEDED)
        said = "when the state last changed"
        yield Column("State transition time", 21, said, lambda node: clock(node.since_ms), key=Key.SINCE)
        said = "when the node last started"
        yield Column("Last boot time", 14, said, lambda node: clock(node.record.boot_ms), key=Key.BOOT)
        said = "when the node was allocated"
        yield Column("Allocation time", 15, said, lambda node: clock(node.record.allocation_ms), key=Key.ALLOCATION)
        yield NODE_SIZE.showing(lambda node: node.pool.spec.vm_size, Key.POOL)
        yield Column("Dedicated", 9, "whether the node is dedicated or Spot", _is_dedicated, key=Key.DEDICATED)
        yield Column("Start task", 26, "state of the pool's start task on this node", _start_task, key=Key.START_TASK)
        said = "the service's error codes for the node"
        yield Column("Errors", 24, said, lambda node: _codes(node.record.errors), key=Key.ERRORS)

    def _sign(self, node: NodeBrief) -> Span:
        glyph, is_disabled = NODE[node.state], node.scheduling is SchedulingState.DISABLED
        return Span(self.session.glyphs.of(glyph), glyph.role, is_underlined=is_disabled)

    def _phase(self, node: NodeBrief) -> Span:
        phase = phase_glyph(node.prep, node.release)
        said = "would rerun" if phase is PREPARATION[HookStatus.SUPERSEDED] else phase.name
        is_known = node.prep is not HookStatus.NOT_NEEDED
        return Span(f"{self.session.glyphs.of(phase)} {said}" if is_known else "", phase.role)

    def _age(self, node: NodeBrief) -> Span:
        return Span(fmt.span(self.session.now_ms - node.since_ms), Role.DERIVED)

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._page = session.nodes()

    def order(self) -> Sequence[int]:
        self._page = self.session.nodes()
        return self._page.order()

    def is_failed(self, key: int) -> bool:
        """Return True if the node's state is a failure or its preparation failed."""
        return NODE[self._page.state_of(key)].role is Role.FAILED or self._page.hooks(key)[0] is HookStatus.FAILED

    def briefs(self, keys: Sequence[int]) -> Sequence[NodeBrief]:
        return self._page.briefs(keys)

    def row(self, key: int) -> NodeRow:
        return self._page.row(key)

    def groups_by(self, key: Key, keys: Sequence[int]) -> Sequence[Hashable]:
        return list(map(node_groups(self.session.simulation, self._page, key), keys))

    def summary(self, cells: int = WHOLE) -> Line:
        counts = self._page.counts()
        numbers = ((glyph, counts.get(state, 0)) for state, glyph in NODE.items())
        return self.session.glyphs.counts(numbers, "node", cells)

    def sentence(self, key: int) -> Line:
        node = self._page.row(key)
        parts = [f"n{node.record.position}", NODE[node.state].name, f"{node.used_slots}/{node.pool.slots} slots"]
        if node.prep is not HookStatus.NOT_NEEDED:
            parts.append(phase_glyph(node.prep, node.release).name)
        if node.record.scheduling is SchedulingState.DISABLED:
            parts.append("scheduling disabled")
        parts += [error.code for error in node.record.errors]
        return line(Span(", ".join(parts), Role.DERIVED))

    def new_details(self, key: int) -> tuple[Sequence[Block], int | None]:
        node, session = self._page.row(key), self.session
        contents = None if node.state is None else node_contents(session.simulation, key)
        others = *node_start_task(session, node), *_jobs_there(session, self._page.jobs_on(key))
        next_ms = None if contents is None else contents.next_ms(session.now_ms)
        return node_overview(session, node, contents, *others), next_ms

    def empty(self) -> Sequence[str]:
        if not self.session.pool_id:
            return self.session.no_pool()
        pool = self.session.pool(self.session.pool_id)
        if pool is None or pool.state is None:
            return (f"{called('Pool', self.session.pool_id)} was deleted.",)
        target = pool.target
        if pool.allocation is not AllocationState.STEADY:
            return (f"{called('Pool', pool.pool_id)} is resizing: 0 → {target:,} nodes. w explains when they join.",)
        if target:
            return (f"{called('Pool', pool.pool_id)} is steady at 0 of {target:,} nodes. w explains why.",)
        why = "its formula sets this target" if pool.record.auto_scale else "its target is 0"
        return (f"{called('Pool', pool.pool_id)} is steady at 0 nodes: {why}. w explains, a resizes it.",)


def _index(node: NodeBrief) -> Span:
    role = NODE[node.state].role
    return Span(f"n{node.position}", role if role is Role.FAILED else Role.PLAIN)


def _node_state(node: NodeBrief) -> Span:
    glyph = NODE[node.state]
    return Span(glyph.name, glyph.role if glyph.role is not Role.QUIET else Role.PLAIN)


def _scheduling(node: NodeBrief) -> Span:
    is_disabled = node.scheduling is SchedulingState.DISABLED
    text = node.scheduling.wire if node.state is not None else ""
    return Span(text, Role.TRANSITION if is_disabled else Role.PLAIN)


def _slots(node: NodeBrief) -> str:
    return f"{node.used_slots} of {node.slots}" if node.state is not None else ""


def _is_dedicated(node: NodeRow) -> str:
    return "yes" if node.record.dedicated else "no, Spot"


def _start_task(node: NodeRow) -> Span:
    task = node.record.start_task
    if task is None:
        return Span("")
    words = ["running" if task.running else "completed"]
    words += [f"exit {exit_text(task.exit_code)}"] if task.exit_code is not None else []
    words += [f"{task.retry_count} retries"] if task.retry_count else []
    return Span(", ".join(words), Role.FAILED if task.failure else Role.PLAIN)
