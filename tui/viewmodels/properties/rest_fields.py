"""REST bodies as properties, with field names in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engine.base.lazy import lazy_regex
from engine.base.units import parse_utc
from tui.viewmodels.text.blocks import Block
from tui.viewmodels.text.styled import Span

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from tui.viewmodels.session.session import Session

# Fields whose words are not derived from their names.
_WORDS = {
    "id": "ID",
    "url": "URL",
    "httpUrl": "HTTP URL",
    "eTag": "ETag",
    "vmSize": "Node size",
    "ipAddress": "IP address",
    "isDedicated": "Dedicated",
    "maxWallClockTime": "Max wall-clock time",
    "nodeAgentSKUId": "Node agent SKU ID",
    "sku": "SKU",
    "nodeFillType": "Scheduling policy",
    "targetLowPriorityNodes": "Target Spot/low-priority nodes",
    "currentLowPriorityNodes": "Current Spot/low-priority nodes",
    "schedulingState": "Scheduling state",
    "rerunOnNodeRebootAfterSuccess": "Rerun on node reboot",
    "executionInfo": "Execution information",
    "poolInfo": "Pool information",
    "nodeInfo": "Node information",
    "failureInfo": "Failure information",
    "applicationPackageReferences": "Application packages",
    "taskRootDirectoryUrl": "Task root directory URL",
}
_NO_LIMIT = "P10675199DT2H48M5.4775807S"
_UNLIMITED_AT_MINUS_ONE = ("maxTaskRetryCount", "maxParallelTasks")
_UTC = lazy_regex(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_CAPITAL = lazy_regex(r"(?<=[a-z0-9])(?=[A-Z])")


def words(name: str) -> str:
    """Return a field's name in words: ``maxParallelTasks`` is Max parallel tasks."""
    return _WORDS.get(name) or _CAPITAL.sub(" ", name).lower().capitalize()


def block(session: Session, title: str, body: Mapping[str, Any], leave_out: Iterable[str] = ()) -> Block:
    """Return the properties of a body under a heading."""
    kept = {name: value for name, value in body.items() if name not in leave_out}
    return Block(title, tuple(_rows(session, kept, "")))


def parts(session: Session, body: Mapping[str, Any], titles: Iterable[str] = ()) -> list[Block]:
    """Return a whole body: simple values under General, and each part under its own heading.

    The parts named in ``titles`` come first, in this order.
    """
    named = [name for name in titles if name in body]
    others = [name for name in body if name not in named and isinstance(body[name], dict | list)]
    blocks = [block(session, "General", body, (*named, *others))]
    for name in (*named, *others):
        value = body[name]
        blocks.append(block(session, words(name), value if isinstance(value, dict) else _numbered(value)))
    return blocks


def _numbered(values: list[Any]) -> dict[str, Any]:
    """Return a list as properties: settings by their names, other values by their numbers."""
    if all(isinstance(value, dict) and set(value) == {"name", "value"} for value in values):
        return {f"={value['name']}": value["value"] for value in values}
    return {f"={number}": value for number, value in enumerate(values, start=1)}


def _rows(session: Session, body: Mapping[str, Any], margin: str) -> Iterator[tuple[str, Span]]:
    for name, value in body.items():
        label = margin + (name[1:] if name.startswith("=") else words(name))
        if isinstance(value, list) and not any(isinstance(each, dict) for each in value):
            yield label, Span(", ".join(map(str, value)))
        elif isinstance(value, dict | list):
            yield label, Span("")
            yield from _rows(session, value if isinstance(value, dict) else _numbered(value), f"{margin}  ")
        else:
            yield label, Span(_said(session, name, value))


def _said(session: Session, name: str, value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value == _NO_LIMIT or (value == -1 and name in _UNLIMITED_AT_MINUS_ONE):
        return "no limit"
    if isinstance(value, str) and _UTC.fullmatch(value):
        start = session.simulation.scenario.start
        return session.clock(round((parse_utc(value) - start).total_seconds() * 1000))
    return str(value)
