"""The detail page of a task."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.terms import TaskState
from engine.views.log.task_history import TaskHistory
from engine.views.pages.dependencies import dependencies_of
from engine.views.pages.provisioning import task_needs
from engine.views.rest.lookup import task_settings
from tui.viewmodels.detail_pages.dependencies import MOST_BOXES, graph_lines
from tui.viewmodels.detail_pages.layout import columns, state_bars, tabular
from tui.viewmodels.detail_pages.page import DetailModel, Page
from tui.viewmodels.detail_pages.task_output import output_lines, output_tail
from tui.viewmodels.properties import task as blocks
from tui.viewmodels.properties.resources import task_blocks
from tui.viewmodels.properties.rest_fields import parts
from tui.viewmodels.properties.storage import task_transfers
from tui.viewmodels.text import format as fmt
from tui.viewmodels.text.blocks import block_lines
from tui.viewmodels.text.glyphs import TASK, glyph_of_task, task_glyph
from tui.viewmodels.text.styled import ItemRef, Line, Role, Span, fit, line, link

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.views.log.task_history import Attempt
    from engine.views.pages.tasks import TaskPage, TaskRow

_MOST_TASKS = 200  # for each kind of dependency
_ALL_FROM, _FEW = 104, 6  # cells for all columns of the attempts; columns on narrower pages
_ABOVE = 2  # lines above each part below the facts
_LEAST_VARIABLES = 4  # lines with their title; fewer say nothing
_PARTS = (
    "constraints",
    "resourceFiles",
    "outputFiles",
    "environmentSettings",
    "exitConditions",
    "multiInstanceSettings",
)


class TaskDetailModel(DetailModel):
    """A task of any job."""

    kind = "task"
    view = "tasks"
    help_text = (
        "A task, in tabs. The lines above show when the task first entered each state, and how long it was in it in "
        "all; ×2 says that it was there twice.\n"
        "Attempts has a line for each assignment to a node; one that ended before the task started has no number. "
        "Dependencies draws what the task depends on, and its "
        "dependents. The chain that decides when it can begin is marked.\n"
        "Output shows the last lines of stdout.txt and stderr.txt, also while it runs."
    )

    @property
    def _task(self) -> int:
        return int(self.subject.key)

    @property
    def exists(self) -> bool:
        return self._page.has(self._task)

    @property
    def name(self) -> str:
        return self._page.id_of(self._task) if self.exists else "not created yet"

    @property
    def _page(self) -> TaskPage:
        return self.session.tasks(self.session.job_id)

    @property
    def _row(self) -> TaskRow:
        return self._page.row(self._task)

    # -- the strip -----------------------------------------------------------------------------------------------

    def _head(self, cells: int) -> Sequence[Line]:
        """Return the four states: when the task first entered each, how long it was there in all, and how often."""
        glyphs, clock = self.session.glyphs, self.session.clock
        row, stays = self._row, self.session.history(TaskHistory, self._task).times()
        stage_cells = max(12, (cells - 2) // len(TaskState))
        names: list[Span] = [Span(" ")]
        times: list[Span] = [Span(" ")]
        for state in TaskState:
            stay, is_present = stays.get(state), row.brief.state is state
            glyph = glyph_of_task(row.brief) if is_present else task_glyph(state)
            role = glyph.role if stay is not None else Role.OFF
            arrow = "" if state is TaskState.COMPLETED else glyphs.arrow
            text = f"{glyphs.of(glyph)} {state.wire}"
            names.append(Span(text, role, is_underlined=is_present))
            names.append(Span(f" {arrow} ".ljust(stage_cells - len(text)), Role.DIM))
            spent = "" if stay is None or state is TaskState.COMPLETED else fmt.span(stay.spent_ms)
            entered = clock(stay.entered_ms) if stay is not None else ""
            often = f" {glyphs.times}{stay.times:,}" if stay is not None and stay.times > 1 else ""
            text = f" {entered} {spent}"
            text += often if len(text + often) < stage_cells else ""
            times.append(Span(fit(text, stage_cells), Role.DERIVED))
        return [tuple(names), tuple(times)]

    # -- pages ---------------------------------------------------------------------------------------------------

    def _pages(self) -> Sequence[Page]:
        return (
            ("Overview", self._overview),
            ("Properties", self._properties),
            ("Execution", self._execution),
            ("Attempts", self._attempts),
            ("Dependencies", self._dependencies),
            ("Output", self._output),
        )

    def _overview(self, cells: int) -> Sequence[Line]:
        session, row = self.session, self._row
        return columns(
            [
                blocks.general(session, row),
                blocks.execution(session, row),
                *task_blocks(session, self._task, task_needs(session.simulation, self._task)),
                *task_transfers(session, self._task),
                *blocks.failure(row),
                *blocks.subtasks(session, self._page.subtasks(self._task)),
            ],
            cells,
        )

    def _below(self, cells: int, rows: int) -> list[Line]:
        """Return what has room below the facts: states over time, attempts, dependencies, output, environment."""
        history, lines = self.session.history(TaskHistory, self._task), list[Line]()
        found = dependencies_of(self.session.simulation, self._task)
        parts = (
            ("Timeline", state_bars(self.session, history.states(), TASK, cells)),
            ("Attempts", self._attempts(cells) if len(history.attempts()) > 1 else ()),
            ("Dependencies", graph_lines(self.session, self._task, cells) if found.parents or found.children else ()),
        )
        for title, drawn in parts:
            if drawn and len(lines) + len(drawn) + _ABOVE <= rows:
                lines += [(), line(Span(title, Role.STRONG)), *drawn]
        output = output_tail(self.session, self._task, self._row, cells, rows - len(lines) - 1)
        lines += [(), *output] if output else []
        return [*lines, *self._environment(cells, rows - len(lines) - 1)]

    def _environment(self, cells: int, rows: int) -> list[Line]:
        """Return the variables of the process after an empty line, as far as there are rows for them."""
        drawn = block_lines(blocks.environment(self._page.environment(self._task)), cells)
        if not drawn or rows < _LEAST_VARIABLES:
            return []
        more = len(drawn) - rows
        title = line(
            *drawn[0], Span(f"  and {fmt.counted(more, 'more line')} in Execution" if more > 0 else "", Role.DIM)
        )
        return [(), title, *drawn[1:rows]]

    def _properties(self, cells: int) -> Sequence[Line]:
        return columns(parts(self.session, task_settings(self.session.simulation, self._task), _PARTS), cells)

    def _execution(self, cells: int) -> Sequence[Line]:
        session, row, page = self.session, self._row, self._page
        shown = [blocks.execution(session, row), *blocks.failure(row)]
        more = [*blocks.subtasks(session, page.subtasks(self._task)), *blocks.environment(page.environment(self._task))]
        return [*columns(shown, cells), *([(), *block_lines(more, cells)] if more else [])]

    def _attempts(self, cells: int) -> Sequence[Line]:
        attempts = self.session.history(TaskHistory, self._task).attempts()
        if not attempts:
            return [line(Span("It has not been assigned to a node yet. w explains why.", Role.DIM))]
        names = ["Attempt", "Node", "Started", "Ended", "Exit code", "Then", "On node since", "Took", "Rule"]
        shown = len(names) if cells >= _ALL_FROM else _FEW
        return tabular(names[:shown], [self._attempt(each)[:shown] for each in attempts], cells)

    def _attempt(self, attempt: Attempt) -> Sequence[Span]:
        clock, node = self.session.clock, self.session.nodes().row(attempt.node)
        took_ms = None if attempt.start_ms is None else (attempt.end_ms or self.session.now_ms) - attempt.start_ms
        again = "active again" if attempt.exit_code is None else "retried"
        then = {None: "", TaskState.ACTIVE: again, TaskState.COMPLETED: "completed"}.get(attempt.ended_as, "")
        code = attempt.failure.code if attempt.failure else ""
        return (
            Span("" if attempt.start_ms is None and attempt.end_ms is not None else str(attempt.number)),
            link(f"n{node.position} {fmt.short_node(node.node_id)}", ItemRef("node", attempt.node)),
            Span(clock(attempt.start_ms)),
            Span(clock(attempt.end_ms)),
            Span(fmt.optional(attempt.exit_code), Role.FAILED if attempt.exit_code else Role.PLAIN),
            Span(code or then or "on the node", Role.FAILED if code else Role.PLAIN),
            Span(clock(attempt.placed_ms)),
            Span(fmt.span(took_ms), Role.DERIVED),
            Span(attempt.rule, Role.DIM),
        )

    def _dependencies(self, cells: int) -> Sequence[Line]:
        """Return the graph with the critical path, and below it what the graph leaves out."""
        lines = list(graph_lines(self.session, self._task, cells))
        found = dependencies_of(self.session.simulation, self._task)
        named = [parent.task for parent in found.parents if parent.task is not None]
        for title, tasks in (("Depends on", named), ("Dependents", found.children)):
            if len(tasks) > MOST_BOXES:
                shown = [self._task_row(task) for task in tasks[:_MOST_TASKS]]
                lines += [(), line(Span(title, Role.STRONG)), *tabular((" ", "Task", "State"), shown, cells)]
                left_out = len(tasks) - _MOST_TASKS
                lines += [line(Span(f"and {left_out:,} more", Role.DIM))] if left_out > 0 else []
        return lines

    def _task_row(self, task: int) -> tuple[Span, Span, Span]:
        row = self._page.brief(task)
        glyph = glyph_of_task(row)
        return self.session.glyphs.span(glyph), link(row.task_id, ItemRef("task", task)), Span(glyph.name, glyph.role)

    def _output(self, cells: int) -> Sequence[Line]:
        return output_lines(self.session, self._task, self._row, cells)
