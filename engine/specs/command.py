"""Base classes of the commands: the name on the wire, and the pool, node, job or task that a command is about."""

from typing import Annotated, Any, ClassVar, Self

from pydantic import Field, PlainValidator, WithJsonSchema, model_validator

from engine.base.values import quoted
from engine.specs.base import Int, Occasional, Text

REGISTERED: dict[str, type["Command"]] = {}
"""The commands by their names on the wire, in the order of their definition: see ``commands.COMMANDS``."""


class Command(Occasional):
    """Base of the commands: ``NAME`` is the name on the wire, ``RULE`` the rule that the log entry cites."""

    NAME: ClassVar[str]
    RULE: ClassVar[str | None] = None

    def __init_subclass__(cls, *, abstract: bool = False) -> None:
        """Add the class to ``REGISTERED`` unless it is only a base of commands."""
        super().__init_subclass__()
        if not abstract:
            cls.NAME = cls.__name__[0].lower() + cls.__name__[1:]
            REGISTERED[cls.NAME] = cls

    def wire(self) -> dict[str, Any]:
        """Return what was given under its wire names; ``from_wire`` makes an equal command of it."""
        return self.written()


class OnPool(Command, abstract=True):
    """A command on a pool."""

    pool_id: Text


class OnNode(OnPool, abstract=True):
    """A command on a node, named by its id or its index in the pool."""

    node_id: Text | None = None
    node: Annotated[Int, Field(ge=0)] | None = None

    @model_validator(mode="after")
    def _names_one_node(self) -> Self:
        if (self.node_id is None) == (self.node is None):
            raise ValueError("must name one node, by nodeId or by its index, node")
        return self


class OnJob(Command, abstract=True):
    """A command on a job."""

    job_id: Text


class OnTask(OnJob, abstract=True):
    """A command on a task."""

    task_id: Text


class OnJobSchedule(Command, abstract=True):
    """A command on a job schedule."""

    job_schedule_id: Text


def _parse_node_name(value: object) -> str | int:
    if isinstance(value, str) or (type(value) is int and value >= 0):
        return value
    raise ValueError(f"{quoted(value)} is neither the id of a node nor the index of one")


NodeName = Annotated[
    str | int,
    PlainValidator(_parse_node_name),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "integer", "minimum": 0}]}),
]


class OnCertificate(Command, abstract=True):
    """A command on a certificate."""

    thumbprint: Text
    thumbprint_algorithm: Text = "sha1"


class OnApplication(Command, abstract=True):
    """A command on an application: an operation of the management service."""

    application_id: Text
