"""The catalogue of Azure: VM sizes, prices and default timings. Images are in ``images``.

Prices are rounded list prices in US dollars per hour, for illustration only (VM-2).
"""

from __future__ import annotations

import re
from difflib import get_close_matches
from functools import lru_cache
from typing import NamedTuple

from engine.base.terms import OsFamily
from engine.base.values import MINUTE_MS, SECOND_MS, lazy_regex
from engine.specs.base import Distribution

# --- VM sizes -------------------------------------------------------------------------------------------------------

SPOT_SHARE_LINUX = 0.20  # VM-2
SPOT_SHARE_WINDOWS = 0.40  # VM-2
OS_DISK_SHARE_GIB = 30.0  # VM-4


class VmSize(NamedTuple):
    """A VM size: cores, memory, local disk (VM-3), and prices in USD per hour; None where the size is not offered."""

    name: str
    cores: int
    memory_gib: float
    temp_disk_gib: float
    series: str
    linux_usd: float | None
    windows_usd: float | None
    spot_linux_usd: float | None
    spot_windows_usd: float | None

    @property
    def task_disk_gib(self) -> float:
        """The disk space for tasks: the temporary disk, or part of the OS disk if there is none (VM-4)."""
        return self.temp_disk_gib or OS_DISK_SHARE_GIB

    @property
    def max_task_slots(self) -> int:
        """The largest number of task slots of a node (ACC-5)."""
        return min(4 * self.cores, 256)

    def price_usd(self, os: OsFamily, *, dedicated: bool) -> float:
        """Return the USD per hour of one node, or 0 if this size is not offered that way (VM-2)."""
        if os is OsFamily.LINUX:
            price = self.linux_usd if dedicated else self.spot_linux_usd
        else:
            price = self.windows_usd if dedicated else self.spot_windows_usd
        return price or 0.0


# VM-2: cores, memory GiB, temporary disk GiB, Linux, Windows, Spot Linux, Spot Windows.
_LISTED: dict[str, tuple[int, float, float, float, float, float, float]] = {
    "standard_a1_v2": (1, 2, 10, 0.043, 0.065, 0.009, 0.026),
    "standard_a2_v2": (2, 4, 20, 0.091, 0.136, 0.018, 0.054),
    "standard_a4_v2": (4, 8, 40, 0.191, 0.286, 0.038, 0.114),
    "standard_d1_v2": (1, 3.5, 50, 0.073, 0.126, 0.015, 0.050),
    "standard_d2_v2": (2, 7, 100, 0.146, 0.252, 0.029, 0.101),
    "standard_d3_v2": (4, 14, 200, 0.293, 0.504, 0.059, 0.202),
    "standard_d2_v3": (2, 8, 50, 0.096, 0.188, 0.019, 0.075),
    "standard_d2s_v3": (2, 8, 16, 0.096, 0.188, 0.019, 0.075),
    "standard_d4_v3": (4, 16, 100, 0.192, 0.376, 0.038, 0.150),
    "standard_d4s_v3": (4, 16, 32, 0.192, 0.376, 0.038, 0.150),
    "standard_d8s_v3": (8, 32, 64, 0.384, 0.752, 0.077, 0.301),
    "standard_d16s_v3": (16, 64, 128, 0.768, 1.504, 0.154, 0.602),
    "standard_d2s_v5": (2, 8, 0, 0.096, 0.188, 0.0192, 0.0752),
    "standard_d4s_v5": (4, 16, 0, 0.192, 0.376, 0.0384, 0.1504),
    "standard_d8s_v5": (8, 32, 0, 0.384, 0.752, 0.0768, 0.3008),
    "standard_f2s_v2": (2, 4, 16, 0.085, 0.177, 0.017, 0.071),
    "standard_f4s_v2": (4, 8, 32, 0.169, 0.353, 0.034, 0.141),
    "standard_f8s_v2": (8, 16, 64, 0.338, 0.706, 0.068, 0.282),
    "standard_f16s_v2": (16, 32, 128, 0.677, 1.413, 0.135, 0.565),
    "standard_e4s_v3": (4, 32, 64, 0.252, 0.436, 0.050, 0.174),
    "standard_e8s_v3": (8, 64, 128, 0.504, 0.872, 0.101, 0.349),
    "standard_nc4as_t4_v3": (4, 28, 180, 0.526, 0.710, 0.105, 0.284),
    "standard_nc6s_v3": (6, 112, 736, 3.060, 3.336, 0.612, 1.334),
    "standard_hb120rs_v3": (120, 448, 960, 3.600, 9.120, 0.720, 3.648),
}

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

# Standard_E16-8ds_v5: family e, number 16, 8 cores in use, features ds, version 5. Standard_NC4as_T4_v3 has a chip.
_DOCUMENTED_FORM = lazy_regex(
    r"(?:standard|basic)_(?P<family>[a-z]{1,2})(?P<number>\d{1,3})(?:-(?P<constrained>\d{1,3}))?"
    r"(?P<features>[abdilmprst]{0,6})(?:_(?P<chip>t4|a10|a100|h100|h200|mi300x|v620|v710))?(?:_v(?P<version>[2-9]))?",
    re.ASCII,
)


@lru_cache(maxsize=1024)
def vm_size(name: str) -> VmSize | None:
    """Return the VM size of this name, compared without regard to case, or None if there can be no such size (VM-1).

    A size that is not listed but has a documented name is derived: its cores from the name; memory, disk and prices in
    proportion to the cores from the nearest listed family; Spot prices by the shares of VM-2.
    """
    key = name.lower()
    if key in _CLOUD_SERVICE:
        cores, memory, disk, windows = _CLOUD_SERVICE[key]
        return VmSize(key, cores, memory, disk, "A", None, windows, None, None)
    form = _DOCUMENTED_FORM.fullmatch(key)
    if key in _LISTED and form:
        cores, memory, disk, *prices = _LISTED[key]
        return VmSize(key, cores, memory, disk, _series(form), *prices)
    return _derived(key, form) if form else None


def _series(form: re.Match[str]) -> str:
    """Return the name of the series as quota pages write it: ``Dsv3``, ``NCas_T4_v3``, ``A``."""
    chip = f"_{form['chip'].upper()}_" if form["chip"] else ""
    version = f"v{form['version']}" if form["version"] else ""
    return form["family"].upper() + form["features"] + chip + version


def _cores(form: re.Match[str]) -> int:
    """Return the cores of a documented name, or 0 if there is no such size."""
    family, number = form["family"], int(form["number"])
    if _is_ranked(form):
        return _RANKED_CORES[family[0]].get(number, 0)
    # A machine has one core or an even number of them.
    return number if family in _NEAREST and (number == 1 or number % 2 == 0) else 0


def _is_ranked(form: re.Match[str]) -> bool:
    last_version = {"a": 1, "d": 2, "ds": 2, "g": 1, "gs": 1}.get(form["family"], 0)
    return int(form["version"] or 1) <= last_version


def _base(form: re.Match[str]) -> str:
    """Return the listed size from which this one is scaled."""
    family = form["family"]
    if family == "d" and _is_ranked(form):
        return "standard_d2_v2"
    if family == "nc" and form["chip"]:
        return "standard_nc4as_t4_v3"
    return _NEAREST[family]


def _derived(key: str, form: re.Match[str]) -> VmSize | None:
    cores = _cores(form)
    cores_in_use = int(form["constrained"] or cores)
    if not 0 < cores_in_use <= cores:
        return None
    base_cores, memory_gib, disk_gib, linux_usd, windows_usd, *_ = _LISTED[_base(form)]
    scale = cores / base_cores
    memory_gib *= scale
    family, features = form["family"], form["features"]
    if _is_ranked(form):
        first_large, gib_a_core = _RANKED_MEMORY_GIB[family[0]]
        memory_gib = cores * gib_a_core if int(form["number"]) >= first_large else memory_gib
    for feature, factor in _MEMORY_FACTOR.items():
        memory_gib *= factor if feature in features else 1
    # Since the fourth version only storage and accelerator sizes, and those with a "d", have a temporary disk.
    has_disk = int(form["version"] or 1) < 4 or "d" in features or family[0] in "hln"
    return VmSize(
        name=key,
        cores=cores_in_use,
        memory_gib=round(memory_gib, 2),
        temp_disk_gib=round(disk_gib * scale, 2) if has_disk else 0,
        series=_series(form),
        linux_usd=round(linux_usd * scale, 4),
        windows_usd=round(windows_usd * scale, 4),
        spot_linux_usd=round(linux_usd * scale * SPOT_SHARE_LINUX, 4),
        spot_windows_usd=round(windows_usd * scale * SPOT_SHARE_WINDOWS, 4),
    )


def is_listed(name: str) -> bool:
    """Return whether a size has list prices; those of any other size are derived (VM-2)."""
    return name.lower() in (_LISTED | _CLOUD_SERVICE)


def nearest_sizes(name: str) -> list[str]:
    """Return up to three listed sizes with names similar to ``name``, the most similar first."""
    return get_close_matches(name.lower(), (*_LISTED, *_CLOUD_SERVICE), n=3, cutoff=0.5)


def allowed_by_classic_size_rules(name: str, *, cloud_service: bool) -> bool:
    """Return whether the service once accepted this size for such a pool (POOL-6, option ``classicSizeRules``)."""
    key = name.lower()
    if cloud_service:
        return key not in {"extrasmall", "standard_a1_v2", "standard_a2_v2"}
    return key != "standard_a0" and not key.startswith(("standard_gs", "standard_ds"))


_CLOUD_SERVICE_SERIES = {
    ("a", None, ""),
    ("a", "2", ""),
    ("a", "2", "m"),
    ("d", None, ""),
    ("d", "2", ""),
    ("d", "3", ""),
    ("e", "3", ""),
    ("g", None, ""),
    ("h", None, ""),
    ("h", None, "m"),
    ("h", None, "r"),
    ("h", None, "mr"),
}


def is_cloud_service_size(name: str) -> bool:
    """Return whether cloud services have nodes of this size: the old series without premium storage (POOL-27)."""
    key = name.lower()
    form = _DOCUMENTED_FORM.fullmatch(key)
    if form is None or form["chip"] or form["constrained"] or key.startswith("basic"):
        return key in _CLOUD_SERVICE
    return (form["family"], form["version"], form["features"]) in _CLOUD_SERVICE_SERIES


# --- operating systems ----------------------------------------------------------------------------------------------


def os_of(*, node_agent_sku_id: str | None = None, cloud_service: bool = False) -> OsFamily:
    """Return the operating system of a pool by its node agent. The default is Linux."""
    if cloud_service:
        return OsFamily.CLOUD_SERVICE
    return OsFamily.WINDOWS if "windows" in (node_agent_sku_id or "").lower() else OsFamily.LINUX


# --- timings --------------------------------------------------------------------------------------------------------


def _seconds(mean: int, jitter: int = 0) -> Distribution:
    """Return a uniform distribution over mean ± jitter, in seconds."""
    if not jitter:
        return Distribution.constant(mean * SECOND_MS)
    return Distribution(kind="uniform", values=((mean - jitter) * SECOND_MS, (mean + jitter) * SECOND_MS))


class NodeTimings(NamedTuple):
    """Durations of the steps in a node's life, named as in ``simulate.nodes`` where they exist there."""

    ready: Distribution  # TIME-4, starting until ready, without a start task
    reboot: Distribution  # TIME-5, until starting again
    allocation: Distribution = _seconds(45, 15)  # TIME-2, until creating
    starting: Distribution = _seconds(30, 15)  # TIME-3, creating until starting
    reimage: Distribution = _seconds(180, 40)  # TIME-6, until starting again
    removal: Distribution = _seconds(30, 10)  # TIME-7, in leavingpool
    deallocate: Distribution = _seconds(60)  # TIME-8
    start: Distribution = _seconds(90)  # TIME-8, deallocated until starting


NODE_TIMINGS: dict[OsFamily, NodeTimings] = {
    OsFamily.LINUX: NodeTimings(ready=_seconds(60, 20), reboot=_seconds(60, 20)),
    OsFamily.WINDOWS: NodeTimings(ready=_seconds(150, 40), reboot=_seconds(120, 30)),
    OsFamily.CLOUD_SERVICE: NodeTimings(ready=_seconds(90, 30), reboot=_seconds(120, 30)),
}

SCHEDULING_LATENCY_MS = 1 * SECOND_MS  # TIME-9
PROCESS_START_MS = 1 * SECOND_MS  # TIME-10
DOWNLOAD_BYTES_PER_SECOND = 50_000_000  # TIME-10
PREP_RELEASE_DURATION_MS = 5 * SECOND_MS  # TIME-11
TASK_DURATION_MS = 60 * SECOND_MS  # of a command line without a known duration
SPOT_REFILL_INTERVAL_MS = 5 * MINUTE_MS  # TIME-13
RECOVERY_MS = 20 * MINUTE_MS  # TIME-14
BLOCK_NOTICED_MS = 10 * MINUTE_MS  # TIME-21
TRANSITION_MS = 2 * SECOND_MS  # TIME-19: of jobs and job schedules, and of what is stopped or deleted
QUOTA_RETRY_INTERVAL_MS = MINUTE_MS  # ACC-9
