"""The deck: header, one view at a time, a line of hints. Time, focus and all that is done go through here."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.widgets import ContentSwitcher

from engine import BatchError
from tui.messages import Answered, Dismissed, OpenNode, ShowView, Typed
from tui.panes.blade import Blade
from tui.panes.header import Header
from tui.panes.prompt import Prompt
from tui.panes.watch import Watch
from tui.screens.actions import ActionSheet
from tui.screens.sheet import Sheet
from tui.screens.timed import Timed
from tui.screens.why import Why
from tui.viewmodels.actions import actions_for
from tui.viewmodels.details import block_lines
from tui.viewmodels.events import EventsModel
from tui.viewmodels.files import file_lines
from tui.viewmodels.header import Tab, Transport, too_small
from tui.viewmodels.help import help_lines
from tui.viewmodels.instances import PreparationModel, ReleaseModel
from tui.viewmodels.jobs import JobsModel, PoolsModel
from tui.viewmodels.nodes import NodesModel
from tui.viewmodels.tasks import TasksModel
from tui.viewmodels.why import answers_to
from tui.widgets.lines import LinesView
from tui.widgets.node_map import NodeMap
from tui.widgets.table import Table

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.dom import DOMNode

    from engine.specs.commands import Command
    from tui.recorder import Recorder
    from tui.viewmodels.actions import Kind
    from tui.viewmodels.lists import RowsModel
    from tui.viewmodels.session import Session

TABS = (
    Tab("1", "watch", "Watch", "Watch"),
    Tab("2", "pools", "Pools", "Pools"),
    Tab("3", "nodes", "Nodes", "Nodes"),
    Tab("4", "jobs", "Jobs", "Jobs"),
    Tab("5", "tasks", "Tasks", "Tasks"),
    Tab("6", "preparation", "Preparation tasks", "Prep"),
    Tab("7", "release", "Release tasks", "Release"),
    Tab("9", "events", "Events", "Events"),
)
_MODELS: dict[str, type[RowsModel]] = {
    "pools": PoolsModel,
    "nodes": NodesModel,
    "jobs": JobsModel,
    "tasks": TasksModel,
    "preparation": PreparationModel,
    "release": ReleaseModel,
    "events": EventsModel,
}
_KINDS: dict[type[RowsModel], Kind] = {
    PoolsModel: "pool",
    NodesModel: "node",
    JobsModel: "job",
    TasksModel: "task",
    PreparationModel: "node",
    ReleaseModel: "node",
}


class Deck(Timed):
    """One simulation on the screen."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *(Binding(tab.key, f"view('{tab.name}')", tab.title, id=f"view.{tab.name}") for tab in TABS),
        Binding("slash", "ask_filter", "filter", id="list.filter"),
        Binding("colon", "ask_line", "go line: view, id, time, speed", id="go.line"),
        Binding("question_mark,f1", "help", "help", id="help"),
        Binding("escape", "out", "out, back", id="go.out"),
        Binding("minus", "out", "previous view", show=False, id="go.back"),
        Binding("v", "with_all", "with nodes without a record", id="list.all"),
        Binding("a", "act", "act on the row", id="row.act"),
        Binding("A", "act_on_job", "act on the job", id="job.act"),
        Binding("w", "why", "why is it so?", id="row.why"),
        Binding("f", "files", "files on the node", id="row.files"),
        Binding("R", "save", "save the session as a scenario", id="session.save"),
        Binding("F", "follow", "follow the newest event", id="events.follow"),
        Binding("z", "zoom", "maximise the pane, restore", id="pane.zoom"),
        Binding("y", "copy", "copy the id", id="row.copy"),
        Binding("q,ctrl+q", "quit", "quit", id="quit"),
    ]

    HORIZONTAL_BREAKPOINTS = [(0, "-tiny"), (60, "-narrow"), (100, "-wide")]  # noqa: RUF012  # as Textual declares it
    VERTICAL_BREAKPOINTS = [(0, "-flat"), (16, "-short"), (30, "-tall")]  # noqa: RUF012  # as Textual declares it

    def __init__(self, session: Session, recorder: Recorder, *, speed: float | None, plays: bool) -> None:
        """A deck over a session; time goes by at once if ``plays``."""
        super().__init__(session, speed=speed)
        self._recorder = recorder
        self._plays = plays
        self._history: list[str] = []

    # -- arrangement ---------------------------------------------------------------------------------------------

    def compose(self) -> ComposeResult:
        """Header, views, hints."""
        yield Header(self.session, TABS)
        yield LinesView(id="too-small")
        with ContentSwitcher(initial="watch", id="views"):
            yield Watch(self.session)
            for name, model in _MODELS.items():
                yield Blade(model(self.session), id=name)
        yield Prompt()

    def on_mount(self) -> None:
        """The first look, and the clock starts."""
        self.view.focus_first()
        self.call_after_refresh(self.look)
        if self._plays:
            self.call_after_refresh(self.action_play)

    def on_resize(self) -> None:
        """Everything is arranged anew."""
        self.call_after_refresh(self.look)

    @property
    def view(self) -> Watch | Blade:
        """The view that is shown."""
        shown = self.query_one(ContentSwitcher).visible_content
        assert isinstance(shown, Watch | Blade)
        return shown

    def look(self) -> None:
        """Bring everything on the screen up to date."""
        self.session.noted()
        self.look_at_header()
        self.view.look()

    def look_at_header(self) -> None:
        """Bring clock, tabs and hints up to date."""
        simulation = self.session.simulation
        transport = Transport(self.pacer.playing, self.pacer.speed, simulation.finished)
        self.query_one(Header).show(self.view.id or "", self.view.title, transport)
        self.query_one(Prompt).show_hints(self._hints())
        self.query_one("#too-small", LinesView).show(too_small(self.size.width, self.size.height))

    def _hints(self) -> list[tuple[str, str]]:
        playing = self.pacer.playing
        pairs = [("space", "pause" if playing else "run"), (".", "step"), (",", "back"), ("[ ]", "speed")]
        if isinstance(self.view, Blade):
            pairs += [("enter", "open"), ("/", "filter"), ("o", "sort"), ("!", "only failed")]
        else:
            pairs += [("tab", "next pane"), ("l", "lens"), ("enter", "open")]
        if self.session.is_past:
            pairs.insert(0, ("b", "branch here"))
        return [*pairs, ("w", "why"), ("a", "act"), ("t", "go to time"), ("?", "help")]

    # -- views ---------------------------------------------------------------------------------------------------

    def action_view(self, name: str) -> None:
        """Show a view."""
        self.show_view(name)

    def show_view(self, name: str, key: int | None = None) -> None:
        """Show a view, with the cursor on a row where one is named."""
        current = self.view.id
        if current is not None and current != name:
            self._history.append(current)
            self._switch(name)
        self.look()
        if key is not None and isinstance(self.view, Blade):
            self.view.table.move_to_key(key)

    def _switch(self, name: str) -> None:
        if self.maximized is not None:
            self.minimize()
        self.query_one(ContentSwitcher).current = name
        self.view.focus_first()
        self.call_after_refresh(self.look)

    def on_show_view(self, message: ShowView) -> None:
        """A pane asks for a view."""
        self.show_view(message.name, message.key)

    def action_out(self) -> None:
        """Close what is open: a maximised pane, a filter, at last the view."""
        if self.maximized is not None:
            self.minimize()
        elif isinstance(self.view, Blade) and self.view.model.clear_filter():
            self.look()
        elif self._history:
            self._switch(self._history.pop())
            self.look()

    def action_zoom(self) -> None:
        """Give the whole screen to the pane with the focus, or take it back."""
        if self.maximized is not None:
            self.minimize()
        elif self.focused is not None:
            self.maximize(self.focused)
        self.call_after_refresh(self.look)

    def on_table_opened(self, message: Table.Opened) -> None:
        """A row is opened: a pool and a job come into focus, the others show their details."""
        model = message.table.model
        identity = model.identity_of(message.key)
        if isinstance(model, PoolsModel):
            self.session.focus_pool(identity)
            self.show_view("nodes")
        elif isinstance(model, JobsModel):
            self.session.focus_job(identity)
            self.show_view("watch")
        else:
            self._open_details(model, message.key)

    def on_open_node(self, message: OpenNode) -> None:
        """A node of the map is opened."""
        model = NodesModel(self.session)
        model.refresh()
        self._open_details(model, message.node)

    def _open_details(self, model: RowsModel, key: int) -> None:
        title = model.title.removesuffix("s") if model.title != "Events" else "Event"
        text = self.session.text
        self.app.push_screen(
            Sheet(
                title,
                lambda cells: [
                    tuple(span._replace(text=text(span.text)) for span in each)
                    for each in block_lines(model.details(key), cells)
                ],
            )
        )

    def on_table_arranged(self) -> None:
        """Sort order or filter have changed."""
        self.look()

    def action_with_all(self) -> None:
        """Show the nodes without a record as well, or hide them."""
        if isinstance(self.view, Blade):
            self.view.model.with_all = not self.view.model.with_all
            self.look()

    def action_follow(self) -> None:
        """Keep the newest event in view."""
        if isinstance(self.view, Blade) and isinstance(self.view.model, EventsModel):
            self.view.table.follows = not self.view.table.follows
            self.look()

    def action_copy(self) -> None:
        """Copy the id of the row under the cursor."""
        if isinstance(self.view, Blade) and self.view.table.key is not None:
            identity = self.view.model.identity_of(self.view.table.key)
            self.app.copy_to_clipboard(identity)
            self.notify(f"copied {identity}", markup=False)

    # -- what is typed -------------------------------------------------------------------------------------------

    def action_ask_filter(self) -> None:
        """Filter the list."""
        if isinstance(self.view, Blade):
            self.query_one(Prompt).ask("filter", "filter: words, !word, field:value", self.view.model.filter_text)

    def action_ask_time(self) -> None:
        """Go to a time."""
        self.query_one(Prompt).ask("time", "go to: +5m, -30s, 10:42, PT5M, end")

    def action_ask_line(self) -> None:
        """Go somewhere by name."""
        self.query_one(Prompt).ask("line", ": view, id, time 10:51, speed 60")

    def on_typed(self, message: Typed) -> None:
        """A filter works while it is typed."""
        if message.purpose == "filter" and isinstance(self.view, Blade):
            self.view.model.filter_text = message.text
            self.look()

    def on_answered(self, message: Answered) -> None:
        """Something was typed to the end."""
        self.view.focus_first()
        self.look_at_header()
        match message.purpose:
            case "time":
                self.go_to_time(message.text)
            case "line":
                self._go(message.text)
            case "save":
                self._save(message.text)

    def on_dismissed(self, message: Dismissed) -> None:
        """Nothing was typed after all; a filter is cleared."""
        self.view.focus_first()
        if message.purpose == "filter" and isinstance(self.view, Blade):
            self.view.model.filter_text = ""
        self.look()

    def _go(self, text: str) -> None:
        """A view's name, the id of a job or pool, or a verb with what it needs."""
        verb, _, rest = text.strip().partition(" ")
        views = {tab.name: tab.name for tab in TABS} | {tab.title.lower(): tab.name for tab in TABS}
        if text.strip().lower() in views:
            self.show_view(views[text.strip().lower()])
        elif verb == "time":
            self.go_to_time(rest)
        elif verb == "speed":
            self.set_speed(rest)
        else:
            self._go_to_id(text.strip())

    def _go_to_id(self, identity: str) -> None:
        for name in ("jobs", "pools", "nodes", "tasks"):
            model = _MODELS[name](self.session)
            model.filter_text = identity
            model.refresh()
            wanted = identity.lower()
            exact = (at for at in range(min(model.count, 1000)) if model.identity_of(model.key(at)).lower() == wanted)
            at = next(exact, 0 if model.count else None)
            if at is not None:
                self._focus_on(model, model.key(at))
                self.show_view(name, model.key(at))
                return
        self.notify(f"Nothing is called {identity!r}.", severity="warning", markup=False)

    # -- what is done --------------------------------------------------------------------------------------------

    def action_act(self) -> None:
        """Do something to what is under the cursor."""
        if self.session.is_past:
            self.notify("This is the past. b branches here, then it can be changed.", severity="warning", markup=False)
            return
        self.stand_still()
        subject = self._subject()
        actions = [] if subject is None else actions_for(self.session, *subject)
        if not actions:
            self.notify("There is nothing here to act on.", markup=False)
            return
        sheet = ActionSheet(self.session, f"Act on this {subject[0] if subject else ''}", actions)
        self.app.push_screen(sheet, self._carry_out)

    def _subject(self) -> tuple[Kind, int | str] | None:
        """The node, task, job or pool under the cursor; the job in focus where the focus is on neither."""
        focused = self.focused
        if isinstance(focused, NodeMap) and focused.key is not None:
            return "node", focused.key
        if isinstance(focused, Table) and focused.key is not None:
            model = focused.model
            kind = _KINDS.get(type(model))
            if kind is not None:
                return kind, focused.key if kind in ("node", "task") else model.identity_of(focused.key)
        return ("job", self.session.job_id) if self.session.job_id else None

    def action_act_on_job(self) -> None:
        """Do something to the job in focus."""
        if self.session.is_past:
            self.action_act()
        elif self.session.job_id:
            self.stand_still()
            actions = actions_for(self.session, "job", self.session.job_id)
            self.app.push_screen(
                ActionSheet(self.session, f"Act on job {self.session.job_id}", actions), self._carry_out
            )

    def _carry_out(self, command: Command | None) -> None:
        """A command was confirmed: give it to the service, and say what it answered."""
        if command is None:
            return
        try:
            self.session.simulation.submit(command)
        except BatchError as error:
            reason = error.values.get("Reason", "")
            said = f"{command.NAME} refused: {error.status} {error.code}. {error.message} {reason}".rstrip()
            self.notify(said, severity="error", markup=False, timeout=10)
        else:
            self.notify(f"{command.NAME} accepted. R saves what was done as a scenario.", markup=False)
        self.look()

    def action_save(self) -> None:
        """Save what was done by hand as a scenario."""
        self.query_one(Prompt).ask("save", "save the session as", str(self._recorder.proposal()))

    def _save(self, name: str) -> None:
        path = Path(name.strip())
        try:
            self._recorder.save(path)
        except OSError as error:
            self.notify(f"{path}: {error.strerror or error}", severity="error", markup=False)
        else:
            self.notify(f"saved {path}; batchdeck run {path} replays it", markup=False)

    def _focus_on(self, model: RowsModel, key: int) -> None:
        if isinstance(model, PoolsModel):
            self.session.focus_pool(model.identity_of(key))
        elif isinstance(model, JobsModel):
            self.session.focus_job(model.identity_of(key))

    def action_why(self) -> None:
        """Why what is under the cursor is as it is; where a pool has no nodes, why not."""
        view, subject = self.view.id or "", self._subject()
        if view in ("nodes", "pools") and (subject is None or subject[0] == "job"):
            subject = "pool", self.session.pool_id
        answers = [] if subject is None else answers_to(self.session, *subject, view)
        if answers:
            self.app.push_screen(Why(self.session, answers, self.seek))
        else:
            self.notify("There is nothing here to explain.", markup=False)

    def action_files(self) -> None:
        """The files on the node under the cursor."""
        subject = self._subject()
        if subject is None or subject[0] != "node":
            self.notify("f shows the files of a node: put the cursor on one.", markup=False)
            return
        session, node = self.session, int(subject[1])
        self.app.push_screen(Sheet(session.text("Files on node"), lambda cells: file_lines(session, node, cells)))

    # -- help ----------------------------------------------------------------------------------------------------

    def action_help(self) -> None:
        """The keys of what has the focus, and what the view shows."""
        here = _keys_of(self.focused) if self.focused is not None else []
        everywhere = _keys_of(self)
        text, glyphs = self.view.help_text, self.session.glyphs
        self.app.push_screen(
            Sheet(f"Help: {self.view.title}", lambda cells: help_lines(text, here, everywhere, glyphs, cells))
        )

    async def action_quit(self) -> None:
        """Leave."""
        self.stand_still()
        self.app.exit()


def _keys_of(node: DOMNode) -> list[tuple[str, str]]:
    """Keys and what they do, as a pane declares them."""
    found: dict[str, list[str]] = {}
    for _, binding in node._bindings:
        if binding.description:
            found.setdefault(binding.description, []).append(_KEY_NAMES.get(binding.key, binding.key))
    return [(" ".join(keys), description) for description, keys in found.items()]


_KEY_NAMES = {
    "full_stop": ".",
    "comma": ",",
    "right_square_bracket": "]",
    "left_square_bracket": "[",
    "equals_sign": "=",
    "right_curly_bracket": "}",
    "slash": "/",
    "colon": ":",
    "question_mark": "?",
    "escape": "esc",
    "minus": "-",
    "exclamation_mark": "!",
    "pageup": "PgUp",
    "pagedown": "PgDn",
}
