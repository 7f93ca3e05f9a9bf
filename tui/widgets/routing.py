"""Ways to do with fewer messages than Textual sends."""

from __future__ import annotations

from asyncio import get_running_loop
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from textual.message import Message
    from textual.message_pump import MessagePump
    from textual.widget import Widget


@cache
def handles(kind: type[MessagePump], name: str, beside: tuple[type, ...] = ()) -> bool:
    """Return whether a class has a handler of this name; those of the classes ``beside`` do not count."""
    parts = [each.__dict__ for each in kind.__mro__ if each not in beside]
    return any(
        name in part
        or f"_{name}" in part
        or any(event.handler_name == name for event in part.get("_decorated_handlers", ()))
        for part in parts
    )


def post_around(widget: Widget, message: Message) -> None:
    """Post a message to the widgets around that handle it. Bubbling, it would be posted to all of them in turn."""
    message.stop()
    for each in widget.ancestors:
        if handles(type(each), message.handler_name):
            each.post_message(message)


def ask_screen(widget: Widget) -> bool:
    """Ask the screen to draw a widget, if that is all it needs. Return whether it is.

    In place of ``check_idle``, with which Textual takes two messages for it: to the widget, and to the screen.
    """
    needs_more = widget._layout_required or widget._scroll_required or widget._refresh_styles_required
    is_there = widget._is_mounted and widget._parent is not None and not widget._closing and widget.display
    if needs_more or not widget._repaint_required or not is_there:
        return False
    widget._repaint_required, screen = False, widget.screen
    if screen in screen._compositor:  # it has been laid out
        screen._dirty_widgets.add(widget)
        # As late as after a message: other widgets may be drawn, or laid out, because of messages.
        get_running_loop().call_soon(screen.check_idle)
    return True
