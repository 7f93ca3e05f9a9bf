"""The detail page of a node."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.views.log.node_history import NodeHistory
from engine.views.pages.hook_status import HookStatus
from engine.views.pages.option_words import eligible_again
from engine.views.pages.provisioning import node_contents
from engine.views.pages.tasks import TaskPage
from engine.views.rest.lookup import node_settings
from tui.viewmodels.detail_pages.layout import columns, state_history, tabular
from tui.viewmodels.detail_pages.page import DetailModel, Page
from tui.viewmodels.properties import node as blocks
from tui.viewmodels.properties.instance import short_until
from tui.viewmodels.properties.resources import node_blocks
from tui.viewmodels.properties.rest_fields import block
from tui.viewmodels.text import format as fmt
from tui.viewmodels.text.blocks import error_blocks
from tui.viewmodels.text.glyphs import NODE, PREPARATION, RELEASE, glyph_of_task
from tui.viewmodels.text.styled import ItemRef, Line, Role, Span, line, link

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.views.pages.nodes import JobOnNode
    from tui.viewmodels.session.session import Session

_MOST_TASKS = 40


class NodeDetailModel(DetailModel):
    """A node of any pool."""

    kind = "node"
    view = "nodes"
    BELOW = ("Jobs on this node", "Recent tasks", "History")

    def __init__(self, session: Session, subject: ItemRef) -> None:
        super().__init__(session, subject)
        self.help_text = (
            "A node, in tabs. Jobs on this node shows preparation, tasks started and release of each job. "
            f"An ineligible node gets no task of the job until {eligible_again(session.options).until}.\n"
            "History shows the node's states over time."
        )

    @property
    def _node(self) -> int:
        return int(self.subject.key)

    @property
    def exists(self) -> bool:
        return self.session.nodes().has(self._node)

    @property
    def name(self) -> str:
        if not self.exists:
            return "not created yet"
        node = self.session.nodes().row(self._node)
        return f"n{node.position} {fmt.short_node(node.node_id)}"

    @property
    def identity(self) -> str:
        return self.session.nodes().id_of(self._node) if self.exists else ""

    def _head(self, cells: int) -> Sequence[Line]:  # noqa: ARG002  # as on every page
        """Return state, scheduling state and slots."""
        node = self.session.nodes().row(self._node)
        glyph = NODE[node.state]
        if node.state is None:
            said = f" left the pool at {self.session.clock(node.since_ms)}. Its record is kept, its files are deleted."
            return [line(self.session.glyphs.span(glyph), Span(said, Role.DERIVED))]
        since = f" since {self.session.clock(node.since_ms)}, {fmt.span(self.session.now_ms - node.since_ms)}"
        parts = [self.session.glyphs.span(glyph), Span(f" {glyph.name}", glyph.role), Span(since, Role.DERIVED)]
        slots = f"{node.used_slots} of {node.slots} slots in use"
        return [line(*parts, Span(f"   scheduling {node.scheduling.wire}   {slots}"))]

    def _pages(self) -> Sequence[Page]:
        return (
            ("Overview", self._overview),
            ("Start task", self._start_task),
            ("Jobs on this node", self._jobs),
            ("Recent tasks", self._recent_tasks),
            ("Files", self._files),
            ("History", self._history),
        )

    def _overview(self, cells: int) -> Sequence[Line]:
        simulation, page = self.session.simulation, self.session.nodes()
        node = page.row(self._node)
        return columns(
            [
                blocks.general(self.session, node),
                *error_blocks("Errors", node.errors),
                *blocks.running_tasks(page.tasks_on(self._node), _MOST_TASKS),
                *(node_blocks(self.session, node_contents(simulation, self._node)) if node.state is not None else ()),
            ],
            cells,
        )

    def _start_task(self, cells: int) -> Sequence[Line]:
        settings = node_settings(self.session.simulation, self._node).get("startTask")
        if settings is None:
            return [line(Span("The pool has no start task.", Role.DIM))]
        execution = blocks.start_task(self.session, self.session.nodes().row(self._node))
        execution = [each._replace(title="Execution information") for each in execution]
        if not execution:
            execution = [block(self.session, "It has not run since the last boot.", {})]
        return columns([block(self.session, "Start task", settings), *execution], cells)

    def _jobs(self, cells: int) -> Sequence[Line]:
        started = self.session.history(NodeHistory, self._node).tasks_started()
        known = {job.job_id: job for job in self.session.nodes().jobs_on(self._node)}
        names = [*known, *(job_id for job_id in started if job_id not in known)]
        if not names:
            return [line(Span("No job has used this node yet.", Role.DIM))]
        rows = [self._job_row(job_id, known.get(job_id), started.get(job_id, 0)) for job_id in names]
        return tabular(("Job", "Preparation", "Tasks started", "Release", "Ineligible"), rows, cells)

    def _job_row(self, job_id: str, job: JobOnNode | None, started: int) -> Sequence[Span]:
        glyphs = self.session.glyphs
        prep = PREPARATION[job.prep if job else HookStatus.NOT_NEEDED]
        release = RELEASE[job.release if job else HookStatus.NOT_NEEDED]
        return (
            link(job_id, ItemRef("job", job_id)),
            Span(f"{glyphs.of(prep)} {prep.name}", prep.role),
            Span(f"{started:,}"),
            Span(f"{glyphs.of(release)} {release.name}", release.role),
            Span(short_until(self.session, job_id), Role.FAILED) if job and job.is_ineligible else Span("no"),
        )

    def _recent_tasks(self, cells: int) -> Sequence[Line]:
        session, clock = self.session, self.session.clock
        rows = []
        for recent in session.history(NodeHistory, self._node).recent_tasks():
            task = TaskPage(session.simulation, "").row(recent.task)
            glyph = glyph_of_task(task.brief)
            is_elsewhere = task.node is not None and task.node != self._node
            rows.append(
                (
                    session.glyphs.span(glyph),
                    link(task.brief.task_id, ItemRef("task", recent.task)),
                    Span(task.job_id),
                    Span(f"{glyph.name}{', elsewhere' if is_elsewhere else ''}", glyph.role),
                    Span(clock(task.brief.start_ms)),
                    Span(clock(task.brief.end_ms)),
                    Span(fmt.optional(task.brief.exit_code), Role.FAILED if task.brief.exit_code else Role.PLAIN),
                )
            )
        if not rows:
            return [line(Span("No task has run here, or all of them were deleted.", Role.DIM))]
        return tabular((" ", "Task", "Job", "State", "Start time", "End time", "Exit code"), rows, cells)

    def _files(self, cells: int) -> Sequence[Line]:  # noqa: ARG002  # as on every tab
        if self.session.nodes().row(self._node).state is None:
            return [line(Span("The node has left its pool. Its files are deleted.", Role.DIM))]
        opens = link("Open the files on this node", "files", Role.KEY)
        return [line(opens, Span(" at this moment. f opens them on every tab.", Role.DIM))]

    def _history(self, cells: int) -> Sequence[Line]:
        return state_history(self.session, self.session.history(NodeHistory, self._node).states(), NODE, cells)
