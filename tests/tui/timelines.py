"""The timeline without a screen: its model, and the text of a row."""

from __future__ import annotations

from tui.viewmodels.text import plain
from tui.viewmodels.timeline.timeline import TimelineModel


def model_of(session, cells=100, seconds=5):
    """The timeline with columns of so many seconds; None fits them to the run."""
    model = TimelineModel(session)
    if seconds is not None:
        model.recall({"step_ms": round(seconds * 1000)})
    model.update(cells)
    return model


def row(model, index):
    return plain(model.row_lines(index, is_cursor=False)[0])
