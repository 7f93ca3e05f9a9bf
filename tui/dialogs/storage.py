"""The dialog that lists the blobs in storage; enter shows the text of one."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.widgets import Static

from tui.dialogs.modal import Frame, Modal
from tui.dialogs.sheet import Sheet
from tui.viewmodels.sheets.storage import blob_line, blob_lines, blob_list
from tui.viewmodels.text.styled import Role, Span, line
from tui.widgets.choices import Choices

if TYPE_CHECKING:
    from textual.app import ComposeResult

    from engine.views.pages.storage import StoredBlob
    from tui.viewmodels.session.session import Session


class StorageDialog(Modal[None]):
    """The blobs at the moment that is shown."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q", "dismiss", "close", id="storage.close")]

    def __init__(self, session: Session, *, pointer: str) -> None:
        """List the blobs of a session; ``pointer`` is drawn beside the one under the cursor."""
        super().__init__()
        self._session = session
        self._pointer = pointer
        self._blobs: list[StoredBlob] = []

    def compose(self) -> ComposeResult:
        with Frame("Storage", "enter text  esc close", id="storage"):
            yield Static(id="storage-heading", markup=False)
            yield Choices(self._pointer, id="choices")

    def on_mount(self) -> None:
        self.update()
        self.query_one(Choices).focus()

    def update(self) -> None:
        """List the blobs anew: simulated time may go on behind the dialog."""
        self._blobs, heading = blob_list(self._session)
        self.query_one("#storage-heading", Static).update(heading)
        empty = [(-1, line(Span("There is no blob that has been named or uploaded.", Role.DIM)))]
        choices = self.query_one(Choices)
        cells = max(0, choices.size.width - choices.POINTER_CELLS)
        lines = [(number, blob_line(self._session, blob, cells)) for number, blob in enumerate(self._blobs)]
        choices.show(lines or empty)

    def on_resize(self) -> None:
        """Use the new width."""
        self.call_after_refresh(self.update)

    def on_choices_chosen(self, message: Choices.Chosen) -> None:
        """Show the blob under the cursor."""
        message.stop()
        if message.number < len(self._blobs):
            blob = self._blobs[message.number]
            self.app.push_screen(Sheet(blob.place.name or "Blob", partial(blob_lines, self._session, blob)))
