"""The list of the nodes of the pool in focus."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.terms import AllocationState, SchedulingState
from engine.views.pages.hook_status import HookStatus
from engine.views.pages.node_groups import node_groups
from engine.views.pages.provisioning import node_contents
from tui.viewmodels.lists.columns import Column
from tui.viewmodels.lists.filters import names_of_nodes
from tui.viewmodels.lists.kept_rows import NO_TEXT, KeptRowsModel
from tui.viewmodels.properties import node as blocks
from tui.viewmodels.properties.resources import node_blocks
from tui.viewmodels.text import format as fmt
from tui.viewmodels.text.blocks import Block, error_blocks
from tui.viewmodels.text.glyphs import NODE, PREPARATION, STATES_OF_NODES, phase_glyph
from tui.viewmodels.text.styled import Line, Role, Span, line

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from engine.views.pages.nodes import NodeBrief, NodeRow
    from tui.viewmodels.session.session import Session

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
            blocks.general(session, node),
            *error_blocks("Errors", node.errors),
            *blocks.start_task(session, node),
            *blocks.jobs(session, self._page.jobs_on(key)),
            *blocks.running_tasks(self._page.tasks_on(key), _MOST_TASKS),
            *(node_blocks(session, contents) if contents is not None else ()),
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
