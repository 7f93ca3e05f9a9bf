"""The base of the lists of preparation and release tasks: one row for each node."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from engine.base.terms import InstanceState, TaskResult
from engine.specs.job import JobPreparationTask, JobReleaseTask
from engine.views.estimates.durations import Durations
from engine.views.log.node_history import NodeHistory
from engine.views.pages.hook_status import Hook, HookStatus
from engine.views.pages.instance_groups import instance_groups
from engine.views.pages.instances import InstanceBrief, InstancePage, InstanceRow
from engine.views.pages.option_words import eligible_again
from engine.views.rest.lookup import hook_wire
from engine.views.rest.node_files import hook_outputs, next_deletion_ms
from tui.viewmodels.files.locations import FileLocation, output_at
from tui.viewmodels.lists.columns import Column
from tui.viewmodels.lists.filters import RESULTS, names_of_nodes
from tui.viewmodels.lists.kept_rows import NO_TEXT, KeptRowsModel
from tui.viewmodels.properties import instance as blocks
from tui.viewmodels.text import format as fmt
from tui.viewmodels.text.blocks import Block
from tui.viewmodels.text.glyphs import HOOK_STATUSES, NODE, hook_glyph
from tui.viewmodels.text.styled import Line, Role, Span, line, one_line

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from tui.viewmodels.session.session import Session

FIRST_COLUMNS = (
    Column("", 1),
    Column("Node", 6, "the node's index in its pool, as in scenarios; a filter also finds its id", is_name=True),
    Column(
        "State",
        9,
        "running or completed; the symbol shows the derived status",
        from_width=60,
        words=tuple(state.wire for state in InstanceState),
    ),
    Column("Result", 8, "success or failure, once completed", least=7, words=tuple(RESULTS.values())),
    Column("Start time", 10, "when it last started", least=8, is_whole=True),
    Column("End time", 10, "when it ended", least=8, is_whole=True),
    Column("Exit code", 9, "exit code of the process; empty while it runs", is_whole=True, short="Exit code"),
)
EXTRA_COLUMNS = (
    Column("Node ID", 24, "the service's id of the node", is_extra=True, is_id=True),
    Column("Pool", 12, "the pool's id", is_extra=True, is_id=True),
    Column("Failure category", 16, "user error or server error", is_extra=True),
    Column("Failure code", 20, "the service's code for the failure", is_extra=True),
    Column(
        "Runs",
        4,
        "starts on this node, after retries, reboots and reimages too",
        is_extra=True,
        is_right=True,
        is_derived=True,
    ),
    Column("Node state", 28, "present state of the node, or when it left the pool", is_extra=True),
)
_BAR_CELLS = 8
# The service calls these running or completed.
_UNNAMED = (HookStatus.RETRYING, HookStatus.SUPERSEDED, HookStatus.LEAVING, HookStatus.GONE)


class _Brief(NamedTuple):
    """The values that decide on the usual cells."""

    of_node: InstanceBrief
    long_ms: int  # how long the tasks take at most, nearly all of them: the measure of the bars
    now_ms: int  # 0 where it does not run


class InstancesModel(KeptRowsModel[_Brief]):
    """Preparation or release of the job in focus, node by node."""

    hook: ClassVar[Hook]
    kind = "node"
    log_column = "row_b"

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._page = self._new_page()
        self._durations = Durations(session.simulation)

    def spread(self) -> str:
        """Return median, 95th percentile and maximum of the successful durations; empty before the first."""
        spread = self._durations.spread(self._new_page())
        if spread is None:
            return ""
        times = zip(("p50", "p95", "slowest"), spread, strict=True)
        return "  ".join(f"{name} {fmt.span(ms).removeprefix('00:')}" for name, ms in times)

    def told(self, cells: int) -> str:
        """Return what a frame around the list says: the number of nodes, symbols and durations, as much as fits."""
        parts = [part for part in (self.of_all(), self.legend(), self.spread()) if part]
        while len(parts) > 1 and len("   ".join(parts)) > cells:
            parts.pop()
        return "   ".join(parts)

    def legend(self) -> str:
        """Return the symbols in the list that differ from what the column State says, with their meanings."""
        counts, glyphs = self._page.counts(), self.session.glyphs
        shown = (hook_glyph(self.hook, status) for status in _UNNAMED if counts.get(status))
        return "  ".join(f"{glyphs.of(glyph)} {glyph.name}" for glyph in shown)

    def of_all(self) -> str:
        """Return the number of nodes with a record, and that of all nodes in the pool."""
        present = self._page.nodes_present()
        return f"{self.count:,} of {fmt.counted(present, 'node')}" if self.count <= present else f"{self.count:,}"

    def _new_page(self) -> InstancePage:
        preparation, release = self.session.pages(self.session.job_id)
        return preparation if self.hook is Hook.PREPARATION else release

    def order(self) -> Sequence[int]:
        """Return the nodes with a record, and on demand also those without one."""
        self._page = self._new_page()
        return self._page.order(with_all=self.with_all)

    def is_failed(self, key: int) -> bool:
        return self._page.status_of(key) is HookStatus.FAILED

    def identity_of(self, key: int) -> str:
        return self._page.id_of(key)

    def names_of(self, keys: Sequence[int], word: str) -> Sequence[str]:
        return names_of_nodes(self._page, keys, word)

    def groups_of(self, keys: Sequence[int], column: int) -> Sequence[Hashable] | None:
        """Return for each node what decides on its text in a column."""
        session = self.session
        from_ms = session.now_ms if session.time_format == "relative" else 0
        group_of = instance_groups(session.simulation, self._page, self.column_names[column], from_ms)
        return None if group_of is None else list(map(group_of, keys))

    def text_of(self, key: int, column: int) -> str:
        """Return the text by which a column is filtered: that of the node has its id as well."""
        match self.column_names[column]:
            case "Node":
                return f"n{self._page.position_of(key)} {self.identity_of(key)}"
            case "Node ID":
                return self.identity_of(key)
            case "Duration":
                view = self._page.view_of(key)
                return "" if view is None else self._duration((view.end_ms or self.session.now_ms) - view.start_ms)
            case _:
                return super().text_of(key, column)

    def briefs(self, keys: Sequence[int]) -> Sequence[_Brief]:
        long_ms, now_ms = self._page.long_ms(), self.session.now_ms
        return [
            _Brief(brief, long_ms, now_ms if brief.view is not None and brief.view.end_ms is None else 0)
            for brief in self._page.briefs(keys)
        ]

    def usual_cells(self, brief: _Brief) -> tuple[Span, ...]:
        (position, status, view), clock = brief.of_node, self.session.clock
        glyph = hook_glyph(self.hook, status)
        role = glyph.role if status in (HookStatus.FAILED, HookStatus.RETRYING) else Role.PLAIN
        first = (
            self.session.glyphs.span(glyph),
            Span(f"n{position}", role),
            Span(view.state.wire) if view else Span(glyph.name, Role.DERIVED),
        )
        if view is None:
            return (*first, NO_TEXT, NO_TEXT, NO_TEXT, NO_TEXT, *self._retries(0), Span("", Role.DERIVED))
        result, end_ms = view.result, brief.now_ms if view.end_ms is None else view.end_ms
        return (
            *first,
            Span(result.value, Role.FAILED if result is TaskResult.FAILURE else Role.PLAIN) if result else NO_TEXT,
            Span(clock(view.start_ms)),
            Span(clock(view.end_ms)),
            Span(fmt.optional(view.exit_code), Role.FAILED if view.exit_code else Role.PLAIN),
            *self._retries(view.retry_count),
            Span(self._duration(end_ms - view.start_ms), Role.DERIVED),
        )

    def extra_cells(self, key: int) -> tuple[Span, ...]:
        record, clock = self._page.row(key), self.session.clock
        node = NODE[record.node_state]
        return (
            Span(record.node_id),
            Span(record.pool_id),
            Span(record.failure.category.value if record.failure else ""),
            Span(record.failure.code if record.failure else "", Role.FAILED),
            Span(f"{record.runs:,}"),
            Span(node.name if record.gone_ms is None else f"{node.name} at {clock(record.gone_ms)}", node.role),
            *self._more(record),
        )

    def _retries(self, count: int) -> tuple[Span, ...]:  # noqa: ARG002  # a release task is not retried (REL-8)
        return ()

    def _more(self, record: InstanceRow) -> tuple[Span, ...]:  # noqa: ARG002  # only preparation has more
        return ()

    def _duration(self, duration_ms: int) -> str:
        """Return a duration with a bar that is full at the 95th percentile."""
        most_ms = self._page.long_ms()
        cells = min(_BAR_CELLS, -(-duration_ms * _BAR_CELLS // most_ms)) if most_ms else 0
        return f"{fmt.span(duration_ms)} {self.session.glyphs.full * cells}"

    def summary(self) -> Line:
        counts = self._page.counts()
        numbers = ((hook_glyph(self.hook, status), counts[status]) for status in HOOK_STATUSES if counts.get(status))
        spans = [*self.session.glyphs.counts(numbers), *self._awaited()]
        without = self._page.nodes_unrecorded()
        if self._page.definition() is not None and without:
            spans.append(Span(f"{fmt.counted(without, 'node')} without a record", Role.DIM))
        return tuple(spans)

    def _awaited(self) -> tuple[Span, ...]:  # only release is awaited
        return ()

    def footer(self) -> Sequence[Line]:
        """Return the task's settings in the job."""
        task = self._page.definition()
        if task is None:
            return ()
        return (line(Span("command line  ", Role.DIM), Span(one_line(task.command_line))), self._settings(task))

    @abstractmethod
    def _settings(self, task: JobPreparationTask | JobReleaseTask) -> Line:
        """Return the settings that decide where and how often the task runs."""

    def files_of(self, key: int) -> FileLocation | str:
        """Return the task's output on the node, or the node if the task has not run there."""
        record = self._page.row(key)
        if record.state is None:
            return super().files_of(key)
        return output_at(key, record.root_directory, has_failed=self.is_failed(key))

    def sentence(self, key: int) -> Line:
        record = self._page.row(key)
        words = [f"n{self._page.position_of(key)}", hook_glyph(self.hook, record.status).name]
        if record.exit_code is not None:
            words.append(f"exit {record.exit_code}")
        if record.retry_count:
            words.append(f"{record.retry_count + 1:,} attempts")
        if record.is_ineligible:
            has_ended = blocks.is_over(self.session, self.session.job_id)
            until = "it ended" if has_ended else eligible_again(self.session.options).until
            words.append(f"{'was ' if has_ended else ''}ineligible for this job until {until}")
        if record.gone_ms is not None:
            words.append(f"left the pool at {self.session.clock(record.gone_ms)}")
        return line(Span(", ".join(words), Role.DERIVED))

    def wire(self, key: int) -> dict[str, Any] | None:
        """Return the preparation and release status of a node as the service lists it (PREP-25)."""
        return hook_wire(self.session.simulation, self.session.job_id, key)

    def traits(self, key: int) -> object:
        return self.session.nodes().work_on(key)

    def new_details(self, key: int) -> tuple[Sequence[Block], int | None]:
        """Return the blocks of a row: the task of this list, its runs and effect, the other task, the node, outputs."""
        record, session = self._page.row(key), self.session
        history = session.history(NodeHistory, key)
        is_release = self.hook is Hook.RELEASE
        pages = session.pages(session.job_id)
        own, other = (blocks.instance(session, page, key) for page in (reversed(pages) if is_release else pages))
        return [
            own,
            *blocks.runs(session, history.instance_runs(session.job_id, is_release=is_release)),
            *blocks.effect(session, record, history, session.job_id),
            other,
            blocks.node(session, record),
            *blocks.files(hook_outputs(session.simulation, key, record.root_directory)),
        ], next_deletion_ms(session.simulation, key)


def settings_line(*pairs: tuple[str, str]) -> Line:
    """Return settings with their names, side by side."""
    return tuple(span for name, value in pairs for span in (Span(f"{name} ", Role.DIM), Span(f"{value}  ")))
