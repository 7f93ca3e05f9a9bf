"""Timeline rows of preparation and release: one for each node where the job in focus ran them."""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING, Any, ClassVar

from engine.views.pages.hook_status import Hook, HookStatus
from tui.viewmodels.text import format as fmt
from tui.viewmodels.text.glyphs import PREPARATION, RELEASE, STOPPED, Glyph, hook_glyph
from tui.viewmodels.text.styled import Line, Role, Span, line
from tui.viewmodels.timeline.bars import Bar
from tui.viewmodels.timeline.columns import Extent, TimeColumns
from tui.viewmodels.timeline.rows import (
    NEVER_MS,
    NOTHING,
    PREPARING,
    RELEASING,
    RETRYING,
    Openable,
    RowsByNode,
    Sort,
    cut_to_job,
    filled,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from engine.views.lanes.lanes import InstanceSpan
    from engine.views.pages.instances import InstancePage


class InstanceRows(RowsByNode):
    """Preparation or release of the job in focus, on each node where it has run."""

    sorts = (Sort.TROUBLE, Sort.NUMBER, Sort.FIRST_START)
    hook: ClassVar[Hook]
    _page: InstancePage

    @property
    def whose(self) -> str:
        return self.session.job_id

    def order(self, sort: Sort, *, only_failed: bool) -> Sequence[int]:
        """Return the nodes with failures first, as in the list of instances, or by their index."""
        self._page = self.session.pages(self.session.job_id)[self.hook is Hook.RELEASE]
        found = self._page.order()
        if only_failed:
            found = list(takewhile(lambda node: self._page.status_of(node) is HookStatus.FAILED, found))
        return sorted(found) if sort is Sort.NUMBER else found

    def value(self, sort: Sort) -> Callable[[int], Any] | None:
        """Return the sort key of the first start."""

        def first_start(node: int) -> int:
            runs = self._runs(node)
            return runs[0].begin_ms if runs else NEVER_MS

        return first_start if sort is Sort.FIRST_START else None

    def _runs(self, node: int) -> Sequence[InstanceSpan]:
        return self.lanes.hook_runs(self.hook, self._page.job_id, node)

    def cells(self, key: int, columns: TimeColumns) -> list[Glyph]:
        """Return the cells of each attempt. Its end always shows, and a failure hides any other end."""
        changes: list[tuple[int, Glyph]] = []
        ends: dict[int, Glyph] = {}
        for run in self._runs(key):
            begins = columns.column_at(run.begin_ms)
            if changes and changes[-1][0] > begins:  # the attempt before ended in the same column
                changes.pop()
            changes.append((begins, self._glyph(run)))
            if run.end_ms is not None:
                column = columns.column_at(run.end_ms)
                changes.append((column + 1, NOTHING))
                if ends.get(column) != hook_glyph(self.hook, HookStatus.FAILED):
                    ends[column] = self._end_glyph(run)
        cells = filled(columns.begun(self.known_ms()), changes)
        for column, glyph in ends.items():
            if 0 <= column < len(cells):
                cells[column] = glyph
        return cells

    def extent(self) -> Extent:
        """Return the time from the first attempt on any node to the last one."""
        whole = cut_to_job(super().extent(), self.lanes.job(self.session.job_id))
        found = self.lanes.hook_extent_of(self.hook, self.session.job_id)
        if found is None:
            return whole
        if found.end_ms is None:
            return whole._replace(begin_ms=found.begin_ms)
        return Extent(found.begin_ms, found.end_ms, is_over=True)

    def tracks(self, key: int, columns: TimeColumns) -> Sequence[Sequence[Bar]]:  # noqa: ARG002  # there are few
        """Return the attempts, with their durations."""
        runs, known_ms = self._runs(key), self.known_ms()
        return [[self._bar(number, run, known_ms) for number, run in enumerate(runs, start=1)]]

    def _bar(self, number: int, run: InstanceSpan, known_ms: int) -> Bar:
        duration = fmt.short_span((known_ms if run.end_ms is None else run.end_ms) - run.begin_ms)
        notes = () if number == 1 else (f"attempt {number:,}",)
        ending = None if run.end_ms is None else self._end_glyph(run)
        return Bar(
            run.begin_ms, None if run.end_ms is None else run.end_ms + 1, self._glyph(run), duration, notes, ending
        )

    def _glyph(self, run: InstanceSpan) -> Glyph:
        if self.hook is Hook.RELEASE:
            return RELEASING
        return RETRYING if run.is_retry else PREPARING

    def _end_glyph(self, run: InstanceSpan) -> Glyph:
        if run.has_failed is None:
            return STOPPED
        return hook_glyph(self.hook, HookStatus.FAILED if run.has_failed else HookStatus.SUCCEEDED)

    def moment_ms(self, key: int, begin_ms: int, end_ms: int) -> int:
        """Return the last start or end within the cell."""
        moments = [each for run in self._runs(key) for each in (run.begin_ms, run.end_ms) if each is not None]
        return max((each for each in moments if begin_ms <= each < end_ms), default=begin_ms)

    def description_at(self, key: int, when_ms: int) -> Line:
        """Return the attempt at that moment, or the last one before it, with its times."""
        clock = self.session.clock
        begun = [run for run in self._runs(key) if run.begin_ms <= when_ms]
        if not begun:
            return line(Span("has not started", Role.DIM))
        run, tries = begun[-1], len(begun)
        has_ended = run.end_ms is not None and run.end_ms <= when_ms
        glyph = self._end_glyph(run) if has_ended else self._glyph(run)
        words = f"  {f'attempt {tries:,}, ' if tries > 1 else ''}started {clock(run.begin_ms)}"
        if run.end_ms is not None and has_ended:
            words += f", ended {clock(run.end_ms)} after {fmt.span(run.end_ms - run.begin_ms)}"
        return line(Span(glyph.name, glyph.role), Span(words))

    def openables(self, key: int, when_ms: int) -> list[Openable]:
        """Return the preparation or release task, or the node before its first attempt."""
        if any(run.begin_ms <= when_ms for run in self._runs(key)):
            return [Openable(f"{self.view} on {self.label(key)}", self.subject(key), self.view)]
        return (
            [Openable(f"node {self.label(key)}", self.subject(key))] if self.lanes.lane(key).has_begun(when_ms) else []
        )

    def planned_ms(self, key: int) -> int | None:
        return self._page.planned_end_ms(key)

    def estimated_ms(self, key: int) -> int | None:
        """Return the planned end of the current attempt."""
        return self.planned_ms(key)

    def is_over(self, key: int) -> bool:
        """Return True if no attempt runs. A reboot may still cause another one."""
        runs = self._runs(key)
        return not runs or runs[-1].end_ms is not None


class PreparationRows(InstanceRows):
    """The preparation tasks."""

    name = "preparation tasks"
    view = "preparation"
    hook = Hook.PREPARATION
    legend = (
        PREPARING,
        RETRYING,
        PREPARATION[HookStatus.SUCCEEDED],
        PREPARATION[HookStatus.FAILED],
        STOPPED,
    )


class ReleaseRows(InstanceRows):
    """The release tasks."""

    name = "release tasks"
    view = "release"
    hook = Hook.RELEASE
    legend = (RELEASING, RELEASE[HookStatus.SUCCEEDED], RELEASE[HookStatus.FAILED], STOPPED)
