"""The lists of preparation and release tasks: one row for each node, as on the portal's blades."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from engine.base.terms import InstanceState, JobState, TaskResult
from engine.specs.bodies import JobPreparationTask, JobReleaseTask
from engine.views.diagnosis.estimates import Durations
from engine.views.hook_status import Hook, HookStatus, eligible_again, is_released_after_preparation, released_where
from engine.views.log.histories import NodeHistory, trigger_of
from engine.views.resources.instances import InstanceBrief, InstancePage, InstanceRow, instance_groups
from engine.views.rest.lookup import hook_wire
from engine.views.rest.nodes import hook_outputs, next_deletion_ms
from tui.viewmodels import format as fmt
from tui.viewmodels import properties as blocks
from tui.viewmodels.glyphs import HOOK_STATUSES, NODE, hook_glyph
from tui.viewmodels.items import FileLocation, output_at
from tui.viewmodels.lists.columns import Column
from tui.viewmodels.lists.filters import RESULTS, names_of_nodes
from tui.viewmodels.lists.kept_rows import NO_TEXT, KeptRowsModel
from tui.viewmodels.properties import no_limit, yes
from tui.viewmodels.text import Block, Line, Role, Span, line, one_line

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from tui.viewmodels.session import Session


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
            has_ended = blocks.is_job_over(self.session, self.session.job_id)
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
        own, other = (
            blocks.instance_general(session, page, key) for page in (reversed(pages) if is_release else pages)
        )
        return [
            own,
            *blocks.instance_runs(session, history.instance_runs(session.job_id, is_release=is_release)),
            *blocks.instance_effect(session, record, history, session.job_id),
            other,
            blocks.instance_node(session, record),
            *blocks.instance_files(hook_outputs(session.simulation, key, record.root_directory)),
        ], next_deletion_ms(session.simulation, key)


def settings_line(*pairs: tuple[str, str]) -> Line:
    """Return settings with their names, side by side."""
    return tuple(span for name, value in pairs for span in (Span(f"{name} ", Role.DIM), Span(f"{value}  ")))


class PreparationModel(InstancesModel):
    """The list of the Preparation tasks blade."""

    title = "Preparation tasks"
    hook = Hook.PREPARATION
    columns = (
        *FIRST_COLUMNS,
        Column("Retries", 7, "runs repeated after a failure", from_width=62),
        Column(
            "Duration",
            17,
            "end time minus start time, or time since the start",
            from_width=100,
            is_derived=True,
            is_whole=True,
        ),
        *EXTRA_COLUMNS,
        Column("Last retry time", 15, "when it was last retried", is_extra=True),
        Column(
            "Triggered by",
            18,
            "the task whose assignment started the preparation",
            is_extra=True,
            is_derived=True,
            is_id=True,
        ),
        Column(
            "Ineligible",
            14,
            "preparation failed: until when the node gets no task of the job",
            is_extra=True,
            is_derived=True,
        ),
    )

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._triggers: tuple[object, dict[int, int | None]] = (None, {})
        again = eligible_again(session.options)
        self.help_text = (
            "One row for each node that prepared, even if it has left.\n"
            "A node prepares before its first task of the job. If preparation fails, the node becomes ineligible: "
            f"it gets no task of this job until {again.until} ({again.rule}). Other jobs still use it.\n"
            "Duration, Runs, Triggered by and Ineligible are derived. A bar is full at the 95th percentile."
        )

    def _retries(self, count: int) -> tuple[Span, ...]:
        return (Span(str(count) if count else ""),)

    def _more(self, record: InstanceRow) -> tuple[Span, ...]:
        session = self.session
        task = self._trigger(record.node) if self.shows("Triggered by") else None
        return (
            Span(session.clock(record.last_retry_ms)),
            Span(session.tasks(session.job_id).id_of(task) if task is not None else "", Role.DERIVED),
            Span(blocks.short_until(session, session.job_id) if record.is_ineligible else "", Role.FAILED),
        )

    def _trigger(self, node: int) -> int | None:
        """Return the task that triggered the preparation, cached until the user goes back in time."""
        session = self.session
        asked = session.simulation.jumps, session.job_id
        if self._triggers[0] != asked:
            self._triggers = asked, {}
        found = self._triggers[1]
        if node not in found:
            found[node] = trigger_of(session.simulation, session.job_id, node)
        return found[node]

    def _settings(self, task: JobPreparationTask | JobReleaseTask) -> Line:
        assert isinstance(task, JobPreparationTask)
        limits = task.constraints
        return settings_line(
            ("wait for success", yes(task.wait_for_success)),
            ("rerun on node reboot", yes(task.rerun_on_node_reboot_after_success)),
            ("max retries", no_limit(limits.max_task_retry_count)),
            ("max wall-clock", fmt.span(limits.max_wall_clock_time) or "no limit"),
            ("retention", fmt.span(limits.retention_time) or "no limit"),
        )

    def empty(self) -> Sequence[str]:
        if not self.session.job_id:
            return self.session.none_yet("job")
        if self._page.definition() is None:
            return (
                f"Job {self.session.job_id} has no job preparation task.",
                "The service responds 409 JobPreparationTaskNotSpecified.",
            )
        return (
            "No node has prepared: no task has been assigned yet.",
            "A node prepares before its first task (PREP-3, PREP-4). w explains the wait.",
        )


class ReleaseModel(InstancesModel):
    """The list of the Release tasks blade."""

    title = "Release tasks"
    hook = Hook.RELEASE
    columns = (
        *FIRST_COLUMNS,
        Column(
            "Duration",
            17,
            "end time minus start time, or time since the start",
            from_width=90,
            is_derived=True,
            is_whole=True,
        ),
        *EXTRA_COLUMNS,
    )

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        where = released_where(session.options)
        self.help_text = (
            "One row for each node on which the job's release task ran.\n"
            f"It runs at the job's end, on nodes where {where} (REL-3). It is not retried. "
            "Its failure does not affect the job. v also shows the nodes without a record."
        )

    def _settings(self, task: JobPreparationTask | JobReleaseTask) -> Line:
        assert isinstance(task, JobReleaseTask)
        words = f"runs where {released_where(self.session.options)} (REL-3, REL-4)"
        limits = settings_line(
            ("max wall-clock", fmt.span(task.max_wall_clock_time) or "no limit"),
            ("retention", fmt.span(task.retention_time) or "no limit"),
        )
        return (*limits, Span(words, Role.DERIVED))

    def _awaited(self) -> tuple[Span, ...]:
        is_ending = self._page.job_state in (JobState.TERMINATING, JobState.DELETING)
        if not is_ending or not self._page.counts().get(HookStatus.WILL_RUN):
            return ()
        return (Span(f"{blocks.awaited(self.session, self._page)}   ", Role.DIM),)

    def empty(self) -> Sequence[str]:
        if not self.session.job_id:
            return self.session.none_yet("job")
        if self._page.definition() is None:
            return (f"Job {self.session.job_id} has no job release task.",)
        if self._page.job_state in (JobState.COMPLETED, JobState.TERMINATING, JobState.DELETING):
            is_wide = is_released_after_preparation(self.session.options)
            why = "no preparation was started" if is_wide else "no task ran after preparation"
            return (f"Nothing to release: {why} (REL-3).",)
        owed = self._page.counts().get(HookStatus.WILL_RUN, 0)
        if not owed:
            return ("Release tasks run when the job ends.", "At present no node would run it. a terminates the job.")
        nodes = "1 node would run it." if owed == 1 else f"{owed:,} nodes would run it."
        return ("Release tasks run when the job ends.", f"At present {nodes} v shows them, a terminates the job.")
