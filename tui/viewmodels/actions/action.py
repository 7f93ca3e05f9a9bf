"""The definition of an action: the rows it is for, its form, its command, and its effects."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, NamedTuple

from engine.scenario.typed import AccountInForce
from tui.viewmodels.actions.fields import Body, Field, T

if TYPE_CHECKING:
    from tui.viewmodels.session.session import Session


class Choice(NamedTuple):
    """A choice of the form: what it adds to the command's body, and its text."""

    body: Body
    text: str


class Better(NamedTuple):
    """Another action that suits a row better: its command, and the reason."""

    command: str
    why: str


Caution = tuple[str, str]
"""A property of a body, and a sentence about what it probably should not be."""


class Document(NamedTuple):
    """The body of a command, which a form shows in part and an editor as a whole.

    ``start`` is the body to begin with. Of a body that changes something only the properties that differ from it are
    sent if ``is_patch``. ``unfold`` puts a body into the form whose properties the fields name, ``fold`` back.
    ``cautions`` returns what the service accepts in a body, though it is probably not meant.
    """

    start: Body
    is_patch: bool = False
    unfold: Callable[[Body], Body] = lambda body: body
    fold: Callable[[Body], Body] = lambda body: body
    account: AccountInForce | None = None  # for what the service would refuse in a pool
    cautions: Callable[[Body], Sequence[Caution]] = lambda _: ()


def _always(_row: object, _texts: Mapping[str, str]) -> bool:
    return True


@dataclass(frozen=True)
class ActionType(Generic[T]):
    """An action on rows of one kind. ``{}`` in the title stands for the name of the row."""

    title: str
    command: str
    choices: tuple[Choice, ...] = ()
    fields: tuple[Field[T], ...] = ()
    document: Callable[[T, Session], Document] | None = None  # the body, if it can be written as a whole
    asks: Callable[[T, Mapping[str, str]], bool] = _always  # whether the choices matter for what is typed
    adds: Body = field(default_factory=dict)  # fixed part of the body
    body: Callable[[T], Body] | None = None  # the whole body, if it does not name the row
    counts: Callable[[T], Mapping[str, int]] = lambda _: {}  # affected items; added up over all rows
    effects: Callable[[T], Sequence[str]] = lambda _: ()
    choice_effects: tuple[str, ...] = ()  # further ones, only where the choices matter
    unavailable: Callable[[T], str] = lambda _: ""  # why the service would refuse it now
    offered: Callable[[T], bool] = lambda _: True
    better: Callable[[T], Better | None] = lambda _: None
    cannot_be_undone: bool = False
    asks_for_id: bool = False  # the user confirms by typing the id
    asks_for_count: bool = False  # the user confirms several rows by typing their number
    opens_formula: bool = False  # the formula editor takes the place of the form
    is_for_one: bool = False  # not offered for several rows
    lists: str = ""  # the property that lists the nodes of one command for all


def options(name: str, *, keeps_data: bool, verb: str) -> tuple[Choice, ...]:
    """Return the choices for running tasks before ``verb`` happens.

    ``keeps_data`` adds the choice to wait for the retention of their files.
    """
    texts = {
        "requeue": f"Requeue: stop them, queue them again, {verb} now",
        "terminate": f"Terminate: stop them for good, {verb} now",
        "taskcompletion": f"Task completion: no new tasks, {verb} when they have ended",
        "retaineddata": "Retained data (deprecated): then wait for the files too",
    }
    return tuple(Choice({name: value}, text) for value, text in texts.items() if keeps_data or value != "retaineddata")


# The durations of a fault.
LASTING = (
    Choice({"for": "PT10M"}, "for ten minutes"),
    Choice({"for": "PT1H"}, "for an hour"),
    Choice({}, "until somebody repairs it"),
)
