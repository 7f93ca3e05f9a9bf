"""What all commands have in common: a name, a subject, and the way back to an entry of a timeline."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Self

from pydantic import Field, PlainValidator, WithJsonSchema, model_validator

from engine.specs.base import Int, Spec, Text


class CommandBody(Spec):
    """Base of the commands; ``NAME`` is the operation's name on the wire, ``RULE`` what its event in the log cites."""

    NAME: ClassVar[str]
    RULE: ClassVar[str | None] = None

    def wire(self) -> dict[str, Any]:
        """What was given, under its wire names; ``from_wire`` makes an equal command of it."""
        return self.written()


class OnPool(CommandBody):
    """Acts on a pool."""

    pool_id: Text


class OnNode(OnPool):
    """Acts on a node, named by its id or by its index in the pool's history."""

    node_id: Text | None = None
    node: Annotated[Int, Field(ge=0)] | None = None

    @model_validator(mode="after")
    def _names_one_node(self) -> Self:
        if (self.node_id is None) == (self.node is None):
            raise ValueError("should name one node, by nodeId or by node, its index")
        return self


class OnJob(CommandBody):
    """Acts on a job."""

    job_id: Text


class OnTask(OnJob):
    """Acts on a task."""

    task_id: Text


class OnJobSchedule(CommandBody):
    """Acts on a job schedule."""

    job_schedule_id: Text


def _parse_node_name(value: object) -> str | int:
    if isinstance(value, str) or (type(value) is int and value >= 0):
        return value
    raise ValueError(f"{value!r} is neither the id of a node nor the index of one")


NodeName = Annotated[
    str | int,
    PlainValidator(_parse_node_name),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "integer", "minimum": 0}]}),
]
