"""The dialog with the files on a node: the tree beside the text of the file under its cursor."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from textual.binding import Binding, BindingType
from textual.containers import Container, Horizontal
from textual.content import Content

from engine.base.paths import name_of
from engine.base.values import quoted
from tui.dialogs.sheets import HelpScreen
from tui.saving.targets import write_new
from tui.textual.screens import Modal, say
from tui.textual.views import LinesView
from tui.viewmodels import format as fmt
from tui.viewmodels.file_browser import FilesModel
from tui.viewmodels.sheets import HelpPage
from tui.widgets.rows import FileTree
from tui.widgets.texts import Prompt, Question, TextView

if TYPE_CHECKING:
    from textual import events
    from textual.app import ComposeResult

    from tui.textual.keys import Keymap
    from tui.viewmodels.items import FileLocation
    from tui.viewmodels.session import Session


class FilesPlayback(NamedTuple):
    """The keys of playback that work in this dialog."""

    play: Callable[[], None]
    step: Callable[[], None]
    back: Callable[[], None]


class Files(Modal[None]):
    """Directories and files, their texts, and how long they are kept."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,f", "dismiss", "close", id="files.close"),
        Binding("tab,shift+tab", "other_pane", "switch between tree and text", id="files.pane"),
        Binding("slash", "ask_find", "find", id="files.find"),
        Binding("n", "next_match(1)", "next match", id="files.next"),
        Binding("N", "next_match(-1)", "previous match", id="files.before"),
        Binding("e", "ask_save", "save a copy", id="files.save"),
        Binding("y", "copy", "copy the path", id="files.copy"),
        Binding("space", "playback('play')", "run or pause simulated time", id="files.play"),
        Binding("full_stop", "playback('step')", "to the next moment", id="files.step"),
        Binding("comma", "playback('back')", "to the previous moment", id="files.back"),
        Binding("question_mark,f1", "help", "help", id="files.help"),
    ]
    HINTS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("files.pane", "tree/text"),
        ("files.find", "find"),
        ("files.next", "next"),
        ("files.save", "save a copy"),
        ("files.help", "help"),
        ("files.close", "close"),
    )

    HORIZONTAL_BREAKPOINTS = [(0, "-tiny"), (72, "-narrow"), (100, "-wide")]  # noqa: RUF012  # as Textual declares it

    def __init__(self, session: Session, place: FileLocation, playback: FilesPlayback, keymap: Keymap) -> None:
        super().__init__()
        self.model = FilesModel(session, place)
        self._session = session
        self._playback = playback
        self._keymap = keymap

    # -- arrangement ---------------------------------------------------------------------------------------------

    def compose(self) -> ComposeResult:
        with Container(id="files"):
            yield LinesView(id="file-heading")
            with Horizontal(id="file-panes"):
                yield FileTree(self.model.tree)
                yield TextView(self.model)
            yield LinesView(id="file-status")
            yield Prompt()

    def on_mount(self) -> None:
        self.query_one("#files").border_title = Content(self.model.title)
        first: type[FileTree | TextView] = TextView if self.model.reads else FileTree
        self._turn_to(first)
        self.call_after_refresh(self._begin_in, first)
        self.call_after_refresh(self.fill)

    def _begin_in(self, pane: type[FileTree | TextView]) -> None:
        """Focus a pane again, which may have been hidden until the first refresh and so have lost the focus."""
        if isinstance(self.focused, FileTree | TextView | None):
            self._turn_to(pane)

    def update(self) -> None:
        """Show the files as they are at the present moment."""
        if not self.is_mounted:
            return
        if self.model.update():
            self.fill()
        else:
            self._show_status()

    def fill(self) -> None:
        self.query_one(FileTree).update()
        self.query_one(TextView).update()
        self._show_status()
        hints = [(self._keymap.shown(identity), does) for identity, does in self.HINTS]
        self.query_one(Prompt).show_hints(hints)

    def _show_status(self) -> None:
        for name, line in (("#file-heading", self.model.heading), ("#file-status", self.model.status)):
            view = self.query_one(name, LinesView)
            view.show([line(view.size.width)])

    on_screen_resume = update  # time may have moved while the help was open
    on_text_view_moved = _show_status

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """Show the focused pane, if the two have no room beside each other."""
        if isinstance(event.widget, FileTree | TextView):
            self.query_one("#file-panes").set_class(isinstance(event.widget, TextView), "-reads")
            self.call_after_refresh(self.fill)

    def action_other_pane(self) -> None:
        """Go from the tree to the text, or back."""
        self._turn_to(TextView if isinstance(self.focused, FileTree) else FileTree)

    def _turn_to(self, pane: type[FileTree | TextView]) -> None:
        self.query_one("#file-panes").set_class(pane is TextView, "-reads")
        self.query_one(pane).focus()

    # -- the tree ------------------------------------------------------------------------------------------------

    def on_file_tree_moved(self) -> None:
        """Show the file that is under the cursor now."""
        self.model.show_item()
        self.fill()

    def on_file_tree_opened(self, message: FileTree.Opened) -> None:
        """Open a directory, or read a file."""
        tree, item = self.model.tree, self.model.tree.item
        if item is None:
            return
        if not item.is_directory:
            self._turn_to(TextView)
        elif message.toggles and tree.is_open(item.path):
            tree.close()
        else:
            tree.open(item.path)
        self.on_file_tree_moved()

    # -- the text ------------------------------------------------------------------------------------------------

    def action_next_match(self, step: int) -> None:
        """Go to the next or previous match."""
        if not self.model.text.sought:
            self.action_ask_find()
        elif not self.model.text.next_match(step):
            say(self, f"{quoted(self.model.text.sought)} is not there.")
        self.fill()

    def action_copy(self) -> None:
        self.app.copy_to_clipboard(self.model.tree.path)
        say(self, f"copied {self.model.tree.path}")

    # -- the prompt ----------------------------------------------------------------------------------------------

    def _ask(self, question: Question) -> None:
        """Ask for a text about the file; ``on_typed`` is called with each change, and with "" on Escape."""
        if not self.model.reads:
            say(self, "No file is open: choose one in the tree.")
            return

        def answered(answer: str) -> None:
            question.on_answer(answer)
            self._turn_to(TextView)
            self.fill()

        def typed(text: str) -> None:
            question.on_typed(text)
            self.fill()

        def cancelled() -> None:
            self._turn_to(TextView)
            typed("")

        self.query_one(Prompt).ask(question._replace(on_answer=answered, on_typed=typed, on_cancel=cancelled))

    def action_ask_find(self) -> None:
        """Ask for a text to find, and find it while it is typed."""

        def answered(sought: str) -> None:
            if sought and not self.model.text.found:
                say(self, f"{quoted(sought)} is not there.")

        self._ask(Question("find", answered, self.model.text.sought, self.model.text.find))

    def action_ask_save(self) -> None:
        self._ask(Question("save a copy as", self._save, name_of(self.model.reads)))

    def _save(self, name: str) -> None:
        path = Path(name.strip())
        write_new(path, self.model.text.lines.text)
        say(self, f"wrote {self.model.text.total:,} lines to {path}")

    # -- time and help -------------------------------------------------------------------------------------------

    def action_playback(self, key: str) -> None:
        """Play or pause, or go to the next or the previous moment at which something happens."""
        self._playback._asdict()[key]()

    def action_help(self) -> None:
        about = HelpPage("Files", fmt.help_on("Files"))
        self.app.push_screen(HelpScreen(about, self._keymap, self._session.glyphs, self.focused, Files))
