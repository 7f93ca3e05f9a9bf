"""Widgets that are hidden and shown again."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from textual import events
    from textual.geometry import Size


class Resized:
    """Tells another size from being shown again, which Textual announces as a resize as well."""

    _laid_out: Size | None = None

    def has_other_size(self, event: events.Resize) -> bool:
        """Whether the widget had another size when it was laid out last, or had none."""
        is_other, self._laid_out = event.size != self._laid_out, event.size
        return is_other
