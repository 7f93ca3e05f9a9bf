"""The catalogue of Azure: VM sizes with their prices and retirement, and default timings. Images are in ``images``.

Sizes are in ``sizes.csv``, which says where its facts come from and of when. It is read when a size is first asked for,
and of it only the line of that size.
"""

from __future__ import annotations

import re
from datetime import date
from difflib import get_close_matches
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

from engine.base.terms import NodeProfile, OsFamily
from engine.base.values import MINUTE_MS, SECOND_MS, lazy_regex, words
from engine.specs.base import Distribution

# --- VM sizes -------------------------------------------------------------------------------------------------------

LOW_PRIORITY_SHARE_LINUX = 0.20  # VM-2
LOW_PRIORITY_SHARE_WINDOWS = 0.40  # VM-2
LOW_PRIORITY_ENDED = date(2025, 9, 30)  # VM-2
OS_DISK_SHARE_GIB = 30.0  # VM-4
PRICES_REGION, PRICES_AS_OF = "eastus", "2025-09"
PRICES_OF = "list prices of East US, published between September 2025 and 2026; Spot prices vary from day to day"


class VmSize(NamedTuple):
    """A VM size: cores, memory, local disk (VM-3), and list prices in USD per hour; None where there is none.

    ``retires`` is the day of retirement, past or future, if one is announced, and ``replacement`` the series that the
    service recommends instead (VM-6). ``gpus`` is None where it is not known.
    """

    name: str
    cores: int
    memory_gib: float
    temp_disk_gib: float
    series: str
    linux_usd: float | None
    windows_usd: float | None
    spot_linux_usd: float | None
    spot_windows_usd: float | None
    gpus: float | None = 0
    retires: date | None = None
    replacement: str = ""

    @property
    def task_disk_gib(self) -> float:
        """The disk space for tasks: the temporary disk, or part of the OS disk if there is none (VM-4)."""
        return self.temp_disk_gib or OS_DISK_SHARE_GIB

    @property
    def max_task_slots(self) -> int:
        """The largest number of task slots of a node (ACC-5)."""
        return min(4 * self.cores, 256)

    @property
    def has_price(self) -> bool:
        """True if there is any list price."""
        return self.linux_usd is not None or self.windows_usd is not None

    @property
    def has_spot(self) -> bool:
        """True if the size is offered as Spot machine."""
        return self.spot_linux_usd is not None or self.spot_windows_usd is not None

    @property
    def is_classic(self) -> bool:
        """True if only cloud services have the size, which have Windows."""
        return self.name in _CLOUD_SERVICE

    def price_usd(self, os: OsFamily, *, dedicated: bool) -> float:
        """Return the USD per hour of one node, or 0 if this size is not offered that way (VM-2).

        A size with a price for the other operating system only costs that.
        """
        linux, windows = self.linux_usd, self.windows_usd
        if not dedicated:
            linux, windows = self.spot_linux_usd, self.spot_windows_usd
        if os is not OsFamily.LINUX:
            return windows or linux or 0.0
        return 0.0 if self.is_classic else linux or windows or 0.0

    def as_low_priority(self) -> VmSize:
        """Return the size with the prices of low-priority nodes, fixed shares, in place of Spot prices (VM-2)."""
        if not self.has_spot:
            return self
        return self._replace(
            spot_linux_usd=_scaled(self.linux_usd, LOW_PRIORITY_SHARE_LINUX),
            spot_windows_usd=_scaled(self.windows_usd, LOW_PRIORITY_SHARE_WINDOWS),
        )


_PRICES = words("linux_usd windows_usd spot_linux_usd spot_windows_usd")

# The sizes of cloud services (VM-1): cores, memory GiB, temporary disk GiB, Windows.
_CLOUD_SERVICE: dict[str, tuple[int, float, float, float]] = {
    "extrasmall": (1, 0.75, 20, 0.020),
    "small": (1, 1.75, 225, 0.090),
    "medium": (2, 3.5, 490, 0.180),
    "large": (4, 7, 1000, 0.360),
    "extralarge": (8, 14, 2040, 0.720),
}

# In the oldest series the number is a rank: cores by rank, then the first large-memory rank and its GiB per core.
_RANKED_CORES: dict[str, dict[int, int]] = {
    "a": {0: 1, 1: 1, 2: 2, 3: 4, 4: 8, 5: 2, 6: 4, 7: 8, 8: 8, 9: 16, 10: 8, 11: 16},
    "d": {1: 1, 2: 2, 3: 4, 4: 8, 5: 16, 11: 2, 12: 4, 13: 8, 14: 16, 15: 20},
    "g": {1: 2, 2: 4, 3: 8, 4: 16, 5: 32},
}
_RANKED_MEMORY_GIB: dict[str, tuple[int, float]] = {"a": (5, 7), "d": (11, 7), "g": (1, 14)}

# The families whose sizes are scaled from a listed size.
_FAMILIES = {
    "standard_a2_v2": ("a",),
    "standard_d2s_v5": ("b",),
    "standard_d2_v3": ("d", "dc"),
    "standard_d2_v2": ("ds",),
    "standard_e4s_v3": ("e", "ec", "g", "gs", "l", "m"),
    "standard_f2s_v2": ("f", "fx"),
    "standard_hb120rs_v3": ("h", "hb", "hc", "hx"),
    "standard_nc6s_v3": ("nc", "nd"),
    "standard_nc4as_t4_v3": ("ng", "np", "nv"),
}
_NEAREST = {family: size for size, families in _FAMILIES.items() for family in families}
_MEMORY_FACTOR = {"m": 2.0, "l": 0.5, "t": 0.25}

# Standard_E16-8ds_v5: family e, number 16, 8 cores in use, features ds, version 5. Standard_NC4as_T4_v3 has a chip,
# Standard_M48ds1_v3 a grade.
_DOCUMENTED_FORM = lazy_regex(
    r"(?:standard|basic)_(?P<family>[a-z]{1,2})(?P<number>\d{1,3})(?:-(?P<constrained>\d{1,3}))?"
    r"(?P<features>[abdefilmnoprstx]{0,6})(?P<grade>\d|_\d{1,2})?"
    r"(?:_(?P<chip>t4|a10|a100|h100|h200|(?:ndr_)?gb[23]00|mi300x|v620|v710))?(?:_v(?P<version>[2-9])|(?<=_v620)_v1)?",
    re.ASCII,
)
_DS_OF_PRICE_LIST = lazy_regex(r"standard_d(\d+)s\Z", re.ASCII)
_SPECIAL = ("standard_b", "standard_dc", "standard_ec")  # burstable and confidential machines
_PROMOTION = "_promo"  # Standard_D2_v2_Promo is standard_d2_v2 at another price


@lru_cache(maxsize=1024)
def vm_size(name: str) -> VmSize | None:
    """Return the VM size of this name, compared without regard to case, or None if there can be no such size (VM-1).

    A size that is not listed but has a documented name is derived: its cores from the name, memory, disk and prices in
    proportion to the cores from the nearest size of its series, or of its family. So are the prices of a listed size
    that has none (VM-2).
    """
    key = usual_name(name)
    if key in _CLOUD_SERVICE:
        cores, memory, disk, windows = _CLOUD_SERVICE[key]
        return VmSize(key, cores, memory, disk, "A", None, windows, None, None)
    listed, form = _listed(key), _DOCUMENTED_FORM.fullmatch(key)
    if form is None or (listed is not None and listed.has_price):
        return listed
    derived = _derived(key, form)
    if listed is None or derived is None:
        return listed or derived
    return listed._replace(**{name: getattr(derived, name) for name in _PRICES})


def has_low_priority(start: date, *, in_subscription: bool = False) -> bool:
    """Return whether an account had low-priority nodes in place of Spot machines on a day (VM-2)."""
    return start < LOW_PRIORITY_ENDED and not in_subscription


@cache
def listed_sizes() -> tuple[VmSize, ...]:
    """Return the sizes of the table as they are there, in the order of their names."""
    lines = _table().splitlines()
    first = next(at for at, line in enumerate(lines) if line.startswith("name,")) + 1
    return tuple(map(_size, lines[first:]))


def is_listed(name: str) -> bool:
    """Return whether the table has a size; any other size is derived (VM-2)."""
    key = usual_name(name)
    return key in _CLOUD_SERVICE or _listed(key) is not None


def has_list_price(name: str) -> bool:
    """Return whether the table has a price of a size; any other price is derived (VM-2)."""
    key = usual_name(name)
    listed = _listed(key)
    return key in _CLOUD_SERVICE or (listed is not None and listed.has_price)


def nearest_sizes(name: str) -> list[str]:
    """Return up to three listed sizes with names similar to ``name``, the most similar first."""
    key = name.lower()
    if is_listed(f"standard_{key}"):
        return [f"standard_{key}"]
    names = (*(size.name for size in listed_sizes()), *_CLOUD_SERVICE)
    return get_close_matches(key, names, n=3, cutoff=0.5) if len(key) <= 100 else []


def current_size(name: str) -> str | None:
    """Return the listed size without a date of retirement that is most like a size; None for what is no size."""
    size = vm_size(name)
    if size is None or size.is_classic:
        return None

    def difference(other: VmSize) -> tuple[float | str, ...]:
        apart = (size.gpus or 0) - (other.gpus or 0), size.cores - other.cores, size.memory_gib - other.memory_gib
        return *map(abs, apart), other.name

    usual = (one for one in listed_sizes() if one.retires is None and not one.name.startswith(_SPECIAL))
    return min((one for one in usual if one.has_spot and one.windows_usd is not None), key=difference).name


def usual_name(name: str) -> str:
    """Return the name by which the table has a size."""
    return _DS_OF_PRICE_LIST.sub(r"standard_ds\1", name.lower().removesuffix(_PROMOTION))


@cache
def _table() -> str:
    return Path(__file__).with_name("sizes.csv").read_text(encoding="utf-8")


def _listed(key: str) -> VmSize | None:
    """Return the size of this name as the table has it."""
    if key == "name" or not key.replace("-", "_").isidentifier():  # the heading, or several cells
        return None
    table = _table()
    at = table.find(f"\n{key},")
    return None if at < 0 else _size(table[at + 1 : table.index("\n", at + 1)])


def _size(line: str) -> VmSize:
    """Return the size in a line of the table."""
    name, cores, memory, disk, gpus, *prices, retires, replacement = line.split(",")
    form = _DOCUMENTED_FORM.fullmatch(name)
    series = _series(form) if form else name.removeprefix("standard_").upper()
    linux, windows, spot_linux, spot_windows = (float(price) if price else None for price in prices)
    return VmSize(
        *(name, int(cores), float(memory), float(disk), series, linux, windows, spot_linux, spot_windows, float(gpus)),
        retires=date.fromisoformat(retires) if retires else None,
        replacement=replacement,
    )


def _series(form: re.Match[str]) -> str:
    """Return the name of the series as quota pages write it: ``Dsv3``, ``NCas_T4_v3``, ``A``."""
    chip = f"_{form['chip'].upper()}_" if form["chip"] else ""
    version = f"v{form['version']}" if form["version"] else ""
    return form["family"].upper() + form["features"] + chip + version


def _cores(form: re.Match[str]) -> int:
    """Return the cores of a documented name, or 0 if there is no such size."""
    family, number = form["family"], int(form["number"])
    if form["grade"] and family != "m":
        return 0
    if _is_ranked(form):
        return _RANKED_CORES[family[0]].get(number, 0)
    # A machine has one core or an even number of them.
    return number if family in _NEAREST and (number == 1 or number % 2 == 0) else 0


def _is_ranked(form: re.Match[str]) -> bool:
    last_version = {"a": 1, "d": 2, "ds": 2, "g": 1, "gs": 1}.get(form["family"], 0)
    return int(form["version"] or 1) <= last_version


def _derived(key: str, form: re.Match[str]) -> VmSize | None:
    """Return the size that a name describes, or None if there can be no such size."""
    cores = _cores(form)
    in_use = int(form["constrained"] or cores)
    if not 0 < in_use <= cores:
        return None
    if form["constrained"]:
        whole = vm_size(key.replace(f"-{form['constrained']}", "", 1))
        return None if whole is None else whole._replace(name=key, cores=in_use)
    series = _series(form)
    kin = [size for size in listed_sizes() if size.series == series and "-" not in size.name]
    priced = [size for size in kin if size.has_price]
    base = min(priced, key=lambda size: abs(size.cores - cores)) if priced else _of_family(form)
    scale = cores / base.cores
    memory_gib = base.memory_gib * scale
    if _is_ranked(form):
        first_large, gib_a_core = _RANKED_MEMORY_GIB[form["family"][0]]
        memory_gib = cores * gib_a_core if int(form["number"]) >= first_large else memory_gib
    return base._replace(
        name=key,
        cores=cores,
        memory_gib=round(memory_gib, 2),
        temp_disk_gib=round(base.temp_disk_gib * scale, 2),
        series=series,
        **{name: _scaled(getattr(base, name), scale) for name in _PRICES},
        gpus=None if base.gpus is None else round(base.gpus * scale, 4),
        retires=kin[0].retires if kin else None,
        replacement=kin[0].replacement if kin else "",
    )


def _of_family(form: re.Match[str]) -> VmSize:
    """Return the listed size from which a size without kin is scaled, with the memory and disk of its features."""
    family, features = form["family"], form["features"]
    name = _NEAREST[family]
    if family == "d" and _is_ranked(form):
        name = "standard_d2_v2"
    elif family == "nc" and form["chip"]:
        name = "standard_nc4as_t4_v3"
    base = _listed(name)
    assert base is not None
    memory_gib = base.memory_gib
    for feature, factor in _MEMORY_FACTOR.items():
        memory_gib *= factor if feature in features else 1
    # Since the fourth version only storage and accelerator sizes, and those with a "d", have a temporary disk.
    has_disk = int(form["version"] or 1) < 4 or "d" in features or family[0] in "hln"
    return base._replace(
        memory_gib=memory_gib, temp_disk_gib=base.temp_disk_gib if has_disk else 0, gpus=None if family[0] == "n" else 0
    )


def _scaled(usd: float | None, factor: float) -> float | None:
    return None if usd is None else round(usd * factor, 4)


def allowed_by_classic_size_rules(name: str, *, cloud_service: bool) -> bool:
    """Return whether the service once accepted this size for such a pool (POOL-6, option ``classicSizeRules``)."""
    key = name.lower()
    if cloud_service:
        return key not in {"extrasmall", "standard_a1_v2", "standard_a2_v2"}
    return key != "standard_a0" and not key.startswith(("standard_gs", "standard_ds"))


_CLOUD_SERVICE_SERIES = words("A Av2 Amv2 D Dv2 Dv3 Ev3 G H Hm Hr Hmr")


def is_cloud_service_size(name: str) -> bool:
    """Return whether cloud services have nodes of this size: the old series without premium storage (POOL-27)."""
    key = name.lower()
    form = _DOCUMENTED_FORM.fullmatch(key)
    if form is None or form["chip"] or form["constrained"] or key.startswith("basic"):
        return key in _CLOUD_SERVICE
    return _series(form) in _CLOUD_SERVICE_SERIES


# --- operating systems ----------------------------------------------------------------------------------------------


def os_of(*, node_agent_sku_id: str | None = None, cloud_service: bool = False) -> OsFamily:
    """Return the operating system of a pool by its node agent. The default is Linux."""
    if cloud_service:
        return OsFamily.CLOUD_SERVICE
    return OsFamily.WINDOWS if "windows" in (node_agent_sku_id or "").lower() else OsFamily.LINUX


# --- timings --------------------------------------------------------------------------------------------------------


_MOST_SPREAD = 3
_Durations = tuple[Distribution, Distribution, Distribution]  # in the order of the profiles


def _seconds(mean: float, deviation: float = 0) -> Distribution:
    """Return a uniform distribution over mean ± deviation, in seconds."""
    if not deviation:
        return Distribution.constant(round(mean * SECOND_MS))
    return Distribution(kind="uniform", values=((mean - deviation) * SECOND_MS, (mean + deviation) * SECOND_MS))


def _spread(median: float, sigma: float) -> Distribution:
    """Return a lognormal distribution, with its median in seconds and a spread of a factor of three either way."""
    return Distribution(kind="lognormal", values=(median * SECOND_MS, sigma, _MOST_SPREAD))


def _same(durations: Distribution) -> _Durations:
    return durations, durations, durations


# Of Linux nodes, and of others where nothing else is known of them. RULES.md says what each rests on.
_STEPS: dict[str, _Durations] = {
    "allocation": (_spread(45, 0.45), _spread(100, 0.55), _spread(300, 0.4)),  # TIME-2, of all nodes asked for at once
    "starting": _same(_spread(10.6, 0.02)),  # TIME-3, creating until starting
    "ready": (_spread(20, 0.6), _spread(30, 0.6), _spread(90, 0.8)),  # TIME-4, starting until ready, no start task
    "reboot": _same(_seconds(60, 20)),  # TIME-5, until starting again
    "reimage": (_spread(185, 0.15), _spread(185, 0.15), _spread(290, 0.2)),  # TIME-6, until starting again
    "removal": (_spread(12, 0.5), _spread(40, 0.7), _spread(120, 0.7)),  # TIME-7, in leavingpool
    "deletion": (_spread(100, 0.2), _spread(140, 0.4), _spread(280, 0.3)),  # TIME-7, of a pool with all its nodes
    "stop": (_spread(5.2, 0.05), _spread(5.2, 0.05), _spread(42, 0.1)),  # RSZ-9, of a resize
    "deallocate": (_spread(38, 0.3), _spread(38, 0.3), _seconds(60)),  # TIME-8
    "start": (_spread(61, 0.3), _spread(61, 0.3), _seconds(90)),  # TIME-8, of a deallocated node
    "recovery": (_spread(900, 0.2), _spread(1560, 0.43), _spread(2700, 0.4)),  # TIME-14
}
_WINDOWS_STEPS: dict[str, _Durations] = {
    "ready": (_spread(80, 0.6), _spread(140, 0.6), _spread(360, 0.6)),
    "reboot": (_spread(70, 0.3), _spread(70, 0.3), _spread(135, 0.3)),
}
_ONE_CORE_WINDOWS_STEPS: dict[str, _Durations] = {"ready": (_spread(175, 0.4), _spread(240, 0.5), _spread(500, 0.6))}
# Retired: recordings know one speed, which is the slow one of later nodes.
_CLOUD_SERVICE_STEPS: dict[str, _Durations] = {
    "ready": _same(_spread(210, 0.35)),
    "reboot": _same(_spread(135, 0.3)),
    "reimage": _same(_spread(290, 0.2)),
}


@cache
def node_step(profile: NodeProfile, step: str, os: OsFamily, cores: int) -> Distribution:
    """Return how long a step in the life of such a node, or of its pool, takes by default (TIME-2 to TIME-8, TIME-14).

    ``step`` is named as in ``simulate.nodes`` where it exists there.
    """
    tables = [_STEPS]
    if os is OsFamily.WINDOWS:
        tables = [_ONE_CORE_WINDOWS_STEPS, _WINDOWS_STEPS, _STEPS] if cores == 1 else [_WINDOWS_STEPS, _STEPS]
    elif os is OsFamily.CLOUD_SERVICE:
        tables = [_CLOUD_SERVICE_STEPS, _STEPS]
    durations = next(table[step] for table in tables if step in table)
    return durations[tuple(NodeProfile).index(profile)]


BOOT_AGAIN_MS = 5 * SECOND_MS  # TIME-5, TIME-6, TIME-8: of a machine that is set up, starting until ready
SCHEDULING_LATENCY_MS = 1 * SECOND_MS  # TIME-9
PROCESS_START_MS = 1 * SECOND_MS  # TIME-10
DOWNLOAD_BYTES_PER_SECOND = 50_000_000  # TIME-10
PREP_RELEASE_DURATION_MS = 5 * SECOND_MS  # TIME-11
TASK_DURATION_MS = 60 * SECOND_MS  # of a command line without a known duration
SPOT_REFILL_INTERVAL_MS = 5 * MINUTE_MS  # TIME-13
BLOCK_NOTICED_MS = 10 * MINUTE_MS  # TIME-21
TRANSITION_MS = 2 * SECOND_MS  # TIME-19: of jobs and job schedules, and of what is stopped or deleted
QUOTA_RETRY_INTERVAL_MS = MINUTE_MS  # ACC-9
