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

# The operating systems by the names of their node agents, with the end of their support, when the service stops to
# create pools with an image. All Windows Servers have the same agent.
_ENDS = {
    "ubuntu 14.04": date(2019, 4, 25),
    "ubuntu 16.04": date(2021, 5, 21),
    "ubuntu 18.04": date(2023, 5, 31),
    "ubuntu 20.04": date(2025, 4, 22),
    "ubuntu 22.04": date(2027, 4, 1),
    "ubuntu 24.04": date(2029, 5, 31),
    "debian 8": date(2020, 6, 30),
    "debian 9": date(2022, 6, 30),
    "debian 10": date(2024, 6, 30),
    "debian 11": date(2026, 8, 31),
    "debian 12": date(2028, 6, 30),
    "centos 7": date(2024, 6, 30),
    "centos 8": date(2021, 12, 31),
    "el 8": date(2029, 3, 1),
    "el 9": date(2032, 5, 31),
    "opensuse 13.2": date(2017, 1, 17),
    "opensuse 42.1": date(2019, 6, 30),
    "windows 2008": date(2020, 1, 14),
    "windows 2012": date(2023, 10, 10),
    "windows 2016": date(2027, 1, 12),
    "windows 2019": date(2029, 1, 9),
    "windows 2022": date(2031, 10, 14),
    "windows 2025": date(2034, 10, 10),
}

# The SKUs of Windows Server by year, without the year. The two newest have the same.
_EDITIONS = (
    "datacenter datacenter-g2 datacenter-smalldisk datacenter-smalldisk-g2 datacenter-core datacenter-core-g2"
    " datacenter-core-smalldisk datacenter-core-smalldisk-g2 datacenter-azure-edition datacenter-azure-edition-core"
    " datacenter-azure-edition-smalldisk"
)
_WINDOWS_SERVERS = (
    ("2025", _EDITIONS),
    ("2022", _EDITIONS),
    (
        "2019",
        "datacenter datacenter-gensecond datacenter-smalldisk datacenter-smalldisk-g2 datacenter-core"
        " datacenter-core-g2 datacenter-core-smalldisk datacenter-core-smalldisk-g2 datacenter-with-containers"
        " datacenter-with-containers-g2 datacenter-with-containers-smalldisk datacenter-core-with-containers"
        " datacenter-core-with-containers-smalldisk",
    ),
    (
        "2016",
        "datacenter datacenter-gensecond datacenter-smalldisk datacenter-server-core datacenter-server-core-smalldisk"
        " datacenter-with-containers datacenter-with-containers-g2",
    ),
    ("2012", "datacenter datacenter-smalldisk r2-datacenter r2-datacenter-gensecond r2-datacenter-smalldisk"),
    ("2008", "r2-sp1 r2-sp1-smalldisk"),
)
# Publisher, offer, operating system, SKUs. The first is the default of a scenario.
_TABLE: tuple[tuple[str, str, str, str], ...] = (
    ("Canonical", "0001-com-ubuntu-server-jammy", "ubuntu 22.04", "22_04-lts 22_04-lts-gen2 22_04-lts-cvm"),
    ("Canonical", "ubuntu-24_04-lts", "ubuntu 24.04", "server server-gen1 cvm minimal"),
    ("Canonical", "0001-com-ubuntu-server-focal", "ubuntu 20.04", "20_04-lts 20_04-lts-gen2 20_04-lts-cvm"),
    ("Canonical", "UbuntuServer", "ubuntu 18.04", "18.04-LTS 18_04-lts-gen2 18.04-DAILY-LTS"),
    ("Canonical", "UbuntuServer", "ubuntu 16.04", "16.04-LTS 16.04.0-LTS 16_04-lts-gen2"),
    ("Canonical", "UbuntuServer", "ubuntu 14.04", "14.04.0-LTS 14.04.1-LTS 14.04.5-LTS"),
    ("Debian", "debian-12", "debian 12", "12 12-gen2"),
    ("Debian", "debian-11", "debian 11", "11 11-gen2 11-backports 11-backports-gen2"),
    ("Debian", "debian-10", "debian 10", "10 10-gen2 10-backports 10-backports-gen2"),
    ("credativ", "Debian", "debian 9", "9 9-backports"),
    ("credativ", "Debian", "debian 8", "8"),
    ("almalinux", "almalinux-x86_64", "el 9", "9-gen1 9-gen2"),
    ("almalinux", "almalinux-x86_64", "el 8", "8-gen1 8-gen2"),
    ("almalinux", "almalinux", "el 9", "9-gen1 9-gen2"),
    ("almalinux", "almalinux", "el 8", "8-gen1 8-gen2 8_4 8_4-gen2 8_5 8_5-gen2"),
    (
        "almalinux",
        "almalinux-hpc",
        "el 8",
        "8_5-hpc 8_5-hpc-gen2 8_6-hpc 8_6-hpc-gen2 8_7-hpc-gen1 8_7-hpc-gen2 8_10-hpc-gen1 8_10-hpc-gen2",
    ),
    ("OpenLogic", "CentOS", "centos 8", "8_0 8_1 8_2 8_2-gen2 8_3 8_3-gen2 8_4 8_4-gen2"),
    (
        "OpenLogic",
        "CentOS",
        "centos 7",
        "7.0 7.1 7.2 7.3 7.4 7.5 7.6 7.7 7_4-gen2 7_5-gen2 7_6-gen2 7_7-gen2 7_8 7_8-gen2 7_9 7_9-gen2",
    ),
    ("OpenLogic", "CentOS-HPC", "centos 8", "8_1 8_1-gen2"),
    ("OpenLogic", "CentOS-HPC", "centos 7", "7.1 7.3 7.4 7.6 7.7 7_6gen2 7_7-gen2 7_8 7_8-gen2 7_9 7_9-gen2"),
    ("Oracle", "Oracle-Linux", "centos 7", "7.0 7.2 7.3 7.4 7.5 7.6"),
    ("SUSE", "openSUSE-Leap", "opensuse 42.1", "42.1 42.2 42.3"),
    ("SUSE", "openSUSE", "opensuse 13.2", "13.2"),
    ("SUSE", "SLES", "opensuse 42.1", "12-SP1 12-SP2 12-SP3"),
    ("SUSE", "SLES-HPC", "opensuse 42.1", "12-SP1 12-SP2 12-SP3"),
    ("microsoft-dsvm", "ubuntu-hpc", "ubuntu 24.04", "2404"),
    ("microsoft-dsvm", "ubuntu-hpc", "ubuntu 22.04", "2204"),
    ("microsoft-dsvm", "ubuntu-hpc", "ubuntu 20.04", "2004"),
    ("microsoft-dsvm", "ubuntu-hpc", "ubuntu 18.04", "1804"),
    ("microsoft-dsvm", "ubuntu-2204", "ubuntu 22.04", "2204-gen2"),
    ("microsoft-dsvm", "ubuntu-2004", "ubuntu 20.04", "2004 2004-gen2"),
    ("microsoft-dsvm", "ubuntu-1804", "ubuntu 18.04", "1804 1804-gen2"),
    ("microsoft-dsvm", "dsvm-win-2022", "windows 2022", "winserver-2022"),
    ("microsoft-dsvm", "dsvm-win-2019", "windows 2019", "server-2019 server-2019-g2 winserver-2019"),
    ("microsoft-dsvm", "dsvm-windows", "windows 2016", "server-2016"),
    ("microsoft-ads", "linux-data-science-vm", "centos 7", "linuxdsvm linuxdsvmbyol"),
    ("microsoft-ads", "standard-data-science-vm", "windows 2012", "standard-data-science-vm"),
    ("microsoft-azure-batch", "ubuntu-server-container", "ubuntu 20.04", "20-04-lts 20.04-lts"),
    ("microsoft-azure-batch", "ubuntu-server-container", "ubuntu 18.04", "18-04-lts"),
    ("microsoft-azure-batch", "ubuntu-server-container", "ubuntu 16.04", "16-04-lts"),
    ("microsoft-azure-batch", "ubuntu-server-container-rdma", "ubuntu 20.04", "20-04-lts"),
    ("microsoft-azure-batch", "ubuntu-server-container-rdma", "ubuntu 18.04", "18-04-lts"),
    ("microsoft-azure-batch", "ubuntu-server-container-rdma", "ubuntu 16.04", "16-04-lts"),
    ("microsoft-azure-batch", "centos-container", "centos 8", "8-1 8-2 8-3"),
    ("microsoft-azure-batch", "centos-container", "centos 7", "7-4 7-5 7-6 7-7 7-8 7-9"),
    ("microsoft-azure-batch", "centos-container-rdma", "centos 8", "8-1"),
    ("microsoft-azure-batch", "centos-container-rdma", "centos 7", "7-3 7-4 7-6 7-7 7-8 7-9"),
    *(
        (
            "MicrosoftWindowsServer",
            "WindowsServer",
            f"windows {year}",
            " ".join(f"{year}-{each}" for each in editions.split()),
        )
        for year, editions in _WINDOWS_SERVERS
    ),
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


def _agent(system: str) -> str:
    return "batch.node.windows amd64" if system.startswith("windows") else f"batch.node.{system}"


IMAGES: tuple[Image, ...] = tuple(
    Image(publisher, offer, sku, _agent(system), _ENDS[system])
    for publisher, offer, system, skus in _TABLE
    for sku in skus.split()
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


def warning(publisher: str, offer: str, sku: str, start: datetime, *, exists: bool = False) -> tuple[str, str] | None:
    """Return a warning about a marketplace image that is unknown, or whose support has ended before ``start``.

    The second text is its code. None if there is nothing to say. A pool that ``exists`` keeps its image.
    """
    image = find(publisher, offer, sku)
    name = f"{shortened(publisher)} {shortened(offer)} {shortened(sku)}"
    if image is None:
        near = _nearest(publisher, offer, sku)
        return f"the catalogue has no image {name}, so its node agent is not checked{near}", "image-unknown"
    if image.has_ended(start) and not exists:
        ended = f"the support of {name} ended on {image.end_of_support}"
        return f"{ended}: the service creates no new pools with it", "image-retired"
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


# The names of the systems, with the identifiers and code names that they give themselves.
_NAMES = {
    "ubuntu": ("Ubuntu", "ubuntu", "debian"),
    "debian": ("Debian GNU/Linux", "debian", ""),
    "centos": ("CentOS Linux", "centos", "rhel fedora"),
    "el": ("AlmaLinux", "almalinux", "rhel centos fedora"),
    "opensuse": ("openSUSE Leap", "opensuse-leap", "suse opensuse"),
}
_CODE_NAMES = {
    "ubuntu 14.04": "trusty", "ubuntu 16.04": "xenial", "ubuntu 18.04": "bionic", "ubuntu 20.04": "focal",
    "ubuntu 22.04": "jammy", "ubuntu 24.04": "noble", "debian 8": "jessie", "debian 9": "stretch",
    "debian 10": "buster", "debian 11": "bullseye", "debian 12": "bookworm",
}  # fmt: skip
_HOSTS = "127.0.0.1 localhost\n\n::1 ip6-localhost ip6-loopback\nfe00::0 ip6-localnet\nff02::1 ip6-allnodes\n"


class LinuxSystem(NamedTuple):
    """What a Linux node tells of itself in the files of its operating system (FILE-15)."""

    node_agent_sku_id: str
    cores: int
    memory_gib: float
    host: str
    user: str

    def text(self, path: str) -> str | None:
        """Return the text of a file, or None if it is not simulated."""
        match path:
            case "/etc/os-release" | "/usr/lib/os-release":
                return self._os_release()
            case "/etc/hostname":
                return f"{self.host}\n"
            case "/etc/hosts":
                return _HOSTS
            case "/etc/passwd":
                users = ("root:x:0:0:root:/root:/bin/bash", "nobody:x:65534:65534:nobody:/:/usr/sbin/nologin")
                own = (f"{self.user}:x:1000:1000::/home/{self.user}:/bin/bash",) if self.user != "root" else ()
                return "".join(f"{line}\n" for line in (*users, *own))
            case "/proc/cpuinfo":
                return "".join(self._processor(number) for number in range(self.cores))
            case "/proc/meminfo":
                total = round(self.memory_gib * 1024 * 1024)
                figures = {"MemTotal": total, "MemFree": total, "MemAvailable": total, "SwapTotal": 0, "SwapFree": 0}
                return "".join(f"{name + ':':<15} {figure:>8} kB\n" for name, figure in figures.items())
        return None

    def _processor(self, number: int) -> str:
        facts = {
            "processor": number, "vendor_id": "GenuineIntel", "model name": "Intel(R) Xeon(R) Platinum CPU",
            "physical id": 0, "siblings": self.cores, "core id": number, "cpu cores": self.cores,
        }  # fmt: skip
        return "".join(f"{name:<16}: {fact}\n" for name, fact in facts.items()) + "\n"

    def _os_release(self) -> str | None:
        system = self.node_agent_sku_id.lower().removeprefix("batch.node.")
        family, _, version = system.partition(" ")
        if family not in _NAMES:
            return None
        name, identifier, like = _NAMES[family]
        code_name = _CODE_NAMES.get(system, "")
        facts = {"PRETTY_NAME": f'"{name} {version}"', "NAME": f'"{name}"', "VERSION_ID": f'"{version}"'}
        facts |= {"VERSION_CODENAME": code_name} if code_name else {}
        facts |= {"ID": identifier if family in ("ubuntu", "debian") else f'"{identifier}"'}
        facts |= {"ID_LIKE": like if " " not in like else f'"{like}"'} if like else {}
        return "".join(f"{key}={value}\n" for key, value in facts.items())


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
