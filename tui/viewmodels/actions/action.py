"""The definition of an action: the rows it is for, its form, its command, and its effects."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar

from engine.base.shortening import quoted

Body = Mapping[str, object]


class Choice(NamedTuple):
    """A choice of the form: what it adds to the command's body, and its text."""

    body: Body
    text: str


class Better(NamedTuple):
    """Another action that suits a row better: its command, and the reason."""

    command: str
    why: str


T = TypeVar("T")


@dataclass(frozen=True)
class Field(Generic[T]):
    """A field of the form: the property it sets, label, hint, default, and the function that reads it.

    ``read`` returns the property's value; it raises ValueError with a sentence. An empty field is left out of the body.
    """

    name: str
    label: str
    hint: str = ""
    default: Callable[[T], str] = lambda _: ""
    read: Callable[[str], object] = str

    def value(self, text: str) -> object:
        """Return what was typed as the property's value. Raises ValueError with a sentence."""
        try:
            return self.read(text)
        except ValueError as error:
            raise ValueError(f"{self.label}: {error}") from None


def whole(text: str) -> int:
    """Return the number that was typed. Raises ValueError with a sentence."""
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"{quoted(text)} must be a whole number") from None


def minutes(text: str) -> str:
    """Return a duration in minutes as ISO 8601. Raises ValueError with a sentence."""
    return f"PT{whole(text)}M"


def yes_or_no(text: str) -> bool:
    """Return True for yes and False for no. Raises ValueError with a sentence."""
    if text.lower() not in ("yes", "no"):
        raise ValueError(f"{quoted(text)} must be yes or no")
    return text.lower() == "yes"


@dataclass(frozen=True)
class ActionType(Generic[T]):
    """An action on rows of one kind. ``{}`` in the title stands for the name of the row."""

    title: str
    command: str
    choices: tuple[Choice, ...] = ()
    fields: tuple[Field[T], ...] = ()
    compose: Callable[[Body], Body] = lambda values: values  # makes the body's part from the fields' values
    adds: Body = field(default_factory=dict)  # fixed part of the body
    body: Callable[[T], Body] | None = None  # the whole body, if it does not name the row
    counts: Callable[[T], Mapping[str, int]] = lambda _: {}  # affected items; added up over all rows
    effects: Callable[[T], Sequence[str]] = lambda _: ()
    unavailable: Callable[[T], str] = lambda _: ""  # why the service would refuse it now
    offered: Callable[[T], bool] = lambda _: True
    better: Callable[[T], Better | None] = lambda _: None
    cannot_be_undone: bool = False
    asks_for_id: bool = False  # the user confirms by typing the id
    asks_for_count: bool = False  # the user confirms several rows by typing their number
    opens_formula: bool = False  # the formula editor takes the place of the form
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
