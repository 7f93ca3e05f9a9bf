"""The dialog with the texts of rules that a screen cites."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.scroll_view import ScrollView

from engine.base import rulebook
from tui.dialogs.sheet import Sheet
from tui.viewmodels.sheets.rules import rule_lines
from tui.viewmodels.text.blocks import block_lines
from tui.viewmodels.text.styled import plain
from tui.widgets.lines import LinesView
from tui.widgets.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from textual.screen import Screen

    from engine.base.rulebook import Chapter, Rule

_WIDE_ENOUGH = 1000  # cells: no id is cut


class RuleSheet(Sheet):
    """A sheet with the text of chapters and rules of the rulebook."""

    def __init__(self, parts: Sequence[Chapter | Rule]) -> None:
        """Show these, in this order."""
        self.shown = parts
        super().__init__(_title(parts), lambda cells: rule_lines(parts, cells))


def _title(parts: Sequence[Chapter | Rule]) -> str:
    names = [part.id if isinstance(part, rulebook.Rule) else part.prefix for part in parts]
    return f"Rule {names[0]}" if len(names) == 1 and "-" in names[0] else "Rules"


def rules_on(screen: Screen[object]) -> list[Rule]:
    """Return the rules that the row under the cursor cites; where it cites none, those anywhere on the screen.

    On a sheet of rules, return those that their texts cite.
    """
    if isinstance(screen, RuleSheet):
        cited = rulebook.rules_in("\n".join(plain(line) for line in rule_lines(screen.shown, _WIDE_ENOUGH)))
        return [rule for rule in cited if rule not in screen.shown]
    focused = screen.focused
    under_cursor = rulebook.rules_in(_row(focused)) if isinstance(focused, Table) else []
    return under_cursor or rulebook.rules_in("\n".join(_texts(screen)))


def _row(table: Table) -> str:
    """Return the text of the row under the cursor, with its details: the column of the rule may be hidden."""
    if table.key is None:
        return ""
    details = block_lines(table.model.details(table.key), _WIDE_ENOUGH)
    return "\n".join([*(span.text for span in table.model.cells(table.key)), *map(plain, details)])


def _texts(screen: Screen[object]) -> Iterator[str]:
    """Yield the lines of what is on the screen; of a text that can be scrolled all of them, of a list those seen."""
    for widget in screen.query(ScrollView):
        if not (widget.display and widget.region.area):
            continue
        if isinstance(widget, LinesView):
            yield from map(plain, widget.lines)
        else:
            yield from (widget.render_line(y).text for y in range(widget.size.height))
