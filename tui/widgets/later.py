"""Calls that wait until the screen has been drawn, of widgets that may have been removed by then."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from textual.message_pump import MessagePump

if TYPE_CHECKING:
    from collections.abc import Callable


class ActsWhileShown(MessagePump):
    """A mixin of what may be removed, with all that is in it, before the screen is drawn again.

    Textual would call it all the same: the next screen does what waited for the one before.
    """

    def call_after_refresh(self, callback: Callable[..., object], *args: object, **kwargs: object) -> bool:
        """Call a function, that is not asynchronous, when the screen has been drawn, unless this is removed before."""
        return super().call_after_refresh(self._call_while_shown, partial(callback, *args, **kwargs))

    def _call_while_shown(self, callback: Callable[[], object]) -> None:
        if self.is_attached:
            callback()
