"""The list of a blade: its filter, which works while it is typed, its columns, and what it leaves out."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding

from tui.dialogs.columns import ColumnChooser
from tui.panes.blade import Blade
from tui.viewmodels.lists.filters import filter_hint
from tui.widgets.prompt import Prompt

if TYPE_CHECKING:
    from tui.screens.deck import Deck
    from tui.viewmodels.lists.rows import RowsModel


class Listing:
    """What can be done to any list."""

    KEYS: ClassVar[tuple[Binding, ...]] = (
        Binding("slash", "list('ask_filter')", "filter", id="list.filter"),
        Binding("v", "list('with_all')", "with nodes without a record", id="list.all"),
        Binding("C", "list('choose_columns')", "choose columns", id="list.columns"),
    )

    def __init__(self, deck: Deck) -> None:
        """Of the view that this deck shows."""
        self._deck = deck

    @property
    def _model(self) -> RowsModel | None:
        view = self._deck.view
        return view.model if isinstance(view, Blade) else None

    def ask_filter(self) -> None:
        """Ask which rows to show."""
        model = self._model
        if model is not None:
            self._deck.ask("filter", "filter:", model.filter_text)
            self._tell_of_filter(model)

    def filter_by(self, text: str) -> None:
        """Show the rows that a filter lets through, and say what it may become."""
        model = self._model
        if model is not None:
            model.filter_text = text
            self._deck.look()
            self._tell_of_filter(model)

    def clear_filter(self) -> None:
        """Nothing is typed any more: all rows are shown."""
        model = self._model
        if model is not None:
            model.filter_text = ""

    def _tell_of_filter(self, model: RowsModel) -> None:
        self._deck.query_one(Prompt).tell(filter_hint(model.filter_text, model.column_names))

    def with_all(self) -> None:
        """Show the nodes without a record as well, or hide them."""
        model = self._model
        if model is not None:
            model.with_all = not model.with_all
            self._deck.look()

    def choose_columns(self) -> None:
        """Choose the columns of the list."""
        model = self._model
        if model is not None:
            self._deck.app.push_screen(ColumnChooser(model, self._deck.look))
