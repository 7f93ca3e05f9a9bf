"""The lists of preparation and release tasks: one row for each node, as on the portal's blades."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

from engine.base.errors import exit_text
from engine.base.terms import InstanceState, JobState, TaskResult
from engine.base.values import called
from engine.specs.bodies import JobPreparationTask, JobReleaseTask
from engine.views.diagnosis.estimates import Durations
from engine.views.hook_status import Hook, HookStatus, eligible_again, is_released_after_preparation, released_where
from engine.views.log.histories import NodeHistory, trigger_of
from engine.views.log.reader import KeptByKey
from engine.views.resources.instances import InstanceBrief, InstancePage, InstanceRow, instance_groups
from engine.views.resources.instances import InstanceKey as Key
from engine.views.rest.lookup import hook_wire
from engine.views.rest.nodes import hook_outputs, next_deletion_ms
from tui.viewmodels import format as fmt
from tui.viewmodels import properties as blocks
from tui.viewmodels.glyphs import HOOK_STATUSES, NODE, hook_glyph
from tui.viewmodels.items import FileLocation, output_at
from tui.viewmodels.lists.columns import (
    DURATION,
    END,
    EXIT_CODE,
    FAILURE_CATEGORY,
    FAILURE_CODE,
    NODE_ID,
    RESULT,
    RETRIES,
    START,
    Column,
    exit_code,
    failure_category,
    failure_code,
)
from tui.viewmodels.lists.kept_rows import NodeRowsModel
from tui.viewmodels.properties import no_limit, yes
from tui.viewmodels.text import WHOLE, Block, Line, Role, Span, block_of, line, one_line, row, width

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Sequence

    from engine.base.errors import FailureInfo
    from engine.views.resources.instances import InstanceView
    from tui.viewmodels.glyphs import Glyph
    from tui.viewmodels.session import Session


_STATES = tuple(state.wire for state in InstanceState)
# The service calls these running or completed.
_UNNAMED = (HookStatus.RETRYING, HookStatus.SUPERSEDED, HookStatus.STOPPED, HookStatus.LEAVING, HookStatus.GONE)


def of_view(cell: Callable[[InstanceView], Span | str]) -> Callable[[InstanceBrief], Span | str]:
    """Return the cell of a column that is empty where the task has never run."""

    def of_brief(brief: InstanceBrief) -> Span | str:
        return "" if brief.view is None else cell(brief.view)

    return of_brief


def _result(view: InstanceView) -> Span | str:
    result = view.result
    return Span(result.value, Role.FAILED if result is TaskResult.FAILURE else Role.PLAIN) if result else ""


def _failure(record: InstanceRow) -> FailureInfo | None:
    return None if record.view is None else record.view.failure


def _is_under_way(brief: InstanceBrief) -> bool:
    return brief.view is not None and brief.view.end_ms is None


def _runs(record: InstanceRow) -> str:
    return "0" if record.view is None else f"{record.view.runs:,}"


class InstancesModel(NodeRowsModel[InstanceBrief, InstanceRow]):
    """Preparation or release of the job in focus, node by node."""

    hook: ClassVar[Hook]
    own_order = "status, failed ones first"
    _page: InstancePage

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
        return self.session.pages(self.session.job_id)[self.hook is Hook.RELEASE]

    def order(self) -> Sequence[int]:
        """Return the nodes with a record, and on demand also those without one."""
        self._page = self._new_page()
        return self._page.order(with_all=self.with_all)

    def is_failed(self, key: int) -> bool:
        return self._page.status_of(key) is HookStatus.FAILED

    def groups_by(self, key: Key, keys: Sequence[int]) -> Sequence[Hashable]:
        return list(map(instance_groups(self.session.simulation, self._page, key), keys))

    def briefs(self, keys: Sequence[int]) -> Sequence[InstanceBrief]:
        return self._page.briefs(keys)

    def row(self, key: int) -> InstanceRow:
        return self._page.row(key)

    def usual_columns(self) -> Iterator[Column[InstanceBrief]]:
        clock = self.session.clock
        yield Column("", 1, cell=lambda brief: self.session.glyphs.span(self._glyph(brief)))
        yield self.node_column(self._index)
        said = "running or completed; the symbol shows the derived status"
        yield Column("State", 9, said, self._state, 60, words=_STATES, key=Key.STATE)
        yield RESULT.showing(of_view(_result), Key.RESULT)
        yield START.showing(of_view(lambda view: clock(view.start_ms)), Key.START)
        yield END.showing(of_view(lambda view: clock(view.end_ms)), Key.END)
        yield EXIT_CODE.showing(of_view(lambda view: exit_code(view.exit_code)), Key.EXIT_CODE)

    def extra_columns(self) -> Iterator[Column[InstanceRow]]:
        yield NODE_ID._replace(texts=self.identities_of).showing(lambda record: record.node_record.id)
        yield Column("Pool", 12, "the pool's id", lambda record: record.pool_id, is_id=True, key=Key.POOL)
        yield FAILURE_CATEGORY.showing(lambda record: failure_category(_failure(record)), Key.FAILURE)
        yield FAILURE_CODE.showing(lambda record: failure_code(_failure(record)), Key.FAILURE)
        runs = Column[Any]("Runs", 4, "starts on this node, after retries, reboots and reimages too", is_right=True)
        yield runs._replace(is_derived=True).showing(_runs, Key.RUNS)
        said = "present state of the node, or when it left the pool"
        yield Column("Node state", 28, said, self._node_state, key=Key.NODE_STATE)

    def _glyph(self, brief: InstanceBrief) -> Glyph:
        return hook_glyph(self.hook, brief.status)

    def _index(self, brief: InstanceBrief) -> Span:
        is_told = brief.status in (HookStatus.FAILED, HookStatus.RETRYING)
        return Span(f"n{brief.position}", self._glyph(brief).role if is_told else Role.PLAIN)

    def _state(self, brief: InstanceBrief) -> Span:
        view = brief.view
        return Span(view.state.wire) if view else Span(self._glyph(brief).name, Role.DERIVED)

    def _node_state(self, record: InstanceRow) -> Span:
        node, gone_ms = NODE[record.node_state], record.node_record.gone_ms
        return Span(node.name if gone_ms is None else f"{node.name} at {self.session.clock(gone_ms)}", node.role)

    def _duration_column(self, from_width: int) -> Column[InstanceBrief]:
        """Return the column of durations, so far while the task runs."""

        def took(view: InstanceView) -> Span:
            until_ms = self.session.now_ms if view.end_ms is None else view.end_ms
            return Span(fmt.span(until_ms - view.start_ms), Role.DERIVED)

        runs = DURATION._replace(from_width=from_width, changes=_is_under_way)
        return runs.showing(of_view(took))

    def summary(self, cells: int = WHOLE) -> Line:
        counts = self._page.counts()
        numbers = ((hook_glyph(self.hook, status), counts[status]) for status in HOOK_STATUSES if counts.get(status))
        without, more = self._page.nodes_unrecorded(), self._awaited()
        if self._page.definition() is not None and without:
            more = (*more, Span(f"{fmt.counted(without, 'node')} without a record", Role.DIM))
        return (*self.session.glyphs.counts(numbers, "node", cells - width(more)), *more)

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
        if record.view is None:
            return super().files_of(key)
        return output_at(key, record.root_directory, has_failed=self.is_failed(key))

    def sentence(self, key: int) -> Line:
        record = self._page.row(key)
        words = [f"n{self._page.position_of(key)}", hook_glyph(self.hook, record.status).name]
        if record.view is not None and record.view.exit_code is not None:
            words.append(f"exit {exit_text(record.view.exit_code)}")
        if record.view is not None and record.view.retry_count:
            words.append(f"{record.view.retry_count + 1:,} attempts")
        if record.is_ineligible:
            has_ended = blocks.is_job_over(self.session, self.session.job_id)
            until = "it ended" if has_ended else eligible_again(self.session.options).until
            words.append(f"{'was ' if has_ended else ''}ineligible for this job until {until}")
        if record.node_record.gone_ms is not None:
            words.append(f"left the pool at {self.session.clock(record.node_record.gone_ms)}")
        return line(Span(", ".join(words), Role.DERIVED))

    def wire(self, key: int) -> dict[str, Any] | None:
        """Return the preparation and release status of a node as the service lists it (PREP-25)."""
        return hook_wire(self.session.simulation, self.session.job_id, key)

    def new_details(self, key: int) -> tuple[Sequence[Block], int | None]:
        """Return the blocks of a row: the task of this list, its runs and effect, the other task, the node, outputs."""
        record, session = self._page.row(key), self.session
        history = session.history(NodeHistory, key)
        is_release, outputs = self.hook is Hook.RELEASE, hook_outputs(session.simulation, key, record.root_directory)
        pages = session.pages(session.job_id)
        ordered = reversed(pages) if is_release else pages
        status = self.wire(key) or {}
        own, other = (blocks.instance_general(session, page, key, status) for page in ordered)
        return [
            own,
            *blocks.instance_runs(session, history.instance_runs(session.job_id, is_release=is_release)),
            *blocks.instance_effect(session, record, history, session.job_id),
            other,
            blocks.instance_node(session, record),
            *block_of("Files (f opens)", (row(name, f"{size:,} B") for name, size in outputs)),
        ], next_deletion_ms(session.simulation, key)


def settings_line(*pairs: tuple[str, str]) -> Line:
    """Return settings with their names, side by side."""
    return tuple(span for name, value in pairs for span in (Span(f"{name} ", Role.DIM), Span(f"{value}  ")))


class PreparationModel(InstancesModel):
    """The list of the Preparation tasks blade."""

    title = "Preparation tasks"
    hook = Hook.PREPARATION

    def usual_columns(self) -> Iterator[Column[InstanceBrief]]:
        yield from super().usual_columns()
        retries = of_view(lambda view: str(view.retry_count) if view.retry_count else "")
        yield RETRIES._replace(from_width=62).showing(retries, Key.RETRIES)
        yield self._duration_column(100)

    def extra_columns(self) -> Iterator[Column[InstanceRow]]:
        yield from super().extra_columns()
        yield Column("Last retry time", 15, "when it was last retried", self._last_retry, key=Key.LAST_RETRY)
        said = "the task whose assignment started the preparation"
        yield Column("Triggered by", 18, said, self._trigger_cell, is_derived=True, is_id=True)
        said = "preparation failed: until when the node gets no task of the job"
        yield Column("Ineligible", 14, said, self._ineligible, is_derived=True, key=Key.INELIGIBLE)

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._triggers: KeptByKey[int | None] = KeptByKey()
        again = eligible_again(session.options)
        self.help_text = (
            "One row for each node that prepared, even if it has left.\n"
            "A node prepares before its first task of the job. If preparation fails, the node becomes ineligible: "
            f"it gets no task of this job until {again.until} ({again.rule}). Other jobs still use it.\n"
            "Duration, Runs, Triggered by and Ineligible are derived."
        )

    def _last_retry(self, record: InstanceRow) -> str:
        view = record.view
        return self.session.clock(view.start_ms if view is not None and view.retry_count else None)

    def _trigger_cell(self, record: InstanceRow) -> Span:
        simulation, job_id = self.session.simulation, self.session.job_id
        asked = simulation.jumps, job_id
        task = self._triggers.get(asked, record.node, lambda: trigger_of(simulation, job_id, record.node))
        return Span("" if task is None else self.session.tasks(job_id).id_of(task), Role.DERIVED)

    def _ineligible(self, record: InstanceRow) -> Span:
        session = self.session
        return Span(blocks.short_until(session, session.job_id) if record.is_ineligible else "", Role.FAILED)

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
                f"{called('Job', self.session.job_id)} has no job preparation task.",
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

    def usual_columns(self) -> Iterator[Column[InstanceBrief]]:
        yield from super().usual_columns()
        yield self._duration_column(90)

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
            return (f"{called('Job', self.session.job_id)} has no job release task.",)
        if self._page.job_state in (JobState.COMPLETED, JobState.TERMINATING, JobState.DELETING):
            is_wide = is_released_after_preparation(self.session.options)
            why = "no preparation was started" if is_wide else "no task ran after preparation"
            return (f"Nothing to release: {why} (REL-3).",)
        owed = self._page.counts().get(HookStatus.WILL_RUN, 0)
        if not owed:
            return ("Release tasks run when the job ends.", "At present no node would run it. a terminates the job.")
        nodes = "1 node would run it." if owed == 1 else f"{owed:,} nodes would run it."
        return ("Release tasks run when the job ends.", f"At present {nodes} v shows them, a terminates the job.")
