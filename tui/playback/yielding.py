"""Finding the yielder of the application, which gives key presses precedence over slices of work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from textual.dom import DOMNode

    from engine.pacing.yielding import Yielder


@runtime_checkable
class _HasYielder(Protocol):
    @property
    def yielder(self) -> Yielder: ...

    @property
    def has_keys_waiting(self) -> bool: ...


def yielder_of(node: DOMNode) -> Yielder:
    """Return the yielder of the application that shows this widget or screen."""
    assert isinstance(node.app, _HasYielder)
    return node.app.yielder


def has_keys_waiting(node: DOMNode) -> bool:
    """Return True while the application that shows this widget or screen has keys to handle after the present one."""
    assert isinstance(node.app, _HasYielder)
    return node.app.has_keys_waiting
