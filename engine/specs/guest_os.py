"""The guest operating systems of cloud service pools: families, and the names of their releases (POOL-5, POOL-22)."""

from __future__ import annotations

import re
from typing import NamedTuple

from engine.base.lazy import lazy_regex

NEWEST = "*"
"""The version of a pool that follows new releases of its family (POOL-28)."""

_RELEASE = lazy_regex(r"(?:WA-GUEST-OS-)?(?P<family>\d)\.\d+(?:_\d{6}-\d{2})?", re.ASCII | re.IGNORECASE)


class GuestOSFamily(NamedTuple):
    """A family of guest operating systems: the edition of Windows Server, and the .NET Framework that comes with it."""

    server: str
    dot_net: str


FAMILIES: dict[str, GuestOSFamily] = {
    "2": GuestOSFamily("2008 R2 SP1", "3.5 and 4.5.2"),
    "3": GuestOSFamily("2012", "3.5 and 4.5.2"),
    "4": GuestOSFamily("2012 R2", "3.5 and 4.5.2"),
    "5": GuestOSFamily("2016", "3.5 and 4.6.2"),
    "6": GuestOSFamily("2019", "3.5 and 4.7.2"),
}


def family_of(release: str) -> str | None:
    """Return the family of a release such as ``WA-GUEST-OS-5.20_201806-01``; None if there can be no such release."""
    form = _RELEASE.fullmatch(release)
    return form["family"] if form is not None and form["family"] in FAMILIES else None


def is_version(version: str, family: str) -> bool:
    """Return whether a pool of this family can have the version: one of its releases, or the newest."""
    return version == NEWEST or family_of(version) == family
