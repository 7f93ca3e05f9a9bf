"""``does`` and ``until`` of a process, kept as text: ``engine.scenario.acts`` reads them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import PlainSerializer, PlainValidator, WithJsonSchema

from engine.base.shortening import quoted


@dataclass(frozen=True, slots=True)
class Unread:
    """A part of a scenario that holds commands or conditions, as JSON text; ``engine.scenario.acts`` reads it.

    Bodies of commands hold ``simulate`` themselves, so their classes cannot be named here.
    """

    text: str

    @classmethod
    def of(cls, value: object) -> Unread:
        """Return the text of JSON data."""
        return cls(json.dumps(value, separators=(",", ":"), ensure_ascii=False))

    @property
    def plain(self) -> Any:  # noqa: ANN401 - any JSON
        """The value as JSON data."""
        return json.loads(self.text)

    def __bool__(self) -> bool:
        return self.text != "[]"


OTHERS_COMPLETED = "othersCompleted"


def is_others_completed(until: object) -> bool:
    """Return whether an ``until`` is the word for the completion of all others, in any case."""
    return isinstance(until, str) and until.lower() == OTHERS_COMPLETED.lower()


def _parse_acts(value: object) -> Unread | None:
    if value is None or isinstance(value, Unread):
        return value
    if not isinstance(value, list):
        raise ValueError("must be a list of commands such as {after: PT10S, addTasks: {tasks: [...]}}")
    return Unread.of(value)


def _parse_until(value: object) -> Unread | None:
    if value is None or isinstance(value, Unread):
        return value
    if is_others_completed(value):
        return Unread.of(OTHERS_COMPLETED)
    if not isinstance(value, dict):
        raise ValueError(
            f"must be {OTHERS_COMPLETED} or a condition such as {{jobId: risk, state: completed}}, "
            f"not {quoted(value)}; a time is a 'duration'"
        )
    return Unread.of(value)


def _write_unread(value: Unread | None) -> Any:  # noqa: ANN401 - any JSON
    return None if value is None else value.plain


ActList = Annotated[
    Unread | None,
    PlainValidator(_parse_acts),
    PlainSerializer(_write_unread),
    WithJsonSchema({"type": "array", "items": {"type": "object"}}),
]
Until = Annotated[
    Unread | None,
    PlainValidator(_parse_until),
    PlainSerializer(_write_unread),
    WithJsonSchema({"type": ["string", "object"]}),
]
