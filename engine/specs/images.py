"""The operating systems of nodes: marketplace images, and the guest operating systems of cloud service pools.

The catalogue holds images of today and of the years since 2017, with their node agents and the end of their support
(VM-5, POOL-26), so that old bodies are recognized. The service answers it under ``/supportedimages``; publishers,
offers and SKUs are compared without regard to case. Images age: one that is not listed may exist all the same. Guest
operating systems have families, and names for their releases (POOL-5, POOL-22).
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from difflib import get_close_matches
from functools import cache
from typing import NamedTuple

from engine.base.terms import OsFamily
from engine.base.values import lazy_regex, quoted, shortened

_WINDOWS_AGENT = "batch.node.windows amd64"
_WINDOWS_SERVER = ("MicrosoftWindowsServer", "WindowsServer", _WINDOWS_AGENT)

# Ends of support by operating system; the service stops to create pools with an image at that time.
_UBUNTU_14 = date(2019, 4, 25)
_UBUNTU_16 = date(2021, 5, 21)
_UBUNTU_18 = date(2023, 5, 31)
_UBUNTU_20 = date(2025, 4, 22)
_UBUNTU_22 = date(2027, 4, 1)
_UBUNTU_24 = date(2029, 5, 31)
_DEBIAN_8 = date(2020, 6, 30)
_DEBIAN_9 = date(2022, 6, 30)
_DEBIAN_10 = date(2024, 6, 30)
_DEBIAN_11 = date(2026, 8, 31)
_DEBIAN_12 = date(2028, 6, 30)
_CENTOS_7 = date(2024, 6, 30)
_CENTOS_8 = date(2021, 12, 31)
_EL_8 = date(2029, 3, 1)
_EL_9 = date(2032, 5, 31)
_OPENSUSE_13 = date(2017, 1, 17)
_OPENSUSE_42 = date(2019, 6, 30)
_SERVER_2008 = date(2020, 1, 14)
_SERVER_2012 = date(2023, 10, 10)
_SERVER_2016 = date(2027, 1, 12)
_SERVER_2019 = date(2029, 1, 9)
_SERVER_2022 = date(2031, 10, 14)
_SERVER_2025 = date(2034, 10, 10)

# Publisher, offer, node agent, end of support, SKUs. The first is the default of a scenario.
_TABLE: tuple[tuple[str, str, str, date, str], ...] = (
    (
        "Canonical",
        "0001-com-ubuntu-server-jammy",
        "batch.node.ubuntu 22.04",
        _UBUNTU_22,
        "22_04-lts 22_04-lts-gen2 22_04-lts-cvm",
    ),
    ("Canonical", "ubuntu-24_04-lts", "batch.node.ubuntu 24.04", _UBUNTU_24, "server server-gen1 cvm minimal"),
    (
        "Canonical",
        "0001-com-ubuntu-server-focal",
        "batch.node.ubuntu 20.04",
        _UBUNTU_20,
        "20_04-lts 20_04-lts-gen2 20_04-lts-cvm",
    ),
    ("Canonical", "UbuntuServer", "batch.node.ubuntu 18.04", _UBUNTU_18, "18.04-LTS 18_04-lts-gen2 18.04-DAILY-LTS"),
    ("Canonical", "UbuntuServer", "batch.node.ubuntu 16.04", _UBUNTU_16, "16.04-LTS 16.04.0-LTS 16_04-lts-gen2"),
    ("Canonical", "UbuntuServer", "batch.node.ubuntu 14.04", _UBUNTU_14, "14.04.0-LTS 14.04.1-LTS 14.04.5-LTS"),
    ("Debian", "debian-12", "batch.node.debian 12", _DEBIAN_12, "12 12-gen2"),
    ("Debian", "debian-11", "batch.node.debian 11", _DEBIAN_11, "11 11-gen2 11-backports 11-backports-gen2"),
    ("Debian", "debian-10", "batch.node.debian 10", _DEBIAN_10, "10 10-gen2 10-backports 10-backports-gen2"),
    ("credativ", "Debian", "batch.node.debian 9", _DEBIAN_9, "9 9-backports"),
    ("credativ", "Debian", "batch.node.debian 8", _DEBIAN_8, "8"),
    ("almalinux", "almalinux-x86_64", "batch.node.el 9", _EL_9, "9-gen1 9-gen2"),
    ("almalinux", "almalinux-x86_64", "batch.node.el 8", _EL_8, "8-gen1 8-gen2"),
    ("almalinux", "almalinux", "batch.node.el 9", _EL_9, "9-gen1 9-gen2"),
    ("almalinux", "almalinux", "batch.node.el 8", _EL_8, "8-gen1 8-gen2 8_4 8_4-gen2 8_5 8_5-gen2"),
    (
        "almalinux",
        "almalinux-hpc",
        "batch.node.el 8",
        _EL_8,
        "8_5-hpc 8_5-hpc-gen2 8_6-hpc 8_6-hpc-gen2 8_7-hpc-gen1 8_7-hpc-gen2 8_10-hpc-gen1 8_10-hpc-gen2",
    ),
    ("OpenLogic", "CentOS", "batch.node.centos 8", _CENTOS_8, "8_0 8_1 8_2 8_2-gen2 8_3 8_3-gen2 8_4 8_4-gen2"),
    (
        "OpenLogic",
        "CentOS",
        "batch.node.centos 7",
        _CENTOS_7,
        "7.0 7.1 7.2 7.3 7.4 7.5 7.6 7.7 7_4-gen2 7_5-gen2 7_6-gen2 7_7-gen2 7_8 7_8-gen2 7_9 7_9-gen2",
    ),
    ("OpenLogic", "CentOS-HPC", "batch.node.centos 8", _CENTOS_8, "8_1 8_1-gen2"),
    (
        "OpenLogic",
        "CentOS-HPC",
        "batch.node.centos 7",
        _CENTOS_7,
        "7.1 7.3 7.4 7.6 7.7 7_6gen2 7_7-gen2 7_8 7_8-gen2 7_9 7_9-gen2",
    ),
    ("Oracle", "Oracle-Linux", "batch.node.centos 7", _CENTOS_7, "7.0 7.2 7.3 7.4 7.5 7.6"),
    ("SUSE", "openSUSE-Leap", "batch.node.opensuse 42.1", _OPENSUSE_42, "42.1 42.2 42.3"),
    ("SUSE", "openSUSE", "batch.node.opensuse 13.2", _OPENSUSE_13, "13.2"),
    ("SUSE", "SLES", "batch.node.opensuse 42.1", _OPENSUSE_42, "12-SP1 12-SP2 12-SP3"),
    ("SUSE", "SLES-HPC", "batch.node.opensuse 42.1", _OPENSUSE_42, "12-SP1 12-SP2 12-SP3"),
    ("microsoft-dsvm", "ubuntu-hpc", "batch.node.ubuntu 24.04", _UBUNTU_24, "2404"),
    ("microsoft-dsvm", "ubuntu-hpc", "batch.node.ubuntu 22.04", _UBUNTU_22, "2204"),
    ("microsoft-dsvm", "ubuntu-hpc", "batch.node.ubuntu 20.04", _UBUNTU_20, "2004"),
    ("microsoft-dsvm", "ubuntu-hpc", "batch.node.ubuntu 18.04", _UBUNTU_18, "1804"),
    ("microsoft-dsvm", "ubuntu-2204", "batch.node.ubuntu 22.04", _UBUNTU_22, "2204-gen2"),
    ("microsoft-dsvm", "ubuntu-2004", "batch.node.ubuntu 20.04", _UBUNTU_20, "2004 2004-gen2"),
    ("microsoft-dsvm", "ubuntu-1804", "batch.node.ubuntu 18.04", _UBUNTU_18, "1804 1804-gen2"),
    ("microsoft-dsvm", "dsvm-win-2022", _WINDOWS_AGENT, _SERVER_2022, "winserver-2022"),
    ("microsoft-dsvm", "dsvm-win-2019", _WINDOWS_AGENT, _SERVER_2019, "server-2019 server-2019-g2 winserver-2019"),
    ("microsoft-dsvm", "dsvm-windows", _WINDOWS_AGENT, _SERVER_2016, "server-2016"),
    ("microsoft-ads", "linux-data-science-vm", "batch.node.centos 7", _CENTOS_7, "linuxdsvm linuxdsvmbyol"),
    ("microsoft-ads", "standard-data-science-vm", _WINDOWS_AGENT, _SERVER_2012, "standard-data-science-vm"),
    ("microsoft-azure-batch", "ubuntu-server-container", "batch.node.ubuntu 20.04", _UBUNTU_20, "20-04-lts 20.04-lts"),
    ("microsoft-azure-batch", "ubuntu-server-container", "batch.node.ubuntu 18.04", _UBUNTU_18, "18-04-lts"),
    ("microsoft-azure-batch", "ubuntu-server-container", "batch.node.ubuntu 16.04", _UBUNTU_16, "16-04-lts"),
    ("microsoft-azure-batch", "ubuntu-server-container-rdma", "batch.node.ubuntu 20.04", _UBUNTU_20, "20-04-lts"),
    ("microsoft-azure-batch", "ubuntu-server-container-rdma", "batch.node.ubuntu 18.04", _UBUNTU_18, "18-04-lts"),
    ("microsoft-azure-batch", "ubuntu-server-container-rdma", "batch.node.ubuntu 16.04", _UBUNTU_16, "16-04-lts"),
    ("microsoft-azure-batch", "centos-container", "batch.node.centos 8", _CENTOS_8, "8-1 8-2 8-3"),
    ("microsoft-azure-batch", "centos-container", "batch.node.centos 7", _CENTOS_7, "7-4 7-5 7-6 7-7 7-8 7-9"),
    ("microsoft-azure-batch", "centos-container-rdma", "batch.node.centos 8", _CENTOS_8, "8-1"),
    ("microsoft-azure-batch", "centos-container-rdma", "batch.node.centos 7", _CENTOS_7, "7-3 7-4 7-6 7-7 7-8 7-9"),
    (
        *_WINDOWS_SERVER,
        _SERVER_2025,
        "2025-datacenter 2025-datacenter-g2 2025-datacenter-smalldisk 2025-datacenter-smalldisk-g2"
        " 2025-datacenter-core 2025-datacenter-core-g2 2025-datacenter-core-smalldisk"
        " 2025-datacenter-core-smalldisk-g2 2025-datacenter-azure-edition 2025-datacenter-azure-edition-core"
        " 2025-datacenter-azure-edition-smalldisk",
    ),
    (
        *_WINDOWS_SERVER,
        _SERVER_2022,
        "2022-datacenter 2022-datacenter-g2 2022-datacenter-smalldisk 2022-datacenter-smalldisk-g2"
        " 2022-datacenter-core 2022-datacenter-core-g2 2022-datacenter-core-smalldisk"
        " 2022-datacenter-core-smalldisk-g2 2022-datacenter-azure-edition 2022-datacenter-azure-edition-core"
        " 2022-datacenter-azure-edition-smalldisk",
    ),
    (
        *_WINDOWS_SERVER,
        _SERVER_2019,
        "2019-datacenter 2019-datacenter-gensecond 2019-datacenter-smalldisk 2019-datacenter-smalldisk-g2"
        " 2019-datacenter-core 2019-datacenter-core-g2 2019-datacenter-core-smalldisk"
        " 2019-datacenter-core-smalldisk-g2 2019-datacenter-with-containers 2019-datacenter-with-containers-g2"
        " 2019-datacenter-with-containers-smalldisk 2019-datacenter-core-with-containers"
        " 2019-datacenter-core-with-containers-smalldisk",
    ),
    (
        *_WINDOWS_SERVER,
        _SERVER_2016,
        "2016-datacenter 2016-datacenter-gensecond 2016-datacenter-smalldisk 2016-datacenter-server-core"
        " 2016-datacenter-server-core-smalldisk 2016-datacenter-with-containers"
        " 2016-datacenter-with-containers-g2",
    ),
    (
        *_WINDOWS_SERVER,
        _SERVER_2012,
        "2012-datacenter 2012-datacenter-smalldisk 2012-r2-datacenter 2012-r2-datacenter-gensecond"
        " 2012-r2-datacenter-smalldisk",
    ),
    (*_WINDOWS_SERVER, _SERVER_2008, "2008-r2-sp1 2008-r2-sp1-smalldisk"),
)


# Another agent with which the examples of the service's own specification use an image.
_OTHER_AGENTS = {("ubuntu-24_04-lts", "server"): "batch.node.ubuntu 20.04"}


class Image(NamedTuple):
    """A marketplace image: its node agent, and the day on which the service stops to create pools with it."""

    publisher: str
    offer: str
    sku: str
    node_agent_sku_id: str
    end_of_support: date

    @property
    def os(self) -> OsFamily:
        """The operating system, as the node agent says."""
        return OsFamily.WINDOWS if "windows" in self.node_agent_sku_id else OsFamily.LINUX

    def takes(self, agent: str) -> bool:
        """Return whether the node agent fits, without regard to case."""
        return agent.lower() in (self.node_agent_sku_id, _OTHER_AGENTS.get((self.offer, self.sku)))

    def has_ended(self, start: datetime) -> bool:
        """Return whether the support has ended at this moment."""
        return self.end_of_support <= start.astimezone(UTC).date()


IMAGES: tuple[Image, ...] = tuple(
    Image(publisher, offer, sku, agent, end) for publisher, offer, agent, end, skus in _TABLE for sku in skus.split()
)
DEFAULT_IMAGE = IMAGES[0]


@cache
def _by_name() -> dict[tuple[str, str, str], Image]:
    return {_key(image.publisher, image.offer, image.sku): image for image in IMAGES}


def _key(publisher: str, offer: str, sku: str) -> tuple[str, str, str]:
    return publisher.lower(), offer.lower(), sku.lower()


def find(publisher: str, offer: str, sku: str) -> Image | None:
    """Return the image of this name, or None if the catalogue does not know it."""
    return _by_name().get(_key(publisher, offer, sku))


def warning(publisher: str, offer: str, sku: str, start: datetime, *, exists: bool = False) -> str | None:
    """Return what a user should know of a marketplace image: it is unknown, or its support has ended before ``start``.

    None if there is nothing to say. A pool that ``exists`` keeps its image when the support ends.
    """
    image = find(publisher, offer, sku)
    name = f"{shortened(publisher)} {shortened(offer)} {shortened(sku)}"
    if image is None:
        return f"the catalogue has no image {name}, so its node agent is not checked{_nearest(publisher, offer, sku)}"
    if image.has_ended(start) and not exists:
        return f"the support of {name} ended on {image.end_of_support}: the service creates no new pools with it"
    return None


def _nearest(publisher: str, offer: str, sku: str) -> str:
    """Return a question with the first part of the name that is unknown, and what is most like it."""
    known = list(IMAGES)
    for word, part in ((publisher, "publisher"), (offer, "offer"), (sku, "sku")):
        names = {getattr(image, part).lower(): getattr(image, part) for image in known}
        if word.lower() not in names:
            near = get_close_matches(word.lower(), names, n=1, cutoff=0.5) if len(word) <= 100 else []
            return f"; did you mean the {part} {quoted(names[near[0]])}?" if near else ""
        known = [image for image in known if getattr(image, part).lower() == word.lower()]
    return ""


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
