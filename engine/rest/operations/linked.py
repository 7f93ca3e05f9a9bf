"""Checks of the resources outside the account that a new pool names: its subnet and its image.

A scenario may name any, since it describes them itself. A client means real ones, of which the service refuses those
that cannot exist.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from engine.base.errors import BatchError

if TYPE_CHECKING:
    from collections.abc import Mapping

_NOBODYS = "/subscriptions/00000000-0000-0000-0000-000000000000/"
_IMAGE_ID = re.compile(
    r"/subscriptions/[^/\s]+/resourceGroups/[^/\s]+/providers/Microsoft\.Compute"
    r"/(galleries/[^/\s]+/images/[^/\s]+(/versions/[^/\s]+)?|images/[^/\s]+)/?",
    re.IGNORECASE,
)


def check_linked(body: Mapping[str, Any]) -> None:
    """Refuse a new pool with a subnet of no subscription, or an image id of another form than such ids have.

    Args:
        body: The pool, in the spelling of its class.

    Raises:
        BatchError: InvalidPropertyValue, naming the property.
    """
    subnet = _text(body, "networkConfiguration", "subnetId")
    if subnet.lower().startswith(_NOBODYS):
        _refuse("subnetId", subnet, "its VNet must be in the subscription of the account, and none has this id")
    image = _text(body, "virtualMachineConfiguration", "imageReference", "virtualMachineImageId")
    if image and not _IMAGE_ID.fullmatch(image):
        _refuse("virtualMachineImageId", image, "is not the resource id of an image in an Azure Compute Gallery")


def _text(body: object, *names: str) -> str:
    for name in names:
        body = body.get(name) if isinstance(body, dict) else None
    return body if isinstance(body, str) else ""


def _refuse(name: str, value: str, reason: str) -> None:
    raise BatchError("InvalidPropertyValue", reason, PropertyName=name, PropertyValue=value)
