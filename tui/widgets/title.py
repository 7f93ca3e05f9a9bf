"""The heading in a widget's border. To set it draws the whole widget anew, so it is set only when it changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.content import Content

if TYPE_CHECKING:
    from textual.widget import Widget


def entitle(widget: Widget, title: str, subtitle: str | None = None) -> None:
    """Give the widget this heading; nothing in it is markup. Without ``subtitle`` what stands below stays."""
    if widget.border_title != Content(title).markup:
        widget.border_title = Content(title)
    if subtitle is not None and widget.border_subtitle != Content(subtitle).markup:
        widget.border_subtitle = Content(subtitle)
