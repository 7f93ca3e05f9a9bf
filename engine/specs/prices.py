"""Price lists of one's own: the CSV of ``batchdeck sizes``, or JSON of Azure's public retail price list (VM-7)."""

from __future__ import annotations

import csv
import json
import math
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from engine.base.errors import Problem, ScenarioError
from engine.base.values import USD, quoted, shortened
from engine.specs.catalogue import usual_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from engine.specs.catalogue import VmSize

LIMIT_BYTES = 1 << 28
_DIGITS = 6
_COLUMNS = {
    "linuxUsdPerHour": "linux",
    "windowsUsdPerHour": "windows",
    "linuxSpotUsdPerHour": "spot_linux",
    "windowsSpotUsdPerHour": "spot_windows",
}
# What a retail list names beside virtual machines that anybody can have by the hour.
_OTHER_OFFERS = ("cloud services", "cloudservices", "dedicated host", "devtest", "reservation")


class PriceFile(NamedTuple):
    """A file with prices: its name as given, and its text."""

    name: str
    text: str


class Price(NamedTuple):
    """The price of an hour of a node, and the day from which it counts, where the list says so."""

    amount: float
    currency: str
    since: str


@dataclass(frozen=True, slots=True)
class PriceList:
    """The prices of a region by the name of the size and the kind of node: ``linux``, ``spot_windows`` and so on.

    ``currency`` is that of the sizes in use.
    """

    file: PriceFile
    region: str
    sizes: Mapping[str, Mapping[str, Price]]
    currency: str = USD

    @property
    def as_of(self) -> str | None:
        """The latest day from which a price counts."""
        return max((price.since for kinds in self.sizes.values() for price in kinds.values()), default="") or None

    def settled(self, names: Iterable[str]) -> PriceList:
        """Return the list with the currency in which sizes of these names are priced.

        Raises:
            ValueError: There are several.
        """
        used = [self.sizes[name] for name in map(usual_name, names) if name in self.sizes]
        found = {price.currency for kinds in used or self.sizes.values() for price in kinds.values()}
        if used and len(found) > 1:
            raise ValueError(f"{self.file.name} has prices in {' and '.join(sorted(found))}; a run needs one currency")
        return replace(self, currency=found.pop() if len(found) == 1 else USD)

    def has(self, name: str) -> bool:
        """Return whether the list has a price of a size."""
        return usual_name(name) in self.sizes

    def priced(self, size: VmSize, *, low_priority: bool = False) -> VmSize:
        """Return the size with the prices of this list, in its currency.

        A kind of node that the list lacks costs in proportion to the table's price of it.
        """
        kinds = self.sizes.get(usual_name(size.name), {})
        table: dict[str, float | None] = {kind: getattr(size, f"{kind}_usd") for kind in _COLUMNS.values()}
        ratios = (kinds[kind].amount / usd for kind, usd in table.items() if usd and kind in kinds)
        factor = next(ratios, 1.0 if self.currency == USD else None)

        def amount(kind: str, otherwise: float | None) -> float | None:
            if kind in kinds:
                return kinds[kind].amount
            return None if otherwise is None or factor is None else round(otherwise * factor, _DIGITS)

        own: dict[str, Any] = {f"{kind}_usd": amount(kind, usd) for kind, usd in table.items()}
        found = size._replace(**own)
        if not low_priority:
            return found
        factor, found = 1.0, found.as_low_priority()
        return found._replace(
            spot_linux_usd=amount("low_linux", found.spot_linux_usd),
            spot_windows_usd=amount("low_windows", found.spot_windows_usd),
        )


def read_prices(name: str | Path) -> PriceFile:
    """Read a file of prices. Raises ScenarioError."""
    try:
        content = Path(name).read_bytes()
    except OSError as error:
        raise _mistake(str(name), f"cannot be read: {error.strerror}") from None
    if len(content) > LIMIT_BYTES:
        raise _mistake(str(name), f"is larger than {LIMIT_BYTES >> 20} MB, which no list of prices is")
    try:
        return PriceFile(str(name), content.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise _mistake(str(name), "is not text in UTF-8") from None


@lru_cache(maxsize=8)
def price_list(file: PriceFile, region: str = "") -> PriceList:
    """Return the prices of a region in a file; without a region those of the only one there is, or of the default.

    Raises:
        ScenarioError: The file is neither CSV with the columns of ``batchdeck sizes`` nor a retail price list.
    """
    region = region.lower().replace(" ", "")
    if not file.text.lstrip().startswith(("{", "[")):
        return PriceList(file, region, dict(_read_csv(file)))
    items = list(_items(file))
    regions = {str(item.get("armRegionName", "")).lower() for item in items}
    if not region:
        region = regions.pop() if len(regions) == 1 else "westeurope"
    sizes: dict[str, dict[str, Price]] = {}
    for at, item in enumerate(items):
        kind = _kind(item, region)
        if kind is None:
            continue
        amount = _amount(item.get("retailPrice"), partial(_mistake, file.name, path=f"Items[{at}].retailPrice"))
        price = Price(
            amount, str(item.get("currencyCode") or USD).upper(), str(item.get("effectiveStartDate") or "")[:10]
        )
        known = sizes.setdefault(usual_name(str(item["armSkuName"])), {})
        if amount > 0 and (kind not in known or known[kind].since <= price.since):
            known[kind] = price
    return PriceList(file, region, {name: kinds for name, kinds in sizes.items() if kinds})


def _items(file: PriceFile) -> Iterator[dict[str, Any]]:
    """Yield the items of a retail price list; of several pages in a list, those of each."""
    try:
        body = json.loads(file.text)
    except json.JSONDecodeError as error:
        raise _mistake(file.name, f"is not JSON: {error.msg}", line=error.lineno, column=error.colno) from None
    except RecursionError:
        raise _mistake(file.name, "is nested too deeply") from None
    for page in body if isinstance(body, list) else [body]:
        items = page.get("Items", [page] if "armSkuName" in page else None) if isinstance(page, dict) else None
        if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
            raise _mistake(file.name, "is no retail price list: it must have 'Items', a list of objects")
        yield from items


def _kind(item: Mapping[str, Any], region: str) -> str | None:
    """Return the kind of node that an item is the price of; None for what is no price of an hour in this region."""
    if not isinstance(item.get("armSkuName"), str) or not item["armSkuName"] or item.get("type") != "Consumption":
        return None
    names = {name: str(item.get(name) or "").lower() for name in ("productName", "skuName", "meterName")}
    if str(item.get("armRegionName") or "").lower() != region or item.get("reservationTerm"):
        return None
    if any(other in name for other in _OTHER_OFFERS for name in names.values()):
        return None
    system = "windows" if "windows" in names["productName"] else "linux"
    for words, prefix in (("spot", "spot_"), ("low priority", "low_")):
        if words in names["skuName"] or words in names["meterName"]:
            return prefix + system
    return system


def _read_csv(file: PriceFile) -> Iterator[tuple[str, dict[str, Price]]]:
    """Yield the prices of each size in CSV; lines that begin with # are comments."""
    lines = [(at, line) for at, line in enumerate(file.text.splitlines(), 1) if line.strip() and line[0] != "#"]
    rows = csv.reader(line for _, line in lines)
    header = next(rows, [])
    if "name" not in header or not _COLUMNS.keys() & set(header):
        wanted = (
            f"a column 'name' and one or more of {', '.join(_COLUMNS)}, as `batchdeck sizes --output csv` writes them"
        )
        raise _mistake(file.name, f"is no list of prices: it must have {wanted}", line=lines[0][0] if lines else 1)
    for (line, _), row in zip(lines[1:], rows, strict=False):
        cells = dict(zip(header, row, strict=False))
        prices = {}
        for column, kind in _COLUMNS.items():
            if cells.get(column):
                amount = _amount(cells[column], partial(_mistake, file.name, path=column, line=line))
                prices[kind] = Price(amount, USD, "")
        if cells["name"].strip() and prices:
            yield usual_name(cells["name"].strip()), prices


def _amount(value: object, wrong: Callable[[str], ScenarioError]) -> float:
    """Return a price; raise what ``wrong`` makes of the reason why it is none."""
    try:
        amount = float(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else math.nan
    except (ValueError, OverflowError):
        amount = math.nan
    if not 0 <= amount < math.inf:
        raise wrong(f"must be a price in an hour, not {quoted(str(value))}")
    return amount


def _mistake(file: str, message: str, path: str = "", line: int = 0, column: int = 1) -> ScenarioError:
    return ScenarioError([Problem(message, path, line, column if line else 0, shortened(file))])
