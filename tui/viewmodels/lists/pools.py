"""The lists of pools, and of the nodes of the pool in focus, with the blocks of a node."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.terms import AllocationState, SchedulingState
from engine.views.hook_status import HookStatus, eligible_again
from engine.views.resources.jobs import deleted_pool_ids, pool_ids, scale_page
from engine.views.resources.nodes import node_groups
from engine.views.resources.processes import node_contents
from tui.viewmodels import format as fmt
from tui.viewmodels import properties as blocks
from tui.viewmodels.glyphs import NODE, PREPARATION, RELEASE, STATES_OF_NODES, phase_glyph, pool_glyph
from tui.viewmodels.items import node_resources
from tui.viewmodels.lists.columns import Column
from tui.viewmodels.lists.filters import names_of_nodes
from tui.viewmodels.lists.kept_rows import NO_TEXT, KeptRowsModel
from tui.viewmodels.lists.rows import NamedRowsModel
from tui.viewmodels.properties import cost_words, hardware, is_job_over, next_words
from tui.viewmodels.text import Block, ItemRef, Line, Role, Span, block_of, error_blocks, failure_rows, line, link, row

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from engine import Simulation
    from engine.views.resources.jobs import PoolRow
    from engine.views.resources.nodes import JobOnNode, NodeBrief, NodeRow
    from tui.viewmodels.session import Session


def _all_ids(simulation: Simulation) -> list[str]:
    return [*pool_ids(simulation), *deleted_pool_ids(simulation)]


class PoolsModel(NamedRowsModel["PoolRow"]):
    """Pools, oldest first, then those that have been deleted."""

    title = "Pools"
    kind = "pool"
    own_order = "age, oldest first; deleted ones last"
    ids = staticmethod(_all_ids)
    columns = (
        Column("", 1),
        Column("Pool", 11, "the pool's id", stretch=True, is_id=True),
        Column(
            "State",
            9,
            "active, deleting or deleted",
            from_width=70,
            least=8,
            is_common=True,
            words=("active", "deleting", "deleted"),
        ),
        Column(
            "Allocation state",
            16,
            "steady, resizing or stopping",
            least=10,
            words=("steady", "resizing", "stopping"),
        ),
        Column("Node size", 16, "the size of the virtual machines", from_width=64, least=11),
        Column("Dedicated", 9, "current and target number of dedicated nodes", is_whole=True),
        Column("Spot", 9, "current and target number of Spot nodes", least=5, is_whole=True),
        Column(
            "Node counts",
            20,
            "number of nodes in each state",
            from_width=62,
            is_derived=True,
            least=11,
        ),
        Column(
            "Utilisation",
            15,
            "task slots in use, of the slots of ready nodes",
            from_width=92,
            is_derived=True,
            is_whole=True,
        ),
        Column(
            "Cost",
            9,
            "node hours times the price of the node size; Spot has its own price",
            from_width=110,
            is_right=True,
            is_derived=True,
        ),
        Column("Autoscale", 9, "whether a formula sets the number of nodes", is_extra=True),
        Column(
            "Task slots per node", 19, "number of one-slot tasks that a node runs at once", is_extra=True, is_right=True
        ),
        Column("Scheduling policy", 17, "whether tasks are packed on few nodes or spread", is_extra=True),
        Column("Resize errors", 26, "why the pool did not reach its target", is_extra=True),
        Column("Jobs", 24, "the jobs of the pool", is_extra=True, is_derived=True),
    )
    help_text = (
        "Dedicated and Spot show current and target nodes, without preempted and deallocated ones. "
        "Node counts is derived: the symbol and the number of each state. "
        "Utilisation is the share in use of the slots of ready nodes. Deleted pools keep their cost.\n"
        "The pool under the cursor is in focus, also in other views. Enter opens its page, 3 lists its nodes.\n"
        "S shows a pool's autoscale: formula, evaluations, and an editor."
    )

    def _find(self, identity: str) -> PoolRow | None:
        return self.session.pool(identity)

    def key_in_focus(self) -> int | None:
        pool_id = self.session.pool_id
        return self._ids.index(pool_id) if pool_id in self._ids else None

    def put_in_focus(self, key: int) -> None:
        if self._ids[key] != self.session.pool_id:
            self.session.focus_pool(self._ids[key])

    def cells(self, key: int) -> tuple[Span, ...]:
        pool = self._row(key)
        if pool.state is None:
            return self._deleted(pool)
        glyph = pool_glyph(pool.state, pool.allocation)
        allocation = pool.allocation.wire if pool.allocation is not None else ""
        sign = f" {self.session.glyphs.bad}" if pool.resize_errors else ""
        return (
            self.session.glyphs.span(glyph),
            Span(pool.pool_id, Role.STRONG if pool.pool_id == self.session.pool_id else Role.PLAIN),
            Span(pool.state.wire),
            Span(allocation + sign, Role.FAILED if sign else glyph.role),
            Span(pool.vm_size),
            Span(f"{pool.current_dedicated:,}/{pool.target_dedicated:,}"),
            Span(f"{pool.current_spot:,}/{pool.target_spot:,}"),
            self._counts(pool),
            Span(_in_use(pool), Role.DERIVED),
            Span(blocks.pool_cost(self.session, pool), Role.DERIVED),
            Span("on" if pool.auto_scale else "off"),
            Span(str(pool.slots)),
            Span(pool.fill),
            Span(", ".join(code for code, *_ in pool.resize_errors), Role.FAILED),
            Span(", ".join(pool.jobs), Role.DERIVED),
        )

    def _deleted(self, pool: PoolRow) -> tuple[Span, ...]:
        """Return the cells of a deleted pool: what it was and what its nodes have cost."""
        known = {
            "Pool": Span(pool.pool_id, Role.STRONG if pool.pool_id == self.session.pool_id else Role.DIM),
            "State": Span("deleted", Role.DIM),
            "Node size": Span(pool.vm_size, Role.DIM),
            "Cost": Span(blocks.pool_cost(self.session, pool), Role.DERIVED),
            "Resize errors": Span(", ".join(code for code, *_ in pool.resize_errors), Role.DIM),
            "Jobs": Span(", ".join(pool.jobs), Role.DERIVED),
        }
        sign = self.session.glyphs.span(pool_glyph(None, None))
        return (sign, *(known.get(column.name, Span("")) for column in self.columns[1:]))

    def summary(self) -> Line:
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
        pool = self._row(key)
        if pool.state is None:
            return line(
                Span(f"{pool.pool_id} was deleted; it cost {blocks.pool_cost(self.session, pool)}", Role.DERIVED)
            )
        states = ", ".join(f"{number:,} {NODE[state].name}" for state, number in pool.node_counts)
        page = scale_page(self.session.simulation, pool.pool_id)
        again = f", evaluated at {self.session.clock(page.next_ms)} (S)" if page is not None else ""
        counts = Span(f"{pool.pool_id}: {states or 'no nodes'}{again}", Role.DERIVED)
        codes = ", ".join(code for code, *_ in pool.resize_errors)
        return line(counts, *([Span(f"  resize: {codes}", Role.FAILED)] if codes else []))

    def details(self, key: int) -> Sequence[Block]:
        pool = self._row(key)
        return blocks.pool_overview(self.session, pool, blocks.pool_start_task(pool))

    def empty(self) -> Sequence[str]:
        said = self.session.none_yet("pool")
        return said if self.session.is_empty else (*said, "ctrl+n creates one.")


def _in_use(pool: PoolRow) -> str:
    return f"{blocks.utilisation(pool):>4} of {pool.usable_slots:,}" if pool.usable_slots else "no slots"


def node_general(session: Session, node: NodeRow) -> Block:
    """Return the properties that the portal shows first."""
    glyph = NODE[node.state]
    clock = session.clock
    return Block(
        "General",
        (
            row("ID", node.node_id),
            row("Index", node.position),
            ("Pool", link(node.pool_id, ItemRef("pool", node.pool_id))),
            row("State", glyph.name, glyph.role),
            *([row("Cause", node.cause, Role.FAILED)] if node.cause else []),
            *([row("VM is taken back", clock(node.evicted_ms), Role.FAILED)] if node.evicted_ms is not None else []),
            row("State transition time", clock(node.since_ms)),
            row("Scheduling state", node.scheduling.wire),
            *([row("Next", words)] if (words := next_words(node)) else []),
            row("Node size", node.vm_size),
            *hardware(node.vm_size),
            row("Dedicated", "yes" if node.is_dedicated else "no, Spot"),
            row("Allocation time", clock(node.allocation_ms)),
            row("Last boot time", clock(node.boot_ms)),
            row("Boots", node.boots, Role.DERIVED),
            row("Running tasks", node.running_tasks),
            row("Preparing tasks", node.preparing_tasks, Role.DERIVED),
            row("Running task slots", f"{node.used_slots} of {node.slots}"),
            row("Total tasks run", node.total_run),
            row("Total successful tasks", node.total_succeeded),
            row("IP address", node.ip),
        ),
    )


def node_start_task(session: Session, node: NodeRow) -> list[Block]:
    """Return the start task of the present boot; nothing if there is none."""
    task = node.start_task
    if task is None:
        return []
    clock = session.clock
    rows = (
        row("State", "running" if task.running else "completed"),
        row("Result", task.result.value if task.result else None, Role.FAILED if task.failure else Role.PLAIN),
        row("Start time", clock(task.start_ms)),
        row("End time", None if task.running else clock(task.end_ms)),
        row("Exit code", task.exit_code, Role.FAILED if task.exit_code else Role.PLAIN),
        row("Retry count", task.retry_count),
        *([row("Last retry time", clock(task.last_retry_ms))] if task.last_retry_ms is not None else []),
        *failure_rows(task.failure),
    )
    return [Block("Start task", rows)]


def node_jobs(session: Session, on_node: Sequence[JobOnNode]) -> list[Block]:
    """Return the state of each job on the node; nothing if there has been none."""
    rows = []
    for job in on_node:
        said = f"{session.glyphs.of(PREPARATION[job.prep])} {PREPARATION[job.prep].name}"
        if job.has_released:
            said += f", {session.glyphs.of(RELEASE[job.release])} {RELEASE[job.release].name}"
        has_ended = is_job_over(session, job.job_id)
        until = "the job ended" if has_ended else eligible_again(session.options).until
        said += f", ineligible until {until}" if job.is_ineligible else ""
        rows.append((job.job_id, Span(said, PREPARATION[job.prep].role)))
    return block_of("Jobs on this node", rows)


def running_tasks(tasks: Sequence[tuple[int, str, str]], most: int) -> list[Block]:
    """Return the tasks that run on the node; nothing if there are none."""
    rows = [(job_id, link(task_id, ItemRef("task", task))) for task, job_id, task_id in tasks[:most]]
    if len(tasks) > most:
        rows.append(("", Span(f"and {len(tasks) - most:,} more", Role.DIM)))
    return block_of("Running tasks", rows)


_MOST_TASKS = 12
_AGE = 7  # the number of the column Age in state


class NodesModel(KeptRowsModel["NodeBrief"]):
    """Nodes, unusable ones first and those that left the pool last."""

    title = "Nodes"
    kind = "node"
    log_column = "row_b"
    columns = (
        Column("", 1),
        Column("Node", 6, "the node's index in its pool, as in scenarios; a filter also finds its id", is_name=True),
        Column("State", 20, "the service's state; all states are listed below", least=12, words=STATES_OF_NODES),
        Column(
            "Scheduling state",
            16,
            "whether the node accepts new tasks",
            from_width=60,
            least=10,
            is_common=True,
            words=tuple(state.wire for state in SchedulingState),
        ),
        Column("Running tasks", 13, "task slots in use, of all slots of the node", least=8, is_whole=True),
        Column(
            "Focus job",
            18,
            "the node's phase in the job in focus: release once started, else preparation",
            from_width=62,
            is_derived=True,
            least=11,
        ),
        Column(
            "Total tasks run",
            15,
            "tasks that ended on this node",
            from_width=70,
            is_right=True,
            least=11,
            is_whole=True,
        ),
        Column(
            "Age in state", 12, "time since the last change of state", from_width=104, is_derived=True, is_whole=True
        ),
        Column("IP address", 11, "the node's address in its subnet", from_width=116),
        Column("Node ID", 24, "the service's id of the node", is_extra=True, is_id=True),
        Column("Total successful tasks", 22, "tasks that succeeded on this node", is_extra=True, is_right=True),
        Column("State transition time", 21, "when the state last changed", is_extra=True),
        Column("Last boot time", 14, "when the node last started", is_extra=True),
        Column("Allocation time", 15, "when the node was allocated", is_extra=True),
        Column("Node size", 16, "the size of the virtual machines", is_extra=True),
        Column("Dedicated", 9, "whether the node is dedicated or Spot", is_extra=True),
        Column("Start task", 26, "state of the pool's start task on this node", is_extra=True),
        Column("Errors", 24, "the service's error codes for the node", is_extra=True),
    )
    own_order = "unusable nodes first"
    help_text = (
        "All nodes that the pool in focus ever had. Running tasks shows used slots, of all slots.\n"
        "Focus job is derived: preparation and release of the job in focus.\n"
        "A node with scheduling disabled takes no new tasks. It is offline when none run."
    )

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._page = session.nodes()

    def order(self) -> Sequence[int]:
        self._page = self.session.nodes()
        return self._page.order()

    def is_failed(self, key: int) -> bool:
        """Return True if the node's state is a failure or its preparation failed."""
        return NODE[self._page.state_of(key)].role is Role.FAILED or self._page.hooks(key)[0] is HookStatus.FAILED

    def identity_of(self, key: int) -> str:
        return self._page.id_of(key)

    def names_of(self, keys: Sequence[int], word: str) -> Sequence[str]:
        return names_of_nodes(self._page, keys, word)

    def briefs(self, keys: Sequence[int]) -> Sequence[NodeBrief]:
        return self._page.briefs(keys)

    def usual_cells(self, brief: NodeBrief) -> tuple[Span, ...]:
        glyph, glyphs = NODE[brief.state], self.session.glyphs
        is_disabled = brief.scheduling is SchedulingState.DISABLED
        phase = phase_glyph(brief.prep, brief.release)
        is_known = brief.prep is not HookStatus.NOT_NEEDED
        said = "would rerun" if phase is PREPARATION[HookStatus.SUPERSEDED] else phase.name
        is_present = brief.state is not None
        return (
            Span(glyphs.of(glyph), glyph.role, is_underlined=is_disabled),
            Span(f"n{brief.position}", glyph.role if glyph.role is Role.FAILED else Role.PLAIN),
            Span(glyph.name, glyph.role if glyph.role is not Role.QUIET else Role.PLAIN),
            Span(brief.scheduling.wire if is_present else "", Role.TRANSITION if is_disabled else Role.PLAIN),
            Span(f"{brief.used_slots} of {brief.slots}") if is_present else NO_TEXT,
            Span(f"{glyphs.of(phase)} {said}" if is_known else "", phase.role),
            Span(f"{brief.total_run:,}"),
            NO_TEXT,
            Span(brief.ip),
        )

    def at_this_moment(self, brief: NodeBrief, cells: tuple[Span, ...]) -> tuple[Span, ...]:
        """Return a node's cells with its age in the present state."""
        age = fmt.span(self.session.now_ms - brief.since_ms)
        return cells if cells[_AGE].text == age else (*cells[:_AGE], Span(age, Role.DERIVED), *cells[_AGE + 1 :])

    def extra_cells(self, key: int) -> tuple[Span, ...]:
        node = self._page.row(key)
        return (
            Span(node.node_id),
            Span(f"{node.total_succeeded:,}"),
            Span(self.session.clock(node.since_ms)),
            Span(self.session.clock(node.boot_ms)),
            Span(self.session.clock(node.allocation_ms)),
            Span(node.vm_size),
            Span("yes" if node.is_dedicated else "no, Spot"),
            _start_task(node),
            Span(", ".join(code for code, *_ in node.errors), Role.FAILED),
        )

    def groups_of(self, keys: Sequence[int], column: int) -> Sequence[Hashable] | None:
        """Return for each node what decides on its text in a column."""
        session = self.session
        from_ms = session.now_ms if session.time_format == "relative" else 0
        group_of = node_groups(session.simulation, self._page, self.column_names[column], from_ms)
        return None if group_of is None else list(map(group_of, keys))

    def text_of(self, key: int, column: int) -> str:
        """Return the text by which a column is filtered: that of the node has its id as well."""
        match self.column_names[column]:
            case "Node":
                return f"n{self._page.position_of(key)} {self._page.id_of(key)}"
            case "Node ID":
                return self._page.id_of(key)
            case _:
                return super().text_of(key, column)

    def summary(self) -> Line:
        counts = self._page.counts()
        return self.session.glyphs.counts((glyph, counts.get(state, 0)) for state, glyph in NODE.items())

    def sentence(self, key: int) -> Line:
        node = self._page.row(key)
        parts = [f"n{node.position}", NODE[node.state].name, f"{node.used_slots}/{node.slots} slots"]
        if node.prep is not HookStatus.NOT_NEEDED:
            parts.append(phase_glyph(node.prep, node.release).name)
        if node.scheduling is SchedulingState.DISABLED:
            parts.append("scheduling disabled")
        parts += [code for code, *_ in node.errors]
        return line(Span(", ".join(parts), Role.DERIVED))

    def traits(self, key: int) -> object:
        return self._page.work_on(key)

    def new_details(self, key: int) -> tuple[Sequence[Block], int | None]:
        node, session = self._page.row(key), self.session
        contents = None if node.state is None else node_contents(session.simulation, key)
        return [
            node_general(session, node),
            *error_blocks("Errors", node.errors),
            *node_start_task(session, node),
            *node_jobs(session, self._page.jobs_on(key)),
            *running_tasks(self._page.tasks_on(key), _MOST_TASKS),
            *(node_resources(session, contents) if contents is not None else ()),
        ], None if contents is None else contents.next_ms(session.now_ms)

    def empty(self) -> Sequence[str]:
        if not self.session.pool_id:
            return self.session.no_pool()
        pool = self.session.pool(self.session.pool_id)
        if pool is None or pool.state is None:
            return (f"Pool {self.session.pool_id} was deleted.",)
        target = pool.target_dedicated + pool.target_spot
        if pool.allocation is not AllocationState.STEADY:
            return (f"Pool {pool.pool_id} is resizing: 0 → {target:,} nodes. w explains when they join.",)
        if target:
            return (f"Pool {pool.pool_id} is steady at 0 of {target:,} nodes. w explains why.",)
        why = "its formula sets this target" if pool.auto_scale else "its target is 0"
        return (f"Pool {pool.pool_id} is steady at 0 nodes: {why}. w explains, a resizes it.",)


def _start_task(node: NodeRow) -> Span:
    task = node.start_task
    if task is None:
        return Span("")
    words = ["running" if task.running else "completed"]
    words += [f"exit {task.exit_code}"] if task.exit_code is not None else []
    words += [f"{task.retry_count} retries"] if task.retry_count else []
    return Span(", ".join(words), Role.FAILED if task.failure else Role.PLAIN)
