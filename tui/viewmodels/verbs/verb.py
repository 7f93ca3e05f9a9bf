"""A verb: something that can be done to a row, how, and what follows by the rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar

Body = Mapping[str, object]


class Choice(NamedTuple):
    """One way to carry a verb out: what it adds to the body, and what happens then."""

    body: Body
    text: str


T = TypeVar("T")


@dataclass(frozen=True)
class Verb(Generic[T]):
    """Something that can be done to rows of one kind. ``{}`` in the title stands for whose row it is."""

    title: str
    command: str
    choices: tuple[Choice, ...] = ()
    asks: str = ""  # the property whose whole number is typed
    in_minutes: bool = False  # what is typed stands for a duration
    prompt: Callable[[T], str] = lambda _: ""  # what is to be typed
    adds: Body = field(default_factory=dict)  # what the body always has
    body: Callable[[T], Body] | None = None  # the body where it does not name the row
    effects: Callable[[T], Sequence[str]] = lambda _: ()
    unavailable: Callable[[T], str] = lambda _: ""  # why it makes no sense now: the service would refuse it
    offered: Callable[[T], bool] = lambda _: True
    cannot_be_undone: bool = False
    has_form: bool = False  # what is done is asked in a form of its own
    lists: str = ""  # the property that lists all nodes, where one command does for all


def options(name: str, *, keeps_data: bool) -> tuple[Choice, ...]:
    """What becomes of running tasks; ``keeps_data``: waiting for the retention of their files is one of the ways."""
    texts = {
        "requeue": "Requeue: stop running tasks and queue them again",
        "terminate": "Terminate: stop running tasks for good; they complete with a failure",
        "taskcompletion": "Task completion: no new tasks, begin when the running ones have ended",
        "retaineddata": "Retained data: the same, then wait for the retention of their files",
    }
    return tuple(Choice({name: value}, text) for value, text in texts.items() if keeps_data or value != "retaineddata")


# How long a fault lasts.
LASTING = (
    Choice({"for": "PT10M"}, "for ten minutes"),
    Choice({"for": "PT1H"}, "for an hour"),
    Choice({}, "until something is done about it"),
)
