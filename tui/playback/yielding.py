"""Work that is done in slices, between which the yielder of the application gives key presses precedence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from textual.dom import DOMNode
    from textual.worker import Worker, WorkType

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


def start_work(node: DOMNode, work: Callable[[], Coroutine[None, None, None]], group: str) -> Worker[None]:
    """Start work of this widget or screen in a worker, in place of what it does in the same group until now.

    The work is a function, not a coroutine: Python would complain of a coroutine that is cancelled before it has begun.
    """
    given: WorkType[None] = work  # Textual's type would also allow functions whose result is a coroutine
    return node.run_worker(given, group=group, exclusive=True)
