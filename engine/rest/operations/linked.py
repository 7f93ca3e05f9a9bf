"""Checks of the resources outside the account that a new pool names: its subnet and its image.

A scenario may name any, since it describes them itself. A client means real ones, of which the service refuses those
that cannot exist (NET-2, POOL-4).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from engine.base.errors import BatchError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from engine.specs.account import Account

_NIL = "00000000-0000-0000-0000-000000000000"  # the UUID that stands for none
_IMAGE_ID = re.compile(
    r"/subscriptions/[^/\s]+/resourceGroups/[^/\s]+/providers/Microsoft\.Compute"
    r"/(galleries/[^/\s]+/images/[^/\s]+(/versions/[^/\s]+)?|images/[^/\s]+)/?",
    re.IGNORECASE,
)


def check_linked(body: Mapping[str, Any], account: Account) -> None:
    """Refuse a new pool whose subnet is in no subscription, or whose image has no image's resource id.

    The virtual network must be in the account's subscription (NET-2), which no subscription with the nil id is, unless
    the scenario says so. An image by its id must be one of a gallery, or a managed one (POOL-4).

    Args:
        body: The pool, in the spelling of its class.
        account: The account.

    Raises:
        BatchError: InvalidPropertyValue, naming the property.
    """
    subnet = _text(body, "networkConfiguration", "subnetId")
    if subnet.lower().startswith(f"/subscriptions/{_NIL}/") and account.subscription_id != _NIL:
        _refuse("subnetId", subnet, "its VNet must be in the account's subscription, which cannot have the nil id")
    image = _text(body, "virtualMachineConfiguration", "imageReference", "virtualMachineImageId")
    if image and not _IMAGE_ID.fullmatch(image):
        _refuse("virtualMachineImageId", image, "is not the resource id of an image in an Azure Compute Gallery")


def _text(body: object, *names: str) -> str:
    for name in names:
        body = body.get(name) if isinstance(body, dict) else None
    return body if isinstance(body, str) else ""


def _refuse(name: str, value: str, reason: str) -> None:
    raise BatchError("InvalidPropertyValue", reason, PropertyName=name, PropertyValue=value)
