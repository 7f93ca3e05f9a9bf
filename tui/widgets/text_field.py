"""A line of text that is typed."""

from __future__ import annotations

from typing import Any

from textual.geometry import Size
from textual.reactive import Reactive
from textual.widgets import Input


class TextField(Input):
    """An input without a blinking cursor."""

    cursor_blink = False
    # The text scrolls within one line: another length is no reason to lay out the whole screen at each key.
    virtual_size: Reactive[Size] = Reactive(Size(0, 0), layout=False)

    def __init__(self, *args: Any, select_on_focus: bool = False, **how: Any) -> None:  # noqa: ANN401  # as Textual declares them
        """Take the arguments of ``Input``; by default the text is not selected when the field gets the focus."""
        super().__init__(*args, compact=True, select_on_focus=select_on_focus, **how)
