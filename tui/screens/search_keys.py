"""The search for a name everywhere, and the report of everything."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType

from tui.dialogs.files import Files, FilesPlayback
from tui.dialogs.search import SearchDialog
from tui.screens.navigation_keys import NavigationKeys
from tui.screens.reporting import start_report
from tui.viewmodels.files.locations import FileLocation
from tui.viewmodels.frame.search import Target, WholeList
from tui.viewmodels.lists.filters import as_value
from tui.viewmodels.text.styled import ItemRef


class SearchKeys(NavigationKeys):
    """Find pools, jobs, nodes, tasks, files and events by a part of their names."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+f", "find_everywhere", "find a name or command line everywhere", id="find.all"),
    ]

    def action_find_everywhere(self) -> None:
        """Ask for a text, and search for it."""
        self.find_everywhere("")

    def find_everywhere(self, text: str) -> None:
        """Search for a text, which can be changed, and go to what is chosen."""
        self.playback.pause()
        self.app.push_screen(SearchDialog(self.session, text), self._go_to_found)

    def ask_report(self) -> None:
        """Ask for the file of a report of the run."""
        self.ask("write a report of the run, .html or .md, to", self.write_report, text="report.html")

    def write_report(self, name: str) -> None:
        """Write a report of the run up to the moment that is shown; ask for a file if none is named."""
        if name.strip():
            start_report(self, self.session, self.playback, name)
        else:
            self.ask_report()

    def _go_to_found(self, target: Target | None) -> None:
        match target:
            case ItemRef("job schedule", key):
                self.show_row("schedules", key)
            case ItemRef():
                self.open_subject(target)
            case FileLocation():
                playback = FilesPlayback(self.playback.play, self.playback.step, self.playback.back)
                self.app.push_screen(Files(self.session, target, playback, self.keymap))
            case WholeList(view, text):
                self.show_view(view)
                if self.list_page is not None:
                    self.list_page.model.filter_text = as_value(text)
                self.update()
            case int():
                self.show_view("events", target)
