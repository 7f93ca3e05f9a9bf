"""A list as CSV: every column, every row that the filter leaves, in the order in which they are shown."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tui.viewmodels.lists import RowsModel


def as_csv(model: RowsModel) -> str:
    """The text of the file; ids are whole, cells are as the list says them."""
    named = [(at, column.name) for at, column in enumerate(model.columns) if column.name]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["id", *(name for _, name in named)])
    model.is_written_out = True
    for at in range(model.count):
        key = model.key(at)
        cells = model.cells(key)
        writer.writerow([model.identity_of(key), *(cells[column].text.strip() for column, _ in named)])
    model.is_written_out = False
    return text.getvalue()
