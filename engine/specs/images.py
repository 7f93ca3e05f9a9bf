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
from engine.base.values import lazy_regex, quoted, read_table, shortened

# The operating systems: their node agents, the end of their support, and their code names.
_SYSTEMS = {system: facts for system, *facts in read_table("systems.csv", __file__)}

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
    Image(publisher, offer, sku, _SYSTEMS[system][0], date.fromisoformat(_SYSTEMS[system][1]))
    for publisher, offer, system, skus in read_table("images.csv", __file__)
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
            "flags": "fpu sse sse2 ssse3 fma sse4_1 sse4_2 popcnt aes avx f16c rdrand hypervisor bmi1 avx2 bmi2",
        }  # fmt: skip
        return "".join(f"{name:<16}: {fact}\n" for name, fact in facts.items()) + "\n"

    def _os_release(self) -> str | None:
        system = self.node_agent_sku_id.lower().removeprefix("batch.node.")
        family, _, version = system.partition(" ")
        if family not in _NAMES:
            return None
        name, identifier, like = _NAMES[family]
        *_, code_name = _SYSTEMS.get(system, ("",))
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
