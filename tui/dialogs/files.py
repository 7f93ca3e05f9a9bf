"""The files on a node, above the deck: the tree beside a window on the file under its cursor."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Container, Horizontal
from textual.content import Content

from engine.base.paths import name_of
from tui.dialogs.help import HelpScreen
from tui.dialogs.modal import Modal
from tui.saving.targets import TargetError, write_new
from tui.viewmodels.files.browser import HELP_TEXT, FilesModel
from tui.viewmodels.sheets.help import Page
from tui.widgets.file_tree import FileTree
from tui.widgets.lines import LinesView
from tui.widgets.messages import Answered, Dismissed, Typed
from tui.widgets.prompt import Prompt
from tui.widgets.text_view import TextView

if TYPE_CHECKING:
    from textual import events
    from textual.app import ComposeResult

    from tui.screens.playback import Playback
    from tui.settings.keymap import Keymap
    from tui.viewmodels.files.locations import FilesAt
    from tui.viewmodels.session.session import Session

_MINUTE_S, _HOUR_S, _DAY_S = 60, 3600, 86_400


class Files(Modal[None]):
    """Directories, files, and what becomes of them."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "all lines again, close", id="files.leave"),
        Binding("q,f", "dismiss", "close", id="files.close"),
        Binding("tab,shift+tab", "other_pane", "tree or text", id="files.pane"),
        Binding("slash", "ask_find", "find", id="files.find"),
        Binding("n", "next_match(1)", "next match", id="files.next"),
        Binding("N", "next_match(-1)", "match before", id="files.before"),
        Binding("ampersand", "ask_filter", "only lines with a text, or with ! the others", id="files.filter"),
        Binding("colon", "ask_line", "go to a line", id="files.line"),
        Binding("m", f"jump({_MINUTE_S})", "a minute later", id="files.minute"),
        Binding("M", f"jump({-_MINUTE_S})", "a minute earlier", id="files.minute-back"),
        Binding("h", f"jump({_HOUR_S})", "an hour later", id="files.hour"),
        Binding("H", f"jump({-_HOUR_S})", "an hour earlier", id="files.hour-back"),
        Binding("d", f"jump({_DAY_S})", "a day later", id="files.day"),
        Binding("D", f"jump({-_DAY_S})", "a day earlier", id="files.day-back"),
        Binding("F", "turn('follow')", "follow the end", id="files.follow"),
        Binding("W", "turn('wrap')", "wrap long lines", id="files.wrap"),
        Binding("number_sign", "turn('numbers')", "line numbers", id="files.numbers"),
        Binding("e", "ask_save", "save a copy", id="files.save"),
        Binding("y", "copy", "copy the path", id="files.copy"),
        Binding("space", "play", "let time go by, or stop it", id="files.play"),
        Binding("full_stop", "step", "one event forward", id="files.step"),
        Binding("comma", "back", "one event back", id="files.back"),
        Binding("question_mark,f1", "help", "help", id="files.help"),
    ]
    HINTS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("files.pane", "tree/text"),
        ("files.find", "find"),
        ("files.next", "next"),
        ("files.filter", "filter"),
        ("files.follow", "follow"),
        ("files.save", "save a copy"),
        ("files.help", "help"),
        ("files.leave", "close"),
    )

    HORIZONTAL_BREAKPOINTS = [(0, "-tiny"), (72, "-narrow"), (100, "-wide")]  # noqa: RUF012  # as Textual declares it

    def __init__(self, session: Session, place: FilesAt, playback: Playback, keymap: Keymap) -> None:
        """The files of the node at this place, which is open."""
        super().__init__()
        self.model = FilesModel(session, place)
        self._session = session
        self._playback = playback
        self._keymap = keymap

    # -- arrangement ---------------------------------------------------------------------------------------------

    def compose(self) -> ComposeResult:
        """What is looked at, tree and text, how it is looked at, hints."""
        with Container(id="files"):
            yield LinesView(id="file-heading")
            with Horizontal(id="file-panes"):
                yield FileTree(self.model.tree)
                yield TextView(self.model)
            yield LinesView(id="file-status")
            yield Prompt()

    def on_mount(self) -> None:
        """The file that was asked for is there to be read, else the tree to go through."""
        self.query_one("#files").border_title = Content(self.model.title)
        self._turn_to(TextView if self.model.reads else FileTree)
        self.call_after_refresh(self._show)

    def on_resize(self) -> None:
        """More or fewer lines are seen."""
        self.call_after_refresh(self._show)

    def look(self) -> None:
        """Time may have moved."""
        if not self.is_mounted:
            return
        if self.model.refresh():
            self._show()
        else:
            self._say_how()

    def on_screen_resume(self) -> None:
        """Time may have moved while the help was above."""
        self.look()

    def _show(self) -> None:
        self.query_one(FileTree).look()
        self.query_one(TextView).look()
        self._say_how()
        hints = [(self._keymap.shown(identity), does) for identity, does in self.HINTS]
        self.query_one(Prompt).show_hints(hints)

    def _say_how(self) -> None:
        for name, line in (("#file-heading", self.model.heading), ("#file-status", self.model.status)):
            view = self.query_one(name, LinesView)
            view.show([line(view.size.width)])

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """Where both have no room beside each other, the one with the focus is shown."""
        if isinstance(event.widget, FileTree | TextView):
            self.query_one("#file-panes").set_class(isinstance(event.widget, TextView), "-reads")
            self.call_after_refresh(self._show)

    def action_other_pane(self) -> None:
        """From the tree to the text, and back."""
        self._turn_to(TextView if isinstance(self.focused, FileTree) else FileTree)

    def _turn_to(self, pane: type[FileTree | TextView]) -> None:
        self.query_one("#file-panes").set_class(pane is TextView, "-reads")
        self.query_one(pane).focus()

    # -- the tree ------------------------------------------------------------------------------------------------

    def on_file_tree_moved(self) -> None:
        """Something else is under the cursor."""
        self.model.look()
        self._show()

    def on_file_tree_opened(self, message: FileTree.Opened) -> None:
        """Open a directory, looking back if it is gone; read a file."""
        tree, item = self.model.tree, self.model.tree.item
        if item is None:
            return
        if not item.is_directory:
            self._turn_to(TextView)
        elif message.turns and tree.is_open(item.path):
            tree.close()
        else:
            if self.model.would_recall:
                self.model.recall()
            tree.open(item.path)
        self.on_file_tree_moved()

    def on_text_view_moved(self) -> None:
        """Other lines are seen."""
        self._say_how()

    # -- the text ------------------------------------------------------------------------------------------------

    def _say(self, text: str) -> None:
        self.notify(text, markup=False)

    def action_next_match(self, step: int) -> None:
        """To another line with what is looked for."""
        if not self.model.text.sought:
            self.action_ask_find()
        elif not self.model.text.next_match(step):
            self._say(f"{self.model.text.sought!r} is not there.")
        self._show()

    def action_jump(self, seconds: int) -> None:
        """So much later or earlier, where lines begin with a time."""
        refusal = self.model.text.jump(seconds)
        if refusal is not None:
            self._say(refusal)
        self._show()

    def action_turn(self, what: str) -> None:
        """Follow, wrap, number lines, or do so no more."""
        getattr(self.model.text, f"turn_{what}")()
        self._show()

    def action_copy(self) -> None:
        """Copy the path under the cursor."""
        self.app.copy_to_clipboard(self.model.tree.path)
        self._say(f"copied {self.model.tree.path}")

    def action_leave(self) -> None:
        """Show all lines again; where all are shown, close."""
        if self.model.text.filter_text:
            self.model.text.filter("")
            self._show()
        else:
            self.dismiss()

    # -- what is typed -------------------------------------------------------------------------------------------

    def _ask(self, purpose: str, label: str, text: str = "") -> None:
        if self.model.reads:
            self.query_one(Prompt).ask(purpose, label, text)
        else:
            self._say("No file is read: the tree leads to one.")

    def action_ask_find(self) -> None:
        """Look for a text."""
        self._ask("find", "find", self.model.text.sought)

    def action_ask_filter(self) -> None:
        """Show some of the lines."""
        self._ask("filter", "only lines with, or !without", self.model.text.filter_text)

    def action_ask_line(self) -> None:
        """Go to a line."""
        self._ask("line", f"line, 1 to {self.model.text.total:,}")

    def action_ask_save(self) -> None:
        """Ask where a copy is to be written."""
        self._ask("save", "save a copy as", name_of(self.model.reads))

    def on_typed(self, message: Typed) -> None:
        """Finding and filtering work while they are typed."""
        if message.purpose == "find":
            self.model.text.find(message.text)
        elif message.purpose == "filter":
            self.model.text.filter(message.text)
        self._show()

    def on_answered(self, message: Answered) -> None:
        """Something was typed to the end."""
        text = self.model.text
        if message.purpose == "find" and message.text and not text.found:
            self._say(f"{message.text!r} is not there.")
        elif message.purpose == "line":
            number = message.text.strip().replace(",", "")
            if number.isdecimal():
                text.go_to_line(int(number) - 1)
            else:
                self._say(f"{message.text!r} is no line number.")
        elif message.purpose == "save":
            self._save(message.text)
        self._after_prompt()

    def on_dismissed(self, message: Dismissed) -> None:
        """Nothing was typed after all."""
        if message.purpose == "find":
            self.model.text.find("")
        elif message.purpose == "filter":
            self.model.text.filter("")
        self._after_prompt()

    def _after_prompt(self) -> None:
        self._turn_to(TextView)
        self._show()

    def _save(self, name: str) -> None:
        path = Path(name.strip())
        try:
            write_new(path, self.model.text.index.text)
        except TargetError as error:
            self._refuse(f"{error}; e asks for another name.")
        else:
            self._say(f"wrote {self.model.text.total:,} lines to {path}")

    def _refuse(self, text: str) -> None:
        self.notify(text, severity="error", markup=False, timeout=10)

    # -- time and help -------------------------------------------------------------------------------------------

    def action_play(self) -> None:
        """Let time go by, or stop it."""
        self._playback.play()

    def action_step(self) -> None:
        """One event forward."""
        self._playback.step()

    def action_back(self) -> None:
        """To the moment of the event before."""
        self._playback.back()

    def action_help(self) -> None:
        """The keys, and what is shown."""
        here = [] if self.focused is None else self._keymap.keys_in(type(self.focused))
        everywhere, about = self._keymap.keys_in(Files), Page("Files", HELP_TEXT)
        self.app.push_screen(HelpScreen(about, here, everywhere, self._session.glyphs))
