"""The large panes of the Watch view: the node map, the jobs strip, and the lists of the job in focus.

The node map has cells, a legend, and a description of the node under the cursor. The cursor of the jobs strip
chooses the job in focus, of which one list is shown at a time: preparation tasks, tasks, release tasks, events or
expectations.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.message import Message

from engine.views.diagnosis.expectations import expectation_count
from engine.views.log.reader import Kept
from tui.textual.overrides import compose_frame_once, set_line_count
from tui.textual.screens import OpenSubject, ShowView
from tui.textual.views import LinesView, ResizeFilter, RowsView, entitle, refresh_changes, row_bindings, strip_of
from tui.viewmodels.lists.events import EventsModel
from tui.viewmodels.lists.instances import InstancesModel, PreparationModel, ReleaseModel
from tui.viewmodels.lists.tasks import TasksModel
from tui.viewmodels.text import ItemRef, Line, Role, Span, cut, link_at
from tui.viewmodels.watch.arrangement import WIDE, Wish
from tui.viewmodels.watch.attention import ExpectationsModel
from tui.viewmodels.watch.job_strip import (
    EVENTS_TAB,
    EXPECTATIONS_TAB,
    PREPARATION_TAB,
    RELEASE_TAB,
    TASKS_TAB,
    JobStripModel,
    tab_spans,
    tab_that_matters,
    tabs_of,
)
from tui.viewmodels.watch.node_cards import Cards
from tui.viewmodels.watch.node_map import Form, NodeMapModel
from tui.widgets.charts import NodeMap
from tui.widgets.table import Table

if TYPE_CHECKING:
    from textual import events
    from textual.app import ComposeResult
    from textual.strip import Strip

    from tui.viewmodels.lists.rows import RowsModel
    from tui.viewmodels.session import Session


_MAP_FRAME, _LEGEND = 2, 2  # lines, those of the legend at most
_SIDES = 4  # cells of frame and padding
_LOW = 6  # lines; a lower pane has a legend of one line and no description
_LOW_VIEW = 24  # lines
_MORE_OUTPUT = 3  # lines by which each card can grow at most
_MAP_KEYS, _KEY_CELLS = (("map.lens", "lens"),), 9


class NodeMapPane(Vertical):
    """The node map with its legend."""

    allow_maximize = True

    def __init__(self, session: Session) -> None:
        super().__init__(id="map-pane", classes="panel")
        compose_frame_once(self)
        self.model = NodeMapModel(session)
        self.nodes = NodeMap(self.model, id="map")
        self._cards = Cards(self.model)
        self._legend = LinesView(id="legend")
        self._described = LinesView(id="described")
        self._wish: Kept[Wish] = Kept()
        self._shown: object = None  # what title, legend and description of groups of nodes were made from

    def compose(self) -> ComposeResult:
        yield self.nodes
        yield self._legend
        yield self._described

    def on_show(self) -> None:
        """Show whether the focus is within, which may have gone while the pane was hidden."""
        self.app.stylesheet.update_nodes((self,))

    def update(self) -> None:
        node_map, model = self.nodes, self.model
        node_map.update()
        size, room = self.size, node_map.size
        layout = model.layout(*room)
        shown = model.changes, layout, size, room, node_map.first_in(layout), model.session.glyphs
        if layout.form is Form.GROUP and shown == self._shown:
            return
        self._shown = shown
        cells, is_low = max(1, room.width), size.height < _LOW
        wanted = max(1, len(model.legend(cells)))
        legend = min(1 if is_low else _LEGEND, wanted)
        described = self._described_lines(cells, size.height - legend, least=0 if is_low else 1)
        more = max(0, min(described, wanted - legend))  # of the legend, before a node is described
        self._legend.styles.height = legend + more
        self._legend.show(model.legend(cells, legend + more))
        self._describe(described - more)
        entitle(self, model.title(size.width - _KEY_CELLS, layout), _MAP_KEYS)

    def wish(self, width: int, height: int) -> Wish:
        """Return the rows for the nodes, with the legend: cards in three fifths of the view, else half of it.

        In a low view it is two fifths at most: the lists need room as well.
        """
        model = self.model
        wanted = model.changes, model.needs(), model.session.glyphs, width, height
        return self._wish.get(wanted, lambda: self._new_wish(width - _SIDES, height))

    def _new_wish(self, cells: int, height: int) -> Wish:
        model = self.model
        count = max(1, len(model.nodes))
        of_words = _MAP_FRAME + max(1, min(_LEGEND, len(model.legend(cells))))
        of_cells = of_words + 1  # for the description of the node under the cursor
        of_cards, of_others = (
            (height * 2 // 5, height * 2 // 5) if height < _LOW_VIEW else (height * 3 // 5, height // 2)
        )
        best = model.layout(cells, of_cards - of_words)
        if best.form is not Form.CARD:
            best = model.layout(cells, of_others - of_cells)
        rest = of_words if best.form in (Form.CARD, Form.LINE) else of_cells
        lines = best.height(count) + rest
        can_grow = min(_MORE_OUTPUT, model.needs().card_most - best.lines) if best.form is Form.CARD else 0
        rows = best.rows(count)
        least = min(lines, model.layout(cells, 2).height(count) + of_cells)
        if best.form is Form.LINE and lines <= height * 2 // 5:
            least = lines  # few nodes have a line of words each also in a low view
        return Wish(least, lines, lines + rows * can_grow, rows if can_grow else 1)

    def _described_lines(self, cells: int, room: int, least: int) -> int:
        """Return the lines for the node under the cursor below the nodes: those that are left, and a ``least`` number.

        Nodes in words describe themselves. Whether there is room for words must not depend on the description.
        """
        if self.model.layout(cells, room).form in (Form.CARD, Form.LINE):
            return 0
        return max(least, room - self.model.layout(cells, room - least).height(len(self.model.nodes)))

    def _describe(self, lines: int) -> None:
        """Describe the node or the cell of nodes under the cursor in so many lines."""
        described, node_map = self._described, self.nodes
        described.display = lines > 0
        if lines:
            described.styles.height = lines
            index, count, cells = node_map.cursor, node_map.layout_now.nodes, self.size.width
            is_node = count == 1 and index < len(self.model.nodes)
            more = self._cards.below(index, cells, lines - 1) if is_node and lines > 1 else []
            described.show([cut(self.model.description(index, cells, count), cells), *more])

    on_node_map_changed = update


_POINTER_CELLS = 2
_PHASES = 3  # of a job: preparation, tasks and release
_STRIP_TITLE_CELLS = 8  # of the frame beside its title
_STRIP_KEYS = (("row.why", "why"),)


class JobStrip(ResizeFilter, RowsView):
    """A line for each job; the one under the cursor is in focus."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *row_bindings("jobs"),
        Binding("enter", "open", "open the job", id="jobs.open"),
    ]

    class Focused(Message):
        """Another job is in focus."""

    def __init__(self, session: Session) -> None:
        super().__init__(id="strip")
        self._session = session
        self.model = JobStripModel(session)
        self._lines: list[Line] = []
        self._at = 0, 0  # the row in focus and the height of the pane, when it was made visible

    @property
    def subject(self) -> ItemRef | None:
        """The job in focus."""
        return ItemRef("job", self._session.job_id) if self._session.job_id else None

    @property
    def row_count(self) -> int:
        return len(self.model.rows)

    @property
    def cursor_row(self) -> int:
        return self.model.row

    def wish(self, width: int, height: int) -> Wish:
        """Return the rows for the jobs that are worth a line: of many, half of a narrow view or a third of another."""
        lines, frame = self.model.lines_wanted(), self.gutter.height
        most = _PHASES if self.model.is_single else height // (2 if width < WIDE else 3) - frame
        least = min(most, lines if self.model.is_single else lines - 1)
        return Wish(max(1, least) + frame, lines + frame, lines + frame)

    def update(self) -> None:
        """Read the jobs again, and draw the lines that have changed."""
        self.model.update()
        width, height = self.size
        if not width:
            return  # in the first frame the pane has no room yet
        self.model.fold(height)
        set_line_count(self, height if self.model.is_single else self.model.line_count)
        if self._at != (self.model.row, height):
            self._at = self.model.row, height
            self.scroll_into_view(self.model.row, self.model.row + height - self.model.room(height))
        room = self.outer_size.width - _STRIP_TITLE_CELLS
        keys = _STRIP_KEYS if self._session.job_id else ()
        entitle(self, self.model.title(height, room), keys, self.model.subtitle(room))
        self._draw(width, height)

    def resized(self) -> None:
        self.update()

    def _draw(self, width: int, height: int) -> None:
        lines = self.model.lines(max(1, width - _POINTER_CELLS), height, self.top_line)
        before, self._lines = self._lines, lines
        refresh_changes(self, before, lines)

    def render_line(self, y: int) -> Strip:
        spans = self._lines[y] if y < len(self._lines) else ()
        is_cursor = not self.model.is_single and y + self.top_line == self.model.row
        # Without the focus there is no cursor that enter could mean: a dot marks the job that all views show.
        glyphs = self._session.glyphs
        mark = "" if not is_cursor else glyphs.cursor if self.has_focus else glyphs.dot
        pointer = Span(mark.ljust(_POINTER_CELLS), Role.STRONG if self.has_focus else Role.DIM)
        return strip_of(self, (pointer, *spans), is_cursor=is_cursor and self.has_focus)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self._draw(*self.size)

    def move_to(self, row: int) -> None:
        """Put another job in focus."""
        if not self.row_count:
            return
        self._session.focus_job(self.model.rows[max(0, min(row, self.row_count - 1))])
        self.post_message(self.Focused())

    def action_open(self) -> None:
        """Open the job in focus."""
        if self.subject is not None:
            self.post_message(OpenSubject(self.subject))

    def on_click(self, event: events.Click) -> None:
        """Put the job under the mouse in focus; open it on a double click."""
        place = self.place_of(event)
        if place is None:
            return
        room = min(self.model.room(self.size.height), self.row_count - self.top_line)
        if not self.model.is_single and place.y >= self.top_line + room:
            if place.y < self.model.line_count:
                self.post_message(ShowView("jobs"))  # those that the last line counts
            return
        if not self.model.is_single:
            self.move_to(place.y)
        if event.chain > 1:
            self.action_open()


_LIST_FRAME = 2  # lines
_LIST_KEYS = (("lists.before lists.next", "tabs"),)
_LIST_TITLE_CELLS = 6  # of the frame beside its title
_TITLE_LEFT = 2
_BEST = 11  # lines for a list that has more


class JobLists(Table):
    """A table under tabs. The tab is the one that matters now, unless the user has chosen one."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,h", "turn(-1)", "the previous tab", id="lists.before"),
        Binding("right", "turn(1)", "the next tab", id="lists.next"),
    ]

    def __init__(self, session: Session) -> None:
        self._session = session
        self._lists: dict[str, RowsModel] = {
            PREPARATION_TAB: PreparationModel(session),
            TASKS_TAB: TasksModel(session),
            RELEASE_TAB: ReleaseModel(session),
            EVENTS_TAB: EventsModel(session),
            EXPECTATIONS_TAB: ExpectationsModel(session),
        }
        super().__init__(self._lists[TASKS_TAB], id="job-lists")
        # By list: the row at which it was left, and whether it follows the newest one.
        self._left_at: dict[str, tuple[int | None, bool]] = {EVENTS_TAB: (None, True)}
        self.name_shown = TASKS_TAB
        self.chosen = ""  # by the user
        self._tabs: Line = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The lists that there are for the job in focus."""
        has_expectations = bool(self._session.simulation.scenario.expect)
        job = self._session.job(self._session.job_id)
        return tabs_of(job, has_expectations=has_expectations)

    @property
    def _name_that_matters(self) -> str:
        return tab_that_matters(self._session.job(self._session.job_id))

    def update(self) -> None:
        self._show(self.chosen if self.chosen in self.names else self._name_that_matters)
        super().update()
        self._set_title()

    def _show(self, name: str) -> None:
        if name == self.name_shown:
            return
        self._left_at[self.name_shown] = self.chosen_key, self.follows
        self.name_shown = name
        self.show_model(self._lists[name])
        key, follows = self._left_at.get(name, (None, False))
        self.model.update()
        self.follows = follows
        if key is not None and not follows:
            self.move_to_key(key)

    def on_resize(self, event: events.Resize) -> None:  # noqa: ARG002  # Table draws its rows anew by its own handler
        """Show the longest titles of the tabs for which there is room now."""
        self._set_title()

    def _set_title(self) -> None:
        model = self.model
        told = model.told(self.outer_size.width - _LIST_TITLE_CELLS) if isinstance(model, InstancesModel) else ""
        tabs = tab_spans(self.names, self.name_shown, self._counts(), self.outer_size.width - _LIST_TITLE_CELLS)
        self._tabs = tabs
        entitle(self, tabs, _LIST_KEYS, told)

    def _counts(self) -> dict[str, str]:
        """Return the number beside each tab."""
        job = self._session.job(self._session.job_id)
        expected = {EXPECTATIONS_TAB: f"{expectation_count(self._session.simulation):,}"}
        if job is None:
            return expected
        preparation, release = self._session.pages(job.job_id)
        return expected | {
            TASKS_TAB: f"{job.phases.tasks.total:,}",
            PREPARATION_TAB: f"{preparation.count():,}",
            RELEASE_TAB: f"{release.count():,}",
        }

    def wish(self, width: int, height: int) -> Wish:  # noqa: ARG002  # all panes have the same signature
        """Return the rows for header and list."""
        lines = max(2, self.model.count) + 1 + _LIST_FRAME
        return Wish(5, min(lines, _BEST), lines)

    def action_turn(self, by: int) -> None:
        """Show the list of another tab."""
        names = self.names
        at = names.index(self.name_shown) if self.name_shown in names else 0
        self.choose(names[(at + by) % len(names)])

    def choose(self, name: str) -> None:
        """Show this list from now on; the one that matters now leaves the choice to time again."""
        self.chosen = "" if name == self._name_that_matters else name
        self.update()
        self.post_message(self.Moved())

    def on_click(self, event: events.Click) -> None:
        """Choose the tab under the mouse."""
        place = event.get_content_offset(self)
        name = link_at(self._tabs, event.x - _TITLE_LEFT) if place is None and event.y == 0 else None
        if isinstance(name, str):
            event.prevent_default()
            self.choose(name)
