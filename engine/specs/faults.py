"""What happens to the world from outside, beyond the service's operations."""

from __future__ import annotations

from typing import Annotated

from pydantic import AliasChoices, Field

from engine.base.terms import WireOption
from engine.specs.base import Int, OptionalDuration, Text
from engine.specs.entry import CommandBody, OnNode

_FOR = AliasChoices("for")


class NodeFault(WireOption):
    """How a node fails (NODE-8)."""

    UNUSABLE = "unusable"
    UNKNOWN = "unknown"


class FailNode(OnNode):
    """NODE-11: the node is of no use, for ``for_ms`` milliseconds or until it is recovered."""

    NAME = "failNode"

    state: NodeFault = NodeFault.UNUSABLE
    code: Text | None = None
    for_ms: OptionalDuration = Field(default=None, validation_alias=_FOR, serialization_alias="for")


class EvictNode(OnNode):
    """The notice that a Spot node's VM will be taken back (SPOT-3, SPOT-7)."""

    NAME = "evictNode"
    RULE = "SPOT-7"


class AllocationError(WireOption):
    """ERR-R: what a resize says that finds no capacity, or the like."""

    ALLOCATION_FAILED = "AllocationFailed"
    OVERCONSTRAINED = "OverconstrainedAllocationRequestError"
    RESOURCE_NOT_FOUND = "DependentResourceNotFound"


class Capacity(CommandBody):
    """How many nodes of a size the region can still give, and what a resize says that wants more (RSZ-12)."""

    NAME = "capacity"

    vm_size: Text
    nodes: Annotated[Int, Field(ge=0)]
    code: AllocationError = AllocationError.ALLOCATION_FAILED


class StorageOutage(CommandBody):
    """Storage does not answer for ``for_ms`` milliseconds; None is until the end."""

    NAME = "storageOutage"

    for_ms: OptionalDuration = Field(default=None, validation_alias=_FOR, serialization_alias="for")
